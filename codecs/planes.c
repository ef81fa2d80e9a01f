#include "codecs/planes.h"

#include "codecs/lanes.h"

#include <string.h>

enum {
	STEP = 16,        /* bytes of a vector */
	TILE = 16 << 10,  /* bytes that stay in the nearest cache while all planes pass */
	GROUP = 8 * STEP, /* elements whose bits fill one vector of each row */
};

/* in: `size` planes of n bytes; out: n elements. size is a constant here. */
LANES_INLINE
unshuffle_lanes(const uint8_t *in, size_t size, size_t n, uint8_t *out)
{
	size_t i = 0;
	for (; i + STEP <= n; i += STEP) {
		lanes1 x[16];
#pragma GCC unroll 16
		for (size_t b = 0; b < size; b++)
			memcpy(&x[b], in + b * n + i, STEP);
		lanes1_zip(x, (unsigned)size);
#pragma GCC unroll 16
		for (size_t b = 0; b < size; b++)
			memcpy(out + i * size + b * STEP, &x[b], STEP);
	}
	for (; i < n; i++) {
		for (size_t b = 0; b < size; b++)
			out[i * size + b] = in[b * n + i];
	}
}

LANES_INLINE
shuffle_lanes(const uint8_t *in, size_t size, size_t n, uint8_t *out)
{
	size_t i = 0;
	for (; i + STEP <= n; i += STEP) {
		lanes1 x[16];
#pragma GCC unroll 16
		for (size_t b = 0; b < size; b++)
			memcpy(&x[b], in + i * size + b * STEP, STEP);
		lanes1_unzip(x, (unsigned)size);
#pragma GCC unroll 16
		for (size_t b = 0; b < size; b++)
			memcpy(out + b * n + i, &x[b], STEP);
	}
	for (; i < n; i++) {
		for (size_t b = 0; b < size; b++)
			out[b * n + i] = in[i * size + b];
	}
}

/* Any size: tile by tile. */
static void
unshuffle_any(const uint8_t *in, size_t size, size_t n, uint8_t *out)
{
	size_t step = size < TILE / STEP ? TILE / size : STEP;
	for (size_t at = 0; at < n; at += step) {
		size_t end = n - at < step ? n : at + step;
		for (size_t b = 0; b < size; b++) {
			for (size_t i = at; i < end; i++)
				out[i * size + b] = in[b * n + i];
		}
	}
}

static void
shuffle_any(const uint8_t *in, size_t size, size_t n, uint8_t *out)
{
	size_t step = size < TILE / STEP ? TILE / size : STEP;
	for (size_t at = 0; at < n; at += step) {
		size_t end = n - at < step ? n : at + step;
		for (size_t b = 0; b < size; b++) {
			for (size_t i = at; i < end; i++)
				out[b * n + i] = in[i * size + b];
		}
	}
}

void
planes_join(const uint8_t *in, size_t size, size_t n, uint8_t *out)
{
	switch (size) {
	case 2: unshuffle_lanes(in, 2, n, out); break;
	case 4: unshuffle_lanes(in, 4, n, out); break;
	case 8: unshuffle_lanes(in, 8, n, out); break;
	case 16: unshuffle_lanes(in, 16, n, out); break;
	default: unshuffle_any(in, size, n, out);
	}
}

void
planes_split(const uint8_t *in, size_t size, size_t n, uint8_t *out)
{
	switch (size) {
	case 2: shuffle_lanes(in, 2, n, out); break;
	case 4: shuffle_lanes(in, 4, n, out); break;
	case 8: shuffle_lanes(in, 8, n, out); break;
	case 16: shuffle_lanes(in, 16, n, out); break;
	default: shuffle_any(in, size, n, out);
	}
}

/* Of eight rows of eight bits, columns: bit i of byte k becomes bit k of byte i. */
static inline lanes8
turn_bits(lanes8 x)
{
	static const struct {
		uint64_t mask;
		unsigned by;
	} step[] = {
		{0x00aa00aa00aa00aa, 7}, /* within squares of 2 × 2 bits, then 4 × 4, then 8 × 8 */
		{0x0000cccc0000cccc, 14},
		{0x00000000f0f0f0f0, 28},
	};
#pragma GCC unroll 3
	for (unsigned i = 0; i < 3; i++) {
		lanes8 t = (x ^ (x >> step[i].by)) & step[i].mask;
		x ^= t ^ (t << step[i].by);
	}
	return x;
}

/* 8 rows of `stride` bytes, of which STEP are taken: one bit of GROUP elements each. out: a byte of
 * each element. */
LANES_INLINE
turn_group(const uint8_t *in, size_t stride, uint8_t *out)
{
	lanes1 x[8];
#pragma GCC unroll 8
	for (unsigned k = 0; k < 8; k++)
		memcpy(&x[k], in + k * stride, STEP);
	lanes1_zip(x, 8);
#pragma GCC unroll 8
	for (unsigned k = 0; k < 8; k++) {
		lanes8 y = turn_bits((lanes8)x[k]);
		memcpy(out + k * STEP, &y, STEP);
	}
}

void
planes_join_bits(const uint8_t *in, size_t size, size_t n, uint8_t *out)
{
	uint8_t bytes[PLANES_MAX * GROUP]; /* the byte planes of one group */
	size_t row = n / 8, i = 0;
	for (; i + GROUP <= n; i += GROUP) {
		for (size_t b = 0; b < size; b++)
			turn_group(in + b * 8 * row + i / 8, row, bytes + b * GROUP);
		planes_join(bytes, size, GROUP, out + i * size);
	}
	for (; i < n; i += 8) {
		for (size_t b = 0; b < size; b++) {
			const uint8_t *p = in + b * 8 * row + i / 8;
			uint8_t square[STEP] = {0};
			for (unsigned k = 0; k < 8; k++)
				square[k] = p[k * row];
			lanes8 x;
			memcpy(&x, square, sizeof x);
			x = turn_bits(x);
			memcpy(square, &x, sizeof x);
			for (unsigned k = 0; k < 8; k++)
				out[(i + k) * size + b] = square[k];
		}
	}
}
