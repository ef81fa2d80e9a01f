/* Changing some blocks of a Blosc 1 buffer: they are encoded by c-blosc as a buffer of their own,
 * and taken out of it. */
#include "codecs/blosc_impl.h"

#include "base/check.h"
#include "base/err.h"

#include <blosc.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

/* A chunk that is put together of blocks as they are stored and of others that are encoded anew. */
struct patched {
	const struct blosc *blosc;
	const struct codec_patch *patch;
	struct blosc_part was;
	struct buf *out;
};

static bool
is_touched(const struct patched *p, uint32_t i)
{
	size_t at = (size_t)i * p->was.h.blocksize;
	return p->patch->touches(p->patch->arg, at, at + blosc_block_size(&p->was, i));
}

/* A block as it lies in a chunk. */
static int
find_block(const struct blosc_part *p, uint32_t i, struct span *ret)
{
	uint32_t s = blosc_block_start(p, i);
	if (s < p->h.first || s >= p->in.len)
		return -EIO;
	ret->data = p->in.data + s;
	return blosc_block_length(
		&p->h, (struct span){ret->data, p->in.len - s}, blosc_block_size(p, i), &ret->len);
}

/* Block i of a chunk becomes block `to` of what is put together. */
static int
copy_block(struct patched *p, const struct blosc_part *from, uint32_t i, uint32_t to)
{
	struct span block;
	struct buf *out = p->out;
	int r = find_block(from, i, &block);
	if (r < 0 || out->len + block.len > p->was.h.nbytes)
		return CODEC_WHOLE;
	uint32_t start = htole32((uint32_t)out->len);
	memcpy(out->data + BLOSC_HEADER + (size_t)to * BLOSC_START, &start, sizeof start);
	return buf_add(out, block.data, block.len);
}

/* Blocks [first, end) as they are now. A short block is encoded so only behind another one. */
static int
encode_blocks(struct patched *p, uint32_t first, uint32_t end, uint8_t *room, struct buf *run)
{
	const struct blosc_header *h = &p->was.h;
	uint32_t from = first && end == h->nblocks && end - first == 1 ? first - 1 : first;
	size_t at = (size_t)from * h->blocksize,
	       n = min_u64((uint64_t)end * h->blocksize, h->nbytes) - at;
	int r = 0;
	for (uint32_t i = from; i < end && r == 0; i++)
		r = blosc_part_decode(&p->was, i, NULL, room + (size_t)(i - from) * h->blocksize);
	if (r < 0)
		return r;
	p->patch->lay(p->patch->arg, at, n, room);
	/* c-blosc takes the size that it is told for that of a stream. */
	size_t told = h->flags & BLOSC_FLAG_NOT_SPLIT ? h->blocksize : h->blocksize / h->typesize;
	r = blosc_encode_in(p->blosc, told, (struct span){room, n}, run);
	const struct form some = {.bytes = n, .exact = true};
	struct blosc_part made = {.in = buf_span(run), .starts = run->data + BLOSC_HEADER};
	if (r == 0)
		r = blosc_read_header(run->data, run->len, &some, &made.h);
	if (r < 0)
		return r;
	if (made.h.flags != h->flags || made.h.typesize != h->typesize ||
		made.h.blocksize != h->blocksize || run->data[0] != p->was.in.data[0])
		return CODEC_WHOLE;
	for (uint32_t i = first; i < end && r == 0; i++)
		r = copy_block(p, &made, i - from, i);
	return r;
}

/* Blocks that are touched and lie together are encoded together. most: how many of them. */
static int
put_together(struct patched *p, uint32_t most)
{
	const struct blosc_header *h = &p->was.h;
	CLEAN(buf_free) struct buf room = {0};
	CLEAN(buf_free) struct buf run = {0};
	int r = buf_reserve_most(p->out, h->nbytes + BLOSC_MAX_OVERHEAD);
	if (r == 0)
		r = buf_reserve(&room, (size_t)(most + 1) * h->blocksize);
	if (r < 0)
		return r;
	memcpy(p->out->data, p->was.in.data, BLOSC_HEADER);
	p->out->len = h->first;
	for (uint32_t i = 0, end; i < h->nblocks && r == 0; i = end) {
		for (end = i + 1; is_touched(p, i) && end < h->nblocks && is_touched(p, end);)
			end++;
		r = is_touched(p, i) ? encode_blocks(p, i, end, room.data, &run)
				     : copy_block(p, &p->was, i, i);
	}
	if (r)
		return r;
	uint32_t all = htole32((uint32_t)p->out->len);
	memcpy(p->out->data + BLOSC_HEADER - sizeof all, &all, sizeof all);
	return 0;
}

int
blosc_patch(const void *obj, const struct form *form, struct span was,
	const struct codec_patch *patch, struct buf *out)
{
	enum { WORTH = 4 }; /* quarters of the blocks; where three are touched all may be encoded */
	struct patched p = {obj, patch, {.in = was}, out};
	struct blosc_header *h = &p.was.h;
	uint32_t touched = 0;
	if (was.len < BLOSC_HEADER || blosc_read_header(was.data, was.len, form, h) < 0)
		return CODEC_WHOLE;
	if (h->flags & BLOSC_MEMCPYED || was.data[0] != BLOSC_FORMAT || h->nbytes != form->bytes ||
		h->first >= h->nbytes)
		return CODEC_WHOLE;
	p.was.starts = was.data + BLOSC_HEADER;
	for (uint32_t i = 0; i < h->nblocks; i++)
		touched += is_touched(&p, i);
	if (!touched || touched >= h->nblocks - h->nblocks / WORTH)
		return CODEC_WHOLE;
	int r = put_together(&p, touched);
	return r == -ENOMEM || r == 0 ? r : CODEC_WHOLE;
}
