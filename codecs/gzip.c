/* gzip (RFC 1952): one or more members, whose contents follow each other (§2.2). Zero bytes may follow the last.
 * Some writers put zlib data (RFC 1950) under this name; their first bytes tell. */
#include "codec/codec.h"

#include "base/err.h"

#include <errno.h>
#include <libdeflate.h>

enum { LEVEL_DEFAULT = 1, LEVEL_AUTO = -1, LEVEL_OF_AUTO = 6, LEVEL_MAX = 9 };
enum { GZIP_FIRST = 0x1f };

struct gzip {
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
gzip_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct gzip *z = calloc(1, sizeof *z);
	if (!z)
		return err_set(-ENOMEM, "out of memory");
	z->level = codec_level(config, "level", LEVEL_DEFAULT, LEVEL_AUTO, LEVEL_MAX);
	if (z->level == LEVEL_AUTO)
		z->level = LEVEL_OF_AUTO;
	out->bytes = codec_worst(in->bytes);
	*ret = z;
	return 0;
}

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
	static _Thread_local void *reader;
	struct libdeflate_decompressor *d = codec_local(&reader, reader_make, reader_free);
	if (!d)
		return err_set(-ENOMEM, "out of memory");
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
	const struct gzip *z = obj;
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(z->level);
	if (!c)
		return err_set(-ENOMEM, "out of memory");
	int r = buf_reserve(out, libdeflate_gzip_compress_bound(c, in.len));
	if (r == 0)
		out->len = libdeflate_gzip_compress(c, in.data, in.len, out->data, out->cap);
	libdeflate_free_compressor(c);
	if (r == 0 && !out->len)
		r = err_set(-EIO, "cannot compress %zu bytes", in.len);
	return r;
}

const struct codec_ops codec_gzip = {
	.ids = (const char *const[]){"gzip", "numcodecs.gzip", NULL},
	.kind = CODEC_BYTES,
	.open = gzip_open,
	.close = free,
	.decode = gzip_decode,
	.encode = gzip_encode,
};
