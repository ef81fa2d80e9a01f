#include "view/missing.h"

#include "view/state.h"

#include <errno.h>
#include <math.h>
#include <string.h>

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

/* In native order. False: the type has no such number. */
static bool
put_number(const struct dtype *t, const struct attr *a, uint8_t to[8])
{
	if (!a->count || !attr_is_number(a))
		return false;
	struct attr_number n = attr_number(a, 0);
	const double real = n.real ? n.d : n.above ? (double)n.u : (double)n.i;
	int64_t whole = n.i;
	if (t->kind == DTYPE_FLOAT && t->size == 8) {
		memcpy(to, &real, sizeof real);
		return true;
	}
	if (t->kind == DTYPE_FLOAT && t->size == 4) {
		const float f = (float)real;
		memcpy(to, &f, sizeof f);
		return true;
	}
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
	for (unsigned i = 0; i < t->size; i++) {
		bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
		to[big ? t->size - 1 - i : i] = (uint8_t)(bits >> 8 * i);
	}
	return true;
}

/* UTF-8 to UCS-4 in native order would need a decoder: ASCII is what fill values of texts are made of. */
static int
put_text(const struct dtype *t, const struct attr *a, struct buf *ret)
{
	const char *text = a->type == NC_TYPE_CHAR ? a->data : *(char **)a->data;
	size_t len = a->type == NC_TYPE_CHAR ? a->count : strlen(text);
	if (t->kind == DTYPE_VLEN_TEXT || t->kind == DTYPE_VLEN_BYTES)
		return buf_add(ret, text, len);
	size_t unit = t->kind == DTYPE_UNICODE ? 4 : 1;
	if (len * unit > t->size)
		return ZMAP_ABSENT;
	int r = buf_reserve(ret, t->size);
	if (r < 0)
		return r;
	memset(ret->data, 0, t->size);
	for (size_t i = 0; i < len; i++) {
		if (unit == 4 && (uint8_t)text[i] >= 0x80)
			return ZMAP_ABSENT;
		ret->data[i * unit + (unit == 4 && t->big ? 3 : 0)] = (uint8_t)text[i];
	}
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
	bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	if (t->big != host_big)
		dtype_swap(t, number, 1);
	return buf_add(ret, number, t->size);
}

int
missing_value(struct mount *m, const struct node *n, const struct attrs *as, struct buf *ret)
{
	const struct array_meta *d = n->array;
	const struct attr *a = attrs_find(as, "_FillValue");
	if (a)
		return put_attr(&d->dtype, a, ret);
	int r = missing_by_fill(m, n);
	if (r <= 0)
		return r < 0 ? r : ZMAP_ABSENT;
	if (d->fill_text)
		return buf_add(ret, d->fill_text, d->fill_len);
	return d->fill ? buf_add(ret, d->fill, d->dtype.size) : ZMAP_ABSENT;
}
