#include "base/pool.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

struct pool_queue {
	struct task *first, **last;
};

struct pool_worker {
	struct pool *pool;
	pthread_t thread;
	bool started;  /* thread is valid */
	bool blocked;  /* gave its place away; written by the worker alone, under the lock */
	bool stolen;   /* its place was taken by pool_rescue; under the lock */
	int64_t since; /* when its task began; 0: it has none; under the lock */
	struct pool_worker *next_guest; /* under the lock */
};

struct pool {
	unsigned places; /* tasks that run at once */
	unsigned blocked_max;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t work;  /* a task may be taken, or the end has come */
	pthread_cond_t place; /* a worker that comes back from waiting may go on */
	struct pool_queue urgent, normal;
	unsigned queued;
	unsigned running;   /* workers in a task that hold a place */
	unsigned blocked;   /* workers in a task that gave theirs away */
	unsigned stolen;    /* of these, the ones that did not do so themselves */
	unsigned returning; /* of these, the ones that want it back: they go before new tasks */
	unsigned idle;      /* workers that sleep */
	unsigned nworkers;  /* ever made; a failed start is not tried again */
	bool ending;
	struct pool_worker *guests; /* threads of others that run a task of theirs */
	struct pool_worker worker[];
};

static _Thread_local struct pool_worker *self;

static void
queue_add(struct pool_queue *q, struct task *t)
{
	t->next = NULL;
	*q->last = t;
	q->last = &t->next;
}

static void
queue_add_first(struct pool_queue *q, struct task *t)
{
	t->next = q->first;
	if (!q->first)
		q->last = &t->next;
	q->first = t;
}

static struct task *
queue_take(struct pool_queue *q)
{
	struct task *t = q->first;
	if (!t)
		return NULL;
	q->first = t->next;
	if (!q->first)
		q->last = &q->first;
	return t;
}

/* So many tasks that are stuck may wait for no reader in particular: a store that hangs must not
 * get all workers before those which wait for another one. */
enum { STOLEN_MOST = 16 };

/* The lock is held. */
static bool
may_start(const struct pool *p)
{
	bool any = p->urgent.first || (p->normal.first && (p->stolen < STOLEN_MOST || p->ending));
	return any && p->running < p->places && !p->returning;
}

/* The lock is held. The thread that must go on now that a place is free: at most one sleeps for
 * each place. */
static void
pass_on(struct pool *p)
{
	if (p->returning && p->running < p->places)
		pthread_cond_signal(&p->place);
	else if (may_start(p) && p->idle)
		pthread_cond_signal(&p->work);
}

static void *work(void *arg);

/* Signals go to the threads that expect them. */
static int
start(struct pool_worker *w)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int e = pthread_create(&w->thread, NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	LOCKED(&w->pool->lock)
		w->started = e == 0;
	return e ? err_sys(e, "cannot start a worker thread") : 0;
}

/* The lock is held. A worker to start, if there is work that no thread is there for. */
static struct pool_worker *
missing(struct pool *p)
{
	if (!may_start(p) || p->idle || p->nworkers >= p->places + p->blocked_max)
		return NULL;
	return &p->worker[p->nworkers++];
}

/* The lock is held. */
static void
remove_guest(struct pool *p, const struct pool_worker *w)
{
	struct pool_worker **at = &p->guests;
	while (*at && *at != w)
		at = &(*at)->next_guest;
	if (*at)
		*at = w->next_guest;
}

/* The lock is held. Its task, if it has one, is done. */
static void
leave(struct pool *p, struct pool_worker *w)
{
	if (!w->since)
		return;
	if (w->stolen)
		p->blocked--, p->stolen--;
	else
		p->running--;
	w->stolen = false;
	w->since = 0;
	if (p->ending && !p->queued)
		pthread_cond_broadcast(&p->work);
}

/* Leaves the task before and sleeps until there is one. NULL: the pool ends. */
static struct task *
take(struct pool_worker *w)
{
	struct pool *p = w->pool;
	struct task *t = NULL;
	struct pool_worker *more = NULL;
	LOCKED(&p->lock) {
		leave(p, w); /* its place goes to a task, or to a worker that comes back from
				waiting, and to no other one: that would be woken in vain */
		while (!may_start(p)) {
			pass_on(p);
			if (p->ending && !p->queued)
				return NULL;
			p->idle++;
			pthread_cond_wait(&p->work, &p->lock);
			p->idle--;
		}
		t = queue_take(&p->urgent);
		if (!t)
			t = queue_take(&p->normal);
		p->queued--;
		p->running++;
		w->since = clock_now();
		pass_on(p); /* two pushes may have woken only this one */
		more = missing(p);
	}
	if (more)
		start(more);
	return t;
}

static void *
work(void *arg)
{
	struct pool_worker *w = self = arg;
	pthread_setname_np(pthread_self(), "zarrfs-work");
	for (struct task *t; (t = take(w));) {
		t->run(t);
		pool_unblocking(); /* a task that forgot */
	}
	return NULL;
}

/* The lock is held. */
static void
add(struct pool *p, struct task *t, struct pool_queue *q,
	void (*how)(struct pool_queue *, struct task *))
{
	how(q, t);
	p->queued++;
	pass_on(p);
}

static void
push(struct pool *p, struct task *t, struct pool_queue *q,
	void (*how)(struct pool_queue *, struct task *))
{
	struct pool_worker *w = NULL;
	LOCKED(&p->lock) {
		add(p, t, q, how);
		w = missing(p);
	}
	if (w)
		start(w); /* if it fails, the others do its work */
}

void
pool_push(struct pool *p, struct task *t, bool urgent)
{
	push(p, t, urgent ? &p->urgent : &p->normal, queue_add);
}

void
pool_push_only(struct pool *p, struct task *t)
{
	LOCKED(&p->lock)
		add(p, t, &p->normal, queue_add);
}

void
pool_fill(struct pool *p)
{
	struct pool_worker *w = NULL;
	LOCKED(&p->lock)
		w = missing(p);
	if (w)
		start(w);
}

void
pool_push_first(struct pool *p, struct task *t)
{
	push(p, t, &p->urgent, queue_add_first);
}

/* The lock is held. */
static bool
has_place(const struct pool *p)
{
	return p->running < p->places && !p->returning && !p->urgent.first;
}

bool
pool_run_here(struct pool *p, struct task *t)
{
	struct pool_worker guest = {.pool = p};
	bool in = false;
	LOCKED(&p->lock) {
		in = !self && has_place(p);
		if (in) {
			p->running++;
			guest.since = clock_now();
			guest.next_guest = p->guests;
			p->guests = &guest;
		}
	}
	if (!in)
		return false;
	self = &guest;
	t->run(t);
	pool_unblocking();
	self = NULL;
	LOCKED(&p->lock) {
		remove_guest(p, &guest);
		leave(p, &guest);
		pass_on(p);
	}
	pool_fill(p); /* work may have come for which there was no place */
	return true;
}

void
pool_hurry(struct pool *p, const struct task *wanted)
{
	LOCKED(&p->lock) {
		struct task **at = &p->normal.first;
		while (*at && *at != wanted)
			at = &(*at)->next;
		struct task *t = *at;
		if (!t)
			break;
		*at = t->next;
		if (!*at)
			p->normal.last = at;
		queue_add(&p->urgent, t);
	}
}

void
pool_blocking(void)
{
	struct pool_worker *w = self, *more = NULL;
	if (!w || w->blocked)
		return;
	struct pool *p = w->pool;
	LOCKED(&p->lock) {
		if (!w->stolen) { /* however many wait already: the one they wait for may want this
				   place */
			w->blocked = true;
			p->blocked++;
			p->running--;
			pass_on(p);
			more = missing(p);
		}
	}
	if (more)
		start(more);
}

void
pool_unblocking(void)
{
	struct pool_worker *w = self;
	if (!w || !w->blocked)
		return;
	struct pool *p = w->pool;
	LOCKED(&p->lock) {
		p->returning++;
		while (p->running >= p->places)
			pthread_cond_wait(&p->place, &p->lock);
		p->returning--;
		p->blocked--;
		p->running++;
		w->blocked = false;
		pass_on(p);
	}
}

bool
pool_slot_stolen(void)
{
	bool stolen = false;
	if (self)
		LOCKED(&self->pool->lock)
			stolen = self->stolen;
	return stolen;
}

/* The lock is held. The place of one whose task began before that moment goes to another. */
static void
lend(struct pool *p, struct pool_worker *w, int64_t before)
{
	bool enough = !p->queued || p->blocked >= p->blocked_max;
	if (enough || !w->since || w->blocked || w->stolen || w->since > before)
		return;
	w->stolen = true;
	p->stolen++;
	p->blocked++;
	p->running--;
	pass_on(p);
}

void
pool_rescue(struct pool *p, int64_t age)
{
	struct pool_worker *more = NULL;
	int64_t before = clock_now() - age;
	LOCKED(&p->lock) {
		for (unsigned i = 0; i < p->nworkers; i++)
			lend(p, &p->worker[i], before);
		for (struct pool_worker *w = p->guests; w; w = w->next_guest)
			lend(p, w, before);
		more = missing(p);
	}
	if (more)
		start(more); /* which starts the next one if there is more to do */
}

unsigned
pool_queued(struct pool *p)
{
	unsigned n = 0;
	LOCKED(&p->lock)
		n = p->queued;
	return n;
}

int
pool_new(unsigned workers, unsigned blocked_max, struct pool **ret)
{
	assert(workers);
	size_t n = (size_t)workers + blocked_max;
	struct pool *p = calloc(1, sizeof *p + n * sizeof p->worker[0]);
	if (!p)
		return err_set(-ENOMEM, "no memory for %zu workers", n);
	p->places = workers;
	p->blocked_max = blocked_max;
	p->urgent.last = &p->urgent.first;
	p->normal.last = &p->normal.first;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->place, NULL);
	for (size_t i = 0; i < n; i++)
		p->worker[i].pool = p;
	/* One now, so that a pool that came to be always works; the others when there is work. */
	p->nworkers = 1;
	int r = start(&p->worker[0]);
	if (r < 0)
		pool_free(p);
	else
		*ret = p;
	return r;
}

/* A worker is made only by an earlier one or before the end, so its thread is known when its turn
 * comes. */
static struct pool_worker *
nth_worker(struct pool *p, unsigned i)
{
	struct pool_worker *w = NULL;
	LOCKED(&p->lock) {
		if (i < p->nworkers)
			w = &p->worker[i];
	}
	return w;
}

struct pool *
pool_free(struct pool *p)
{
	if (!p)
		return NULL;
	LOCKED(&p->lock) {
		p->ending = true;
		pthread_cond_broadcast(&p->work);
	}
	struct pool_worker *w;
	for (unsigned i = 0; (w = nth_worker(p, i)); i++)
		if (w->started)
			pthread_join(w->thread, NULL);
	pthread_cond_destroy(&p->place);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}
