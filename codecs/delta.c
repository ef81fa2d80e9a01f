/* delta (numcodecs): the first element, then the differences, stored as "astype". Sums are formed in "dtype", so that integers
 * wrap and float32 rounds as it did for the writer. Of booleans the difference is "not equal", so their sum is the same. */
#include "base/err.h"
#include "codecs/number_codec.h"

#include <errno.h>

/* One run through a chunk. */
struct run {
	const struct dtype *dtype;
	union number last;
};

static enum number_class
sum_up(void *arg, enum number_class class, union number *v, size_t n)
{
	struct run *r = arg;
	const struct dtype *d = r->dtype;
	class = number_cast(d, class, v, n);
	for (size_t i = 0; i < n; i++) {
		if (class == NUMBER_FLOAT)
			r->last.f = number_round(d, r->last.f + v[i].f);
		else if (d->kind == DTYPE_BOOL)
			r->last.u ^= v[i].u;
		else
			r->last.u += v[i].u;
		v[i] = r->last;
	}
	return class;
}

static enum number_class
subtract(void *arg, enum number_class class, union number *v, size_t n)
{
	struct run *r = arg;
	const struct dtype *d = r->dtype;
	for (size_t i = 0; i < n; i++) {
		union number now = v[i];
		if (class == NUMBER_FLOAT)
			v[i].f = number_round(d, now.f - r->last.f);
		else if (d->kind == DTYPE_BOOL)
			v[i].u ^= r->last.u;
		else
			v[i].u -= r->last.u;
		r->last = now;
	}
	return number_cast(d, class, v, n);
}

static void
delta_close(void *state)
{
	struct number_codec *c = state;
	if (c)
		number_codec_done(c);
	free(c);
}

static int
delta_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct number_codec *c = malloc(sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "out of memory");
	int r = number_codec_open(config, &(struct number_keys){"dtype", "astype"}, in, out, c);
	if (r >= 0 && (number_is_time(&c->decoded) || number_is_time(&c->encoded)))
		r = err_set(-ENOTSUP, "differences of times");
	if (r < 0) {
		delta_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

/* The number before the first: positive zero would turn a first -0.0 to 0.0. */
static union number
nothing(const struct dtype *d)
{
	return number_class(d) == NUMBER_FLOAT ? (union number){.f = -0.0} : (union number){0};
}

static int
delta_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct number_codec *c = state;
	struct run r = {.dtype = &c->decoded, .last = nothing(&c->decoded)};
	return number_run(&(struct number_job){&c->encoded, &c->decoded, sum_up, &r}, in, out);
}

static int
delta_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct number_codec *c = state;
	struct run r = {.dtype = &c->decoded};
	return number_run_grow(
		&(struct number_job){&c->decoded, &c->encoded, subtract, &r}, in, out);
}

const struct codec_ops codec_delta = {
	.ids = (const char *const[]){"delta", "numcodecs.delta", NULL},
	.kind = CODEC_ARRAY,
	.open = delta_open,
	.close = delta_close,
	.decode = delta_decode,
	.encode = delta_encode,
};
