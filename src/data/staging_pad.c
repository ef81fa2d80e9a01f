/* What stands behind the edges of an array in its last chunks. No view shows it, and mostly it is
 * fill. */
#include "data/staging_impl.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>

static size_t
within(const struct array *a, uint64_t chunk, unsigned first)
{
	const struct grid *g = &a->grid;
	uint64_t index[RANK_MAX], n = g->item;
	grid_index(g, chunk, index);
	for (unsigned d = 0; d < g->rank; d++)
		n *= d < first ? g->chunk[d]
			       : min_u64(g->chunk[d], g->shape[d] - index[d] * g->chunk[d]);
	return n;
}

size_t
staged_needed(const struct array *a, uint64_t chunk)
{
	return within(a, chunk, 1);
}

size_t
staged_visible(const struct array *a, uint64_t chunk)
{
	return within(a, chunk, 0);
}

struct layer_rows
staged_rows(const struct array *a)
{
	const struct grid *g = &a->grid;
	const size_t rows = g->rank ? g->chunk[0] : 1;
	return (struct layer_rows){g->chunk_bytes / rows, g->item, a->fill};
}

/* So that a row is all fill if what is seen of it is. */
void
staged_fill_edges(const struct array *a, uint64_t chunk, uint8_t *decoded)
{
	const struct grid *g = &a->grid;
	uint64_t index[RANK_MAX], seen[RANK_MAX];
	if (g->uneven || staged_needed(a, chunk) == g->chunk_bytes)
		return;
	grid_index(g, chunk, index);
	for (unsigned d = 1; d < g->rank; d++)
		seen[d] = min_u64(g->chunk[d], g->shape[d] - index[d] * g->chunk[d]);
	const unsigned last = g->rank - 1;
	const uint64_t line = g->chunk[last] * g->item;
	for (uint64_t at = 0; at < g->chunk_bytes; at += line) {
		uint64_t from = seen[last] * g->item;
		for (unsigned d = 1; d < last; d++)
			if (at / g->chunk_step[d] % g->chunk[d] >= seen[d])
				from = 0;
		if (from < line)
			array_fill(a, decoded + at + from, line - from);
	}
}

/* The part of a chunk that lies within the array. */
static void
find_visible(const struct grid *g, uint64_t number, struct part *ret)
{
	struct box b = {0};
	grid_index(g, number, b.start);
	for (unsigned d = 0; d < g->rank; d++) {
		b.start[d] *= g->chunk[d];
		b.count[d] = min_u64(g->chunk[d], g->shape[d] - b.start[d]);
	}
	grid_first(g, &b, ret);
}

/* As decoded, with the last element that is seen in place of all that are not. */
static void
pad(const struct grid *g, const struct part *p, const uint8_t *decoded, uint8_t *ret)
{
	struct rows_walk walk;
	for (uint64_t at = 0; at < g->chunk_bytes; at += g->item)
		memcpy(ret + at, decoded + p->last - g->item, g->item);
	grid_rows(g, p, &walk);
	do {
		const struct rows *r = &walk.rows;
		uint64_t in = r->in_chunk;
		for (uint64_t i = 0; i < r->count; i++, in += r->chunk_step)
			memcpy(ret + in, decoded + in, r->bytes);
	} while (grid_rows_next(&walk));
}

int
store_encode(struct store *st, const struct staged_chunk *c, struct span decoded, struct buf *ret)
{
	const struct array *a = st->array;
	const struct grid *g = &a->grid;
	size_t before = ret->len;
	int r = codec_chain_encode(a->chain, NULL, decoded, ret);
	uint64_t index[RANK_MAX];
	grid_index(g, c->number, index);
	if (r != -ERANGE || g->uneven || index[0] * g->chunk[0] >= g->shape[0] ||
		staged_visible(a, c->number) == g->chunk_bytes)
		return r;
	CLEAN(buf_free) struct buf own = {0};
	struct part p;
	r = buf_reserve(&own, g->chunk_bytes);
	if (r < 0)
		return r;
	find_visible(g, c->number, &p);
	pad(g, &p, decoded.data, own.data);
	ret->len = before;
	return codec_chain_encode(a->chain, NULL, (struct span){own.data, g->chunk_bytes}, ret);
}
