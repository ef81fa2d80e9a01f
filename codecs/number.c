#include "codecs/number.h"

#include <byteswap.h>
#include <math.h>
#include <string.h>

enum {
	HALF_FRACTION = 10, /* bits; binary16 of IEEE 754 */
	HALF_BIAS = 15,
	HALF_INF = 0x7c00,
	HALF_NAN = 0x7e00,
	HALF_PAYLOAD = 0x3ff,
	HALF_SIGN = 0x8000,
};

bool
number_is(const struct dtype *d)
{
	switch (d->narrow ? DTYPE_RAW : d->kind) {
	case DTYPE_BOOL:
	case DTYPE_INT:
	case DTYPE_UINT:
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA: return d->size == 1 || d->size == 2 || d->size == 4 || d->size == 8;
	case DTYPE_FLOAT: return d->size == 2 || d->size == 4 || d->size == 8;
	default: return false;
	}
}

bool
number_is_time(const struct dtype *d)
{
	return d->kind == DTYPE_DATETIME || d->kind == DTYPE_TIMEDELTA;
}

enum number_class
number_class(const struct dtype *d)
{
	switch (d->kind) {
	case DTYPE_FLOAT: return NUMBER_FLOAT;
	case DTYPE_BOOL:
	case DTYPE_UINT: return NUMBER_UINT;
	default: return NUMBER_INT;
	}
}

float
number_from_half(uint16_t h)
{
	int exponent = (h >> HALF_FRACTION) & 31;
	uint32_t fraction = h & 0x3ff, sign = (uint32_t)(h & HALF_SIGN) << 16, bits;
	float f;
	if (exponent == 0) { /* zero or subnormal: a multiple of 2^-24 */
		f = (float)fraction * 0x1p-24f;
		return sign ? -f : f;
	}
	if (exponent == 31)
		bits = sign | 0x7f800000u | fraction << 13;
	else
		bits = sign | (uint32_t)(exponent - HALF_BIAS + 127) << 23 | fraction << 13;
	memcpy(&f, &bits, sizeof f);
	return f;
}

uint16_t
number_to_half(double v)
{
	uint16_t sign = signbit(v) ? HALF_SIGN : 0;
	double a = fabs(v);
	if (isnan(v)) { /* as much of its payload as there is room for */
		uint64_t bits;
		memcpy(&bits, &v, sizeof bits);
		return sign | HALF_NAN | (uint16_t)(bits >> (52 - HALF_FRACTION) & HALF_PAYLOAD);
	}
	if (a >= 65520) /* nearer to 2^16 than to the largest, 65504 */
		return sign | HALF_INF;
	if (a < 0x1p-14) /* subnormal; rounding up to 2^10 gives the smallest normal by itself */
		return sign | (uint16_t)rint(a * 0x1p24);
	int exponent;
	double m = frexp(a, &exponent); /* [0.5, 1) */
	/* 2^10 … 2^11: the leading bit adds one to the exponent, and so does rounding up to 2^11 */
	uint16_t fraction = (uint16_t)rint(ldexp(m, HALF_FRACTION + 1));
	return sign | (uint16_t)(((exponent + HALF_BIAS - 2) << HALF_FRACTION) + fraction);
}

/* cvttsd2si with a 32-bit and a 64-bit result: out of range is the smallest number. */
static int32_t
to_i32(double f)
{
	return f > -0x1p31 - 1 && f < 0x1p31 ? (int32_t)f : INT32_MIN;
}

static int64_t
to_i64(double f)
{
	return f >= -0x1p63 && f < 0x1p63 ? (int64_t)f : INT64_MIN;
}

static uint64_t
to_u64(double f)
{
	static const uint64_t top = (uint64_t)1 << 63;
	return f >= 0x1p63 ? (uint64_t)to_i64(f - 0x1p63) ^ top : (uint64_t)to_i64(f);
}

static uint8_t
same8(uint8_t v)
{
	return v;
}

/* n elements of `bits` bits from src, swapped where needed, as `raw`. */
#define LOAD(bits, swap, expression)                                                               \
	for (size_t i = 0; i < n; i++) {                                                           \
		uint##bits##_t raw;                                                                \
		memcpy(&raw, src + i * sizeof raw, sizeof raw);                                    \
		raw = other_order ? swap(raw) : raw;                                               \
		expression;                                                                        \
	}

static void
load_float(const struct dtype *d, const uint8_t *src, size_t n, union number *ret)
{
	bool other_order = d->big != NUMBER_HOST_BIG;
	union {
		uint32_t bits;
		float f;
	} single;
	switch (d->size) {
	case 2: LOAD(16, bswap_16, ret[i].f = number_from_half(raw)); break;
	case 4: LOAD(32, bswap_32, single.bits = raw; ret[i].f = single.f); break;
	case 8: LOAD(64, bswap_64, ret[i].u = raw); break;
	}
}

static void
load_int(const struct dtype *d, const uint8_t *src, size_t n, union number *ret)
{
	bool other_order = d->big != NUMBER_HOST_BIG;
	switch (d->size) {
	case 1: LOAD(8, same8, ret[i].i = (int8_t)raw); break;
	case 2: LOAD(16, bswap_16, ret[i].i = (int16_t)raw); break;
	case 4: LOAD(32, bswap_32, ret[i].i = (int32_t)raw); break;
	case 8: LOAD(64, bswap_64, ret[i].i = (int64_t)raw); break;
	}
}

static void
load_uint(const struct dtype *d, const uint8_t *src, size_t n, union number *ret)
{
	bool other_order = d->big != NUMBER_HOST_BIG;
	switch (d->size) {
	case 1: LOAD(8, same8, ret[i].u = raw); break;
	case 2: LOAD(16, bswap_16, ret[i].u = raw); break;
	case 4: LOAD(32, bswap_32, ret[i].u = raw); break;
	case 8: LOAD(64, bswap_64, ret[i].u = raw); break;
	}
}

void
number_load(const struct dtype *d, const uint8_t *src, size_t n, union number *ret)
{
	switch (number_class(d)) {
	case NUMBER_FLOAT: load_float(d, src, n, ret); break;
	case NUMBER_INT: load_int(d, src, n, ret); break;
	case NUMBER_UINT:
		load_uint(d, src, n, ret);
		for (size_t i = 0; d->kind == DTYPE_BOOL && i < n; i++)
			ret[i].u = ret[i].u != 0;
		break;
	}
}

#define STORE(bits, swap, expression)                                                              \
	for (size_t i = 0; i < n; i++) {                                                           \
		uint##bits##_t raw = (uint##bits##_t)(expression);                                 \
		raw = other_order ? swap(raw) : raw;                                               \
		memcpy(dst + i * sizeof raw, &raw, sizeof raw);                                    \
	}

/* Integers of both signs: their low bits. */
static void
store_low(const struct dtype *d, const union number *v, size_t n, uint8_t *dst)
{
	bool other_order = d->big != NUMBER_HOST_BIG;
	switch (d->size) {
	case 1: STORE(8, same8, v[i].u); break;
	case 2: STORE(16, bswap_16, v[i].u); break;
	case 4: STORE(32, bswap_32, v[i].u); break;
	case 8: STORE(64, bswap_64, v[i].u); break;
	}
}

static void
store_rounded(const struct dtype *d, const union number *v, size_t n, uint8_t *dst)
{
	bool other_order = d->big != NUMBER_HOST_BIG, is_signed = d->kind != DTYPE_UINT;
	switch (d->size) {
	case 1: STORE(8, same8, to_i32(v[i].f)); break;
	case 2: STORE(16, bswap_16, to_i32(v[i].f)); break;
	case 4:
		if (is_signed)
			STORE(32, bswap_32, to_i32(v[i].f))
		else
			STORE(32, bswap_32, to_i64(v[i].f))
		break;
	case 8:
		if (is_signed)
			STORE(64, bswap_64, to_i64(v[i].f))
		else
			STORE(64, bswap_64, to_u64(v[i].f))
		break;
	}
}

static double
as_double(enum number_class from, union number v)
{
	return from == NUMBER_INT ? (double)v.i : from == NUMBER_UINT ? (double)v.u : v.f;
}

/* Not by way of double: that would round large integers twice. */
static uint32_t
single_bits(enum number_class from, union number v)
{
	float f = from == NUMBER_INT ? (float)v.i : from == NUMBER_UINT ? (float)v.u : (float)v.f;
	uint32_t bits;
	memcpy(&bits, &f, sizeof bits);
	return bits;
}

static uint64_t
double_bits(enum number_class from, union number v)
{
	return (union number){.f = as_double(from, v)}.u;
}

static void
store_float(const struct dtype *d, enum number_class from, const union number *v, size_t n,
	uint8_t *dst)
{
	bool other_order = d->big != NUMBER_HOST_BIG;
	switch (d->size) {
	case 2: STORE(16, bswap_16, number_to_half(as_double(from, v[i]))); break;
	case 4: STORE(32, bswap_32, single_bits(from, v[i])); break;
	case 8: STORE(64, bswap_64, double_bits(from, v[i])); break;
	}
}

void
number_store(const struct dtype *d, enum number_class from, const union number *v, size_t n,
	uint8_t *dst)
{
	if (d->kind == DTYPE_FLOAT)
		store_float(d, from, v, n, dst);
	else if (d->kind == DTYPE_BOOL)
		for (size_t i = 0; i < n; i++)
			dst[i] = from == NUMBER_FLOAT ? v[i].f != 0 : v[i].u != 0;
	else if (from == NUMBER_FLOAT)
		store_rounded(d, v, n, dst);
	else
		store_low(d, v, n, dst);
}

static bool
fits_float(const struct dtype *d, enum number_class class, union number v)
{
	double x = as_double(class, v);
	return !isfinite(x) || isfinite(number_round(d, x));
}

static bool
fits_int(const struct dtype *d, enum number_class class, union number v)
{
	unsigned bits = 8 * d->size;
	bool is_signed = d->kind != DTYPE_UINT;
	double end = ldexp(1, (int)(is_signed ? bits - 1 : bits));
	if (class == NUMBER_FLOAT)
		return trunc(v.f) < end && trunc(v.f) >= (is_signed ? -end : 0);
	if (class == NUMBER_INT && v.i < 0)
		return is_signed && v.i >= -(int64_t)(((uint64_t)1 << (bits - 1)) - 1) - 1;
	return v.u <= UINT64_MAX >> (64 - bits + is_signed);
}

size_t
number_misfit(const struct dtype *d, enum number_class class, const union number *v, size_t n)
{
	size_t i = 0;
	if (d->kind == DTYPE_FLOAT)
		while (i < n && fits_float(d, class, v[i]))
			i++;
	else if (d->kind != DTYPE_BOOL)
		while (i < n && fits_int(d, class, v[i]))
			i++;
	else
		i = n;
	return i;
}

struct dtype
number_widen(const struct dtype *d, double v)
{
	struct dtype wide = *d;
	while (wide.kind == DTYPE_FLOAT && wide.size < sizeof v && isinf(number_round(&wide, v)))
		wide.size *= 2;
	return wide;
}

enum number_class
number_cast(const struct dtype *d, enum number_class from, union number *v, size_t n)
{
	uint8_t bytes[NUMBER_BLOCK * sizeof *v];
	number_store(d, from, v, n, bytes);
	number_load(d, bytes, n, v);
	return number_class(d);
}
