/* Latents → numbers. Latents are in the order of the numbers they stand for: signed integers and
 * floats with their top bit turned, negative floats with all bits turned.
 *
 * The only floating-point operation that rounds is one product, in the number's own type; what is
 * added to it is added to its latent, an integer. So a compiler that fuses operations changes
 * nothing. */
#include "codecs/number.h"
#include "codecs/pcodec.h"

#include <math.h>

enum { HALF_INF = 0x7c00 };

static uint8_t
le8(uint8_t v)
{
	return v;
}

/* A latent as the bits of a number: `top` is turned, and, where that was not set, `others`. */
#define NUMBER(bits, load_le)                                                                      \
	struct turn##bits {                                                                        \
		uint##bits##_t top, others;                                                        \
	};                                                                                         \
	static inline uint##bits##_t number##bits(uint##bits##_t l, struct turn##bits t)           \
	{                                                                                          \
		uint##bits##_t set = (uint##bits##_t)((int##bits##_t)l >> (bits - 1));             \
		return l ^ (t.top | (t.others & (uint##bits##_t) ~set));                           \
	}                                                                                          \
	static inline struct turn##bits turn_of##bits(enum pcodec_class class)                     \
	{                                                                                          \
		uint##bits##_t top = (uint##bits##_t)((uint##bits##_t)1 << (bits - 1));            \
		return (struct turn##bits){                                                        \
			.top = class == PCODEC_UINT ? 0 : top,                                     \
			.others = class == PCODEC_FLOAT ? UINT##bits##_MAX : 0,                    \
		};                                                                                 \
	}                                                                                          \
	static inline uint##bits##_t entry##bits(const uint8_t *dict, uint32_t i)                  \
	{                                                                                          \
		uint##bits##_t v;                                                                  \
		memcpy(&v, dict + i * sizeof v, sizeof v);                                         \
		return load_le(v);                                                                 \
	}

NUMBER(8, le8)
NUMBER(16, le16toh)
NUMBER(32, le32toh)
NUMBER(64, le64toh)

/* Each number of a batch, of which i is the position. */
#define EACH(bits, expression)                                                                     \
	for (unsigned i = 0; i < n; i++) {                                                         \
		uint##bits##_t v = number##bits((uint##bits##_t)(expression), t);                  \
		memcpy(to + i * sizeof v, &v, sizeof v);                                           \
	}

/* All modes but one; indices of dictionaries were checked. */
#define JOIN(bits)                                                                                 \
	static void join##bits(const struct pcodec_chunk *c, unsigned n, uint8_t *to)              \
	{                                                                                          \
		const struct turn##bits t = turn_of##bits(c->type->class);                         \
		const uint##bits##_t *a = c->variable[PCODEC_PRIMARY].latent.u##bits,              \
				     *b = c->variable[PCODEC_SECONDARY].latent.u##bits;            \
		const uint32_t *index = c->variable[PCODEC_PRIMARY].latent.u32;                    \
		const uint##bits##_t base = (uint##bits##_t)c->base;                               \
		const unsigned k = c->quant;                                                       \
		const uint##bits##_t low = (uint##bits##_t)pcodec_low_bits(k),                     \
				     middle = (uint##bits##_t)((uint64_t)1 << (bits - 1) >> k);    \
		switch (c->mode) {                                                                 \
		case PCODEC_INT_MULT: EACH(bits, (uint64_t)a[i] * base + b[i]) break;              \
		case PCODEC_FLOAT_QUANT:                                                           \
			EACH(bits, ((uint64_t)a[i] << k) +                                         \
					   (a[i] >= middle ? b[i] : (uint##bits##_t)(low - b[i]))) \
			break;                                                                     \
		case PCODEC_DICT: EACH(bits, entry##bits(c->dict, index[i])) break;                \
		default: EACH(bits, a[i]) break;                                                   \
		}                                                                                  \
	}

JOIN(8)
JOIN(16)
JOIN(32)
JOIN(64)

/* How far a latent is from the middle: the magnitude of an integral float, as a number as far as
 * the type has all integers, beyond in steps of the float's bits from there on. */
#define MAGNITUDE(bits)                                                                            \
	static inline uint##bits##_t magnitude##bits(uint##bits##_t l)                             \
	{                                                                                          \
		uint##bits##_t set = (uint##bits##_t)((int##bits##_t)l >> (bits - 1));             \
		return l ^ set ^ INT##bits##_MAX;                                                  \
	}

MAGNITUDE(16)
MAGNITUDE(32)
MAGNITUDE(64)

/* The bits of an integer below 2^24, 2^52, as a float. */
static inline uint32_t
small32(uint32_t a)
{
	float f = (float)(int32_t)a;
	memcpy(&a, &f, sizeof a);
	return a;
}

/* In the fraction of 2^52, which is then taken away: no processor's vectors know 64-bit integers
 * and doubles. */
static inline uint64_t
small64(uint64_t a)
{
	static const double offset = 0x1p52;
	double f;
	a |= (uint64_t)(1023 + 52) << 52;
	memcpy(&f, &a, sizeof f);
	f -= offset;
	memcpy(&a, &f, sizeof a);
	return a;
}

static inline uint32_t
any32(uint32_t a)
{
	static const uint32_t digits = 24, bits = (127 + 24) << 23;
	return a >> digits ? bits + (a - ((uint32_t)1 << digits)) : small32(a);
}

static inline uint64_t
any64(uint64_t a)
{
	static const uint64_t digits = 53, bits = (uint64_t)(1023 + 53) << 52;
	double f = (double)(int64_t)a;
	if (a >> digits)
		return bits + (a - ((uint64_t)1 << digits));
	memcpy(&a, &f, sizeof a);
	return a;
}

/* The product's latent, and to it the other one. */
#define PRODUCT(bits)                                                                              \
	static inline uint##bits##_t product##bits(uint##bits##_t v, uint##bits##_t l)             \
	{                                                                                          \
		const uint##bits##_t top = (uint##bits##_t)((uint##bits##_t)1 << (bits - 1));      \
		uint##bits##_t set = (uint##bits##_t)((int##bits##_t)v >> (bits - 1));             \
		return (uint##bits##_t)((v ^ (set | top)) + l) ^ top;                              \
	}

PRODUCT(16)
PRODUCT(32)
PRODUCT(64)

#define TIMES(bits, type)                                                                          \
	static inline uint##bits##_t times##bits(uint##bits##_t v, type base)                      \
	{                                                                                          \
		type f;                                                                            \
		memcpy(&f, &v, sizeof f);                                                          \
		f *= base;                                                                         \
		memcpy(&v, &f, sizeof v);                                                          \
		return v;                                                                          \
	}

TIMES(32, float)
TIMES(64, double)

/* A mult mode of floats; integers of up to `digits` bits are small. Where a whole batch is, there
 * is nothing to be chosen for any of its numbers. */
#define MULTIPLY(bits, type, digits)                                                               \
	static void multiply##bits(const struct pcodec_chunk *c, unsigned n, uint8_t *to)          \
	{                                                                                          \
		const struct turn##bits t = turn_of##bits(PCODEC_FLOAT);                           \
		const uint##bits##_t *a = c->variable[PCODEC_PRIMARY].latent.u##bits,              \
				     *b = c->variable[PCODEC_SECONDARY].latent.u##bits,            \
				     bits_of_base = number##bits((uint##bits##_t)c->base, t);      \
		const uint##bits##_t top = (uint##bits##_t)1 << (bits - 1);                        \
		uint##bits##_t all = 0;                                                            \
		type base;                                                                         \
		memcpy(&base, &bits_of_base, sizeof base);                                         \
		for (unsigned i = 0; i < n; i++)                                                   \
			all |= magnitude##bits(a[i]);                                              \
		if (all >> digits)                                                                 \
			EACH(bits, product##bits(times##bits(any##bits(magnitude##bits(a[i])) ^    \
								     (~a[i] & top),                \
							 base),                                    \
					   b[i]))                                                  \
		else                                                                               \
			EACH(bits, product##bits(times##bits(small##bits(magnitude##bits(a[i])) ^  \
								     (~a[i] & top),                \
							 base),                                    \
					   b[i]))                                                  \
	}

MULTIPLY(32, float, 24)
MULTIPLY(64, double, 52)

/* A single that is a number as the nearest half, ties to even. */
static inline uint16_t
half_of(float f)
{
	static const uint32_t overflow = 0x477ff000, normal = 0x38800000, half = 0x3f000000;
	uint32_t u, small;
	memcpy(&u, &f, sizeof u);
	uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
	u &= INT32_MAX;
	float step = fabsf(f) + 0.5f; /* of 2^-24, as subnormal halves have them */
	memcpy(&small, &step, sizeof small);
	uint32_t rounded = (u + 0xfff + (u >> 13 & 1) - ((uint32_t)112 << 23)) >> 13;
	uint32_t v = u < normal ? small - half : u >= overflow ? HALF_INF : rounded;
	return (uint16_t)(sign | v);
}

/* Bits of an integral half that is beyond 2^11. */
static uint16_t
large16(uint16_t a)
{
	enum { LARGE = 2048, BITS_OF_LARGE = 0x6800 };
	return a < LARGE ? number_to_half(a) : (uint16_t)(BITS_OF_LARGE + (a - LARGE));
}

/* Products of two halves are exact as singles, and are rounded once. What is not small may be no
 * number, which number.h looks after. */
static void
multiply16(const struct pcodec_chunk *c, unsigned n, uint8_t *to)
{
	enum { DIGITS = 11 };
	const struct turn16 t = turn_of16(PCODEC_FLOAT);
	const uint16_t *a = c->variable[PCODEC_PRIMARY].latent.u16,
		       *b = c->variable[PCODEC_SECONDARY].latent.u16;
	const float base = number_from_half(number16((uint16_t)c->base, t));
	unsigned all = 0;
	for (unsigned i = 0; i < n; i++)
		all |= magnitude16(a[i]);
	if (all >> DIGITS)
		EACH(16, product16(number_to_half(
					   (double)number_from_half(
						   large16(magnitude16(a[i])) ^ (~a[i] & 0x8000)) *
					   base),
				 b[i]))
	else
		EACH(16, product16(half_of((float)(int)magnitude16(a[i]) *
					   (a[i] >> 15 ? base : -base)),
				 b[i]))
}

static int
check_dict(const struct pcodec_chunk *c, unsigned n)
{
	const uint32_t *index = c->variable[PCODEC_PRIMARY].latent.u32;
	bool beyond = false;
	for (unsigned i = 0; i < n; i++)
		beyond |= index[i] >= c->entries;
	if (beyond)
		return err_set(-EIO, "an index lies outside the 'dict' of %u", c->entries);
	return 0;
}

static void
multiply(const struct pcodec_chunk *c, unsigned n, uint8_t *out)
{
	switch (c->type->bits) {
	case 16: multiply16(c, n, out); break;
	case 32: multiply32(c, n, out); break;
	default: multiply64(c, n, out); break;
	}
}

int
pcodec_join(const struct pcodec_chunk *c, unsigned n, void *out)
{
	int r = c->mode == PCODEC_DICT ? check_dict(c, n) : 0;
	if (r < 0)
		return r;
	if (c->mode == PCODEC_FLOAT_MULT) {
		multiply(c, n, out);
		return 0;
	}
	switch (c->type->bits) {
	case 8: join8(c, n, out); break;
	case 16: join16(c, n, out); break;
	case 32: join32(c, n, out); break;
	default: join64(c, n, out); break;
	}
	return 0;
}

/* Are these the bits of a number with a magnitude from 1 step on, below infinity? */
static bool
is_factor(uint64_t magnitude, uint64_t infinity)
{
	return magnitude > 0 && magnitude < infinity;
}

int
pcodec_check_base(const struct pcodec_chunk *c)
{
	uint64_t b = c->base;
	bool good = false;
	switch (c->type->bits) {
	case 16:
		good = is_factor(
			number16((uint16_t)b, turn_of16(PCODEC_FLOAT)) & INT16_MAX, HALF_INF);
		break;
	case 32:
		good = is_factor(
			number32((uint32_t)b, turn_of32(PCODEC_FLOAT)) & INT32_MAX, 0x7f800000);
		break;
	case 64:
		good = is_factor(
			number64(b, turn_of64(PCODEC_FLOAT)) & INT64_MAX, (uint64_t)0x7ff << 52);
		break;
	}
	return good ? 0 : err_set(-EIO, "'float base' is 0 or no finite number");
}
