#include "view/image/turn.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/clock.h"

#include <errno.h>

void
turn_init(struct turn *t)
{
	pthread_mutex_init(&t->lock, NULL);
	clock_cond_init(&t->free);
	t->busy = false;
}

void
turn_done(struct turn *t)
{
	pthread_cond_destroy(&t->free);
	pthread_mutex_destroy(&t->lock);
}

int
turn_take(struct turn *t, int64_t deadline)
{
	const struct timespec until = {
		.tv_sec = (time_t)(deadline / SECOND), .tv_nsec = (long)(deadline % SECOND)};
	int r = 0;
	LOCKED(&t->lock) {
		while (t->busy && r == 0)
			r = deadline ? pthread_cond_timedwait(&t->free, &t->lock, &until)
				     : pthread_cond_wait(&t->free, &t->lock);
		if (r == 0)
			t->busy = true;
	}
	return r == 0 ? 0 : err_set(-EIO, "others were busy with the file for too long");
}

int
turn_give(struct turn *t, int result)
{
	LOCKED(&t->lock) {
		t->busy = false;
		pthread_cond_signal(&t->free);
	}
	return result;
}
