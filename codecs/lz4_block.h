/* One raw LZ4 block. liblz4 takes a match at distance 0, which "copies" what the output's memory
 * held before: here all bytes of the output come from the block, or decoding fails. What else
 * liblz4 takes is taken, and matches nearer to the end, too. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* in decodes to exactly n bytes, of which the first `stop` go to out. false: it is damaged, as far
 * as that was decoded; then out holds anything. Writes nowhere but out[0 … stop). */
bool lz4_block_decode(struct span in, size_t n, size_t stop, uint8_t *out);
