/* Pictures that were drawn lately: each is drawn once, however many ask, two at a time, and kept
 * within a share of the mount's memory until a chunk in it is found to have changed or the kernel's
 * pages of it would have to go. Any thread. */
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
	uint64_t begun, drawn;
	int64_t expired; /* clock_now(): those that were drawn before are drawn again */
};

void pictures_init(struct pictures *);
void pictures_free(struct pictures *);
size_t pictures_bytes(struct mount *);

/* A picture's file that is open. */
struct picture_reader {
	uint64_t path, version; /* hashes: which, and of what */
	uint64_t midst; /* of which drawing it has some bytes and may want the others; 0: none */
};

/* One that is wanted. */
struct picture_wish {
	const struct picture_reader *of;
	size_t cost; /* bytes that drawing it takes */
	/* clock_now() of when a change in what it shows was noticed last; 0: never */
	int64_t (*changed)(void *arg);
	int (*draw)(void *arg, const struct array_want *, struct buf *ret);
	void *arg;
};

/* Kept, or drawn now; it stays until pictures_put. want: for its deadline and its cancel. */
int pictures_get(struct mount *, const struct picture_wish *, const struct array_want *want,
	struct kept_picture **ret);
/* The reader has what it wanted. Until it comes to the end, or leaves, pictures that no reader is
 * in the midst of make room before this one. */
void pictures_put(
	struct mount *, struct kept_picture *, struct picture_reader *, const struct array_want *);
/* It has closed the file. */
void pictures_leave(struct mount *, struct picture_reader *);
/* Of all its bytes; not 0. */
uint64_t pictures_hash(const struct kept_picture *);
/* What it was got for. */
int pictures_add(const struct kept_picture *, const struct array_want *, struct buf *to);
/* All are drawn again before they are shown again. */
void pictures_expire(struct mount *);
/* Lines of .zarrfs/stats. */
int pictures_stats(struct mount *, struct buf *ret);
