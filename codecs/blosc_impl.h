/* What the files of the codec blosc share. */
#pragma once

#include "codec/codec.h"
#include "codecs/blosc_block.h"

enum {
	BLOSC_START = 4, /* bytes of one entry of the table of starts */
};

struct blosc {
	char cname[16];
	int level, shuffle;
	size_t typesize, blocksize;
};

/* Some blocks of an encoded chunk, and where they lie in it. */
struct blosc_part {
	struct blosc_header h;
	struct span head;      /* the first bytes of the chunk */
	const uint8_t *starts; /* of all blocks */
	struct span in;        /* encoded bytes from `from` on, at least those of the blocks */
	uint32_t from;
	uint32_t first, last; /* the blocks */
};

/* size: bytes of the whole encoded chunk. */
int blosc_read_header(
	const uint8_t *p, uint64_t size, const struct form *form, struct blosc_header *ret);
uint32_t blosc_block_start(const struct blosc_part *, uint32_t i);
/* Decoded. */
size_t blosc_block_size(const struct blosc_part *, uint32_t i);
/* want NULL: all of the block. */
int blosc_part_decode(const struct blosc_part *, uint32_t i, const size_t *want, uint8_t *out);
/* blocksize 0: what c-blosc finds best. */
int blosc_encode_in(const struct blosc *, size_t blocksize, struct span in, struct buf *out);
/* As struct codec_ops' hook. */
int blosc_patch(const void *, const struct form *, struct span was, const struct codec_patch *,
	struct buf *out);
