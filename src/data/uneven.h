/* Decoding chunks of a rectilinear grid: a chunk has the shape that it is stored in, and so has its
 * chain of codecs, which is opened for it alone. What it gives is laid out as the array's longest
 * chunks are. */
#pragma once

#include "data/array_impl.h"

struct uneven;
/* NULL in *ret where the grid is regular. */
int uneven_new(const struct array_meta *, struct uneven **ret);
struct uneven *uneven_free(struct uneven *);
const struct edges *uneven_edges(const struct uneven *); /* NULL where there is none */

/* As codec_chain_decode and codec_chain_width of any array. */
int uneven_decode(const struct array *, uint64_t chunk, struct span in, struct buf *out);
int uneven_width(const struct array *, uint64_t chunk, struct span in, size_t *ret);
