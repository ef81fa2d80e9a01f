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
	WINDOW_PARTS = 128,
	ASKS = 64,      /* pieces looked up under one lock */
	COPY_AHEAD = 3, /* pieces whose bytes are called for before they are copied */
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
	int64_t now, fresh;
	struct reply *reply;
};

/* --- ahead of the reader and behind it; the stream's lock is held, the cache's is a leaf below it --- */

/* Loads that are about to begin, several small ones as one task. */
struct batch {
	struct array *array;
	struct piece *first, **last;
	size_t bytes;
	unsigned n;
	bool urgent, alone; /* alone: each piece is worth a task of its own */
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
	if (b->alone || b->bytes >= BATCH_BYTES || b->n >= BATCH_PIECES)
		batch_send(b);
}

/* What is asked for at once, under one lock of the cache. */
struct asks {
	struct cache_ask ask[ASKS];
	struct piece *piece[ASKS];
	int found[ASKS];
	unsigned part[ASKS];
	size_t n;
};

/* Has what is not there yet loaded. False: no room, or enough is under way. */
static bool
prefetch_send(struct batch *b, const struct scan *s, struct asks *k)
{
	struct array *a = b->array;
	if (!k->n)
		return true;
	if (pool_queued(a->data->pool) > QUEUED_MOST)
		return false;
	size_t done = cache_get_many(a->data->cache, k->ask, k->n, k->piece, k->found);
	for (size_t i = 0; i < done; i++) {
		if (k->found[i] != CACHE_CREATED)
			continue;
		atomic_fetch_add_explicit(&a->data->counts.prefetched, 1, memory_order_relaxed);
		batch_add(b, k->piece[i], s->keep_encoded);
	}
	bool all = done == k->n;
	k->n = 0;
	return all;
}

static bool
prefetch_piece(
	struct request *q, struct batch *b, struct asks *k, const struct piece_id *id, uint64_t at)
{
	k->ask[k->n++] = (struct cache_ask){
		.id = *id,
		.at = at,
		.hurry = CACHE_PREFETCH,
		.only_new = true,
		.now = q->now,
		.fresh = q->fresh,
	};
	return k->n < ASKS || prefetch_send(b, &q->stream->scan, k);
}

static bool
prefetch_band(struct request *q, struct batch *batch, const struct band *b)
{
	struct scan *s = &q->stream->scan;
	struct asks k;
	k.n = 0;
	for (uint64_t i = 0; i < b->n; i++) {
		struct piece_id id =
			scan_piece(s, q->array, b->first + i, b->in_chunk, b->in_chunk + 1);
		if (!prefetch_piece(q, batch, &k, &id, b->in_chunk))
			return false;
	}
	return prefetch_send(batch, s, &k);
}

static void
prefetch_order(struct request *q)
{
	struct scan *s = &q->stream->scan;
	const struct grid *g = &q->array->grid;
	struct batch batch = {.array = q->array};
	uint64_t to = min_u64(g->bytes, s->high + scan_window(s, q->array));
	while (s->ahead < to) {
		if (s->ahead % (g->chunk[g->lead] * g->file_step[g->lead]) == 0)
			scan_plan(s, q->array);
		struct band b;
		scan_band(s, g, s->ahead, &b);
		if (!prefetch_band(q, &batch, &b))
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
prefetch_stride(struct request *q)
{
	struct scan *s = &q->stream->scan;
	const struct grid *g = &q->array->grid;
	struct batch batch = {.array = q->array, .alone = true};
	struct asks k;
	k.n = 0;
	uint64_t at = s->last[0];
	for (unsigned i = 0; i < STRIDES_AHEAD * q->array->data->workers; i++) {
		at += (uint64_t)s->stride;
		if (at >= g->bytes || q->want->len > g->bytes - at)
			break;
		struct box box;
		struct part part;
		grid_box(g, at / g->item, ceil_div(at + q->want->len, g->item), &box);
		grid_first(g, &box, &part);
		do {
			struct piece_id id =
				scan_piece(s, q->array, part.number, part.in_chunk, part.last);
			if (!prefetch_piece(q, &batch, &k, &id, part.in_chunk))
				goto send;
		} while (grid_next(g, &box, &part));
	}
	prefetch_send(&batch, s, &k);
send:
	batch_send(&batch);
}

static void
cool_band(const struct scan *s, struct array *a, const struct band *b)
{
	struct piece_id id[ASKS];
	size_t n = 0;
	for (uint64_t i = 0; i < b->n; i++) {
		id[n] = scan_piece(s, a, b->first + i, b->in_chunk, b->in_chunk + 1);
		if (b->whole)
			id[n].len = SIZE_MAX;
		if (++n < ASKS && i + 1 < b->n)
			continue;
		cache_cool(a->data->cache, id, n);
		n = 0;
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
	if (q->scan.mode == SCAN_RANDOM)
		return;
	LOCKED(&s->lock) {
		if (s->scan.mode == SCAN_ORDER)
			prefetch_order(q);
		else if (s->scan.mode == SCAN_STRIDE)
			prefetch_stride(q);
	}
}

/* --- getting pieces --- */

/* What a request asks for bytes [at, to) of a chunk. holds: it has pinned others, and must not wait for memory. */
static struct cache_ask
ask_for(const struct request *q, uint64_t chunk, uint64_t at, uint64_t to, bool holds)
{
	struct cache_ask ask = {
		.id = scan_piece(&q->scan, q->array, chunk, at, to),
		.at = at,
		.hurry = holds ? CACHE_TRY : CACHE_WAIT,
		.keep = true,
		.now = q->now,
		.fresh = q->fresh,
		.deadline = q->want->deadline,
		.cancel = q->want->cancel,
	};
	if (q->scan.mode != SCAN_ORDER && ask.id.len < q->array->grid.chunk_bytes) {
		ask.larger = scan_larger(q->array, chunk, at);
		ask.crowd = CROWD;
	}
	return ask;
}

static void
begin(struct request *q, struct batch *b, struct piece *p)
{
	batch_add(b, p, q->scan.keep_encoded && q->scan.mode == SCAN_ORDER);
}

/* A pinned piece that is ready, or on its way: CACHE_READY, CACHE_BUSY. */
static int
get_piece(struct request *q, struct batch *b, const struct cache_ask *ask, struct piece **ret)
{
	if (ask->hurry == CACHE_WAIT)
		batch_send(b); /* nobody waits for memory while its own loads are not begun */
	int r = cache_get(q->array->data->cache, ask, ret);
	if (r != CACHE_CREATED)
		return r;
	begin(q, b, *ret);
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
	bool ready;
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
			struct cache_ask ask = ask_for(q, run.number, in, to, n > 0);
			r = n < REPLY_PARTS ? get_piece(q, &batch, &ask, &d[n].piece) : -EAGAIN;
			if (r < 0)
				break;
			const struct piece_id *got = &d[n].piece->id;
			d[n].ready = r == CACHE_READY;
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
		r = d[i].ready ? 0 : wait_piece(q, p);
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
	bool ready;
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

static void
hold(struct request *q, struct batch *b, struct window *w, struct piece *p, int found)
{
	if (found == CACHE_CREATED)
		begin(q, b, p);
	w->held[w->n++] = (struct held){p, w->parts - 1, found == CACHE_READY};
}

/* All pieces of one part, one by one. */
static int
hold_part(struct request *q, struct batch *b, struct cursor *c, struct window *w)
{
	w->part[w->parts++] = c->part;
	while (c->in_chunk < c->part.last && w->n < WINDOW_PIECES) {
		struct piece *p;
		struct cache_ask ask =
			ask_for(q, c->part.number, c->in_chunk, c->part.last, w->n > 0);
		int r = get_piece(q, b, &ask, &p);
		if (r < 0)
			return r;
		hold(q, b, w, p, r);
		c->in_chunk = p->id.off + p->id.len;
	}
	if (c->in_chunk >= c->part.last)
		cursor_part(&q->array->grid, c);
	return 0;
}

/* As many further parts as one look into the cache serves, of those that one piece holds. False: the next one must be held alone. */
static bool
hold_many(struct request *q, struct batch *b, struct cursor *c, struct window *w)
{
	struct asks k;
	struct cursor ahead = *c;
	k.n = 0;
	size_t most = min_u64(ASKS, min_u64(WINDOW_PIECES - w->n, WINDOW_PARTS - w->parts));
	for (; !ahead.end && k.n < most; cursor_part(&q->array->grid, &ahead))
		k.ask[k.n++] = ask_for(q, ahead.part.number, ahead.in_chunk, ahead.part.last, true);
	size_t n = cache_get_many(q->array->data->cache, k.ask, k.n, k.piece, k.found);
	for (size_t i = 0; i < n; i++) {
		struct piece *p = k.piece[i];
		w->part[w->parts++] = c->part;
		hold(q, b, w, p, k.found[i]);
		c->in_chunk = p->id.off + p->id.len;
		if (c->in_chunk >= c->part.last) {
			cursor_part(&q->array->grid, c);
			continue;
		}
		for (size_t j = i + 1; j < n;
			j++) { /* this part has further pieces: the rest comes later */
			if (k.found[j] == CACHE_CREATED)
				begin(q, b, k.piece[j]);
			cache_unpin(q->array->data->cache, &k.piece[j], 1);
		}
		return false;
	}
	return n == k.n;
}

/* Pins pieces from the cursor on, as many as there is room for; at least one. */
static int
fill_window(struct request *q, struct cursor *c, struct window *w)
{
	struct batch batch = {.array = q->array, .urgent = true};
	int r = 0;
	w->n = w->parts = 0;
	while (!c->end && w->parts < WINDOW_PARTS && w->n < WINDOW_PIECES && r >= 0) {
		if (!w->n || !hold_many(q, &batch, c, w))
			r = w->parts < WINDOW_PARTS && w->n < WINDOW_PIECES && !c->end
				    ? hold_part(q, &batch, c, w)
				    : 0;
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
		if (r == 0 && !w->held[i].ready)
			r = wait_piece(q, p);
		if (r == 0 && i && !same_version(pins[i - 1], p))
			r = -EAGAIN;
		if (i + COPY_AHEAD < w->n && w->held[i + COPY_AHEAD].ready)
			copy_soon(&w->part[w->held[i + COPY_AHEAD].part],
				w->held[i + COPY_AHEAD].piece);
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
	struct request q = {.stream = s, .array = a, .want = w, .now = when_now(), .reply = ret};
	q.fresh = array_fresh(a, q.now);
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
