#include "fuse/queue.h"

#include "fuse/inode.h"
#include "fuse/request.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

/* When a running request counts as stuck (ns), and how many threads more there may be in place of
 * those that are. */
static const int64_t STUCK_AFTER = SECOND / 2;
enum { EXTRA_MAX = 192 };

/* Requests of one sort: how many run, and which ones wait. */
struct queue_lane {
	struct request *first, **last;
	unsigned running, running_max, waiting;
	unsigned on_extra, stuck; /* how many run on extra threads; how many ran for long when
				     last looked at */
};

/* So that hanging reads do not keep others from names, and the other way round; and what waits
 * until something is stored neither of them. */
enum { READS, NAMES, WRITES, STORES, LANES };

/* Of 16 threads. */
static const unsigned share[2][LANES] = {
	{[READS] = 12, [NAMES] = 4},
	{[READS] = 9, [NAMES] = 3, [WRITES] = 2, [STORES] = 2},
};

struct queue {
	pthread_mutex_t lock; /* guards all below, and the links of requests */
	struct request *all;
	struct queue_lane lane[LANES];
	unsigned extra; /* threads */
	pthread_cond_t extra_gone;
	bool cancelled;
};

int
queue_new(unsigned threads, bool writable, struct queue **ret)
{
	struct queue *q = calloc(1, sizeof *q);
	if (!q)
		return err_set(-ENOMEM, "no memory for requests");
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->extra_gone, NULL);
	for (unsigned i = 0; i < LANES; i++) {
		unsigned max = threads * share[writable][i] / 16;
		q->lane[i] = (struct queue_lane){.last = &q->lane[i].first, .running_max = max};
		if (!max)
			q->lane[i].running_max = 1;
	}
	*ret = q;
	return 0;
}

struct queue *
queue_free(struct queue *q)
{
	if (!q)
		return NULL;
	pthread_cond_destroy(&q->extra_gone);
	pthread_mutex_destroy(&q->lock);
	free(q);
	return NULL;
}

static struct queue_lane *
lane_of(struct queue *q, const struct request *r)
{
	return &q->lane[r->op == OP_READ    ? READS
			: r->op == OP_WRITE ? WRITES
			: request_stores(r) ? STORES
					    : NAMES];
}

/* May an extra thread, or one of the session's, run one more? */
static bool
has_place(const struct queue_lane *l, bool extra)
{
	return extra ? l->on_extra < l->stuck : l->running < l->running_max;
}

static struct request *
take_waiting(struct queue_lane *l, bool extra)
{
	struct request *r = has_place(l, extra) ? l->first : NULL;
	if (!r)
		return NULL;
	l->first = r->next;
	if (!l->first)
		l->last = &l->first;
	l->waiting--;
	*(extra ? &l->on_extra : &l->running) += 1;
	r->begun = clock_now();
	return r;
}

/* Runs one request to its end and returns the next one that waits, if any. */
static struct request *
run_one(struct queue *q, struct request *r, bool extra)
{
	struct request *next = NULL;
	request_run(r);
	if (r->ending)
		r->ending(r);
	LOCKED(&q->lock) {
		struct queue_lane *l = lane_of(q, r);
		*r->slot = r->after;
		if (r->after)
			r->after->slot = r->slot;
		*(extra ? &l->on_extra : &l->running) -= 1;
		next = take_waiting(l, extra);
	}
	if (r->ended)
		r->ended(r);
	request_unref(r);
	return next;
}

/* 1: it is this thread's turn to run it; 0: it waits; -EAGAIN: it has to wait, and may not. */
static int
admit(struct queue *q, struct request *r, bool aside, bool may_wait)
{
	bool now = false;
	LOCKED(&q->lock) {
		struct queue_lane *l = lane_of(q, r);
		now = l->running < l->running_max || aside;
		if (!now && !may_wait)
			return -EAGAIN;
		r->slot = &q->all;
		r->after = q->all;
		q->all = r;
		if (r->after)
			r->after->slot = &r->after;
		if (q->cancelled)
			atomic_store(&r->cancel.wanted_no_more, true);
		if (now) {
			l->running++;
			r->begun = r->started;
		} else {
			*l->last = r;
			l->last = &r->next;
			l->waiting++;
		}
	}
	return now;
}

void
queue_start(struct queue *q, struct request *r, bool aside)
{
	int now = admit(q, r, aside, !r->data.len);
	if (now == -EAGAIN) {
		bool owned = request_own(r) == 0;
		now = admit(q, r, aside || !owned, true);
	}
	while (now && r)
		r = run_one(q, r, false);
}

void
queue_cancel(struct queue *q)
{
	LOCKED(&q->lock) {
		q->cancelled = true;
		for (struct request *r = q->all; r; r = r->after)
			atomic_store(&r->cancel.wanted_no_more, true);
	}
}

struct extra_thread {
	struct queue *queue;
	struct request *first;
};

static void
extra_ends(struct queue *q)
{
	LOCKED(&q->lock) {
		q->extra--;
		pthread_cond_broadcast(&q->extra_gone);
	}
}

static void *
run_extra(void *arg)
{
	struct extra_thread *a = arg;
	struct queue *q = a->queue;
	struct request *r = a->first;
	free(a);
	while (r)
		r = run_one(q, r, true);
	extra_ends(q);
	return NULL;
}

/* A request that waits, and for which there is a place now. The lock is held. */
static struct request *
next_of_stuck(struct queue *q)
{
	struct request *r = NULL;
	for (unsigned i = 0; i < LANES && !r && q->extra < EXTRA_MAX; i++)
		r = take_waiting(&q->lane[i], true);
	q->extra += r != NULL;
	return r;
}

static void
count_stuck(struct queue *q)
{
	int64_t now = clock_now();
	for (unsigned i = 0; i < LANES; i++)
		q->lane[i].stuck = 0;
	for (struct request *r = q->all; r; r = r->after)
		lane_of(q, r)->stuck += r->begun && now - r->begun > STUCK_AFTER;
}

/* Requests that are stuck give their places away: to threads that are begun for those that wait. */
static void
begin_extra(struct queue *q)
{
	for (;;) {
		struct extra_thread *a = malloc(sizeof *a);
		struct request *r = NULL;
		pthread_t thread;
		LOCKED(&q->lock) {
			count_stuck(q);
			r = a ? next_of_stuck(q) : NULL;
		}
		if (!r) {
			free(a);
			return;
		}
		*a = (struct extra_thread){q, r};
		if (pthread_create(&thread, NULL, run_extra, a) == 0) {
			pthread_detach(thread);
			continue;
		}
		free(a);
		for (; r; r = run_one(q, r, true))
			request_fail(r, err_set(-EIO, "cannot start a thread"));
		extra_ends(q);
		return;
	}
}

void
queue_end(struct queue *q)
{
	LOCKED(&q->lock) {
		while (q->extra)
			pthread_cond_wait(&q->extra_gone, &q->lock);
	}
}

enum { LOOKED_AFTER = 512 };

/* Is there something to do about it? */
static bool
wants_tending(struct request *r, int64_t now)
{
	switch (atomic_load(&r->state)) {
	case REQUEST_ANSWERED: return false;
	case REQUEST_UNHEARD: return true;
	case REQUEST_HEARD: break;
	}
	return atomic_load(&r->interrupted) || request_overdue(r, now) || request_lingers(r, now);
}

bool
queue_tend(struct queue *q)
{
	struct request *some[LOOKED_AFTER];
	size_t n = 0;
	bool busy = false;
	int64_t now = clock_now();
	LOCKED(&q->lock) {
		busy = q->all;
		for (struct request *r = q->all; r && n < LOOKED_AFTER; r = r->after) {
			if (!wants_tending(r, now))
				continue;
			atomic_fetch_add(&r->refs, 1);
			some[n++] = r;
		}
	}
	for (size_t i = 0; i < n; i++) {
		request_tend(some[i]);
		request_unref(some[i]);
	}
	begin_extra(q);
	return busy;
}

bool
queue_full(struct queue *q)
{
	bool full = false;
	LOCKED(&q->lock)
		full = q->lane[NAMES].running >= q->lane[NAMES].running_max;
	return full;
}

void
queue_count(struct queue *q, unsigned *ret_running, unsigned *ret_waiting)
{
	*ret_running = *ret_waiting = 0;
	LOCKED(&q->lock) {
		for (unsigned i = 0; i < LANES; i++) {
			*ret_running += q->lane[i].running;
			*ret_waiting += q->lane[i].waiting;
		}
		*ret_running += q->extra;
	}
}

bool
queue_reads(struct queue *q, const struct inode *i, int64_t ns)
{
	bool reads = false;
	int64_t before = clock_now() - ns;
	LOCKED(&q->lock) {
		for (const struct request *r = q->all; r && !reads; r = r->after)
			reads = r->op == OP_READ && r->inode == i && r->started <= before;
	}
	return reads;
}

bool
queue_releases(struct queue *q, int64_t before)
{
	bool releases = false;
	LOCKED(&q->lock) {
		for (const struct request *r = q->all; r && !releases; r = r->after)
			releases = r->op == OP_RELEASE && r->started <= before;
	}
	return releases;
}

bool
queue_asks_in(struct queue *q, const char *path, int64_t ns)
{
	bool asks = false;
	int64_t before = clock_now() - ns;
	LOCKED(&q->lock) {
		for (const struct request *r = q->all; r && !asks; r = r->after)
			asks = r->op != OP_READ && r->started <= before &&
			       !strcmp(r->inode->path, path);
	}
	return asks;
}
