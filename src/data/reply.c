#include "data/reply.h"

#include "data/cache.h"

#include <string.h>

void
reply_done(struct reply *r)
{
	if (r->pins)
		cache_unpin(r->cache, r->pinned, r->pins);
	buf_free(&r->own);
	r->parts = r->pins = 0;
	r->len = 0;
}

void
reply_copy(const struct reply *r, void *to)
{
	uint8_t *at = to;
	for (unsigned i = 0; i < r->parts; i++) {
		memcpy(at, r->part[i].iov_base, r->part[i].iov_len);
		at += r->part[i].iov_len;
	}
}
