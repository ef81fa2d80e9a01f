/* A store in memory: `mem:NAME` is the same store for all in this process that have it open, and
 * gone after the last close. For tests, which fill it through one handle and mount another. */
#include "store/zmap.h"

#include "base/err.h"
#include "base/list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Immutable: a put makes another one. Shared by the shelf and the threads that copy from it. */
struct mem_object {
	atomic_uint refs;
	struct zmap_stat stat;
	char *key;
	uint8_t *bytes;
};

struct shelf {
	struct shelf *next;
	char *name;
	unsigned opened; /* guarded by shelves.lock */

	pthread_mutex_t lock;       /* guards all below */
	struct mem_object **sorted; /* by strcmp of keys */
	size_t count;
	uint64_t puts; /* ever: the next version */
};

struct mem {
	struct zmap z;
	struct shelf *shelf;
};

static struct {
	pthread_mutex_t lock; /* guards first, and each shelf's next and opened */
	struct shelf *first;
} shelves = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void
object_unref(struct mem_object *o)
{
	if (!o || atomic_fetch_sub(&o->refs, 1) > 1)
		return;
	free(o->key);
	free(o->bytes);
	free(o);
}
CLEAN_DEFINE(struct mem_object, object_unref)

static struct mem_object *
object_new(const char *key, struct span bytes)
{
	CLEAN(object_unrefp) struct mem_object *o = calloc(1, sizeof *o);
	if (!o)
		return NULL;
	o->refs = 1;
	o->key = strdup(key);
	o->bytes = malloc(bytes.len ? bytes.len : 1);
	if (!o->key || !o->bytes)
		return NULL;
	if (bytes.len)
		memcpy(o->bytes, bytes.data, bytes.len);
	o->stat.size = bytes.len;
	o->stat.mtime = o->stat.placed = clock_wall();
	return MOVE(o);
}

/* The lock is held. Index of the first key that is not below this one. */
static size_t
place_of(const struct shelf *s, const char *key)
{
	size_t low = 0, high = s->count;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (strcmp(s->sorted[mid]->key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The lock is held. */
static bool
found(const struct shelf *s, size_t i, const char *key)
{
	return i < s->count && !strcmp(s->sorted[i]->key, key);
}

static struct mem_object *
look_up(struct zmap *z, const char *key)
{
	struct shelf *s = ((struct mem *)z)->shelf;
	struct mem_object *o = NULL;
	LOCKED(&s->lock) {
		size_t i = place_of(s, key);
		if (found(s, i, key)) {
			o = s->sorted[i];
			atomic_fetch_add(&o->refs, 1);
		}
	}
	return o;
}

static int
mem_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	(void)cancel;
	CLEAN(object_unrefp) struct mem_object *o = look_up(z, key);
	if (!o)
		return ZMAP_ABSENT;
	*ret = o->stat;
	return 0;
}

static int
mem_read(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	uint64_t off;
	size_t len;
	CLEAN(object_unrefp) struct mem_object *o = look_up(z, g->key);
	if (!o)
		return ZMAP_ABSENT;
	*ret = o->stat;
	int r = zmap_condition(g, o->stat.version);
	if (r == 0)
		r = zmap_range(g, o->stat.size, &off, &len);
	if (r == 0)
		r = buf_reserve(g->into, g->into->len + len);
	if (r == 0)
		r = buf_add(g->into, o->bytes + off, len);
	return r;
}

/* The names below a prefix: each as 'p' or 'k' and the text with its NUL. */
static int
collect(struct shelf *s, const char *prefix, struct buf *ret)
{
	size_t n = strlen(prefix), last = SIZE_MAX; /* where the last name begins in ret */
	LOCKED(&s->lock) {
		for (size_t i = place_of(s, prefix); i < s->count; i++) {
			const char *name = s->sorted[i]->key + n, *end;
			if (strncmp(s->sorted[i]->key, prefix, n))
				break;
			end = strchrnul(name, '/');
			size_t len = (size_t)(end - name);
			const char *before = last == SIZE_MAX ? "" : (char *)ret->data + last;
			if (*end && *before == 'p' && strlen(before) == len + 1 &&
				!memcmp(before + 1, name, len))
				continue; /* all keys below one name lie together */
			last = ret->len;
			int r = buf_addf(ret, "%c%.*s", *end ? 'p' : 'k', (int)len, name);
			if (r == 0)
				r = buf_add(ret, "", 1);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int
mem_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	CLEAN(buf_free) struct buf names = {0};
	int r = collect(((struct mem *)z)->shelf, prefix, &names);
	if (r == 0 && !names.len && *prefix)
		return ZMAP_ABSENT;
	for (size_t at = 0; r == 0 && at < names.len;) {
		const char *name = (char *)names.data + at;
		r = fn(arg, name + 1, *name == 'p', NULL);
		at += strlen(name) + 1;
	}
	return r;
}

/* Does a condition not hold? o NULL: nothing is there. */
static bool
differs(const struct mem_object *o, const char *if_match)
{
	return if_match && (!o || strcmp(if_match, o->stat.version) != 0);
}

static int
mem_write(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	struct shelf *s = ((struct mem *)z)->shelf;
	CLEAN(object_unrefp) struct mem_object *old = NULL;
	CLEAN(object_unrefp) struct mem_object *o = object_new(p->key, p->bytes);
	if (!o)
		return err_set(-ENOMEM, "no memory for an object of %zu bytes", p->bytes.len);
	LOCKED(&s->lock) {
		size_t i = place_of(s, p->key);
		bool there = found(s, i, p->key);
		if (p->if_absent ? there : differs(there ? s->sorted[i] : NULL, p->if_match))
			return ZMAP_CHANGED;
		int r = there ? 0 : LIST_INSERT(s->sorted, s->count, i, "objects", NULL);
		if (r < 0)
			return r;
		old = s->sorted[i];
		snprintf(o->stat.version, sizeof o->stat.version, "%" PRIu64, ++s->puts);
		*ret = o->stat;
		s->sorted[i] = MOVE(o);
	}
	return 0;
}

static int
mem_del(struct zmap *z, const struct zmap_del *d)
{
	struct shelf *s = ((struct mem *)z)->shelf;
	CLEAN(object_unrefp) struct mem_object *old = NULL;
	LOCKED(&s->lock) {
		size_t i = place_of(s, d->key);
		if (!found(s, i, d->key))
			return ZMAP_ABSENT;
		if (differs(s->sorted[i], d->if_match))
			return ZMAP_CHANGED;
		old = s->sorted[i];
		memmove(s->sorted + i, s->sorted + i + 1, (--s->count - i) * sizeof *s->sorted);
	}
	return 0;
}

static struct shelf *
shelf_free(struct shelf *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->count; i++)
		object_unref(s->sorted[i]);
	free(s->sorted);
	free(s->name);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}
CLEAN_DEFINE(struct shelf, shelf_free)

static struct shelf *
shelf_new(const char *name)
{
	struct shelf *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	s->name = strdup(name);
	return s->name ? s : shelf_free(s);
}

/* The one of that name, opened once more; NULL: no memory. */
static struct shelf *
shelf_open(const char *name)
{
	CLEAN(shelf_freep) struct shelf *new = shelf_new(name);
	struct shelf *s = NULL;
	LOCKED(&shelves.lock) {
		for (s = shelves.first; s && strcmp(s->name, name); s = s->next)
			;
		if (!s && new) {
			s = MOVE(new);
			s->next = shelves.first;
			shelves.first = s;
		}
		if (s)
			s->opened++;
	}
	return s;
}

static void
mem_close(struct zmap *z)
{
	CLEAN(shelf_freep) struct shelf *last = NULL;
	struct shelf *s = ((struct mem *)z)->shelf;
	LOCKED(&shelves.lock) {
		if (--s->opened == 0) {
			struct shelf **p = &shelves.first;
			while (*p != s)
				p = &(*p)->next;
			*p = s->next;
			last = s;
		}
	}
	free(z);
}

extern const struct zmap_ops backend_mem;

static int
mem_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	struct mem *m = calloc(1, sizeof *m);
	if (m)
		m->shelf = shelf_open(url->path);
	if (!m || !m->shelf) {
		free(m);
		return err_set(-ENOMEM, "no memory for a store");
	}
	m->z.ops = &backend_mem;
	m->z.caps =
		ZMAP_LIST | ZMAP_PROMPT | (options->writable ? ZMAP_WRITE | ZMAP_CONDITIONAL : 0);
	*ret = &m->z;
	return 0;
}

const struct zmap_ops backend_mem = {
	.name = "mem",
	.open = mem_open,
	.close = mem_close,
	.stat = mem_stat,
	.get = mem_read,
	.list = mem_list,
	.put = mem_write,
	.del = mem_del,
};
