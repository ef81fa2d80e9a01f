/* Fletcher-32 as HDF5 computes it (16-bit big-endian words, an odd last byte counts as a high one),
 * behind the data. */
#include "codecs/checksum.h"

/* Modulo 65535 as end-around carry does it: only 0 itself gives 0. */
static uint64_t
fold(uint64_t v)
{
	while (v >> 16)
		v = (v & 0xffff) + (v >> 16);
	return v;
}

static uint32_t
sum(const struct checksum *c, const uint8_t *p, size_t n)
{
	static const size_t words = 4096; /* so many at once cannot overflow 64 bits */
	uint64_t a = 0, b = 0;
	for (size_t left = n / 2; left;) {
		size_t now = left < words ? left : words;
		for (size_t i = 0; i < now; i++, p += 2) {
			a += (uint32_t)p[0] << 8 | p[1];
			b += a;
		}
		a = fold(a);
		b = fold(b);
		left -= now;
	}
	if (n % 2) {
		a = fold(a + ((uint32_t)*p << 8));
		b = fold(b + a);
	}
	return (uint32_t)(b << 16 | a);
}

static int
fletcher32_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	static const struct checksum how = {.sum = sum};
	return checksum_open(&how, config, in, out, ret);
}

const struct codec_ops codec_fletcher32 = {
	.ids = (const char *const[]){"fletcher32", "numcodecs.fletcher32", NULL},
	.kind = CODEC_BYTES,
	.open = fletcher32_open,
	.close = checksum_close,
	.decode = checksum_decode,
	.encode = checksum_encode,
};
