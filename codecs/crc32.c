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
	static const struct checksum how = {.sum = sum, .at_start = true};
	return checksum_open(&how, config, in, out, ret);
}

const struct codec_ops codec_crc32 = {
	.ids = (const char *const[]){"crc32", "numcodecs.crc32", NULL},
	.kind = CODEC_BYTES,
	.open = crc32_open,
	.close = checksum_close,
	.decode = checksum_decode,
	.encode = checksum_encode,
};
