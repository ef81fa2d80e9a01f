/* Small parquet files of references, in each way that writers have. */
#pragma once

#include "base/buf.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct made_row {
	const char *path, *raw; /* NULL: null */
	int64_t off, size;
};

struct parquet_maker {
	int codec, page;        /* 0 1 2 6; 1 2 */
	bool dictionary, nulls; /* integers are optional, too */
	const struct made_row *row;
	int nrows, group; /* rows; rows a group */
	unsigned columns; /* bits: path raw offset size */
	struct buf out, footer;
};

static void
put(struct buf *b, int byte)
{
	uint8_t c = (uint8_t)byte;
	buf_add(b, &c, 1);
}

static void
put_varint(struct buf *b, uint64_t n)
{
	for (; n > 127; n >>= 7)
		put(b, (int)(n & 127) | 128);
	put(b, (int)n);
}

static void
put_int(struct buf *b, int type, int delta, int64_t n)
{
	put(b, delta << 4 | type);
	put_varint(b, (uint64_t)n << 1 ^ (uint64_t)(n >> 63));
}

static void
put_text(struct buf *b, const char *s)
{
	put_varint(b, strlen(s));
	buf_add(b, s, strlen(s));
}

static void
put_fixed(struct buf *b, uint64_t n, int bytes)
{
	for (int i = 0; i < bytes; i++)
		put(b, (int)(n >> 8 * i & 255));
}

/* Snappy without any matches but one of the last byte. */
static void
put_snappy(struct buf *b, struct span s)
{
	bool same = s.len > 8 && s.data[s.len - 1] == s.data[s.len - 2] &&
		    s.data[s.len - 2] == s.data[s.len - 3];
	size_t n = same ? s.len - 2 : s.len;
	put_varint(b, s.len);
	for (size_t at = 0; at < n;) {
		size_t part = n - at < 300 ? n - at : 300;
		put(b, part > 60 ? 61 << 2 : (int)(part - 1) << 2);
		if (part > 60)
			put_fixed(b, part - 1, 2);
		buf_add(b, s.data + at, part);
		at += part;
	}
	if (same) {
		put(b, 1 << 2 | 2);
		put_fixed(b, 1, 2);
	}
}

static void
put_packed(int codec, struct buf *b, struct span s)
{
	char room[1 << 16];
	if (codec == 0)
		buf_add(b, s.data, s.len);
	if (codec == 1)
		put_snappy(b, s);
	if (codec == 2) {
		struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
		buf_add(b, room, libdeflate_gzip_compress(c, s.data, s.len, room, sizeof room));
		libdeflate_free_compressor(c);
	}
	if (codec == 6)
		buf_add(b, room, ZSTD_compress(room, sizeof room, s.data, s.len, 1));
}

static bool
row_value(const struct parquet_maker *m, int column, int i, struct buf *ret)
{
	const struct made_row *r = &m->row[i];
	const char *text = column == 0 ? r->path : column == 1 ? r->raw : NULL;
	int64_t n = column == 2 ? r->off : r->size;
	if (column > 1 && n == -1 && m->nulls)
		return false;
	if (column > 1)
		put_fixed(ret, (uint64_t)n, 8);
	else if (text)
		put_fixed(ret, strlen(text), 4);
	if (text)
		buf_add(ret, text, strlen(text));
	return column > 1 || text;
}

static void
put_page_header(struct parquet_maker *m, int type, size_t size, size_t stored, int values,
	int encoding, size_t levels)
{
	struct buf *b = &m->out;
	put_int(b, 5, 1, type);
	put_int(b, 5, 1, (int64_t)size);
	put_int(b, 5, 1, (int64_t)stored);
	put(b, (type == 0 ? 2 : type == 2 ? 4 : 5) << 4 | 12);
	put_int(b, 5, 1, values);
	if (type == 3) {
		put_int(b, 5, 1, 0);
		put_int(b, 5, 1, values);
	}
	put_int(b, 5, 1, encoding);
	put_int(b, 5, 1, type == 3 ? (int64_t)levels : 3);
	if (type == 3)
		put_int(b, 5, 1, 0);
	put(b, 0);
	put(b, 0);
}

struct column {
	int number, rows;
	size_t begin, data; /* where it begins, and its first page of values */
};

/* Its metadata in the footer: in it type, encodings, path … */
static void
put_column(struct parquet_maker *m, const struct column *c, struct buf *meta)
{
	static const char *const names[] = {"path", "raw", "offset", "size"};
	put(meta, 3 << 4 | 12);
	put_int(meta, 5, 1, c->number < 2 ? 6 : 2);
	put(meta, 1 << 4 | 9);
	put(meta, 1 << 4 | 5);
	put_varint(meta, 0);
	put(meta, 1 << 4 | 9);
	put(meta, 1 << 4 | 8);
	put_text(meta, names[c->number]);
	put_int(meta, 5, 1, m->codec);
	put_int(meta, 6, 1, c->rows);
	put_int(meta, 6, 4, (int64_t)c->data);
	if (c->data != c->begin)
		put_int(meta, 6, 2, (int64_t)c->begin);
	put(meta, 0);
	put(meta, 0);
}

/* One column of rows [first, first + n): its pages; what the footer says of it. */
static void
make_column(struct parquet_maker *m, int column, int first, int n, struct buf *meta)
{
	bool optional = column < 2 || m->nulls;
	CLEAN(buf_free)
	struct buf levels = {0}, values = {0}, index = {0}, page = {0}, packed = {0};
	int there = 0;
	put(&index, 8); /* bits of an index */
	for (int i = 0; i < n; i++) {
		bool is = row_value(m, column, first + i, &values);
		put_varint(&levels, 1 << 1); /* a run of one */
		put(&levels, is);
		if (is) {
			put_varint(&index, 1 << 1);
			put(&index, there++);
		}
	}
	size_t begin = m->out.len, data = begin;
	if (m->dictionary && there) {
		put_packed(m->codec, &packed, buf_span(&values));
		put_page_header(m, 2, values.len, packed.len, there, 0, 0);
		buf_add(&m->out, packed.data, packed.len);
		data = m->out.len;
		packed.len = 0;
	}
	if (optional && m->page == 1) {
		put_fixed(&page, levels.len, 4);
		buf_add(&page, levels.data, levels.len);
	}
	bool by_index = m->dictionary && there;
	buf_add(&page, by_index ? index.data : values.data, by_index ? index.len : values.len);
	put_packed(m->codec, &packed, buf_span(&page));
	size_t outside = m->page == 2 && optional ? levels.len : 0;
	put_page_header(m, m->page == 2 ? 3 : 0, page.len + outside, packed.len + outside, n,
		by_index ? 8 : 0, outside);
	buf_add(&m->out, levels.data, outside);
	buf_add(&m->out, packed.data, packed.len);

	put_column(m, &(struct column){column, n, begin, data}, meta);
}

static void
put_schema(struct parquet_maker *m, struct buf *f)
{
	static const char *const names[] = {"path", "raw", "offset", "size"};
	int n = __builtin_popcount(m->columns);
	put(f, 1 << 4 | 9);
	put(f, (n + 1) << 4 | 12);
	put(f, 4 << 4 | 8);
	put_text(f, "schema");
	put_int(f, 5, 1, n);
	put(f, 0);
	for (int i = 0; i < 4; i++) {
		if (!(m->columns >> i & 1))
			continue;
		put_int(f, 5, 1, i < 2 ? 6 : 2);
		put_int(f, 5, 2, i < 2 || m->nulls);
		put(f, 1 << 4 | 8);
		put_text(f, names[i]);
		put(f, 0);
	}
}

/* The file is in m->out. */
static void
make_parquet(struct parquet_maker *m)
{
	int group = m->group ? m->group : m->nrows, groups = (m->nrows + group - 1) / group;
	struct buf *f = &m->footer;
	m->out.len = f->len = 0;
	buf_add(&m->out, "PAR1", 4);
	put_int(f, 5, 1, 1);
	put_schema(m, f);
	put_int(f, 6, 1, m->nrows);
	put(f, 1 << 4 | 9);
	put(f, groups << 4 | 12);
	for (int first = 0; first < m->nrows; first += group) {
		int n = m->nrows - first < group ? m->nrows - first : group;
		put(f, 1 << 4 | 9);
		put(f, __builtin_popcount(m->columns) << 4 | 12);
		for (int i = 0; i < 4; i++)
			if (m->columns >> i & 1)
				make_column(m, i, first, n, f);
		put_int(f, 6, 2, n);
		put(f, 0);
	}
	put(f, 0);
	buf_add(&m->out, f->data, f->len);
	put_fixed(&m->out, f->len, 4);
	buf_add(&m->out, "PAR1", 4);
}

static void
maker_free(struct parquet_maker *m)
{
	buf_free(&m->out);
	buf_free(&m->footer);
}
