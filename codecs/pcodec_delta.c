/* Deltas of latents, undone batch by batch. Stored latents have their top bit turned, so that small
 * differences of both signs are near the middle of their range. */
#include "codecs/pcodec.h"

#define PCODEC_INLINE static inline __attribute__((always_inline))

/* Consecutive: deltas of deltas …, order times. moment[0] is the next latent, moment[1] the next
 * difference, and so on. The order is a constant where this is inlined. */
#define CONSECUTIVE(bits)                                                                          \
	PCODEC_INLINE void consecutive##bits(                                                      \
		uint64_t *moment, uint##bits##_t *l, unsigned count, unsigned order)               \
	{                                                                                          \
		const uint##bits##_t top = (uint##bits##_t)((uint##bits##_t)1 << (bits - 1));      \
		uint##bits##_t m[PCODEC_ORDER_MAX + 1];                                            \
		for (unsigned j = 0; j < order; j++)                                               \
			m[j] = (uint##bits##_t)moment[j];                                          \
		for (unsigned i = 0; i < count; i++) {                                             \
			m[order] = l[i] ^ top;                                                     \
			l[i] = m[0];                                                               \
			_Pragma("GCC unroll 7") for (unsigned j = 0; j < order; j++) m[j] =        \
				(uint##bits##_t)(m[j] + m[j + 1]);                                 \
		}                                                                                  \
		for (unsigned j = 0; j < order; j++)                                               \
			moment[j] = m[j];                                                          \
	}                                                                                          \
	static void undo_consecutive##bits(                                                        \
		uint64_t *moment, uint##bits##_t *l, unsigned count, unsigned order)               \
	{                                                                                          \
		switch (order) {                                                                   \
		case 1: consecutive##bits(moment, l, count, 1); break;                             \
		case 2: consecutive##bits(moment, l, count, 2); break;                             \
		case 3: consecutive##bits(moment, l, count, 3); break;                             \
		case 4: consecutive##bits(moment, l, count, 4); break;                             \
		case 5: consecutive##bits(moment, l, count, 5); break;                             \
		case 6: consecutive##bits(moment, l, count, 6); break;                             \
		default: consecutive##bits(moment, l, count, 7); break;                            \
		}                                                                                  \
	}

CONSECUTIVE(8)
CONSECUTIVE(16)
CONSECUTIVE(32)
CONSECUTIVE(64)

static void
undo_consecutive(struct pcodec_variable *v, unsigned count)
{
	union pcodec_latents *l = &v->latent;
	switch (v->bits) {
	case 8: undo_consecutive8(v->recent, l->u8, count, v->states); break;
	case 16: undo_consecutive16(v->recent, l->u16, count, v->states); break;
	case 32: undo_consecutive32(v->recent, l->u32, count, v->states); break;
	default: undo_consecutive64(v->recent, l->u64, count, v->states); break;
	}
}

/* Lookback: each latent is a difference from one up to a window before it; before the page there
 * are zeros. */
#define LOOKBACK(bits)                                                                             \
	static void undo_lookback##bits(                                                           \
		struct pcodec_variable *v, const uint32_t *back, unsigned n, unsigned count)       \
	{                                                                                          \
		const uint##bits##_t top = (uint##bits##_t)((uint##bits##_t)1 << (bits - 1));      \
		uint##bits##_t *h = v->history, *end = h + v->len, *l = v->latent.u##bits;         \
		for (unsigned i = 0; i < n; i++, end++) {                                          \
			uint##bits##_t from =                                                      \
				back[i] <= (size_t)(end - h) ? end[-(ptrdiff_t)back[i]] : 0;       \
			*end = (uint##bits##_t)((l[i] ^ top) + from);                              \
		}                                                                                  \
		memcpy(l, h + v->first, count * sizeof *l);                                        \
		v->first += count;                                                                 \
		v->len += n;                                                                       \
	}

LOOKBACK(8)
LOOKBACK(16)
LOOKBACK(32)
LOOKBACK(64)

/* Room for n more latents. What is further away than the window goes: it is more than a page begins
 * with, so that what has yet to become numbers stays. */
static void
make_room(struct pcodec_variable *v, unsigned window_log, unsigned n)
{
	size_t size = v->bits / 8, window = (size_t)1 << window_log;
	if (v->len + n <= v->cap)
		return;
	size_t gone = v->len - window;
	memmove(v->history, (uint8_t *)v->history + gone * size, window * size);
	v->len -= gone;
	v->first -= gone;
}

static int
undo_lookback(struct pcodec_chunk *c, struct pcodec_variable *v, unsigned n, unsigned count)
{
	const uint32_t *back = c->variable[PCODEC_OF_DELTA].latent.u32,
		       window = 1u << c->window_log;
	bool outside = false;
	for (unsigned i = 0; i < n; i++)
		outside |= back[i] - 1 >= window;
	if (outside)
		return err_set(-EIO, "a lookback lies outside the window of %u", window);
	make_room(v, c->window_log, n);
	switch (v->bits) {
	case 8: undo_lookback8(v, back, n, count); break;
	case 16: undo_lookback16(v, back, n, count); break;
	case 32: undo_lookback32(v, back, n, count); break;
	default: undo_lookback64(v, back, n, count); break;
	}
	return 0;
}

/* What a convolution expects after the `order` latents at h. Chunks whose sums could overflow were
 * refused. */
PCODEC_INLINE uint64_t
predict(const struct pcodec_chunk *c, const uint64_t *h, unsigned order)
{
	uint64_t sum = (uint64_t)c->bias;
	for (unsigned j = 0; j < order; j++)
		sum += (uint64_t)c->weight[j] * h[j];
	int64_t known = (int64_t)sum;
	return (uint64_t)(known < 0 ? 0 : known) >> c->shift;
}

#define CONV(bits)                                                                                 \
	PCODEC_INLINE void conv##bits(                                                             \
		const struct pcodec_chunk *c, struct pcodec_variable *v, unsigned n)               \
	{                                                                                          \
		const uint##bits##_t top = (uint##bits##_t)((uint##bits##_t)1 << (bits - 1));      \
		uint64_t *h = v->recent;                                                           \
		for (unsigned i = 0; i < n; i++)                                                   \
			h[c->states + i] = (uint##bits##_t)(                                       \
				(v->latent.u##bits[i] ^ top) + predict(c, h + i, c->states));      \
	}

CONV(8)
CONV(16)
CONV(32)

static void
undo_conv(const struct pcodec_chunk *c, struct pcodec_variable *v, unsigned n, unsigned count)
{
	switch (v->bits) {
	case 8:
		conv8(c, v, n);
		for (unsigned i = 0; i < count; i++)
			v->latent.u8[i] = (uint8_t)v->recent[i];
		break;
	case 16:
		conv16(c, v, n);
		for (unsigned i = 0; i < count; i++)
			v->latent.u16[i] = (uint16_t)v->recent[i];
		break;
	default:
		conv32(c, v, n);
		for (unsigned i = 0; i < count; i++)
			v->latent.u32[i] = (uint32_t)v->recent[i];
		break;
	}
	memmove(v->recent, v->recent + count, c->states * sizeof *v->recent);
}

int
pcodec_undo(struct pcodec_chunk *c, struct pcodec_variable *v, unsigned n, unsigned count)
{
	size_t size = v->bits / 8;
	if (v->delta != PCODEC_NO_DELTA)
		memset((uint8_t *)&v->latent + n * size, 0, (count - n) * size);
	switch (v->delta) {
	case PCODEC_NO_DELTA: return 0;
	case PCODEC_CONSECUTIVE: undo_consecutive(v, count); return 0;
	case PCODEC_LOOKBACK: return undo_lookback(c, v, n, count);
	case PCODEC_CONV: undo_conv(c, v, n, count); return 0;
	}
	return 0;
}
