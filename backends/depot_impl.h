/* What depot.c (one copy) and depot_clean.c (all of them) share. */
#pragma once

#include "backends/depot.h"

#include <pthread.h>

/* Shared by all processes, in a file that each maps. */
struct depot_tally {
	atomic_ullong bytes; /* of all copies, as far as is known: counted anew by each cleaning */
};

enum depot_count {
	DEPOT_FOUND,
	DEPOT_KEPT,
	DEPOT_DAMAGED,
	DEPOT_FULL,   /* not kept: too large, or no room now */
	DEPOT_FAILED, /* not kept: an error */
	DEPOT_REMOVED,
	DEPOT_COUNTS
};

struct depot {
	int dir;       /* where the copies' directories are */
	int lock_file; /* who cleans has it locked */
	uint64_t size;
	void (*warn)(const char *what);
	struct depot_tally *tally;
	atomic_ullong under_way; /* bytes that are being written: the disk may not count them yet */
	atomic_ullong count[DEPOT_COUNTS];
	atomic_llong next_word; /* when_now(): failures are told again */

	pthread_t cleaner;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t woken, rested;
	bool wanted, cleaning, started;
	atomic_bool ending;
};

enum {
	DEPOT_NAME = 16,        /* hex digits of a copy's name; the first two name its directory */
	DEPOT_BLOCK = 4096,     /* files take whole ones */
	DEPOT_SPARE_SHARE = 20, /* of the disk is left free */
	DEPOT_WAKE_AT = 95,     /* percent of what may be: the cleaner is woken */
};
#define DEPOT_TEMPORARY "new-"

/* Bytes that may be added to the disk; 0 where it cannot be told. */
uint64_t depot_room(const struct depot *);
/* Says what went wrong, by err_text; at most once a minute. */
void depot_complain(struct depot *, const char *doing);

int depot_start_cleaner(struct depot *);
void depot_stop_cleaner(struct depot *);
void depot_wake_cleaner(struct depot *);
