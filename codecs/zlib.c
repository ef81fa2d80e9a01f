/* zlib (RFC 1950), with libdeflate: the size of what comes out is bounded by the form, so no
 * streaming is needed. */
#include "codecs/deflate.h"

#include "base/err.h"

#include <errno.h>

static int
zlib_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	struct libdeflate_decompressor *d = deflate_reader();
	if (!d)
		return -ENOMEM;
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
	const struct deflate_wrapping w = {
		libdeflate_zlib_compress_bound, libdeflate_zlib_compress};
	return deflate_encode(obj, &w, in, out);
}

const struct codec_ops codec_zlib = {
	.ids = (const char *const[]){"zlib", "numcodecs.zlib", NULL},
	.kind = CODEC_BYTES,
	.open = deflate_open,
	.close = free,
	.decode = zlib_decode,
	.encode = zlib_encode,
};
