/* What a chain of codecs is made of. Only codec/ includes this. */
#pragma once

#include "codec/codec.h"

struct codec_link {
	const struct codec_ops *ops;
	void *obj;
	struct form in, out; /* as encoding sees them */
};

struct codec_chain {
	struct form array;
	/* What stands for a missing element of a shard behind other codecs. NULL: nothing can, or
	 * there is no such shard. */
	uint8_t *fill;
	size_t n;
	struct codec_link link[];
};

/* Notes what stands behind all links so far for an element that is not stored. 0 or -ENOMEM. */
int chain_note_fill(struct codec_chain *);
