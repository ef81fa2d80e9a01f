/* CRC-32 of zlib and gzip, before the data unless "location" says otherwise. */
#include "codecs/checksum.h"

#include <libdeflate.h>

static uint32_t
sum(const struct checksum *c, const uint8_t *p, size_t n)
{
	return libdeflate_crc32(0, p, n);
}

static int
crc32_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct checksum *c;
	int r = checksum_open(config, in, true, out, &c);
	if (r < 0)
		return r;
	c->sum = sum;
	*ret = c;
	return 0;
}

const struct codec_ops codec_crc32 = {
	.ids = (const char *const[]){"crc32", "numcodecs.crc32", NULL},
	.kind = CODEC_BYTES,
	.open = crc32_open,
	.close = checksum_close,
	.decode = checksum_decode,
	.encode = checksum_encode,
};
