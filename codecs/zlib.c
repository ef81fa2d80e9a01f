/* zlib (RFC 1950), with libdeflate: the size of what comes out is bounded by the form, so no streaming is needed. */
#include "codec/codec.h"

#include "base/err.h"

#include <errno.h>
#include <libdeflate.h>

enum { LEVEL_DEFAULT = 1, LEVEL_AUTO = -1, LEVEL_OF_AUTO = 6, LEVEL_MAX = 9 };

struct zlib {
	int level;
};

static void *
reader_make(void)
{
	return libdeflate_alloc_decompressor();
}

static void
reader_free(void *d)
{
	libdeflate_free_decompressor(d);
}

static int
zlib_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct zlib *z = calloc(1, sizeof *z);
	if (!z)
		return err_set(-ENOMEM, "out of memory");
	z->level = codec_level(config, "level", LEVEL_DEFAULT, LEVEL_AUTO, LEVEL_MAX);
	if (z->level == LEVEL_AUTO)
		z->level = LEVEL_OF_AUTO;
	out->bytes = codec_worst(in->bytes);
	*ret = z;
	return 0;
}

static int
zlib_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	static _Thread_local void *reader;
	struct libdeflate_decompressor *d = codec_local(&reader, reader_make, reader_free);
	if (!d)
		return err_set(-ENOMEM, "out of memory");
	size_t used = 0, len = 0;
	switch (libdeflate_zlib_decompress_ex(
		d, in.data, in.len, out->data, form->bytes, &used, &len)) {
	case LIBDEFLATE_SUCCESS: break;
	case LIBDEFLATE_INSUFFICIENT_SPACE:
		return err_set(-EIO, "zlib data decode to more than %zu bytes", form->bytes);
	default: return err_set(-EIO, "zlib data are damaged or truncated (%zu bytes)", in.len);
	}
	if (used != in.len)
		return err_set(-EIO, "%zu bytes follow the end of zlib data", in.len - used);
	out->len = len;
	return 0;
}

static int
zlib_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct zlib *z = obj;
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(z->level);
	if (!c)
		return err_set(-ENOMEM, "out of memory");
	int r = buf_reserve(out, libdeflate_zlib_compress_bound(c, in.len));
	if (r == 0)
		out->len = libdeflate_zlib_compress(c, in.data, in.len, out->data, out->cap);
	libdeflate_free_compressor(c);
	if (r == 0 && !out->len)
		r = err_set(-EIO, "cannot compress %zu bytes", in.len);
	return r;
}

const struct codec_ops codec_zlib = {
	.ids = (const char *const[]){"zlib", "numcodecs.zlib", NULL},
	.kind = CODEC_BYTES,
	.open = zlib_open,
	.close = free,
	.decode = zlib_decode,
	.encode = zlib_encode,
};
