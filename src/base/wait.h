/* Waiting for what another thread does, for as long as an asker has patience. */
#pragma once

#include "base/clock.h"
#include "base/err.h"

#include <errno.h>

/* With the lock held, which is open meanwhile: until the condition (clock_cond_init) is signalled,
 * or for a moment, after which the caller looks again. 0; -EINTR: cancelled; -ETIMEDOUT: the
 * deadline (clock_now) is over. cancel may be NULL. */
static inline int
wait_moment(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline, struct cancel *cancel)
{
	int64_t until = clock_now() + SECOND / 10; /* how often cancellation is looked at */
	if (deadline && deadline < until)
		until = deadline;
	const struct timespec t = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND};
	pthread_cond_timedwait(cond, lock, &t);
	if (cancelled(cancel))
		return err_set(-EINTR, "interrupted");
	return clock_over(deadline) ? err_set(-ETIMEDOUT, "timed out") : 0;
}
