/* Which element means that there is none: `_FillValue`, as SEMANTICS has it. */
#pragma once

#include "model/model.h"

struct mount;

/* The element's bytes in the dtype's own byte order, from the attribute, or the array's fill value
 * where that is xarray's `_FillValue`. width: what elements of variable length are padded to; 0:
 * what they have. 0; ZMAP_ABSENT: there is none, and ret is empty; -errno. */
int missing_value(struct mount *, const struct node *array, const struct attrs *, uint32_t width,
	struct buf *ret);
/* The array's own fill value counts as such an attribute: Zarr V2 by xarray, no coordinate, no
 * bounds. 1, 0, -errno. */
int missing_by_fill(struct mount *, const struct node *array);
