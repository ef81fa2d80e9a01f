/* Zip archives made in memory, sound and otherwise. */
#pragma once

#include "check.h"

#include "base/buf.h"

#include <libdeflate.h>

struct zip_maker {
	struct buf out, dir; /* the archive so far; its directory */
	uint32_t count;
};

struct zip_file {
	const char *name;
	size_t name_len; /* 0: strlen */
	const char *text;
	size_t len; /* 0: strlen(text) */
	bool deflate, zip64, encrypted;
	unsigned method;      /* not 0: said instead of the true one */
	unsigned extra;       /* bytes of extra field in the local header only */
	const char *utf8;     /* the directory says that this is what the name means */
	unsigned local_short; /* bytes that the local header says too few of the name */
};

static inline void
zip_num(struct buf *b, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++) {
		uint8_t c = (uint8_t)(v >> 8 * i);
		CHECK_INT(buf_add(b, &c, 1), 0);
	}
}

/* What local header and directory have in common. */
static inline void
zip_fields(struct buf *b, const struct zip_file *f, uint32_t crc, size_t stored, size_t name)
{
	zip_num(b, f->zip64 ? 45 : 20, 2);
	zip_num(b, f->encrypted, 2);
	zip_num(b, f->method ? f->method : f->deflate ? 8 : 0, 2);
	zip_num(b, 0x58210000, 4);
	zip_num(b, crc, 4);
	zip_num(b, f->zip64 ? UINT32_MAX : stored, 4);
	zip_num(b, f->zip64 ? UINT32_MAX : f->len, 4);
	zip_num(b, name, 2);
}

static inline void
zip_extra64(struct buf *b, uint64_t size, uint64_t stored, uint64_t header, bool has_header)
{
	zip_num(b, 1, 2);
	zip_num(b, has_header ? 24 : 16, 2);
	zip_num(b, size, 8);
	zip_num(b, stored, 8);
	if (has_header)
		zip_num(b, header, 8);
}

static inline void
zip_extra_utf8(struct buf *b, const struct zip_file *f, size_t name)
{
	zip_num(b, 0x7075, 2);
	zip_num(b, 5 + strlen(f->utf8), 2);
	zip_num(b, 1, 1);
	zip_num(b, libdeflate_crc32(0, f->name, name), 4);
	buf_add(b, f->utf8, strlen(f->utf8));
}

static inline void
zip_add(struct zip_maker *z, struct zip_file f)
{
	size_t header = z->out.len, name = f.name_len ? f.name_len : strlen(f.name), stored;
	f.len = f.len ? f.len : f.text ? strlen(f.text) : 0;
	size_t room = 2 * f.len + 1000;
	uint8_t *bytes = malloc(room);
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	uint32_t crc = libdeflate_crc32(0, f.text, f.len);
	stored = f.deflate ? libdeflate_deflate_compress(c, f.text, f.len, bytes, room) : f.len;
	if (!f.deflate && f.len)
		memcpy(bytes, f.text, f.len);

	zip_num(&z->out, 0x04034b50, 4);
	zip_fields(&z->out, &f, crc, stored, name - f.local_short);
	zip_num(&z->out, f.zip64 ? 20 : f.extra, 2);
	buf_add(&z->out, f.name, name);
	if (f.zip64)
		zip_extra64(&z->out, f.len, stored, 0, false);
	else
		for (unsigned i = 0; i < f.extra; i++)
			zip_num(&z->out, 'e', 1);
	buf_add(&z->out, bytes, stored);

	zip_num(&z->dir, 0x02014b50, 4);
	zip_num(&z->dir, 45, 2);
	zip_fields(&z->dir, &f, crc, stored, name);
	zip_num(&z->dir, f.zip64 ? 28 : f.utf8 ? 9 + strlen(f.utf8) : 0, 2);
	zip_num(&z->dir, 0, 8); /* comment, disk, attributes */
	zip_num(&z->dir, 0, 2);
	zip_num(&z->dir, f.zip64 ? UINT32_MAX : header, 4);
	buf_add(&z->dir, f.name, name);
	if (f.zip64)
		zip_extra64(&z->dir, f.len, stored, header, true);
	else if (f.utf8)
		zip_extra_utf8(&z->dir, &f, name);
	z->count++;
	libdeflate_free_compressor(c);
	free(bytes);
}

/* zip64: the records of its end, too. The archive is in out. */
static inline void
zip_end(struct zip_maker *z, bool zip64, const char *comment)
{
	size_t dir = z->out.len;
	buf_add(&z->out, z->dir.data, z->dir.len);
	if (zip64) {
		size_t at = z->out.len;
		zip_num(&z->out, 0x06064b50, 4);
		zip_num(&z->out, 44, 8);
		zip_num(&z->out, 45, 2);
		zip_num(&z->out, 45, 2);
		zip_num(&z->out, 0, 8);
		zip_num(&z->out, z->count, 8);
		zip_num(&z->out, z->count, 8);
		zip_num(&z->out, z->dir.len, 8);
		zip_num(&z->out, dir, 8);
		zip_num(&z->out, 0x07064b50, 4);
		zip_num(&z->out, 0, 4);
		zip_num(&z->out, at, 8);
		zip_num(&z->out, 1, 4);
	}
	zip_num(&z->out, 0x06054b50, 4);
	zip_num(&z->out, 0, 4);
	zip_num(&z->out, zip64 ? UINT16_MAX : z->count, 2);
	zip_num(&z->out, zip64 ? UINT16_MAX : z->count, 2);
	zip_num(&z->out, zip64 ? UINT32_MAX : z->dir.len, 4);
	zip_num(&z->out, zip64 ? UINT32_MAX : dir, 4);
	zip_num(&z->out, strlen(comment), 2);
	buf_add(&z->out, comment, strlen(comment));
}

static inline void
zip_made(struct zip_maker *z)
{
	buf_free(&z->out);
	buf_free(&z->dir);
}
