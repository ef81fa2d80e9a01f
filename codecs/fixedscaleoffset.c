/* fixedscaleoffset (numcodecs): stored = round((x - offset) × scale) as "astype".
 *
 * Decoding calculates in float64 where integers are stored and otherwise in the floats that are
 * stored, each step rounded to them; encoding in the floats of "dtype", or for integers in integers
 * as long as offset and scale are written as such. Then C casts. That is numpy's arithmetic, so the
 * results have the same bits. */
#include "base/err.h"
#include "codecs/number_codec.h"

#include <errno.h>
#include <math.h>

/* A number of the config. */
struct operand {
	double f;
	int64_t i;
	bool is_int;
};

struct fixed_scale_offset {
	struct number_codec number;
	struct operand offset, scale;
};

/* d, or the next float that holds both operands. */
static struct dtype
operand_type(const struct fixed_scale_offset *s, const struct dtype *d)
{
	return number_widen(d, fmax(fabs(s->scale.f), fabs(s->offset.f)));
}

static double
as_double(enum number_class class, union number v)
{
	return class == NUMBER_INT ? (double)v.i : class == NUMBER_UINT ? (double)v.u : v.f;
}

static enum number_class
to_double(enum number_class class, union number *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i].f = as_double(class, v[i]);
	return NUMBER_FLOAT;
}

static enum number_class
from_stored(void *arg, enum number_class class, union number *v, size_t n)
{
	const struct fixed_scale_offset *s = arg;
	struct dtype d = operand_type(s, &s->number.encoded);
	double scale = number_round(&d, s->scale.f), offset = number_round(&d, s->offset.f);
	class = to_double(class, v, n);
	if (d.kind == DTYPE_FLOAT && d.size == sizeof(float)) {
		for (size_t i = 0; i < n; i++)
			v[i].f = (float)v[i].f / (float)scale + (float)offset;
		return class;
	}
	for (size_t i = 0; i < n; i++)
		v[i].f = number_round(&d, number_round(&d, v[i].f / scale) + offset);
	return class;
}

static enum number_class
subtract(const struct fixed_scale_offset *s, enum number_class class, union number *v, size_t n)
{
	struct dtype d = operand_type(s, &s->number.decoded);
	if (class != NUMBER_FLOAT && !s->offset.is_int)
		class = to_double(class, v, n);
	double offset = number_round(&d, s->offset.f);
	if (class == NUMBER_FLOAT) {
		for (size_t i = 0; i < n; i++)
			v[i].f = number_round(&d, v[i].f - offset);
		return class;
	}
	for (size_t i = 0; i < n; i++)
		v[i].u -= (uint64_t)s->offset.i;
	return number_cast(&d, class, v, n); /* integers wrap in their own width */
}

static enum number_class
multiply(const struct fixed_scale_offset *s, enum number_class class, union number *v, size_t n)
{
	struct dtype d = operand_type(s, &s->number.decoded);
	if (class != NUMBER_FLOAT && !s->scale.is_int)
		class = to_double(class, v, n);
	double scale = number_round(&d, s->scale.f);
	if (class == NUMBER_FLOAT) {
		for (size_t i = 0; i < n; i++)
			v[i].f = rint(number_round(&d, v[i].f * scale));
		return class;
	}
	for (size_t i = 0; i < n; i++)
		v[i].u *= (uint64_t)s->scale.i;
	return number_cast(&d, class, v, n);
}

static enum number_class
to_stored(void *arg, enum number_class class, union number *v, size_t n)
{
	const struct fixed_scale_offset *s = arg;
	return multiply(s, subtract(s, class, v, n), v, n);
}

static int
read_operand(const struct json *config, const char *key, struct operand *ret)
{
	const struct json *j = config ? json_get(config, key) : NULL;
	if (!j)
		return err_set(-EINVAL, "no '%s'", key);
	if (json_double(j, &ret->f) < 0 || !isfinite(ret->f))
		return err_set(-EINVAL, "'%s' is no number", key);
	bool text = json_type(j) == JSON_TYPE_TEXT;
	ret->is_int = (text || json_word_is_int(j)) && json_int(j, &ret->i) == 0;
	return 0;
}

static void
scale_offset_close(void *state)
{
	struct fixed_scale_offset *s = state;
	if (s)
		number_codec_done(&s->number);
	free(s);
}

static int
scale_offset_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct fixed_scale_offset *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "out of memory");
	struct number_codec *c = &s->number;
	int r = number_codec_open(config, &(struct number_keys){"dtype", "astype"}, in, out, c);
	if (r >= 0 && (number_is_time(&c->decoded) || number_is_time(&c->encoded)))
		r = err_set(-ENOTSUP, "times cannot be scaled");
	if (r >= 0)
		r = read_operand(config, "offset", &s->offset);
	if (r >= 0)
		r = read_operand(config, "scale", &s->scale);
	if (r >= 0 && s->scale.f == 0)
		r = err_set(-EINVAL, "'scale' is zero");
	if (r < 0) {
		scale_offset_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

static int
scale_offset_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct fixed_scale_offset *s = state;
	const struct number_codec *c = &s->number;
	return number_run(
		&(struct number_job){&c->encoded, &c->decoded, from_stored, (void *)s}, in, out);
}

static int
scale_offset_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct fixed_scale_offset *s = state;
	const struct number_codec *c = &s->number;
	return number_run_grow(
		&(struct number_job){&c->decoded, &c->encoded, to_stored, (void *)s, true}, in,
		out);
}

static bool
scale_offset_lossy(const void *state)
{
	return true;
}

static int
scale_offset_fill(const void *state, struct span element, struct buf *out)
{
	return number_codec_fill(&((const struct fixed_scale_offset *)state)->number, element, out);
}

const struct codec_ops codec_fixedscaleoffset = {
	.ids = (const char *const[]){"fixedscaleoffset", "numcodecs.fixedscaleoffset", NULL},
	.kind = CODEC_ARRAY,
	.open = scale_offset_open,
	.close = scale_offset_close,
	.decode = scale_offset_decode,
	.encode = scale_offset_encode,
	.fill = scale_offset_fill,
	.each = true,
	.lossy = scale_offset_lossy,
};
