#include "data/gate.h"

#include "base/clean.h"
#include "base/err.h"

#include <errno.h>

struct gate {
	size_t limit;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t left;
	size_t inside;
};

int
gate_new(size_t limit, struct gate **ret)
{
	struct gate *g = calloc(1, sizeof *g);
	if (!g)
		return err_set(-ENOMEM, "no memory");
	g->limit = limit;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->left, NULL);
	*ret = g;
	return 0;
}

struct gate *
gate_free(struct gate *g)
{
	if (!g)
		return NULL;
	pthread_cond_destroy(&g->left);
	pthread_mutex_destroy(&g->lock);
	free(g);
	return NULL;
}

static bool
enter(struct gate *g, size_t cost)
{
	if (g->inside && g->inside + cost > g->limit)
		return false;
	g->inside += cost;
	return true;
}

bool
gate_try(struct gate *g, size_t cost)
{
	bool in = false;
	LOCKED(&g->lock)
		in = enter(g, cost);
	return in;
}

void
gate_enter(struct gate *g, size_t cost)
{
	LOCKED(&g->lock)
		while (!enter(g, cost))
			pthread_cond_wait(&g->left, &g->lock);
}

void
gate_leave(struct gate *g, size_t cost)
{
	LOCKED(&g->lock) {
		g->inside -= cost;
		pthread_cond_broadcast(&g->left);
	}
}
