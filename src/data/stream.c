/* One reader of an array: finds the pieces that hold what is asked for, has them loaded, and hands out pinned memory, or gathers
 * where the file's order is not the chunk's. */
#include "data/scan.h"

#include "base/check.h"
#include "data/copy.h"

#include <errno.h>
#include <string.h>

enum {
	DIRECT_FROM = 32 << 10, /* runs from this length on are handed out where they lie */
	DIRECT_MOST = 1 << 20,  /* longer requests are gathered, in windows */
	WINDOW_PIECES = 256,    /* pinned at once while gathering */
	WINDOW_PARTS = 64,
	VERSION_TRIES = 4,
	BATCH_BYTES = 256 << 10, /* small chunks are loaded several to a task */
	BATCH_PIECES = 16,
	QUEUED_MOST = 256, /* loads that wait for a worker before prefetching pauses */
	STRIDES_AHEAD = 4, /* for each worker */
	ACTIVE_MOST = 64,
	CROWD = 12, /* pieces of one chunk, loaded at random, after which larger ones are */
};

static const int64_t STUCK_AFTER = SECOND / 4;

struct stream {
	struct array *array;
	pthread_mutex_t lock; /* guards all below */
	struct scan scan;
	uint64_t active
		[ACTIVE_MOST]; /* where requests under way begin: what they read is not passed yet */
	unsigned nactive;
};

/* One request on its way. */
struct request {
	struct stream *stream;
	struct array *array;
	const struct array_want *want;
	struct scan scan; /* as it was when the request came */
	int64_t fresh;
	struct reply *reply;
};

/* --- ahead of the reader and behind it; the stream's lock is held, the cache's is a leaf below it --- */

/* Loads that are about to begin, several small ones as one task. */
struct batch {
	struct array *array;
	struct piece *first, **last;
	size_t bytes;
	unsigned n;
	bool urgent;
};

static void
batch_send(struct batch *b)
{
	if (b->n)
		load_start(b->array, b->first, b->urgent);
	b->n = 0;
	b->bytes = 0;
}

static void
batch_add(struct batch *b, struct piece *p, bool keep_encoded)
{
	if (!b->n)
		b->last = &b->first;
	p->keep_encoded = keep_encoded;
	*b->last = p;
	b->last = &p->batch;
	b->n++;
	b->bytes += p->id.len;
	if (b->bytes >= BATCH_BYTES || b->n >= BATCH_PIECES)
		batch_send(b);
}

/* False: no room, or enough is under way. */
static bool
prefetch_piece(struct batch *b, const struct scan *s, int64_t fresh, const struct piece_id *id,
	uint64_t at)
{
	struct array *a = b->array;
	struct cache_ask ask = {.id = *id, .at = at, .hurry = CACHE_PREFETCH, .fresh = fresh};
	struct piece *p;
	if (cache_has(a->data->cache, &ask))
		return true;
	if (pool_queued(a->data->pool) > QUEUED_MOST)
		return false;
	int r = cache_get(a->data->cache, &ask, &p);
	if (r < 0)
		return false;
	if (r != CACHE_CREATED) {
		cache_unpin(a->data->cache, &p, 1);
		return true;
	}
	atomic_fetch_add_explicit(&a->data->counts.prefetched, 1, memory_order_relaxed);
	batch_add(b, p, s->keep_encoded);
	return true;
}

static void
prefetch_order(struct scan *s, struct array *a, int64_t fresh)
{
	const struct grid *g = &a->grid;
	struct batch batch = {.array = a};
	uint64_t to = min_u64(g->bytes, s->high + scan_window(s, a));
	bool room = true;
	while (s->ahead < to && room) {
		if (s->ahead % (g->chunk[g->lead] * g->file_step[g->lead]) == 0)
			scan_plan(s, a);
		struct band b;
		scan_band(s, g, s->ahead, &b);
		for (uint64_t i = 0; i < b.n && room; i++) {
			struct piece_id id =
				scan_piece(s, a, b.first + i, b.in_chunk, b.in_chunk + 1);
			room = prefetch_piece(&batch, s, fresh, &id, b.in_chunk);
		}
		if (!room)
			break;
		uint64_t next = scan_next_group(s, g, s->ahead);
		bool all = b.end - s->ahead_from >= g->file_step[g->lead];
		s->ahead = all ? next : b.end;
		if (s->ahead == next)
			s->ahead_from = next;
	}
	batch_send(&batch);
}

static void
prefetch_stride(struct scan *s, struct array *a, int64_t fresh, size_t len)
{
	struct batch batch = {.array = a};
	uint64_t at = s->last[0];
	for (unsigned i = 0; i < STRIDES_AHEAD * a->data->workers; i++) {
		at += (uint64_t)s->stride;
		if (at >= a->grid.bytes || len > a->grid.bytes - at)
			break;
		struct box box;
		struct part part;
		uint64_t from = at / a->grid.item, to = ceil_div(at + len, a->grid.item);
		grid_box(&a->grid, from, to, &box);
		grid_first(&a->grid, &box, &part);
		do {
			struct piece_id id =
				scan_piece(s, a, part.number, part.in_chunk, part.last);
			if (!prefetch_piece(&batch, s, fresh, &id, part.in_chunk))
				break;
			batch_send(&batch);
		} while (grid_next(&a->grid, &box, &part));
	}
}

static void
cool_band(const struct scan *s, struct array *a, const struct band *b)
{
	for (uint64_t i = 0; i < b->n; i++) {
		struct piece_id id = scan_piece(s, a, b->first + i, b->in_chunk, b->in_chunk + 1);
		if (b->whole)
			id.len = SIZE_MAX;
		cache_cool(a->data->cache, &id);
	}
}

/* passed: nobody reads before it any more */
static void
cool_behind(struct scan *s, struct array *a, uint64_t passed)
{
	const struct grid *g = &a->grid;
	while (s->done < passed) {
		struct band b;
		uint64_t at =
			max_u64(s->done, g->slab_chunks > 1 ? scan_last_plane(s, g, s->done) : 0);
		if (at >= passed)
			break;
		scan_band(s, g, at, &b);
		if (b.end > passed)
			break;
		cool_band(s, a, &b);
		s->done = b.end;
	}
}

/* The reader goes elsewhere: what was loaded ahead of it is not worth more than anything else. */
static void
cool_ahead(struct scan *s, struct array *a)
{
	if (s->mode != SCAN_ORDER || !s->planes)
		return;
	for (uint64_t at = s->high; at < s->ahead;) {
		struct band b;
		scan_band(s, &a->grid, at, &b);
		cool_band(s, a, &b);
		at = b.end;
	}
	s->ahead = s->high;
}

static void
look_ahead(struct request *q)
{
	struct stream *s = q->stream;
	struct array *a = q->array;
	if (q->scan.mode == SCAN_RANDOM)
		return;
	LOCKED(&s->lock) {
		if (s->scan.mode == SCAN_ORDER)
			prefetch_order(&s->scan, a, q->fresh);
		else if (s->scan.mode == SCAN_STRIDE)
			prefetch_stride(&s->scan, a, q->fresh, q->want->len);
	}
}

/* --- getting pieces --- */

static int
get_piece(struct request *q, struct batch *b, const struct piece_id *id, uint64_t at, bool holds,
	struct piece **ret)
{
	struct array *a = q->array;
	struct cache_ask ask = {
		.id = *id,
		.at = at,
		.hurry = holds ? CACHE_TRY : CACHE_WAIT,
		.fresh = q->fresh,
		.deadline = q->want->deadline,
		.cancel = q->want->cancel,
	};
	if (q->scan.mode != SCAN_ORDER && id->len < a->grid.chunk_bytes) {
		ask.larger = scan_larger(a, id->chunk, at);
		ask.crowd = CROWD;
	}
	if (!holds)
		batch_send(b); /* nobody waits for memory while its own loads are not begun */
	int r = cache_get(a->data->cache, &ask, ret);
	if (r != CACHE_CREATED)
		return r;
	cache_pin(a->data->cache, *ret);
	batch_add(b, *ret, q->scan.keep_encoded && q->scan.mode == SCAN_ORDER);
	return CACHE_BUSY;
}

static int
wait_piece(struct request *q, struct piece *p)
{
	const struct array_want *w = q->want;
	struct data *d = q->array->data;
	for (;;) { /* a load that takes long must not keep the others from being loaded */
		int64_t soon = when_now() + STUCK_AFTER;
		bool final = w->deadline && w->deadline <= soon;
		int r = cache_wait(d->cache, p, final ? w->deadline : soon, w->cancel);
		if (final || r != CACHE_PATIENCE)
			return r == CACHE_PATIENCE ? err_set(-EIO, "timed out") : r;
		pool_patrol(d->pool, STUCK_AFTER);
	}
}

/* --- where the file's order is the chunk's: pieces are handed out as they are --- */

static void
add_part(struct reply *r, const void *data, size_t len)
{
	struct iovec *last = r->parts ? &r->part[r->parts - 1] : NULL;
	if (last && (const uint8_t *)last->iov_base + last->iov_len == data)
		last->iov_len += len;
	else
		r->part[r->parts++] = (struct iovec){(void *)(uintptr_t)data, len};
	r->len += len;
}

struct direct {
	struct piece *piece;
	uint64_t in_piece;
	size_t len;
};

/* Pins everything the request needs; -EAGAIN: too many pieces, or no memory for all at once. */
static int
pin_direct(struct request *q, struct direct *d, unsigned *ret_n)
{
	struct batch batch = {.array = q->array, .urgent = true};
	uint64_t at = q->want->off, end = at + q->want->len;
	unsigned n = 0;
	int r = 0;
	while (at < end && r >= 0) {
		struct run run;
		grid_run(&q->array->grid, at, &run);
		uint64_t in = run.in_chunk, to = in + min_u64(run.len, end - at);
		while (in < to && r >= 0) {
			struct piece_id id = scan_piece(&q->scan, q->array, run.number, in, to);
			r = n < REPLY_PARTS ? get_piece(q, &batch, &id, in, n > 0, &d[n].piece)
					    : -EAGAIN;
			if (r < 0)
				break;
			const struct piece_id *got = &d[n].piece->id;
			d[n].in_piece = in - got->off;
			d[n].len = min_u64(to, got->off + got->len) - in;
			in += d[n].len;
			at += d[n++].len;
		}
	}
	batch_send(&batch);
	*ret_n = n;
	return r < 0 ? r : 0;
}

static bool
same_version(const struct piece *a, const struct piece *b)
{
	return a->id.chunk != b->id.chunk || !strcmp(a->version, b->version);
}

/* Fill values where a chunk is absent, whole elements from the one that the run begins in. most: runs the request may have. */
static int
add_fill(struct request *q, const struct direct *d, unsigned most)
{
	struct buf *own = &q->reply->own;
	uint64_t item = q->array->grid.item, skip = d->in_piece % item;
	int r = buf_reserve(own, q->want->len + most * item);
	if (r < 0)
		return r;
	uint8_t *to = own->data + own->len;
	array_fill(q->array, to, d->len + skip);
	add_part(q->reply, to + skip, d->len);
	own->len += d->len + skip;
	return 0;
}

static int
read_direct(struct request *q)
{
	struct reply *ret = q->reply;
	struct direct d[REPLY_PARTS];
	unsigned n = 0;
	int r = pin_direct(q, d, &n);
	ret->cache = q->array->data->cache;
	for (unsigned i = 0; i < n; i++)
		ret->pinned[ret->pins++] = d[i].piece;
	if (r == 0)
		look_ahead(q);
	for (unsigned i = 0; i < n && r == 0; i++) {
		struct piece *p = d[i].piece;
		r = wait_piece(q, p);
		if (r == 0 && i && !same_version(d[i - 1].piece, p))
			r = -EAGAIN;
		if (r < 0)
			break;
		if (p->data)
			add_part(ret, p->data + d[i].in_piece, d[i].len);
		else
			r = add_fill(q, &d[i], n);
	}
	if (r < 0)
		reply_done(ret);
	return r;
}

/* --- where it is not: pieces are copied to the reply's own memory, a window at a time --- */

struct held {
	struct piece *piece;
	unsigned part;
};

struct window {
	struct held held[WINDOW_PIECES];
	struct part part[WINDOW_PARTS];
	unsigned n, parts;
};

/* How far a request has come: the box, the part of it, the byte in that part's chunk. */
struct cursor {
	struct box box;
	struct part part;
	uint64_t in_chunk;
	bool end;
};

static void
cursor_part(const struct grid *g, struct cursor *c)
{
	c->end = !grid_next(g, &c->box, &c->part);
	c->in_chunk = c->part.in_chunk;
}

/* Pins pieces from the cursor on, as many as there is room for; at least one. */
static int
fill_window(struct request *q, struct cursor *c, struct window *w)
{
	struct batch batch = {.array = q->array, .urgent = true};
	int r = 0;
	w->n = w->parts = 0;
	while (!c->end && w->parts < WINDOW_PARTS && w->n < WINDOW_PIECES && r >= 0) {
		w->part[w->parts++] = c->part;
		while (c->in_chunk < c->part.last && w->n < WINDOW_PIECES) {
			struct piece_id id = scan_piece(
				&q->scan, q->array, c->part.number, c->in_chunk, c->part.last);
			struct held *h = &w->held[w->n];
			r = get_piece(q, &batch, &id, c->in_chunk, w->n > 0, &h->piece);
			if (r < 0)
				break;
			h->part = w->parts - 1;
			c->in_chunk = h->piece->id.off + h->piece->id.len;
			w->n++;
		}
		if (r >= 0 && c->in_chunk >= c->part.last)
			cursor_part(&q->array->grid, c);
	}
	batch_send(&batch);
	return r < 0 && !(r == -EAGAIN && w->n) ? r : 0;
}

static int
empty_window(struct request *q, struct window *w, uint8_t *file)
{
	struct piece *pins[WINDOW_PIECES];
	int r = 0;
	for (unsigned i = 0; i < w->n; i++) {
		struct piece *p = pins[i] = w->held[i].piece;
		if (r == 0)
			r = wait_piece(q, p);
		if (r == 0 && i && !same_version(pins[i - 1], p))
			r = -EAGAIN;
		if (r == 0)
			copy_part(q->array, &w->part[w->held[i].part], p, file);
	}
	cache_unpin(q->array->data->cache, pins, w->n);
	return r;
}

/* file: where byte 0 of the file would lie. */
static int
gather_box(struct request *q, const struct box *box, uint8_t *file)
{
	struct window w;
	struct cursor c = {.box = *box};
	grid_first(&q->array->grid, &c.box, &c.part);
	c.in_chunk = c.part.in_chunk;
	int r = 0;
	while (!c.end && r == 0) {
		r = fill_window(q, &c, &w);
		if (r < 0 && w.n) {
			struct window failed = w; /* let go of what it holds */
			(void)empty_window(q, &failed, file);
		}
		if (r == 0) {
			look_ahead(q);
			r = empty_window(q, &w, file);
		}
	}
	return r;
}

static int
read_gathered(struct request *q)
{
	const struct grid *g = &q->array->grid;
	uint64_t off = q->want->off, first = off / g->item,
		 last = ceil_div(off + q->want->len, g->item);
	int r = buf_reserve(&q->reply->own, (last - first) * g->item);
	uint8_t *file = q->reply->own.data - first * g->item;
	for (uint64_t at = first; at < last && r == 0;) {
		struct box box;
		at += grid_box(g, at, last, &box);
		r = gather_box(q, &box, file);
	}
	if (r == 0)
		add_part(q->reply, file + off, q->want->len);
	else
		reply_done(q->reply);
	return r;
}

/* --- the stream --- */

int
stream_new(struct array *a, struct stream **ret)
{
	struct stream *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory");
	s->array = array_ref(a);
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

struct stream *
stream_free(struct stream *s)
{
	if (!s)
		return NULL;
	cool_ahead(&s->scan, s->array);
	scan_end(&s->scan, s->array);
	array_unref(s->array);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

static void
note(struct stream *s, struct request *q)
{
	struct array *a = s->array;
	LOCKED(&s->lock) {
		if (scan_breaks(&s->scan, q->want->off))
			cool_ahead(&s->scan, a);
		scan_note(&s->scan, a, q->want->off, q->want->len);
		if (s->scan.mode == SCAN_ORDER && !s->scan.planes)
			scan_plan(&s->scan, a);
		q->scan = s->scan;
		if (s->nactive < ACTIVE_MOST)
			s->active[s->nactive++] = q->want->off;
	}
}

static void
note_end(struct stream *s, struct request *q)
{
	LOCKED(&s->lock) {
		uint64_t passed = s->scan.high;
		unsigned mine = s->nactive;
		for (unsigned i = 0; i < s->nactive; i++) {
			if (mine == s->nactive && s->active[i] == q->want->off)
				mine = i;
			else
				passed = min_u64(passed, s->active[i]);
		}
		if (mine < s->nactive)
			s->active[mine] = s->active[--s->nactive];
		if (s->scan.mode == SCAN_ORDER)
			cool_behind(&s->scan, s->array, passed);
	}
}

int
stream_read(struct stream *s, const struct array_want *w, struct reply *ret)
{
	struct array *a = s->array;
	struct request q = {
		.stream = s, .array = a, .want = w, .fresh = array_fresh(a), .reply = ret};
	if (!w->len)
		return 0;
	if (scan_wants_size(a))
		load_probe_size(a, 0);
	note(s, &q);
	bool direct = a->grid.run_bytes >= DIRECT_FROM && w->len <= DIRECT_MOST;
	int r = -EAGAIN;
	for (int i = 0; i < VERSION_TRIES && r == -EAGAIN; i++) {
		r = direct ? read_direct(&q) : read_gathered(&q);
		if (direct && r == -EAGAIN)
			r = read_gathered(&q);
	}
	if (r == -EAGAIN)
		r = err_set(-EIO, "chunks change faster than they can be read");
	if (r == -ETIMEDOUT)
		r = err_set(-EIO, "timed out");
	note_end(s, &q);
	return r;
}
