/* reshape (zarr-extensions): the same elements in the same order as an array of another shape,
 * which codecs behind it see. "shape" has for each dimension a length, the dimensions whose product
 * it is, or -1 for what is left. */
#include "base/check.h"
#include "base/err.h"
#include "codec/codec.h"

#include <errno.h>
#include <inttypes.h>

static const uint64_t UNKNOWN = UINT64_MAX;

struct reshape {
	unsigned rank;
	uint64_t shape[RANK_MAX];
	int64_t first[RANK_MAX], behind[RANK_MAX]; /* dimensions of the array whose product it is;
						      first < 0: none are said */
};

/* A list of dimensions that lie side by side, behind *at, which moves on. */
static int
read_dims(const struct json *v, const struct form *in, unsigned i, int64_t *at, struct reshape *s)
{
	uint64_t product = 1;
	for (size_t k = 0; k < json_count(v); k++) {
		uint64_t d;
		if (json_uint(json_at(v, k), &d) < 0 || d >= in->rank || (int64_t)d <= *at)
			return err_set(-EINVAL, "'shape' names dimensions out of order");
		product *= in->shape[d]; /* at most the elements of the chunk, which were counted */
		s->first[i] = k ? s->first[i] : (int64_t)d;
		s->behind[i] = (int64_t)d + 1;
		*at = (int64_t)d;
	}
	s->shape[i] = product;
	return 0;
}

static int
read_dim(const struct json *v, const struct form *in, unsigned i, int64_t *at, struct reshape *s)
{
	int64_t n;
	s->first[i] = -1;
	if (json_type(v) == JSON_TYPE_LIST)
		return read_dims(v, in, i, at, s);
	if (json_int(v, &n) < 0 || n < -1 || !n)
		return err_set(-EINVAL, "'shape' has a length that is none");
	s->shape[i] = n < 0 ? UNKNOWN : (uint64_t)n;
	return 0;
}

static bool
products_equal(const uint64_t *a, unsigned n, const uint64_t *b, unsigned m)
{
	uint64_t x = 1, y = 1;
	bool over = false;
	for (unsigned i = 0; i < n; i++)
		over |= mul_over(x, a[i], &x);
	for (unsigned i = 0; i < m; i++)
		over |= mul_over(y, b[i], &y);
	return !over && x == y;
}

/* What is left for the one -1, and whether all fits. */
static int
fit(const struct form *in, struct reshape *s)
{
	unsigned left = RANK_MAX;
	uint64_t product = 1;
	for (unsigned i = 0; i < s->rank; i++) {
		if (s->shape[i] == UNKNOWN && left < RANK_MAX)
			return err_set(-EINVAL, "'shape' has more than one -1");
		if (s->shape[i] == UNKNOWN)
			left = i;
		else if (mul_over(product, s->shape[i], &product))
			return err_set(-EINVAL, "'shape' is too large");
	}
	if (left < RANK_MAX && product && in->count % product == 0)
		s->shape[left] = in->count / product;
	else if (left < RANK_MAX || product != in->count)
		return err_set(
			-EINVAL, "'shape' has not the %" PRIu64 " elements of a chunk", in->count);
	for (unsigned i = 0; i < s->rank; i++) {
		unsigned from = (unsigned)s->first[i], to = (unsigned)s->behind[i];
		if (s->first[i] < 0)
			continue;
		if (!products_equal(s->shape, i, in->shape, from) ||
			!products_equal(
				s->shape + i + 1, s->rank - i - 1, in->shape + to, in->rank - to))
			return err_set(-EINVAL, "'shape' moves dimensions that it names");
	}
	return 0;
}

static int
reshape_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	const struct json *v = config ? json_get(config, "shape") : NULL;
	if (!in->dtype)
		return err_set(-EINVAL, "bytes have no shape");
	if (!v || json_type(v) != JSON_TYPE_LIST || json_count(v) > RANK_MAX)
		return err_set(-EINVAL, "no 'shape' of at most %d dimensions", RANK_MAX);
	CLEAN(clean_free) struct reshape *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "out of memory");
	int64_t at = -1;
	int r = 0;
	for (s->rank = 0; r == 0 && s->rank < json_count(v); s->rank++)
		r = read_dim(json_at(v, s->rank), in, s->rank, &at, s);
	if (r == 0)
		r = fit(in, s);
	if (r < 0)
		return r;
	out->rank = s->rank;
	out->shape = s->shape;
	*ret = MOVE(s);
	return 0;
}

static int
reshape_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	return buf_add(out, in.data, in.len);
}

const struct codec_ops codec_reshape = {
	.ids = (const char *const[]){"reshape", NULL},
	.kind = CODEC_ARRAY,
	.carries = true,
	.open = reshape_open,
	.close = free,
	.encode = reshape_encode,
};
