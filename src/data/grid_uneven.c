#include "data/grid_uneven.h"

static uint64_t
chunk_of(const struct grid *g, unsigned d, uint64_t i)
{
	return g->uneven->dim[d].start ? edges_find(g->uneven, d, i) : i / g->chunk[d];
}

static uint64_t
begin_of(const struct grid *g, unsigned d, uint64_t index)
{
	return g->uneven->dim[d].start ? g->uneven->dim[d].start[index] : index * g->chunk[d];
}

static void
clip(const struct grid *g, const struct box *b, struct part *p)
{
	p->number = p->in_file = p->in_chunk = 0;
	p->last = g->item;
	for (unsigned d = 0; d < g->rank; d++) {
		uint64_t index = p->index[d];
		grid_clip(g, b, p, d, begin_of(g, d, index), begin_of(g, d, index + 1));
	}
}

void
grid_uneven_first(const struct grid *g, const struct box *b, struct part *p)
{
	for (unsigned d = 0; d < g->rank; d++)
		p->index[d] = chunk_of(g, d, b->start[d]);
	clip(g, b, p);
}

bool
grid_uneven_next(const struct grid *g, const struct box *b, struct part *p)
{
	unsigned d = g->rank;
	while (d-- > 0) {
		if (begin_of(g, d, p->index[d] + 1) < b->start[d] + b->count[d]) {
			p->index[d]++;
			clip(g, b, p);
			return true;
		}
		p->index[d] = chunk_of(g, d, b->start[d]);
	}
	return false;
}

void
grid_uneven_run(const struct grid *g, uint64_t at, struct run *r)
{
	unsigned last = g->whole ? g->whole - 1 : 0;
	uint64_t rest = at;
	*r = (struct run){0};
	for (unsigned d = 0; d < g->rank; d++) {
		uint64_t i = rest / g->file_step[d], index = chunk_of(g, d, i);
		rest %= g->file_step[d];
		r->number = r->number * g->count[d] + index;
		r->in_chunk += (i - begin_of(g, d, index)) * g->chunk_step[d];
		if (d == last) {
			uint64_t end = min_u64(begin_of(g, d, index + 1), g->shape[d]);
			r->len = (end - i) * g->file_step[d] - rest;
		}
	}
	r->in_chunk += rest;
}

bool
grid_uneven_shape(const struct grid *g, uint64_t number, uint64_t *ret)
{
	bool shorter = false;
	grid_index(g, number, ret);
	for (unsigned d = 0; d < g->rank; d++) {
		ret[d] = begin_of(g, d, ret[d] + 1) - begin_of(g, d, ret[d]);
		shorter |= ret[d] < g->chunk[d];
	}
	return shorter;
}
