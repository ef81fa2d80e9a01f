#include "view/facts_impl.h"

#include "base/check.h"
#include "base/err.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"

#include <errno.h>
#include <string.h>

void
facts_init(struct facts *f)
{
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->measured, NULL);
}

static void
destroy(struct fact *a)
{
	free(a->denied);
	free(a);
}

void
facts_free(struct facts *f)
{
	for (struct map_entry *e = map_walk(&f->by_path, NULL), *next; e; e = next) {
		next = map_walk(&f->by_path, e);
		destroy(MAP_OF(e, struct fact, by_path));
	}
	map_done(&f->by_path);
	free(f->strangers.family);
	pthread_cond_destroy(&f->measured);
	pthread_mutex_destroy(&f->lock);
}

struct fact *
fact_find(struct facts *f, const char *path)
{
	for (struct map_entry *e = map_first(&f->by_path, hash_name(path)); e; e = map_next(e)) {
		struct fact *a = MAP_OF(e, struct fact, by_path);
		if (!strcmp(a->path, path))
			return a;
	}
	return NULL;
}

static void
drop(struct facts *f, struct fact *a)
{
	map_remove(&f->by_path, &a->by_path);
	links_remove(&f->idle, &a->idle);
	f->nidle--;
	f->noticed = max_i64(f->noticed, a->noticed);
	f->written = max_i64(f->written, a->written);
	if (a->width_state != WIDTH_NONE)
		atomic_fetch_add(&f->forgotten, 1);
	destroy(a);
}

/* It is in no use; those that were not for longest are dropped. */
static void
rest(struct facts *f, struct fact *a)
{
	links_append(&f->idle, &a->idle);
	f->nidle++;
	while (f->nidle > FACTS_IDLE)
		drop(f, (struct fact *)f->idle.first);
}

void
fact_use(struct facts *f, struct fact *a)
{
	if (a->uses++)
		return;
	links_remove(&f->idle, &a->idle);
	f->nidle--;
}

void
fact_unuse(struct facts *f, struct fact *a)
{
	if (!--a->uses)
		rest(f, a);
}

struct fact *
fact_have(struct facts *f, const char *path)
{
	struct fact *a = fact_find(f, path);
	if (a && !a->uses) {
		links_remove(&f->idle, &a->idle);
		links_append(&f->idle, &a->idle);
	}
	if (a)
		return a;
	size_t len = strlen(path) + 1;
	a = calloc(1, sizeof *a + len);
	if (!a)
		return NULL;
	memcpy(a->path, path, len);
	a->noticed = f->noticed;
	a->written = f->written;
	map_add(&f->by_path, &a->by_path, hash_name(path));
	rest(f, a);
	return a;
}

void
fact_forget_width(struct facts *f, struct fact *a)
{
	if (a->width_state != WIDTH_NONE)
		atomic_fetch_add(&f->forgotten, 1);
	a->width_state = WIDTH_NONE;
	a->attempt++; /* a thread that is measuring now may have read the old chunk */
}

/* The file's bytes are others from now on. here: this mount wrote them; else it was noticed in the
 * store. */
static void
change(struct facts *f, const char *path, int64_t mtime, bool here)
{
	LOCKED(&f->lock) {
		struct fact *a = fact_have(f, path);
		if (a && mtime > a->mtime)
			a->mtime = mtime;
		/* without a record, of all paths that have none */
		int64_t *noticed = a ? &a->noticed : &f->noticed,
			*written = a ? &a->written : &f->written;
		*(here ? written : noticed) = clock_now();
		atomic_fetch_add(&f->changes, 1);
		if (a)
			fact_forget_width(f, a);
	}
}

void
facts_changed(struct facts *f, const char *path, int64_t mtime)
{
	change(f, path, mtime, false);
}

void
facts_written(struct facts *f, const char *path, int64_t mtime)
{
	change(f, path, mtime, true);
}

int64_t
facts_mtime(struct facts *f, const char *path)
{
	int64_t t = 0;
	LOCKED(&f->lock) {
		const struct fact *a = fact_find(f, path);
		t = a ? a->mtime : 0;
	}
	return t;
}

int64_t
facts_noticed(struct facts *f, const char *path, bool flat)
{
	int64_t t = 0;
	LOCKED(&f->lock) {
		const struct fact *a = fact_find(f, path);
		t = a ? a->noticed : f->noticed;
		if (!flat)
			t = max_i64(t, a ? a->written : f->written);
	}
	return t;
}

/* ttl may be "for ever". */
static bool
older(int64_t since, int64_t ttl)
{
	return clock_now() - since >= ttl;
}

static void
join_open(struct facts *f, struct fact *a)
{
	a->open_next = f->open;
	a->open_at = &f->open;
	if (f->open)
		f->open->open_at = &a->open_next;
	f->open = a;
	atomic_fetch_add(&f->nopen, 1);
}

static void
leave_open(struct facts *f, struct fact *a)
{
	*a->open_at = a->open_next;
	if (a->open_next)
		a->open_next->open_at = a->open_at;
	atomic_fetch_sub(&f->nopen, 1);
}

bool
facts_open(struct facts *f, const char *path, uint64_t version, int64_t ttl, int64_t noticed)
{
	bool keep = false;
	LOCKED(&f->lock) {
		struct fact *a = fact_have(f, path);
		if (!a)
			return false;
		if (!a->opens++) {
			join_open(f, a);
			fact_use(f, a);
		}
		keep = a->pages_since && !a->pages_expired && a->pages_version == version &&
		       !older(a->pages_since, ttl) && noticed < a->pages_since;
		if (!keep) {
			a->pages_since = clock_now();
			a->pages_version = version;
			a->pages_expired = false;
		}
	}
	return keep;
}

void
facts_close(struct facts *f, const char *path)
{
	LOCKED(&f->lock) {
		struct fact *a = fact_find(f, path);
		if (a && a->opens && !--a->opens) {
			leave_open(f, a);
			fact_unuse(f, a);
		}
	}
}

static bool
outlived(struct fact *a, int64_t ttl)
{
	bool out = a->opens && a->pages_since && older(a->pages_since, ttl);
	if (out)
		a->pages_since = clock_now();
	return out;
}

bool
facts_outlived(struct facts *f, const char *path, int64_t ttl)
{
	bool out = false;
	LOCKED(&f->lock) {
		struct fact *a = fact_find(f, path);
		out = a && outlived(a, ttl);
	}
	return out;
}

/* With the lock held: were arrays of both families compared, and found to be of different ones? */
static bool
are_strange(const struct facts *f, unsigned a, unsigned b)
{
	for (size_t i = 0; i < f->strangers.n; i++) {
		const unsigned *pair = f->strangers.family[i];
		if ((pair[0] == a && pair[1] == b) || (pair[0] == b && pair[1] == a))
			return true;
	}
	return false;
}

/* The same. Without memory, or after many, they are compared again. */
static void
note_strange(struct facts *f, unsigned a, unsigned b)
{
	struct strangers *s = &f->strangers;
	if (s->n == STRANGERS_MOST)
		s->n = 0;
	if (a == b || are_strange(f, a, b) || LIST_MORE(s->family, s->n, "strangers") < 0)
		return;
	s->family[s->n][0] = a;
	s->family[s->n++][1] = b;
}

enum kin
facts_kin(struct facts *f, const char *a, const char *b)
{
	enum kin kin = KIN_UNKNOWN;
	LOCKED(&f->lock) {
		const struct fact *p = fact_find(f, a), *q = fact_find(f, b);
		if (p && q && p->family && q->family)
			kin = p->family == q->family                 ? KIN_SAME
			      : are_strange(f, p->family, q->family) ? KIN_NONE
								     : KIN_UNKNOWN;
	}
	return kin;
}

/* With the lock held: all of one family are of the other. */
static void
unite(struct facts *f, unsigned from, unsigned to)
{
	for (size_t i = 0; i < 2 * f->strangers.n && from != to; i++)
		if (f->strangers.family[i / 2][i % 2] == from)
			f->strangers.family[i / 2][i % 2] = to;
	for (struct map_entry *e = map_walk(&f->by_path, NULL); e && from != to;
		e = map_walk(&f->by_path, e)) {
		struct fact *a = MAP_OF(e, struct fact, by_path);
		a->family = a->family == from ? to : a->family;
	}
}

void
facts_set_kin(struct facts *f, const char *a, const char *b, bool same)
{
	LOCKED(&f->lock) {
		struct fact *p = fact_have(f, a), *q = fact_have(f, b);
		if (!p || !q)
			return;
		if (!p->family)
			p->family = ++f->families;
		if (!q->family)
			q->family = same ? p->family : ++f->families;
		if (same)
			unite(f, q->family, p->family);
		else
			note_strange(f, p->family, q->family);
	}
}

void
facts_forget_kin(struct facts *f, const char *path)
{
	LOCKED(&f->lock) {
		struct fact *a = fact_find(f, path);
		if (a)
			a->family = 0;
	}
}

/* With the lock held: copies of the paths that are open, so that none is told with it held. */
static char **
expire_all(struct facts *f)
{
	char **open = calloc(atomic_load(&f->nopen) + 1, sizeof *open);
	size_t n = 0;
	for (struct map_entry *e = map_walk(&f->by_path, NULL); e; e = map_walk(&f->by_path, e)) {
		struct fact *a = MAP_OF(e, struct fact, by_path);
		fact_forget_width(f, a);
		a->pages_expired = true;
		if (a->opens && open && (open[n] = strdup(a->path)))
			n++;
	}
	return open;
}

static void
tell(char **paths, facts_path_fn *fn, void *arg)
{
	for (size_t i = 0; paths && paths[i]; i++) {
		fn(arg, paths[i]);
		free(paths[i]);
	}
	free(paths);
}

void
facts_expire(struct facts *f, facts_path_fn *fn, void *arg)
{
	char **open = NULL;
	LOCKED(&f->lock)
		open = expire_all(f);
	tell(open, fn, arg);
}

void
facts_age(struct facts *f, int64_t ttl, facts_path_fn *fn, void *arg)
{
	char **old = NULL;
	size_t n = 0;
	if (ttl == INT64_MAX || !atomic_load(&f->nopen))
		return;
	LOCKED(&f->lock) {
		old = calloc(atomic_load(&f->nopen) + 1, sizeof *old);
		for (struct fact *a = f->open; a && old; a = a->open_next)
			if (outlived(a, ttl) && (old[n] = strdup(a->path)))
				n++;
	}
	tell(old, fn, arg);
}
