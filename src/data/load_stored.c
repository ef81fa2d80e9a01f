/* Stored bytes that are cached: one load asks the store for them, and others wait for it. */
#include "data/load_impl.h"

#include "base/pool.h"

#include <errno.h>
#include <string.h>

/* What was made to keep stored bytes is to keep none; loads that wait for them fail with r. */
static void
keep_failure(struct cache *c, struct extent *kept, int r)
{
	extent_fail(kept, r);
	cache_finish(c, &kept, 1);
}

/* The same; they ask again. */
static void
keep_none(struct cache *c, struct extent *kept)
{
	keep_failure(c, kept, err_set(-EAGAIN, "not kept"));
}

/* For an extent that another load fills. 0; -EAGAIN: it is not kept, or not for this load; else why
 * it could not be had. */
static int
wait_for(struct load *l, struct extent *p)
{
	const struct array *a = l->array;
	const int64_t age = l->extent->begun - p->asked;
	pool_blocking(); /* for a load that may need this place to go on */
	/* one of the store's version must still be that */
	int r = cache_wait(a->data->cache, p, EXTENT_CURRENT, l->deadline, NULL);
	pool_unblocking();
	if (r == -EIO && !p->bad && a->remote && age > a->data->options.timeout / LONG_PART)
		return -EAGAIN; /* the server may have come back meanwhile */
	if (r < 0)
		l->bad = p->bad;
	if (r == CACHE_PATIENCE)
		r = err_set(-ETIMEDOUT, "timed out");
	return r == CACHE_OTHER ? -EAGAIN : r;
}

static int
ask_stored(struct load *l, const struct stored *s, struct extent **ret)
{
	struct array *a = l->array;
	struct cache_request want = {
		.id = s->id,
		.hurry = s->keep == KEEP_AS_VICTIM ? CACHE_PREFETCH : CACHE_TRY,
		.keep = true,
		.beside = s->beside,
		.only_there = !s->keep,
		.now = clock_now(),
		.fresh = s->fresh,
		.begun = a->grown,
		.of = l->extent,
	};
	int r = cache_get(a->data->cache, &want, ret);
	if (r == CACHE_CREATED)
		(*ret)->keep = s->keep;
	return r;
}

int
load_stored(struct load *l, struct stored *s)
{
	struct extent *p = NULL;
	int r = -EAGAIN;
	s->extent = NULL;
	for (int i = 0; i < VERSION_TRIES && r == -EAGAIN; i++) {
		r = ask_stored(l, s, &p);
		if (r < 0)
			return 0;
		s->new = r == CACHE_CREATED;
		r = r == CACHE_BUSY ? wait_for(l, p) : 0;
		if (r < 0)
			cache_unpin(l->array->data->cache, &p, 1);
	}
	s->extent = r == 0 ? p : NULL;
	return r == -EAGAIN ? 0 : r;
}

int
load_fill_stored(struct load *l, struct extent *kept, struct buf *from, int r)
{
	struct err why;
	err_save(r, &why);
	if (r == 0) {
		memcpy(kept->version, l->stat.version, sizeof kept->version);
		kept->encoded_len = from->len;
		kept->data = from->data;
		kept->cap = from->cap;
		*from = (struct buf){0};
		kept->begun = l->extent->begun;
		load_found(l, kept);
		cache_finish(l->array->data->cache, &kept, 1);
	} else if (r < 0 && !cancelled(&l->cancel)) {
		kept->bad = l->bad;
		keep_failure(l->array->data->cache, kept, r);
	} else {
		keep_none(l->array->data->cache, kept);
	}
	return err_restore(&why);
}
