/* One request of a reader: what it asks of the cache, how long it waits for it, and the answer. */
#include "data/request.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>

static const int64_t STUCK_AFTER = SECOND / 4;

struct cache_request
request_cache_extent(
	const struct read_request *q, struct extent_id id, uint64_t at, enum cache_hurry hurry)
{
	return (struct cache_request){
		.id = id,
		.at = at,
		.hurry = hurry,
		.keep = true,
		.now = q->now,
		.fresh =
			id.chunk / q->array->grid.slab_chunks == q->slab ? q->slab_fresh : q->fresh,
		.begun = q->array->grown,
		.since = q->since,
		.deadline = q->want->deadline,
		.cancel = q->want->cancel,
		.loading = &q->array->loading,
	};
}

struct cache_request
request_cache(const struct read_request *q, uint64_t chunk, uint64_t at, uint64_t to, bool holds)
{
	struct cache_request want = request_cache_extent(q,
		scan_extent(&q->scan, q->array, chunk, at, to), at, holds ? CACHE_TRY : CACHE_WAIT);
	scan_larger(&q->scan, q->array, &want);
	return want;
}

struct batch
request_batch(const struct read_request *q)
{
	return (struct batch){
		.array = q->array,
		.urgent = true,
		.alone = q->scan.mode != SCAN_ORDER,
		.here = q->array->prompt,
	};
}

void
request_load(struct read_request *q, struct batch *b, struct extent *p)
{
	batch_add(b, p, scan_keeps(&q->scan, q->array, &p->id));
}

int
request_extent(struct read_request *q, struct batch *b, const struct cache_request *want,
	struct extent **ret)
{
	if (want->hurry == CACHE_WAIT)
		batch_send(b); /* no request waits for memory while its own loads are not begun */
	int r = cache_get(q->array->data->cache, want, ret);
	if (r != CACHE_CREATED)
		return r;
	request_load(q, b, *ret);
	return CACHE_BUSY;
}

/* Had the store been asked long before this request came, so that a server may have come back in
 * the meantime? */
static bool
too_old(const struct read_request *q, const struct extent *p, int r)
{
	int64_t age = q->now - p->asked;
	return r == -EIO && q->array->remote && age > q->array->data->options.timeout / LONG_PART &&
	       !clock_over(q->want->deadline);
}

/* The request's own time is over: why, as far as a load has said. */
static int
give_up(const struct read_request *q, const struct extent *p)
{
	char key[ARRAY_KEY_MAX];
	int r = q->why->code ? err_restore(q->why) : array_chunk_key(q->array, p->id.chunk, key);
	if (r == 0)
		r = err_set(-EIO, "'%s': timed out", key);
	if (clock_over(q->now + q->array->data->options.timeout / 2))
		load_missed(q->array, p->id.chunk, r);
	return r;
}

static int
wait_for(struct read_request *q, struct extent *p)
{
	const struct array_want *w = q->want;
	struct data *d = q->array->data;
	if (cancelled(w->cancel)) /* the first look, by which it hears of an interrupt at all */
		return err_set(-EINTR, "interrupted");
	for (;;) { /* a load that takes long must not keep the others from being loaded */
		load_hurry(q->array, p);
		int64_t soon = clock_now() + STUCK_AFTER;
		bool final = w->deadline && w->deadline <= soon;
		int r = cache_wait(d->cache, p, q->since, final ? w->deadline : soon, w->cancel);
		if (too_old(q, p, r)) {
			err_save(r, q->why);
			q->old = true;
			return -EAGAIN;
		}
		if (r == -ECANCELED) /* when no reader waited for it yet */
			q->old = true;
		if (r == CACHE_OTHER || r == -ECANCELED)
			return -EAGAIN;
		if (final || r != CACHE_PATIENCE)
			return r == CACHE_PATIENCE ? give_up(q, p) : r;
		load_rescue(d, STUCK_AFTER);
	}
}

int
request_wait(struct read_request *q, struct extent *p)
{
	atomic_fetch_add(&p->waiting, 1);
	int r = wait_for(q, p);
	atomic_fetch_sub(&p->waiting, 1);
	return r;
}

bool
request_agree(const struct extent *a, const struct extent *b)
{
	return a->id.chunk != b->id.chunk || !strcmp(a->version, b->version);
}

int
request_goes_on(const struct read_request *q, const struct extent *p)
{
	if (!q->paused || p->former < q->paused ||
		p->id.chunk / q->array->grid.slab_chunks != q->slab)
		return 0;
	return err_set(-ESTALE, "chunk was replaced while its reader paused in the midst of it");
}

void
request_answer(struct read_request *q, const void *data, size_t len)
{
	struct reply *r = q->reply;
	struct iovec *last = r->parts ? &r->part[r->parts - 1] : NULL;
	if (last && (const uint8_t *)last->iov_base + last->iov_len == data)
		last->iov_len += len;
	else
		r->part[r->parts++] = (struct iovec){(void *)(uintptr_t)data, len};
	r->len += len;
}
