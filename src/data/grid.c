#include "data/grid.h"

#include "base/check.h"
#include "base/err.h"
#include "data/grid_uneven.h"

#include <errno.h>
#include <string.h>

static int
steps(struct grid *g)
{
	uint64_t f = g->item, c = g->item;
	for (unsigned d = g->rank; d-- > 0;) {
		g->file_step[d] = f;
		g->chunk_step[d] = c;
		if (mul_over(f, g->shape[d], &f) || mul_over(c, g->chunk[d], &c))
			return err_set(-EOVERFLOW, "shape is too large");
	}
	g->bytes = f;
	g->chunk_bytes = c;
	if (f > INT64_MAX || c > INT64_MAX)
		return err_set(-EOVERFLOW, "shape is too large");
	return 0;
}

static void
find_dims(struct grid *g)
{
	g->whole = g->rank;
	while (g->whole > 0 && g->chunk[g->whole - 1] == g->shape[g->whole - 1])
		g->whole--;
	g->lead = 0;
	while (g->lead + 1 < g->rank && g->chunk[g->lead] == 1)
		g->lead++;
	g->row_bytes = g->chunk_step[g->lead];
	g->slab_chunks = 1;
	for (unsigned d = g->lead + 1; d < g->rank; d++)
		g->slab_chunks *= g->count[d];
	unsigned d = g->whole ? g->whole - 1 : 0;
	g->run_bytes = min_u64(g->chunk[d], g->shape[d]) * g->file_step[d];
}

int
grid_init(
	struct grid *g, unsigned rank, const uint64_t *shape, const uint64_t *chunk, uint64_t item)
{
	memset(g, 0, sizeof *g);
	if (rank > RANK_MAX)
		return err_set(-EINVAL, "%u dimensions are more than %d", rank, RANK_MAX);
	g->rank = rank ? rank : 1;
	g->item = item;
	g->chunks = 1;
	bool empty = false;
	for (unsigned d = 0; d < rank; d++)
		empty |= shape[d] == 0;
	for (unsigned d = 0; d < g->rank; d++) {
		g->shape[d] = empty  ? 0
			      : rank ? shape[d]
				     : 1; /* nothing, however long the others are */
		g->chunk[d] = rank ? chunk[d] : 1;
		if (!g->chunk[d])
			return err_set(-EINVAL, "chunk length 0 in dimension %u", d);
		g->count[d] = ceil_div(g->shape[d], g->chunk[d]);
		if (mul_over(g->chunks, g->count[d], &g->chunks))
			return err_set(-EOVERFLOW, "too many chunks");
	}
	int r = steps(g);
	if (r == 0)
		find_dims(g);
	return r;
}

int
grid_set_edges(struct grid *g, const struct edges *e)
{
	if (!e || !g->bytes)
		return 0;
	g->uneven = e;
	g->chunks = 1;
	for (unsigned d = 0; d < g->rank; d++) {
		g->count[d] = e->dim[d].n;
		if (mul_over(g->chunks, g->count[d], &g->chunks))
			return err_set(-EOVERFLOW, "too many chunks");
	}
	find_dims(g);
	return 0;
}

uint64_t
grid_box(const struct grid *g, uint64_t from, uint64_t to, struct box *b)
{
	unsigned d = g->rank - 1;
	uint64_t rest = from, step = 1;
	for (unsigned k = 0; k < g->rank; k++) {
		uint64_t s = g->file_step[k] / g->item;
		b->start[k] = rest / s;
		rest %= s;
		b->count[k] = 1;
	}
	/* outwards as long as `from` begins a whole index of the next dimension and all of it is
	 * wanted */
	while (d > 0) {
		uint64_t outer = step * g->shape[d];
		if (b->start[d] != 0 || to - from < outer)
			break;
		b->count[d] = g->shape[d];
		step = outer;
		d--;
	}
	b->count[d] = min_u64((to - from) / step, g->shape[d] - b->start[d]);
	return b->count[d] * step;
}

/* Fills in what follows from the chunk's index. */
static void
clip(const struct grid *g, const struct box *b, struct part *p)
{
	p->number = p->in_file = p->in_chunk = 0;
	p->last = g->item;
	for (unsigned d = 0; d < g->rank; d++) {
		uint64_t origin = p->index[d] * g->chunk[d];
		grid_clip(g, b, p, d, origin, origin + g->chunk[d]);
	}
}

void
grid_first(const struct grid *g, const struct box *b, struct part *p)
{
	if (g->uneven) {
		grid_uneven_first(g, b, p);
		return;
	}
	for (unsigned d = 0; d < g->rank; d++)
		p->index[d] = b->start[d] / g->chunk[d];
	clip(g, b, p);
}

bool
grid_next(const struct grid *g, const struct box *b, struct part *p)
{
	if (g->uneven)
		return grid_uneven_next(g, b, p);
	unsigned d = g->rank;
	while (d-- > 0) {
		if (p->index[d] < (b->start[d] + b->count[d] - 1) / g->chunk[d]) {
			p->index[d]++;
			clip(g, b, p);
			return true;
		}
		p->index[d] = b->start[d] / g->chunk[d];
	}
	return false;
}

/* Boxes come to the same chunks in the same order: the next one is mostly that behind *at. */
static size_t
find_hull(const struct hull *h, size_t n, uint64_t number, size_t *at)
{
	for (size_t i = 0; i < n; i++) {
		*at = *at + 1 < n ? *at + 1 : 0;
		if (h[*at].number == number)
			return *at;
	}
	return n;
}

size_t
grid_hulls(const struct grid *g, uint64_t from, uint64_t to, struct hull *ret, size_t most)
{
	size_t n = 0, at = 0;
	while (from < to) {
		struct box box;
		struct part part;
		const size_t known = n;
		from += grid_box(g, from, to, &box);
		grid_first(g, &box, &part);
		do {
			size_t i = find_hull(ret, known, part.number, &at);
			if (i == known) /* of one box it comes once */
				i = n;
			if (i == most)
				return n;
			if (i == n)
				ret[n++] = (struct hull){part.number, part.in_chunk, part.last};
			ret[i].in_chunk = min_u64(ret[i].in_chunk, part.in_chunk);
			ret[i].last = max_u64(ret[i].last, part.last);
		} while (grid_next(g, &box, &part));
	}
	return n;
}

uint64_t
grid_number(const struct grid *g, const uint64_t *index)
{
	uint64_t n = 0;
	for (unsigned d = 0; d < g->rank; d++)
		n = n * g->count[d] + index[d];
	return n;
}

void
grid_index(const struct grid *g, uint64_t number, uint64_t *index)
{
	for (unsigned d = g->rank; d-- > 1;) {
		index[d] = number % g->count[d];
		number /= g->count[d];
	}
	index[0] = number; /* perhaps beyond the extent, which is no part of the numbers */
}

void
grid_run(const struct grid *g, uint64_t at, struct run *r)
{
	if (g->uneven) {
		grid_uneven_run(g, at, r);
		return;
	}
	unsigned last = g->whole ? g->whole - 1 : 0;
	uint64_t rest = at;
	*r = (struct run){0};
	for (unsigned d = 0; d < g->rank; d++) {
		uint64_t i = rest / g->file_step[d], number = i / g->chunk[d];
		rest %= g->file_step[d];
		r->number = r->number * g->count[d] + number;
		r->in_chunk += (i - number * g->chunk[d]) * g->chunk_step[d];
		if (d == last) {
			uint64_t end = min_u64((number + 1) * g->chunk[d], g->shape[d]);
			r->len = (end - i) * g->file_step[d] - rest;
		}
	}
	r->in_chunk += rest;
}

void
grid_rows(const struct grid *g, const struct part *p, struct rows_walk *w)
{
	unsigned d = g->rank - 1;
	struct rows *r = &w->rows;
	*r = (struct rows){g->item * p->count[d], 1, 0, 0, p->in_file, p->in_chunk};
	/* dimensions join as long as the run is contiguous on both sides */
	while (d > 0 && p->count[d] == g->shape[d] && g->chunk[d] == g->shape[d]) {
		d--;
		r->bytes *= p->count[d];
	}
	w->depth = 0;
	for (unsigned k = 0; k < d; k++) {
		if (p->count[k] == 1)
			continue;
		w->n[w->depth] = p->count[k];
		w->i[w->depth] = 0;
		w->file_step[w->depth] = g->file_step[k];
		w->chunk_step[w->depth] = g->chunk_step[k];
		w->depth++;
	}
	if (!w->depth)
		return;
	w->depth--;
	r->count = w->n[w->depth];
	r->file_step = w->file_step[w->depth];
	r->chunk_step = w->chunk_step[w->depth];
}

bool
grid_rows_next(struct rows_walk *w)
{
	for (unsigned k = w->depth; k-- > 0;) {
		w->rows.in_file += w->file_step[k];
		w->rows.in_chunk += w->chunk_step[k];
		if (++w->i[k] < w->n[k])
			return true;
		w->i[k] = 0;
		w->rows.in_file -= w->n[k] * w->file_step[k];
		w->rows.in_chunk -= w->n[k] * w->chunk_step[k];
	}
	return false;
}
