/* Numbers of all types that a double holds, and back: of files that a program wrote with doubles,
 * as CDO does of all coordinates. */
#include "view/convert_undo.h"

#include "view/convert_bytes.h"

#include <math.h>

static const uint32_t SIGN = 0x80000000, INF_BITS = 0x7f800000,
		      MANTISSA = 0x7fffff; /* of a float */
static const uint64_t NAN_BITS = 0x7ff0000000000000;
enum { MORE = 29 }; /* bits that the mantissa of a double has more */

/* With all bits of a NaN, which a conversion does not keep. */
static uint64_t
wider_nan(uint32_t bits)
{
	return (uint64_t)(bits & SIGN) << 32 | NAN_BITS | (uint64_t)(bits & MANTISSA) << MORE;
}

int
float_to_double(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		uint32_t bits = load32(in + 4 * i, c->swap);
		float f;
		memcpy(&f, &bits, sizeof f);
		if (isnan(f))
			store64(out + 8 * i, wider_nan(bits));
		else
			store_double(out + 8 * i, (double)f);
	}
	return 0;
}

int
undo_double_to_float(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		const double d = load_double(in + 8 * i);
		const uint64_t wide = load_big64(in + 8 * i);
		const float f = (float)d;
		const uint32_t mantissa = (uint32_t)(wide >> MORE) & MANTISSA;
		uint32_t bits;
		memcpy(&bits, &f, sizeof bits);
		if (isnan(d) ? !mantissa : (double)f != d)
			return undo_refuse(d);
		if (isnan(d))
			bits = (uint32_t)(wide >> 32 & SIGN) | INF_BITS | mantissa;
		put32(out + 4 * i, bits, c->swap);
	}
	return 0;
}

int
byte_to_double(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++)
		store_double(out + 8 * i, (int8_t)in[i]);
	return 0;
}

int
short_to_double(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++)
		store_double(out + 8 * i, (int16_t)load16(in + 2 * i, c->swap));
	return 0;
}

int
int_to_double(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++)
		store_double(out + 8 * i, (int32_t)load32(in + 4 * i, c->swap));
	return 0;
}

int
ubyte_to_double(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++)
		store_double(out + 8 * i, in[i]);
	return 0;
}

int
ushort_to_double(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++)
		store_double(out + 8 * i, load16(in + 2 * i, c->swap));
	return 0;
}

/* Integers from `least` on, of c->atom_in bytes. */
static int
undo_whole(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out, double least)
{
	const double end = least + ldexp(1, (int)(8 * c->atom_in));
	for (uint64_t i = 0; i < n; i++) {
		double d = load_double(in + 8 * i);
		if (!(d >= least && d < end) || d != floor(d))
			return undo_refuse(d);
		int64_t v = (int64_t)d;
		if (c->atom_in == 1)
			out[i] = (uint8_t)v;
		else if (c->atom_in == 2)
			put16(out + 2 * i, (uint16_t)v, c->swap);
		else
			put32(out + 4 * i, (uint32_t)v, c->swap);
	}
	return 0;
}

int
undo_double_to_int(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	return undo_whole(c, in, n, out, -ldexp(1, (int)(8 * c->atom_in - 1)));
}

int
undo_double_to_unsigned(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	return undo_whole(c, in, n, out, 0);
}
