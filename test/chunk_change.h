/* A change to a chunk, as codec_chain_patch takes it: for the battery of codecs and for their
 * fuzzer. */
#pragma once

#include "codec/codec.h"

#include <string.h>

/* Bytes [from, to) become others. */
struct change {
	size_t from, to;
	const uint8_t *bytes; /* of the whole chunk */
};

static inline bool
change_touches(const void *arg, size_t from, size_t to)
{
	const struct change *p = arg;
	return from < p->to && to > p->from;
}

static inline void
change_lay(const void *arg, size_t at, size_t n, uint8_t *to)
{
	const struct change *p = arg;
	size_t from = at > p->from ? at : p->from, end = at + n < p->to ? at + n : p->to;
	if (from < end)
		memcpy(to + (from - at), p->bytes + from, end - from);
}
