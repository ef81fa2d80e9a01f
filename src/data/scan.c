#include "data/scan.h"

#include "base/check.h"

#include <stdlib.h>

enum {
	ORDER_FROM = 128 << 10,  /* bytes read in order that show a reader in file order */
	BACK = 2 * ORDER_FROM,   /* of two requests the later one may have been overtaken so far */
	SIZE_KNOWN_BY = 1 << 20, /* and by then the first chunk has come, if there is one */
	OVERTAKE = 16 << 20, /* how far requests of one reader may overtake each other: read-ahead
				on a busy machine */
	STRIDE_LEN = 256 << 10,  /* longer requests are no points of a stride */
	STRIDE_SLACK = 8 << 10,  /* strides look rounded to pages … */
	PAGE = 4 << 10,          /* … of so many bytes */
	WHOLE_BELOW = 128 << 10, /* chunks that are not worth loading in parts */
	RAW_GRAIN = 64 << 10,    /* of chunks that are stored as they are */
	GRAIN_GUESS = 256 << 10, /* until the first chunk says better */
	EXTENT_OVERHEAD = 512,   /* memory that a cached extent takes beside its bytes */
	WINDOW = 16 << 20,
	GROWTH = 4,            /* times what was read so far is fetched ahead … */
	GROWTH_SHARD = 16,     /* … and where chunks that lie side by side come at once */
	GROWTH_LARGE = 8,      /* … and where few large chunks were until then */
	FAR_FIRST = 4 << 20,   /* decoded bytes, at first: dozens of small chunks */
	LARGE = 1 << 20,       /* chunks of which each is much to fetch without a reader … */
	LARGE_FIRST = 3,       /* … so that one is ahead while so many are read … */
	LOOK = 9 << 20,        /* … or so many bytes: what tells a file's kind takes 7 MiB */
	BEYOND = 2304 << 10,   /* the kernel reads so far behind what a program wants */
	TAIL = 64 << 10,       /* the end of a chunk that is loaded alone */
	LARGER_MOST = 1 << 20, /* chunks that are loaded whole when they are read often */
	FETCH_WHOLE =
		2 << 20, /* stored bytes that a remote store sends sooner than it answers twice */
	START_WHOLE = 16 << 20, /* chunks that a remote store sends whole to a reader that begins at
				   the beginning */
	LARGER = 512 << 10,     /* and how much of larger ones is */
	READS_AT = 8,           /* bytes a nanosecond, faster than any reader reads */
	CROWD = 12,  /* extents of one chunk, loaded at random, after which larger ones are */
	RETURNS = 4, /* a stride that comes to one extent so often is worth loading all of it */
};

/* Memory for one of the readers in file order that there are now. */
static uint64_t
share_of(const struct array *a)
{
	return cache_budget(a->data->cache) / max_u64(1, atomic_load(&a->data->scans));
}

/* Does a plan depend on the stored size of chunks, while none is known? */
static bool
plans_by_size(const struct array *a)
{
	const struct grid *g = &a->grid;
	return !a->raw && !atomic_load(&a->encoded_mean) &&
	       g->slab_chunks * g->chunk_bytes > share_of(a) / 2;
}

/* --- recognising --- */

/* A run that begins near the end of a chunk may want only that of it: where readers share a file,
 * their parts begin at pages, not at chunks. */
static void
begin_tail(struct scan *s, const struct array *a)
{
	const struct grid *g = &a->grid;
	const uint64_t step = g->file_step[g->lead], around = step * g->shape[g->lead],
		       in = s->start % around, n = in / step / g->chunk[g->lead],
		       end = min_u64((n + 1) * g->chunk[g->lead], g->shape[g->lead]) * step;
	s->tail = UINT64_MAX;
	if (a->remote || g->slab_chunks != 1 || end - in > TAIL)
		return;
	s->tail = s->start / around * g->count[g->lead] + n;
	s->ahead = s->ahead_from = s->start - in + end;
}

static void
set_mode(struct scan *s, struct array *a, enum scan_mode mode)
{
	bool order = mode == SCAN_ORDER;
	if (order && !s->counted)
		atomic_fetch_add(&a->data->scans, 1);
	if (!order && s->counted)
		atomic_fetch_sub(&a->data->scans, 1);
	if (order && s->mode != SCAN_ORDER) {
		s->ahead = s->ahead_from = s->done = s->start;
		s->rows = 0;
		begin_tail(s, a);
	}
	s->counted = order;
	s->mode = mode;
}

static bool
is_stride(struct scan *s, size_t len)
{
	if (s->nlast < 3 || len > STRIDE_LEN)
		return false;
	int64_t d1 = (int64_t)(s->last[0] - s->last[1]), d2 = (int64_t)(s->last[1] - s->last[2]);
	s->stride = (d1 + d2) / 2;
	return llabs(d1 - d2) <= STRIDE_SLACK && llabs(d1) > (int64_t)len;
}

/* Programs step by whole indices, of which the kernel shows the pages: the stride that fits these,
 * and where the last point lies at least, so that those to come are not sought in other pages. */
static void
find_points(struct scan *s, const struct grid *g, int64_t before)
{
	const uint64_t far = (uint64_t)llabs(s->stride), off = s->last[0];
	unsigned d = 0;
	while (d + 1 < g->rank && g->file_step[d] > far + STRIDE_SLACK)
		d++;
	const uint64_t step = g->file_step[d], whole = (far + step / 2) / step * step;
	const uint64_t exact = s->stride < 0 ? -whole : whole;
	/* how far behind `off` the points before, and all that was known of them, say that it lies
	 */
	const int64_t by[] = {(int64_t)(s->last[1] + exact - off),
		(int64_t)(s->last[2] + 2 * exact - off), (int64_t)(s->point + exact - off)};
	int64_t least = 0, most = 0;
	for (unsigned i = 0; i < 2 + (before == (int64_t)exact); i++) {
		least = by[i] < least ? by[i] : least;
		most = by[i] > most ? by[i] : most;
	}
	const bool fits = whole && most - least < PAGE;
	s->point = fits ? off + (uint64_t)most : off;
	s->stride = fits ? (int64_t)exact : s->stride;
}

uint64_t
scan_point(const struct scan *s, unsigned n)
{
	const uint64_t at = s->point + n * (uint64_t)s->stride;
	const bool pages = ((s->last[0] - s->last[1]) | (s->last[1] - s->last[2])) % PAGE == 0;
	return pages ? at - (at - s->last[0]) % PAGE : at;
}

bool
scan_near(uint64_t front, uint64_t off)
{
	return front != UINT64_MAX && off <= front + OVERTAKE / 4 && off + OVERTAKE >= front;
}

bool
scan_begins(const struct scan *s, uint64_t off)
{
	return !s->covered || !scan_near(s->high, off);
}

void
scan_note(struct scan *s, struct array *a, uint64_t off, size_t len)
{
	const uint64_t end = off + len;
	const int64_t before = s->stride;
	s->last[2] = s->last[1];
	s->last[1] = s->last[0];
	s->last[0] = off;
	s->nlast += s->nlast < 3;
	/* Bytes before a run are none of it, and one that is not yet in file order goes on there
	 * only if they are near. */
	const bool goes_on = s->nlast == 3 && off == s->last[2] + len; /* behind the last but one */
	const bool back = s->mode != SCAN_ORDER && off < s->start && !goes_on;
	if (scan_begins(s, off) || (back && s->start - off > BACK)) {
		s->start = off;
		s->high = end;
		s->covered = 0;
		set_mode(s, a, SCAN_RANDOM);
	} else if (back) {
		s->start = off;
	}
	s->covered += len;
	s->high = max_u64(s->high, end);
	if (s->mode == SCAN_ORDER)
		return;
	const bool stride = is_stride(s, len);
	/* one that steps backwards seems to overtake itself */
	bool dense = s->covered >= (s->high - s->start) / 2 && !(stride && s->stride < 0);
	if (dense && !a->grid.uneven &&
		s->covered >= (plans_by_size(a) ? SIZE_KNOWN_BY : ORDER_FROM))
		set_mode(s, a, SCAN_ORDER);
	else
		set_mode(s, a, stride ? SCAN_STRIDE : SCAN_RANDOM);
	if (s->mode == SCAN_STRIDE)
		find_points(s, &a->grid, before);
}

void
scan_end(struct scan *s, struct array *a)
{
	set_mode(s, a, SCAN_RANDOM);
}

/* --- how much of each chunk --- */

/* Memory for loads under way that a plan leaves free. */
static uint64_t
reserve(const struct array *a, uint64_t budget)
{
	uint64_t encoded = atomic_load_explicit(&a->encoded_mean, memory_order_relaxed);
	uint64_t one = a->scratch + (a->raw ? 0 : encoded ? encoded : a->grid.chunk_bytes / 2);
	if (!a->ranged)
		one += a->grid.chunk_bytes;
	if (one > budget / 2) /* goes alone, as the one excess there may be */
		return 0;
	return max_u64(one, budget / CACHE_LEND);
}

bool
scan_wants_size(const struct array *a)
{
	return !a->remote && plans_by_size(a);
}

void
scan_plan(struct scan *s, struct array *a)
{
	const struct grid *g = &a->grid;
	uint64_t share = share_of(a);
	uint64_t depth = g->chunk[g->lead], cost = g->slab_chunks * EXTENT_OVERHEAD;
	uint64_t encoded = atomic_load_explicit(&a->encoded_mean, memory_order_relaxed);
	uint64_t row = g->slab_chunks * g->row_bytes, slab = g->slab_chunks * g->chunk_bytes;
	bool drifted =
		encoded > s->plan_encoded + s->plan_encoded / 4 || encoded < s->plan_encoded / 2;
	if (s->rows && share == s->plan_share && !drifted)
		return;
	s->plan_share = share;
	s->plan_encoded = encoded;
	uint64_t room = share - min_u64(share, cost + reserve(a, cache_budget(a->data->cache)));
	/* However many read at once: with an extent for each row, each chunk is decoded as often
	 * as it has rows. */
	room = max_u64(room, cache_budget(a->data->cache) / 16);
	s->keep_encoded = false;
	s->rows = depth;
	if (slab <= room || depth == 1)
		return;
	uint64_t kept =
		g->slab_chunks * (encoded + encoded / 16 + EXTENT_OVERHEAD); /* sizes vary */
	uint64_t steps = g->lead + 1 < g->rank ? g->count[g->lead + 1] : 1;
	uint64_t calm =
		room * steps /
		(steps + 1); /* a step of the next pass comes while this one is still read */
	if (!a->raw && encoded && kept <= room * 4 / 5 && calm > kept && (calm - kept) / row >= 1) {
		s->keep_encoded = true;
		room = calm - kept;
	}
	uint64_t fit = min_u64(max_u64(room / row, 1), depth);
	s->rows = ceil_div(depth, ceil_div(depth, fit)); /* the same number of passes, evenly */
}

/* Does a reader in file order, which did not begin at the beginning, perhaps want only the chunk
 * that it reads, so large that another one would take long to come? */
static bool
is_short(const struct scan *s, const struct array *a)
{
	const struct grid *g = &a->grid;
	return a->remote && a->ranged && s->mode == SCAN_ORDER && s->start && g->slab_chunks == 1 &&
	       g->chunk_bytes >= START_WHOLE && s->covered < g->chunk_bytes + BEYOND;
}

/* Are bytes from `at` on of a chunk what the kernel reads ahead of such a reader? */
static bool
is_beyond(const struct scan *s, const struct array *a, uint64_t chunk, uint64_t at)
{
	return at < BEYOND && chunk * a->grid.chunk_bytes > s->start && is_short(s, a);
}

struct extent_id
scan_extent(const struct scan *s, const struct array *a, uint64_t chunk, uint64_t at, uint64_t to)
{
	const struct grid *g = &a->grid;
	struct extent_id id = array_extent(a, chunk, 0, g->chunk_bytes);
	bool parts = a->ranged && g->chunk_bytes > WHOLE_BELOW;
	uint64_t unit = (s->rows ? s->rows : g->chunk[g->lead]) * g->row_bytes, n = 1;
	if (a->remote && s->mode == SCAN_RANDOM && !s->start && g->chunk_bytes <= START_WHOLE)
		return id; /* most readers that begin at the beginning go on, and would fetch it
			      again */
	if (is_beyond(s, a, chunk, at)) {
		unit = BEYOND;
	} else if (parts && (s->mode != SCAN_ORDER || chunk == s->tail)) {
		uint64_t grain = atomic_load_explicit(&a->grain, memory_order_relaxed);
		unit = a->raw ? RAW_GRAIN : grain ? grain : GRAIN_GUESS;
		n = ceil_div(to, unit) - at / unit;
	} else if (s->mode == SCAN_STRIDE && !a->ranged && !a->remote &&
		   g->chunk_bytes > LARGER_MOST) {
		unit = LARGER; /* one row of each chunk: new memory for all of it would cost as much
				  as decoding */
	} else if (s->mode != SCAN_ORDER && g->chunk_bytes > cache_budget(a->data->cache) / 2) {
		unit = max_u64(1, (4 << 20) / g->row_bytes) * g->row_bytes;
	}
	if (unit * n >= g->chunk_bytes)
		return id;
	id.off = at / unit * unit;
	id.len = min_u64(unit * n, g->chunk_bytes - id.off);
	return id;
}

/* How often the stride comes to `len` bytes of one chunk. */
static uint64_t
returns(const struct scan *s, const struct grid *g, uint64_t len)
{
	uint64_t stride = (uint64_t)llabs(s->stride);
	unsigned d = 0;
	if (!g->rank)
		return 0;
	while (d + 1 < g->rank && g->file_step[d] > stride + STRIDE_SLACK)
		d++;
	uint64_t steps = max_u64(1, stride / g->file_step[d]);
	return steps > g->chunk[d] ? 0
				   : min_u64(g->chunk[d] / steps, len / (steps * g->chunk_step[d]));
}

void
scan_larger(const struct scan *s, const struct array *a, struct cache_request *want)
{
	const struct grid *g = &a->grid;
	struct extent_id id = array_extent(a, want->id.chunk, 0, g->chunk_bytes);
	uint64_t few = cache_budget(a->data->cache) / 16;
	/* Where every extent costs decoding the chunk, the second one is all of it. */
	if (g->chunk_bytes > (a->ranged ? min_u64(LARGER_MOST, few) : few)) {
		id.off = want->at / LARGER * LARGER;
		id.len = min_u64(LARGER, g->chunk_bytes - id.off);
	}
	if (s->mode == SCAN_ORDER || id.len <= want->id.len)
		return;
	want->larger = id;
	want->crowd = a->ranged ? CROWD : 1;
	if (s->mode == SCAN_STRIDE && !a->raw && returns(s, g, id.len) >= RETURNS)
		want->crowd = 0;
}

enum keep
scan_keeps(const struct scan *s, const struct array *a, const struct extent_id *id)
{
	size_t mean = atomic_load_explicit(&a->encoded_mean, memory_order_relaxed);
	uint64_t stored = mean ? mean : a->grid.chunk_bytes / 2;
	if (s->mode == SCAN_ORDER && s->keep_encoded)
		return KEEP_FOR_PASS;
	if (s->mode == SCAN_ORDER)
		return a->data->options.remote && id->len == a->grid.chunk_bytes &&
				       s->rows == a->grid.chunk[a->grid.lead]
			       ? KEEP_AS_VICTIM
			       : KEEP_NOT;
	bool parts = a->remote && a->ranged && !a->raw && a->grid.chunk_bytes > WHOLE_BELOW;
	return parts && stored <= FETCH_WHOLE ? KEEP_FOR_ALL : KEEP_NOT;
}

/* --- the way through the file --- */

/* Where in the file order an offset lies: indices of the leading dimension and what goes around
 * it. */
struct position {
	uint64_t outer; /* file offset where index 0 of the leading dimension begins */
	uint64_t t;     /* index of the leading dimension */
	uint64_t pass;  /* first index of the pass of rows */
	uint64_t pass_end, chunk_end; /* first index behind the pass, and behind the chunk */
	uint64_t rest;                /* bytes into the row */
};

static void
locate(const struct scan *s, const struct grid *g, uint64_t at, struct position *p)
{
	uint64_t step = g->file_step[g->lead], around = step * g->shape[g->lead],
		 depth = g->chunk[g->lead];
	p->outer = at / around * around;
	p->t = (at - p->outer) / step;
	p->rest = (at - p->outer) % step;
	uint64_t first = p->t / depth * depth, in = p->t - first;
	p->chunk_end = min_u64(first + depth, g->shape[g->lead]);
	p->pass = first + in / s->rows * s->rows;
	p->pass_end = min_u64(p->pass + s->rows, p->chunk_end);
}

void
scan_step(const struct scan *s, const struct grid *g, uint64_t at, struct prefetch_step *b)
{
	struct position p;
	locate(s, g, at, &p);
	uint64_t step = g->file_step[g->lead], index[RANK_MAX] = {0}, rest = at;
	for (unsigned d = 0; d <= g->lead; d++) {
		index[d] = rest / g->file_step[d] / g->chunk[d];
		rest %= g->file_step[d];
	}
	b->in_chunk = p.t % g->chunk[g->lead] * g->row_bytes;
	b->n = g->slab_chunks;
	if (g->slab_chunks == 1) { /* a row is one chunk: all rows of a pass at once */
		b->end = p.outer + p.pass_end * step;
		b->last = true;
	} else {
		unsigned d = g->lead + 1;
		index[d] = p.rest / g->file_step[d] / g->chunk[d];
		b->n /= g->count[d];
		uint64_t row = min_u64((index[d] + 1) * g->chunk[d], g->shape[d]);
		b->end = at - p.rest + row * g->file_step[d];
		b->last = p.t + 1 == p.pass_end;
	}
	b->whole = b->last && p.pass_end == p.chunk_end;
	b->first = grid_number(g, index);
}

uint64_t
scan_pass(const struct scan *s, const struct grid *g, uint64_t at)
{
	struct position p;
	locate(s, g, at, &p);
	return p.outer + p.pass * g->file_step[g->lead];
}

uint64_t
scan_next_pass(const struct scan *s, const struct grid *g, uint64_t at)
{
	struct position p;
	locate(s, g, at, &p);
	return p.outer + p.pass_end * g->file_step[g->lead];
}

uint64_t
scan_last_row(const struct scan *s, const struct grid *g, uint64_t at)
{
	struct position p;
	locate(s, g, at, &p);
	return p.outer + (p.pass_end - 1) * g->file_step[g->lead];
}

/* Bytes ahead of a reader that hide how long the store takes to send a chunk: little where a cache
 * on disk answers. */
static uint64_t
far(const struct array *a)
{
	uint64_t time = (uint64_t)atomic_load_explicit(&a->fetch_time, memory_order_relaxed);
	uint64_t most = min_u64(FAR * a->grid.chunk_bytes, share_of(a) / 2);
	return time ? min_u64(most, time * READS_AT) : most;
}

/* The same, by what the reader has read: a reader of one row of a field, or of what tells a file's
 * kind, reads in order too, but not for long: a chunk of which only the first bytes were asked for
 * may be behind the row. A reader that began at the beginning mostly goes on. */
static uint64_t
far_yet(const struct scan *s, const struct array *a)
{
	const struct grid *g = &a->grid;
	uint64_t first = s->start ? 0 : FAR_FIRST / s->rows, growth = GROWTH;
	if (g->slab_chunks == 1 && g->chunk_bytes >= LARGE) {
		if (is_short(s, a))
			return 0;
		if (s->covered < max_u64(LARGE_FIRST * g->chunk_bytes, LOOK)) {
			const uint64_t most = max_u64(g->chunk_bytes, FAR_FIRST);
			return s->start ? min_u64(GROWTH * s->covered, most - BEYOND)
					: min_u64(max_u64(GROWTH * s->covered, first), most);
		}
		growth = GROWTH_LARGE;
	}
	return max_u64((a->shard ? GROWTH_SHARD : growth) * s->covered, first);
}

uint64_t
scan_window(const struct scan *s, const struct array *a)
{
	const struct grid *g = &a->grid;
	uint64_t pass = s->rows * g->file_step[g->lead];
	uint64_t window = g->slab_chunks == 1
				  ? 2 * pass
				  : pass / 5 * 3; /* decoded while this one is still read */
	/* Where stored bytes are kept, those of chunks that are far away do not fit beside them. */
	if (array_slow(a) && !s->keep_encoded)
		window = max_u64(window, far(a));
	window = max_u64(WINDOW, window);
	/* by the memory that it takes */
	window = min_u64(window,
		window / (g->chunk_bytes + EXTENT_OVERHEAD) * g->chunk_bytes + g->chunk_bytes);
	/* None looks much farther ahead than was read so far, but on disks where other rows are
	 * the same chunks. */
	if (array_slow(a))
		return min_u64(window, far_yet(s, a));
	return g->slab_chunks > 1 ? window : min_u64(window, s->covered);
}
