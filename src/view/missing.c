#include "view/missing.h"

#include "view/state.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <utf8proc.h>

static bool
is_text(const struct dtype *t)
{
	return t->kind == DTYPE_BYTES || t->kind == DTYPE_UNICODE || t->kind == DTYPE_VLEN_TEXT ||
	       t->kind == DTYPE_VLEN_BYTES;
}

int
missing_by_fill(struct mount *m, const struct node *n)
{
	static const char mark[] = "_ARRAY_DIMENSIONS";
	const struct array_meta *a = n->array;
	enum cf_role role;
	if (n->nczarr || a->zarr_format != 2 || a->null_fill || a->fill_error || !n->attrs_text ||
		!memmem(n->attrs_text, n->attrs_len, mark, sizeof mark - 1))
		return 0;
	int r = roles_of_array(m, n, &role);
	return r < 0 ? r : role != CF_COORDINATE && role != CF_BOUNDS;
}

/* The nearest of the type; but infinity is none near a finite number. */
static bool
put_real(const struct dtype *t, double v, uint8_t *to)
{
	static const double most[] = {[2] = 65504, [4] = FLT_MAX, [8] = DBL_MAX};
	if (isfinite(v) && fabs(v) > most[t->size])
		return false;
	dtype_put_real(v, t->size, t->big, to);
	return true;
}

/* False: the type has no such number. */
static bool
put_number(const struct dtype *t, const struct attr *a, uint8_t to[8])
{
	if (!a->count || !attr_is_number(a))
		return false;
	struct attr_number n = attr_number(a, 0);
	const double real = n.real ? n.d : n.above ? (double)n.u : (double)n.i;
	int64_t whole = n.i;
	if (t->kind == DTYPE_FLOAT)
		return put_real(t, real, to);
	if (t->kind != DTYPE_INT && t->kind != DTYPE_UINT && t->kind != DTYPE_BOOL)
		return false;
	if (n.real) {
		if (!(fabs(real) < 9e18) || real != floor(real))
			return false;
		whole = (int64_t)real;
	}
	uint64_t bits = (uint64_t)whole;
	unsigned width = t->size * 8;
	bool negative = t->kind == DTYPE_INT && width < 64 &&
			bits >> (width - 1) == UINT64_MAX >> (width - 1);
	if (width < 64 && bits >> (t->kind == DTYPE_INT ? width - 1 : width) && !negative)
		return false;
	for (unsigned i = 0; i < t->size; i++)
		to[t->big ? t->size - 1 - i : i] = (uint8_t)(bits >> 8 * i);
	return true;
}

/* UTF-8 as UCS-4. False: it is none, or too long. */
static bool
put_unicode(const struct dtype *t, const char *text, size_t len, uint8_t *to)
{
	const utf8proc_uint8_t *p = (const utf8proc_uint8_t *)text;
	utf8proc_ssize_t n;
	for (size_t at = 0; len; at += 4, p += n, len -= (size_t)n) {
		utf8proc_int32_t c;
		n = utf8proc_iterate(p, (utf8proc_ssize_t)len, &c);
		if (n < 1 || at >= t->size)
			return false;
		for (unsigned i = 0; i < 4; i++)
			to[at + (t->big ? 3 - i : i)] = (uint8_t)(c >> 8 * i);
	}
	return true;
}

static int
put_text(const struct dtype *t, const struct attr *a, struct buf *ret)
{
	const char *text = a->type == NC_TYPE_CHAR ? a->data : *(char **)a->data;
	size_t len = a->type == NC_TYPE_CHAR ? a->count : strlen(text);
	if (t->kind == DTYPE_VLEN_TEXT || t->kind == DTYPE_VLEN_BYTES)
		return buf_add(ret, text, len);
	int r = buf_reserve(ret, t->size);
	if (r < 0)
		return r;
	memset(ret->data, 0, t->size);
	if (t->kind == DTYPE_UNICODE ? !put_unicode(t, text, len, ret->data) : len > t->size)
		return ZMAP_ABSENT;
	if (t->kind != DTYPE_UNICODE)
		memcpy(ret->data, text, len);
	ret->len = t->size;
	return 0;
}

static int
put_attr(const struct dtype *t, const struct attr *a, struct buf *ret)
{
	uint8_t number[8] = {0};
	bool text = a->type == NC_TYPE_CHAR || (a->type == NC_TYPE_STRING && a->count == 1);
	if (is_text(t))
		return text ? put_text(t, a, ret) : ZMAP_ABSENT;
	if (text || !put_number(t, a, number))
		return ZMAP_ABSENT;
	return buf_add(ret, number, t->size);
}

static int
put_fill(const struct array_meta *a, struct buf *ret)
{
	if (a->fill_text)
		return buf_add(ret, a->fill_text, a->fill_len);
	return a->fill ? buf_add(ret, a->fill, a->dtype.size) : ZMAP_ABSENT;
}

/* Texts of variable length as elements are shown. */
static int
pad(struct buf *b, uint32_t width)
{
	if (!width)
		return 0;
	if (b->len > width)
		return ZMAP_ABSENT;
	int r = buf_reserve(b, width);
	if (r < 0)
		return r;
	memset(b->data + b->len, 0, width - b->len);
	b->len = width;
	return 0;
}

int
missing_value(struct mount *m, const struct node *n, const struct attrs *as, uint32_t width,
	struct buf *ret)
{
	const struct attr *a = attrs_find(as, "_FillValue");
	int by_fill = a ? 0 : missing_by_fill(m, n);
	if (by_fill < 0)
		return by_fill;
	int r = a         ? put_attr(&n->array->dtype, a, ret)
		: by_fill ? put_fill(n->array, ret)
			  : ZMAP_ABSENT;
	if (r == 0)
		r = pad(ret, width);
	if (r == ZMAP_ABSENT)
		ret->len = 0;
	return r;
}
