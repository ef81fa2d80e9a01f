/* Blosc 1: a header of 16 bytes, where each block begins (i32, from the start of the header), the
 * blocks. What the header says holds, whatever the configuration says. Each block decodes by
 * itself, so a part takes only its blocks' bytes. */
#include "codec/codec.h"

#include "base/check.h"
#include "base/err.h"
#include "codecs/blosc_impl.h"
#include "codecs/libblosc.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	FINE = 32 << 10,  /* a good size for parts of blocks */
	FORMAT_INNER = 1, /* of what each of its compressors makes: there is no other */
	HEAD_READ =
		4096, /* holds the starts of most chunks, and costs no more to read than a header */
	LEVEL_DEFAULT = 5,
	LEVEL_MAX = 9,
	SCRATCH_PART = 2,
	SCRATCH_DECODED = 3,
};

static uint32_t
get_u32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

/* -1: numcodecs' choice by size of the elements. */
static int
read_shuffle(const struct json *config, size_t typesize)
{
	static const char *const names[] = {"noshuffle", "shuffle", "bitshuffle"};
	const struct json *j = config ? json_get(config, "shuffle") : NULL;
	for (int i = 0; j && i < 3; i++)
		if (json_type(j) == JSON_TYPE_TEXT && json_is(j, names[i]))
			return i;
	int v = codec_level(config, "shuffle", BLOSC_SHUFFLE, -1, BLOSC_BITSHUFFLE);
	return v >= 0 ? v : typesize == 1 ? BLOSC_BITSHUFFLE : BLOSC_SHUFFLE;
}

static int
blosc_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct blosc *b = calloc(1, sizeof *b);
	if (!b)
		return err_set(-ENOMEM, "out of memory");
	const struct json *cname = config ? json_get(config, "cname") : NULL;
	size_t len = 0;
	const char *name =
		cname && json_type(cname) == JSON_TYPE_TEXT ? json_text(cname, &len) : "lz4";
	snprintf(b->cname, sizeof b->cname, "%s", name);
	size_t size = in->dtype && in->dtype->size ? in->dtype->size : 1;
	b->typesize = (size_t)codec_level(config, "typesize",
		size < BLOSC_MAX_TYPESIZE ? (int)size : 1, 1, BLOSC_MAX_TYPESIZE);
	b->level = codec_level(config, "clevel", LEVEL_DEFAULT, 0, LEVEL_MAX);
	b->shuffle = read_shuffle(config, b->typesize);
	b->blocksize = (size_t)codec_level(config, "blocksize", 0, 0, INT32_MAX / 4);
	out->bytes = codec_worst(in->bytes);
	*ret = b;
	return 0;
}

/* Does what the header says fit the bytes that are there, and those that are to come of them? */
static int
check_sizes(const struct blosc_header *h, uint64_t size, const struct form *form)
{
	if (h->cbytes != size)
		return err_set(-EIO, "blosc header says %" PRIu32 " bytes, but there are %" PRIu64,
			h->cbytes, size);
	if (h->nbytes > form->bytes || (form->exact && h->nbytes != form->bytes))
		return err_set(-EIO, "blosc data decode to %" PRIu32 " bytes instead of %zu",
			h->nbytes, form->bytes);
	if (h->nbytes > BLOSC_MAX_BUFFERSIZE || h->cbytes > INT32_MAX || !h->typesize ||
		(h->nbytes && (!h->blocksize || h->blocksize > h->nbytes)))
		return err_set(-EIO, "blosc header is damaged");
	return 0;
}

int
blosc_read_header(
	const uint8_t *p, uint64_t size, const struct form *form, struct blosc_header *ret)
{
	struct blosc_header h = {
		.flags = p[2],
		.typesize = p[3],
		.nbytes = get_u32(p + 4),
		.blocksize = get_u32(p + 8),
		.cbytes = get_u32(p + 12),
	};
	const uint8_t both = BLOSC_DOSHUFFLE | BLOSC_DOBITSHUFFLE;
	if (p[0] > BLOSC_FORMAT || !p[0] || p[1] != FORMAT_INNER)
		return err_set(-EIO, "blosc format %u.%u cannot be read", p[0], p[1]);
	if (h.flags & BLOSC_FLAG_FUTURE || (h.flags & both) == both)
		return err_set(-EIO, "blosc flags 0x%x cannot be read", h.flags);
	int r = check_sizes(&h, size, form);
	if (r < 0)
		return r;
	h.nblocks = h.nbytes ? (uint32_t)ceil_div(h.nbytes, h.blocksize) : 0;
	bool plain = h.flags & BLOSC_MEMCPYED;
	uint64_t first = BLOSC_HEADER + (plain ? h.nbytes : (uint64_t)h.nblocks * BLOSC_START);
	if (first > h.cbytes || (plain && first != h.cbytes))
		return err_set(-EIO, "blosc data are too short for their header");
	h.first = (uint32_t)first;
	*ret = h;
	return 0;
}

uint32_t
blosc_block_start(const struct blosc_part *p, uint32_t i)
{
	return get_u32(p->starts + (size_t)i * BLOSC_START);
}

size_t
blosc_block_size(const struct blosc_part *p, uint32_t i)
{
	return min_u64(p->h.blocksize, p->h.nbytes - (uint64_t)i * p->h.blocksize);
}

int
blosc_part_decode(const struct blosc_part *p, uint32_t i, const size_t *want, uint8_t *out)
{
	uint32_t s = blosc_block_start(p, i);
	if (s < p->h.first || s < p->from || s - p->from >= p->in.len)
		return err_set(-EIO,
			"block %" PRIu32 " of blosc data begins at byte %" PRIu32 " of %" PRIu32, i,
			s, p->h.cbytes);
	struct span in = {p->in.data + (s - p->from), p->in.len - (s - p->from)};
	int r = want ? blosc_block_decode_slice(&p->h, in, blosc_block_size(p, i), want, out)
		     : blosc_block_decode(&p->h, in, blosc_block_size(p, i), out);
	return r < 0 ? err_add(r, "block %" PRIu32 " of %" PRIu32, i, p->h.nblocks) : r;
}

static int
blosc_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	if (in.len < BLOSC_HEADER)
		return err_set(-EIO, "%zu bytes are no blosc data", in.len);
	struct blosc_part p = {.in = in, .starts = in.data + BLOSC_HEADER};
	int r = blosc_read_header(in.data, in.len, form, &p.h);
	if (r < 0)
		return r;
	out->len = p.h.nbytes;
	if (p.h.flags & BLOSC_MEMCPYED)
		memcpy(out->data, in.data + BLOSC_HEADER, p.h.nbytes);
	else
		for (uint32_t i = 0; i < p.h.nblocks && r == 0; i++)
			r = blosc_part_decode(&p, i, NULL, out->data + (size_t)i * p.h.blocksize);
	return r;
}

static int
src_read(struct codec_src *src, uint64_t off, size_t len, void *out)
{
	if (off > src->size || len > src->size - off)
		return err_set(-EIO, "%" PRIu64 " encoded bytes are too few", src->size);
	if (!src->mem)
		return src->read(src, off, len, out);
	memcpy(out, src->mem + off, len);
	return 0;
}

/* The first bytes of the chunk and the header in them; room: HEAD_READ bytes. */
static int
read_head(const struct form *form, struct codec_src *src, uint8_t *room, struct blosc_part *ret)
{
	if (src->size < BLOSC_HEADER)
		return err_set(-EIO, "%" PRIu64 " bytes are no blosc data", src->size);
	ret->head = (struct span){src->mem, src->size};
	if (!src->mem) {
		ret->head = (struct span){room, min_u64(src->size, HEAD_READ)};
		int r = src->read(src, 0, ret->head.len, room);
		if (r < 0)
			return r;
	}
	return blosc_read_header(ret->head.data, src->size, form, &ret->h);
}

/* more: memory for the caller to free, if the head does not hold all. */
static int
read_starts(struct blosc_part *p, struct codec_src *src, uint8_t **more)
{
	size_t table = (size_t)p->h.nblocks * BLOSC_START;
	p->starts = p->head.data + BLOSC_HEADER;
	if (BLOSC_HEADER + table <= p->head.len)
		return 0;
	p->starts = *more = malloc(table);
	if (!*more)
		return err_set(-ENOMEM, "no memory for %" PRIu32 " blocks", p->h.nblocks);
	return src_read(src, BLOSC_HEADER, table, *more);
}

/* Blocks need not lie in their order: several threads may have written them. One ends where another
 * begins. */
static int
read_blocks(struct blosc_part *p, struct codec_src *src)
{
	p->in = p->head;
	if (src->mem)
		return 0;
	uint32_t low = p->h.cbytes, high = 0, to = p->h.cbytes;
	for (uint32_t i = p->first; i <= p->last; i++) {
		uint32_t s = blosc_block_start(p, i);
		low = s < low ? s : low;
		high = s > high ? s : high;
	}
	for (uint32_t i = 0; i < p->h.nblocks; i++) {
		uint32_t s = blosc_block_start(p, i);
		if (s > high && s < to)
			to = s;
	}
	if (to <= p->head.len || low >= to)
		return 0; /* all there, or nonsense that decode_block finds */
	uint8_t *b = codec_scratch(SCRATCH_PART, to - low);
	if (!b)
		return err_set(-ENOMEM, "no memory for %" PRIu32 " encoded bytes", to - low);
	p->from = low;
	p->in = (struct span){b, to - low};
	return src_read(src, low, to - low, b);
}

/* A part of a block by way of all of it. */
static int
decode_slice(const struct blosc_part *p, uint32_t i, const size_t want[static 2], uint8_t *out)
{
	uint8_t *block = codec_scratch(SCRATCH_DECODED, blosc_block_size(p, i));
	if (!block)
		return err_set(-ENOMEM, "no memory to decode %zu bytes", blosc_block_size(p, i));
	int r = blosc_part_decode(p, i, NULL, block);
	if (r == 0)
		memcpy(out, block + want[0], want[1] - want[0]);
	return r;
}

/* Bytes [off, off + len) of the chunk; the blocks are there. */
static int
decode_blocks(const struct blosc_part *p, size_t off, size_t len, uint8_t *out)
{
	for (uint32_t i = p->first; i <= p->last; i++) {
		size_t at = (size_t)i * p->h.blocksize, size = blosc_block_size(p, i);
		const size_t want[2] = {off > at ? off - at : 0, min_u64(size, off + len - at)};
		bool whole = want[1] - want[0] == size;
		int r = blosc_part_decode(p, i, whole ? NULL : want, out);
		if (r == BLOSC_BLOCK_WHOLE)
			r = decode_slice(p, i, want, out);
		if (r < 0)
			return r;
		out += want[1] - want[0];
	}
	return 0;
}

static int
blosc_decode_range(const void *obj, const struct form *form, struct codec_src *src, size_t off,
	size_t len, void *out)
{
	uint8_t room[HEAD_READ];
	struct blosc_part p = {0};
	int r = read_head(form, src, room, &p);
	if (r < 0)
		return r;
	if (off > p.h.nbytes || len > p.h.nbytes - off)
		return err_set(-EIO, "blosc data decode to %" PRIu32 " bytes only", p.h.nbytes);
	if (!len)
		return 0;
	if (p.h.flags & BLOSC_MEMCPYED)
		return src_read(src, BLOSC_HEADER + off, len, out);
	CLEAN(clean_free) uint8_t *more = NULL;
	p.first = (uint32_t)(off / p.h.blocksize);
	p.last = (uint32_t)((off + len - 1) / p.h.blocksize);
	r = read_starts(&p, src, &more);
	if (r == 0)
		r = read_blocks(&p, src);
	return r < 0 ? r : decode_blocks(&p, off, len, out);
}

static int
blosc_grain(const void *obj, const struct form *form, struct codec_src *src, size_t *ret)
{
	uint8_t room[HEAD_READ];
	struct blosc_part p = {0};
	*ret = 0;
	if (!src)
		return 0;
	int r = read_head(form, src, room, &p);
	if (r == 0)
		*ret = !p.h.nbytes              ? 1
		       : blosc_block_fine(&p.h) ? min_u64(p.h.blocksize, FINE)
						: p.h.blocksize;
	return r;
}

int
blosc_encode_in(const struct blosc *b, size_t blocksize, struct span in, struct buf *out)
{
	if (in.len > BLOSC_MAX_BUFFERSIZE)
		return err_set(-EIO, "blosc cannot hold %zu bytes", in.len);
	int r = libblosc_load();
	if (r < 0)
		return r;
	if (blosc_compname_to_compcode(b->cname) < 0)
		return err_set(-ENOTSUP, "blosc has no compressor '%s'", b->cname);
	r = buf_reserve_most(out, in.len + BLOSC_MAX_OVERHEAD);
	if (r < 0)
		return r;
	int n = blosc_compress_ctx(b->level, b->shuffle, b->typesize, in.len, in.data, out->data,
		in.len + BLOSC_MAX_OVERHEAD, b->cname, blocksize, 1);
	if (n <= 0)
		return err_set(-EIO, "cannot compress %zu bytes (%d)", in.len, n);
	out->len = (size_t)n;
	return 0;
}

static int
blosc_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct blosc *b = obj;
	return blosc_encode_in(b, b->blocksize, in, out);
}

static int
blosc_load(const void *state)
{
	(void)state;
	return libblosc_load();
}

const struct codec_ops codec_blosc = {
	.ids = (const char *const[]){"blosc", "numcodecs.blosc", NULL},
	.kind = CODEC_BYTES,
	.open = blosc_open,
	.close = free,
	.decode = blosc_decode,
	.decode_range = blosc_decode_range,
	.grain = blosc_grain,
	.encode = blosc_encode,
	.load = blosc_load,
	.patch = blosc_patch,
};
