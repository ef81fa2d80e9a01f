/* Which element means that there is none: `_FillValue`, as SEMANTICS has it. */
#pragma once

#include "model/model.h"

struct mount;

/* The element's bytes in the dtype's own byte order, dtype.size of them (text of variable-length types: as many as it has), from the attribute,
 * or the array's fill value where that is xarray's `_FillValue`. 0; ZMAP_ABSENT: there is none; -errno. */
int missing_value(struct mount *, const struct node *array, const struct attrs *, struct buf *ret);
/* The array's own fill value counts as such an attribute: Zarr V2 by xarray, no coordinate, no bounds. 1, 0, -errno. */
int missing_by_fill(struct mount *, const struct node *array);
