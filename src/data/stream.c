/* One reader of an array: whose turn it is, what it asks of the cache, and the answer. */
#include "data/request.h"

#include "base/check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	DIRECT_FROM = 32 << 10, /* runs from this length on are handed out where they lie */
	DIRECT_MOST = 1 << 20,  /* longer requests are gathered, in windows */
	VERSION_TRIES = 4,
	ROW_LOOKS = 1 << 16,
	LEAD = 2 << 20, /* how far the kernel reads ahead of the reader, or a little more */
	LATE = LEAD,    /* a request may come after the one behind it, each of 1 MiB */
};

static const int64_t STUCK_AFTER = SECOND / 4;
/* Who has asked for nothing for so long has stopped reading, or has it from the kernel. */
static const int64_t STILL_READS = 2 * SECOND;

struct cache_ask
request_ask(const struct request *q, uint64_t chunk, uint64_t at, uint64_t to, bool holds)
{
	struct cache_ask ask = {
		.id = scan_piece(&q->scan, q->array, chunk, at, to),
		.at = at,
		.hurry = holds ? CACHE_TRY : CACHE_WAIT,
		.keep = true,
		.now = q->now,
		.fresh = q->fresh,
		.since = q->since,
		.deadline = q->want->deadline,
		.cancel = q->want->cancel,
		.loading = &q->array->loading,
	};
	scan_larger(&q->scan, q->array, &ask);
	return ask;
}

void
request_load(struct request *q, struct batch *b, struct piece *p)
{
	batch_add(b, p, scan_keeps(&q->scan, q->array));
}

int
request_piece(struct request *q, struct batch *b, const struct cache_ask *ask, struct piece **ret)
{
	if (ask->hurry == CACHE_WAIT)
		batch_send(b); /* nobody waits for memory while its own loads are not begun */
	int r = cache_get(q->array->data->cache, ask, ret);
	if (r != CACHE_CREATED)
		return r;
	request_load(q, b, *ret);
	return CACHE_BUSY;
}

int
request_wait(struct request *q, struct piece *p)
{
	const struct array_want *w = q->want;
	struct data *d = q->array->data;
	for (;;) { /* a load that takes long must not keep the others from being loaded */
		load_hurry(q->array, p);
		int64_t soon = when_now() + STUCK_AFTER;
		bool final = w->deadline && w->deadline <= soon;
		int r = cache_wait(d->cache, p, q->since, final ? w->deadline : soon, w->cancel);
		if (r == CACHE_OTHER)
			return -EAGAIN;
		if (final || r != CACHE_PATIENCE)
			return r == CACHE_PATIENCE ? err_set(-EIO, "timed out") : r;
		load_patrol(d, STUCK_AFTER);
	}
}

bool
request_agree(const struct piece *a, const struct piece *b)
{
	return a->id.chunk != b->id.chunk || !strcmp(a->version, b->version);
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
	if (s->scan.mode == SCAN_ORDER)
		ahead_pass(s, s->scan.high);
	ahead_leave(s);
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
		s->read = q->now;
		if (!s->began || scan_breaks(&s->scan, q->want->off)) {
			s->again = s->began;
			s->began = q->now;
			ahead_leave(s);
		}
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
}

/* The chunks of the file's row of chunks at `at`: has none changed? */
static bool
keep_row(struct array *a, uint64_t at, int64_t since, int64_t now)
{
	const struct grid *g = &a->grid;
	uint64_t step = g->file_step[g->lead], around = step * g->shape[g->lead];
	uint64_t row = at / around * g->count[g->lead] + at % around / step / g->chunk[g->lead];
	bool same = g->slab_chunks <= ROW_LOOKS; /* too many to look at: perhaps not */
	for (uint64_t i = 0; i < g->slab_chunks && same; i++) {
		struct piece_id id = {a->space, row * g->slab_chunks + i, 0, 0};
		same = cache_keep(a->data->cache, &id, since, now);
	}
	return same;
}

bool
stream_move(struct stream *s, const struct array_move *m)
{
	struct array *a = s->array;
	uint64_t at = 0;
	bool on = false;
	LOCKED(&s->lock) {
		const struct scan *c = &s->scan;
		on = c->mode == SCAN_ORDER && c->covered <= c->high - c->start &&
		     (!s->again || s->began < m->noticed) && m->to - s->read < STILL_READS;
		at = s->scan.last[0];
	}
	return !on || (keep_row(a, at, m->since, m->to) &&
			      keep_row(a, at - min_u64(at, LEAD), m->since, m->to));
}

int
stream_read(struct stream *s, const struct array_want *w, struct reply *ret)
{
	struct array *a = s->array;
	struct request q = {.stream = s, .array = a, .want = w, .now = when_now(), .reply = ret};
	q.fresh = data_fresh(a->data, q.now);
	q.since = w->since ? w->since : q.now;
	if (!w->len)
		return 0;
	if (scan_wants_size(a))
		load_probe_size(a, 0);
	note(s, &q);
	bool direct = a->grid.run_bytes >= DIRECT_FROM && w->len <= DIRECT_MOST;
	int r = -EAGAIN;
	for (int i = 0; i < VERSION_TRIES && r == -EAGAIN; i++) {
		r = direct ? direct_read(&q) : gather_read(&q);
		if (direct && r == -EAGAIN)
			r = gather_read(&q);
		if (r == -ESTALE && !w->since) { /* nobody has any of it yet */
			q.since = when_now();
			r = -EAGAIN;
		}
	}
	if (r == -ESTALE)
		r = err_add(-EIO, "at %" PRIu64, w->off);
	if (r == -EAGAIN)
		r = err_set(-EIO, "chunks change faster than they can be read");
	if (r == -ETIMEDOUT)
		r = -EIO;
	note_end(s, &q);
	return r;
}
