#include "view/picture/png.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>

enum {
	SIGNATURE = 8,
	CHUNK = 12, /* bytes around a chunk's data: length, type, CRC */
	HEADER = 13,
	ZLIB = 6, /* around a stream: two before, four behind */
	BLOCK = 5,
	BLOCK_MAX = 65535,
	CHUNK_MAX = INT32_MAX,
};

/* Each row has a byte before it, which says that the row is as it is. */
static uint64_t
row_bytes(const struct png *p)
{
	return 1 + (uint64_t)p->width * p->channels;
}

static uint64_t
stream_bytes(const struct png *p)
{
	uint64_t raw = row_bytes(p) * p->height;
	return ZLIB + raw + ceil_div(raw, BLOCK_MAX) * BLOCK;
}

int
png_size(const struct png *p, uint64_t *ret)
{
	uint64_t raw;
	if (mul_over(row_bytes(p), p->height, &raw) || raw > CHUNK_MAX / 2)
		return err_set(-EFBIG, "a picture of %u x %u", p->width, p->height);
	*ret = SIGNATURE + CHUNK + HEADER + CHUNK + stream_bytes(p) + CHUNK;
	if (p->channels == 1)
		*ret += CHUNK + PNG_COLOURS * 3 + CHUNK + 1;
	return 0;
}

/* What follows has room: png_write has seen to it. */
static void
put(struct buf *b, const void *data, size_t n)
{
	memcpy(b->data + b->len, data, n);
	b->len += n;
}

static void
put_byte(struct buf *b, unsigned v)
{
	b->data[b->len++] = (uint8_t)v;
}

static void
put_number(struct buf *b, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		put_byte(b, v >> shift & 0xff);
}

/* Returns where its type is, from which on put_end counts. */
static size_t
put_begin(struct buf *b, uint64_t length, const char *type)
{
	put_number(b, (uint32_t)length);
	put(b, type, 4);
	return b->len - 4;
}

static void
put_end(struct buf *b, size_t from)
{
	put_number(b, libdeflate_crc32(0, b->data + from, b->len - from));
}

static void
put_header(struct buf *b, const struct png *p)
{
	static const uint8_t kind[] = {[1] = 3, [3] = 2, [4] = 6};
	size_t at = put_begin(b, HEADER, "IHDR");
	put_number(b, p->width);
	put_number(b, p->height);
	put_byte(b, 8);
	put_byte(b, kind[p->channels]);
	put(b, "\0\0", 3);
	put_end(b, at);
	if (p->channels > 1)
		return;
	at = put_begin(b, PNG_COLOURS * 3, "PLTE");
	put(b, p->palette, PNG_COLOURS * 3);
	put_end(b, at);
	at = put_begin(b, 1, "tRNS");
	put_byte(b, 0);
	put_end(b, at);
}

/* A stream's bytes, cut into blocks. */
struct blocks {
	struct buf *to;
	uint64_t left; /* of the stream */
	unsigned room; /* in this block */
	uint32_t adler;
};

static void
put_stored(struct blocks *k, const uint8_t *data, uint64_t n)
{
	k->adler = libdeflate_adler32(k->adler, data, n);
	while (n) {
		if (!k->room) {
			k->room = (unsigned)min_u64(k->left, BLOCK_MAX);
			put_byte(k->to, k->room == k->left);
			put_byte(k->to, k->room & 0xff);
			put_byte(k->to, k->room >> 8);
			put_byte(k->to, ~k->room & 0xff);
			put_byte(k->to, ~k->room >> 8 & 0xff);
		}
		unsigned some = (unsigned)min_u64(n, k->room);
		put(k->to, data, some);
		data += some;
		n -= some;
		k->room -= some;
		k->left -= some;
	}
}

static void
put_pixels(struct buf *b, const struct png *p, const uint8_t *pixels)
{
	const uint8_t none = 0;
	const uint64_t row = row_bytes(p) - 1;
	struct blocks k = {.to = b, .left = row_bytes(p) * p->height, .adler = 1};
	size_t at = put_begin(b, stream_bytes(p), "IDAT");
	put(b, "\x78\x01", 2);
	for (uint32_t y = 0; y < p->height; y++, pixels += row) {
		put_stored(&k, &none, 1);
		put_stored(&k, pixels, row);
	}
	put_number(b, k.adler);
	put_end(b, at);
}

int
png_write(const struct png *p, const uint8_t *pixels, struct buf *ret)
{
	uint64_t size;
	int r = png_size(p, &size);
	if (r == 0)
		r = buf_reserve(ret, ret->len + size);
	if (r < 0)
		return r;
	put(ret, "\x89PNG\r\n\x1a\n", SIGNATURE);
	put_header(ret, p);
	put_pixels(ret, p, pixels);
	put_end(ret, put_begin(ret, 0, "IEND"));
	return 0;
}
