/* Chunk arithmetic of rectilinear grids, for grid.c. Each chunk takes as much memory as the longest ones, of which shorter ones leave the end
 * of each dimension unused, as the last chunks of a regular grid do. */
#pragma once

#include "data/grid.h"

void grid_uneven_first(const struct grid *, const struct box *, struct part *ret);
bool grid_uneven_next(const struct grid *, const struct box *, struct part *);
void grid_uneven_run(const struct grid *, uint64_t at, struct run *ret);
/* Elements of a chunk along each dimension, as it is stored. False: it is as long as the longest everywhere. */
bool grid_uneven_shape(const struct grid *, uint64_t number, uint64_t *ret);
