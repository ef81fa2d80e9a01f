/* A pcodec stream as bits: bit k is bit k % 8 of byte k / 8, a field is the next bits, its lowest
 * first; what pads to a byte's end is 0. One thread's; it borrows the bytes. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

struct pcodec_bits {
	const uint8_t *data;
	uint64_t at, end; /* in bits */
};

/* 8 bytes at p, the first one lowest. */
static inline uint64_t
pcodec_load(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

static inline uint64_t
pcodec_low_bits(unsigned n)
{
	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

/* Are there that many bits? -EIO names the field that they are of. */
static inline int
pcodec_need(const struct pcodec_bits *b, uint64_t bits, const char *field)
{
	if (bits <= b->end - b->at)
		return 0;
	return err_set(-EIO, "truncated in '%s'", field);
}

/* Goes over bits that were taken from bytes which the end of the stream may lie before. */
static inline int
pcodec_skip(struct pcodec_bits *b, uint64_t bits, const char *field)
{
	int r = pcodec_need(b, bits, field);
	if (r == 0)
		b->at += bits;
	return r;
}

/* The byte at which b stands, with n bytes to be read from there on: in `room` (n bytes), zeros
 * behind the end, where there are not as many. */
static inline const uint8_t *
pcodec_window(const struct pcodec_bits *b, size_t n, uint8_t *room)
{
	uint64_t first = b->at >> 3, left = (b->end >> 3) - first;
	if (left >= n)
		return b->data + first;
	memset(room, 0, n);
	if (left)
		memcpy(room, b->data + first, left);
	return room;
}

/* A field of at most 64 bits. */
static inline int
pcodec_read(struct pcodec_bits *b, unsigned width, const char *field, uint64_t *ret)
{
	int r = pcodec_need(b, width, field);
	if (r < 0)
		return r;
	uint8_t room[16];
	const uint8_t *p = pcodec_window(b, sizeof room, room);
	unsigned shift = b->at & 7;
	uint64_t high = shift ? pcodec_load(p + 8) << (64 - shift) : 0;
	*ret = (pcodec_load(p) >> shift | high) & pcodec_low_bits(width);
	b->at += width;
	return 0;
}

/* On to the next whole byte. */
static inline int
pcodec_align(struct pcodec_bits *b, const char *after)
{
	uint64_t pad = 0;
	int r = b->at & 7 ? pcodec_read(b, 8 - (b->at & 7), after, &pad) : 0;
	if (r == 0 && pad)
		r = err_set(-EIO, "bits after '%s' are not 0", after);
	return r;
}
