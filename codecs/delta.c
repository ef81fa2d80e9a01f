/* delta (numcodecs): the first element, then the differences, stored as "astype". Integers wrap in
 * "dtype"; floats are summed in the smallest float that holds both types, as numpy does. Of
 * booleans the difference is "not equal", and so is the sum. */
#include "base/err.h"
#include "codecs/number_codec.h"

#include <errno.h>
#include <string.h>

/* One run through a chunk. */
struct delta_run {
	const struct dtype *dtype; /* in which it calculates */
	union number last;
};

/* Each in its own loop: a sum that waits for a conversion at every step takes four times as
 * long. */
static double
sum_floats(const struct dtype *d, double last, union number *v, size_t n)
{
	if (d->size == sizeof(float)) {
		float single = (float)last;
		for (size_t i = 0; i < n; i++)
			v[i].f = single += (float)v[i].f;
		return single;
	}
	for (size_t i = 0; i < n; i++)
		v[i].f = last = number_round(d, last + v[i].f);
	return last;
}

static uint64_t
sum_ints(uint64_t last, union number *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i].u = last += v[i].u;
	return last;
}

static uint64_t
sum_bools(uint64_t last, union number *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i].u = last ^= v[i].u;
	return last;
}

static enum number_class
sum_up(void *arg, enum number_class class, union number *v, size_t n)
{
	struct delta_run *r = arg;
	const struct dtype *d = r->dtype;
	class = number_cast(d, class, v, n);
	if (class == NUMBER_FLOAT)
		r->last.f = sum_floats(d, r->last.f, v, n);
	else if (d->kind == DTYPE_BOOL)
		r->last.u = sum_bools(r->last.u, v, n);
	else
		r->last.u = sum_ints(r->last.u, v, n);
	return class;
}

static enum number_class
subtract(void *arg, enum number_class class, union number *v, size_t n)
{
	struct delta_run *r = arg;
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

static struct dtype
sum_type(const struct number_codec *c)
{
	struct dtype d = c->decoded;
	if (d.kind != DTYPE_FLOAT)
		return d;
	uint32_t size = c->encoded.size;
	if (c->encoded.kind != DTYPE_FLOAT && c->encoded.kind != DTYPE_BOOL)
		size = size < 4 ? 2 * size : 8; /* a float holds integers of half its size */
	d.size = size > d.size ? size : d.size;
	return d;
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
	struct dtype sum = sum_type(c);
	struct delta_run r = {.dtype = &sum, .last = nothing(&sum)};
	return number_run(&(struct number_job){&c->encoded, &c->decoded, sum_up, &r}, in, out);
}

/* Sums of differences of floats are rounded. */
static bool
delta_lossy(const void *state)
{
	const struct number_codec *c = state;
	return c->decoded.kind == DTYPE_FLOAT || c->encoded.kind == DTYPE_FLOAT;
}

/* What is stored in fewer bytes may not hold a difference, which then comes back as another one. */
static int
check_differences(
	const struct number_codec *c, const struct form *form, struct span in, struct span stored)
{
	if (c->encoded.size >= c->decoded.size)
		return 0;
	CLEAN(buf_free) struct buf again = {0};
	int r = buf_reserve(&again, in.len);
	if (r == 0)
		r = delta_decode(c, form, stored, &again);
	if (r == 0 && (again.len != in.len || memcmp(again.data, in.data, in.len) != 0))
		r = err_set(-ERANGE, "a difference is too large for the stored type");
	return r;
}

static int
delta_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct number_codec *c = state;
	struct delta_run run = {.dtype = &c->decoded};
	int r = number_run_grow(
		&(struct number_job){&c->decoded, &c->encoded, subtract, &run}, in, out);
	return r < 0 || delta_lossy(c) ? r : check_differences(c, form, in, buf_span(out));
}

static int
delta_fill(const void *state, struct span element, struct buf *out)
{
	return number_codec_fill(state, element, out);
}

const struct codec_ops codec_delta = {
	.ids = (const char *const[]){"delta", "numcodecs.delta", NULL},
	.kind = CODEC_ARRAY,
	.open = delta_open,
	.close = delta_close,
	.decode = delta_decode,
	.encode = delta_encode,
	.fill = delta_fill,
	.lossy = delta_lossy,
};
