/* Where a chunk's bytes are in a shard: by the shard's index, which is cached as an extent of the
 * shard beside its chunks, so that it has their version, is compared with the store when they are,
 * and counts in the same budget. */
#include "data/load_impl.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>

enum {
	GAP = 4096, /* bytes that are read for nothing rather than that another request is made … */
	GAP_REMOTE = 128 << 10, /* … which costs a round trip */
};

/* The entries of a shard's index, and behind them how many bytes the shard has. */
struct index {
	const uint8_t *entries;
	uint64_t size;
	char version[ZMAP_VERSION];
	int64_t begun;         /* clock_now() before the store was asked for it, or whether it has
				  changed */
	struct extent *extent; /* where it is cached, pinned; NULL: it is not */
	struct buf own;        /* else where it is … */
	size_t borrowed;       /* … and memory for it that the cache knows of */
};

/* As it is stored, as entries, and sorted. */
enum { INDEX_COPIES = 3, INDEX_SMALL = 256 << 10 };

static void
let_go(struct load *l, struct index *x)
{
	if (x->extent)
		cache_unpin(l->array->data->cache, &x->extent, 1);
	buf_free(&x->own);
	cache_give_back(l->array->data->cache, x->borrowed);
	*x = (struct index){0};
}

static size_t
index_len(const struct array *a)
{
	return shard_entries_bytes(a->shard) + sizeof(uint64_t);
}

/* No chunk has that number. */
static struct extent_id
index_extent(const struct load *l)
{
	uint64_t object = array_object(l->array, l->extent->id.chunk);
	return (struct extent_id){
		l->array->space, ~object, EXTENT_ENCODED, index_len(l->array), object};
}

size_t
load_index_scratch(struct load *l)
{
	const struct array *a = l->array;
	const size_t len = a->shard ? index_len(a) : 0;
	if (len < INDEX_SMALL || l->index)
		return 0;
	const struct cache_request want = {
		/* one past its TTL too: it is compared with the store once, and no load waits for
		   memory */
		.id = index_extent(l),
		.only_there = true,
		.hurry = CACHE_TRY,
		.begun = a->grown,
		.of = l->extent,
	};
	return cache_get(a->data->cache, &want, &l->index) < 0 ? INDEX_COPIES * len : 0;
}

void
load_index_let_go(struct load *l)
{
	if (l->index)
		cache_unpin(l->array->data->cache, &l->index, 1);
	l->index = NULL;
}

/* Asks the store. prev: what was known before, or NULL. Outcomes as zmap_get. */
static int
fetch_index(struct load *l, const struct extent *prev, struct buf *ret)
{
	const struct array *a = l->array;
	size_t n = shard_index_bytes(a->shard);
	CLEAN(buf_free) struct buf stored = {0};
	struct zmap_get g = {
		.len = n, .from_end = !shard_index_first(a->shard), .into = &stored, .max = n};
	if (l->extent->superseded)
		g.if_match = l->extent->version;
	else if (prev && *prev->version)
		g.if_none_match = prev->version;
	int r = load_object(l, &g);
	if (r == ZMAP_SAME) {
		memcpy(l->stat.version, prev->version, sizeof l->stat.version);
		return buf_add(ret, prev->data, prev->encoded_len);
	}
	if (r == 0)
		r = buf_reserve(ret, index_len(a));
	if (r == 0)
		r = load_decoded(l, shard_read_index(a->shard, buf_span(&stored), ret->data));
	if (r != 0)
		return r;
	ret->len = shard_entries_bytes(a->shard);
	return buf_add(ret, &l->stat.size, sizeof l->stat.size);
}

/* A shard that is absent has no version. */
static int
fill_index(struct load *l, struct extent *p, struct buf *from, int r)
{
	bool absent = r == ZMAP_ABSENT && !p->superseded;
	if (absent)
		*l->stat.version = '\0';
	int filled = load_fill_stored(l, p, from, absent ? 0 : r);
	return absent ? r : filled;
}

static int
was_absent(struct load *l, const struct extent *p)
{
	if (p->begun < l->extent->begun)
		l->extent->begun = p->begun;
	return ZMAP_ABSENT;
}

/* What has been found is the load's for now, unless r says that nothing was. Returns r. */
static int
use(struct load *l, struct index *x, int r)
{
	const struct extent *p = x->extent;
	if (r != 0) {
		let_go(l, x);
		return r;
	}
	x->entries = p ? p->data : x->own.data;
	memcpy(&x->size, x->entries + shard_entries_bytes(l->array->shard), sizeof x->size);
	memcpy(x->version, p ? p->version : l->stat.version, sizeof x->version);
	x->begun = p ? p->begun : l->extent->begun;
	return 0;
}

/* One that was compared with the store since `fresh`. Outcomes as zmap_get. */
static int
find_index(struct load *l, int64_t fresh, struct index *x)
{
	const struct array *a = l->array;
	struct stored s = {.id = index_extent(l),
		.keep = KEEP_FOR_ALL,
		.beside = index_len(a) >= INDEX_SMALL,
		.fresh = fresh};
	int r = load_stored(l, &s);
	struct extent *p = s.extent;
	*x = (struct index){.extent = p};
	if (r == 0 && (!p || s.new)) {
		r = fetch_index(l, p ? p->prev : NULL, &x->own);
		if (p)
			r = fill_index(l, p, &x->own, r);
	} else if (p && !p->data) {
		r = was_absent(l, p);
	}
	return use(l, x, r);
}

/* One that the store is asked for now, for this load alone. The same. */
static int
ask_index(struct load *l, struct index *x)
{
	*x = (struct index){.borrowed = INDEX_COPIES * index_len(l->array)};
	cache_borrow(l->array->data->cache, x->borrowed);
	return use(l, x, fetch_index(l, NULL, &x->own));
}

/* What the index alone tells. 0: the chunk's bytes are needed. */
static int
place_by_index(
	struct load *l, const struct zmap_get *g, const struct index *x, struct shard_place *ret)
{
	const struct array *a = l->array;
	if (g->if_match && strcmp(g->if_match, x->version) != 0)
		return ZMAP_CHANGED;
	bool same = g->if_none_match && *x->version && !strcmp(g->if_none_match, x->version);
	int r = same ? ZMAP_SAME
		     : load_decoded(l,
			       shard_find(a->shard, x->entries,
				       array_chunk_in_shard(a, l->extent->id.chunk), x->size, ret));
	if (r == SHARD_MISSING)
		r = ZMAP_ABSENT;
	if (r > 0 && x->begun < l->extent->begun)
		l->extent->begun = x->begun;
	memcpy(l->stat.version, x->version, sizeof l->stat.version);
	return r;
}

/* Is one request with `gap` bytes too many better than two? */
static bool
near(const struct array *a, uint64_t gap)
{
	return gap <= (a->remote ? GAP_REMOTE : GAP);
}

/* What is asked for at once: bytes [off, end) of the shard, with those of chunks that the same task
 * loads. */
struct shard_range {
	uint64_t off, end;
};

static bool
extend(const struct array *a, const struct shard_place *p, uint64_t most, struct shard_range *r)
{
	uint64_t off = p->off < r->off ? p->off : r->off,
		 end = p->off + p->len > r->end ? p->off + p->len : r->end;
	uint64_t gap = p->off > r->end            ? p->off - r->end
		       : p->off + p->len < r->off ? r->off - p->off - p->len
						  : 0;
	if (!near(a, gap) || end - off > most || (off == r->off && end == r->end))
		return false;
	*r = (struct shard_range){off, end};
	return true;
}

/* Where the chunk of an extent that is not to be compared with a former one lies; outcomes as
 * shard_find, SHARD_MISSING too where it would cost no request. */
static int
find(const struct load *l, const struct index *x, const struct extent *p, struct shard_place *ret)
{
	const struct array *a = l->array;
	if (p->id.object != l->extent->id.object || p->prev || p->superseded)
		return -EAGAIN;
	return shard_find(a->shard, x->entries, array_chunk_in_shard(a, p->id.chunk), x->size, ret);
}

static struct shard_range
join(const struct load *l, const struct index *x, const struct shard_place *first)
{
	const struct data *d = l->array->data;
	const size_t limit = d->options.memory / CACHE_LEND, used = atomic_load(&d->joined);
	const uint64_t most = min_u64(LOAD_JOINED, limit - min_u64(limit, used));
	struct shard_range r = {first->off, first->off + first->len};
	struct shard_place at[LOAD_BATCH];
	unsigned n = 0;
	for (const struct extent *p = *l->rest; p && n < LOAD_BATCH; p = p->batch)
		n += find(l, x, p, &at[n]) == 0;
	bool more = true;
	while (more) {
		more = false;
		for (unsigned i = 0; i < n; i++)
			more |= extend(l->array, &at[i], most, &r);
	}
	return r;
}

/* What the same task was to load and needs requests of its own is loaded at the same time, by other
 * tasks. range: what this load asks for; NULL: nothing that another could use. */
static void
part_from(struct load *l, const struct index *x, const struct shard_range *range)
{
	struct extent *far = NULL, **last = &far, **at = l->rest;
	struct shard_place place;
	while (array_slow(l->array) && *at) {
		struct extent *p = *at;
		int r = range ? find(l, x, p, &place) : -EAGAIN;
		if (r == SHARD_MISSING || (r == 0 && place.off >= range->off &&
						  place.off + place.len <= range->end)) {
			at = &p->batch;
			continue;
		}
		*at = p->batch;
		p->batch = NULL;
		*last = p;
		last = &p->batch;
	}
	if (far)
		load_apart(l, far);
}

static bool
is_absent(const struct load *l)
{
	return l->joined->absent && l->joined->object == l->extent->id.object;
}

void
load_joined_free(struct data *d, struct joined *j)
{
	atomic_fetch_sub(&d->joined, j->counted);
	j->counted = 0;
	buf_free(&j->bytes);
}

/* One request to the shard, of the version that the index is of. ZMAP_CHANGED: there is another. */
static int
fetch_part(struct load *l, struct zmap_get *g, const struct index *x)
{
	size_t before = g->into->len, len = g->len;
	g->from_end = false;
	g->if_none_match = NULL;
	g->if_match = *x->version ? x->version : NULL;
	int r = load_object(l, g);
	bool other =
		r == 0 && (strcmp(l->stat.version, x->version) != 0 || l->stat.size != x->size);
	if (other)
		g->into->len = before;
	else if (r == 0 && g->into->len - before < len)
		r = load_decoded(l, err_set(-EIO, "truncated"));
	return other || r == ZMAP_ABSENT ? ZMAP_CHANGED : r;
}

static bool
has_joined(const struct load *l, const struct index *x, const struct zmap_get *part)
{
	const struct joined *j = l->joined;
	return j->bytes.len && !l->bypass_cache && j->object == l->extent->id.object &&
	       part->off >= j->off && part->off + part->len <= j->off + j->bytes.len &&
	       !strcmp(j->version, x->version);
}

static int
fetch_joined(struct load *l, const struct zmap_get *part, const struct index *x,
	const struct shard_range *range)
{
	struct joined *j = l->joined;
	struct zmap_get all = *part;
	load_joined_free(l->array->data, j);
	j->counted = range->end - range->off;
	atomic_fetch_add(&l->array->data->joined, j->counted);
	j->absent = false;
	j->object = l->extent->id.object;
	j->off = all.off = range->off;
	j->begun = l->extent->begun;
	all.len = all.max = range->end - range->off;
	all.into = &j->bytes;
	int r = fetch_part(l, &all, x);
	j->stat = l->stat;
	memcpy(j->version, x->version, sizeof j->version);
	return r;
}

static int
take_joined(struct load *l, const struct zmap_get *part)
{
	const struct joined *j = l->joined;
	l->stat = j->stat;
	if (j->begun < l->extent->begun)
		l->extent->begun = j->begun;
	return buf_add(part->into, j->bytes.data + (part->off - j->off), part->len);
}

/* The request for bytes of a chunk made into one for bytes of its shard, and its answer. */
static int
fetch_chunk(struct load *l, struct zmap_get *g, const struct index *x, const struct shard_place *p)
{
	struct zmap_get part = *g;
	uint64_t off;
	int r = zmap_range(g, p->len, &off, &part.len);
	part.off = p->off + off;
	if (r == 0 && !l->bypass_cache && !has_joined(l, x, &part)) {
		const struct shard_range range =
			part.len == p->len ? join(l, x, p) : (struct shard_range){0};
		part_from(l, x, &range);
		if (range.end - range.off > p->len)
			r = fetch_joined(l, &part, x, &range);
	}
	if (r == 0 && part.len)
		r = has_joined(l, x, &part) ? take_joined(l, &part) : fetch_part(l, &part, x);
	l->stat.size = p->len;
	l->object_size = x->size;
	return r;
}

/* A shard that is absent has no version, and is none of a former one. All chunks of it that the
 * same task loads are absent with it. */
static int
no_index(struct load *l, const struct zmap_get *g, int r)
{
	struct joined *j = l->joined;
	if (r != ZMAP_ABSENT) {
		part_from(l, NULL, NULL);
		return r;
	}
	if (!is_absent(l))
		*j = (struct joined){.bytes = j->bytes,
			.counted = j->counted,
			.absent = true,
			.object = l->extent->id.object,
			.begun = l->extent->begun};
	j->bytes.len = 0;
	if (j->begun < l->extent->begun)
		l->extent->begun = j->begun;
	*l->stat.version = '\0';
	return g->if_match ? ZMAP_CHANGED : r;
}

/* The cache gives the index of a version that is gone to readers of that one, and one that was
 * asked for before the shard changed. After that often a load asks for it alone, and so often at
 * most. */
enum { AGAIN_MOST = 2, ALONE_TRIES = 4 };

/* Bytes of the chunk, which is one of a shard: by its index, which is asked for where it is not
 * cached. */
static int
from_shard(struct load *l, struct zmap_get *g)
{
	int64_t fresh = array_fresh(l->array, clock_now());
	char gone[ZMAP_VERSION] = "";
	unsigned again = 0; /* how often it was the index of the version that is gone */
	int r = ZMAP_CHANGED;
	if (is_absent(l) && !l->bypass_cache)
		return no_index(l, g, ZMAP_ABSENT);
	for (int i = 0; i < VERSION_TRIES && r == ZMAP_CHANGED; fresh = clock_now()) {
		struct index x;
		struct shard_place p;
		const bool alone = again >= AGAIN_MOST;
		i += alone ? VERSION_TRIES / ALONE_TRIES : 1;
		r = alone ? ask_index(l, &x) : find_index(l, fresh, &x);
		if (r != 0)
			return no_index(l, g, r);
		bool same = !alone && *gone && !strcmp(x.version, gone);
		again += same;
		memcpy(gone, x.version, sizeof gone);
		r = same ? ZMAP_CHANGED : place_by_index(l, g, &x, &p);
		if (r == 0)
			r = fetch_chunk(l, g, &x, &p);
		let_go(l, &x);
		if (g->if_match && (alone || l->extent->superseded))
			break;
		again = g->if_match ? AGAIN_MOST : again;
	}
	return r;
}

int
load_get(struct load *l, struct zmap_get *g)
{
	return l->array->shard ? from_shard(l, g) : load_object(l, g);
}
