/* Pictures that were drawn lately: each is drawn once, however many ask, two at a time, and kept within a share of the mount's memory
 * until a chunk in it is found to have changed or the kernel's pages of it would have to go. Any thread. */
#pragma once

#include "base/buf.h"

struct array_want;
struct mount;
struct kept_picture;
struct picture_waiter;

struct pictures {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t ended; /* a drawing */
	struct kept_picture *newest;
	struct picture_waiter *waiting; /* in the order in which they came */
	unsigned drawing;
	size_t bytes; /* kept, and needed for drawing */
	uint64_t drawn;
	int64_t expired; /* clock_now(): those that were drawn before are drawn again */
};

void pictures_init(struct pictures *);
void pictures_free(struct pictures *);
size_t pictures_bytes(struct mount *);

/* One that is wanted. */
struct picture_wish {
	uint64_t path, version; /* hashes: which, and of what */
	size_t cost;            /* bytes that drawing it takes */
	/* clock_now() of when a change in what it shows was noticed last; 0: never */
	int64_t (*changed)(void *arg);
	int (*draw)(void *arg, const struct array_want *, struct buf *ret);
	void *arg;
};

/* Kept, or drawn now; it stays until pictures_put. read: a reader has come to its end. want: for its deadline and its cancel. */
int pictures_get(struct mount *, const struct picture_wish *, const struct array_want *want,
	struct kept_picture **ret);
void pictures_put(struct mount *, struct kept_picture *, bool read);
/* Its bytes, and a hash of them that is not 0. */
struct span pictures_file(const struct kept_picture *, uint64_t *ret_hash);
/* All are drawn again before they are shown again. */
void pictures_expire(struct mount *);
/* Lines of .zarrfs/stats. */
int pictures_stats(struct mount *, struct buf *ret);
