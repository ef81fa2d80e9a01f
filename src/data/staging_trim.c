/* Shrinking: chunks beyond the new extent go, and the tail of the last ones becomes fill, but for
 * what others have stored since. And what goes not. */
#include "data/staging_impl.h"

#include "base/check.h"
#include "data/new_array.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* --- what is staged --- */

/* All chunks from that number on. Was anything written to them? The caller holds the space. */
static bool
forget_beyond(struct staging *s, const struct array *a, uint64_t first)
{
	bool any = false;
	for (struct map_entry *e = map_walk(&s->objects, NULL), *next; e; e = next) {
		struct staged_object *o = MAP_OF(e, struct staged_object, by_number);
		next = map_walk(&s->objects, e);
		if (o->space->number != a->space)
			continue;
		for (struct staged_chunk *c = o->chunk; c; c = c->next)
			if (c->number >= first) {
				any |= staging_forget(s, c, 0);
				c->fill_from = NO_FILL;
			}
		staged_tidy(s, o);
	}
	staging_forget_rows(s, a->site, UINT64_MAX);
	return any;
}

/* --- what is stored --- */

/* Only what was there while the rows were: another writer may have appended some since. */
static int
remove_object(struct array_behind *b, size_t i)
{
	const struct behind_object *o = &b->found[i];
	const int r = behind_first_row(b->array, o->chunk) < b->rows
			      ? 0 /* some of it is left */
			      : array_remove_version(b->array, o->chunk, o->version, o->mtime);
	return r < 0 ? r : 0;
}

/* What is left in the space is stored by this array, which is as short as the store's now. The one
 * that did, to be let go of; or NULL. */
static struct array *
take_over(struct staged_space *p, struct array *a)
{
	struct array *was = p->array;
	if (was == a)
		return NULL;
	p->array = array_ref(a);
	return was;
}

/* What waits to be stored of rows that are gone, and of the last chunks. *ret_was: to be let go
 * of. */
static int
trim_staged(struct array *a, struct array_behind *b, struct array **ret_was)
{
	struct staging *s = a->data->staging;
	int r = staging_wait_stored(s, a->space, b->cancel);
	if (r < 0)
		return r;
	b->dropped |= b->noted > b->rows;
	b->dropped |= forget_beyond(s, a, a->grid.count[0] * behind_in_row(a));
	*ret_was = take_over(b->space, a);
	return behind_mark(s, b, a->grid.shape[0] > b->rows);
}

int
array_trim(struct array *a, struct array_behind *b, struct cancel *cancel)
{
	struct staging *s = a->data->staging;
	struct array *was = NULL;
	int r = array_writable(a);
	if (r < 0 || b->before <= b->rows || !a->grid.bytes)
		return r;
	b->cancel = cancel;
	LOCKED(&s->lock) {
		r = trim_staged(a, b, &was);
		behind_release(b);
	}
	array_unref(was);
	if (r == 0)
		r = behind_each(b, b->n, remove_object);
	return r;
}

int
array_store_trimmed(struct array_behind *b, struct cancel *cancel)
{
	LOCKED(&b->array->data->staging->lock)
		behind_release(b);
	return array_flush(b->array, cancel);
}

void
array_tell_dropped(struct array_behind *b, bool shorter, const struct err *why)
{
	struct staging *s = b->array->data->staging;
	struct err lost;
	err_set(-EIO,
		"what was written to '%s' behind its first %" PRIu64
		" rows is lost: they were cut off, and that failed then: %s",
		b->array->path, b->rows, why->text);
	err_save(-EIO, &lost);
	LOCKED(&s->lock)
		if (b->dropped || (shorter && b->noted > b->rows))
			staged_gone(s, b->space, &lost);
}

/* --- another writer --- */

/* Those that failed for the array being another are stored after all. */
static void
cut_all(struct staging *s, struct staged_space *p, bool again)
{
	for (struct map_entry *e = map_walk(&s->objects, NULL), *next; e; e = next) {
		struct staged_object *o = MAP_OF(e, struct staged_object, by_number);
		next = map_walk(&s->objects, e);
		if (o->space != p)
			continue;
		staged_cut(s, o);
		if (o->state == STAGED_FAILED && again) {
			staged_list_remove(o);
			staged_list_add(&s->dirty, o);
			o->state = STAGED_DIRTY;
		}
		if (o->state != STAGED_STORING)
			staged_tidy(s, o); /* nothing to let go of: the space is held */
	}
}

/* The lock is held. *ret_was: the array that it was, to be let go of. */
static void
cut(struct staging *s, struct staged_space *p, struct array *a, struct array **ret_was)
{
	const bool again = p->outdated;
	*ret_was = MOVE(p->array);
	p->array = array_ref(a);
	if (again) {
		p->error.code = 0;
		p->outdated = false;
	}
	cut_all(s, p, again);
}

void
array_cut(struct array *a)
{
	struct staging *s = a->data->staging;
	struct array *was = NULL, *gone = NULL, *adopted = NULL;
	LOCKED(&s->lock) {
		struct staged_space *p = staging_hold_known(s, a);
		if (p && p->array && p->array->grid.shape[0] > a->grid.shape[0])
			cut(s, p, a, &was);
		gone = staging_release_space(s, p);
		placed_cut(s, a, &adopted);
		staging_pump(s);
		pthread_cond_broadcast(&s->moved);
	}
	pool_fill(a->data->pool);
	array_unref(was);
	array_unref(gone);
	array_unref(adopted);
}

/* --- what goes not --- */

/* Its error, too. The space's array, to be let go of; or NULL. */
static struct array *
forget_space(struct staging *s, struct staged_space *p, const struct array *a)
{
	forget_beyond(s, a, 0); /* nothing to let go of: the space is held */
	p->error.code = p->lost.code = 0;
	return staging_release_space(s, p);
}

int
array_forget(struct array *a, struct cancel *cancel)
{
	struct staging *s = a->data->staging;
	struct array *gone = NULL;
	int r = 0;
	LOCKED(&s->lock) {
		struct staged_space *p = staging_hold_known(s, a);
		staging_forget_rows(s, a->site, UINT64_MAX);
		if (!p)
			break;
		r = staging_wait_stored(s, p->number, cancel);
		gone = r == 0 ? forget_space(s, p, a) : staging_release_space(s, p);
		pthread_cond_broadcast(&s->moved);
	}
	array_unref(gone);
	return r;
}

int
array_keep_empty(struct array *a, struct cancel *cancel)
{
	struct staging *s = a->data->staging;
	struct array *was = NULL, *gone = NULL;
	int r = 0;
	LOCKED(&s->lock) {
		struct staged_space *p;
		r = staging_hold_space(s, a, &p, &was);
		if (r < 0)
			break;
		p->keeps = true;
		r = staging_wait_stored(s, a->space, cancel);
		gone = staging_release_space(s, p);
	}
	array_unref(was);
	array_unref(gone);
	return r;
}

bool
data_is_staged(const struct data *d)
{
	return staging_any(d->staging);
}
