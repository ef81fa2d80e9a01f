/* What has just run out of time, so that it is refused at once for a moment. The kernel asks again by itself: for the very
 * page after a failed read-ahead, for a name after a failed revalidation, and for each of those who wait for a name that
 * somebody else is looking up; every time would take all the time again. Safe from every thread. */
#pragma once

#include "base/clean.h"

#include <stdbool.h>
#include <stdint.h>

enum { MISSED = 8 };

/* Bytes of a file, or a name by its hash. */
struct missed_what {
	uint64_t key, off, end;
};

struct missed_one;

struct missed {
	pthread_mutex_t lock;    /* guards the rest */
	struct missed_one *last; /* MISSED of them, or NULL as long as there was none */
	unsigned next;
};

void missed_init(struct missed *);
void missed_done(struct missed *);
/* With the thread's err_text as the reason. */
void missed_add(struct missed *, const struct missed_what *, int code);
/* 0, or the failure of what just missed the same, or some of these bytes, with its text. */
int missed_lately(struct missed *, const struct missed_what *);
