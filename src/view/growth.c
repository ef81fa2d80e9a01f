#include "view/growth.h"

#include "base/clean.h"
#include "base/wait.h"

void
growth_init(struct growth *g)
{
	pthread_mutex_init(&g->lock, NULL);
	clock_cond_init(&g->free);
}

void
growth_free(struct growth *g)
{
	pthread_cond_destroy(&g->free);
	pthread_mutex_destroy(&g->lock);
}

int
growth_begin(struct growth *g, struct cancel *cancel)
{
	int r = 0;
	LOCKED(&g->lock) {
		while (r == 0 && (g->shrinking || g->waiting))
			r = wait_moment(&g->free, &g->lock, 0, cancel);
		g->growing += r == 0;
	}
	return r;
}

void
growth_end(struct growth *g)
{
	LOCKED(&g->lock) {
		g->growing--;
		pthread_cond_broadcast(&g->free);
	}
}

int
growth_stop(struct growth *g, struct cancel *cancel)
{
	int r = 0;
	LOCKED(&g->lock) {
		g->waiting++;
		while (r == 0 && (g->shrinking || g->growing))
			r = wait_moment(&g->free, &g->lock, 0, cancel);
		g->waiting--;
		g->shrinking |= r == 0;
		if (r < 0)
			pthread_cond_broadcast(&g->free);
	}
	return r;
}

void
growth_go_on(struct growth *g)
{
	LOCKED(&g->lock) {
		g->shrinking = false;
		pthread_cond_broadcast(&g->free);
	}
}
