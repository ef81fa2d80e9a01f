/* .zarray of Zarr V2, as writers really write it. */
#include "base/base64.h"
#include "base/check.h"
#include "base/err.h"
#include "model/meta.h"
#include "model/ngff.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { ELEMENT_MOST = 16 << 20 }; /* bytes */

int
array_sizes(const struct json *v, const char *what, unsigned *rank, uint64_t *out)
{
	if (!v)
		return err_set(-EINVAL, "no '%s'", what);
	bool list = json_type(v) == JSON_TYPE_LIST;
	size_t n = list ? json_count(v) : 1;
	if (n > RANK_MAX)
		return err_set(-ENOTSUP, "'%s' has %zu dimensions, at most %d are supported", what,
			n, RANK_MAX);
	for (size_t i = 0; i < n; i++) {
		int r = json_uint(list ? json_at(v, i) : v, &out[i]);
		if (r == 0 && out[i] > INT64_MAX)
			r = err_set(-ERANGE, "a size is out of range");
		if (r < 0)
			return err_add(r, "bad '%s'", what);
	}
	*rank = (unsigned)n;
	return 0;
}

int
array_take_sizes(struct array_meta *a, const uint64_t *shape, const uint64_t *chunk)
{
	a->shape = calloc(a->rank + 1, sizeof *a->shape);
	a->chunk = calloc(a->rank + 1, sizeof *a->chunk);
	if (!a->shape || !a->chunk)
		return err_set(-ENOMEM, "no memory for a shape");
	memcpy(a->shape, shape, a->rank * sizeof *shape);
	memcpy(a->chunk, chunk, a->rank * sizeof *chunk);
	return 0;
}

static int
read_shape(const struct json *zarray, struct array_meta *a)
{
	uint64_t shape[RANK_MAX], chunk[RANK_MAX];
	unsigned chunk_rank;
	int r = array_sizes(json_get(zarray, "shape"), "shape", &a->rank, shape);
	if (r == 0)
		r = array_sizes(json_get(zarray, "chunks"), "chunks", &chunk_rank, chunk);
	if (r < 0)
		return r;
	if (chunk_rank != a->rank)
		return err_set(
			-EINVAL, "'chunks' has %u dimensions, 'shape' %u", chunk_rank, a->rank);
	for (unsigned i = 0; i < a->rank; i++) {
		if (!chunk[i] && shape[i])
			return err_set(-EINVAL, "a chunk of length 0");
		chunk[i] = chunk[i] ? chunk[i] : 1;
	}
	return array_take_sizes(a, shape, chunk);
}

/* A type that we cannot name, but whose size its name tells: the file can be listed. 0: it does not
 * tell. */
static uint32_t
size_by_name(const struct json *v)
{
	size_t len;
	const char *s = v && json_type(v) == JSON_TYPE_TEXT ? json_text(v, &len) : NULL;
	if (!s)
		return 0;
	s += *s && strchr("<>|=", *s);
	uint64_t unit = *s == 'U' ? 4 : 1, size = 0;
	if (!isalpha((unsigned char)*s++))
		return 0;
	for (; isdigit((unsigned char)*s) && size < UINT32_MAX; s++)
		size = size * 10 + (uint64_t)(*s - '0');
	return size * unit <= INT32_MAX ? (uint32_t)(size * unit) : 0;
}

/* netcdf-c calls its char ">S1", which no other writer does; before 4.9.1 "<U1", one byte
 * each. 4.9.0 to 4.9.2 say '>' and store '<'. */
static void
apply_quirks(const struct nczarr_docs *d, const struct dim_scope *s, struct dtype *t)
{
	if (json_is(json_get(d->main, "dtype"), ">S1") ||
		(t->kind == DTYPE_BYTES && t->size == 1 && nczarr_char(d, s)))
		t->is_char = true;
	const struct group_meta *g = dim_scope_parent(s);
	bool v1 = d->v1 || (g && g->v1);
	if (t->kind == DTYPE_UNICODE && t->size == 4 && (v1 || nczarr_wrote(d, s, 40800, 40900)))
		*t = (struct dtype){.kind = DTYPE_BYTES, .is_char = true, .size = 1};
	if (t->big && nczarr_wrote(d, s, 40900, 40902))
		t->big = false;
}

static int
read_dtype(const struct nczarr_docs *d, const struct dim_scope *s, struct node *n)
{
	struct dtype *t = &n->array->dtype;
	const struct json *v = json_get(d->main, "dtype");
	int r = v ? dtype_parse_v2(v, t) : err_set(-EINVAL, "no 'dtype'");
	if (r == 0) {
		apply_quirks(d, s, t);
		return 0;
	}
	if (r == -ENOMEM || !v)
		return r;
	*t = (struct dtype){.kind = DTYPE_RAW, .size = size_by_name(v)};
	r = node_mark(n, r == -EINVAL ? -ENOTSUP : r);
	if (r == 0 && !t->size)
		t->kind = DTYPE_OBJECT;
	return r;
}

static bool
is_id(const struct codec_spec *c, const char *id)
{
	return !strcmp(c->id, id);
}

/* "|O" means what its codec makes of it: the first filter, or the compressor. */
static int
read_object(struct node *n)
{
	struct array_meta *a = n->array;
	if (a->dtype.kind != DTYPE_OBJECT || n->error)
		return 0;
	const char *found = NULL;
	for (size_t i = 0; i < a->ncodecs && !found; i++) {
		const struct codec_spec *c = &a->codec[i];
		if (is_id(c, "vlen-utf8") || is_id(c, "categorize"))
			a->dtype.kind = DTYPE_VLEN_TEXT;
		else if (is_id(c, "vlen-bytes"))
			a->dtype.kind = DTYPE_VLEN_BYTES;
		else if (is_id(c, "transpose"))
			continue;
		found = c->id;
	}
	if (!found)
		return node_mark(n,
			err_set(-ENOTSUP, "objects without a codec that says how they are stored"));
	if (!strcmp(found, "pickle"))
		return node_mark(n, err_set(-ENOTSUP, "pickled objects are never read: that would "
						      "run code from the store"));
	if (a->dtype.kind == DTYPE_OBJECT)
		return node_mark(n,
			err_set(-ENOTSUP, "objects stored by codec '%s' have no flat form", found));
	return 0;
}

/* The bytes as numbers (zarr-extensions, "bytes"). -EINVAL: one is none. */
static int
read_bytes(const struct json *v, struct buf *ret)
{
	int r = 0;
	for (size_t i = 0; i < json_count(v) && r == 0; i++) {
		uint64_t n;
		uint8_t byte;
		bool fits = json_uint(json_at(v, i), &n) == 0 && n <= UINT8_MAX;
		byte = fits ? (uint8_t)n : 0;
		r = fits ? buf_add(ret, &byte, 1)
			 : err_set(-EINVAL, "fill_value is no list of bytes");
	}
	return r;
}

int
array_fill_text(const struct json *v, struct array_meta *a)
{
	size_t len = 0;
	CLEAN(buf_free) struct buf bytes = {0};
	bool list = v && json_type(v) == JSON_TYPE_LIST && a->dtype.kind == DTYPE_VLEN_BYTES;
	const char *s = v && json_type(v) == JSON_TYPE_TEXT ? json_text(v, &len) : "";
	a->null_fill = !v || json_type(v) == JSON_TYPE_NULL;
	int r = list                                ? read_bytes(v, &bytes)
		: a->dtype.kind == DTYPE_VLEN_BYTES ? base64_decode(s, len, &bytes)
						    : -EINVAL;
	if (list && r == -EINVAL) {
		a->fill_error = strdup(err_text());
		r = a->fill_error ? 0 : -ENOMEM;
		bytes.len = 0;
	} else if (r == -EINVAL) { /* it stands for itself */
		r = buf_add(&bytes, s, len);
	}
	a->fill_text = r == 0 ? calloc(1, bytes.len + 1) : NULL;
	if (!a->fill_text)
		return err_set(-ENOMEM, "no memory for a fill value");
	if (bytes.len)
		memcpy(a->fill_text, bytes.data, bytes.len);
	a->fill_len = bytes.len;
	return 0;
}

int
array_fill_room(struct array_meta *a)
{
	if (a->dtype.size >
		ELEMENT_MOST) /* a few bytes of metadata must not make us hold as much */
		return err_set(-ENOTSUP,
			"elements of %" PRIu32 " bytes are not supported, only of up to %d",
			a->dtype.size, ELEMENT_MOST);
	a->fill = calloc(1, (size_t)a->dtype.size + 1);
	return a->fill ? 0 : err_set(-ENOMEM, "no memory for a fill value");
}

static int
read_fill(const struct json *zarray, struct node *n)
{
	struct array_meta *a = n->array;
	const struct json *v = json_get(zarray, "fill_value");
	if (a->dtype.kind == DTYPE_VLEN_TEXT || a->dtype.kind == DTYPE_VLEN_BYTES ||
		a->dtype.kind == DTYPE_OBJECT)
		return array_fill_text(v, a);
	int r = array_fill_room(a);
	if (r < 0)
		return node_mark(n, r);
	if (n->error) /* of an unknown type */
		return 0;
	r = dtype_fill_v2(&a->dtype, v, a->fill, &a->null_fill);
	if (r >= 0 || r == -ENOMEM)
		return r;
	a->fill_error = strdup(err_text());
	return a->fill_error ? 0 : err_set(-ENOMEM, "no memory for a message");
}

static int
read_separator(const struct json *zarray, struct array_meta *a)
{
	const struct json *v = json_get(zarray, "dimension_separator");
	a->key_form = '2';
	a->separator = '.';
	a->separator_assumed = !v && a->rank > 1;
	if (!v || json_type(v) == JSON_TYPE_NULL || json_is(v, "."))
		return 0;
	if (!json_is(v, "/"))
		return err_set(-EINVAL, "'dimension_separator' is neither '.' nor '/'");
	a->separator = '/';
	return 0;
}

static int
read_order(const struct json *zarray, struct array_meta *a)
{
	const struct json *v = json_get(zarray, "order");
	a->order = v && json_is(v, "F") ? 'F' : 'C';
	if (!v || json_type(v) == JSON_TYPE_NULL || json_is(v, "C") || a->order == 'F')
		return 0;
	return err_set(-EINVAL, "'order' is neither 'C' nor 'F'");
}

int
array_check_sizes(const struct array_meta *a)
{
	uint64_t size = a->dtype.size ? a->dtype.size : 1, bytes = array_count(a);
	if (bytes == UINT64_MAX || mul_over(bytes, size, &bytes) || bytes > INT64_MAX)
		return err_set(-EFBIG, "larger than a file can be");
	bytes = size;
	const uint64_t *object = a->shard ? a->shard : a->chunk;
	for (unsigned i = 0; i < a->rank; i++)
		if (mul_over(bytes, object[i], &bytes) || bytes > INT64_MAX)
			return err_set(-EFBIG, "a chunk is larger than memory can be");
	return 0;
}

static void
drop_rank(struct array_meta *a)
{
	a->rank = 0;
	a->shape[0] = a->chunk[0] = 0;
}

static int
check_format(const struct json *zarray)
{
	int64_t format = 2;
	const struct json *v = json_get(zarray, "zarr_format");
	if (v && (json_int(v, &format) < 0 || format != 2))
		return err_set(-ENOTSUP, "'zarr_format' is not 2");
	return 0;
}

int
array_v2(const struct nczarr_docs *d, const struct dim_scope *s, struct node *n)
{
	struct array_meta *a = n->array = calloc(1, sizeof *a);
	if (!a)
		return err_set(-ENOMEM, "no memory for an array");
	a->zarr_format = 2;
	int r = check_format(d->main);
	if (r == 0)
		r = read_shape(d->main, a);
	if (r == 0)
		r = read_order(d->main, a);
	if (r == 0)
		r = read_dtype(d, s, n);
	if (r < 0)
		return r;
	if (nczarr_scalar(d, s, a))
		drop_rank(a);
	r = codecs_v2(d->main, a);
	if (r == 0)
		r = read_object(n);
	if (r < 0)
		r = node_mark(n, r); /* the file can be listed all the same */
	if (r == 0)
		r = read_fill(d->main, n);
	if (r == 0)
		r = read_separator(d->main, a);
	if (r == 0)
		r = array_check_sizes(a);
	if (r == 0)
		r = nczarr_dims(d, s, a);
	if (r == 0)
		r = ngff_apply(s, n->path, a);
	if (r < 0)
		return r;
	a->strlen_hint = nczarr_strlen(d);
	r = codecs_known(a);
	if (r < 0)
		r = node_mark(n, r);
	return r < 0 ? r : array_fingerprint(a);
}
