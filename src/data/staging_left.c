/* What a broken writer left behind the end: it becomes fill before it becomes rows. The version
 * that a put replaces says by its age whether it is that, or has rows of another writer whose
 * length may come yet. */
#include "data/staging_impl.h"

#include "base/check.h"

#include <errno.h>

static uint64_t
rows_before(const struct store *st)
{
	return behind_first_row(st->array, st->chunk->number);
}

/* Indices of the leading dimension up to the end of the object. */
static uint64_t
rows_to_end(const struct store *st)
{
	const struct array *a = st->array;
	return rows_before(st) + behind_step(a) * a->grid.chunk[0];
}

int
store_find_left(struct store *st)
{
	const struct array *a = st->array;
	const struct array_hooks *h = &a->hooks;
	st->rows = st->rows_behind = UINT64_MAX;
	if (st->absent || !h->rows || !a->grid.rank || a->grid.uneven ||
		(a->remote && !st->stat.mtime) ||
		h->rows(h->arg, st->stat.mtime, false) >= rows_to_end(st))
		return 0;
	int r = load_check_since(a, clock_wall() - (a->remote ? SECOND : 0));
	if (r < 0 || staging_has_noted(st))
		return r;
	st->rows_behind = h->rows(h->arg, st->stat.mtime, true);
	st->rows = h->rows(h->arg, st->stat.mtime, false);
	return 0;
}

/* What another program has stored since the chunk was marked may be rows: it is no fill. */
static size_t
marked_from(const struct store *st, const struct staged_chunk *c)
{
	const bool other =
		st->based && !st->absent && c->fill_of && c->fill_of != staged_print(&st->stat);
	return other ? NO_FILL : c->storing_fill;
}

size_t
store_fill_from(const struct store *st, const struct staged_chunk *c)
{
	const struct grid *g = &st->array->grid;
	const size_t marked = marked_from(st, c);
	uint64_t index[RANK_MAX];
	if (!st->based || st->rows == UINT64_MAX)
		return marked;
	grid_index(g, c->number, index);
	const uint64_t first = index[0] * g->chunk[0];
	if (first >= st->rows)
		return first >= st->rows_behind ? 0 : marked;
	return st->rows - first < g->chunk[0]
		       ? min_u64(marked, (st->rows - first) * g->chunk_step[0])
		       : marked;
}

bool
store_is_left(const struct store *st)
{
	return st->based && !st->absent && rows_before(st) >= max_u64(st->rows, st->rows_behind);
}

void
store_say_left(const struct store *st)
{
	const struct array_hooks *h = &st->array->hooks;
	if (h->left)
		h->left(h->arg, st->key);
}

/* The chunk is as one that was cut at its own end: storing it looks at its object, and only what a
 * broken writer left there changes. */
static int
mark(struct staging *s, struct array *a, uint64_t chunk)
{
	struct staged_chunk *c = staging_make_chunk(s, a, chunk);
	if (!c)
		return err_set(-ENOMEM, "no memory for what is written");
	c->fill_from = min_u64(c->fill_from, a->grid.chunk_bytes);
	if (!c->object->since)
		c->object->since = s->clock;
	return 0;
}

int
array_clear_left(struct array *a, uint64_t element)
{
	struct staging *s = a->data->staging;
	struct array *was = NULL, *gone = NULL;
	struct box b;
	struct part part;
	int r = array_writable(a);
	if (r < 0)
		return r;
	grid_box(&a->grid, element, element + 1, &b);
	grid_first(&a->grid, &b, &part);
	LOCKED(&s->lock) {
		struct staged_space *p;
		r = staging_hold_space(s, a, &p, &was);
		if (r == 0)
			r = staged_error(s, p);
		s->clock++;
		if (r == 0)
			r = mark(s, a, part.number);
		if (p)
			gone = staging_release_space(s, p);
	}
	staging_tell(s);
	array_unref(was);
	array_unref(gone);
	return r;
}
