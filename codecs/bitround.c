/* bitround (numcodecs, Zarr V3): floats whose last bits of the fraction were rounded away, so that
 * they compress. There is nothing to decode. */
#include "base/err.h"
#include "codecs/number_codec.h"

#include <errno.h>
#include <limits.h>

struct bitround {
	struct dtype as_int; /* the floats' bits as integers; size 0: the array has no floats */
	unsigned drop; /* bits of the fraction that go; UINT_MAX: the config does not make sense */
};

static unsigned
fraction_bits(uint32_t size)
{
	return size == 2 ? 10 : size == 4 ? 23 : 52;
}

static int
bitround_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct bitround *b = calloc(1, sizeof *b);
	if (!b)
		return err_set(-ENOMEM, "out of memory");
	if (in->dtype && in->dtype->kind == DTYPE_FLOAT) {
		b->as_int = (struct dtype){
			.kind = DTYPE_UINT, .size = in->dtype->size, .big = in->dtype->big};
		int64_t keep, bits = fraction_bits(in->dtype->size);
		bool sane = codec_number(config, "keepbits", -1, 0, bits, &keep) == 0;
		b->drop = sane ? (unsigned)(bits - keep) : UINT_MAX;
	}
	*ret = b;
	return 0;
}

static enum number_class
round_bits(void *arg, enum number_class class, union number *v, size_t n)
{
	const struct bitround *b = arg;
	unsigned fraction = fraction_bits(b->as_int.size), drop = b->drop;
	uint64_t sign = (uint64_t)1 << (8 * b->as_int.size - 1),
		 inf = sign - ((uint64_t)1 << fraction);
	uint64_t half = ((uint64_t)1 << (drop - 1)) - 1;
	for (size_t i = 0; i < n; i++) {
		uint64_t u = v[i].u;
		if ((u & ~sign) > inf)
			continue;            /* rounding could make a number of a NaN */
		u += half + (u >> drop & 1); /* to the nearest, ties to even */
		v[i].u = u >> drop << drop;
	}
	return class;
}

static int
bitround_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct bitround *b = state;
	if (!b->as_int.size)
		return err_set(-EINVAL, "only floats can be rounded");
	if (b->drop == UINT_MAX)
		return err_set(-EINVAL, "no 'keepbits' that makes sense");
	struct number_job job = {&b->as_int, &b->as_int, b->drop ? round_bits : NULL, (void *)b};
	return number_run_grow(&job, in, out);
}

static bool
bitround_lossy(const void *state)
{
	const struct bitround *b = state;
	return b->drop != 0;
}

static int
bitround_fill(const void *state, struct span element, struct buf *out)
{
	return buf_add(out, element.data, element.len);
}

const struct codec_ops codec_bitround = {
	.ids = (const char *const[]){"bitround", "numcodecs.bitround", NULL},
	.kind = CODEC_ARRAY,
	.open = bitround_open,
	.close = free,
	.encode = bitround_encode,
	.fill = bitround_fill,
	.each = true,
	.lossy = bitround_lossy,
};
