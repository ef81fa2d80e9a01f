#include "model/attr.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "base/number.h"
#include "model/dtype.h"

#include <errno.h>
#include <string.h>

void
attr_clear(struct attr *a)
{
	if (a->type == NC_TYPE_STRING)
		for (size_t i = 0; a->data && i < a->count; i++)
			free(((char **)a->data)[i]);
	free(a->data);
	free(a->name);
	*a = (struct attr){0};
}

int
attr_set_text(struct attr *a, const char *text, size_t len)
{
	char *data = malloc(len + 1);
	if (!data)
		return err_set(-ENOMEM, "no memory for a text of %zu bytes", len);
	if (len)
		memcpy(data, text, len);
	data[len] = 0;
	a->type = NC_TYPE_CHAR;
	a->count = len;
	a->data = data;
	return 0;
}

void
attrs_free(struct attrs *as)
{
	for (size_t i = 0; i < as->count; i++)
		attr_clear(&as->attr[i]);
	free(as->attr);
	LIST_FREE(as->problem, as->nproblems);
	*as = (struct attrs){0};
}

const struct attr *
attrs_find(const struct attrs *as, const char *name)
{
	for (size_t i = 0; i < as->count; i++)
		if (!strcmp(as->attr[i].name, name))
			return &as->attr[i];
	return NULL;
}

const char *
attrs_text(const struct attrs *as, const char *name)
{
	const struct attr *a = attrs_find(as, name);
	if (!a)
		return NULL;
	if (a->type == NC_TYPE_CHAR)
		return a->data;
	return a->type == NC_TYPE_STRING && a->count == 1 ? *(char **)a->data : NULL;
}

size_t
nc_type_size(enum nc_type t)
{
	static const size_t size[] = {
		[NC_TYPE_BYTE] = 1,
		[NC_TYPE_CHAR] = 1,
		[NC_TYPE_SHORT] = 2,
		[NC_TYPE_INT] = 4,
		[NC_TYPE_FLOAT] = 4,
		[NC_TYPE_DOUBLE] = 8,
		[NC_TYPE_UBYTE] = 1,
		[NC_TYPE_USHORT] = 2,
		[NC_TYPE_UINT] = 4,
		[NC_TYPE_INT64] = 8,
		[NC_TYPE_UINT64] = 8,
		[NC_TYPE_STRING] = 0,
	};
	return t < sizeof size / sizeof *size ? size[t] : 0;
}

enum nc_type
nc_type_by_size(
	uint32_t size, enum nc_type one, enum nc_type two, enum nc_type four, enum nc_type eight)
{
	switch (size) {
	case 1: return one;
	case 2: return two;
	case 4: return four;
	case 8: return eight;
	default: return NC_TYPE_NONE;
	}
}

enum nc_type
nc_type_of(const struct dtype *d)
{
	switch (d->kind) {
	case DTYPE_INT:
		return nc_type_by_size(
			d->size, NC_TYPE_BYTE, NC_TYPE_SHORT, NC_TYPE_INT, NC_TYPE_INT64);
	case DTYPE_UINT:
		return nc_type_by_size(
			d->size, NC_TYPE_UBYTE, NC_TYPE_USHORT, NC_TYPE_UINT, NC_TYPE_UINT64);
	case DTYPE_FLOAT:
		return nc_type_by_size(
			d->size, NC_TYPE_NONE, NC_TYPE_NONE, NC_TYPE_FLOAT, NC_TYPE_DOUBLE);
	case DTYPE_BYTES: return d->is_char ? NC_TYPE_CHAR : NC_TYPE_STRING;
	case DTYPE_VLEN_TEXT: return NC_TYPE_STRING;
	default: return NC_TYPE_NONE;
	}
}

enum { NUMBER_TEXT = NUMBER_DOUBLE + sizeof "ULL" };

struct attr_number
attr_number(const struct attr *a, size_t at)
{
	const uint8_t *p = (const uint8_t *)a->data + at * nc_type_size(a->type);
	union {
		int8_t i8;
		uint8_t u8;
		int16_t i16;
		uint16_t u16;
		int32_t i32;
		uint32_t u32;
		int64_t i64;
		uint64_t u64;
		float f;
		double d;
	} v;
	struct attr_number n = {0};
	memcpy(&v, p, nc_type_size(a->type));
	switch (a->type) {
	case NC_TYPE_BYTE: n.i = v.i8; break;
	case NC_TYPE_UBYTE: n.i = v.u8; break;
	case NC_TYPE_SHORT: n.i = v.i16; break;
	case NC_TYPE_USHORT: n.i = v.u16; break;
	case NC_TYPE_INT: n.i = v.i32; break;
	case NC_TYPE_UINT: n.i = v.u32; break;
	case NC_TYPE_INT64: n.i = v.i64; break;
	case NC_TYPE_UINT64:
		n.above = v.u64 > INT64_MAX;
		n.i = (int64_t)v.u64;
		break;
	case NC_TYPE_FLOAT: return (struct attr_number){.real = true, .d = (double)v.f};
	default: return (struct attr_number){.real = true, .d = v.d};
	}
	n.u = (uint64_t)n.i;
	return n;
}

bool
attr_is_number(const struct attr *a)
{
	return a->type != NC_TYPE_CHAR && nc_type_size(a->type);
}

/* In CDL notation; returns the length. */
static size_t
number_text(const struct attr *a, size_t at, char *ret)
{
	static const char *const suffix[] = {
		[NC_TYPE_BYTE] = "b",
		[NC_TYPE_UBYTE] = "UB",
		[NC_TYPE_SHORT] = "s",
		[NC_TYPE_USHORT] = "US",
		[NC_TYPE_INT] = "",
		[NC_TYPE_UINT] = "U",
		[NC_TYPE_INT64] = "LL",
		[NC_TYPE_UINT64] = "ULL",
		[NC_TYPE_FLOAT] = "f",
		[NC_TYPE_DOUBLE] = "",
	};
	struct attr_number v = attr_number(a, at);
	size_t n;
	if (v.real)
		n = a->type == NC_TYPE_FLOAT ? number_cdl_float((float)v.d, ret)
					     : number_cdl_double(v.d, ret);
	else
		n = v.above ? number_uint(v.u, ret) : number_int(v.i, ret);
	size_t more = strlen(suffix[a->type]);
	memcpy(ret + n, suffix[a->type], more);
	return n + more;
}

/* Elements between each other: a list of numbers as CDL has it, strings a line each. */
static int
add_element(const struct attr *a, size_t i, struct buf *ret)
{
	if (a->type == NC_TYPE_STRING) {
		const char *s = ((char **)a->data)[i];
		int r = i ? buf_add(ret, "\n", 1) : 0;
		return r < 0 ? r : buf_add(ret, s, strlen(s));
	}
	char text[NUMBER_TEXT];
	size_t n = number_text(a, i, text);
	int r = i ? buf_add(ret, ", ", 2) : 0;
	return r < 0 ? r : buf_add(ret, text, n);
}

char *
attr_text(const struct attr *a)
{
	CLEAN(buf_free) struct buf b = {0};
	int r = 0;
	if (a->type == NC_TYPE_CHAR)
		r = buf_add(&b, a->data, a->count);
	else
		for (size_t i = 0; r == 0 && i < a->count; i++)
			r = add_element(a, i, &b);
	if (r < 0 || buf_terminate(&b) < 0)
		return NULL;
	char *text = malloc(b.len + 1); /* the buffer's memory is not free()'s */
	if (text)
		memcpy(text, b.data, b.len + 1);
	return text;
}

bool
attr_takes_type(const char *name)
{
	static const char *const names[] = {"_FillValue", "missing_value", "valid_min", "valid_max",
		"valid_range", "flag_values", "flag_masks", NULL};
	for (const char *const *n = names; *n; n++)
		if (**n == *name && !strcmp(*n, name))
			return true;
	return false;
}
