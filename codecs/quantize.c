/* quantize (numcodecs): floats rounded to "digits" decimal digits behind the point, or rather to
 * the power of two that keeps them, and stored as "astype". Decoding is a cast. */
#include "base/err.h"
#include "codecs/number_codec.h"

#include <errno.h>
#include <math.h>

struct quantize {
	struct number_codec number;
	double scale; /* a power of two */
};

enum { DIGITS_MAX = 300 };

static enum number_class
round_to_scale(void *arg, enum number_class class, union number *v, size_t n)
{
	const struct quantize *q = arg;
	struct dtype d = number_widen(&q->number.decoded, q->scale);
	for (size_t i = 0; i < n; i++)
		v[i].f = number_round(&d, rint(number_round(&d, q->scale * v[i].f)) / q->scale);
	return class;
}

/* The logarithms are quotients on purpose: where they are not exact, other writers' are not in the
 * same way. */
static double
scale_for(int digits)
{
	double exponent = log(pow(10, -digits)) / log(10);
	exponent = exponent < 0 ? floor(exponent) : ceil(exponent);
	return exp2(ceil(log(pow(10, -exponent)) / log(2)));
}

static void
quantize_close(void *state)
{
	struct quantize *q = state;
	if (q)
		number_codec_done(&q->number);
	free(q);
}

static int
quantize_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct quantize *q = calloc(1, sizeof *q);
	if (!q)
		return err_set(-ENOMEM, "out of memory");
	struct number_codec *c = &q->number;
	int64_t digits = 0;
	int r = number_codec_open(config, &(struct number_keys){"dtype", "astype"}, in, out, c);
	if (r >= 0 && (c->decoded.kind != DTYPE_FLOAT || c->encoded.kind != DTYPE_FLOAT))
		r = err_set(-EINVAL, "only floats can be quantized");
	if (r >= 0)
		r = codec_number(config, "digits", 0, -DIGITS_MAX, DIGITS_MAX, &digits);
	if (r < 0) {
		quantize_close(q);
		return r;
	}
	q->scale = scale_for((int)digits);
	*ret = q;
	return 0;
}

static int
quantize_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct quantize *q = state;
	return number_run(&(struct number_job){&q->number.encoded, &q->number.decoded}, in, out);
}

static int
quantize_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct quantize *q = state;
	const struct number_codec *c = &q->number;
	return number_run_grow(
		&(struct number_job){&c->decoded, &c->encoded, round_to_scale, (void *)q, true}, in,
		out);
}

static bool
quantize_lossy(const void *state)
{
	return true;
}

static int
quantize_fill(const void *state, struct span element, struct buf *out)
{
	return number_codec_fill(&((const struct quantize *)state)->number, element, out);
}

const struct codec_ops codec_quantize = {
	.ids = (const char *const[]){"quantize", "numcodecs.quantize", NULL},
	.kind = CODEC_ARRAY,
	.open = quantize_open,
	.close = quantize_close,
	.decode = quantize_decode,
	.encode = quantize_encode,
	.fill = quantize_fill,
	.each = true,
	.lossy = quantize_lossy,
};
