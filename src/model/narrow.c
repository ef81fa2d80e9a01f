#include "model/narrow.h"

#include "base/err.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

/* What the largest exponent means. */
enum top {
	TOP_IEEE,     /* infinity and NaN */
	TOP_LAST_NAN, /* numbers, but the last of them is NaN: "fn" */
	TOP_NUMBERS,  /* numbers: types without NaN */
	TOP_ZERO_NAN, /* numbers; -0 is NaN: "fnuz" */
};

static const struct {
	const char *name;
	uint8_t bits;
	bool is_float, is_signed;
	uint8_t exponent; /* bits of it */
	int bias;
	enum top top;
} types[] = {
	[NARROW_INT2] = {"int2", 2, .is_signed = true},
	[NARROW_INT4] = {"int4", 4, .is_signed = true},
	[NARROW_UINT2] = {"uint2", 2},
	[NARROW_UINT4] = {"uint4", 4},
	[NARROW_BFLOAT16] = {"bfloat16", 16, true, true, 8, 127, TOP_IEEE},
	[NARROW_FLOAT4_E2M1FN] = {"float4_e2m1fn", 4, true, true, 2, 1, TOP_NUMBERS},
	[NARROW_FLOAT6_E2M3FN] = {"float6_e2m3fn", 6, true, true, 2, 1, TOP_NUMBERS},
	[NARROW_FLOAT6_E3M2FN] = {"float6_e3m2fn", 6, true, true, 3, 3, TOP_NUMBERS},
	[NARROW_FLOAT8_E3M4] = {"float8_e3m4", 8, true, true, 3, 3, TOP_IEEE},
	[NARROW_FLOAT8_E4M3] = {"float8_e4m3", 8, true, true, 4, 7, TOP_IEEE},
	[NARROW_FLOAT8_E4M3FN] = {"float8_e4m3fn", 8, true, true, 4, 7, TOP_LAST_NAN},
	[NARROW_FLOAT8_E4M3FNUZ] = {"float8_e4m3fnuz", 8, true, true, 4, 8, TOP_ZERO_NAN},
	[NARROW_FLOAT8_E4M3B11FNUZ] = {"float8_e4m3b11fnuz", 8, true, true, 4, 11, TOP_ZERO_NAN},
	[NARROW_FLOAT8_E5M2] = {"float8_e5m2", 8, true, true, 5, 15, TOP_IEEE},
	[NARROW_FLOAT8_E5M2FNUZ] = {"float8_e5m2fnuz", 8, true, true, 5, 16, TOP_ZERO_NAN},
	[NARROW_FLOAT8_E8M0FNU] = {"float8_e8m0fnu", 8, true, false, 8, 127, TOP_LAST_NAN},
};

enum narrow
narrow_find(const char *name)
{
	for (unsigned t = 1; t < sizeof types / sizeof *types; t++)
		if (!strcmp(types[t].name, name))
			return (enum narrow)t;
	return NARROW_NONE;
}

const char *
narrow_name(enum narrow t)
{
	return types[t].name;
}

unsigned
narrow_size(enum narrow t)
{
	return types[t].bits > 8 ? 2 : 1;
}

unsigned
narrow_bits(enum narrow t)
{
	return types[t].bits;
}

struct dtype
narrow_wide(enum narrow t)
{
	if (types[t].is_float)
		return (struct dtype){.kind = DTYPE_FLOAT, .size = sizeof(float), .narrow = t};
	enum dtype_kind kind = types[t].is_signed ? DTYPE_INT : DTYPE_UINT;
	return (struct dtype){.kind = kind, .size = 1, .narrow = t};
}

struct dtype
narrow_raw(const struct dtype *wide)
{
	return (struct dtype){.kind = DTYPE_RAW,
		.size = narrow_size(wide->narrow),
		.big = wide->big,
		.narrow = wide->narrow};
}

static bool
is_nan(enum narrow t, unsigned magnitude, bool negative)
{
	unsigned fraction = types[t].bits - types[t].is_signed - types[t].exponent;
	unsigned last = (1u << (types[t].bits - types[t].is_signed)) - 1;
	switch (types[t].top) {
	case TOP_IEEE: return magnitude > last - (1u << fraction) + 1;
	case TOP_LAST_NAN: return magnitude == last;
	case TOP_ZERO_NAN: return negative && !magnitude;
	case TOP_NUMBERS: return false;
	}
	return false;
}

static double
float_value(enum narrow t, unsigned bits)
{
	unsigned width = types[t].bits - types[t].is_signed, fraction = width - types[t].exponent;
	bool negative = types[t].is_signed && bits >> width & 1;
	unsigned magnitude = bits & ((1u << width) - 1);
	int exponent = (int)(magnitude >> fraction);
	double part = magnitude & ((1u << fraction) - 1), v;
	if (is_nan(t, magnitude, negative))
		v = NAN;
	else if (types[t].top == TOP_IEEE && exponent == (1 << types[t].exponent) - 1)
		v = INFINITY;
	else if (exponent || !types[t].is_signed)
		v = ldexp(ldexp(part, -(int)fraction) + 1, exponent - types[t].bias);
	else
		v = ldexp(part, 1 - types[t].bias - (int)fraction);
	return negative ? -v : v;
}

double
narrow_value(enum narrow t, uint16_t bits)
{
	unsigned low = bits & ((1u << types[t].bits) - 1);
	if (types[t].is_float)
		return float_value(t, low);
	bool negative = types[t].is_signed && low >> (types[t].bits - 1);
	return negative ? (double)low - (1 << types[t].bits) : low;
}

/* bfloat16 is the upper half of a float, NaN with all its bits. */
static void
widen_halves(const struct dtype *wide, const uint8_t *in, uint64_t n, uint8_t *out)
{
	memset(out, 0, n * sizeof(float));
	for (uint64_t i = 0; i < n; i++)
		memcpy(out + i * sizeof(float) + (wide->big ? 0 : 2), in + i * 2, 2);
}

void
narrow_widen(const struct dtype *wide, const uint8_t *in, uint64_t n, uint8_t *out)
{
	if (wide->narrow == NARROW_BFLOAT16) {
		widen_halves(wide, in, n, out);
		return;
	}
	float table[UINT8_MAX + 1];
	for (unsigned i = 0; i <= UINT8_MAX; i++)
		table[i] = (float)narrow_value(wide->narrow, (uint16_t)i);
	if (wide->kind != DTYPE_FLOAT) {
		for (uint64_t i = 0; i < n; i++)
			out[i] = (uint8_t)(int8_t)table[in[i]];
		return;
	}
	for (unsigned i = 0; wide->big != host_big && i <= UINT8_MAX; i++)
		dtype_swap(wide, &table[i], 1);
	for (uint64_t i = 0; i < n; i++)
		memcpy(out + i * sizeof(float), &table[in[i]], sizeof(float));
}

/* Codes of numbers that are not negative are in the order of the numbers: the last of them that is
 * finite. */
static unsigned
last_finite(enum narrow t)
{
	unsigned code = (1u << (types[t].bits - types[t].is_signed)) - 1;
	while (!isfinite(float_value(t, code)))
		code--;
	return code;
}

/* v >= 0. False: larger than all, by more than rounding takes away. */
static bool
nearest_code(enum narrow t, double v, unsigned *ret)
{
	unsigned low = 0, high = last_finite(t);
	double most = float_value(t, high), gap = most - float_value(t, high - 1);
	if (v >= most + gap / 2)
		return false;
	while (low + 1 < high) {
		unsigned middle = (low + high) / 2;
		if (float_value(t, middle) <= v)
			low = middle;
		else
			high = middle;
	}
	double below = v - float_value(t, low), above = float_value(t, high) - v;
	*ret = above < below || (above == below && low & 1) ? high : low;
	return types[t].is_signed || below >= 0;
}

/* NaN and infinity: those of the type, where it has them. */
static bool
special_code(enum narrow t, double v, unsigned *ret)
{
	unsigned width = types[t].bits - types[t].is_signed, last = (1u << width) - 1;
	unsigned fraction = width - types[t].exponent;
	switch (types[t].top) {
	case TOP_IEEE:
		*ret = last - (1u << fraction) + 1;
		*ret |= isnan(v) ? 1u << (fraction - 1) : 0;
		return true;
	case TOP_LAST_NAN: *ret = last; return isnan(v);
	case TOP_ZERO_NAN: *ret = 1u << width; return isnan(v);
	case TOP_NUMBERS: return false;
	}
	return false;
}

bool
narrow_nearest(enum narrow t, double v, uint16_t *ret)
{
	unsigned code, sign = 1u << (types[t].bits - 1);
	if (!types[t].is_float) {
		double least = types[t].is_signed ? -(double)sign : 0;
		v = rint(v);
		if (!(v >= least && v < least + 2.0 * sign))
			return false;
		*ret = (uint16_t)((unsigned)(int)v & (2 * sign - 1));
		return true;
	}
	bool found = isfinite(v) ? nearest_code(t, fabs(v), &code) : special_code(t, v, &code);
	/* an infinity that rounding makes */
	if (!found && isfinite(v) && types[t].top == TOP_IEEE)
		found = special_code(t, INFINITY, &code);
	if (!found || (!types[t].is_signed && signbit(v) && !isnan(v)))
		return false;
	bool negative = types[t].is_signed && signbit(v) &&
			!(types[t].top == TOP_ZERO_NAN && (!code || isnan(v)));
	*ret = (uint16_t)(negative ? code | sign : code);
	return true;
}

static int
no_number(const struct dtype *wide, uint64_t i, double v)
{
	return err_set(
		-ERANGE, "element %" PRIu64 ", %.9g, is no %s", i, v, types[wide->narrow].name);
}

/* NaN keeps its bits where there is room for them. */
static bool
half_of(float f, uint16_t *ret)
{
	uint32_t bits;
	memcpy(&bits, &f, sizeof bits);
	*ret = (uint16_t)(bits >> 16);
	if (isnan(f) && bits & UINT16_MAX)
		*ret = (uint16_t)(*ret | 0x40);
	return isnan(f) || !(bits & UINT16_MAX);
}

static int
float_back(const struct dtype *wide, const uint8_t *in, uint64_t n, uint8_t *out)
{
	enum narrow t = wide->narrow;
	for (uint64_t i = 0; i < n; i++) {
		float f;
		uint16_t code = 0;
		memcpy(&f, in + i * sizeof f, sizeof f);
		if (wide->big != host_big)
			dtype_swap(wide, &f, 1);
		bool fits = t == NARROW_BFLOAT16 ? half_of(f, &code) : narrow_nearest(t, f, &code);
		double back = t == NARROW_BFLOAT16 ? f : float_value(t, code);
		if (!fits || (!isnan(f) && (back != f || !signbit(back) != !signbit(f))))
			return no_number(wide, i, f);
		if (t != NARROW_BFLOAT16) {
			out[i] = (uint8_t)code;
			continue;
		}
		code = wide->big ? htobe16(code) : htole16(code);
		memcpy(out + i * sizeof code, &code, sizeof code);
	}
	return 0;
}

int
narrow_back(const struct dtype *wide, const uint8_t *in, uint64_t n, uint8_t *out)
{
	enum narrow t = wide->narrow;
	if (types[t].is_float)
		return float_back(wide, in, n, out);
	for (uint64_t i = 0; i < n; i++) {
		double v = types[t].is_signed ? (double)(int8_t)in[i] : in[i];
		uint16_t code;
		if (!narrow_nearest(t, v, &code))
			return no_number(wide, i, v);
		out[i] = (uint8_t)code;
	}
	return 0;
}
