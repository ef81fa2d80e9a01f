/* Values of attributes as users write them. */
#include "base/err.h"
#include "model/attr_edit.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* One number of a list, in CDL notation. */
struct cdl_word {
	enum nc_type type;
	bool said; /* by a suffix */
	struct attr_number value;
};

static const struct {
	char suffix[4];
	enum nc_type type;
} suffixes[] = {
	/* longer ones first */
	{"ull", NC_TYPE_UINT64},
	{"ub", NC_TYPE_UBYTE},
	{"us", NC_TYPE_USHORT},
	{"ul", NC_TYPE_UINT},
	{"ll", NC_TYPE_INT64},
	{"u", NC_TYPE_UINT},
	{"b", NC_TYPE_BYTE},
	{"s", NC_TYPE_SHORT},
	{"l", NC_TYPE_INT},
	{"f", NC_TYPE_FLOAT},
	{"d", NC_TYPE_DOUBLE},
};

/* Bytes of the suffix at the end of a word. */
static size_t
take_suffix(const char *s, size_t len, struct cdl_word *ret)
{
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		size_t n = strlen(suffixes[i].suffix);
		if (len > n && !strncasecmp(s + len - n, suffixes[i].suffix, n)) {
			ret->type = suffixes[i].type;
			ret->said = true;
			return n;
		}
	}
	return 0;
}

static bool
take_special(const char *s, size_t len, struct cdl_word *w)
{
	static const char *const name[] = {"NaN", "Infinity", "-Infinity", "Inf", "-Inf"};
	const double value[] = {(double)NAN, HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL};
	const bool single = len > 3 && s[len - 1] == 'f';
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		size_t n = strlen(name[i]);
		if ((len == n || (single && len == n + 1)) && !strncmp(s, name[i], n)) {
			*w = (struct cdl_word){.type = len == n ? NC_TYPE_DOUBLE : NC_TYPE_FLOAT,
				.said = true,
				.value = {.real = true, .d = value[i]}};
			return true;
		}
	}
	return false;
}

static bool
only(const char *s, size_t len, const char *chars)
{
	return strspn(s, chars) >= len;
}

/* Decimal digits with a sign at most; nothing of them is lost, or they are none. */
static bool
take_integer(const char *s, size_t len, struct attr_number *ret)
{
	const bool negative = *s == '-', sign = negative || *s == '+';
	uint64_t u = 0;
	if (len == sign || !only(s + sign, len - sign, "0123456789"))
		return false;
	for (size_t i = sign; i < len; i++)
		if (__builtin_mul_overflow(u, 10, &u) ||
			__builtin_add_overflow(u, (uint64_t)(s[i] - '0'), &u))
			return false;
	if (negative && u > (uint64_t)1 << 63)
		return false;
	u = negative ? 0 - u : u;
	*ret = (struct attr_number){.u = u, .i = (int64_t)u, .above = !negative && u > INT64_MAX};
	return true;
}

static bool
take_real(const char *s, size_t len, struct attr_number *ret)
{
	char text[512], *end;
	static const char chars[] = "+-.0123456789eE";
	if (!len || len >= sizeof text || !only(s, len, chars) || !strpbrk(s, "0123456789"))
		return false;
	memcpy(text, s, len);
	text[len] = 0;
	locale_t c = newlocale(LC_ALL_MASK, "C", NULL);
	if (!c)
		return false;
	ret->real = true;
	ret->d = strtod_l(text, &end, c);
	freelocale(c);
	return !*end && isfinite(ret->d);
}

static enum nc_type
natural(struct attr_number n)
{
	return n.real                                 ? NC_TYPE_DOUBLE
	       : n.above                              ? NC_TYPE_UINT64
	       : n.i >= INT32_MIN && n.i <= INT32_MAX ? NC_TYPE_INT
						      : NC_TYPE_INT64;
}

static bool
take_word(const char *s, size_t len, struct cdl_word *ret)
{
	*ret = (struct cdl_word){0};
	if (!len || take_special(s, len, ret))
		return len;
	size_t n = len - take_suffix(s, len, ret);
	if (!take_integer(s, n, &ret->value) && !take_real(s, n, &ret->value))
		return false;
	if (!ret->said)
		ret->type = natural(ret->value);
	return true;
}

/* The numbers of a list as doubles or 64-bit integers, still of their own types. */
struct words {
	struct cdl_word *of;
	size_t count;
};

static void
words_free(struct words *w)
{
	free(w->of);
}

static bool
take_words(const char *s, size_t len, struct words *ret)
{
	size_t most = 1;
	for (size_t i = 0; i < len; i++)
		most += s[i] == ',';
	ret->of = calloc(most, sizeof *ret->of);
	for (const char *end = s + len; ret->of && s <= end; ret->count++) {
		const char *comma = memchr(s, ',', (size_t)(end - s));
		const char *stop = comma ? comma : end, *from = s;
		while (from < stop && *from == ' ')
			from++;
		while (stop > from && stop[-1] == ' ')
			stop--;
		if (!take_word(from, (size_t)(stop - from), &ret->of[ret->count]))
			return false;
		s = comma ? comma + 1 : end + 1;
	}
	return ret->of;
}

/* The type that all of them have: of the first that says one, else the widest. */
static enum nc_type
common(const struct words *w)
{
	enum nc_type t = NC_TYPE_INT;
	for (size_t i = 0; i < w->count; i++)
		if (w->of[i].said)
			return w->of[i].type;
	for (size_t i = 0; i < w->count; i++) {
		enum nc_type own = w->of[i].type;
		t = t == NC_TYPE_DOUBLE || own == NC_TYPE_DOUBLE ? NC_TYPE_DOUBLE
		    : own > t                                    ? own
								 : t;
	}
	return t;
}

/* One number as an attribute of its own, from which attr_as makes any type. A float is the float
 * nearest to its digits. */
static int
put_word(struct attr_number n, enum nc_type t, void *to)
{
	const double d = n.real && t == NC_TYPE_FLOAT ? (double)(float)n.d : n.d;
	const struct attr one = {.type = n.real    ? NC_TYPE_DOUBLE
					 : n.above ? NC_TYPE_UINT64
						   : NC_TYPE_INT64,
		.count = 1,
		.data = n.real ? (void *)&d : (void *)&n.u};
	struct attr as = {0};
	int r = attr_as(&one, t, &as);
	if (r == 0)
		memcpy(to, as.data, nc_type_size(t));
	attr_clear(&as);
	return r;
}

static int
make(const struct words *w, enum nc_type t, const char *name, struct attr *ret)
{
	const size_t size = nc_type_size(t);
	struct attr a = {.name = strdup(name), .type = t, .count = w->count};
	a.data = calloc(w->count + 1, size);
	int r = a.name && a.data ? 0 : err_set(-ENOMEM, "no memory for attribute '%s'", name);
	for (size_t i = 0; r == 0 && i < w->count; i++)
		r = put_word(w->of[i].value, t, (char *)a.data + i * size);
	if (r < 0)
		attr_clear(&a);
	else
		*ret = a;
	return r;
}

int
attr_of_text(
	const char *name, const char *text, size_t len, const struct attr *old, struct attr *ret)
{
	CLEAN(words_free) struct words w = {0};
	const bool number = !(old && !attr_is_number(old)) && len && take_words(text, len, &w);
	int r = -ERANGE;
	if (number && old && old->recorded)
		r = make(&w, old->type, name, ret);
	if (number && r == -ERANGE)
		r = make(&w, common(&w), name, ret);
	if (r != -ERANGE)
		return r;
	const struct attr plain = {
		.name = (char *)name, .type = NC_TYPE_CHAR, .count = len, .data = (void *)text};
	return attr_keep_type(&plain, old, ret);
}
