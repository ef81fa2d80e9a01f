/* Where the file's order is the chunk's: cached extents are handed out as they are. */
#include "data/request.h"

#include "base/check.h"

#include <errno.h>

struct direct {
	struct extent *extent;
	bool ready;
	uint64_t in_extent;
	size_t len;
};

/* Pins everything the request needs; -EAGAIN: too many extents, or no memory for all at once. */
static int
pin_direct(struct read_request *q, struct batch *batch, struct direct *d, unsigned *ret_n)
{
	uint64_t at = q->want->off, end = at + q->want->len;
	unsigned n = 0;
	int r = 0;
	while (at < end && r >= 0) {
		struct run run;
		grid_run(&q->array->grid, at, &run);
		uint64_t in = run.in_chunk, to = in + min_u64(run.len, end - at);
		while (in < to && r >= 0) {
			struct cache_request want = request_cache(q, run.number, in, to, n > 0);
			r = n < REPLY_PARTS ? request_extent(q, batch, &want, &d[n].extent)
					    : -EAGAIN;
			if (r < 0)
				break;
			const struct extent_id *got = &d[n].extent->id;
			d[n].ready = r == CACHE_READY;
			d[n].in_extent = in - got->off;
			d[n].len = min_u64(to, got->off + got->len) - in;
			in += d[n].len;
			at += d[n++].len;
		}
	}
	*ret_n = n;
	return r < 0 ? r : 0;
}

/* Fill values where a chunk is absent, whole elements from the one that the run begins in. An
 * extent may begin in the midst of one. most: runs the request may have. */
static int
add_fill(struct read_request *q, const struct direct *d, unsigned most)
{
	struct buf *own = &q->reply->own;
	uint64_t item = q->array->grid.item, skip = (d->extent->id.off + d->in_extent) % item;
	int r = buf_reserve(own, q->want->len + most * item);
	if (r < 0)
		return r;
	uint8_t *to = own->data + own->len;
	array_fill(q->array, to, d->len + skip);
	request_answer(q, to + skip, d->len);
	own->len += d->len + skip;
	return 0;
}

int
direct_read(struct read_request *q)
{
	struct reply *ret = q->reply;
	struct direct d[REPLY_PARTS];
	unsigned n = 0;
	struct batch batch = request_batch(q);
	int r = pin_direct(q, &batch, d, &n);
	ret->cache = q->array->data->cache;
	for (unsigned i = 0; i < n; i++)
		ret->pinned[ret->pins++] = d[i].extent;
	if (r == 0)
		ahead_load(q);
	batch_end(&batch, r);
	for (unsigned i = 0; i < n && r == 0; i++) {
		struct extent *p = d[i].extent;
		r = d[i].ready ? 0 : request_wait(q, p);
		if (r == 0 && i && !request_agree(d[i - 1].extent, p))
			r = -EAGAIN;
		if (r == 0)
			r = request_goes_on(q, p);
		if (r < 0)
			break;
		if (p->data)
			request_answer(q, p->data + d[i].in_extent, d[i].len);
		else
			r = add_fill(q, &d[i], n);
	}
	if (r < 0)
		reply_done(ret);
	return r;
}
