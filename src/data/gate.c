#include "data/gate.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/when.h"

#include <errno.h>

struct gate {
	size_t limit;
	pthread_mutex_t lock; /* guards all below */
	size_t inside;
	int64_t moved;                /* when_now() of the last coming or going */
	struct ticket *first, **last; /* they wait */
};

int
gate_new(size_t limit, struct gate **ret)
{
	struct gate *g = calloc(1, sizeof *g);
	if (!g)
		return err_set(-ENOMEM, "no memory");
	g->limit = limit;
	pthread_mutex_init(&g->lock, NULL);
	g->last = &g->first;
	*ret = g;
	return 0;
}

struct gate *
gate_free(struct gate *g)
{
	if (!g)
		return NULL;
	pthread_mutex_destroy(&g->lock);
	free(g);
	return NULL;
}

static void
move(struct gate *g, size_t cost)
{
	g->inside += cost;
	g->moved = when_now();
}

/* Whose turn it is: the first that somebody waits for, else the first. The lock is held, and some wait. */
static struct ticket **
next(struct gate *g)
{
	struct ticket **t = &g->first;
	while (*t && (*t)->ahead && atomic_load((*t)->ahead))
		t = &(*t)->next;
	return *t ? t : &g->first;
}

/* The next one enters. The lock is held. */
static struct ticket *
let_in(struct gate *g)
{
	struct ticket **at = next(g), *t = *at;
	*at = t->next;
	if (!t->next)
		g->last = at;
	t->next = NULL;
	move(g, t->cost);
	return t;
}

static bool
fits(const struct gate *g, const struct ticket *t)
{
	return !g->inside || g->inside + t->cost <= g->limit;
}

bool
gate_enter(struct gate *g, struct ticket *t)
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

struct ticket *
gate_leave(struct gate *g, const struct ticket *t)
{
	struct ticket *in = NULL;
	LOCKED(&g->lock) {
		struct ticket **last = &in;
		move(g, -t->cost);
		while (g->first && fits(g, *next(g))) {
			*last = let_in(g);
			last = &(*last)->next;
		}
	}
	return in;
}

struct ticket *
gate_patrol(struct gate *g, int64_t age)
{
	struct ticket *in = NULL;
	LOCKED(&g->lock)
		if (g->first && when_now() - g->moved >= age)
			in = let_in(g);
	return in;
}
