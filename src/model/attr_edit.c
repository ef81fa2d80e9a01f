#include "model/attr_edit.h"

#include "base/err.h"
#include "base/json.h"
#include "base/json_edit.h"
#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static int
no_memory(const struct attr *a)
{
	return err_set(-ENOMEM, "no memory for attribute '%s'", a->name ? a->name : "");
}

static int
copy_strings(const struct attr *a, struct attr *ret)
{
	char **to = calloc(a->count + 1, sizeof *to);
	if (!to)
		return no_memory(a);
	ret->data = to;
	for (; ret->count < a->count; ret->count++)
		if (!(to[ret->count] = strdup(((char *const *)a->data)[ret->count])))
			return no_memory(a);
	return 0;
}

static int
copy_value(const struct attr *a, struct attr *ret)
{
	ret->type = a->type;
	ret->json = a->json;
	if (a->type == NC_TYPE_STRING)
		return copy_strings(a, ret);
	if (a->type == NC_TYPE_CHAR)
		return attr_set_text(ret, a->data, a->count);
	const size_t bytes = a->count * nc_type_size(a->type);
	ret->data = malloc(bytes + 1);
	if (!ret->data)
		return no_memory(a);
	if (bytes)
		memcpy(ret->data, a->data, bytes);
	ret->count = a->count;
	return 0;
}

int
attr_copy(const struct attr *a, struct attr *ret)
{
	struct attr copy = {.name = a->name ? strdup(a->name) : NULL, .recorded = a->recorded};
	int r = a->name && !copy.name ? no_memory(a) : copy_value(a, &copy);
	if (r < 0)
		attr_clear(&copy);
	else
		*ret = copy;
	return r;
}

bool
attr_same(const struct attr *a, const struct attr *b)
{
	if (a->type != b->type || a->count != b->count)
		return false;
	if (a->type != NC_TYPE_STRING) {
		size_t bytes = a->count * nc_type_size(a->type);
		return !bytes || !memcmp(a->data, b->data, bytes);
	}
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(((char *const *)a->data)[i], ((char *const *)b->data)[i]) != 0)
			return false;
	return true;
}

static bool
is_real(enum nc_type t)
{
	return t == NC_TYPE_FLOAT || t == NC_TYPE_DOUBLE;
}

/* A number as an integer: its sign apart. False: it is none that 64 bits hold. */
static bool
whole(struct attr_number n, bool *negative, uint64_t *ret)
{
	*negative = n.real ? n.d < 0 : !n.above && n.i < 0;
	if (!n.real) {
		*ret = *negative ? 0 - n.u : n.u;
		return true;
	}
	const double d = fabs(n.d), above = 18446744073709551616.0;
	if (!(d < above) || d != floor(d) || (n.d == 0 && signbit(n.d)))
		return false;
	*ret = (uint64_t)d;
	return !*negative || *ret <= (uint64_t)1 << 63;
}

static bool
put_whole(struct attr_number n, enum nc_type t, uint8_t *to)
{
	const unsigned bits = 8 * (unsigned)nc_type_size(t);
	const bool is_signed =
		t == NC_TYPE_BYTE || t == NC_TYPE_SHORT || t == NC_TYPE_INT || t == NC_TYPE_INT64;
	const uint64_t most = UINT64_MAX >> (64 - bits), half = (uint64_t)1 << (bits - 1);
	bool negative;
	uint64_t u;
	if (!whole(n, &negative, &u))
		return false;
	if (negative ? !is_signed || u > half : u > (is_signed ? half - 1 : most))
		return false;
	u = negative ? 0 - u : u;
	const uint8_t u8 = (uint8_t)u;
	const uint16_t u16 = (uint16_t)u;
	const uint32_t u32 = (uint32_t)u;
	const void *from = bits == 8    ? (const void *)&u8
			   : bits == 16 ? (const void *)&u16
			   : bits == 32 ? (const void *)&u32
					: &u;
	memcpy(to, from, bits / 8);
	return true;
}

static bool
put_real(struct attr_number n, enum nc_type t, uint8_t *to)
{
	const double d = n.real ? n.d : n.above ? (double)n.u : (double)n.i;
	const float f = (float)d;
	bool negative;
	uint64_t was, is;
	const struct attr_number back = {.real = true, .d = t == NC_TYPE_FLOAT ? (double)f : d};
	if (t == NC_TYPE_FLOAT)
		memcpy(to, &f, sizeof f);
	else
		memcpy(to, &d, sizeof d);
	if (n.real)
		return isnan(d) || back.d == d;
	return whole(n, &negative, &was) && whole(back, &negative, &is) && was == is;
}

int
attr_as(const struct attr *a, enum nc_type t, struct attr *ret)
{
	const size_t size = nc_type_size(t);
	struct attr new = {.type = t, .count = a->count};
	if (t == NC_TYPE_CHAR || t == NC_TYPE_STRING)
		return err_set(
			-ERANGE, "attribute '%s': numbers are no text", a->name ? a->name : "");
	new.name = a->name ? strdup(a->name) : NULL;
	uint8_t *to = calloc(a->count + 1, size ? size : 1);
	new.data = to;
	int r = !to || (a->name && !new.name) ? no_memory(a) : 0;
	for (size_t i = 0; r == 0 && i < a->count; i++) {
		const struct attr_number n = attr_number(a, i);
		if (!(is_real(t) ? put_real(n, t, to + i * size) : put_whole(n, t, to + i * size)))
			r = err_set(-ERANGE, "attribute '%s': a number does not fit its type",
				a->name ? a->name : "");
	}
	if (r < 0)
		attr_clear(&new);
	else
		*ret = new;
	return r;
}

/* A text as the one string of a list of strings. */
static int
text_as_string(const struct attr *a, struct attr *ret)
{
	char *text = strndup(a->data, a->count);
	const struct attr one = {
		.name = a->name, .type = NC_TYPE_STRING, .count = 1, .data = &text};
	int r = text ? attr_copy(&one, ret) : no_memory(a);
	free(text);
	return r;
}

static int
string_as_text(const struct attr *a, struct attr *ret)
{
	const char *text = *(char *const *)a->data;
	const struct attr one = {
		.name = a->name, .type = NC_TYPE_CHAR, .count = strlen(text), .data = (void *)text};
	return attr_copy(&one, ret);
}

/* Types that are not recorded: JSON tells integers from others, and no more. */
static int
keep_inferred(const struct attr *a, const struct attr *old, struct attr *ret)
{
	if (is_real(old->type) || !is_real(a->type) || attr_takes_type(a->name))
		return attr_as(a, old->type, ret);
	int r = attr_as(a, NC_TYPE_INT64, ret);
	return r == -ERANGE ? attr_as(a, NC_TYPE_UINT64, ret) : r;
}

int
attr_keep_type(const struct attr *a, const struct attr *old, struct attr *ret)
{
	int r = -ERANGE;
	if (old && attr_is_number(a) && attr_is_number(old) && a->type != old->type)
		r = old->recorded ? attr_as(a, old->type, ret) : keep_inferred(a, old, ret);
	else if (old && old->type == NC_TYPE_STRING && old->count == 1 && a->type == NC_TYPE_CHAR &&
		 !memchr(a->data, 0, a->count))
		r = text_as_string(a, ret);
	else if (old && old->type == NC_TYPE_CHAR && a->type == NC_TYPE_STRING && a->count == 1)
		r = string_as_text(a, ret);
	return r == -ERANGE ? attr_copy(a, ret) : r;
}

/* --- as JSON --- */

static int
add_real(double d, enum attr_spelling s, struct buf *ret)
{
	char text[NUMBER_DOUBLE];
	const char *quote = s == ATTR_RECORDED ? "\"" : "";
	if (isnan(d))
		return buf_addf(ret, "%sNaN%s", quote, quote);
	if (isinf(d))
		return buf_addf(ret, "%s%sInfinity%s", quote, d < 0 ? "-" : "", quote);
	return buf_add(ret, text, number_double(d, text));
}

static int
add_number(const struct attr *a, size_t i, enum attr_spelling s, struct buf *ret)
{
	char text[NUMBER_INT];
	const struct attr_number n = attr_number(a, i);
	if (n.real)
		return add_real(n.d, s, ret);
	return buf_add(ret, text, n.above ? number_uint(n.u, text) : number_int(n.i, text));
}

static int
add_element(const struct attr *a, size_t i, enum attr_spelling s, struct buf *ret)
{
	if (a->type != NC_TYPE_STRING)
		return add_number(a, i, s, ret);
	const char *text = ((char *const *)a->data)[i];
	return json_quote(text, strlen(text), ret);
}

/* A dict or list stays one as long as its text is one. */
static bool
stays_json(const struct attr *a, struct span was)
{
	const char *text = a->data;
	const bool was_json = a->json || (was.len && (*was.data == '{' || *was.data == '['));
	return was_json && a->count && (*text == '{' || *text == '[') &&
	       !memchr(text, '\n', a->count) && json_is_strict(text, a->count);
}

int
attr_json(const struct attr *a, enum attr_spelling s, struct span was, struct buf *ret)
{
	const bool was_list = was.len && *was.data == '[';
	if (a->type == NC_TYPE_CHAR)
		return stays_json(a, was) ? buf_add(ret, a->data, a->count)
					  : json_quote(a->data, a->count, ret);
	if (!a->count && s != ATTR_PURE)
		return err_set(-EINVAL,
			"attribute '%s': netcdf-c reads no NCZarr store with an attribute of no "
			"values",
			a->name);
	if (a->count == 1 && !was_list)
		return add_element(a, 0, s, ret);
	int r = buf_add(ret, "[", 1);
	for (size_t i = 0; r == 0 && i < a->count; i++) {
		r = i ? buf_add(ret, ", ", 2) : 0;
		if (r == 0)
			r = add_element(a, i, s, ret);
	}
	return r < 0 ? r : buf_add(ret, "]", 1);
}

enum { STRING_ROOM = 128 }; /* netcdf-c's default length of a string */

static size_t
longest(const struct attr *a)
{
	size_t most = STRING_ROOM;
	for (size_t i = 0; i < a->count; i++) {
		size_t len = strlen(((char *const *)a->data)[i]);
		most = len > most ? len : most;
	}
	return most;
}

int
attr_type_name(const struct attr *a, enum attr_spelling s, struct buf *ret)
{
	static const char *const name[] = {
		[NC_TYPE_BYTE] = "<i1",
		[NC_TYPE_CHAR] = ">S1",
		[NC_TYPE_SHORT] = "<i2",
		[NC_TYPE_INT] = "<i4",
		[NC_TYPE_FLOAT] = "<f4",
		[NC_TYPE_DOUBLE] = "<f8",
		[NC_TYPE_UBYTE] = "<u1",
		[NC_TYPE_USHORT] = "<u2",
		[NC_TYPE_UINT] = "<u4",
		[NC_TYPE_INT64] = "<i8",
		[NC_TYPE_UINT64] = "<u8",
	};
	const bool older = s == ATTR_RECORDED_1;
	if (a->type == NC_TYPE_STRING && older)
		return err_set(-ENOTSUP,
			"attribute '%s': NCZarr of netcdf-c 4.8.1 and 4.9.0 has no strings",
			a->name);
	if (a->type == NC_TYPE_STRING)
		return buf_addf(ret, "|S%zu", longest(a));
	const char *text = older && a->type == NC_TYPE_CHAR ? "<U1" : name[a->type];
	return buf_add(ret, text, strlen(text));
}
