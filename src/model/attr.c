#include "model/attr.h"

#include "base/buf.h"
#include "base/err.h"
#include "model/dtype.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
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

void
attrs_free(struct attrs *as)
{
	for (size_t i = 0; i < as->count; i++)
		attr_clear(&as->attr[i]);
	free(as->attr);
	for (size_t i = 0; i < as->nproblems; i++)
		free(as->problem[i]);
	free(as->problem);
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

static enum nc_type
by_size(uint32_t size, enum nc_type one, enum nc_type two, enum nc_type four, enum nc_type eight)
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
		return by_size(d->size, NC_TYPE_BYTE, NC_TYPE_SHORT, NC_TYPE_INT, NC_TYPE_INT64);
	case DTYPE_UINT:
		return by_size(
			d->size, NC_TYPE_UBYTE, NC_TYPE_USHORT, NC_TYPE_UINT, NC_TYPE_UINT64);
	case DTYPE_FLOAT:
		return by_size(d->size, NC_TYPE_NONE, NC_TYPE_NONE, NC_TYPE_FLOAT, NC_TYPE_DOUBLE);
	case DTYPE_BYTES: return d->is_char ? NC_TYPE_CHAR : NC_TYPE_STRING;
	case DTYPE_VLEN_TEXT: return NC_TYPE_STRING;
	default: return NC_TYPE_NONE;
	}
}

enum { FLOAT_DIGITS = 9, DOUBLE_DIGITS = 17, NUMBER_TEXT = 40 };
/* Powers of ten up to which ncdump writes numbers without an exponent; all integers below are exact. */
enum { FLOAT_PLAIN = 7, DOUBLE_PLAIN = 15 };

/* The shortest decimal that reads back as the same number, with a '.' as CDL wants it. */
static void
float_text(double v, bool single, char *ret)
{
	const char *suffix = single ? "f" : "";
	if (!isfinite(v)) {
		snprintf(ret, NUMBER_TEXT, "%s%s",
			isnan(v) ? "NaN"
			: v < 0  ? "-Infinity"
				 : "Infinity",
			suffix);
		return;
	}
	char digits[NUMBER_TEXT / 2 + 8];
	for (int n = 1; n <= (single ? FLOAT_DIGITS : DOUBLE_DIGITS); n++) {
		snprintf(digits, sizeof digits, "%.*g", n, v);
		if (single ? strtof(digits, NULL) == (float)v : strtod(digits, NULL) == v)
			break;
	}
	char *exponent = strchr(digits, 'e');
	int power = exponent ? (int)strtol(exponent + 1, NULL, 10) : 0;
	if (power > 0 && power < (single ? FLOAT_PLAIN : DOUBLE_PLAIN)) {
		snprintf(digits, sizeof digits, "%.*g", power + 1, v);
		exponent = NULL;
	}
	size_t mantissa = exponent ? (size_t)(exponent - digits) : strlen(digits);
	const char *point = memchr(digits, '.', mantissa) ? "" : ".";
	snprintf(ret, NUMBER_TEXT, "%.*s%s%s%s", (int)mantissa, digits, point,
		exponent ? exponent : "", suffix);
}

static void
number_text(const struct attr *a, size_t i, char *ret)
{
	const uint8_t *p = (const uint8_t *)a->data + i * nc_type_size(a->type);
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
	memcpy(&v, p, nc_type_size(a->type));
	switch (a->type) {
	case NC_TYPE_BYTE: snprintf(ret, NUMBER_TEXT, "%" PRId8 "b", v.i8); break;
	case NC_TYPE_UBYTE: snprintf(ret, NUMBER_TEXT, "%" PRIu8 "UB", v.u8); break;
	case NC_TYPE_SHORT: snprintf(ret, NUMBER_TEXT, "%" PRId16 "s", v.i16); break;
	case NC_TYPE_USHORT: snprintf(ret, NUMBER_TEXT, "%" PRIu16 "US", v.u16); break;
	case NC_TYPE_INT: snprintf(ret, NUMBER_TEXT, "%" PRId32, v.i32); break;
	case NC_TYPE_UINT: snprintf(ret, NUMBER_TEXT, "%" PRIu32 "U", v.u32); break;
	case NC_TYPE_INT64: snprintf(ret, NUMBER_TEXT, "%" PRId64 "LL", v.i64); break;
	case NC_TYPE_UINT64: snprintf(ret, NUMBER_TEXT, "%" PRIu64 "ULL", v.u64); break;
	case NC_TYPE_FLOAT: float_text((double)v.f, true, ret); break;
	default: float_text(v.d, false, ret);
	}
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
	number_text(a, i, text);
	int r = i ? buf_add(ret, ", ", 2) : 0;
	return r < 0 ? r : buf_add(ret, text, strlen(text));
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
