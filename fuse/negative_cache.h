/* What has just run out of time, so that it is refused at once for a moment. The kernel asks again by itself: for the very
 * page after a failed read-ahead, for a name after a failed revalidation, and for each program that waits for a name that
 * another one is looking up; every time would take all the time again. Safe from every thread. */
#pragma once

#include "base/clean.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { NEGATIVE_CACHE = 8 };

/* Bytes of a file, or a name by its hash. */
struct negative_cache_what {
	uint64_t key, off, end;
};

struct negative_cache_one;

struct negative_cache {
	pthread_mutex_t lock; /* guards the rest */
	struct negative_cache_one
		*last; /* NEGATIVE_CACHE of them, or NULL as long as there was none */
	unsigned next;
	atomic_bool any; /* something was added, ever; read without the lock */
};

void negative_cache_init(struct negative_cache *);
void negative_cache_done(struct negative_cache *);
/* With the thread's err_text as the reason. */
void negative_cache_add(struct negative_cache *, const struct negative_cache_what *, int code);
/* 0, or the failure of what just missed the same, or some of these bytes, with its text. */
int negative_cache_lately(struct negative_cache *, const struct negative_cache_what *);
