/* The answer to one read: extents of memory in file order, most of them cached chunks that stay
 * pinned until reply_done. Belongs to one thread. Start with {0}. */
#pragma once

#include "base/buf.h"

#include <sys/uio.h>

enum { REPLY_PARTS = 64 };

struct cache;
struct extent;

struct reply {
	struct iovec part[REPLY_PARTS];
	unsigned parts;
	size_t len;          /* bytes of all parts */
	struct cache *cache; /* of the pinned extents */
	struct extent *pinned[REPLY_PARTS];
	unsigned pins;
	struct buf own; /* bytes that lie in no chunk: gathered, converted, fill */
};

/* Unpins and frees; the reply is empty afterwards. */
void reply_done(struct reply *);
/* All bytes to one place. */
void reply_copy(const struct reply *, void *to);
