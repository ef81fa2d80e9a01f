/* A zip archive, itself an object of another store: a file, or an object behind S3 or HTTP,
 * which is read by ranges.
 *
 * - Keys lie at the archive's root or below one common prefix. Its directory is read once (two
 *   requests at most) and kept; nothing is inflated to list or stat.
 * - Every read asks for the archive's version that the directory is of, so a replaced archive
 *   gives its new members, once its directory has been read again, or an error, never a mixture.
 * - The end of a remote archive, which came with its directory, is kept: members that lie there
 *   cost no request of their own.
 * - Whether it was replaced is also looked at when a caller asks what is there, at most every
 *   LOOK_EVERY. */
#include "backends/zip/write.h"

#include "base/err.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 4 }; /* of an archive that is replaced */

static int
zip_alive(struct zmap *z)
{
	CLEAN(archive_unrefp) struct archive *a = NULL;
	struct zip_store *p = (struct zip_store *)z;
	int r = zmap_alive(p->lower);
	return r < 0 ? r : zip_look(p, NULL, true, &a);
}

/* --- members --- */

/* A member. ask: the archive may be another one by now, which stat, what is missing, and a caller
 * that asks for changes want to know. */
static int
find(struct zip_store *p, const char *key, bool ask, struct archive **ret_archive,
	const struct zip_member **ret)
{
	CLEAN(archive_unrefp) struct archive *a = NULL;
	int r = ask ? zip_look(p, NULL, false, &a) : zip_current(p, &a);
	const struct zip_member *m = r == 0 ? zip_index_find(a->index, key) : NULL;
	bool sure = m && *a->stat.version; /* else a read might not see that it is another one */
	if (!sure && !ask)
		return find(p, key, true, ret_archive, ret);
	if (r < 0)
		return r;
	*ret_archive = MOVE(a);
	*ret = m;
	return m ? 0 : ZMAP_ABSENT;
}

static int
zip_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	(void)cancel;
	struct zip_store *p = (struct zip_store *)z;
	CLEAN(zip_pending_unrefp) struct zip_pending *q = zip_pending_find(p, key);
	CLEAN(archive_unrefp) struct archive *a = NULL;
	const struct zip_member *m;
	int r = q ? (q->gone ? ZMAP_ABSENT : 0) : find(p, key, true, &a, &m);
	if (r == 0 && q)
		zip_pending_say(p->writer, q, ret);
	else if (r == 0)
		zip_say_stat(a, m, ret);
	return r;
}

/* *ret_stale: the archive is another one by now, and this has to be done again. */
static int
get_once(struct zip_store *p, const struct zmap_get *g, struct zmap_stat *ret,
	struct archive **ret_stale)
{
	CLEAN(archive_unrefp) struct archive *a = NULL;
	struct zip_reading reading = {.zip = p, .get = g};
	int r = find(p, g->key, g->if_none_match, &a, &reading.member);
	if (r)
		return r;
	zip_say_stat(a, reading.member, ret);
	reading.archive = a;
	r = zmap_condition(g, ret->version);
	if (r == 0)
		r = zmap_range(g, reading.member->size, &reading.off, &reading.len);
	if (r)
		return r;
	r = zip_read(&reading);
	if (r == ZMAP_CHANGED)
		*ret_stale = MOVE(a);
	return r;
}

static int
zip_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct zip_store *p = (struct zip_store *)z;
	CLEAN(zip_pending_unrefp) struct zip_pending *q = zip_pending_find(p, g->key);
	if (q)
		return zip_pending_read(p->writer, q, g, ret);
	for (int i = 0; i < TRIES; i++) {
		CLEAN(archive_unrefp) struct archive *stale = NULL, *now = NULL;
		int r = get_once(p, g, ret, &stale);
		if (!stale)
			return r;
		r = zmap_patience(g->deadline, g->cancel);
		if (r == 0)
			r = zip_look(p, stale, false, &now);
		if (r < 0)
			return r;
	}
	return err_set(-EIO, "the archive changes all the time");
}

/* A get whose caller does not wait. */
struct zip_submitted {
	struct zip_reading reading; /* with a reference to its archive */
	struct zmap_get get, below; /* as asked here, and of the lower store */
	struct zmap_stat stat;
	size_t before; /* bytes in into */
	zmap_done_fn *done;
	void *arg;
};

/* Where the guess was wrong, or the archive is another one: from the start, here. */
static void
zip_submitted_done(void *arg, int r, const struct zmap_stat *s)
{
	struct zip_submitted *e = arg;
	struct zip_store *p = e->reading.zip;
	struct buf *into = e->get.into;
	bool whole = r == 0 && into->len - e->before == e->below.len &&
		     s->size == e->reading.archive->stat.size;
	if (!whole || zip_confirm(&e->reading, e->below.off) < 0) {
		into->len = e->before;
		r = r < 0 ? r : zip_get(&p->z, &e->get, &e->stat);
	}
	e->done(e->arg, r, &e->stat);
	archive_unref(e->reading.archive);
	free(e);
}

/* 0: the lower store was asked and zip_submitted_done is called; else: as zip_get would do it. */
static int
start_submitted(struct zip_store *p, struct zip_submitted *e)
{
	struct zip_reading *r = &e->reading;
	const struct zmap_get *g = &e->get;
	uint64_t begin;
	CLEAN(zip_pending_unrefp) struct zip_pending *q = zip_pending_find(p, g->key);
	if (q)
		return -EAGAIN;
	*r = (struct zip_reading){.zip = p, .get = g};
	if (g->if_none_match || find(p, g->key, false, &r->archive, &r->member) != 0)
		return -EAGAIN;
	zip_say_stat(r->archive, r->member, &e->stat);
	if (zmap_condition(g, e->stat.version) != 0 ||
		zmap_range(g, r->member->size, &r->off, &r->len) < 0 || !zip_foretell(r, &begin) ||
		zip_kept(r, begin, r->len))
		return -EAGAIN;
	e->before = g->into->len;
	e->below = *g;
	e->below.key = p->key;
	e->below.off = begin;
	e->below.len = e->below.max = r->len;
	e->below.from_end = false;
	e->below.if_match = *r->archive->stat.version ? r->archive->stat.version : NULL;
	zmap_submit(p->lower, &e->below, zip_submitted_done, e);
	return 0;
}

static void
zip_submit(struct zmap *z, const struct zmap_get *g, zmap_done_fn *done, void *arg)
{
	struct zmap_stat s = {0};
	struct zip_submitted *e = calloc(1, sizeof *e);
	if (e) {
		e->get = *g;
		e->done = done;
		e->arg = arg;
		if (start_submitted((struct zip_store *)z, e) == 0)
			return;
		archive_unref(e->reading.archive);
		free(e);
	}
	int r = zip_get(z, g, &s);
	done(arg, r, &s);
}

struct zip_listing {
	zmap_list_fn *fn;
	void *arg;
};

static int
list_name(void *arg, const char *name, bool prefix)
{
	struct zip_listing *l = arg;
	return l->fn(l->arg, name, prefix, NULL);
}

static int
zip_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	struct zip_store *p = (struct zip_store *)z;
	CLEAN(archive_unrefp) struct archive *a = NULL;
	struct zip_listing l = {fn, arg};
	/* asked first: what is not pending any more is in the archive that is found next */
	const bool pending = p->writer && atomic_load(&p->writer->any);
	int r = zip_look(p, NULL, false, &a);
	if (r == 0 && pending)
		return zip_pending_list(p, prefix, list_name, &l);
	return r < 0 ? r : zip_index_list(a->index, prefix, list_name, &l);
}

static int
zip_try_writing(struct zmap *z, struct buf *said)
{
	struct zip_store *p = (struct zip_store *)z;
	if (p->writer)
		return 0;
	return p->unwritable.code
		       ? err_restore(&p->unwritable)
		       : err_set(-EROFS, "an archive is written only where it is a local file");
}

static int
zip_stats(struct zmap *z, struct buf *ret)
{
	return zmap_stats(((struct zip_store *)z)->lower, ret);
}

/* --- opening the store --- */

static void
zip_close(struct zmap *z)
{
	struct zip_store *p = (struct zip_store *)z;
	if (p->now)
		zip_sync(z);
	zip_writer_free(p->writer);
	for (unsigned i = 0; i < ZIP_PARKED; i++)
		zip_stream_free(p->parked[i]);
	archive_unref(p->now);
	zmap_close(p->lower);
	pthread_cond_destroy(&p->looked);
	pthread_mutex_destroy(&p->lock);
	free(p->key);
	free(p);
}

extern const struct zmap_ops backend_zip;

int
zip_open_over(
	struct zmap *lower, const char *key, int64_t keep, const char *path, struct zmap **ret)
{
	struct zip_store *p = calloc(1, sizeof *p);
	if (!p) {
		zmap_close(lower);
		return err_set(-ENOMEM, "no memory for a store");
	}
	p->z.ops = &backend_zip;
	p->z.caps = ZMAP_LIST | (lower->caps & (ZMAP_REMOTE | ZMAP_PROMPT));
	p->z.timeout = lower->timeout;
	p->lower = lower;
	p->keep = keep;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->looked, NULL);
	p->key = strdup(key);
	int w = path ? zip_writer_new(path, &p->writer) : 0;
	if (w < 0)
		err_save(w, &p->unwritable);
	else if (path)
		p->z.caps |= ZMAP_WRITE | ZMAP_CONDITIONAL;
	int r = p->key ? archive_open(p, &p->now) : err_set(-ENOMEM, "no memory for a store");
	if (r < 0) {
		zip_close(&p->z);
		return r;
	}
	zip_look_end(p); /* archive_open has looked */
	*ret = &p->z;
	return 0;
}

static int
zip_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	CLEAN(clean_free) char *parent = NULL;
	const char *name;
	struct url lower_url;
	int r = url_beside(url, "archive", &lower_url, &parent, &name);
	if (r < 0)
		return r;
	/* a link that the user named may lead anywhere, and nothing but that is read there */
	struct zmap_options lower_options = *options;
	lower_options.follow = true;
	struct zmap *lower = NULL;
	r = zmap_open_inner(&lower_url, &lower_options, &lower);
	int64_t keep = options->cache_dir ? 0 : options->cache_ttl; /* that keeps it, too */
	bool local = options->writable && !strcmp(url->below, "dir");
	return r < 0 ? r : zip_open_over(lower, name, keep, local ? url->path : NULL, ret);
}

const struct zmap_ops backend_zip = {
	.name = "zip",
	.open = zip_open,
	.close = zip_close,
	.stat = zip_stat,
	.get = zip_get,
	.submit = zip_submit,
	.list = zip_list,
	.put = zip_put,
	.del = zip_del,
	.sync = zip_sync,
	.try_writing = zip_try_writing,
	.alive = zip_alive,
	.stats = zip_stats,
};
