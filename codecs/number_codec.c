#include "codecs/number_codec.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>

static int
read_dtype(const struct json *config, const char *key, const struct dtype *def, struct dtype *ret)
{
	const struct json *j = config ? json_get(config, key) : NULL;
	if (j && json_type(j) != JSON_TYPE_NULL) {
		int r = dtype_parse_v2(j, ret);
		return r < 0 ? err_add(r, "'%s'", key) : r;
	}
	return def ? dtype_copy(def, ret) : err_set(-EINVAL, "no '%s'", key);
}

static int
check_number(const struct dtype *d)
{
	if (number_is(d))
		return 0;
	CLEAN(clean_free) char *text = dtype_text(d);
	return err_set(-ENOTSUP, "elements of '%s' are no numbers", text ? text : "?");
}

/* Each complex number as the two floats that it is. */
static void
take_apart(struct number_codec *c)
{
	struct dtype *d = &c->decoded, *e = &c->encoded;
	if (d->kind != DTYPE_COMPLEX || e->kind != DTYPE_COMPLEX)
		return;
	d->kind = e->kind = DTYPE_FLOAT;
	d->size /= 2;
	e->size /= 2;
}

static int
lay_form(const struct form *in, struct form *out, struct number_codec *c)
{
	uint64_t count = in->count, bytes;
	*out = *in;
	if (!in->dtype || in->dtype->size != c->decoded.size) {
		count = in->bytes / c->decoded.size;
		c->count = count;
		out->rank = 1;
		out->shape = &c->count;
		if (in->exact && in->bytes % c->decoded.size)
			return err_set(-EINVAL, "%zu bytes are no whole elements of %u", in->bytes,
				c->decoded.size);
	}
	if (mul_over(count, c->encoded.size, &bytes) || bytes > SIZE_MAX / 2)
		return err_set(-EINVAL, "chunk is too large");
	out->count = count;
	out->dtype = &c->encoded;
	out->bytes = bytes;
	return 0;
}

int
number_codec_open(const struct json *config, const struct number_keys *keys, const struct form *in,
	struct form *out, struct number_codec *ret)
{
	*ret = (struct number_codec){0};
	if (in->dtype && in->dtype->kind >= DTYPE_VLEN_TEXT)
		return err_set(-EINVAL, "elements of variable length are no numbers");
	int r = read_dtype(config, keys->decoded, NULL, &ret->decoded);
	if (r < 0)
		return r;
	r = read_dtype(config, keys->encoded, &ret->decoded, &ret->encoded);
	if (r >= 0 && keys->parts)
		take_apart(ret);
	if (r >= 0)
		r = check_number(&ret->decoded);
	if (r >= 0)
		r = check_number(&ret->encoded);
	if (r >= 0)
		r = lay_form(in, out, ret);
	if (r < 0)
		number_codec_done(ret);
	return r;
}

void
number_codec_done(struct number_codec *c)
{
	dtype_free(&c->decoded);
	dtype_free(&c->encoded);
	*c = (struct number_codec){0};
}

static int
count_elements(const struct number_job *j, size_t len, size_t *ret, size_t *ret_bytes)
{
	uint64_t bytes;
	if (len % j->from->size)
		return err_set(-EIO, "%zu bytes are no whole elements of %u", len, j->from->size);
	*ret = len / j->from->size;
	if (mul_over(*ret, j->to->size, &bytes) || bytes > SIZE_MAX / 2)
		return err_set(-EIO, "%zu elements are too many", *ret);
	*ret_bytes = bytes;
	return 0;
}

int
number_run(const struct number_job *j, struct span in, struct buf *out)
{
	size_t n = 0, bytes = 0;
	int r = count_elements(j, in.len, &n, &bytes);
	if (r < 0)
		return r;
	if (bytes > out->cap)
		return err_set(-EIO, "%zu bytes, at most %zu are possible", bytes, out->cap);
	out->len = bytes;
	const struct dtype *from = j->from, *to = j->to;
	if (!j->step && from->kind == to->kind && from->size == to->size && from->big == to->big) {
		if (bytes)
			memcpy(out->data, in.data, bytes); /* every bit, whatever it means */
		return 0;
	}
	union number v[NUMBER_BLOCK];
	for (size_t at = 0; at < n; at += NUMBER_BLOCK) {
		size_t some = min_u64(n - at, NUMBER_BLOCK);
		enum number_class class = number_class(from);
		number_load(from, in.data + at * from->size, some, v);
		if (j->step)
			class = j->step(j->arg, class, v, some);
		size_t bad = j->strict ? number_misfit(to, class, v, some) : some;
		if (bad < some)
			return err_set(
				-ERANGE, "element %zu has no number of the stored type", at + bad);
		number_store(to, class, v, some, out->data + at * to->size);
	}
	return 0;
}

int
number_run_grow(const struct number_job *j, struct span in, struct buf *out)
{
	size_t n = 0, bytes = 0;
	int r = count_elements(j, in.len, &n, &bytes);
	if (r >= 0)
		r = buf_reserve(out, bytes);
	return r < 0 ? r : number_run(j, in, out);
}

int
number_codec_fill(const struct number_codec *c, struct span element, struct buf *out)
{
	return number_run_grow(&(struct number_job){&c->decoded, &c->encoded}, element, out);
}
