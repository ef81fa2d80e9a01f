/* What blob_cache.c (one copy) and blob_cache_clean.c (all of them) share. */
#pragma once

#include "backends/diskcache/blob_cache.h"

#include <pthread.h>

/* Shared by all processes, in a file that each maps. */
struct blob_cache_tally {
	atomic_ullong bytes; /* of all copies, as far as is known: counted anew by each cleaning */
};

enum blob_cache_count {
	BLOB_CACHE_FOUND,
	BLOB_CACHE_KEPT,
	BLOB_CACHE_DAMAGED,
	BLOB_CACHE_FULL,   /* not kept: too large, or no room now */
	BLOB_CACHE_FAILED, /* not kept: an error */
	BLOB_CACHE_REMOVED,
	BLOB_CACHE_COUNTS
};

struct blob_cache {
	int dir;       /* where the copies' directories are */
	int lock_file; /* the process that cleans has it locked */
	uint64_t size;
	void (*warn)(const char *what);
	struct blob_cache_tally *tally;
	atomic_ullong under_way; /* bytes that are being written: the disk may not count them yet */
	atomic_ullong count[BLOB_CACHE_COUNTS];
	atomic_llong next_word; /* clock_now(): failures are told again */

	pthread_t cleaner;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t woken, rested;
	bool wanted, cleaning, started;
	atomic_bool ending;
};

enum {
	BLOB_CACHE_NAME = 16,    /* hex digits of a copy's name; the first two name its directory */
	BLOB_CACHE_BLOCK = 4096, /* files take whole ones */
	BLOB_CACHE_SPARE_SHARE = 20, /* of the disk is left free */
	BLOB_CACHE_WAKE_AT = 95,     /* percent of what may be: the cleaner is woken */
};
#define BLOB_CACHE_TEMPORARY "new-"

/* Bytes that may be added to the disk; 0 where it cannot be told. */
uint64_t blob_cache_room(const struct blob_cache *);
/* Says what went wrong, by err_text; at most once a minute. */
void blob_cache_tell(struct blob_cache *, const char *doing);

int blob_cache_start_cleaner(struct blob_cache *);
void blob_cache_stop_cleaner(struct blob_cache *);
void blob_cache_wake_cleaner(struct blob_cache *);
