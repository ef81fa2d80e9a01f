/* Rows that were put here and that the metadata do not count yet: however long that takes, they are
 * not what a broken writer left. */
#include "data/staging_impl.h"

#include "base/check.h"
#include "base/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
by_object(const void *a, const void *b)
{
	const struct noted *x = a, *y = b;
	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

uint64_t
store_rows_put(const struct store *st)
{
	const struct grid *g = &st->array->grid;
	uint64_t index[RANK_MAX], rows = 0;
	for (const struct staged_chunk *c = st->chunk; c; c = c->next) {
		const size_t end = layer_end(c->storing);
		grid_index(g, c->number, index);
		if (end)
			rows = max_u64(
				rows, index[0] * g->chunk[0] + ceil_div(end, g->chunk_step[0]));
	}
	return rows;
}

struct noted *
staging_noted(struct staging *s, uint64_t space, uint64_t object)
{
	const struct noted key = {.space = space, .object = object};
	return set_find(&s->noted_by, &key, by_object);
}

static uint64_t
rows_counted(const struct array *a)
{
	const struct array_hooks *h = &a->hooks;
	return h->rows && a->grid.rank ? h->rows(h->arg, 0, false) : UINT64_MAX;
}

/* The lock is held. */
static struct noted *
add(struct staging *s, const struct noted *key)
{
	if (LIST_MORE(s->noted, s->n_noted, "rows") < 0)
		return NULL;
	struct noted *n = malloc(sizeof *n);
	if (!n)
		return NULL;
	*n = *key;
	if (set_add(&s->noted_by, n, by_object) < 0) {
		free(n);
		return NULL;
	}
	return s->noted[s->n_noted++] = n;
}

int
staging_note_rows(const struct store *st)
{
	const struct array *a = st->array;
	struct staging *s = st->staging;
	const uint64_t counted = rows_counted(a);
	if (counted == UINT64_MAX)
		return 0;
	struct noted key = {.space = a->space,
		.object = array_object(a, st->chunk->number),
		.coming = store_rows_put(st),
		.witness = NO_FILL};
	struct noted *n = NULL;
	if (key.coming <= counted)
		return 0;
	key.document = a->hooks.document ? a->hooks.document(a->hooks.arg) : 0;
	LOCKED(&s->lock) {
		n = set_find(&s->noted_by, &key, by_object);
		n = n ? n : add(s, &key);
		if (n)
			n->coming = key.coming;
	}
	return n ? 0 : err_set(-ENOMEM, "no memory for what is written behind the end");
}

/* Of what was put, the first row that the metadata do not count and that is not all fill. */
static void
find_witness(const struct store *st, struct noted *ret)
{
	const struct array *a = st->array;
	const struct grid *g = &a->grid;
	const uint64_t counted = rows_counted(a);
	uint64_t index[RANK_MAX], lowest = UINT64_MAX;
	ret->chunk = st->chunk->number;
	ret->witness = NO_FILL;
	for (const struct staged_chunk *c = st->chunk; c && !a->fill_error; c = c->next) {
		grid_index(g, c->number, index);
		const uint64_t first = index[0] * g->chunk[0],
			       behind = counted > first ? counted - first : 0;
		if (behind >= g->chunk[0])
			continue;
		const size_t at =
			layer_find_other(c->storing, behind * g->chunk_step[0], a->fill, g->item);
		if (at == NO_FILL || first + at / g->chunk_step[0] >= lowest)
			continue;
		lowest = first + at / g->chunk_step[0];
		ret->chunk = c->number;
		ret->witness = at;
	}
}

static bool
covers_witness(const struct store *st, const struct noted *n)
{
	for (const struct staged_chunk *c = st->chunk; c; c = c->next)
		if (c->number == n->chunk && n->witness != NO_FILL)
			return layer_touches(
				c->storing, n->witness, n->witness + st->array->grid.item);
	return false;
}

/* put: what there is to be seen of it. The lock is held. */
static void
take_put(struct noted *n, const struct store *st, const struct noted *put)
{
	const bool upon_others = st->based && (st->absent || strcmp(st->stat.version, n->version));
	if (!st->based || n->witness == NO_FILL || covers_witness(st, n)) {
		n->chunk = put->chunk;
		n->witness = put->witness;
		n->merged = n->gone = false;
	} else if (upon_others) {
		n->merged = true;
	}
	if (!*st->version)
		n->witness = NO_FILL;
	n->rows = max_u64(n->rows, n->coming);
	memcpy(n->version, st->version, sizeof n->version);
}

void
staging_rows_put(const struct store *st)
{
	const struct array *a = st->array;
	struct staging *s = st->staging;
	struct noted put;
	find_witness(st, &put);
	LOCKED(&s->lock) {
		struct noted *n = staging_noted(s, a->space, array_object(a, st->chunk->number));
		if (n)
			take_put(n, st, &put);
	}
}

size_t
staging_find_noted(const struct staging *s, const struct array *a, struct placed *ret)
{
	size_t found = 0;
	for (size_t i = 0; i < s->n_noted; i++) {
		const struct noted *n = s->noted[i];
		if (n->space != a->space || n->rows <= a->grid.shape[0])
			continue;
		struct placed *p = &ret[found++];
		*p = (struct placed){.space = n->space, .chunk = n->chunk};
		memcpy(p->version, n->version, sizeof p->version);
	}
	return found;
}

uint64_t
staging_noted_end(const struct staging *s, uint64_t space)
{
	uint64_t end = 0;
	for (size_t i = 0; i < s->n_noted; i++)
		if (s->noted[i]->space == space)
			end = max_u64(end, s->noted[i]->rows);
	return end;
}

bool
staging_is_noted(struct array *a, uint64_t chunk, const char *version)
{
	struct staging *s = a->data->staging;
	bool is = false;
	LOCKED(&s->lock) {
		const struct noted *n = staging_noted(s, a->space, array_object(a, chunk));
		is = n && strcmp(n->version, version) == 0;
	}
	return is;
}

bool
staging_has_noted(const struct store *st)
{
	const struct array *a = st->array;
	struct staging *s = st->staging;
	const uint64_t counted = rows_counted(a);
	bool has = false;
	LOCKED(&s->lock) {
		const struct noted *n =
			staging_noted(s, a->space, array_object(a, st->chunk->number));
		has = n && n->rows > counted;
	}
	return has;
}

void
staging_forget_rows(struct staging *s, uint64_t space, uint64_t most)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->n_noted; i++) {
		struct noted *n = s->noted[i];
		if (n->space != space || max_u64(n->rows, n->coming) > most) {
			s->noted[kept++] = n;
			continue;
		}
		set_remove(&s->noted_by, n, by_object);
		free(n);
	}
	s->n_noted = kept;
}

void
staging_rows_counted(const struct array *a)
{
	const uint64_t counted = rows_counted(a);
	struct staging *s = a->data->staging;
	LOCKED(&s->lock)
		if (counted != UINT64_MAX)
			staging_forget_rows(s, a->space, counted);
}

void
array_give_up(struct array *a)
{
	struct staging *s = a->data->staging;
	LOCKED(&s->lock)
		staging_forget_rows(s, a->space, UINT64_MAX);
}

void
staging_noted_free(struct staging *s)
{
	set_free(&s->noted_by, NULL);
	LIST_FREE(s->noted, s->n_noted);
}
