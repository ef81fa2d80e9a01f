#include "data/staging_impl.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/wait.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	MOST_PART = 2, /* of the memory that caches may take, what is written may take this part */
	BEGUN_PART =
		4, /* chunks that are begun may take all but this part of what is not pushed out */
	MALLOC_COST = 64,
};

int
staging_new(struct data *d, struct staging **ret)
{
	struct staging *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory for what is written");
	s->data = d;
	s->most = cache_budget(d->cache) / MOST_PART;
	s->push = s->most / 4 * 3;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->syncing, NULL);
	clock_cond_init(&s->moved);
	*ret = s;
	return 0;
}

size_t
data_most_begun(struct data *d)
{
	return d->staging->push / BEGUN_PART * (BEGUN_PART - 1);
}

uint64_t
staged_print(const struct zmap_stat *s)
{
	return hash_end(hash_text(hash_number(HASH_START, (uint64_t)s->mtime), s->version)) | 1;
}

struct staged_space *
staging_space(const struct staging *s, uint64_t number)
{
	struct map_entry *e = map_first(&s->spaces, hash_end(number)); /* no other has that */
	return e ? MAP_OF(e, struct staged_space, by_number) : NULL;
}

struct staged_chunk *
staging_chunk(const struct staging *s, uint64_t space, uint64_t number)
{
	struct map_entry *e = map_first(&s->staged_chunks, hash_pair(space, number));
	for (; e; e = map_next(e)) {
		struct staged_chunk *c = MAP_OF(e, struct staged_chunk, by_number);
		if (c->number == number && c->object->space->number == space)
			return c;
	}
	return NULL;
}

static struct staged_object *
find_object(const struct staging *s, uint64_t space, uint64_t number)
{
	struct map_entry *e = map_first(&s->objects, hash_pair(space, number));
	for (; e; e = map_next(e)) {
		struct staged_object *o = MAP_OF(e, struct staged_object, by_number);
		if (o->number == number && o->space->number == space)
			return o;
	}
	return NULL;
}

void
staged_list_add(struct staged_list *l, struct staged_object *o)
{
	o->list = l;
	o->newer = NULL;
	o->older = l->newest;
	*(l->newest ? &l->newest->newer : &l->oldest) = o;
	l->newest = o;
}

void
staged_list_remove(struct staged_object *o)
{
	struct staged_list *l = o->list;
	*(o->newer ? &o->newer->older : &l->newest) = o->older;
	*(o->older ? &o->older->newer : &l->oldest) = o->newer;
	o->newer = o->older = NULL;
	o->list = NULL;
}

struct layer *
layer_unref(struct layer *l)
{
	return l && --l->refs ? NULL : layer_free(l);
}

void
staged_charge(struct staging *s, struct staged_object *o, size_t before, size_t now)
{
	o->cost += now - before;
	s->bytes += now - before;
}

/* Makes the array that stores the space's objects the one that knows most of them, but for one that
 * is longer than the array is by now. *ret_was: the one it was, to be let go of; or NULL. */
static int
adopt(struct staged_space *p, struct array *a, struct array **ret_was)
{
	const struct array_hooks *h = &a->hooks;
	struct array *was = p->array;
	if (was && was->grid.shape[0] >= a->grid.shape[0])
		return 0;
	if (h->outdated && h->outdated(h->arg))
		return was ? 0 : err_set(-EIO, "array '%s' is no longer as it was", a->path);
	p->array = array_ref(a);
	*ret_was = was;
	return 0;
}

static struct staged_space *
make_space(struct staging *s, const struct array *a)
{
	struct staged_space *p = staging_space(s, a->space);
	if (p)
		return p;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->number = a->space;
	map_add(&s->spaces, &p->by_number, hash_end(p->number));
	return p;
}

int
staging_hold_space(
	struct staging *s, struct array *a, struct staged_space **ret, struct array **ret_was)
{
	struct staged_space *p = make_space(s, a);
	*ret = NULL;
	if (!p)
		return err_set(-ENOMEM, "no memory for what is written");
	p->users++;
	int r = adopt(p, a, ret_was);
	if (r < 0) {
		staging_release_space(s, p); /* it has no array to let go of */
		return r;
	}
	s->zmap = a->zmap;
	*ret = p;
	return 0;
}

static struct staged_object *
make_object(struct staging *s, struct staged_space *p, uint64_t number)
{
	struct staged_object *o = find_object(s, p->number, number);
	if (o)
		return o;
	o = calloc(1, sizeof *o);
	if (!o)
		return NULL;
	o->staging = s;
	o->space = p;
	o->number = number;
	map_add(&s->objects, &o->by_number, hash_pair(p->number, number));
	p->objects++;
	staged_charge(s, o, 0, sizeof *o + MALLOC_COST);
	staged_list_add(&s->dirty, o);
	return o;
}

struct staged_chunk *
staging_make_chunk(struct staging *s, struct array *a, uint64_t number)
{
	struct staged_chunk *c = staging_chunk(s, a->space, number);
	if (c)
		return c;
	struct staged_object *o =
		make_object(s, staging_space(s, a->space), array_object(a, number));
	c = o ? calloc(1, sizeof *c) : NULL;
	if (!c)
		return NULL;
	*c = (struct staged_chunk){.object = o,
		.next = o->chunk,
		.number = number,
		.fill_from = NO_FILL,
		.storing_fill = NO_FILL};
	o->chunk = c;
	map_add(&s->staged_chunks, &c->by_number, hash_pair(a->space, number));
	o->chunks++;
	atomic_fetch_add(&s->chunks, 1);
	staged_charge(s, o, 0, sizeof *c + MALLOC_COST);
	return c;
}

static void
drop_chunk(struct staging *s, struct staged_chunk *c)
{
	map_remove(&s->staged_chunks, &c->by_number);
	staged_charge(s, c->object, sizeof *c + MALLOC_COST, 0);
	c->object->chunks--;
	atomic_fetch_sub(&s->chunks, 1);
	free(c);
}

/* May a writer have to hear of what is lost? */
static bool
is_untold(const struct staging *s, const struct staged_space *p)
{
	return p->lost.code && (s->writers || p->lost_at > p->told);
}

struct array *
staging_tidy_space(struct staging *s, struct staged_space *p)
{
	if (p->objects || p->error.code || p->users)
		return NULL;
	struct array *a = MOVE(p->array);
	if (p->keeps || is_untold(s, p)) {
		if (a) /* the space is found again by the number of its name */
			spaces_keep(s->data->spaces, a->space_name);
		return a;
	}
	map_remove(&s->spaces, &p->by_number);
	free(p);
	return a;
}

static struct array *
drop_object(struct staging *s, struct staged_object *o)
{
	struct staged_space *p = o->space;
	map_remove(&s->objects, &o->by_number);
	if (o->list)
		staged_list_remove(o);
	s->bytes -= o->cost;
	s->leaving -= o->leaving;
	free(o);
	p->objects--;
	return staging_tidy_space(s, p);
}

struct staged_space *
staging_hold_known(struct staging *s, const struct array *a)
{
	struct staged_space *p = staging_space(s, a->space);
	if (p)
		p->users++;
	return p;
}

struct array *
staging_release_space(struct staging *s, struct staged_space *p)
{
	if (!p)
		return NULL;
	p->users--;
	return staging_tidy_space(s, p);
}

struct array *
staged_tidy(struct staging *s, struct staged_object *o)
{
	for (struct staged_chunk **at = &o->chunk, *c; (c = *at);) {
		if (c->now || c->storing || c->fill_from != NO_FILL || c->storing_fill != NO_FILL) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		drop_chunk(s, c);
	}
	return o->chunk ? NULL : drop_object(s, o);
}

bool
staging_any(const struct staging *s)
{
	return atomic_load_explicit(&s->chunks, memory_order_relaxed);
}

static void
free_object(struct staging *s, struct staged_object *o)
{
	for (struct staged_chunk *c = o->chunk; c; c = c->next) {
		c->now = layer_unref(c->now);
		c->storing = layer_unref(c->storing);
		c->fill_from = c->storing_fill = NO_FILL;
	}
	o->space->error.code = o->space->lost.code = 0;
	array_unref(staged_tidy(s, o));
}

struct staging *
staging_free(struct staging *s)
{
	if (!s)
		return NULL;
	for (struct map_entry *e = map_walk(&s->objects, NULL), *next; e; e = next) {
		next = map_walk(&s->objects, e);
		free_object(s, MAP_OF(e, struct staged_object, by_number));
	}
	map_done(&s->objects);
	map_done(&s->staged_chunks);
	for (struct map_entry *e = map_walk(&s->spaces, NULL), *next; e; e = next) {
		struct staged_space *p = MAP_OF(e, struct staged_space, by_number);
		next = map_walk(&s->spaces, e);
		p->error.code = p->lost.code = 0;
		p->keeps = false;
		array_unref(staging_tidy_space(s, p));
	}
	map_done(&s->spaces);
	free(s->placed);
	staging_noted_free(s);
	pthread_cond_destroy(&s->moved);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->syncing);
	free(s);
	return NULL;
}

void
staging_tell(struct staging *s)
{
	int64_t more = 0;
	LOCKED(&s->lock) {
		more = (int64_t)(s->bytes - s->told);
		s->told = s->bytes;
	}
	cache_add_staged(s->data->cache, more);
}

int
staging_wait(struct staging *s, int64_t deadline, struct cancel *cancel)
{
	int r = wait_moment(&s->moved, &s->lock, deadline, cancel);
	return r == -ETIMEDOUT ? err_set(-EIO, "what was written before is not stored in time") : r;
}

bool
array_is_staged(const struct array *a)
{
	struct staging *s = a->data->staging;
	bool any = false;
	if (!staging_any(s))
		return false;
	LOCKED(&s->lock) {
		const struct staged_space *p = staging_space(s, a->space);
		any = p && p->objects;
	}
	return any;
}

int
staged_error(const struct staging *s, const struct staged_space *p)
{
	const struct err *e = p && p->error.code ? &p->error : &s->error;
	return e->code ? err_restore(e) : 0;
}

int
array_stuck(const struct array *a)
{
	struct staging *s = a->data->staging;
	int r = 0;
	LOCKED(&s->lock)
		r = staged_error(s, staging_space(s, a->space));
	return r;
}

int
staging_stats(struct staging *s, struct buf *ret)
{
	size_t bytes = 0, chunks = atomic_load(&s->chunks);
	LOCKED(&s->lock)
		bytes = s->bytes;
	const struct {
		const char *name;
		unsigned long long value;
	} row[] = {
		{"staged_bytes", bytes},
		{"staged_chunks", chunks},
		{"stores_total", s->counts.stores},
		{"store_merges_total", s->counts.merges},
		{"store_conflicts_total", s->counts.conflicts},
		{"store_failed_total", s->counts.failed},
		{"store_deleted_total", s->counts.deleted},
	};
	int r = 0;
	for (size_t i = 0; i < sizeof row / sizeof *row && r == 0; i++)
		r = buf_addf(ret, "zarrfs_%s %llu\n", row[i].name, row[i].value);
	return r;
}
