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
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
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
staging_noted(struct staging *s, uint64_t site, uint64_t object)
{
	const struct noted key = {.site = site, .object = object};
	return set_find(&s->noted_by, &key, by_object);
}

static uint64_t
rows_counted(const struct array *a)
{
	const struct array_hooks *h = &a->hooks;
	return h->rows && a->grid.rank ? h->rows(h->arg, 0, false) : UINT64_MAX;
}

static uint64_t
metadata_of(const struct array *a)
{
	return a->hooks.document ? a->hooks.document(a->hooks.arg) : 0;
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
	struct noted key = {.site = a->site,
		.object = array_object(a, st->chunk->number),
		.coming = store_rows_put(st),
		.gone = UINT64_MAX};
	struct noted *n = NULL;
	if (key.coming <= counted)
		return 0;
	key.document = metadata_of(a);
	spaces_keep(a->data->spaces, a->site_name);
	LOCKED(&s->lock) {
		n = set_find(&s->noted_by, &key, by_object);
		n = n ? n : add(s, &key);
		if (n)
			n->coming = key.coming;
	}
	return n ? 0 : err_set(-ENOMEM, "no memory for what is written behind the end");
}

/* --- what is seen of them --- */

static int
compare(const struct witness *x, const struct witness *y)
{
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->chunk != y->chunk)
		return x->chunk < y->chunk ? -1 : 1;
	return x->element < y->element ? -1 : x->element > y->element;
}

static void
remove_witness(struct noted *n, unsigned i)
{
	memmove(&n->witness[i], &n->witness[i + 1], (--n->witnesses - i) * sizeof n->witness[0]);
}

/* A witness goes: the one between the two that are nearest to each other, in rows. */
static void
thin(struct noted *n)
{
	unsigned least = 1;
	for (unsigned i = 2; i + 1 < n->witnesses; i++)
		if (n->witness[i + 1].row - n->witness[i - 1].row <
			n->witness[least + 1].row - n->witness[least - 1].row)
			least = i;
	remove_witness(n, least);
}

static void
add_witness(struct noted *n, const struct witness *w)
{
	unsigned i = n->witnesses;
	while (i > 0 && compare(w, &n->witness[i - 1]) < 0)
		i--;
	if (i > 0 && compare(w, &n->witness[i - 1]) == 0)
		return;
	memmove(&n->witness[i + 1], &n->witness[i], (n->witnesses - i) * sizeof *w);
	n->witness[i] = *w;
	if (++n->witnesses == WITNESSES)
		thin(n);
}

static void
add_at(struct noted *n, const struct array *a, const struct staged_chunk *c, size_t at)
{
	const struct grid *g = &a->grid;
	uint64_t index[RANK_MAX];
	grid_index(g, c->number, index);
	add_witness(n, &(struct witness){index[0] * g->chunk[0] + at / g->chunk_step[0], c->number,
			       at / g->item});
}

/* Witnesses of what was put of the chunk from that byte on: elements other than fill at even
 * distances, and the last of them. */
static void
find_in(const struct array *a, const struct staged_chunk *c, size_t from, struct noted *ret)
{
	const struct layer *l = c->storing;
	const size_t item = a->grid.item;
	size_t end = layer_end(l), next = from; /* from end on all is fill */
	size_t at = layer_find_other(l, next, end, a->fill, item), last = at;
	size_t apart = at == NO_FILL ? 0 : ceil_div((end - at) / item, WITNESSES - 2);
	bool even = true;
	for (; apart; at = layer_find_other(l, next, end, a->fill, item)) {
		if (at == NO_FILL) {
			end = min_u64(end, next);
			apart /= 2;
			even = false;
		} else {
			last = at;
			if (even)
				add_at(ret, a, c, at);
		}
		next = last + apart * item;
	}
	if (last != NO_FILL)
		add_at(ret, a, c, last);
}

/* Of what was put, rows that the metadata do not count. */
static void
find_witnesses(const struct store *st, struct noted *ret)
{
	const struct array *a = st->array;
	const struct grid *g = &a->grid;
	const uint64_t counted = rows_counted(a);
	uint64_t index[RANK_MAX];
	for (const struct staged_chunk *c = st->chunk; c && !a->fill_error; c = c->next) {
		grid_index(g, c->number, index);
		const uint64_t first = index[0] * g->chunk[0],
			       behind = counted > first ? counted - first : 0;
		if (behind < g->chunk[0])
			find_in(a, c, behind * g->chunk_step[0], ret);
	}
}

static bool
is_put_over(const struct store *st, const struct witness *w)
{
	const size_t item = st->array->grid.item;
	for (const struct staged_chunk *c = st->chunk; c; c = c->next)
		if (c->number == w->chunk)
			return layer_has(c->storing, NULL, w->element * item, item);
	return false;
}

/* put: what there is to be seen of it. The lock is held. */
static void
take_put(struct noted *n, const struct store *st, const struct noted *put)
{
	for (unsigned i = n->witnesses; i-- > 0;)
		if (is_put_over(st, &n->witness[i]))
			remove_witness(n, i);
	n->merged |= st->based && (st->absent || strcmp(st->stat.version, n->version) != 0);
	if (!n->witnesses) {
		n->merged = false;
		n->gone = UINT64_MAX;
	}
	for (unsigned i = 0; i < put->witnesses; i++)
		add_witness(n, &put->witness[i]);
	n->chunk = st->chunk->number;
	n->rows = max_u64(n->rows, n->coming);
	memcpy(n->version, st->version, sizeof n->version);
}

void
staging_rows_put(const struct store *st)
{
	const struct array *a = st->array;
	struct staging *s = st->staging;
	struct noted put = {0};
	find_witnesses(st, &put);
	LOCKED(&s->lock) {
		struct noted *n = staging_noted(s, a->site, array_object(a, st->chunk->number));
		if (n)
			take_put(n, st, &put);
	}
}

/* --- */

size_t
staging_find_noted(const struct staging *s, const struct array *a, struct placed *ret)
{
	size_t found = 0;
	for (size_t i = 0; i < s->n_noted; i++) {
		const struct noted *n = s->noted[i];
		if (n->site != a->site || n->rows <= a->grid.shape[0])
			continue;
		struct placed *p = &ret[found++];
		*p = (struct placed){.space = a->space, .chunk = n->chunk};
		memcpy(p->version, n->version, sizeof p->version);
	}
	return found;
}

bool
staging_loses_noted(const struct staging *s, const struct array *a)
{
	bool loses = false;
	for (size_t i = 0; i < s->n_noted; i++) {
		const struct noted *n = s->noted[i];
		loses |= n->site == a->site && n->witnesses &&
			 n->witness[n->witnesses - 1].row >= a->grid.shape[0];
	}
	return loses;
}

uint64_t
staging_noted_end(const struct staging *s, uint64_t site)
{
	uint64_t end = 0;
	for (size_t i = 0; i < s->n_noted; i++)
		if (s->noted[i]->site == site)
			end = max_u64(end, s->noted[i]->rows);
	return end;
}

bool
staging_is_noted(struct array *a, uint64_t chunk, const char *version)
{
	struct staging *s = a->data->staging;
	bool is = false;
	LOCKED(&s->lock) {
		const struct noted *n = staging_noted(s, a->site, array_object(a, chunk));
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
			staging_noted(s, a->site, array_object(a, st->chunk->number));
		has = n && n->rows > counted;
	}
	return has;
}

/* unless: they are of other metadata than these; NULL: whatever they are of. */
static void
forget(struct staging *s, uint64_t site, uint64_t most, const uint64_t *unless)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->n_noted; i++) {
		struct noted *n = s->noted[i];
		const bool other = unless && n->witnesses && n->document != *unless;
		if (n->site != site || max_u64(n->rows, n->coming) > most || other) {
			s->noted[kept++] = n;
			continue;
		}
		set_remove(&s->noted_by, n, by_object);
		free(n);
	}
	s->n_noted = kept;
}

void
staging_forget_rows(struct staging *s, uint64_t site, uint64_t most)
{
	forget(s, site, most, NULL);
}

void
staging_rows_counted(const struct array *a)
{
	const uint64_t counted = rows_counted(a); /* before it is asked which metadata those are */
	const uint64_t document = metadata_of(a);
	struct staging *s = a->data->staging;
	LOCKED(&s->lock)
		if (counted != UINT64_MAX)
			forget(s, a->site, counted, &document);
}

void
array_rows_counted(const struct array *a, uint64_t rows)
{
	struct staging *s = a->data->staging;
	LOCKED(&s->lock)
		staging_forget_rows(s, a->site, rows);
}

void
array_give_up(struct array *a)
{
	struct staging *s = a->data->staging;
	struct array *gone = NULL;
	LOCKED(&s->lock) {
		struct staged_space *p = staging_hold_known(s, a);
		staging_forget_rows(s, a->site, UINT64_MAX);
		if (p && !p->objects)
			p->error.code = 0;
		gone = staging_release_space(s, p);
	}
	array_unref(gone);
}

void
staging_noted_free(struct staging *s)
{
	set_free(&s->noted_by, NULL);
	LIST_FREE(s->noted, s->n_noted);
}
