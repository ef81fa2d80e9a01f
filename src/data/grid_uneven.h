/* Chunk arithmetic of rectilinear grids, for grid.c. Each chunk takes as much memory as the longest
 * ones, of which shorter ones leave the end of each dimension unused, as the last chunks of a
 * regular grid do. */
#pragma once

#include "base/check.h"
#include "data/grid.h"

/* Dimension d of what a box wants of a chunk that lies in [origin, end) there. It runs for each
 * chunk of a read: always inline. */
static inline __attribute__((always_inline)) void
grid_clip(const struct grid *g, const struct box *b, struct part *p, unsigned d, uint64_t origin,
	uint64_t end)
{
	uint64_t stop = b->start[d] + b->count[d];
	uint64_t from = max_u64(b->start[d], origin), to = min_u64(stop, end);
	p->count[d] = to - from;
	p->number = p->number * g->count[d] + p->index[d];
	p->in_file += from * g->file_step[d];
	p->in_chunk += (from - origin) * g->chunk_step[d];
	p->last += (to - 1 - origin) * g->chunk_step[d];
}

void grid_uneven_first(const struct grid *, const struct box *, struct part *ret);
bool grid_uneven_next(const struct grid *, const struct box *, struct part *);
void grid_uneven_run(const struct grid *, uint64_t at, struct run *ret);
/* Elements of a chunk along each dimension, as it is stored. False: it is as long as the longest
 * everywhere. */
bool grid_uneven_shape(const struct grid *, uint64_t number, uint64_t *ret);
