/* Documents of new arrays: what a struct new_array is called in each dialect. Any thread. Only
 * src/model/ includes this. */
#pragma once

#include "model/edit.h"

/* A fill value as JSON. v3: with the bits of NaNs that have some; plain: texts as NCZarr has
 * them. */
int encode_fill(const struct dtype *, const uint8_t *fill, bool v3, bool plain, struct buf *ret);

/* .zarray. nczarr: -ENOTSUP for types that make netcdf-c refuse the whole store; a scalar has one
 * dimension of 1. */
int encode_array_v2(const struct new_array *, bool nczarr, struct buf *ret);
/* zarr.json, "attributes" empty. */
int encode_array_v3(const struct new_array *, struct buf *ret);

/* Parts of both. Appends "[1, 2]". */
int encode_sizes(const uint64_t *, unsigned n, struct buf *ret);
/* The list of codecs, parsed; NULL: none. -EINVAL: it is no list of codecs with an "id" each. */
int encode_parse_codecs(const struct new_array *, struct json **ret);
/* shuffle does nothing to elements that are no numbers, and netcdf-c undoes what was not done. */
bool encode_skips(const struct new_array *, const char *id);
