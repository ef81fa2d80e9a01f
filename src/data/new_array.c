#include "data/new_array.h"

#include "base/list.h"
#include "base/set.h"
#include "data/staging_impl.h"
#include "model/parallel.h"

#include <errno.h>
#include <string.h>

struct new_object {
	uint64_t number; /* array_object's */
	uint64_t chunk;  /* one that is in it */
	int64_t mtime;   /* 0: not known */
	bool other;      /* something was there before, which was replaced: it stays */
	char version[ZMAP_VERSION];
};

struct begun_array {
	pthread_mutex_t lock; /* guards all below */
	struct set objects;   /* borrows from put */
	struct new_object **put;
	size_t n;
	bool exclusive;  /* another writer's object is an error, and not replaced */
	atomic_bool met; /* one was there */
};

static int
by_number(const void *a, const void *b)
{
	const struct new_object *x = a, *y = b;
	return x->number < y->number ? -1 : x->number > y->number;
}

int
array_begin(struct array *a, bool exclusive)
{
	struct begun_array *f = a->new_array ? a->new_array : calloc(1, sizeof *f);
	if (!f)
		return err_set(-ENOMEM, "no memory for a new array");
	if (!a->new_array)
		pthread_mutex_init(&f->lock, NULL);
	f->exclusive = exclusive;
	a->new_array = f;
	atomic_store(&a->made, false);
	return 0;
}

void
array_made(struct array *a)
{
	atomic_store(&a->made, true);
}

void
new_array_free(struct array *a)
{
	struct begun_array *f = a->new_array;
	if (!f)
		return;
	set_free(&f->objects, NULL);
	LIST_FREE(f->put, f->n);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

bool
array_is_new(const struct array *a)
{
	return a->new_array && !atomic_load(&a->made);
}

static bool
is_exclusive(const struct array *a)
{
	return array_is_new(a) && a->new_array->exclusive;
}

/* *ret: the version that was put here; "": none was, or the store does not say. */
static bool
known(struct begun_array *f, uint64_t number, char *ret)
{
	const struct new_object key = {.number = number}, *o = NULL;
	*ret = '\0';
	LOCKED(&f->lock) {
		o = set_find(&f->objects, &key, by_number);
		if (o)
			memcpy(ret, o->version, sizeof o->version);
	}
	return o != NULL;
}

/* With the lock held. */
static struct new_object *
add(struct begun_array *f, uint64_t number)
{
	if (LIST_MORE(f->put, f->n, "changes") < 0)
		return NULL;
	struct new_object *o = calloc(1, sizeof *o);
	if (!o)
		return NULL;
	o->number = number;
	if (set_add(&f->objects, o, by_number) < 0) {
		free(o);
		return NULL;
	}
	f->put[f->n++] = o;
	return o;
}

/* version NULL: another writer's. */
static int
note(struct array *a, uint64_t chunk, const char *version)
{
	struct begun_array *f = a->new_array;
	const struct new_object key = {.number = array_object(a, chunk)};
	struct new_object *o = NULL;
	LOCKED(&f->lock) {
		o = set_find(&f->objects, &key, by_number);
		o = o ? o : add(f, key.number);
		if (o) {
			o->chunk = chunk;
			o->other |= !version;
			memcpy(o->version, version ? version : "", version ? sizeof o->version : 1);
		}
	}
	return o ? 0 : err_set(-ENOMEM, "no memory for a new array");
}

static int
not_ours(const struct store *st)
{
	atomic_store(&st->array->new_array->met, true);
	return err_set(-EEXIST, "'%s' is there: another program makes the array, or has begun to",
		st->key);
}

bool
new_array_stays(const struct store *st)
{
	return is_exclusive(st->array);
}

int
new_array_condition(const struct store *st, struct zmap_put *ret, char **ret_match)
{
	struct array *a = st->array;
	char version[ZMAP_VERSION];
	if (!array_is_new(a) || !(a->zmap->caps & ZMAP_CONDITIONAL))
		return 0;
	const bool ours = known(a->new_array, array_object(a, st->chunk->number), version);
	if (!a->new_array->exclusive) {
		ret->if_absent |= !ours && !st->based;
		return 0;
	}
	if (st->based && !st->absent && (!ours || strcmp(version, st->stat.version) != 0))
		return not_ours(st);
	if (!ours)
		ret->if_absent = true;
	else if (!st->based && *version)
		ret->if_match = *ret_match = strdup(version);
	return ret->if_match || ret->if_absent || st->based || !*version
		       ? 0
		       : err_set(-ENOMEM, "no memory for a version");
}

/* What was there is replaced, and noted as that. A put on no condition is not known to have been
 * the first one. */
static int
shared_was_put(struct store *st, int result, const struct zmap_stat *now)
{
	struct array *a = st->array;
	const uint64_t chunk = st->chunk->number;
	const bool there = result == ZMAP_CHANGED || (st->based && !st->absent);
	char version[ZMAP_VERSION];
	if (result < 0 || !(a->zmap->caps & ZMAP_CONDITIONAL))
		return result;
	if (!there || known(a->new_array, array_object(a, chunk), version)) {
		int r = result ? 0 : note(a, chunk, now->version);
		return r < 0 ? r : result;
	}
	atomic_store(&a->new_array->met, true);
	int r = note(a, chunk, NULL);
	return r < 0 ? r : result;
}

int
new_array_was_put(struct store *st, int result, struct zmap_stat *now)
{
	struct array *a = st->array;
	if (!array_is_new(a))
		return result;
	if (!a->new_array->exclusive)
		return shared_was_put(st, result, now);
	if (result == ZMAP_CHANGED)
		return not_ours(st);
	return result ? result : note(a, st->chunk->number, now->version);
}

/* --- the array is not to be, after all --- */

struct undoing {
	struct array *array;
	bool alone;
	atomic_ullong left; /* objects that stay */
};

bool
array_met(const struct array *a)
{
	return a->new_array && atomic_load(&a->new_array->met);
}

/* alone: no other writer is about the array, as far as is known: a store that cannot delete on a
 * condition is asked to do it without. */
static int
remove_one(struct array *a, const struct new_object *put, bool alone)
{
	const struct extent_id id = array_extent(a, put->chunk, 0, 0);
	struct object *o;
	struct zmap_stat now = {0};
	char key[ARRAY_KEY_MAX];
	int r = array_chunk_key(a, put->chunk, key);
	if (r == 0)
		r = zmap_stat(a->zmap, key, &now);
	if (r == 0 &&
		(strcmp(now.version, put->version) != 0 || (put->mtime && put->mtime != now.mtime)))
		r = ZMAP_CHANGED;
	if (r)
		return r;
	struct zmap_del d = {.key = key};
	if (a->zmap->caps & ZMAP_CONDITIONAL && *now.version)
		d.if_match = now.version;
	r = cache_put_begin(a->data->cache, &id, &o);
	if (r < 0)
		return r;
	r = zmap_del(a->zmap, &d);
	if (r == -ENOTSUP && alone) {
		d.if_match = NULL;
		r = zmap_del(a->zmap, &d);
	}
	cache_put_end(a->data->cache, o, r < 0 ? NULL : "");
	return r;
}

int
array_remove_version(struct array *a, uint64_t chunk, const char *version, int64_t mtime)
{
	struct new_object o = {.chunk = chunk, .mtime = mtime};
	memcpy(o.version, version, sizeof o.version);
	return remove_one(a, &o, true);
}

static void
undo_one(void *arg, size_t i)
{
	struct undoing *u = arg;
	const struct new_object *put = u->array->new_array->put[i];
	int r = put->other ? ZMAP_CHANGED : remove_one(u->array, put, u->alone);
	if (r && r != ZMAP_ABSENT)
		atomic_fetch_add(&u->left, 1);
}

void
array_undo(struct array *a, bool alone, size_t *ret_put, size_t *ret_left)
{
	struct undoing u = {.array = a, .alone = alone};
	*ret_put = *ret_left = 0;
	if (!array_is_new(a))
		return;
	*ret_put = a->new_array->n;
	in_parallel(a->new_array->n, a->remote, undo_one, &u);
	*ret_left = atomic_load(&u.left);
}
