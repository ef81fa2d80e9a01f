/* cast_value (zarr-extensions): elements stored as another type of numbers, "data_type". What the
 * type that comes out has not is rounded as "rounding" says, or out of range, where "out_of_range"
 * says what happens: by default an error. "scalar_map" names numbers that become others, either
 * way. */
#include "base/check.h"
#include "base/err.h"
#include "codec/codec.h"
#include "codecs/number.h"
#include "model/narrow.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum rounding { NEAREST_EVEN, TOWARDS_ZERO, TOWARDS_POSITIVE, TOWARDS_NEGATIVE, NEAREST_AWAY };
enum cast_range { RANGE_ERROR, RANGE_CLAMP, RANGE_WRAP };
enum { MAP_MAX = 1024 };

struct mapping {
	union number from, to;
};

/* One direction. */
struct cast_way {
	struct dtype from, to; /* as they are calculated with; narrow ones widened */
	struct mapping *map;
	size_t mappings;
	bool plain; /* all numbers of one are of the other, and none is mapped */
};

struct cast {
	struct cast_way decode, encode;
	struct dtype raw; /* what lies behind: of narrow types what codecs see of it */
	enum rounding rounding;
	enum cast_range range;
};

static bool
is_float(const struct dtype *d)
{
	return d->kind == DTYPE_FLOAT;
}

/* Bits of an integer type. */
static unsigned
width(const struct dtype *d)
{
	return d->narrow ? narrow_bits(d->narrow) : 8 * d->size;
}

static double
round_as(enum rounding how, double v)
{
	switch (how) {
	case NEAREST_EVEN: return rint(v);
	case TOWARDS_ZERO: return trunc(v);
	case TOWARDS_POSITIVE: return ceil(v);
	case TOWARDS_NEGATIVE: return floor(v);
	case NEAREST_AWAY: return round(v);
	}
	return v;
}

static double
as_double(enum number_class class, union number v)
{
	return class == NUMBER_INT ? (double)v.i : class == NUMBER_UINT ? (double)v.u : v.f;
}

/* An integer in the type `to`, of which bits are right beyond its width. */
static bool
int_to_int(const struct cast *c, const struct cast_way *w, union number *v)
{
	unsigned bits = width(&w->to), spare = 64 - bits;
	bool is_signed = w->to.kind == DTYPE_INT, negative = w->from.kind == DTYPE_INT && v->i < 0;
	uint64_t most = (UINT64_MAX >> spare) >> is_signed;
	int64_t least = is_signed ? -(int64_t)most - 1 : 0;
	if (negative ? v->i >= least : v->u <= most)
		return true;
	if (c->range == RANGE_CLAMP)
		v->u = negative ? (uint64_t)least : most;
	else if (c->range == RANGE_WRAP)
		v->u = is_signed ? (uint64_t)((int64_t)(v->u << spare) >> spare)
				 : v->u << spare >> spare;
	return c->range != RANGE_ERROR;
}

static bool
float_to_int(const struct cast *c, const struct cast_way *w, union number *v)
{
	unsigned bits = width(&w->to);
	bool is_signed = w->to.kind == DTYPE_INT;
	double x = round_as(c->rounding, v->f), least = is_signed ? -ldexp(1, (int)bits - 1) : 0;
	double beyond = least + ldexp(1, (int)bits), whole = ldexp(1, (int)bits);
	if (isnan(x))
		return false;
	if (!(x >= least && x < beyond)) {
		uint64_t most = UINT64_MAX >> (64 - bits) >> is_signed;
		if (c->range == RANGE_ERROR || (c->range == RANGE_WRAP && isinf(x)))
			return false;
		if (c->range == RANGE_CLAMP) {
			v->u = x < least ? (uint64_t)(int64_t)least : most;
			return true;
		}
		x = fmod(x, whole);
		x = x < least ? x + whole : x >= beyond ? x - whole : x;
	}
	if (is_signed)
		v->i = (int64_t)x;
	else
		v->u = (uint64_t)x;
	return true;
}

static double
largest(const struct dtype *d)
{
	return d->size == 2 ? 65504 : d->size == 4 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
}

static bool
to_float(const struct cast *c, const struct cast_way *w, union number *v)
{
	enum number_class class = number_class(&w->from), back;
	union number there = *v;
	uint16_t code;
	if (w->to.narrow) {
		double x = as_double(class, *v);
		if (!narrow_nearest(w->to.narrow, x, &code))
			return false;
		there.f = narrow_value(w->to.narrow, code);
		back = NUMBER_FLOAT;
	} else {
		back = number_cast(&w->to, class, &there, 1);
	}
	bool finite = class != NUMBER_FLOAT || isfinite(v->f);
	if (finite && isinf(there.f)) {
		if (c->range != RANGE_CLAMP || w->to.narrow)
			return false;
		there.f = copysign(largest(&w->to), there.f);
	} else if (finite && c->rounding != NEAREST_EVEN) {
		/* other roundings are only known where none is needed */
		union number again = there;
		number_cast(&w->from, back, &again, 1);
		if (class == NUMBER_FLOAT ? again.f != v->f : again.u != v->u)
			return false;
	}
	*v = there;
	return true;
}

static bool
is_mapped(const struct cast_way *w, union number *v)
{
	bool floats = is_float(&w->from);
	for (size_t i = 0; i < w->mappings; i++) {
		const union number *k = &w->map[i].from;
		if (floats ? k->f == v->f || (isnan(k->f) && isnan(v->f)) : k->u == v->u) {
			*v = w->map[i].to;
			return true;
		}
	}
	return false;
}

static bool
cast_one(const struct cast *c, const struct cast_way *w, union number *v)
{
	if (is_mapped(w, v))
		return true;
	if (is_float(&w->to))
		return to_float(c, w, v);
	return is_float(&w->from) ? float_to_int(c, w, v) : int_to_int(c, w, v);
}

/* n numbers of w->from become those of w->to. */
static int
cast_block(const struct cast *c, const struct cast_way *w, size_t at, size_t n, const uint8_t *in,
	uint8_t *out)
{
	union number v[NUMBER_BLOCK];
	number_load(&w->from, in, n, v);
	for (size_t i = 0; !w->plain && i < n; i++)
		if (!cast_one(c, w, &v[i]))
			return err_set(
				-ERANGE, "element %zu has no number of the other type", at + i);
	number_store(&w->to, number_class(w->plain ? &w->from : &w->to), v, n, out);
	return 0;
}

static int
cast_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct cast *c = state;
	const struct cast_way *w = &c->decode;
	uint8_t wide[NUMBER_BLOCK * sizeof(double)];
	size_t n = in.len / c->raw.size;
	if (in.len % c->raw.size || n > out->cap / w->to.size)
		return err_set(-EIO, "%zu bytes are not the elements of the chunk", in.len);
	for (size_t at = 0; at < n; at += NUMBER_BLOCK) {
		size_t some = n - at < NUMBER_BLOCK ? n - at : NUMBER_BLOCK;
		const uint8_t *from = in.data + at * c->raw.size;
		if (w->from.narrow)
			narrow_widen(&w->from, from, some, wide);
		int r = cast_block(
			c, w, at, some, w->from.narrow ? wide : from, out->data + at * w->to.size);
		if (r < 0)
			return r == -ERANGE ? -EIO : r;
	}
	out->len = n * w->to.size;
	return 0;
}

static int
cast_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	const struct cast *c = state;
	const struct cast_way *w = &c->encode;
	uint8_t wide[NUMBER_BLOCK * sizeof(double)];
	size_t n = in.len / w->from.size;
	int r = buf_reserve(out, n * c->raw.size);
	for (size_t at = 0; r == 0 && at < n; at += NUMBER_BLOCK) {
		size_t some = n - at < NUMBER_BLOCK ? n - at : NUMBER_BLOCK;
		uint8_t *to = out->data + at * c->raw.size;
		r = cast_block(
			c, w, at, some, in.data + at * w->from.size, w->to.narrow ? wide : to);
		if (r == 0 && w->to.narrow)
			r = narrow_back(&w->to, wide, some, to);
	}
	out->len = r < 0 ? 0 : n * c->raw.size;
	return r;
}

static int
read_number(const struct dtype *d, const struct json *v, union number *ret)
{
	uint8_t bytes[sizeof *ret];
	bool null;
	int r = dtype_fill_v3(d, v, bytes, &null);
	if (r < 0 || null)
		return r < 0 ? r : err_set(-EINVAL, "a number is missing");
	number_load(d, bytes, 1, ret);
	return 0;
}

/* [[from, to], …] */
static int
read_map(const struct json *list, struct cast_way *w)
{
	size_t n = list && json_type(list) == JSON_TYPE_LIST ? json_count(list) : 0;
	if (!list)
		return 0;
	if (json_type(list) != JSON_TYPE_LIST || n > MAP_MAX)
		return err_set(-ENOTSUP, "'scalar_map' is no list of at most %d pairs", MAP_MAX);
	w->map = calloc(n + 1, sizeof *w->map);
	if (!w->map)
		return err_set(-ENOMEM, "out of memory");
	for (; w->mappings < n; w->mappings++) {
		const struct json *pair = json_at(list, w->mappings);
		struct mapping *m = &w->map[w->mappings];
		if (json_type(pair) != JSON_TYPE_LIST || json_count(pair) != 2)
			return err_set(-ENOTSUP, "'scalar_map' is no list of pairs");
		int r = read_number(&w->from, json_at(pair, 0), &m->from);
		if (r == 0)
			r = read_number(&w->to, json_at(pair, 1), &m->to);
		if (r < 0)
			return err_add(r, "'scalar_map'");
	}
	return 0;
}

static int
read_word(const struct json *config, const char *key, const char *const *words)
{
	const struct json *v = json_get(config, key);
	if (!v || json_type(v) == JSON_TYPE_NULL)
		return 0;
	for (int i = 0; words[i]; i++)
		if (json_is(v, words[i]))
			return i;
	return err_set(-ENOTSUP, "'%s' is not known", key);
}

static int
check_keys(const struct json *config)
{
	static const char *const known[] = {
		"data_type", "rounding", "out_of_range", "scalar_map", NULL};
	for (void *i = json_first(config); i; i = json_next(config, i)) {
		const char *const *k = known;
		while (*k && strcmp(*k, json_key(i)) != 0)
			k++;
		if (!*k)
			return err_set(-ENOTSUP, "'%.100s' is not known", json_key(i));
	}
	return 0;
}

static bool
can(const struct dtype *d)
{
	struct dtype wide = *d;
	wide.narrow = NARROW_NONE;
	return number_is(&wide) && d->kind != DTYPE_BOOL && !number_is_time(d);
}

/* Integers below the digits of a float; the same kind of numbers in more bytes. */
static bool
holds_all(const struct dtype *to, const struct dtype *from)
{
	if (to->narrow)
		return false;
	if (is_float(to))
		return is_float(from) ? to->size >= from->size
				      : to->size >= 4 && from->size < to->size;
	return to->kind == from->kind && to->size >= from->size;
}

static void
cast_close(void *state)
{
	struct cast *c = state;
	if (c) {
		free(c->decode.map);
		free(c->encode.map);
	}
	free(c);
}

static int
read_types(const struct json *config, const struct form *in, struct cast *c)
{
	const struct json *v = json_get(config, "data_type");
	struct dtype stored = {0};
	int r = v ? dtype_parse_v3(v, &stored) : err_set(-EINVAL, "no 'data_type'");
	if (r < 0)
		return r;
	if (!can(&stored) || !number_is(in->dtype) || !can(in->dtype)) {
		dtype_free(&stored);
		return err_set(-ENOTSUP, "only integers and floats can be cast");
	}
	dtype_set_order(&stored, in->dtype->big);
	c->decode.from = c->encode.to = stored;
	c->decode.to = c->encode.from = *in->dtype;
	c->raw = stored.narrow ? narrow_raw(&stored) : stored;
	return 0;
}

static int
read_config(const struct json *config, const struct form *in, struct cast *c)
{
	static const char *const roundings[] = {"nearest-even", "towards-zero", "towards-positive",
		"towards-negative", "nearest-away", NULL};
	static const char *const ranges[] = {"error", "clamp", "wrap", NULL};
	int r = read_types(config, in, c);
	if (r == 0)
		r = check_keys(config);
	int rounding = r < 0 ? r : read_word(config, "rounding", roundings);
	int range = rounding < 0 ? rounding : read_word(config, "out_of_range", ranges);
	if (range < 0)
		return range;
	c->rounding = (enum rounding)rounding;
	c->range = (enum cast_range)range;
	const struct json *map = json_get(config, "scalar_map");
	if (map && json_type(map) != JSON_TYPE_DICT && json_type(map) != JSON_TYPE_NULL)
		return err_set(-ENOTSUP, "'scalar_map' is %s", json_type_name(map));
	r = read_map(map ? json_get(map, "decode") : NULL, &c->decode);
	return r < 0 ? r : read_map(map ? json_get(map, "encode") : NULL, &c->encode);
}

static int
cast_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	if (!config || !in->dtype)
		return err_set(-EINVAL, config ? "bytes are no numbers" : "no 'data_type'");
	struct cast *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "out of memory");
	uint64_t bytes = 0;
	int r = read_config(config, in, c);
	if (r == 0 && (mul_over(in->count, c->raw.size, &bytes) || bytes > SIZE_MAX / 2))
		r = err_set(-EINVAL, "chunk is too large");
	if (r < 0) {
		cast_close(c);
		return r;
	}
	c->decode.plain = !c->decode.mappings && holds_all(&c->decode.to, &c->decode.from);
	c->encode.plain = !c->encode.mappings && holds_all(&c->encode.to, &c->encode.from);
	out->dtype = &c->raw;
	out->bytes = bytes;
	*ret = c;
	return 0;
}

static bool
cast_lossy(const void *state)
{
	const struct cast *c = state;
	return !c->encode.plain;
}

const struct codec_ops codec_cast_value = {
	.ids = (const char *const[]){"cast_value", NULL},
	.kind = CODEC_ARRAY,
	.open = cast_open,
	.close = cast_close,
	.decode = cast_decode,
	.encode = cast_encode,
	.each = true,
	.lossy = cast_lossy,
};
