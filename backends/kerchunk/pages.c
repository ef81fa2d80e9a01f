#include "backends/kerchunk/pages.h"

#include "backends/kerchunk/snappy.h"
#include "backends/kerchunk/thrift.h"
#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <string.h>
#include <zstd.h>

enum page_type { DATA, INDEX, DICTIONARY, DATA_2 };
enum encoding { PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, RLE_DICTIONARY = 8 };
enum compression { NONE = 0, SNAPPY = 1, GZIP = 2, ZSTD = 6 };

/* A page's header (parquet.thrift: PageHeader and the headers in it). */
struct parquet_page {
	int64_t type, size, stored, values, encoding, levels;
	int64_t level_bytes, repetition_bytes; /* of DATA_2 */
	bool packed;                           /* values of DATA_2 are compressed */
};

/* Numbers of few bits: runs of one, and groups of eight in a row (Encodings.md, "RLE"). */
struct hybrid {
	struct kerchunk_thrift in;
	unsigned width;
	uint64_t left; /* of the run */
	bool packed;
	uint32_t value; /* of a run of one */
	uint64_t bits;  /* not yet used, of a packed run */
	unsigned nbits;
	uint64_t run_end; /* bytes of the packed run that are still to come */
};

struct column {
	struct span file;
	const struct kerchunk_column *c;
	size_t most;
	kerchunk_cell_fn *fn;
	void *arg;
	uint64_t done;            /* values */
	struct buf body, pool;    /* the page at hand; the dictionary's page, unpacked */
	struct kerchunk_cell *of; /* the dictionary */
	size_t count;
};

static int
bad(const char *what)
{
	return err_set(-EIO, "parquet file: %s", what);
}

/* --- numbers of few bits --- */

static struct hybrid
hybrid_open(struct span s, unsigned width)
{
	return (struct hybrid){
		.in = {.at = s.data, .end = s.len ? s.data + s.len : s.data}, .width = width};
}

static bool
hybrid_run(struct hybrid *h)
{
	uint64_t head = kerchunk_thrift_varint(&h->in);
	h->left = head >> 1;
	h->packed = head & 1;
	h->value = 0;
	h->nbits = 0;
	h->bits = 0;
	if (h->packed) {
		if (h->left > (uint64_t)(h->in.end - h->in.at) + 1 && h->width)
			return false;
		h->run_end = h->left * h->width;
		h->left *= 8;
	}
	unsigned bytes = h->packed ? 0 : (h->width + 7) / 8;
	for (unsigned i = 0; i < bytes; i++) {
		if (h->in.at == h->in.end)
			return false;
		h->value |= (uint32_t)*h->in.at++ << 8 * i;
	}
	return !h->in.bad && h->left;
}

static bool
hybrid_next(struct hybrid *h, uint32_t *ret)
{
	if (!h->left && !hybrid_run(h))
		return false;
	h->left--;
	*ret = h->value;
	if (!h->packed)
		return true;
	for (; h->nbits < h->width; h->nbits += 8, h->run_end--) {
		if (h->in.at == h->in.end || !h->run_end)
			return false;
		h->bits |= (uint64_t)*h->in.at++ << h->nbits;
	}
	*ret = (uint32_t)(h->bits & ((UINT64_C(1) << h->width) - 1));
	h->bits >>= h->width;
	h->nbits -= h->width;
	return true;
}

/* --- pages --- */

static void
read_part(
	struct kerchunk_thrift *t, const struct kerchunk_thrift_field *part, struct parquet_page *p)
{
	struct kerchunk_thrift_field f = {0};
	bool second = part->id == 8, dictionary = part->id == 7;
	while (kerchunk_thrift_next(t, &f)) {
		int64_t *to = f.id == 1                  ? &p->values
			      : f.id == (second ? 4 : 2) ? &p->encoding
			      : dictionary               ? NULL
			      : !second && f.id == 3     ? &p->levels
			      : second && f.id == 5      ? &p->level_bytes
			      : second && f.id == 6      ? &p->repetition_bytes
							 : NULL;
		if (to)
			*to = kerchunk_thrift_int(t, &f);
		else if (second && f.id == 7)
			p->packed = kerchunk_thrift_int(t, &f);
		else
			kerchunk_thrift_skip(t, &f);
	}
}

static int
read_header(struct kerchunk_thrift *t, struct parquet_page *p)
{
	struct kerchunk_thrift_field f = {0};
	*p = (struct parquet_page){
		.type = -1, .size = -1, .stored = -1, .values = -1, .levels = RLE, .packed = true};
	while (kerchunk_thrift_next(t, &f)) {
		bool part = f.type == THRIFT_STRUCT && (f.id == 5 || f.id == 7 || f.id == 8);
		if (f.id >= 1 && f.id <= 3)
			*(f.id == 1         ? &p->type
				: f.id == 2 ? &p->size
					    : &p->stored) = kerchunk_thrift_int(t, &f);
		else if (part)
			read_part(t, &f, p);
		else
			kerchunk_thrift_skip(t, &f);
	}
	if (t->bad || p->size < 0 || p->stored < 0 || p->stored > t->end - t->at)
		return bad("a page's header makes no sense");
	return 0;
}

static int
inflate_gzip(struct span from, uint8_t *to, size_t len)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	size_t got = 0;
	if (!d)
		return err_set(-ENOMEM, "no memory for a page");
	enum libdeflate_result r =
		libdeflate_gzip_decompress(d, from.data, from.len, to, len, &got);
	libdeflate_free_decompressor(d);
	return r == LIBDEFLATE_SUCCESS && got == len ? 0 : bad("a page's gzip data make no sense");
}

static int
unpack_into(int64_t codec, struct span from, uint8_t *to, size_t len)
{
	switch (codec) {
	case NONE:
		if (from.len != len)
			return bad("a page of another size than it says");
		memcpy(to, from.data, len);
		return 0;
	case SNAPPY: return kerchunk_snappy(from, to, len);
	case GZIP: return inflate_gzip(from, to, len);
	case ZSTD:
		return ZSTD_decompress(to, len, from.data, from.len) == len
			       ? 0
			       : bad("a page's zstd data make no sense");
	default:
		return err_set(-ENOTSUP,
			"parquet compression %" PRId64 " (snappy, gzip and zstd are known)", codec);
	}
}

/* More can none of them make of so few bytes. */
static bool
possible(int64_t codec, uint64_t stored, uint64_t size)
{
	enum { SLACK = 64, SNAPPY_MOST = 32, GZIP_MOST = 1100 };
	uint64_t most = codec == SNAPPY ? SNAPPY_MOST : codec == GZIP ? GZIP_MOST : 0;
	return !most || size <= (stored + SLACK) * most;
}

static int
unpack(const struct column *k, int64_t codec, struct span from, uint64_t size, struct buf *ret)
{
	ret->len = 0;
	if (size > k->most)
		return err_set(-EFBIG,
			"a parquet page of %" PRIu64 " bytes (option memory says how much)", size);
	if (!possible(codec, from.len, size))
		return bad("a page's size makes no sense");
	if (buf_reserve(ret, size + 1) < 0)
		return err_set(-ENOMEM, "no memory for a page");
	int r = unpack_into(codec, from, ret->data, size);
	ret->len = r == 0 ? size : 0;
	return r;
}

/* --- values --- */

static uint64_t
little_endian(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/* The next PLAIN value of what is left. */
static int
plain(int64_t type, struct span *left, struct kerchunk_cell *ret)
{
	unsigned width = type == PARQUET_INT64 ? 8 : 4;
	if (left->len < width)
		return bad("a page ends amid its values");
	uint64_t n = little_endian(left->data, width);
	left->data += width;
	left->len -= width;
	ret->number = type == PARQUET_INT32 ? (int32_t)n : (int64_t)n;
	if (type != PARQUET_BYTE_ARRAY)
		return 0;
	if (n > left->len)
		return bad("a text that leads beyond its page");
	ret->bytes = (struct span){left->data, (size_t)n};
	left->data += n;
	left->len -= n;
	return 0;
}

static int
read_dictionary(struct column *k, const struct parquet_page *p, struct span raw)
{
	if (p->encoding != PLAIN && p->encoding != PLAIN_DICTIONARY)
		return err_set(-ENOTSUP, "parquet dictionary of encoding %" PRId64, p->encoding);
	int r = k->of ? bad("a second dictionary")
		      : unpack(k, k->c->codec, raw, (uint64_t)p->size, &k->pool);
	if (r < 0)
		return r;
	if (p->values < 0 || (uint64_t)p->values > k->pool.len / 4)
		return bad("a dictionary shorter than it says");
	k->of = calloc((size_t)p->values + 1, sizeof *k->of);
	if (!k->of)
		return err_set(-ENOMEM, "no memory for a dictionary");
	struct span left = buf_span(&k->pool);
	for (k->count = 0; k->count < (size_t)p->values && r == 0; k->count++)
		r = plain(k->c->type, &left, &k->of[k->count]);
	return r;
}

static int
read_values(struct column *k, const struct parquet_page *p, struct span levels, struct span values)
{
	struct hybrid defined = hybrid_open(levels, 1), index = {0};
	bool dictionary = p->encoding == PLAIN_DICTIONARY || p->encoding == RLE_DICTIONARY;
	if (dictionary && values.len) {
		if (*values.data > 32)
			return bad("indices of more than 32 bits");
		index = hybrid_open((struct span){values.data + 1, values.len - 1}, *values.data);
	} else if (!dictionary && p->encoding != PLAIN) {
		return err_set(-ENOTSUP, "parquet values of encoding %" PRId64, p->encoding);
	}
	for (int64_t i = 0; i < p->values; i++) {
		struct kerchunk_cell cell = {0};
		uint32_t there = 1, which;
		if (k->c->optional && !hybrid_next(&defined, &there))
			return bad("fewer levels than values");
		cell.null = !there;
		if (there && dictionary) {
			which = 0; /* what an index of no bits is, and it may have no bytes */
			if ((index.width && !hybrid_next(&index, &which)) || which >= k->count)
				return bad("an index beyond the dictionary");
			cell = k->of[which];
		} else if (there) {
			int r = plain(k->c->type, &values, &cell);
			if (r < 0)
				return r;
		}
		int r = k->fn(k->arg, k->done++, &cell);
		if (r)
			return r;
	}
	return 0;
}

static int
read_data(struct column *k, const struct parquet_page *p, struct span raw)
{
	struct span levels = {0};
	int r = unpack(k, k->c->codec, raw, (uint64_t)p->size, &k->body);
	if (r < 0)
		return r;
	struct span body = buf_span(&k->body);
	if (k->c->optional) {
		if (p->levels != RLE)
			return err_set(-ENOTSUP, "parquet levels of encoding %" PRId64, p->levels);
		uint64_t len = body.len < 4 ? UINT64_MAX : little_endian(body.data, 4);
		if (len > body.len || len + 4 > body.len)
			return bad("levels that lead beyond their page");
		levels = (struct span){body.data + 4, (size_t)len};
		body.data += 4 + len;
		body.len -= 4 + len;
	}
	return read_values(k, p, levels, body);
}

static int
read_data_2(struct column *k, const struct parquet_page *p, struct span raw)
{
	if (p->repetition_bytes)
		return err_set(-ENOTSUP, "parquet columns with repetition");
	if (p->level_bytes < 0 || (uint64_t)p->level_bytes > raw.len || p->level_bytes > p->size)
		return bad("levels that lead beyond their page");
	struct span levels = {raw.data, (size_t)p->level_bytes};
	struct span rest = {raw.data + levels.len, raw.len - levels.len};
	int r = unpack(
		k, p->packed ? k->c->codec : NONE, rest, (uint64_t)p->size - levels.len, &k->body);
	return r < 0 ? r : read_values(k, p, levels, buf_span(&k->body));
}

static int
read_page(struct column *k, struct kerchunk_thrift *t)
{
	struct parquet_page p;
	int r = read_header(t, &p);
	if (r < 0)
		return r;
	struct span raw = {t->at, (size_t)p.stored};
	t->at += p.stored;
	if (p.type == DICTIONARY)
		return read_dictionary(k, &p, raw);
	if (p.type != DATA && p.type != DATA_2)
		return 0;
	if (p.values < 0 || (uint64_t)p.values > k->c->count - k->done)
		return bad("a page of more values than the column has");
	return p.type == DATA ? read_data(k, &p, raw) : read_data_2(k, &p, raw);
}

static void
column_done(struct column *k)
{
	buf_free(&k->body);
	buf_free(&k->pool);
	free(k->of);
}

int
kerchunk_column_read(struct span file, const struct kerchunk_column *c, size_t most,
	kerchunk_cell_fn *fn, void *arg)
{
	CLEAN(column_done)
	struct column k = {.file = file, .c = c, .most = most, .fn = fn, .arg = arg};
	if (c->type != PARQUET_INT32 && c->type != PARQUET_INT64 && c->type != PARQUET_BYTE_ARRAY)
		return err_set(-ENOTSUP, "parquet column of type %" PRId64, c->type);
	if (c->begin >= file.len)
		return bad("a column beyond the end of the file");
	struct kerchunk_thrift t = {.at = file.data + c->begin, .end = file.data + file.len};
	while (k.done < c->count) {
		int r = read_page(&k, &t);
		if (r)
			return r;
	}
	return 0;
}
