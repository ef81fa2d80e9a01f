/* Rows that were put here and that the metadata do not count yet: however long that takes, they are
 * not what a broken writer left. */
#include "data/staging_impl.h"

#include "base/check.h"
#include "base/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An object with such rows. */
struct noted {
	uint64_t space, object;
	uint64_t rows;              /* up to the end of the last one */
	uint64_t coming;            /* the same of what is being put, which may fail */
	uint64_t chunk;             /* one that is in it */
	char version[ZMAP_VERSION]; /* that was put last */
};

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
	const struct noted key = {.space = a->space,
		.object = array_object(a, st->chunk->number),
		.coming = store_rows_put(st)};
	struct noted *n = NULL;
	if (key.coming <= counted)
		return 0;
	LOCKED(&s->lock) {
		n = set_find(&s->noted_by, &key, by_object);
		n = n ? n : add(s, &key);
		if (n)
			n->coming = key.coming;
	}
	return n ? 0 : err_set(-ENOMEM, "no memory for what is written behind the end");
}

void
staging_rows_put(const struct store *st)
{
	const struct array *a = st->array;
	struct staging *s = st->staging;
	const struct noted key = {.space = a->space, .object = array_object(a, st->chunk->number)};
	LOCKED(&s->lock) {
		struct noted *n = set_find(&s->noted_by, &key, by_object);
		if (n) {
			n->rows = max_u64(n->rows, n->coming);
			n->chunk = st->chunk->number;
			memcpy(n->version, st->version, sizeof n->version);
		}
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
	const struct noted key = {.space = a->space, .object = array_object(a, chunk)};
	bool is = false;
	LOCKED(&s->lock) {
		const struct noted *n = set_find(&s->noted_by, &key, by_object);
		is = n && strcmp(n->version, version) == 0;
	}
	return is;
}

bool
staging_has_noted(const struct store *st)
{
	const struct array *a = st->array;
	struct staging *s = st->staging;
	const struct noted key = {.space = a->space, .object = array_object(a, st->chunk->number)};
	const uint64_t counted = rows_counted(a);
	bool has = false;
	LOCKED(&s->lock) {
		const struct noted *n = set_find(&s->noted_by, &key, by_object);
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
