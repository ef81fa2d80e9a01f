/* Our decoder of LZ4 blocks held against liblz4's, for any bytes at all. */
#pragma once

#include "base/clean.h"
#include "codecs/lz4_block.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

/* The continued length from *at on. False: it is cut off. */
static inline bool
both_length(struct span in, size_t *at, size_t *len)
{
	bool more = *len == 15;
	while (more) {
		if (*at == in.len)
			return false;
		*len += in.data[*at];
		more = in.data[(*at)++] == 255;
	}
	return true;
}

/* The two things in which they differ. */
struct both_odd {
	bool distance_0; /* only liblz4 takes it */
	bool late; /* a match that begins in the last 12 bytes or reaches into the last 5: liblz4
		      takes few of them */
};

static inline struct both_odd
both_look(struct span in, size_t n)
{
	struct both_odd odd = {0};
	for (size_t at = 0, out = 0; at < in.len;) {
		size_t token = in.data[at++], len = token >> 4, match = token & 15;
		if (!both_length(in, &at, &len) || len + 2 > in.len - at)
			break;
		at += len + 2;
		odd.distance_0 |= !in.data[at - 2] && !in.data[at - 1];
		if (!both_length(in, &at, &match))
			break;
		out += len + match + 4;
		odd.late |= out + 5 > n || out - match - 4 + 12 > n;
	}
	return odd;
}

/* The first `stop` of n bytes, in memory that held `before` and has just that room; NULL:
 * damaged. */
static inline uint8_t *
both_own(struct span in, size_t n, size_t stop, uint8_t before)
{
	uint8_t *out = malloc(stop ? stop : 1);
	if (!out)
		abort();
	memset(out, before, stop);
	if (lz4_block_decode(in, n, stop, out))
		return out;
	free(out);
	return NULL;
}

/* NULL, or what is wrong with it. n > 0, stop <= n */
static inline const char *
both_decode(struct span in, size_t n, size_t stop)
{
	CLEAN(clean_free)
	uint8_t *lz = malloc(n), *whole = both_own(in, n, n, 0xaa),
		*again = both_own(in, n, n, 0x55), *part = both_own(in, n, stop, 0xcc),
		*part_again = both_own(in, n, stop, 0x33);
	bool ok = lz && LZ4_decompress_safe(
				(const char *)in.data, (char *)lz, (int)in.len, (int)n) == (int)n;
	if (!whole != !again || (whole && memcmp(whole, again, n)))
		return "it depends on what memory held";
	if (!part != !part_again || (part && memcmp(part, part_again, stop)))
		return "a part depends on what memory held";
	struct both_odd odd = both_look(in, n);
	if (whole && !ok && !odd.late)
		return "liblz4 does not take it";
	if (!whole && ok && !odd.distance_0)
		return "only liblz4 takes it";
	if (whole && ok && memcmp(whole, lz, n))
		return "liblz4 has other bytes";
	if (whole && (!part || memcmp(part, whole, stop)))
		return "a part differs from the whole";
	return NULL;
}
