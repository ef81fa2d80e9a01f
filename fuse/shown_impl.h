/* What fuse/shown.c and fuse/shown_pass.c share. No other file includes it. */
#pragma once

#include "fuse/shown.h"

#include "fuse/inode.h"

#include <stdatomic.h>

enum { SHOWN_PASSES = 64 };

struct page;

/* What a write() past the pages has put there. */
struct shown_pass {
	uint64_t from, to; /* alike: none */
	uint64_t number;
	int64_t ended; /* clock_now(); 0: it is under way */
};

struct shown {
	struct shown_pages *all;
	struct inode *inode;
	/* Under the lock of all: */
	atomic_uint writers; /* open handles; while there are none, no page is remembered */
	struct page **bucket;
	size_t buckets, count; /* buckets: a power of two, or 0 */

	pthread_mutex_t lock; /* guards the rest */
	struct shown_pass pass[SHOWN_PASSES];
	uint64_t passes; /* so far */
};

/* NULL: it was never opened to be written. */
static inline struct shown *
shown_of(const struct inode *i)
{
	return atomic_load_explicit(&i->shown, memory_order_acquire);
}
