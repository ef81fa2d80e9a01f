#include "codecs/deflate.h"

#include "base/err.h"

#include <errno.h>

enum { LEVEL_DEFAULT = 1, LEVEL_AUTO = -1, LEVEL_OF_AUTO = 6, LEVEL_MAX = 9 };

struct deflate {
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

struct libdeflate_decompressor *
deflate_reader(void)
{
	static _Thread_local void *reader;
	struct libdeflate_decompressor *d = codec_local(&reader, reader_make, reader_free);
	if (!d)
		err_set(-ENOMEM, "out of memory");
	return d;
}

int
deflate_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct deflate *z = calloc(1, sizeof *z);
	if (!z)
		return err_set(-ENOMEM, "out of memory");
	z->level = codec_level(config, "level", LEVEL_DEFAULT, LEVEL_AUTO, LEVEL_MAX);
	if (z->level == LEVEL_AUTO)
		z->level = LEVEL_OF_AUTO;
	out->bytes = codec_worst(in->bytes);
	*ret = z;
	return 0;
}

int
deflate_encode(const void *obj, const struct deflate_wrapping *w, struct span in, struct buf *out)
{
	const struct deflate *z = obj;
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(z->level);
	if (!c)
		return err_set(-ENOMEM, "out of memory");
	int r = buf_reserve_most(out, w->bound(c, in.len));
	if (r == 0)
		out->len = w->compress(c, in.data, in.len, out->data, out->cap);
	libdeflate_free_compressor(c);
	if (r == 0 && !out->len)
		r = err_set(-EIO, "cannot compress %zu bytes", in.len);
	return r;
}
