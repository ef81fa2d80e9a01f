/* Another writer has made an array shorter than what is written here. What is left of it is stored;
 * what is not is lost, and that is an error. */
#include "data/staging_impl.h"

#include "base/check.h"
#include "data/fresh.h"

#include <errno.h>
#include <inttypes.h>

bool
staged_is_cut(const struct staged_space *p, const struct array *a)
{
	return p->array && p->array != a && p->array->grid.shape[0] < a->grid.shape[0];
}

void
staged_lose(struct staged_space *p)
{
	const struct array *a = p->array;
	if (p->error.code)
		return;
	err_set(-EIO,
		"what was written to '%s' behind its first %" PRIu64
		" rows is lost: another program has made it as short",
		a->path, a->grid.shape[0]);
	err_save(-EIO, &p->error);
	p->outdated = false;
}

static uint64_t
first_row(const struct array *a, uint64_t chunk)
{
	uint64_t index[RANK_MAX];
	grid_index(&a->grid, chunk, index);
	return index[0] * a->grid.chunk[0];
}

void
staged_cut(struct staging *s, struct staged_object *o)
{
	const struct array *a = o->space->array;
	const struct grid *g = &a->grid;
	size_t lost = 0;
	for (struct staged_chunk *c = o->chunk; c; c = c->next) {
		const uint64_t first = first_row(a, c->number), end = g->shape[0];
		const size_t from =
			first >= end ? 0 : min_u64(end - first, g->chunk[0]) * g->chunk_step[0];
		if (!c->now || from >= g->chunk_bytes)
			continue;
		lost += c->now->count;
		staging_forget(s, c, from);
		lost -= c->now ? c->now->count : 0;
	}
	if (lost)
		staged_lose(o->space);
}

void
staging_forget(struct staging *s, struct staged_chunk *c, size_t from)
{
	if (!c->now)
		return;
	if (from) /* else readers that hold the layer have it as it was */
		layer_cut(c->now, from);
	if (c->whole) {
		c->whole = false;
		c->object->whole--;
	}
	if (from && layer_any(c->now))
		return;
	staged_charge(s, c->object, layer_cost(c->now), 0);
	c->now = layer_unref(c->now);
}

int
staging_put_late(const struct store *st)
{
	struct array *a = st->array;
	const struct staged_space *p = st->chunk->object->space;
	bool late = false;
	LOCKED(&st->staging->lock)
		late = staged_is_cut(p, a) &&
		       p->array->grid.shape[0] <= behind_first_row(a, st->chunk->number);
	if (!late || !*st->version)
		return 0;
	const int r = fresh_remove(a, st->chunk->number, st->version, 0);
	return r < 0 ? err_add(r, "'%s', which lies behind the end by now, stays", st->key)
		     : err_set(-EIO, "'%s' lies behind the end by now", st->key);
}
