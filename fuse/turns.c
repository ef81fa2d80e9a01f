#include "fuse/turns.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>

/* How long (ns) a request may lie at the device while the one thread there is busy; and for threads
 * beside the first one that is away. */
static const int64_t MOMENT = SECOND / 1000, LONGER = SECOND / 50;

void
turns_init(struct turns *t)
{
	*t = (struct turns){0};
	sem_init(&t->come, 0, 0);
}

void
turns_done(struct turns *t)
{
	sem_destroy(&t->come);
}

/* Is it called before that time? */
static bool
called(struct turns *t, int64_t ns)
{
	int64_t until = clock_now() + ns;
	const struct timespec at = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND};
	int r;
	while ((r = sem_clockwait(&t->come, CLOCK_MONOTONIC, &at)) < 0 && errno == EINTR)
		;
	return r == 0;
}

/* While others wait at the device and have something to do there. Threads are cancelled when the
 * session ends: those that wait there, not here, so that counts are right. */
static void
stay_away(struct turns *t)
{
	bool more = true;
	int64_t moment = atomic_fetch_add(&t->away, 1) ? LONGER : MOMENT;
	int state;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (more && atomic_load(&t->at)) {
		unsigned before = atomic_load(&t->taken);
		more = !called(t, moment) && atomic_load(&t->taken) != before;
	}
	pthread_setcancelstate(state, &state);
	atomic_fetch_sub(&t->away, 1);
}

void
turns_begin(struct turns *t, bool again)
{
	if (again)
		stay_away(t);
	atomic_fetch_add(&t->at, 1);
}

bool
turns_end(struct turns *t, uint32_t brief_of)
{
	bool again = atomic_exchange(&t->asker, brief_of) == brief_of && brief_of;
	atomic_fetch_add(&t->taken, 1);
	if (atomic_fetch_sub(&t->at, 1) == 1 && !again && atomic_load(&t->away))
		sem_post(&t->come);
	return again;
}
