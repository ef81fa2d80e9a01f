/* Objects that were found behind the end of an array, or with the end in them. */
#include "data/staging_impl.h"

#include "base/check.h"
#include "base/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
by_object(const void *a, const void *b)
{
	const struct behind_object *x = a, *y = b;
	return x->object < y->object ? -1 : x->object > y->object;
}

const struct behind_object *
behind_find(const struct array_behind *b, uint64_t chunk)
{
	const struct behind_object key = {.object = array_object(b->array, chunk)};
	return b->n ? bsearch(&key, b->found, b->n, sizeof key, by_object) : NULL;
}

int
behind_add(struct array_behind *b, uint64_t chunk, const struct zmap_stat *st)
{
	struct behind_object o = {
		.object = array_object(b->array, chunk), .chunk = chunk, .mtime = st->mtime};
	int r = 0;
	memcpy(o.version, st->version, sizeof o.version);
	LOCKED(&b->lock)
		r = LIST_ADD(b->found, b->n, "objects", o);
	return r;
}

void
behind_sort(struct array_behind *b)
{
	if (b->n)
		qsort(b->found, b->n, sizeof *b->found, by_object);
}

/* Of what is stored of these chunks, bytes from `from` on are to become fill; where nothing was
 * stored, what is there now is another writer's. grown: that one has made rows of them again. */
static int
mark(struct staging *s, struct array_behind *b, uint64_t first, uint64_t n, size_t from, bool grown)
{
	struct array *a = b->array;
	for (uint64_t i = first; i < first + n; i++) {
		const struct behind_object *o = behind_find(b, i);
		struct staged_chunk *c =
			o ? staging_make_chunk(s, a, i) : staging_chunk(s, a->space, i);
		if (!c && o)
			return err_set(-ENOMEM, "no memory for what is written");
		if (!c)
			continue;
		if (!grown)
			b->dropped |= staging_forget(s, c, from);
		if (o) {
			struct zmap_stat was = {.mtime = o->mtime};
			memcpy(was.version, o->version, sizeof was.version);
			c->fill_of = staged_print(&was);
			c->fill_from = from;
		}
		if (!c->object->since)
			c->object->since = s->clock;
	}
	return 0;
}

int
behind_mark(struct staging *s, struct array_behind *b, bool grown)
{
	const struct array *a = b->array;
	const struct grid *g = &a->grid;
	const uint64_t row = behind_in_row(a), count = ceil_div(b->rows, g->chunk[0]),
		       in_last = b->rows % g->chunk[0], end = round_up(count, behind_step(a));
	s->clock++;
	int r = in_last ? mark(s, b, (count - 1) * row, row, in_last * g->chunk_step[0], grown) : 0;
	return r < 0 ? r : mark(s, b, count * row, (end - count) * row, 0, grown);
}
