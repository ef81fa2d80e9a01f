/* What `user.zarrfs.*` says of an array, as text. */
#pragma once

#include "model/model.h"

/* Appends the value of "shape", "dims", "dtype", "chunks", "codecs", "fill_value", "format" or
 * "key". ZMAP_ABSENT: unknown for this array, or no such name. */
int describe(const struct node *, const char *name, struct buf *ret);
/* The names, in the order they are listed; NULL last. */
extern const char *const describe_names[];
