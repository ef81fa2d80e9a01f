/* Reading what is staged: the layers of chunks that a read wants are held from before the stored
 * bytes are asked for until they are laid over these. */
#include "data/staging_impl.h"

#include "base/check.h"
#include "base/list.h"

#include <errno.h>
#include <string.h>

/* One walk over the chunks of a read, box by box. */
struct cover_walk {
	const struct grid *grid;
	uint64_t at, last; /* elements that no box holds yet */
	struct box box;
	struct part part;
	uint64_t origin; /* byte of the file from which in_file of `part` counts */
};

static bool
next_box(struct cover_walk *w)
{
	if (w->at >= w->last)
		return false;
	w->at += grid_box(w->grid, w->at, w->last, &w->box);
	grid_first(w->grid, &w->box, &w->part);
	w->part.in_file -= w->origin;
	return true;
}

static bool
walk_first(const struct array *a, const struct array_want *want, struct cover_walk *w)
{
	const struct grid *g = &a->grid;
	uint64_t first = want->off / g->item, last = ceil_div(want->off + want->len, g->item);
	*w = (struct cover_walk){.grid = g, .at = first, .last = last, .origin = first * g->item};
	return next_box(w);
}

static bool
walk_next(struct cover_walk *w)
{
	if (!grid_next(w->grid, &w->box, &w->part))
		return next_box(w);
	w->part.in_file -= w->origin;
	return true;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = ((const struct cover_chunk *)b)->number;
	return x < y ? -1 : x > y;
}

static struct cover_chunk *
find(const struct cover *o, uint64_t chunk)
{
	return o->n ? bsearch(&chunk, o->chunk, o->n, sizeof *o->chunk, compare) : NULL;
}

/* Is every byte of the part staged, or fill whatever is stored? */
static bool
covers(const struct grid *g, const struct part *p, const struct cover_chunk *c)
{
	struct rows_walk w;
	grid_rows(g, p, &w);
	do {
		const struct rows *r = &w.rows;
		uint64_t in = r->in_chunk;
		for (uint64_t i = 0; i < r->count; i++, in += r->chunk_step) {
			uint64_t end = min_u64(in + r->bytes, c->fill_from);
			if (in < end && !layer_has(c->upper, c->lower, in, end - in))
				return false;
		}
	} while (grid_rows_next(&w));
	return true;
}

static struct layer *
hold(struct layer *l)
{
	if (l)
		l->refs++;
	return l;
}

/* Puts the chunk where its number belongs. */
static int
insert(struct cover *o, const struct cover_chunk *c)
{
	size_t i = o->n;
	while (i > 0 && o->chunk[i - 1].number > c->number) /* mostly they come in order */
		i--;
	return LIST_INSERT(o->chunk, o->n, i, "chunks", *c);
}

/* The lock is held. */
static int
take_part(struct staging *s, struct array *a, const struct part *p, struct cover *o)
{
	struct cover_chunk *known = find(o, p->number);
	if (known) {
		known->whole = known->whole && covers(&a->grid, p, known);
		return 0;
	}
	const struct staged_chunk *c = staging_chunk(s, a->space, p->number);
	if (!c)
		return 0;
	struct cover_chunk new = {
		.number = p->number,
		.upper = c->now,
		.lower = c->storing,
		.fill_from = min_u64(c->fill_from, c->storing_fill),
	};
	new.whole = covers(&a->grid, p, &new);
	int r = insert(o, &new);
	if (r == 0) {
		hold(new.upper);
		hold(new.lower);
	}
	return r;
}

int
cover_take(struct array *a, const struct array_want *want, struct cover *ret)
{
	struct staging *s = a->data->staging;
	int r = 0;
	LOCKED(&s->lock) {
		const struct staged_space *p = staging_space(s, a->space);
		struct cover_walk w;
		if (!p || !p->objects || !walk_first(a, want, &w))
			return 0;
		do
			r = take_part(s, a, &w.part, ret);
		while (r == 0 && walk_next(&w));
	}
	if (r < 0)
		cover_drop(a, ret);
	return r;
}

static bool
touches(const struct grid *g, const struct part *p, const struct staged_chunk *c)
{
	struct rows_walk w;
	bool any = false;
	grid_rows(g, p, &w);
	do {
		const struct rows *r = &w.rows;
		uint64_t in = r->in_chunk;
		for (uint64_t i = 0; i < r->count; i++, in += r->chunk_step)
			any |= layer_touches(c->now, in, in + r->bytes) ||
			       layer_touches(c->storing, in, in + r->bytes);
	} while (grid_rows_next(&w));
	return any;
}

bool
array_touched(const struct array *a, uint64_t off, size_t len)
{
	struct staging *s = a->data->staging;
	const struct array_want want = {.off = off, .len = len};
	bool any = false;
	if (!staging_any(s))
		return false;
	LOCKED(&s->lock) {
		struct cover_walk w;
		bool more = walk_first(a, &want, &w);
		for (; more && !any; more = walk_next(&w)) {
			const struct staged_chunk *c = staging_chunk(s, a->space, w.part.number);
			any = c && touches(&a->grid, &w.part, c);
		}
	}
	return any;
}

void
cover_drop(struct array *a, struct cover *o)
{
	if (!o->chunk)
		return;
	LOCKED(&a->data->staging->lock)
		for (size_t i = 0; i < o->n; i++) {
			layer_unref(o->chunk[i].upper);
			layer_unref(o->chunk[i].lower);
		}
	free(o->chunk);
	*o = (struct cover){0};
}

bool
cover_has(const struct cover *o, uint64_t chunk)
{
	const struct cover_chunk *c = o ? find(o, chunk) : NULL;
	return c && c->whole;
}

static bool
was_cut(const struct layer *l)
{
	return l && l->cut;
}

/* Rows that covered what nothing stored was asked for are gone where a layer was cut since. */
static void
lay_part(const struct array *a, const struct part *p, const struct cover_chunk *c, uint8_t *to)
{
	const struct layer_rows of = staged_rows(a);
	const bool bare = c->whole && (was_cut(c->upper) || was_cut(c->lower));
	const size_t fill_from = bare ? 0 : c->fill_from;
	struct rows_walk w;
	grid_rows(&a->grid, p, &w);
	do {
		const struct rows *r = &w.rows;
		uint64_t in = r->in_chunk;
		uint8_t *row = to + r->in_file;
		for (uint64_t i = 0; i < r->count; i++, in += r->chunk_step, row += r->file_step) {
			uint64_t fill = max_u64(in, fill_from);
			if (fill < in + r->bytes)
				array_fill(a, row + (fill - in), in + r->bytes - fill);
			layer_lay_under(c->lower, &of, in, r->bytes, row);
			layer_lay_under(c->upper, &of, in, r->bytes, row);
			layer_lay(c->lower, in, r->bytes, row);
			layer_lay(c->upper, in, r->bytes, row);
		}
	} while (grid_rows_next(&w));
}

void
cover_lay(struct array *a, const struct array_want *want, const struct cover *o, uint8_t *to)
{
	struct cover_walk w;
	if (!walk_first(a, want, &w))
		return;
	LOCKED(&a->data->staging->lock)
		do {
			const struct cover_chunk *c = find(o, w.part.number);
			if (c)
				lay_part(a, &w.part, c, to);
		} while (walk_next(&w));
}
