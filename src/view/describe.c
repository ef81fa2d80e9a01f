#include "view/describe.h"

#include "base/check.h"
#include "base/number.h"
#include "model/dims.h"
#include "model/narrow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <utf8proc.h>

enum {
	ELEMENT_MAX = 4096, /* bytes of a fill value that are shown */
	LENGTHS_MAX = 100,  /* lengths of chunks */
};

static int
numbers(const uint64_t *v, unsigned n, struct buf *ret)
{
	int r = 0;
	for (unsigned i = 0; i < n && r == 0; i++)
		r = buf_addf(ret, "%s%" PRIu64, i ? ", " : "", v[i]);
	return r;
}

/* Of a dimension whose chunks have lengths of their own: "[10, 20, 30]", the first of them if there
 * are many. */
static int
lengths(const uint64_t *start, uint64_t n, struct buf *ret)
{
	int r = buf_add(ret, "[", 1);
	for (uint64_t i = 0; i < n && i < LENGTHS_MAX && r == 0; i++)
		r = buf_addf(ret, "%s%" PRIu64, i ? ", " : "", start[i + 1] - start[i]);
	return r < 0 ? r : buf_addf(ret, "%s]", n > LENGTHS_MAX ? ", ..." : "");
}

static int
shape(const struct node *n, struct buf *ret)
{
	return numbers(n->array->shape, n->array->rank, ret);
}

static int
chunks(const struct node *n, struct buf *ret)
{
	const struct edges *e = n->array->edges;
	int r = 0;
	for (unsigned d = 0; d < n->array->rank && r == 0; d++) {
		r = d ? buf_add(ret, ", ", 2) : 0;
		if (r == 0)
			r = e && e->dim[d].start ? lengths(e->dim[d].start, e->dim[d].n, ret)
						 : numbers(&n->array->chunk[d], 1, ret);
	}
	return r;
}

static int
dims(const struct node *n, struct buf *ret)
{
	CLEAN(dim_names_freep) char **names = NULL;
	int r = dim_names(n->array, true, &names);
	for (unsigned i = 0; i < n->array->rank && r == 0; i++)
		r = buf_addf(ret, "%s%s", i ? ", " : "", names[i]);
	return r;
}

/* Takes over the text. */
static int
add_text(char *text, struct buf *ret)
{
	int r = text ? buf_add(ret, text, strlen(text)) : err_set(-ENOMEM, "no memory for a text");
	free(text);
	return r;
}

static int
dtype(const struct node *n, struct buf *ret)
{
	const struct dtype *t = &n->array->dtype;
	return add_text(t->narrow ? strdup(narrow_name(t->narrow)) : dtype_text(t), ret);
}

static int
codecs(const struct node *n, struct buf *ret)
{
	return codec_chain_text(n->array->codec, n->array->ncodecs, ret);
}

/* Bytes that are decoded for one index of the leading dimension, where chunks are decoded whole:
 * those of all chunks that it lies in. */
static int
cost(const struct node *n, struct buf *ret)
{
	const struct array_meta *a = n->array;
	uint64_t bytes = a->dtype.size;
	for (unsigned d = 0; d < a->rank; d++) {
		const uint64_t *start = a->edges ? a->edges->dim[d].start : NULL;
		uint64_t all = start ? start[a->edges->dim[d].n]
				     : ceil_div(a->shape[d], a->chunk[d]) * a->chunk[d];
		if (mul_over(bytes, d ? all : a->chunk[d], &bytes))
			bytes = UINT64_MAX;
	}
	return bytes ? buf_addf(ret, "%" PRIu64, bytes) : ZMAP_ABSENT;
}

static int
format(const struct node *n, struct buf *ret)
{
	return buf_addf(ret, "%s V%u", n->nczarr ? "NCZarr" : "Zarr", n->array->zarr_format);
}

static int
key(const struct node *n, struct buf *ret)
{
	return buf_add(ret, n->path, strlen(n->path));
}

/* In CDL notation, as attributes are shown. data in native order. */
static int
as_attr(enum nc_type type, void *data, size_t count, struct buf *ret)
{
	const struct attr a = {.type = type, .count = count, .data = data};
	return add_text(attr_text(&a), ret);
}

static int
floats(const struct dtype *t, uint8_t *data, size_t count, struct buf *ret)
{
	size_t size = t->kind == DTYPE_COMPLEX ? t->size / 2 : t->size;
	float wide[2] = {0};
	switch (size) {
	case 8: return as_attr(NC_TYPE_DOUBLE, data, count, ret);
	case 4: return as_attr(NC_TYPE_FLOAT, data, count, ret);
	case 2:
		for (size_t i = 0; i < count; i++) {
			uint16_t h;
			memcpy(&h, data + 2 * i, 2);
			wide[i] = number_of_half(h);
		}
		return as_attr(NC_TYPE_FLOAT, wide, count, ret);
	default: return ZMAP_ABSENT;
	}
}

static int
hex(const uint8_t *data, size_t n, struct buf *ret)
{
	int r = buf_addf(ret, "0x");
	for (size_t i = 0; i < n && r == 0; i++)
		r = buf_addf(ret, "%02x", data[i]);
	return r;
}

static int
utf8(const uint8_t *data, size_t bytes, struct buf *ret)
{
	int r = 0;
	for (size_t i = 0; i + 4 <= bytes && r == 0; i += 4) {
		uint32_t c;
		memcpy(&c, data + i, 4);
		if (!c)
			break;
		utf8proc_uint8_t out[4];
		r = buf_add(ret, out, (size_t)utf8proc_encode_char((utf8proc_int32_t)c, out));
	}
	return r;
}

/* One element, in native order, aligned for any type. */
static int
element(const struct dtype *t, uint8_t *data, struct buf *ret)
{
	switch (t->kind) {
	case DTYPE_BOOL: return buf_addf(ret, "%s", data[0] ? "true" : "false");
	case DTYPE_INT:
	case DTYPE_UINT: return as_attr(nc_type_of(t), data, 1, ret);
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA: return as_attr(NC_TYPE_INT64, data, 1, ret);
	case DTYPE_FLOAT: return floats(t, data, 1, ret);
	case DTYPE_COMPLEX: return floats(t, data, 2, ret);
	case DTYPE_BYTES: return buf_add(ret, data, strnlen((const char *)data, t->size));
	case DTYPE_UNICODE: return utf8(data, t->size, ret);
	default: return hex(data, t->size, ret);
	}
}

static int
fill_value(const struct node *n, struct buf *ret)
{
	const struct array_meta *a = n->array;
	if (a->fill_error)
		return ZMAP_ABSENT;
	if (a->null_fill)
		return buf_addf(ret, "null");
	if (a->fill_text)
		return buf_add(ret, a->fill_text, a->fill_len);
	if (!a->fill || !a->dtype.size || a->dtype.size > ELEMENT_MAX)
		return ZMAP_ABSENT;
	uint8_t *data = malloc(a->dtype.size);
	if (!data)
		return err_set(-ENOMEM, "no memory for a fill value");
	memcpy(data, a->fill, a->dtype.size);
	bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	if (a->dtype.kind != DTYPE_STRUCT && a->dtype.big != host_big)
		dtype_swap(&a->dtype, data, 1);
	int r = element(&a->dtype, data, ret);
	free(data);
	return r;
}

const char *const describe_names[] = {
	"shape", "dims", "dtype", "chunks", "codecs", "fill_value", "format", "cost", "key", NULL};

int
describe(const struct node *n, const char *name, struct buf *ret)
{
	static int (*const text[])(const struct node *, struct buf *) = {
		shape,
		dims,
		dtype,
		chunks,
		codecs,
		fill_value,
		format,
		cost,
		key,
	};
	for (unsigned i = 0; describe_names[i]; i++)
		if (strcmp(name, describe_names[i]) == 0)
			return n->array || text[i] == key ? text[i](n, ret) : ZMAP_ABSENT;
	return ZMAP_ABSENT;
}
