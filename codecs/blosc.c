/* Blosc 1: a header of 16 bytes, where each block begins (i32, from the start of the header), the blocks. What the header
 * says holds, whatever the configuration says. A part is decoded by building a small Blosc buffer of just its blocks. */
#include "codec/codec.h"

#include "base/check.h"
#include "base/err.h"

#include <blosc.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	HEADER = 16,
	START = 4,             /* bytes of one entry of the table of starts */
	FORMAT = 2,            /* the newest header that c-blosc 1 writes and reads */
	FLAG_MEMCPYED = 0x2,   /* the data follow the header as they are */
	FLAG_NOT_SPLIT = 0x10, /* a block is one stream, not one for each byte of the elements */
	HEAD_READ =
		4096, /* holds the starts of most chunks, and costs no more to read than a header */
	LEVEL_DEFAULT = 5,
	LEVEL_MAX = 9,
	SCRATCH_PART = 2,
	SCRATCH_DECODED = 3,
};

struct blosc {
	char cname[16];
	int level, shuffle;
	size_t typesize, blocksize;
};

struct header {
	uint8_t flags;
	uint32_t nbytes, blocksize, cbytes, nblocks;
};

static uint32_t
get_u32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

static void
put_u32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof v);
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

/* size: bytes of the whole encoded chunk. */
static int
read_header(const uint8_t *p, uint64_t size, const struct form *form, struct header *ret)
{
	struct header h = {
		.flags = p[2],
		.nbytes = get_u32(p + 4),
		.blocksize = get_u32(p + 8),
		.cbytes = get_u32(p + 12),
	};
	if (p[0] > FORMAT || !p[0])
		return err_set(-EIO, "blosc format %u cannot be read", p[0]);
	if (h.cbytes != size)
		return err_set(-EIO, "blosc header says %" PRIu32 " bytes, but there are %" PRIu64,
			h.cbytes, size);
	if (h.nbytes > form->bytes || (form->exact && h.nbytes != form->bytes))
		return err_set(-EIO, "blosc data decode to %" PRIu32 " bytes instead of %zu",
			h.nbytes, form->bytes);
	if (h.nbytes > BLOSC_MAX_BUFFERSIZE || h.cbytes > INT32_MAX || !p[3] ||
		(h.nbytes && (!h.blocksize || h.blocksize > h.nbytes)))
		return err_set(-EIO, "blosc header is damaged");
	h.nblocks = h.nbytes ? (uint32_t)ceil_div(h.nbytes, h.blocksize) : 0;
	uint64_t first =
		HEADER + (h.flags & FLAG_MEMCPYED ? h.nbytes : (uint64_t)h.nblocks * START);
	if (first > h.cbytes || (h.flags & FLAG_MEMCPYED && first != h.cbytes))
		return err_set(-EIO, "blosc data are too short for their header");
	*ret = h;
	return 0;
}

static int
decompress(const uint8_t *in, uint8_t *out, size_t len)
{
	int n = blosc_decompress_ctx(in, out, len, 1);
	if (n >= 0 && (size_t)n == len)
		return 0;
	return err_set(-EIO, "blosc data are damaged (%d)", n);
}

static int
blosc_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	if (in.len < HEADER)
		return err_set(-EIO, "%zu bytes are no blosc data", in.len);
	struct header h = {0};
	int r = read_header(in.data, in.len, form, &h);
	if (r < 0)
		return r;
	if (h.flags & FLAG_MEMCPYED)
		memcpy(out->data, in.data + HEADER, h.nbytes);
	else if (h.nbytes)
		r = decompress(in.data, out->data, h.nbytes);
	out->len = h.nbytes;
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

/* Some blocks of an encoded chunk, and where they lie in it. */
struct part {
	struct header h;
	struct span head;      /* the first bytes of the chunk */
	const uint8_t *starts; /* of all blocks */
	uint32_t first, last;  /* the blocks */
	uint32_t from, to;     /* their encoded bytes, and perhaps others' between them */
	size_t decoded;        /* how many bytes they decode to */
};

static uint32_t
block_start(const struct part *p, uint32_t i)
{
	return get_u32(p->starts + (size_t)i * START);
}

/* Blocks need not lie in their order: several threads may have written them. One ends where another begins. */
static int
find_blocks(struct part *p)
{
	const struct header *h = &p->h;
	uint32_t low = h->cbytes, high = 0, first_possible = HEADER + h->nblocks * START;
	for (uint32_t i = p->first; i <= p->last; i++) {
		uint32_t s = block_start(p, i);
		if (s < first_possible || s >= h->cbytes)
			return err_set(-EIO,
				"block %" PRIu32 " of blosc data begins at byte %" PRIu32
				" of %" PRIu32,
				i, s, h->cbytes);
		low = s < low ? s : low;
		high = s > high ? s : high;
	}
	p->from = low;
	p->to = h->cbytes;
	for (uint32_t i = 0; i < h->nblocks; i++) {
		uint32_t s = block_start(p, i);
		if (s > high && s < p->to)
			p->to = s;
	}
	p->decoded = min_u64((uint64_t)(p->last + 1) * h->blocksize, h->nbytes) -
		     (size_t)p->first * h->blocksize;
	return 0;
}

/* A Blosc buffer of just these blocks, in scratch. */
static int
small_buffer(const struct part *p, struct codec_src *src, uint8_t **ret)
{
	uint32_t n = p->last - p->first + 1, table = HEADER + n * START, len = p->to - p->from;
	uint8_t *b = codec_scratch(SCRATCH_PART, (size_t)table + len);
	if (!b)
		return err_set(-ENOMEM, "no memory for %" PRIu32 " encoded bytes", len);
	memcpy(b, p->head.data, HEADER);
	put_u32(b + 4, (uint32_t)p->decoded);
	put_u32(b + 12, table + len);
	/* The last block may be short and is not split then. Alone, it becomes a full block that is not split. */
	if (p->decoded < p->h.blocksize) {
		put_u32(b + 8, (uint32_t)p->decoded);
		b[2] |= FLAG_NOT_SPLIT;
	}
	for (uint32_t i = 0; i < n; i++)
		put_u32(b + HEADER + (size_t)i * START,
			block_start(p, p->first + i) - p->from + table);
	*ret = b;
	if (p->to <= p->head.len) {
		memcpy(b + table, p->head.data + p->from, len);
		return 0;
	}
	return src_read(src, p->from, len, b + table);
}

/* The first bytes of the chunk and the header in them; room: HEAD_READ bytes. */
static int
read_head(const struct form *form, struct codec_src *src, uint8_t *room, struct part *ret)
{
	if (src->size < HEADER)
		return err_set(-EIO, "%" PRIu64 " bytes are no blosc data", src->size);
	ret->head = (struct span){src->mem, src->size};
	if (!src->mem) {
		ret->head = (struct span){room, min_u64(src->size, HEAD_READ)};
		int r = src->read(src, 0, ret->head.len, room);
		if (r < 0)
			return r;
	}
	return read_header(ret->head.data, src->size, form, &ret->h);
}

static int
decode_part(struct part *p, struct codec_src *src, size_t off, size_t len, void *out)
{
	p->first = (uint32_t)(off / p->h.blocksize);
	p->last = (uint32_t)((off + len - 1) / p->h.blocksize);
	int r = find_blocks(p);
	if (r < 0)
		return r;
	uint8_t *b = NULL;
	r = small_buffer(p, src, &b);
	if (r < 0)
		return r;
	if (len == p->decoded)
		return decompress(b, out, len);
	uint8_t *decoded = codec_scratch(SCRATCH_DECODED, p->decoded);
	if (!decoded)
		return err_set(-ENOMEM, "no memory to decode %zu bytes", p->decoded);
	r = decompress(b, decoded, p->decoded);
	if (r == 0)
		memcpy(out, decoded + (off - (size_t)p->first * p->h.blocksize), len);
	return r;
}

static int
blosc_decode_range(const void *obj, const struct form *form, struct codec_src *src, size_t off,
	size_t len, void *out)
{
	uint8_t room[HEAD_READ];
	struct part p = {0};
	int r = read_head(form, src, room, &p);
	if (r < 0)
		return r;
	if (off > p.h.nbytes || len > p.h.nbytes - off)
		return err_set(-EIO, "blosc data decode to %" PRIu32 " bytes only", p.h.nbytes);
	if (p.h.flags & FLAG_MEMCPYED)
		return src_read(src, HEADER + off, len, out);
	CLEAN(clean_free) uint8_t *more = NULL;
	size_t table = (size_t)p.h.nblocks * START;
	p.starts = p.head.data + HEADER;
	if (HEADER + table > p.head.len) {
		more = malloc(table);
		if (!more)
			return err_set(-ENOMEM, "no memory for %" PRIu32 " blocks", p.h.nblocks);
		r = src_read(src, HEADER, table, more);
		if (r < 0)
			return r;
		p.starts = more;
	}
	return decode_part(&p, src, off, len, out);
}

static int
blosc_grain(const void *obj, const struct form *form, struct codec_src *src, size_t *ret)
{
	uint8_t room[HEAD_READ];
	struct part p = {0};
	int r = read_head(form, src, room, &p);
	if (r == 0)
		*ret = p.h.nbytes ? p.h.blocksize : 1;
	return r;
}

static int
blosc_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct blosc *b = obj;
	if (in.len > BLOSC_MAX_BUFFERSIZE)
		return err_set(-EIO, "blosc cannot hold %zu bytes", in.len);
	if (blosc_compname_to_compcode(b->cname) < 0)
		return err_set(-ENOTSUP, "blosc has no compressor '%s'", b->cname);
	int r = buf_reserve(out, in.len + BLOSC_MAX_OVERHEAD);
	if (r < 0)
		return r;
	int n = blosc_compress_ctx(b->level, b->shuffle, b->typesize, in.len, in.data, out->data,
		in.len + BLOSC_MAX_OVERHEAD, b->cname, b->blocksize, 1);
	if (n <= 0)
		return err_set(-EIO, "cannot compress %zu bytes (%d)", in.len, n);
	out->len = (size_t)n;
	return 0;
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
};
