/* Elements at even distances, chunk by chunk: what a picture of an array is made of. */
#include "data/request.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>

enum {
	WHOLE_BELOW = 4 << 20, /* bytes of a chunk that is not worth having in parts */
	WHOLE_PART = 8,        /* of the budget, where a part costs decoding the chunk */
	AHEAD_EACH = 2,        /* chunks for each worker that are decoded at once */
};

/* Bytes of the chunk from the first element to the last. */
static void
extent(const struct sieve *s, uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = s->first;
	*ret_to = s->first + (s->rows - 1) * s->row_step + (s->columns - 1) * s->column_step +
		  s->bytes;
}

/* What to load for the bytes [from, to) of a chunk. */
static struct extent_id
extent_for(const struct array *a, uint64_t chunk, uint64_t from, uint64_t to)
{
	uint64_t all = a->grid.chunk_bytes, most = cache_budget(a->data->cache) / WHOLE_PART;
	uint64_t grain = a->raw ? 1 : max_u64(1, atomic_load(&a->grain));
	bool whole = all <= WHOLE_BELOW || to - from >= all / 2 || (a->remote && !a->raw) ||
		     (!a->ranged && all <= most);
	if (!whole && a->ranged) {
		from -= from % grain;
		to = min_u64(round_up(to, grain), all);
	}
	return whole ? array_extent(a, chunk, 0, all) : array_extent(a, chunk, from, to - from);
}

static struct cache_request
request_for(const struct read_request *q, uint64_t chunk, uint64_t from, uint64_t to)
{
	return request_cache_extent(q, extent_for(q->array, chunk, from, to), from, CACHE_WAIT);
}

/* Has the chunks of n sieves loaded, as far as there is room. */
static void
expect(struct read_request *q, const struct sieve *s, size_t n)
{
	struct batch batch = {.array = q->array};
	struct cache_requests k;
	for (k.n = 0; k.n < n && k.n < REQUESTS_AT_ONCE; k.n++) {
		uint64_t from, to;
		extent(&s[k.n], &from, &to);
		k.request[k.n] = request_for(q, s[k.n].chunk, from, to);
		k.request[k.n].hurry = CACHE_PREFETCH;
		k.request[k.n].keep = false;
		k.request[k.n].only_new = true;
	}
	size_t done = cache_get_many(q->array->data->cache, k.request, k.n, k.extent, k.found);
	for (size_t i = 0; i < done; i++)
		if (k.found[i] == CACHE_CREATED)
			batch_add(&batch, k.extent[i], KEEP_NOT);
	batch_send(&batch);
}

/* What the extent has of the bytes at `at` of the chunk. */
static void
take_element(const struct read_request *q, const struct extent *p, uint64_t at, size_t bytes,
	uint8_t *to)
{
	uint64_t from = max_u64(at, p->id.off), end = min_u64(at + bytes, p->id.off + p->id.len);
	const size_t item = q->array->grid.item;
	if (from >= end)
		return;
	if (p->data)
		memcpy(to + (from - at), p->data + (from - p->id.off), end - from);
	else
		for (uint64_t i = from; i < end; i++)
			to[i - at] = q->array->fill[(i - at) % item];
}

static void
take(const struct read_request *q, const struct sieve *s, const struct extent *p)
{
	for (uint64_t r = 0; r < s->rows; r++) {
		uint64_t at = s->first + r * s->row_step;
		uint8_t *to = s->to + r * s->to_step;
		if (at >= p->id.off + p->id.len)
			break;
		for (uint64_t c = 0; c < s->columns; c++, at += s->column_step, to += s->to_column)
			take_element(q, p, at, s->bytes, to);
	}
}

/* One extent of the chunk, from byte *from on, which becomes its end. version: of the extents
 * before; "": there were none. */
static int
sift_extent(
	struct read_request *q, const struct sieve *s, uint64_t *from, uint64_t to, char *version)
{
	struct batch batch = request_batch(q);
	struct cache_request want = request_for(q, s->chunk, *from, to);
	struct extent *p;
	int r = request_extent(q, &batch, &want, &p);
	if (r < 0)
		return r;
	batch_end(&batch, 0);
	r = r == CACHE_READY ? 0 : request_wait(q, p);
	if (r == 0 && *from != s->first && strcmp(version, p->version) != 0)
		r = -EAGAIN;
	if (r == 0) {
		memcpy(version, p->version, ZMAP_VERSION);
		take(q, s, p);
		*from = p->id.off + p->id.len;
	}
	cache_unpin(q->array->data->cache, &p, 1);
	return r;
}

static int
sift_chunk(struct read_request *q, const struct sieve *s)
{
	int r = -EAGAIN;
	for (int i = 0; i < VERSION_TRIES && r == -EAGAIN; i += !MOVE(q->old)) {
		char version[ZMAP_VERSION] = "";
		uint64_t from, to;
		extent(s, &from, &to);
		for (r = 0; from < to && r == 0;)
			r = sift_extent(q, s, &from, to, version);
		if (r == -ESTALE && !q->want->since) { /* the reader has none of it yet */
			q->since = clock_now();
			r = -EAGAIN;
		}
	}
	if (r == -EAGAIN)
		r = err_set(-EIO, "chunks change faster than they can be read");
	return r == -ETIMEDOUT || r == -ESTALE
		       ? err_add(-EIO, "chunk %llu", (unsigned long long)s->chunk)
		       : r;
}

int
stream_sift(struct stream *st, const struct array_want *w, const struct sieve *s, size_t n)
{
	struct array *a = st->array;
	struct err why;
	struct read_request q = {.array = a, .want = w, .now = clock_now(), .why = &why};
	why.code = 0;
	q.fresh = array_fresh(a, q.now);
	q.since = w->since ? w->since : q.now;
	size_t most = array_slow(a) ? FAR : AHEAD_EACH * a->data->workers, expected = 1;
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (expected < n && i + most / 2 >= expected) {
			size_t more = min_u64(n - expected, most);
			expect(&q, &s[expected], more);
			expected += more;
		}
		r = sift_chunk(&q, &s[i]);
	}
	return r;
}
