/* lz4 as numcodecs frames it: decoded size (u32, little-endian), then one raw LZ4 block. */
#include "codec/codec.h"

#include "base/err.h"
#include "base/lazy.h"
#include "codecs/lz4_block.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <lz4.h>
#include <string.h>

enum { HEADER = 4, ACCELERATION_DEFAULT = 1, ACCELERATION_MAX = 65537 };

#define LIBLZ4(F) F(LZ4_compress_fast)
LAZY_LIBRARY(liblz4, LIBLZ4, SONAME_LZ4)

struct lz4 {
	int acceleration;
};

static int
lz4_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct lz4 *z = calloc(1, sizeof *z);
	if (!z)
		return err_set(-ENOMEM, "out of memory");
	z->acceleration =
		codec_level(config, "acceleration", ACCELERATION_DEFAULT, 1, ACCELERATION_MAX);
	out->bytes = codec_worst(in->bytes);
	*ret = z;
	return 0;
}

static int
lz4_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	if (in.len < HEADER || in.len - HEADER > INT32_MAX)
		return err_set(-EIO, "%zu bytes are no lz4 data", in.len);
	uint32_t size;
	memcpy(&size, in.data, sizeof size);
	size = le32toh(size);
	if (size > form->bytes || size > LZ4_MAX_INPUT_SIZE || (form->exact && size != form->bytes))
		return err_set(-EIO, "lz4 data say that they decode to %" PRIu32 " bytes, not %zu",
			size, form->bytes);
	struct span block = {in.data + HEADER, in.len - HEADER};
	if (!lz4_block_decode(block, size, size, out->data))
		return err_set(-EIO, "lz4 data are damaged or truncated (%zu bytes)", in.len);
	out->len = size;
	return 0;
}

static int
lz4_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct lz4 *z = obj;
	if (!in.len || in.len > LZ4_MAX_INPUT_SIZE)
		return err_set(-EIO, "lz4 cannot hold %zu bytes", in.len);
	int bound = LZ4_COMPRESSBOUND((int)in.len);
	int r = liblz4_load();
	if (r == 0)
		r = buf_reserve_most(out, HEADER + (size_t)bound);
	if (r < 0)
		return r;
	int n = liblz4.LZ4_compress_fast((const char *)in.data, (char *)out->data + HEADER,
		(int)in.len, bound, z->acceleration);
	if (n <= 0)
		return err_set(-EIO, "cannot compress %zu bytes", in.len);
	uint32_t size = htole32((uint32_t)in.len);
	memcpy(out->data, &size, sizeof size);
	out->len = HEADER + (size_t)n;
	return 0;
}

static int
lz4_load(const void *state)
{
	(void)state;
	return liblz4_load();
}

const struct codec_ops codec_lz4 = {
	.ids = (const char *const[]){"lz4", "numcodecs.lz4", NULL},
	.kind = CODEC_BYTES,
	.open = lz4_open,
	.close = free,
	.decode = lz4_decode,
	.encode = lz4_encode,
	.load = lz4_load,
};
