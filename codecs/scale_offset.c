/* scale_offset (zarr-extensions): stored = (x − offset) × scale, in the arithmetic of the elements'
 * own type. So floats are rounded to it at each step; integers must come out exactly, and what does
 * not is no chunk of this array. */
#include "base/err.h"
#include "codecs/number.h"
#include "codec/codec.h"

#include <errno.h>
#include <string.h>

struct scale_offset {
	struct dtype dtype;
	union number offset, scale;
};

static int
read_operand(const struct json *config, const char *key, const struct dtype *d, double def,
	union number *ret)
{
	const struct json *v = config ? json_get(config, key) : NULL;
	uint8_t bytes[sizeof *ret] = {0};
	bool null = true;
	int r = v ? dtype_fill_v3(d, v, bytes, &null) : 0;
	if (r < 0)
		return err_add(r, "'%s'", key);
	if (!null)
		number_load(d, bytes, 1, ret);
	else if (d->kind == DTYPE_FLOAT)
		ret->f = def;
	else
		ret->i = (int64_t)def;
	return 0;
}

static int
check_keys(const struct json *config)
{
	for (void *i = config ? json_first(config) : NULL; i; i = json_next(config, i))
		if (strcmp(json_key(i), "offset") != 0 && strcmp(json_key(i), "scale") != 0)
			return err_set(-ENOTSUP, "'%.100s' is not known", json_key(i));
	return 0;
}

static int
scale_offset_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	if (!in->dtype || !number_is(in->dtype) || in->dtype->kind == DTYPE_BOOL ||
		number_is_time(in->dtype))
		return err_set(-ENOTSUP, "only integers and floats can be scaled");
	CLEAN(clean_free) struct scale_offset *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "out of memory");
	s->dtype = *in->dtype;
	int r = check_keys(config);
	if (r == 0)
		r = read_operand(config, "offset", &s->dtype, 0, &s->offset);
	if (r == 0)
		r = read_operand(config, "scale", &s->dtype, 1, &s->scale);
	if (r == 0 && (s->dtype.kind == DTYPE_FLOAT ? s->scale.f == 0 : !s->scale.u))
		r = err_set(-EINVAL, "'scale' is zero");
	if (r < 0)
		return r;
	*ret = MOVE(s);
	return 0;
}

/* Is it a number of the type? */
static bool
fits(const struct dtype *d, union number v)
{
	unsigned spare = 64 - 8 * d->size;
	return d->kind == DTYPE_INT ? (int64_t)(v.u << spare) >> spare == v.i
				    : v.u << spare >> spare == v.u;
}

static bool
unscale_one(const struct scale_offset *s, union number *v)
{
	if (s->dtype.kind == DTYPE_INT) {
		if (s->scale.i == -1)
			return !__builtin_sub_overflow(s->offset.i, v->i, &v->i) &&
			       fits(&s->dtype, *v);
		bool exact = v->i % s->scale.i == 0;
		return exact && !__builtin_add_overflow(v->i / s->scale.i, s->offset.i, &v->i) &&
		       fits(&s->dtype, *v);
	}
	bool exact = v->u % s->scale.u == 0;
	return exact && !__builtin_add_overflow(v->u / s->scale.u, s->offset.u, &v->u) &&
	       fits(&s->dtype, *v);
}

static bool
scale_one(const struct scale_offset *s, union number *v)
{
	if (s->dtype.kind == DTYPE_INT)
		return !__builtin_sub_overflow(v->i, s->offset.i, &v->i) && fits(&s->dtype, *v) &&
		       !__builtin_mul_overflow(v->i, s->scale.i, &v->i) && fits(&s->dtype, *v);
	return !__builtin_sub_overflow(v->u, s->offset.u, &v->u) &&
	       !__builtin_mul_overflow(v->u, s->scale.u, &v->u) && fits(&s->dtype, *v);
}

static void
unscale_floats(const struct scale_offset *s, union number *v, size_t n)
{
	if (s->dtype.size == sizeof(float)) {
		for (size_t i = 0; i < n; i++)
			v[i].f = (float)v[i].f / (float)s->scale.f + (float)s->offset.f;
		return;
	}
	for (size_t i = 0; i < n; i++)
		v[i].f = number_round(
			&s->dtype, number_round(&s->dtype, v[i].f / s->scale.f) + s->offset.f);
}

static void
scale_floats(const struct scale_offset *s, union number *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i].f = number_round(
			&s->dtype, number_round(&s->dtype, v[i].f - s->offset.f) * s->scale.f);
}

/* One direction, from in to out, which may hold as much. */
static int
run(const struct scale_offset *s, bool decoding, struct span in, uint8_t *out)
{
	const struct dtype *d = &s->dtype;
	union number v[NUMBER_BLOCK];
	size_t n = in.len / d->size;
	for (size_t at = 0; at < n; at += NUMBER_BLOCK) {
		size_t some = n - at < NUMBER_BLOCK ? n - at : NUMBER_BLOCK;
		number_load(d, in.data + at * d->size, some, v);
		if (d->kind == DTYPE_FLOAT)
			(decoding ? unscale_floats : scale_floats)(s, v, some);
		for (size_t i = 0; d->kind != DTYPE_FLOAT && i < some; i++)
			if (!(decoding ? unscale_one : scale_one)(s, &v[i]))
				return err_set(decoding ? -EIO : -ERANGE,
					"element %zu does not come out exactly", at + i);
		number_store(d, number_class(d), v, some, out + at * d->size);
	}
	return 0;
}

static int
scale_offset_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct scale_offset *s = state;
	if (in.len > out->cap || in.len % s->dtype.size)
		return err_set(-EIO, "%zu bytes are not the elements of the chunk", in.len);
	out->len = in.len;
	return run(s, true, in, out->data);
}

static int
scale_offset_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	int r = buf_reserve(out, in.len);
	if (r < 0)
		return r;
	out->len = in.len;
	return run(state, false, in, out->data);
}

/* Integers come out exactly, or not at all. */
static bool
scale_offset_lossy(const void *state)
{
	const struct scale_offset *s = state;
	return s->dtype.kind == DTYPE_FLOAT;
}

const struct codec_ops codec_scale_offset = {
	.ids = (const char *const[]){"scale_offset", NULL},
	.kind = CODEC_ARRAY,
	.open = scale_offset_open,
	.close = free,
	.decode = scale_offset_decode,
	.encode = scale_offset_encode,
	.each = true,
	.lossy = scale_offset_lossy,
};
