/* Numbers from their text: integers exactly, also beyond what a double holds. */
#include "base/json.h"

#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The text of a number without blanks around it; NULL if v cannot be one. */
static const char *
number_text(const struct json *v, size_t *len)
{
	const char *s = v ? json_text(v, len) : NULL;
	if (!s)
		return NULL;
	for (; *len && isspace((unsigned char)*s); s++)
		--*len;
	while (*len && isspace((unsigned char)s[*len - 1]))
		--*len;
	return *len ? s : NULL;
}

static int
not_a_number(const struct json *v, const char *what)
{
	size_t len;
	const char *s = v ? json_text(v, &len) : NULL;
	if (!s)
		return err_set(-EINVAL, "%s instead of %s", json_type_name(v), what);
	return err_set(-EINVAL, "'%.*s' is not %s", len < 64 ? (int)len : 64, s, what);
}

static int
out_of_range(const struct json *v)
{
	size_t len = 0;
	const char *s = json_text(v, &len);
	return err_set(-ERANGE, "number '%.*s' is out of range", len < 64 ? (int)len : 64, s);
}

/* A magnitude being read digit by digit. Zeros are held back until a digit follows them,
 * so that those of 3.000 and 1e3 cost nothing and overflow only what is really too large. */
struct magnitude {
	uint64_t value;
	uint64_t zeros;
	bool over;
};

static void
add_digit(struct magnitude *m, unsigned digit, unsigned base)
{
	m->over |= __builtin_mul_overflow(m->value, base, &m->value);
	m->over |= __builtin_add_overflow(m->value, digit, &m->value);
}

static void
add_decimal(struct magnitude *m, unsigned digit)
{
	if (!digit) {
		m->zeros += m->value != 0;
		return;
	}
	for (; m->zeros && !m->over; m->zeros--)
		add_digit(m, 0, 10);
	add_digit(m, digit, 10);
}

/* digits[.digits] from s on, of which `behind` are behind the point. Where they end; NULL: there
 * are none. */
static const char *
read_digits(const char *s, const char *end, struct magnitude *m, int64_t *behind)
{
	bool digits = false, point = false;
	for (; s < end && (isdigit((unsigned char)*s) || (*s == '.' && !point)); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		digits = true;
		*behind += point;
		add_decimal(m, (unsigned)(*s - '0'));
	}
	return digits ? s : NULL;
}

/* Nothing, or e[sign]digits, up to the end. false: it is something else. */
static bool
read_exponent(const char *s, const char *end, int64_t *ret)
{
	int64_t exponent = 0;
	if (s == end)
		return true;
	if (*s != 'e' && *s != 'E')
		return false;
	s++;
	bool negative = s < end && *s == '-';
	s += s < end && (*s == '-' || *s == '+');
	if (s == end)
		return false;
	for (; s < end && isdigit((unsigned char)*s); s++)
		exponent = exponent > INT32_MAX ? exponent : exponent * 10 + (*s - '0');
	*ret = negative ? -exponent : exponent;
	return s == end;
}

/* digits[.digits][e[sign]digits] between s and end. 0; -EINVAL not a number or not whole;
 * -ERANGE. */
static int
read_decimal(const char *s, const char *end, uint64_t *ret)
{
	struct magnitude m = {0};
	int64_t behind = 0, exponent = 0;
	s = read_digits(s, end, &m, &behind);
	if (!s || !read_exponent(s, end, &exponent))
		return -EINVAL;
	*ret = 0;
	if (!m.value && !m.over)
		return 0;
	int64_t scale = exponent - behind + (int64_t)m.zeros;
	if (scale < 0)
		return -EINVAL;
	for (; scale && !m.over; scale--)
		add_digit(&m, 0, 10);
	*ret = m.value;
	return m.over ? -ERANGE : 0;
}

static int
read_hex(const char *s, const char *end, uint64_t *ret)
{
	struct magnitude m = {0};
	if (s == end)
		return -EINVAL;
	for (; s < end; s++) {
		if (!isxdigit((unsigned char)*s))
			return -EINVAL;
		unsigned digit = isdigit((unsigned char)*s) ? (unsigned)(*s - '0')
							    : (unsigned)((*s | 0x20) - 'a' + 10);
		add_digit(&m, digit, 16);
	}
	*ret = m.value;
	return m.over ? -ERANGE : 0;
}

/* Sign and magnitude. */
static int
read_integer(const struct json *v, bool *negative, uint64_t *ret)
{
	size_t len;
	const char *s = number_text(v, &len);
	if (!s)
		return not_a_number(v, "an integer");
	const char *end = s + len;
	*negative = *s == '-';
	s += *s == '-' || *s == '+';
	bool hex = end - s > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	int r = hex ? read_hex(s + 2, end, ret) : read_decimal(s, end, ret);
	return r == -EINVAL ? not_a_number(v, "an integer") : r == -ERANGE ? out_of_range(v) : r;
}

int
json_int(const struct json *v, int64_t *ret)
{
	bool negative;
	uint64_t m;
	int r = read_integer(v, &negative, &m);
	if (r < 0)
		return r;
	if (m > (uint64_t)INT64_MAX + negative)
		return out_of_range(v);
	*ret = (int64_t)(negative ? -m : m);
	return 0;
}

int
json_uint(const struct json *v, uint64_t *ret)
{
	bool negative;
	uint64_t m;
	int r = read_integer(v, &negative, &m);
	if (r < 0)
		return r;
	if (negative && m)
		return out_of_range(v);
	*ret = m;
	return 0;
}

/* NaN and Infinity as Python, C and CDL spell them, in any case. */
static bool
read_special(const char *s, size_t len, double *ret)
{
	static const char *const names[] = {"nan", "nanf", "inf", "inff", "infinity", "infinityf"};
	bool negative = *s == '-';
	size_t sign = *s == '-' || *s == '+';
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (len - sign != strlen(names[i]) || strncasecmp(s + sign, names[i], len - sign))
			continue;
		*ret = *names[i] == 'n' ? NAN : negative ? -INFINITY : INFINITY;
		return true;
	}
	return false;
}

int
json_double(const struct json *v, double *ret)
{
	size_t len;
	const char *s = number_text(v, &len);
	if (!s)
		return not_a_number(v, "a number");
	if (read_special(s, len, ret))
		return 0;
	char *end;
	double d = strtod(s, &end);
	if (end != s + len)
		return not_a_number(v, "a number");
	if (isinf(d))
		return out_of_range(v);
	*ret = d;
	return 0;
}

bool
json_word_is_int(const struct json *v)
{
	size_t len;
	const char *s = v && json_type(v) == JSON_TYPE_WORD ? json_text(v, &len) : NULL;
	if (!s)
		return false;
	s += *s == '-' || *s == '+';
	return *s && strspn(s, "0123456789") == strlen(s);
}
