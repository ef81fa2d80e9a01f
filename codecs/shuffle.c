/* shuffle: all first bytes of the elements, then all second bytes, and so on (numcodecs; HDF5 filter 2).
 *
 * "elementsize" 0 or none means the size of the array's elements: netCDF-C writes 0 and means that. Bytes
 * behind the last whole element stay behind, as HDF5 has it; numcodecs writes no such chunks. */
#include "codec/codec.h"

#include "base/err.h"
#include "codecs/lanes.h"

#include <errno.h>
#include <string.h>

struct shuffle {
	size_t size; /* bytes of an element */
};

enum {
	STEP = 16,            /* bytes of a vector */
	TILE = 16 << 10,      /* bytes that stay in the nearest cache while all planes pass */
	SIZE_LIMIT = 1 << 30, /* far above any element */
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

static void
unshuffle(const uint8_t *in, size_t size, size_t n, uint8_t *out)
{
	switch (size) {
	case 2: unshuffle_lanes(in, 2, n, out); break;
	case 4: unshuffle_lanes(in, 4, n, out); break;
	case 8: unshuffle_lanes(in, 8, n, out); break;
	case 16: unshuffle_lanes(in, 16, n, out); break;
	default: unshuffle_any(in, size, n, out);
	}
}

static void
shuffle(const uint8_t *in, size_t size, size_t n, uint8_t *out)
{
	switch (size) {
	case 2: shuffle_lanes(in, 2, n, out); break;
	case 4: shuffle_lanes(in, 4, n, out); break;
	case 8: shuffle_lanes(in, 8, n, out); break;
	case 16: shuffle_lanes(in, 16, n, out); break;
	default: shuffle_any(in, size, n, out);
	}
}

static int
shuffle_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	int64_t size;
	int r = codec_number(config, "elementsize", 0, 0, SIZE_LIMIT, &size);
	if (r < 0)
		return r;
	if (size == 0 && !in->dtype)
		return err_set(-ENOTSUP, "no 'elementsize', and what is shuffled is not an array");
	if (size == 0)
		size = in->dtype->size;
	struct shuffle *s = malloc(sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "out of memory");
	s->size = size ? (size_t)size : 1;
	out->bytes = in->bytes;
	out->exact = in->exact;
	*ret = s;
	return 0;
}

typedef void mover(const uint8_t *in, size_t size, size_t n, uint8_t *out);

/* Both directions, but for `move`. */
static int
run(const struct shuffle *s, struct span in, struct buf *out, mover *move)
{
	if (in.len > out->cap)
		return err_set(-EIO, "%zu bytes, at most %zu are possible", in.len, out->cap);
	size_t n = in.len / s->size, whole = n * s->size;
	if (s->size == 1)
		whole = 0;
	if (whole)
		move(in.data, s->size, n, out->data);
	if (in.len > whole)
		memcpy(out->data + whole, in.data + whole, in.len - whole);
	out->len = in.len;
	return 0;
}

static int
shuffle_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	return run(state, in, out, unshuffle);
}

static int
shuffle_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	int r = buf_reserve(out, in.len);
	return r < 0 ? r : run(state, in, out, shuffle);
}

const struct codec_ops codec_shuffle = {
	.ids = (const char *const[]){"shuffle", "numcodecs.shuffle", NULL},
	.kind = CODEC_BYTES,
	.open = shuffle_open,
	.close = free,
	.decode = shuffle_decode,
	.encode = shuffle_encode,
};
