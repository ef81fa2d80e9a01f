/* What zlib and gzip have in common: the same compressed data (RFC 1951) in different wrappings, by
 * libdeflate. */
#pragma once

#include "codec/codec.h"

#include <libdeflate.h>

/* The ops' own: reads "level". */
int deflate_open(const struct json *config, const struct form *in, struct form *out, void **ret);
/* This thread's decompressor, which stays the thread's; NULL: no memory, and err_text says so. */
struct libdeflate_decompressor *deflate_reader(void);

/* One wrapping: libdeflate_zlib_… or libdeflate_gzip_… */
struct deflate_wrapping {
	size_t (*bound)(struct libdeflate_compressor *, size_t);
	size_t (*compress)(struct libdeflate_compressor *, const void *, size_t, void *, size_t);
};
int deflate_encode(
	const void *obj, const struct deflate_wrapping *, struct span in, struct buf *out);
