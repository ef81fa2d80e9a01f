/* Zstandard (RFC 8878): any number of frames, skippable ones too, with or without content size and
 * checksum. */
#include "codec/codec.h"

#include "base/err.h"

#include <errno.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { LEVEL_DEFAULT = 1 };

struct zstd {
	int level;
	bool checksum;
};

static void *
reader_make(void)
{
	return ZSTD_createDCtx();
}

static void
reader_free(void *d)
{
	ZSTD_freeDCtx(d);
}

static int
zstd_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct zstd *z = calloc(1, sizeof *z);
	if (!z)
		return err_set(-ENOMEM, "out of memory");
	z->level = codec_level(config, "level", LEVEL_DEFAULT, ZSTD_minCLevel(), ZSTD_maxCLevel());
	const struct json *sum = config ? json_get(config, "checksum") : NULL;
	z->checksum = sum && json_type(sum) == JSON_TYPE_BOOL && json_bool(sum);
	out->bytes = codec_worst(in->bytes);
	*ret = z;
	return 0;
}

/* One call does all frames: the room is known, so frames need not say how much they hold. */
static int
zstd_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	static _Thread_local void *reader;
	ZSTD_DCtx *d = codec_local(&reader, reader_make, reader_free);
	if (!d)
		return err_set(-ENOMEM, "out of memory");
	if (!in.len)
		return err_set(-EIO, "no zstd data at all");
	size_t n = ZSTD_decompressDCtx(d, out->data, form->bytes, in.data, in.len);
	if (ZSTD_isError(n) && ZSTD_getErrorCode(n) == ZSTD_error_dstSize_tooSmall)
		return err_set(-EIO, "zstd data decode to more than %zu bytes", form->bytes);
	if (ZSTD_isError(n))
		return err_set(-EIO, "zstd data are damaged or truncated (%zu bytes): %s", in.len,
			ZSTD_getErrorName(n));
	out->len = n;
	return 0;
}

static int
zstd_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct zstd *z = obj;
	int r = buf_reserve_most(out, ZSTD_compressBound(in.len));
	if (r < 0)
		return r;
	ZSTD_CCtx *c = ZSTD_createCCtx();
	if (!c)
		return err_set(-ENOMEM, "out of memory");
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, z->level);
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, z->checksum);
	size_t n = ZSTD_compress2(c, out->data, out->cap, in.data, in.len);
	ZSTD_freeCCtx(c);
	if (ZSTD_isError(n))
		return err_set(-EIO, "cannot compress %zu bytes: %s", in.len, ZSTD_getErrorName(n));
	out->len = n;
	return 0;
}

const struct codec_ops codec_zstd = {
	.ids = (const char *const[]){"zstd", "numcodecs.zstd", NULL},
	.kind = CODEC_BYTES,
	.open = zstd_open,
	.close = free,
	.decode = zstd_decode,
	.encode = zstd_encode,
};
