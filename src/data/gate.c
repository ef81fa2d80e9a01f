#include "data/gate.h"

#include "base/clean.h"
#include "base/err.h"

#include <errno.h>

struct gate {
	size_t limit;
	pthread_mutex_t lock; /* guards all below */
	size_t inside;
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
			g->inside += t->cost;
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
		g->inside -= t->cost;
		while (g->first && fits(g, g->first)) {
			struct ticket *next = g->first;
			g->first = next->next;
			g->inside += next->cost;
			next->next = NULL;
			*last = next;
			last = &next->next;
		}
		if (!g->first)
			g->last = &g->first;
	}
	return in;
}
