#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A finite number above 0 is exactly m × 2^e. What rounds to it lies within half of 2^e above, and
 * within half (a quarter, where m is the smallest of its binade) of it below. All of that is
 * compared in 128-bit integers, so nothing is rounded here; numbers whose parts do not fit are left
 * to printf and strtod. */
__extension__ typedef unsigned __int128 wide;

struct binary {
	uint64_t m;
	int e;
	bool lowest; /* the next number below is half as far away */
};

/* digits × 10^exponent */
struct decimal {
	uint64_t digits;
	int exponent;
};

struct number_kind {
	int sure;    /* any decimal of so many digits comes back from the number it rounds to … */
	int most;    /* … and this many are enough for any number */
	bool single; /* a float holds it */
	int plain;   /* powers of ten from here on are written with an exponent, … */
	bool cdl;    /* … unless all digits are shown; "1." and "1.e+20", not "1.0" and "1e+20" */
};

static const struct number_kind kind_half = {1, 5, true, 9}, kind_float = {6, 9, true, 9},
				kind_double = {15, 17, false, 16};
/* ncdump's */
static const struct number_kind kind_cdl_float = {6, 9, true, 7, true},
				kind_cdl_double = {15, 17, false, 15, true};

enum { WIDE_BITS = 128, FIVES = 27, TENS = 19 }; /* 5^27 < 2^63, 10^19 < 2^64 */

static uint64_t
power(uint64_t base, int n)
{
	uint64_t p = 1;
	for (; n > 0; n >>= 1, base *= base)
		p *= n & 1 ? base : 1;
	return p;
}

static int
bits_of(uint64_t v)
{
	return v ? 64 - __builtin_clzll(v) : 0;
}

/* The number as the fraction num / den, scaled by 10^-exponent, and half of its 2^e in the same
 * scale, both times 4. */
struct scaled {
	wide num, den, half;
	int shift; /* den is 2^shift; 0: it is no power of 2 */
};

/* False: it does not fit. */
static bool
scale(const struct binary *b, int exponent, struct scaled *ret)
{
	/* m × 2^e / 10^x = m × 5^-x × 2^(e-x) for x <= 0, else m × 2^e / 10^x */
	uint64_t fives = exponent <= 0 && exponent >= -FIVES ? power(5, -exponent) : 1;
	uint64_t tens = exponent > 0 && exponent <= TENS ? power(10, exponent) : 1;
	int shift = exponent <= 0 ? b->e - exponent : b->e;
	if (exponent < -FIVES || exponent > TENS)
		return false;
	/* times 4, so that a quarter of a unit is whole */
	int left = shift > 0 ? shift : 0, right = shift < 0 ? -shift : 0;
	if (bits_of(b->m) + bits_of(fives) + 3 + left >= WIDE_BITS ||
		bits_of(tens) + 3 + right >= WIDE_BITS || right > 120)
		return false;
	ret->num = ((wide)b->m * fives * 4) << left;
	ret->half = ((wide)fives * 2) << left;
	ret->den = ((wide)tens * 4) << right;
	ret->shift = tens == 1 ? right + 2 : 0;
	return true;
}

/* Does d, in the scale of s, round to the number? Ties go to the even one, as strtod has it. */
static bool
rounds_back(const struct binary *b, const struct scaled *s, uint64_t d)
{
	wide there;
	if (__builtin_mul_overflow(s->den, (wide)d, &there))
		return false;
	if (there >= s->num)
		return there - s->num < s->half + (b->m % 2 == 0);
	return s->num - there < (b->lowest ? s->half / 2 : s->half) + (b->m % 2 == 0);
}

/* The nearest decimal with that exponent, or its neighbour, if one comes back. */
static bool
try_exponent(const struct binary *b, int exponent, struct decimal *ret)
{
	struct scaled s;
	if (!scale(b, exponent, &s))
		return false;
	wide floor = s.shift ? s.num >> s.shift : s.num / s.den, rest = s.num - floor * s.den;
	if (floor >> 62)
		return false;
	uint64_t low = (uint64_t)floor,
		 near = rest * 2 > s.den || (rest * 2 == s.den && low % 2) ? low + 1 : low;
	uint64_t other = near == low ? low + 1 : low;
	if (rounds_back(b, &s, near))
		*ret = (struct decimal){near, exponent};
	else if (rounds_back(b, &s, other))
		*ret = (struct decimal){other, exponent};
	else
		return false;
	return ret->digits != 0;
}

/* floor(log10) of the number, or one less. */
static int
magnitude(const struct binary *b)
{
	int log2 = b->e + bits_of(b->m) - 1;
	return (int)floor(log2 * 0.30102999566398119);
}

static void
strip_zeros(struct decimal *d)
{
	while (d->digits % 10 == 0) {
		d->digits /= 10;
		d->exponent++;
	}
}

static bool
shortest(const struct binary *b, const struct number_kind *k, struct decimal *ret)
{
	int top = magnitude(b);
	struct scaled s;
	/* All that may be tried must fit: the shortest is the answer, not the first that can be
	 * worked out. */
	if (!scale(b, top - k->most + 1, &s) || !scale(b, top + 1, &s))
		return false;
	if (s.num >= s.den) /* magnitude() was one too low */
		top++;
	for (int n = k->sure; n <= k->most; n++)
		if (try_exponent(b, top - n + 1, ret)) {
			strip_zeros(ret);
			return true;
		}
	return false;
}

static bool
comes_back(const struct decimal *d, double v, const struct number_kind *k)
{
	char text[40];
	snprintf(text, sizeof text, "%" PRIu64 "e%d", d->digits, d->exponent);
	return k->single ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v;
}

/* Numbers that are very large or very small: rare, and slow. Powers of two have more room above
 * than below, where the nearest may be. */
static void
slow(double v, const struct number_kind *k, struct decimal *ret)
{
	for (int p = 1; p <= k->most; p++) {
		char text[40], *c = text;
		snprintf(text, sizeof text, "%.*e", p - 1, v);
		for (ret->digits = 0; *c != 'e'; c++)
			if (*c >= '0' && *c <= '9')
				ret->digits = 10 * ret->digits + (uint64_t)(*c - '0');
		ret->exponent = (int)strtol(c + 1, NULL, 10) - p + 1;
		if (comes_back(ret, v, k))
			break;
		ret->digits++;
		if (comes_back(ret, v, k))
			break;
	}
	strip_zeros(ret);
}

size_t
number_uint(uint64_t v, char *to)
{
	char text[NUMBER_INT];
	size_t n = 0;
	do {
		text[NUMBER_INT - ++n] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	memcpy(to, text + NUMBER_INT - n, n);
	return n;
}

size_t
number_int(int64_t v, char *to)
{
	if (v >= 0)
		return number_uint((uint64_t)v, to);
	*to = '-';
	return 1 + number_uint(-(uint64_t)v, to + 1);
}

static size_t
fill(char *to, char c, int n)
{
	if (n <= 0)
		return 0;
	memset(to, c, (size_t)n);
	return (size_t)n;
}

static size_t
write_exponent(char *to, int e)
{
	size_t n = 0;
	to[n++] = 'e';
	to[n++] = e < 0 ? '-' : '+';
	e = abs(e);
	if (e < 10)
		to[n++] = '0';
	return n + number_uint((uint64_t)e, to + n);
}

/* "0.00123", "123.0", "1.5e-07": as Python writes them, or as ncdump does. */
static size_t
write_decimal(const struct decimal *d, const struct number_kind *k, char *to)
{
	char digits[NUMBER_INT];
	int n = (int)number_uint(d->digits, digits), top = d->exponent + n - 1;
	int plain = k->cdl && n > k->plain ? n : k->plain;
	char *p = to;
	if (top < -4 || top >= plain) {
		*p++ = digits[0];
		if (n > 1 || k->cdl)
			*p++ = '.';
		memcpy(p, digits + 1, (size_t)n - 1);
		p += n - 1;
		return (size_t)(p - to) + write_exponent(p, top);
	}
	int before = top + 1; /* digits before the point */
	size_t all = (size_t)n, shown = before <= 0 ? 0 : before < n ? (size_t)before : all;
	if (before <= 0)
		*p++ = '0';
	memcpy(p, digits, shown);
	p += shown;
	p += fill(p, '0', before - n);
	*p++ = '.';
	p += fill(p, '0', -before);
	memcpy(p, digits + shown, all - shown);
	p += all - shown;
	if (shown == all && !k->cdl)
		*p++ = '0';
	return (size_t)(p - to);
}

static size_t
put(char *to, const char *text)
{
	size_t n = strlen(text);
	memcpy(to, text, n);
	return n;
}

static size_t
write_number(double v, const struct binary *b, const struct number_kind *k, char *to)
{
	struct decimal d = {0};
	size_t sign = signbit(v) != 0;
	if (isnan(v))
		return put(to, "NaN");
	*to = '-';
	to += sign;
	if (isinf(v))
		return sign + put(to, k->cdl ? "Infinity" : "Inf");
	if (v == 0)
		return sign + put(to, k->cdl ? "0." : "0.0");
	if (!shortest(b, k, &d))
		slow(fabs(v), k, &d);
	return sign + write_decimal(&d, k, to);
}

/* bits: of the stored fraction; bias: of the stored exponent. */
static struct binary
unpack(uint64_t v, int bits, int bias)
{
	uint64_t fraction = v & ((UINT64_C(1) << bits) - 1);
	int e = (int)(v >> bits);
	if (!e)
		return (struct binary){.m = fraction, .e = 1 - bias - bits};
	return (struct binary){
		.m = fraction | UINT64_C(1) << bits,
		.e = e - bias - bits,
		.lowest = !fraction && e > 1,
	};
}

static size_t
write_double(double v, const struct number_kind *k, char *to)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	const struct binary b = unpack(bits & ~(UINT64_C(1) << 63), 52, 1023);
	return write_number(v, &b, k, to);
}

static size_t
write_float(float v, const struct number_kind *k, char *to)
{
	uint32_t bits;
	memcpy(&bits, &v, sizeof bits);
	const struct binary b = unpack(bits & ~(UINT32_C(1) << 31), 23, 127);
	return write_number((double)v, &b, k, to);
}

size_t
number_double(double v, char *to)
{
	return write_double(v, &kind_double, to);
}

size_t
number_float(float v, char *to)
{
	return write_float(v, &kind_float, to);
}

size_t
number_cdl_double(double v, char *to)
{
	return write_double(v, &kind_cdl_double, to);
}

size_t
number_cdl_float(float v, char *to)
{
	return write_float(v, &kind_cdl_float, to);
}

float
number_of_half(uint16_t h)
{
	int exponent = h >> 10 & 31;
	float fraction = (float)(h & 1023);
	float v = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
		  : exponent     ? ldexpf(1024 + fraction, exponent - 25)
				 : ldexpf(fraction, -24);
	return h & 0x8000 ? -v : v;
}

uint64_t
number_bits(const uint8_t *p, unsigned size, bool big)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < size; i++)
		v |= (uint64_t)p[big ? size - 1 - i : i] << 8 * i;
	return v;
}

double
number_of_bits(uint64_t bits, unsigned size)
{
	const uint32_t low = (uint32_t)bits;
	float f;
	double d;
	if (size == 2)
		return (double)number_of_half((uint16_t)bits);
	memcpy(&f, &low, sizeof f);
	memcpy(&d, &bits, sizeof d);
	return size == 4 ? (double)f : d;
}

size_t
number_half(uint16_t v, char *to)
{
	const struct binary b = unpack(v & 0x7fff, 10, 15);
	return write_number((double)number_of_half(v), &b, &kind_half, to);
}
