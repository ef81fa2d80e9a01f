/* gzip (RFC 1952): one or more members, whose contents follow each other (§2.2). Zero bytes may
 * follow the last. Some writers put zlib data (RFC 1950) under this name; their first bytes
 * tell. */
#include "codecs/deflate.h"

#include "base/err.h"

#include <errno.h>

enum { GZIP_FIRST = 0x1f };

static bool
all_zero(const uint8_t *p, size_t n)
{
	while (n && !*p)
		p++, n--;
	return !n;
}

static int
gzip_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	struct libdeflate_decompressor *d = deflate_reader();
	if (!d)
		return -ENOMEM;
	bool zlib = in.len && in.data[0] != GZIP_FIRST;
	size_t pos = 0, done = 0;
	do {
		size_t used = 0, len = 0;
		switch ((zlib ? libdeflate_zlib_decompress_ex : libdeflate_gzip_decompress_ex)(d,
			in.data + pos, in.len - pos, out->data + done, form->bytes - done, &used,
			&len)) {
		case LIBDEFLATE_SUCCESS: break;
		case LIBDEFLATE_INSUFFICIENT_SPACE:
			return err_set(
				-EIO, "gzip data decode to more than %zu bytes", form->bytes);
		default:
			return err_set(
				-EIO, "gzip data are damaged or truncated (%zu bytes)", in.len);
		}
		pos += used;
		done += len;
	} while (!zlib && pos < in.len && !all_zero(in.data + pos, in.len - pos));
	if (zlib && pos != in.len)
		return err_set(-EIO, "%zu bytes follow the end of zlib data", in.len - pos);
	out->len = done;
	return 0;
}

static int
gzip_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct deflate_wrapping w = {
		libdeflate_gzip_compress_bound, libdeflate_gzip_compress};
	return deflate_encode(obj, &w, in, out);
}

const struct codec_ops codec_gzip = {
	.ids = (const char *const[]){"gzip", "numcodecs.gzip", NULL},
	.kind = CODEC_BYTES,
	.open = deflate_open,
	.close = free,
	.decode = gzip_decode,
	.encode = gzip_encode,
};
