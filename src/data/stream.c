/* One reader of an array: which requests of it are one stream, and whose turn it is. */
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
	FOLLOW_FROM = 128 << 10, /* requests that a reader in order makes */
};

/* --- readers that are one --- */

/* Readers of one file at the same moment share the kernel's pages, so that each asks for what the
 * others have not asked for: with gaps, by which none of them reads in order. Their requests go
 * through the stream of the oldest one, the lead. */

int
stream_new(struct array *a, struct stream **ret)
{
	struct stream *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory");
	s->array = array_ref(a);
	s->refs = 1;
	s->front = s->origin = s->ended = UINT64_MAX;
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

/* The others end where this one began, as far as it was on their way. The array's lock is held. */
static void
leave_origin(const struct stream *s)
{
	if (s->origin == UINT64_MAX)
		return;
	for (struct stream *o = s->array->streams; o; o = o->next)
		if (o->front <= s->origin && (s->origin < o->ended || o->ended < o->front))
			o->ended = s->origin;
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
		leave_origin(s);
		if (!s->array->streams)
			atomic_store(&s->array->left, clock_now());
	}
	if (s->scan.mode == SCAN_ORDER)
		ahead_pass(s, s->scan.high);
	ahead_leave(s, true);
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

/* The oldest stream that is in file order just where this one asks, or this one. The array's lock
 * is held. */
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

/* No request under way, and none that may be on its way since before the last one, wants what is
 * passed. The lock is held. */
static void
pass(struct stream *s)
{
	uint64_t passed = s->scan.high - min_u64(s->scan.high, LATE);
	if (s->scan.mode != SCAN_ORDER)
		return;
	for (unsigned i = 0; i < s->nactive; i++) {
		uint64_t at = atomic_load(&s->active[i]);
		if (at)
			passed = min_u64(passed, at - 1);
	}
	ahead_pass(s, passed);
}

/* The stream's own way ends: what was loaded ahead on it is for the one that it follows now. The
 * lock is held. */
static void
rest(struct stream *s)
{
	pass(s);
	scan_end(&s->scan, s->array);
	s->scan.covered = 0;
	s->front = s->origin = UINT64_MAX;
}

/* --- one request --- */

/* The stream's lock is held. */
static void
note_active(struct stream *s, struct read_request *q)
{
	unsigned i = 0;
	while (s->nactive && !atomic_load(&s->active[s->nactive - 1]))
		s->nactive--;
	while (i < s->nactive && atomic_load(&s->active[i]))
		i++;
	if (i == ACTIVE_MOST)
		return;
	if (i == s->nactive)
		s->nactive++;
	q->active = &s->active[i];
	atomic_store(q->active, q->want->off + 1);
}

/* The same. */
static void
note(struct stream *s, struct read_request *q)
{
	struct array *a = s->array;
	pass(s);
	if (scan_begins(&s->scan, q->want->off))
		ahead_leave(s, false);
	scan_note(&s->scan, a, q->want->off, q->want->len);
	if (s->scan.mode == SCAN_ORDER && !s->scan.rows)
		scan_plan(&s->scan, a);
	s->front = s->scan.mode == SCAN_ORDER ? s->scan.high : UINT64_MAX;
	s->origin = s->scan.mode == SCAN_ORDER ? s->scan.start : UINT64_MAX;
	s->asked = q->now;
	q->scan = s->scan;
	note_active(s, q);
}

/* The slab of the file at `at`. */
static uint64_t
slab_of(const struct grid *g, uint64_t at)
{
	uint64_t step = g->file_step[g->lead], around = step * g->shape[g->lead];
	return at / around * g->count[g->lead] + at % around / step / g->chunk[g->lead];
}

/* Its chunks: has none changed? */
static bool
keep_row(struct array *a, uint64_t at, int64_t since, int64_t now)
{
	const struct grid *g = &a->grid;
	uint64_t slab = slab_of(g, at);
	bool same = g->slab_chunks <= ROW_LOOKS; /* too many to look at: perhaps not */
	for (uint64_t i = 0; i < g->slab_chunks && same; i++) {
		struct extent_id id = array_extent(a, slab * g->slab_chunks + i, 0, 0);
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
begin(struct stream *s, struct read_request *q)
{
	const struct array_want *w = q->want;
	const struct grid *g = &s->array->grid;
	q->stream = follow(s, w);
	q->slab = slab_of(g, w->off);
	LOCKED(&s->lock) {
		q->paused = pause_begin(&s->pause, w, q->now);
		if (s->slab != q->slab || s->pause.start == w->off)
			s->slab_fresh = q->fresh;
		s->slab = q->slab;
		q->slab_fresh = s->slab_fresh > s->array->grown ? s->slab_fresh : s->array->grown;
		if (q->stream == s)
			note(s, q);
		else
			rest(s);
	}
	if (q->stream != s)
		LOCKED(&q->stream->lock)
			note(q->stream, q);
	if (!w->off || slab_of(g, w->off - 1) != q->slab) /* it goes on with another chunk */
		q->paused = 0;
	s->at = w->off;
}

/* Without the lock: the next request does what is to be done behind this one. */
static void
end(struct stream *s, struct read_request *q)
{
	if (q->active)
		atomic_store(q->active, 0);
	pause_end(&s->pause, clock_now());
	if (q->stream != s)
		stream_unref(q->stream);
}

/* -EAGAIN: chunks have changed all the time. */
static int
read_one_version(struct read_request *q)
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
	struct read_request q = {
		.array = a, .want = w, .now = clock_now(), .reply = ret, .why = &why};
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
