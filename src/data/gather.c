/* Where the file's order is not the chunk's: extents are copied to the reply's own memory, a window
 * at a time. */
#include "data/request.h"

#include "base/check.h"
#include "data/copy.h"

#include <errno.h>

enum {
	WINDOW_PIECES = 256, /* pinned at once */
	WINDOW_PARTS = 128,
	COPY_AHEAD = 3, /* extents whose bytes are called for before they are copied */
};

struct gather_held {
	struct extent *extent;
	unsigned part;
	bool ready;
};

struct window {
	struct gather_held held[WINDOW_PIECES];
	struct part part[WINDOW_PARTS]; /* in_file counted from `origin` */
	uint64_t origin;                /* byte of the file that comes first in the answer … */
	size_t bytes;                   /* … and how many it has */
	unsigned n, parts;
};

/* How far a request has come: the box, the part of it, the byte in that part's chunk. */
struct cursor {
	struct box box;
	struct part part;
	uint64_t in_chunk;
	bool end;
};

/* To the next part that anything stored is wanted of. */
static void
cursor_part(const struct read_request *q, struct cursor *c)
{
	do
		c->end = !grid_next(&q->array->grid, &c->box, &c->part);
	while (!c->end && cover_has(q->over, c->part.number));
	c->in_chunk = c->part.in_chunk;
}

static void
cursor_first(const struct read_request *q, const struct box *box, struct cursor *ret)
{
	*ret = (struct cursor){.box = *box};
	grid_first(&q->array->grid, &ret->box, &ret->part);
	ret->in_chunk = ret->part.in_chunk;
	if (cover_has(q->over, ret->part.number))
		cursor_part(q, ret);
}

static void
hold(struct read_request *q, struct batch *b, struct window *w, struct extent *p, int found)
{
	if (found == CACHE_CREATED)
		request_load(q, b, p);
	w->held[w->n++] = (struct gather_held){p, w->parts - 1, found == CACHE_READY};
}

static void
add_part(struct window *w, const struct part *p)
{
	w->part[w->parts] = *p;
	w->part[w->parts++].in_file -= w->origin;
}

/* All extents of one part, one by one. */
static int
hold_part(struct read_request *q, struct batch *b, struct cursor *c, struct window *w)
{
	add_part(w, &c->part);
	while (c->in_chunk < c->part.last && w->n < WINDOW_PIECES) {
		struct extent *p;
		struct cache_request want =
			request_cache(q, c->part.number, c->in_chunk, c->part.last, w->n > 0);
		int r = request_extent(q, b, &want, &p);
		if (r < 0)
			return r;
		hold(q, b, w, p, r);
		c->in_chunk = p->id.off + p->id.len;
	}
	if (c->in_chunk >= c->part.last)
		cursor_part(q, c);
	return 0;
}

/* As many further parts as one look into the cache serves, of those that one extent holds. False:
 * the next one must be held alone. */
static bool
hold_many(struct read_request *q, struct batch *b, struct cursor *c, struct window *w)
{
	struct cache_requests k;
	struct cursor ahead = *c;
	k.n = 0;
	size_t most =
		min_u64(REQUESTS_AT_ONCE, min_u64(WINDOW_PIECES - w->n, WINDOW_PARTS - w->parts));
	for (; !ahead.end && k.n < most; cursor_part(q, &ahead))
		k.request[k.n++] =
			request_cache(q, ahead.part.number, ahead.in_chunk, ahead.part.last, true);
	size_t n = cache_get_many(q->array->data->cache, k.request, k.n, k.extent, k.found);
	for (size_t i = 0; i < n; i++) {
		struct extent *p = k.extent[i];
		add_part(w, &c->part);
		hold(q, b, w, p, k.found[i]);
		c->in_chunk = p->id.off + p->id.len;
		if (c->in_chunk >= c->part.last) {
			cursor_part(q, c);
			continue;
		}
		for (size_t j = i + 1; j < n;
			j++) { /* this part has further extents: the rest comes later */
			if (k.found[j] == CACHE_CREATED)
				request_load(q, b, k.extent[j]);
			cache_unpin(q->array->data->cache, &k.extent[j], 1);
		}
		return false;
	}
	return n == k.n;
}

/* Pins extents from the cursor on, as many as there is room for; at least one. */
static int
fill_window(struct read_request *q, struct batch *batch, struct cursor *c, struct window *w)
{
	int r = 0;
	w->n = w->parts = 0;
	while (!c->end && w->parts < WINDOW_PARTS && w->n < WINDOW_PIECES && r >= 0) {
		if (!w->n || !hold_many(q, batch, c, w))
			r = w->parts < WINDOW_PARTS && w->n < WINDOW_PIECES && !c->end
				    ? hold_part(q, batch, c, w)
				    : 0;
	}
	return r < 0 && !(r == -EAGAIN && w->n) ? r : 0;
}

/* r: what came of filling it; after a failure all it holds is let go of. Memory for the answer is
 * taken when all has come that goes into it first: many requests wait for a slow store at once. */
static int
empty_window(struct read_request *q, struct window *w, int r)
{
	struct extent *pins[WINDOW_PIECES];
	for (unsigned i = 0; i < w->n; i++) {
		struct extent *p = pins[i] = w->held[i].extent;
		if (r == 0 && !w->held[i].ready)
			r = request_wait(q, p);
		if (r == 0 && i && !request_agree(pins[i - 1], p))
			r = -EAGAIN;
		if (r == 0)
			r = request_goes_on(q, p);
	}
	if (r == 0)
		r = buf_reserve(&q->reply->own, w->bytes);
	for (unsigned i = 0; i < w->n && r == 0; i++) {
		if (i + COPY_AHEAD < w->n)
			copy_soon(&w->part[w->held[i + COPY_AHEAD].part], pins[i + COPY_AHEAD]);
		copy_part(q->array, &w->part[w->held[i].part], pins[i], q->reply->own.data);
	}
	cache_unpin(q->array->data->cache, pins, w->n);
	return r;
}

static int
gather_box(struct read_request *q, const struct box *box, struct window *w)
{
	struct cursor c;
	cursor_first(q, box, &c);
	int r = 0;
	while (!c.end && r == 0) {
		struct batch batch = request_batch(q);
		r = fill_window(q, &batch, &c, w);
		if (r == 0)
			ahead_load(q);
		batch_end(&batch, r);
		r = empty_window(q, w, r);
	}
	return r;
}

/* Has what later boxes need loaded at the same time as the first: a few rows of a file can be three
 * boxes, and each would wait for its own round trip. */
static void
begin_boxes(struct read_request *q, uint64_t at, uint64_t last)
{
	const struct grid *g = &q->array->grid;
	struct batch batch = request_batch(q);
	struct box box;
	struct hull hull[REQUESTS_AT_ONCE];
	struct cache_requests k;
	if (grid_box(g, at, last, &box) >= last - at)
		return;
	const size_t n = grid_hulls(g, at, last, hull, REQUESTS_AT_ONCE);
	k.n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct hull *h = &hull[i];
		if (cover_has(q->over, h->number))
			continue;
		struct cache_request *want = &k.request[k.n++];
		*want = request_cache(q, h->number, h->in_chunk, h->last, true);
		want->keep = false;
		want->only_new = true;
	}
	size_t done = cache_get_many(q->array->data->cache, k.request, k.n, k.extent, k.found);
	for (size_t i = 0; i < done; i++)
		if (k.found[i] == CACHE_CREATED)
			request_load(q, &batch, k.extent[i]);
	batch_end(&batch, 0);
}

int
gather_read(struct read_request *q)
{
	const struct grid *g = &q->array->grid;
	uint64_t off = q->want->off, first = off / g->item,
		 last = ceil_div(off + q->want->len, g->item);
	struct window w;
	w.origin = first * g->item;
	w.bytes = (last - first) * g->item;
	int r = q->over ? buf_reserve(&q->reply->own, w.bytes) : 0;
	if (r == 0 && q->scan.mode != SCAN_ORDER)
		begin_boxes(q, first, last);
	for (uint64_t at = first; at < last && r == 0;) {
		struct box box;
		at += grid_box(g, at, last, &box);
		r = gather_box(q, &box, &w);
	}
	if (r == 0 && q->over)
		cover_lay(q->array, q->want, q->over, q->reply->own.data);
	if (r == 0)
		request_answer(q, q->reply->own.data + (off - w.origin), q->want->len);
	else
		reply_done(q->reply);
	return r;
}
