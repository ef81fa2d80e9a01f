/* What has just run out of time, so that it is refused at once for a while: every time would take
 * all the time again.
 *
 * The kernel asks again by itself: for the very page after a failed read-ahead, for a name after a
 * failed revalidation, and for each program that waits for a name that another one is looking up.
 * Programs ask again too: one that reads 8 KiB at a time and does not stop at an error asks for the
 * same chunk a hundred times. Safe from every thread. */
#pragma once

#include "base/clean.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes of a file, a name by its hash, or a chunk of an array. */
struct negative_cache_what {
	uint64_t key, off, end;
};

struct negative_cache_one;

struct negative_cache {
	unsigned most;                   /* of them are kept; constant, as is refused */
	int64_t refused;                 /* ns */
	pthread_mutex_t lock;            /* guards the rest */
	struct negative_cache_one *last; /* `most` of them, or NULL as long as there was none */
	unsigned next;
	atomic_llong until; /* clock_now(): no later is anything refused; read without the lock */
};

/* Of the `most` that failed last each is refused for so many ns. */
void negative_cache_init(struct negative_cache *, unsigned most, int64_t refused);
void negative_cache_done(struct negative_cache *);
/* With the thread's err_text as the reason. */
void negative_cache_add(struct negative_cache *, const struct negative_cache_what *, int code);
/* 0, or the failure of what missed the same, or some of these bytes, just before `asked`
 * (clock_now), with its text. */
int negative_cache_lately(
	struct negative_cache *, const struct negative_cache_what *, int64_t asked);
/* The same is refused no longer; what: NULL for all. Takes no lock while nothing is refused. */
void negative_cache_mend(struct negative_cache *, const struct negative_cache_what *);
