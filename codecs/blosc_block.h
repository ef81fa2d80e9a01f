/* One block of a Blosc 1 buffer. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

enum {
	BLOSC_HEADER = 16,
	BLOSC_FORMAT = 2,        /* the newest header that Blosc 1 writes and reads */
	BLOSC_FLAG_FUTURE = 0x8, /* Blosc 1 keeps it for later formats */
	BLOSC_FLAG_NOT_SPLIT = 0x10,
};

/* As it was checked: known flags, and not both ways of shuffling. */
struct blosc_header {
	uint8_t flags, typesize;
	uint32_t nbytes, blocksize, cbytes;
	uint32_t nblocks, first; /* where the first block can begin */
};

/* in: from the block's start on, as far as bytes are known; out: exactly n decoded bytes, n =
 * blocksize but for a short last block. Uses codec_scratch 4 and 5. */
int blosc_block_decode(const struct blosc_header *, struct span in, size_t n, uint8_t *out);

/* How many bytes such a block takes. */
int blosc_block_length(const struct blosc_header *, struct span in, size_t n, size_t *ret);

/* Does decoding part of a block cost less than all of it? */
bool blosc_block_fine(const struct blosc_header *);
/* Bytes [want[0], want[1]) of a block of n bytes, decoding only as far as they reach.
 * BLOSC_BLOCK_WHOLE: this block must be decoded whole. */
enum { BLOSC_BLOCK_WHOLE = 1 };
int blosc_block_decode_slice(const struct blosc_header *, struct span in, size_t n,
	const size_t want[static 2], uint8_t *out);
