/* One reader of an array: whose turn it is, what it asks of the cache, and the answer. */
#include "data/request.h"

#include "base/check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	DIRECT_FROM = 32 << 10, /* runs from this length on are handed out where they lie */
	DIRECT_MOST = 1 << 20,  /* longer requests are gathered, in windows */
	ROW_LOOKS = 1 << 16,
	LEAD = 2 << 20, /* how far the kernel reads ahead of the reader, or a little more */
	LATE = LEAD,    /* a request may come after the one behind it, each of 1 MiB */
	LONG_PART = 4,  /* of the time that an operation may take */
	FOLLOW_FROM = 128 << 10, /* requests that a reader in order makes */
};

static const int64_t STUCK_AFTER = SECOND / 4;

struct cache_request
request_ask_extent(
	const struct request *q, struct extent_id id, uint64_t at, enum cache_hurry hurry)
{
	return (struct cache_request){
		.id = id,
		.at = at,
		.hurry = hurry,
		.keep = true,
		.now = q->now,
		.fresh = id.chunk / q->array->grid.slab_chunks == q->row ? q->row_fresh : q->fresh,
		.begun = q->array->grown,
		.since = q->since,
		.deadline = q->want->deadline,
		.cancel = q->want->cancel,
		.loading = &q->array->loading,
	};
}

struct cache_request
request_ask(const struct request *q, uint64_t chunk, uint64_t at, uint64_t to, bool holds)
{
	struct cache_request ask = request_ask_extent(q,
		scan_extent(&q->scan, q->array, chunk, at, to), at, holds ? CACHE_TRY : CACHE_WAIT);
	scan_larger(&q->scan, q->array, &ask);
	return ask;
}

struct batch
request_batch(const struct request *q)
{
	return (struct batch){
		.array = q->array,
		.urgent = true,
		.alone = q->scan.mode != SCAN_ORDER,
		.here = q->array->prompt,
	};
}

void
request_load(struct request *q, struct batch *b, struct extent *p)
{
	batch_add(b, p, scan_keeps(&q->scan, q->array));
}

int
request_extent(
	struct request *q, struct batch *b, const struct cache_request *ask, struct extent **ret)
{
	if (ask->hurry == CACHE_WAIT)
		batch_send(b); /* no request waits for memory while its own loads are not begun */
	int r = cache_get(q->array->data->cache, ask, ret);
	if (r != CACHE_CREATED)
		return r;
	request_load(q, b, *ret);
	return CACHE_BUSY;
}

/* Had the store been asked long before this request came, so that a server may have come back in the meantime? */
static bool
too_old(const struct request *q, const struct extent *p, int r)
{
	int64_t age = q->now - p->asked;
	return r == -EIO && q->array->remote && age > q->array->data->options.timeout / LONG_PART &&
	       !clock_over(q->want->deadline);
}

/* The request's own time is over: why, as far as a load has said. */
static int
give_up(const struct request *q)
{
	return q->why->code ? err_restore(q->why) : err_set(-EIO, "timed out");
}

static int
wait_for(struct request *q, struct extent *p)
{
	const struct array_want *w = q->want;
	struct data *d = q->array->data;
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
			return r == CACHE_PATIENCE ? give_up(q) : r;
		load_patrol(d, STUCK_AFTER);
	}
}

int
request_wait(struct request *q, struct extent *p)
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
request_goes_on(const struct request *q, const struct extent *p)
{
	if (!q->paused || p->former < q->paused ||
		p->id.chunk / q->array->grid.slab_chunks != q->row)
		return 0;
	return err_set(-ESTALE, "chunk was replaced while its reader paused in the midst of it");
}

void
request_answer(struct request *q, const void *data, size_t len)
{
	struct reply *r = q->reply;
	struct iovec *last = r->parts ? &r->part[r->parts - 1] : NULL;
	if (last && (const uint8_t *)last->iov_base + last->iov_len == data)
		last->iov_len += len;
	else
		r->part[r->parts++] = (struct iovec){(void *)(uintptr_t)data, len};
	r->len += len;
}

/* --- readers that are one --- */

/* Readers of one file at the same moment share the kernel's pages, so that each asks for what the others have not asked for: with
 * gaps, by which none of them reads in order. Their requests go through the stream of the oldest one, the lead. */

int
stream_new(struct array *a, struct stream **ret)
{
	struct stream *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory");
	s->array = array_ref(a);
	s->refs = 1;
	s->front = UINT64_MAX;
	pthread_mutex_init(&s->lock, NULL);
	LOCKED(&a->lock) {
		struct stream **last = &a->streams;
		while (*last)
			last = &(*last)->next;
		*last = s;
		s->first = a->streams == s;
		atomic_store(&a->left, 0);
	}
	*ret = s;
	return 0;
}

static void
stream_unref(struct stream *s)
{
	if (!s)
		return;
	LOCKED(&s->array->lock) {
		if (--s->refs)
			return;
		struct stream **at = &s->array->streams;
		while (*at != s)
			at = &(*at)->next;
		*at = s->next;
		if (!s->array->streams)
			atomic_store(&s->array->left, clock_now());
	}
	if (s->scan.mode == SCAN_ORDER)
		ahead_pass(s, s->scan.high);
	ahead_leave(s);
	scan_end(&s->scan, s->array);
	stream_unref(s->lead);
	array_unref(s->array);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct stream *
stream_free(struct stream *s)
{
	stream_unref(s);
	return NULL;
}

/* The oldest stream that is in file order just where this one asks, or this one. The array's lock is held. */
static struct stream *
find_lead(struct stream *s, const struct array_want *w)
{
	struct stream *o = s->array->streams;
	for (; o != s; o = o->next) {
		/* a reader that asks for little may read elsewhere, or is not yet read ahead for */
		bool follows = w->len >= FOLLOW_FROM || o == s->lead;
		if (follows && scan_near(o->front, w->off))
			break;
	}
	return o;
}

/* The stream through which a request goes; with a reference if it is another one. */
static struct stream *
follow(struct stream *s, const struct array_want *w)
{
	struct stream *lead = NULL, *was = NULL;
	if (s->first)
		return s;
	LOCKED(&s->array->lock) {
		lead = find_lead(s, w);
		struct stream *other = lead == s ? NULL : lead;
		if (other)
			other->refs++;
		if (other != s->lead) {
			was = s->lead;
			s->lead = other;
			if (other)
				other->refs++;
		}
	}
	stream_unref(was);
	return lead;
}

/* The stream's own way ends: what was loaded ahead on it is for the one that it follows now. The lock is held. */
static void
rest(struct stream *s)
{
	scan_end(&s->scan, s->array);
	s->scan.covered = 0;
	s->front = UINT64_MAX;
}

/* --- one request --- */

/* The stream's lock is held. */
static void
note(struct stream *s, struct request *q)
{
	struct array *a = s->array;
	if (scan_begins(&s->scan, q->want->off))
		ahead_leave(s);
	scan_note(&s->scan, a, q->want->off, q->want->len);
	if (s->scan.mode == SCAN_ORDER && !s->scan.planes)
		scan_plan(&s->scan, a);
	s->front = s->scan.mode == SCAN_ORDER ? s->scan.high : UINT64_MAX;
	q->scan = s->scan;
	if (s->nactive < ACTIVE_MOST)
		s->active[s->nactive++] = q->want->off;
}

/* The same. */
static void
note_end(struct stream *s, struct request *q)
{
	/* requests may be on their way that the kernel made before this one */
	uint64_t passed = s->scan.high - min_u64(s->scan.high, LATE);
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
		ahead_pass(s, passed);
}

/* The file's row of chunks at `at`. */
static uint64_t
row_of(const struct grid *g, uint64_t at)
{
	uint64_t step = g->file_step[g->lead], around = step * g->shape[g->lead];
	return at / around * g->count[g->lead] + at % around / step / g->chunk[g->lead];
}

/* Its chunks: has none changed? */
static bool
keep_row(struct array *a, uint64_t at, int64_t since, int64_t now)
{
	const struct grid *g = &a->grid;
	uint64_t row = row_of(g, at);
	bool same = g->slab_chunks <= ROW_LOOKS; /* too many to look at: perhaps not */
	for (uint64_t i = 0; i < g->slab_chunks && same; i++) {
		struct extent_id id = array_extent(a, row * g->slab_chunks + i, 0, 0);
		same = cache_keep(a->data->cache, &id, since, now);
	}
	return same;
}

bool
stream_move(struct stream *s, struct array_move *m)
{
	struct array *a = s->array;
	uint64_t at = s->at;
	bool on = false;
	LOCKED(&s->lock) {
		on = pause_goes_on(&s->pause, m);
		m->paused |= pause_stopped(&s->pause, m->to);
	}
	return !on || (keep_row(a, at, m->since, m->to) &&
			      keep_row(a, at - min_u64(at, LEAD), m->since, m->to));
}

/* Which stream it goes through, and what is known of its reader. */
static void
begin(struct stream *s, struct request *q)
{
	const struct array_want *w = q->want;
	const struct grid *g = &s->array->grid;
	q->stream = follow(s, w);
	q->row = row_of(g, w->off);
	LOCKED(&s->lock) {
		q->paused = pause_begin(&s->pause, w, q->now);
		if (s->row != q->row || s->pause.start == w->off)
			s->row_fresh = q->fresh;
		s->row = q->row;
		q->row_fresh = s->row_fresh > s->array->grown ? s->row_fresh : s->array->grown;
		if (q->stream == s)
			note(s, q);
		else
			rest(s);
	}
	if (q->stream != s)
		LOCKED(&q->stream->lock)
			note(q->stream, q);
	if (!w->off || row_of(g, w->off - 1) != q->row) /* it goes on with another chunk */
		q->paused = 0;
	s->at = w->off;
}

static void
end(struct stream *s, struct request *q)
{
	if (q->stream != s)
		LOCKED(&q->stream->lock)
			note_end(q->stream, q);
	LOCKED(&s->lock) {
		if (q->stream == s)
			note_end(s, q);
		pause_end(&s->pause, clock_now());
	}
	if (q->stream != s)
		stream_unref(q->stream);
}

/* -EAGAIN: chunks have changed all the time. */
static int
read_one_version(struct request *q)
{
	const struct array_want *w = q->want;
	bool direct = !q->over && q->array->grid.run_bytes >= DIRECT_FROM && w->len <= DIRECT_MOST;
	int r = -EAGAIN;
	for (int i = 0; i < VERSION_TRIES && r == -EAGAIN; i += !MOVE(q->old)) {
		r = direct ? direct_read(q) : gather_read(q);
		if (direct && r == -EAGAIN)
			r = gather_read(q);
		if (r == -ESTALE && !w->since) { /* no program has any of it yet */
			q->since = clock_now();
			r = -EAGAIN;
		}
	}
	return r;
}

/* As the reader is told it. */
static int
outcome(const struct array_want *w, int r)
{
	if (r == -ESTALE)
		r = err_add(-EIO, "at %" PRIu64, w->off);
	if (r == -EAGAIN)
		r = err_set(-EIO, "chunks change faster than they can be read");
	return r == -ETIMEDOUT ? -EIO : r;
}

int
stream_read(struct stream *s, const struct array_want *w, struct reply *ret)
{
	struct array *a = s->array;
	struct err why;
	struct cover over = {0};
	struct request q = {.array = a, .want = w, .now = clock_now(), .reply = ret, .why = &why};
	why.code = 0;
	q.fresh = array_fresh(a, q.now);
	q.since = w->since ? w->since : q.now;
	if (!w->len)
		return 0;
	int r = staging_any(a->data->staging) ? cover_take(a, w, &over) : 0;
	if (r < 0)
		return r;
	q.over = over.n ? &over : NULL;
	if (!q.over && scan_wants_size(a))
		load_probe_size(a, 0);
	begin(s, &q);
	r = outcome(w, read_one_version(&q));
	end(s, &q);
	cover_drop(a, &over);
	return r;
}
