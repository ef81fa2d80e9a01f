/* Another writer has made an array shorter than what is written here. What is left of it is stored;
 * what is not is lost, and that is an error. */
#include "data/staging_impl.h"

#include "base/check.h"
#include "data/new_array.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

bool
staged_is_cut(const struct staged_space *p, const struct array *a)
{
	return p->array && p->array != a && p->array->grid.shape[0] < a->grid.shape[0];
}

void
staged_lose(struct staged_space *p)
{
	const struct array *a = p->array;
	struct err why;
	err_set(-EIO,
		"what was written to '%s' behind its first %" PRIu64
		" rows is lost: another program has made it as short",
		a->path, a->grid.shape[0]);
	err_save(-EIO, &why);
	staged_gone(a->data->staging, p, &why);
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

bool
staging_forget(struct staging *s, struct staged_chunk *c, size_t from)
{
	const bool any = layer_touches(c->now, from, SIZE_MAX);
	if (!c->now)
		return false;
	if (from) /* else readers that hold the layer have it as it was */
		layer_cut(c->now, from);
	if (c->whole) {
		c->whole = false;
		c->object->whole--;
	}
	if (from && layer_any(c->now))
		return any;
	staged_charge(s, c->object, layer_cost(c->now), 0);
	c->now = layer_unref(c->now);
	return any;
}

/* An object with the end in it: what was written behind it is fill when the object is stored once
 * more, unless another writer has stored it since. */
static int
mark_rest(const struct store *st, uint64_t rows)
{
	const struct grid *g = &st->array->grid;
	struct zmap_stat now;
	int r = zmap_stat(st->array->zmap, st->key, &now);
	if (r || strcmp(now.version, st->version) != 0)
		return r;
	LOCKED(&st->staging->lock)
		for (struct staged_chunk *c =
				staging_chunk(st->staging, st->array->space, st->chunk->number);
			c; c = c->next) {
			const uint64_t first = first_row(st->array, c->number);
			const size_t from = first < rows ? (rows - first) * g->chunk_step[0] : 0;
			if (!c->storing || from >= g->chunk_bytes)
				continue;
			c->fill_of = staged_print(&now);
			c->fill_from = min_u64(c->fill_from, from);
		}
	return 0;
}

int
staging_put_late(const struct store *st)
{
	struct array *a = st->array;
	const struct staged_space *p = st->chunk->object->space;
	uint64_t rows = UINT64_MAX;
	LOCKED(&st->staging->lock)
		if (staged_is_cut(p, a))
			rows = p->array->grid.shape[0];
	const bool behind = rows <= behind_first_row(a, st->chunk->number);
	if (!*st->version || (!behind && rows >= store_rows_put(st)))
		return 0;
	const int r = behind ? array_remove_version(a, st->chunk->number, st->version, 0)
			     : mark_rest(st, rows);
	return r < 0 ? err_add(r, "'%s', which has rows behind the end by now, stays", st->key)
		     : err_set(-EIO, "'%s' has rows behind the end by now", st->key);
}
