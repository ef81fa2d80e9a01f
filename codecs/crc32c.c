/* CRC-32C (Castagnoli), behind the data unless "location" says otherwise. */
#include "codecs/checksum.h"

#include "base/crc.h"

static uint32_t
sum(const struct checksum *c, const uint8_t *p, size_t n)
{
	return crc_32c(p, n);
}

static int
crc32c_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	static const struct checksum how = {.sum = sum};
	return checksum_open(&how, config, in, out, ret);
}

const struct codec_ops codec_crc32c = {
	.ids = (const char *const[]){"crc32c", "numcodecs.crc32c", NULL},
	.kind = CODEC_BYTES,
	.open = crc32c_open,
	.close = checksum_close,
	.decode = checksum_decode,
	.encode = checksum_encode,
};
