/* One call after the other, where a call takes its time: no lock is held while one is under way. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct turn {
	pthread_mutex_t lock; /* guards busy */
	pthread_cond_t free;
	bool busy;
};

void turn_init(struct turn *);
void turn_done(struct turn *);
/* 0; -EIO: not until the deadline (clock_now() clock; 0: none). */
int turn_take(struct turn *, int64_t deadline);
/* Returns what it is given, the caller's result. */
int turn_give(struct turn *, int result);
