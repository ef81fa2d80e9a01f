#include "data/semaphore.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/clock.h"

#include <errno.h>

struct semaphore {
	pthread_mutex_t lock; /* guards all below */
	size_t limit;
	size_t inside;
	int64_t moved;                          /* clock_now() of the last coming or going */
	struct semaphore_waiter *first, **last; /* they wait */
};

int
semaphore_new(size_t limit, struct semaphore **ret)
{
	struct semaphore *g = calloc(1, sizeof *g);
	if (!g)
		return err_set(-ENOMEM, "no memory");
	g->limit = limit;
	pthread_mutex_init(&g->lock, NULL);
	g->last = &g->first;
	*ret = g;
	return 0;
}

struct semaphore *
semaphore_free(struct semaphore *g)
{
	if (!g)
		return NULL;
	pthread_mutex_destroy(&g->lock);
	free(g);
	return NULL;
}

static void
move(struct semaphore *g, size_t cost)
{
	g->inside += cost;
	g->moved = clock_now();
}

/* Whose turn it is: the first load that a reader waits for, else the first. The lock is held, and
 * some wait. */
static struct semaphore_waiter **
next(struct semaphore *g)
{
	struct semaphore_waiter **t = &g->first;
	while (*t && (*t)->ahead && atomic_load((*t)->ahead))
		t = &(*t)->next;
	return *t ? t : &g->first;
}

/* The next one enters. The lock is held. */
static struct semaphore_waiter *
let_in(struct semaphore *g)
{
	struct semaphore_waiter **at = next(g), *t = *at;
	*at = t->next;
	if (!t->next)
		g->last = at;
	t->next = NULL;
	move(g, t->cost);
	return t;
}

static bool
fits(const struct semaphore *g, const struct semaphore_waiter *t)
{
	return !g->inside || g->inside + t->cost <= g->limit;
}

bool
semaphore_enter(struct semaphore *g, struct semaphore_waiter *t)
{
	bool in = false;
	t->next = NULL;
	LOCKED(&g->lock) {
		in = !g->first && fits(g, t);
		if (in) {
			move(g, t->cost);
		} else {
			*g->last = t;
			g->last = &t->next;
		}
	}
	return in;
}

/* All that fit. The lock is held. */
static struct semaphore_waiter *
let_all_in(struct semaphore *g)
{
	struct semaphore_waiter *in = NULL, **last = &in;
	while (g->first && fits(g, *next(g))) {
		*last = let_in(g);
		last = &(*last)->next;
	}
	return in;
}

struct semaphore_waiter *
semaphore_widen(struct semaphore *g, size_t limit)
{
	struct semaphore_waiter *in = NULL;
	LOCKED(&g->lock) {
		g->limit = g->limit > limit ? g->limit : limit;
		in = let_all_in(g);
	}
	return in;
}

struct semaphore_waiter *
semaphore_leave(struct semaphore *g, const struct semaphore_waiter *t)
{
	struct semaphore_waiter *in = NULL;
	LOCKED(&g->lock) {
		move(g, -t->cost);
		in = let_all_in(g);
	}
	return in;
}

struct semaphore_waiter *
semaphore_rescue(struct semaphore *g, int64_t age)
{
	struct semaphore_waiter *in = NULL;
	LOCKED(&g->lock)
		if (g->first && clock_now() - g->moved >= age)
			in = let_in(g);
	return in;
}
