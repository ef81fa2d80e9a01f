/* Time and the end of patience. Times are nanoseconds of the monotonic clock; 0 as a deadline:
 * none. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static const int64_t SECOND = 1000000000;

static inline int64_t
clock_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Wall-clock nanoseconds since 1970, to compare with what stores say. */
static inline int64_t
clock_wall(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline bool
clock_over(int64_t deadline)
{
	return deadline && clock_now() >= deadline;
}

/* A condition whose timed waits go by clock_now. */
static inline void
clock_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(c, &a);
	pthread_condattr_destroy(&a);
}

/* Set by the asker when it no longer wants the answer (an interrupted request). The thread that
 * waits looks at it at least every 100 ms. Owned by the asker; outlives the call that got it. look:
 * says whether that is so by now, on any thread and at once; NULL: it is so when it was set. */
struct cancel {
	atomic_bool wanted_no_more;
	bool (*look)(struct cancel *);
};

static inline bool
cancelled(struct cancel *c)
{
	return c && (atomic_load_explicit(&c->wanted_no_more, memory_order_relaxed) ||
			    (c->look && c->look(c)));
}
