/* diskcache+STORE: what was read is kept on the local disk (diskcache/blob_cache.h). -o cache_dir=
 * puts it before every remote store; as a word of the URL, for tests, it stands before any:
 *
 *   diskcache.dir= the directory
 *   diskcache.size= bytes
 *   diskcache.ttl= seconds that the store is not asked whether a copy is still right
 *
 * A copy is of one request: a whole object, or a range. It is used without asking for a ttl after
 * the store was last asked, and where it is the version that the caller insists on; else the store
 * is asked whether it has another (ETag). A caller that asks whether there is something new
 * (if_none_match) is always answered by the store. Objects without a version are not kept.
 *
 * What other objects are understood by (revalidate: metadata) is asked about each time, but where
 * nothing can change; and copies that were checked before its present version was known count as
 * unchecked: they may be of the time of the version before. */
#include "store/zmap.h"

#include "backends/diskcache/blob_cache.h"
#include "base/err.h"
#include "base/lookup3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WRITTEN = 4096 };

struct diskcache {
	struct zmap z;
	struct zmap *next;
	struct blob_cache *blob_cache;
	char *store;             /* which one: the same for all mounts of it */
	int64_t ttl;             /* INT64_MAX: copies stay right for ever */
	atomic_llong not_before; /* clock_wall(): what was checked before counts as unchecked */
	atomic_llong
		written[WRITTEN]; /* the same, of keys of such a hash: they were written here */
};

static struct diskcache *
of(struct zmap *z)
{
	return (struct diskcache *)z;
}

/* One get. */
struct ask {
	struct diskcache *cache;
	struct zmap_get get; /* as it goes to the store */
	struct zmap_get asked;
	char *id; /* NULL: nothing can be kept */
	struct blob_cache_copy copy;
	int64_t began; /* clock_wall() */
	size_t before; /* bytes in into */
	zmap_done_fn *done;
	void *arg;
};

static void
ask_done(struct ask *a)
{
	blob_cache_done(&a->copy);
	free(a->id);
}

static char *
name_of(const struct diskcache *c, const char *key, const struct zmap_get *g)
{
	char *id = NULL;
	int n = asprintf(&id, "%zu %s\n%s\n%s%" PRIu64 "+%zu", strlen(c->store), c->store, key,
		g->from_end ? "-" : "", g->from_end ? 0 : g->off, g->len);
	return n < 0 ? NULL : id;
}

static atomic_llong *
written_of(struct diskcache *c, const char *key)
{
	return &c->written[lookup3((const uint8_t *)key, strlen(key), 0) % WRITTEN];
}

static bool
fresh(struct diskcache *c, const char *key, const struct blob_cache_copy *copy)
{
	int64_t age = clock_wall() - copy->checked;
	if (copy->checked < atomic_load(&c->not_before) || !c->ttl ||
		copy->checked <= atomic_load(written_of(c, key)))
		return false;
	return c->ttl == INT64_MAX || (age >= 0 && age < c->ttl);
}

static void
raise(atomic_llong *to, int64_t before)
{
	long long is = atomic_load(to);
	while (is < before && !atomic_compare_exchange_weak(to, &is, before))
		;
}

/* What was checked before then is no longer taken to be right. */
static void
doubt(struct diskcache *c, int64_t before)
{
	raise(&c->not_before, before);
}

enum { NEED_STORE = 1000 }; /* not an outcome that leaves here */

/* The copy as the answer. NEED_STORE: it cannot be read. */
static int
answer(struct ask *a, struct zmap_stat *ret)
{
	const struct zmap_get *g = &a->asked;
	if (a->copy.len > g->max)
		return err_set(
			-EFBIG, "%zu bytes, where at most %zu can be right", a->copy.len, g->max);
	if (!blob_cache_read(a->cache->blob_cache, a->id, &a->copy, g->into)) {
		blob_cache_done(&a->copy);
		return NEED_STORE;
	}
	*ret = a->copy.stat;
	if (g->revalidate)
		doubt(a->cache, a->copy.since);
	return 0;
}

/* Looks at what there is. NEED_STORE: a->get is to be sent. */
static int
ask_begin(struct ask *a, struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct diskcache *c = of(z);
	*a = (struct ask){
		.cache = c,
		.get = *g,
		.asked = *g,
		.copy.fd = -1,
		.began = clock_wall(),
		.before = g->into->len,
	};
	a->id = name_of(c, g->key, g);
	if (!a->id || g->bypass_cache || !blob_cache_find(c->blob_cache, a->id, &a->copy))
		return NEED_STORE;
	if (g->if_match && strcmp(g->if_match, a->copy.stat.version)) {
		blob_cache_done(&a->copy);
		return NEED_STORE;
	}
	if (g->if_none_match && *g->if_none_match)
		return NEED_STORE;
	bool known = fresh(c, g->key, &a->copy) && a->copy.len <= g->max &&
		     (!g->revalidate || c->ttl == INT64_MAX);
	if (g->if_match || known) {
		int r = answer(a, ret);
		ret->kept = r == 0;
		return r;
	}
	a->get.if_none_match = a->copy.stat.version;
	return NEED_STORE;
}

static void
keep(const struct ask *a, const struct zmap_stat *s)
{
	const struct buf *b = a->asked.into;
	if (a->id && *s->version)
		blob_cache_keep(a->cache->blob_cache, a->id, s,
			(struct span){b->data + a->before, b->len - a->before}, a->began);
	if (a->asked.revalidate)
		doubt(a->cache, clock_wall());
}

/* What the store said to a->get. */
static int
ask_end(struct ask *a, int r, struct zmap_stat *s)
{
	bool own_question = a->get.if_none_match != a->asked.if_none_match;
	if (r == 0)
		keep(a, s);
	if (r == ZMAP_ABSENT && a->id)
		blob_cache_drop(a->cache->blob_cache, a->id);
	if (r != ZMAP_SAME || a->copy.fd < 0)
		return r;
	if (own_question || !strcmp(a->copy.stat.version, a->asked.if_none_match))
		blob_cache_still_right(&a->copy, a->began);
	if (!own_question)
		return r;
	r = answer(a, s);
	if (r != NEED_STORE)
		return r;
	r = zmap_get(a->cache->next, &a->asked, s);
	if (r == 0)
		keep(a, s);
	return r;
}

static int
disk_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	CLEAN(ask_done) struct ask a;
	int r = ask_begin(&a, z, g, ret);
	if (r == NEED_STORE && g->local_only)
		return ZMAP_NOT_LOCAL;
	if (r != NEED_STORE)
		return r;
	r = zmap_get(a.cache->next, &a.get, ret);
	return ask_end(&a, r, ret);
}

static void
submitted_done(void *arg, int r, const struct zmap_stat *s)
{
	struct ask *a = arg;
	struct zmap_stat is = *s;
	r = ask_end(a, r, &is);
	a->done(a->arg, r, &is);
	ask_done(a);
	free(a);
}

static void
disk_submit(struct zmap *z, const struct zmap_get *g, zmap_done_fn *done, void *arg)
{
	struct zmap_stat s = {0};
	struct ask *a = malloc(sizeof *a);
	if (!a) {
		done(arg, err_set(-ENOMEM, "no memory for a request"), &s);
		return;
	}
	int r = ask_begin(a, z, g, &s);
	a->done = done;
	a->arg = arg;
	if (r == NEED_STORE) {
		zmap_submit(a->cache->next, &a->get, submitted_done, a);
		return;
	}
	done(arg, r, &s);
	ask_done(a);
	free(a);
}

/* A writer compares versions before it deletes, or counts rows: what others did since a copy was
 * checked is asked for, and bytes that are read then are no older. */
static int
stat_of_writer(struct diskcache *c, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	raise(written_of(c, key), clock_wall());
	return zmap_stat_while(c->next, key, cancel, ret);
}

static int
disk_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	struct diskcache *c = of(z);
	struct blob_cache_copy copy;
	if (z->caps & ZMAP_WRITE)
		return stat_of_writer(c, key, cancel, ret);
	CLEAN(clean_free) char *id = name_of(c, key, &(struct zmap_get){0});
	if (id && blob_cache_find(c->blob_cache, id, &copy)) {
		bool good = fresh(c, key, &copy);
		*ret = copy.stat;
		blob_cache_done(&copy);
		if (good)
			return 0;
	}
	return zmap_stat_while(c->next, key, cancel, ret);
}

static int
disk_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	return zmap_list(of(z)->next, prefix, fn, arg);
}

/* Copies of what was written here, whole and in parts, are no longer right, even where the put
 * failed. */
static int
disk_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	int r = zmap_put(of(z)->next, p, ret);
	raise(written_of(of(z), p->key), clock_wall());
	return r;
}

static int
disk_del(struct zmap *z, const struct zmap_del *d)
{
	int r = zmap_del(of(z)->next, d);
	raise(written_of(of(z), d->key), clock_wall());
	return r;
}

static int
disk_sync(struct zmap *z)
{
	return zmap_sync(of(z)->next);
}

static int
disk_try_writing(struct zmap *z, struct buf *said)
{
	return zmap_try_below(z, of(z)->next, said);
}

/* A caller that asks this has doubts, or was told to look at all anew. */
static int
disk_alive(struct zmap *z)
{
	if (of(z)->ttl != INT64_MAX)
		doubt(of(z), clock_wall());
	return zmap_alive(of(z)->next);
}

static int
disk_stats(struct zmap *z, struct buf *ret)
{
	int r = blob_cache_stats(of(z)->blob_cache, ret);
	return r < 0 ? r : zmap_stats(of(z)->next, ret);
}

static void
disk_close(struct zmap *z)
{
	struct diskcache *c = of(z);
	zmap_close(c->next);
	blob_cache_close(c->blob_cache);
	free(c->store);
	free(c);
}

/* --- opening --- */

enum { SIZE_MIN = 1 << 20 };

static int
number(const struct url *url, const char *key, int64_t factor, int64_t *to)
{
	const char *text = url_get(url, key);
	char *end;
	if (!text)
		return 0;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	if (errno || *end || !*text || v < 0 || v > INT64_MAX / factor)
		return err_set(-EINVAL, "%s=%s: not a number", key, text);
	*to = v * factor;
	return 0;
}

/* The same for all mounts of it, wherever environment and options say that it is. */
static int
identify(struct diskcache *c, const struct url *url)
{
	CLEAN(buf_free) struct buf b = {0};
	int r = c->next->ops->identity
			? c->next->ops->identity(c->next, &b)
			: buf_addf(&b, "%s://%s %zu%s?%s", url->scheme, url->host,
				  strlen(url->path), url->path, url->query ? url->query : "");
	if (r == 0)
		r = buf_terminate(&b);
	if (r == 0 && !(c->store = strdup((char *)b.data)))
		r = err_set(-ENOMEM, "no memory for a name");
	return r;
}

extern const struct zmap_ops backend_diskcache;

static int
diskcache_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	struct zmap_options below = *options;
	const char *dir = url_get(url, "diskcache.dir");
	int64_t size = (int64_t)options->cache_size, ttl = options->cache_ttl;
	bool asked_for = dir;
	int r = number(url, "diskcache.size", 1, &size);
	if (r == 0)
		r = number(url, "diskcache.ttl", SECOND, &ttl);
	if (r < 0)
		return r;
	dir = dir ? dir : options->cache_dir;
	if (!dir || size < SIZE_MIN)
		return err_set(
			-EINVAL, "the disk cache needs a directory, and a size of 1M or more");
	struct zmap *next = NULL;
	below.cache_dir = NULL;
	r = zmap_open_inner(url, &below, &next);
	if (r < 0)
		return r;
	if (!asked_for && !(next->caps & ZMAP_REMOTE)) { /* it would only be another disk */
		*ret = next;
		return 0;
	}
	struct diskcache *c = calloc(1, sizeof *c);
	if (!c) {
		zmap_close(next);
		return err_set(-ENOMEM, "no memory for a store");
	}
	c->z.ops = &backend_diskcache;
	c->z.caps = next->caps | ZMAP_LOCAL_COPIES;
	c->next = next;
	c->ttl = ttl;
	r = identify(c, url);
	if (r == 0)
		r = blob_cache_open(dir, (uint64_t)size, options->warn, &c->blob_cache);
	if (r < 0) {
		disk_close(&c->z);
		return r;
	}
	*ret = &c->z;
	return 0;
}

const struct zmap_ops backend_diskcache = {
	.name = "diskcache",
	.wraps = true,
	.open = diskcache_open,
	.close = disk_close,
	.stat = disk_stat,
	.get = disk_get,
	.submit = disk_submit,
	.list = disk_list,
	.put = disk_put,
	.del = disk_del,
	.sync = disk_sync,
	.try_writing = disk_try_writing,
	.alive = disk_alive,
	.stats = disk_stats,
};
