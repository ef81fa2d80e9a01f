/* Ahead of the reader and behind it. The stream's lock is held around all of it; the cache's and
 * the pool's are leaves below it. */
#include "data/request.h"

#include "base/check.h"
#include "base/mem.h"

enum {
	QUEUED_MOST = 256,  /* loads that wait for a worker before prefetching pauses */
	STRIDES_AHEAD = 4,  /* for each worker */
	POINT_CHUNKS = 256, /* of one request that are fetched ahead */
};

/* Has what is not there yet loaded. False: no room, or enough is under way. */
static bool
prefetch_send(struct batch *b, const struct scan *s, struct cache_requests *k)
{
	struct array *a = b->array;
	if (!k->n)
		return true;
	if (pool_queued(a->data->pool) > QUEUED_MOST)
		return false;
	size_t done = cache_get_many(a->data->cache, k->request, k->n, k->extent, k->found);
	for (size_t i = 0; i < done; i++) {
		if (k->found[i] != CACHE_CREATED)
			continue;
		atomic_fetch_add_explicit(&a->data->counts.prefetched, 1, memory_order_relaxed);
		batch_add(b, k->extent[i], scan_keeps(s, a, &k->extent[i]->id));
	}
	bool all = done == k->n;
	k->n = 0;
	return all;
}

static bool
prefetch_extent(struct read_request *q, struct batch *b, struct cache_requests *k,
	const struct extent_id *id, uint64_t at)
{
	struct cache_request *want = &k->request[k->n++];
	*want = (struct cache_request){
		.id = *id,
		.at = at,
		.hurry = CACHE_PREFETCH,
		.only_new = true,
		.now = q->now,
		.fresh = q->fresh,
		.begun = q->array->grown,
		.since = q->since,
		.loading = &q->array->loading,
	};
	scan_larger(&q->stream->scan, q->array, want);
	return k->n < REQUESTS_AT_ONCE || prefetch_send(b, &q->stream->scan, k);
}

static bool
prefetch_one(struct read_request *q, struct batch *batch, const struct prefetch_step *b)
{
	struct scan *s = &q->stream->scan;
	struct cache_requests k;
	k.n = 0;
	for (uint64_t i = 0; i < b->n; i++) {
		struct extent_id id =
			scan_extent(s, q->array, b->first + i, b->in_chunk, b->in_chunk + 1);
		if (!prefetch_extent(q, batch, &k, &id, b->in_chunk))
			return false;
	}
	return prefetch_send(batch, s, &k);
}

/* A reader that has asked for nothing for so long (ns) is not one of those that share a file. */
static const int64_t PASSING = 2 * SECOND;

/* Where the next one of several readers in file order began: most readers that share a file end
 * where another began. */
static uint64_t
next_origin(const struct read_request *q)
{
	struct array *a = q->array;
	const struct stream *s = q->stream;
	const uint64_t from = q->scan.high, ended = s->ended;
	uint64_t next = ended >= from ? ended : UINT64_MAX;
	if (atomic_load(&a->data->scans) < 2)
		return next;
	LOCKED(&a->lock)
		for (const struct stream *o = a->streams; o; o = o->next)
			if (o != s && o->origin >= from && q->now - o->asked < PASSING)
				next = min_u64(next, o->origin);
	return next;
}

/* How far ahead of the reader is to be loaded. */
static uint64_t
window_end(const struct scan *s, const struct array *a)
{
	return min_u64(a->grid.bytes, s->high + scan_window(s, a));
}

/* True: some have been sent. stop: nothing is loaded from there on. */
static bool
prefetch_order(struct read_request *q, uint64_t stop)
{
	struct scan *s = &q->stream->scan;
	const struct grid *g = &q->array->grid;
	struct batch batch = {.array = q->array, .locked = true};
	uint64_t to = min_u64(stop, window_end(s, q->array));
	while (s->ahead < to) {
		if (s->ahead % (g->chunk[g->lead] * g->file_step[g->lead]) == 0)
			scan_plan(s, q->array);
		struct prefetch_step b;
		scan_step(s, g, s->ahead, &b);
		if (!prefetch_one(q, &batch, &b))
			break;
		uint64_t next = scan_next_pass(s, g, s->ahead);
		bool all = b.end - s->ahead_from >= g->file_step[g->lead];
		s->ahead = all ? next : b.end;
		if (s->ahead == next)
			s->ahead_from = next;
	}
	batch_send(&batch);
	return batch.sent;
}

/* Likewise. */
static bool
prefetch_stride(struct read_request *q)
{
	struct scan *s = &q->stream->scan;
	const struct grid *g = &q->array->grid;
	struct batch batch = {.array = q->array, .locked = true, .alone = true};
	struct cache_requests k;
	struct hull hull[POINT_CHUNKS];
	k.n = 0;
	unsigned strides = array_slow(q->array) ? FAR : STRIDES_AHEAD * q->array->data->workers;
	for (unsigned i = 1; i <= strides; i++) {
		const uint64_t at = scan_point(s, i);
		if (at >= g->bytes || q->want->len > g->bytes - at)
			break;
		const size_t n = grid_hulls(
			g, at / g->item, ceil_div(at + q->want->len, g->item), hull, POINT_CHUNKS);
		for (size_t j = 0; j < n; j++) {
			struct extent_id id = scan_extent(
				s, q->array, hull[j].number, hull[j].in_chunk, hull[j].last);
			if (!prefetch_extent(q, &batch, &k, &id, hull[j].in_chunk))
				goto send;
		}
	}
	prefetch_send(&batch, s, &k);
send:
	batch_send(&batch);
	return batch.sent;
}

static void
make_step_cold(const struct scan *s, struct array *a, const struct prefetch_step *b, enum cold how)
{
	struct extent_id id[REQUESTS_AT_ONCE];
	size_t n = 0;
	for (uint64_t i = 0; i < b->n; i++) {
		id[n] = scan_extent(s, a, b->first + i, b->in_chunk, b->in_chunk + 1);
		if (b->whole)
			id[n].len = SIZE_MAX;
		if (++n < REQUESTS_AT_ONCE && i + 1 < b->n)
			continue;
		cache_make_cold(a->data->cache, id, n, a->raw ? how | COLD_RAW : how);
		n = 0;
	}
}

/* Does another reader in file order, which comes behind this one, want bytes [from, to) yet? */
static bool
is_awaited(const struct stream *s, uint64_t from, uint64_t to)
{
	struct array *a = s->array;
	const int64_t since = s->asked - PASSING;
	bool awaited = false;
	if (atomic_load(&a->data->scans) < 2)
		return false;
	LOCKED(&a->lock)
		for (const struct stream *o = a->streams; o && !awaited; o = o->next)
			awaited = o != s && o->front >= from && o->front < to && o->asked > since;
	return awaited;
}

void
ahead_pass(struct stream *st, uint64_t passed)
{
	struct scan *s = &st->scan;
	struct array *a = st->array;
	const struct grid *g = &a->grid;
	while (s->done < passed) {
		struct prefetch_step b;
		uint64_t at =
			max_u64(s->done, g->slab_chunks > 1 ? scan_last_row(s, g, s->done) : 0);
		if (at >= passed)
			break;
		scan_step(s, g, at, &b);
		if (b.end > passed)
			break;
		if (!is_awaited(st, scan_pass(s, g, at), b.end))
			make_step_cold(s, a, &b, COLD_ALL);
		s->done = b.end;
	}
}

void
ahead_leave(struct stream *st, bool closed)
{
	struct scan *s = &st->scan;
	struct array *a = st->array;
	if (s->mode != SCAN_ORDER || !s->rows)
		return;
	for (uint64_t at = s->high; at < s->ahead;) {
		struct prefetch_step b;
		scan_step(s, &a->grid, at, &b);
		make_step_cold(s, a, &b, closed ? COLD_UNREAD : COLD_UNREAD | COLD_LEFT);
		at = b.end;
	}
	s->ahead = s->high;
}

void
ahead_load(struct read_request *q)
{
	struct stream *s = q->stream;
	bool sent = false;
	if (q->scan.mode == SCAN_RANDOM ||
		(q->scan.mode == SCAN_ORDER && q->scan.ahead >= window_end(&q->scan, q->array)))
		return;
	const uint64_t stop = q->scan.mode == SCAN_ORDER ? next_origin(q) : UINT64_MAX;
	mem_hold();
	LOCKED(&s->lock) {
		if (s->scan.mode == SCAN_ORDER)
			sent = prefetch_order(q, stop);
		else if (s->scan.mode == SCAN_STRIDE)
			sent = prefetch_stride(q);
	}
	mem_release();
	if (sent)
		pool_fill(q->array->data->pool);
}

/* A reader that comes this much later (ns), or finds the array changed, asks for the chunk
 * itself. */
static const int64_t EXPECTED = 4 * SECOND;

bool
array_expect(struct array *a)
{
	/* Of a shard it would cost two requests, for a chunk of which there are many. */
	if (!a->remote || !a->grid.bytes || (a->shard && shard_chunks(a->shard) > 1))
		return true;
	const struct scan s = {0};
	struct batch batch = {.array = a};
	int64_t now = clock_now();
	LOCKED(&a->lock)
		if (!a->streams)
			atomic_store(&a->left, now + EXPECTED);
	struct cache_requests k = {.n = 1};
	k.request[0] = (struct cache_request){
		.id = scan_extent(&s, a, 0, 0, 1),
		.hurry = CACHE_PREFETCH,
		.only_new = true,
		.now = now,
		.fresh = array_fresh(a, now),
		.begun = a->grown,
		.since = now,
		.loading = &a->loading,
	};
	bool all = k.request[0].id.len < a->grid.chunk_bytes || prefetch_send(&batch, &s, &k);
	batch_send(&batch);
	return all;
}
