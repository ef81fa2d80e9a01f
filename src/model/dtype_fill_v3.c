/* Fill values of Zarr V3 (V3 spec, "Fill value"; zarr-extensions for the types that are registered
 * there). */
#include "base/err.h"
#include "model/narrow.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static int fill(const struct dtype *, const struct json *, uint8_t *out);

static int
not_a_fill(const struct json *v)
{
	CLEAN(clean_free) char *text = json_dump(v);
	return err_set(-EINVAL, "%.100s is no fill_value of this data type", text ? text : "?");
}

static int
digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* "0x7fc00001": the bits, the highest first. False: it is no such text. */
static bool
fill_hex(const struct dtype *d, const struct json *v, uint8_t *out)
{
	size_t len, size = d->size;
	const char *s = json_type(v) == JSON_TYPE_TEXT ? json_text(v, &len) : NULL;
	if (!s || len != 2 + 2 * size || s[0] != '0' || (s[1] != 'x' && s[1] != 'X'))
		return false;
	for (size_t i = 0; i < size; i++) {
		int high = digit(s[2 + 2 * i]), low = digit(s[3 + 2 * i]);
		if (high < 0 || low < 0)
			return false;
		out[d->big ? i : size - 1 - i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static int
fill_by_v2(const struct dtype *d, const struct json *v, uint8_t *out)
{
	bool null;
	return dtype_fill_v2(d, v, out, &null);
}

/* The bits of what is stored, as text or of the nearest number; shown as the array is. */
static int
fill_narrow(const struct dtype *d, const struct json *v, uint8_t *out)
{
	const struct dtype raw = narrow_raw(d);
	uint8_t stored[sizeof(uint16_t)];
	uint16_t bits;
	double x;
	if (json_type(v) == JSON_TYPE_BOOL)
		return not_a_fill(v);
	if (!fill_hex(&raw, v, stored)) {
		if (json_double(v, &x) < 0 || (d->kind != DTYPE_FLOAT && x != rint(x)) ||
			!narrow_nearest(d->narrow, x, &bits))
			return not_a_fill(v);
		for (unsigned i = 0; i < raw.size; i++)
			stored[raw.big ? raw.size - 1 - i : i] = (uint8_t)(bits >> 8 * i);
	}
	narrow_widen(d, stored, 1, out);
	return 0;
}

static int
fill_float(const struct dtype *d, const struct json *v, uint8_t *out)
{
	if (json_type(v) == JSON_TYPE_BOOL)
		return not_a_fill(v);
	return fill_hex(d, v, out) ? 0 : fill_by_v2(d, v, out);
}

static int
fill_complex(const struct dtype *d, const struct json *v, uint8_t *out)
{
	const struct dtype part = {.kind = DTYPE_FLOAT, .size = d->size / 2, .big = d->big};
	if (json_type(v) != JSON_TYPE_LIST || json_count(v) != 2)
		return fill_by_v2(d, v, out);
	int r = fill_float(&part, json_at(v, 0), out);
	return r < 0 ? r : fill_float(&part, json_at(v, 1), out + part.size);
}

/* A number for each byte. */
static int
fill_list(const struct dtype *d, const struct json *v, uint8_t *out)
{
	if (json_count(v) > d->size)
		return not_a_fill(v);
	for (size_t i = 0; i < json_count(v); i++) {
		uint64_t byte;
		if (json_uint(json_at(v, i), &byte) < 0 || byte > UINT8_MAX)
			return not_a_fill(v);
		out[i] = (uint8_t)byte;
	}
	return 0;
}

static int
fill_fields(const struct dtype *d, const struct json *v, uint8_t *out)
{
	if (json_type(v) != JSON_TYPE_DICT)
		return fill_by_v2(d, v, out);
	for (size_t i = 0; i < d->nfields; i++) {
		const struct dtype_field *f = &d->field[i];
		const struct json *one = json_get(v, f->name);
		int r = one ? fill(&f->type, one, out + f->offset) : not_a_fill(v);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
fill(const struct dtype *d, const struct json *v, uint8_t *out)
{
	bool list = json_type(v) == JSON_TYPE_LIST;
	if (d->narrow)
		return fill_narrow(d, v, out);
	if (d->kind == DTYPE_COMPLEX)
		return fill_complex(d, v, out);
	if (d->kind == DTYPE_FLOAT)
		return fill_float(d, v, out);
	if (d->kind == DTYPE_STRUCT)
		return fill_fields(d, v, out);
	if (list && (d->kind == DTYPE_RAW || d->kind == DTYPE_BYTES))
		return fill_list(d, v, out);
	return list ? not_a_fill(v) : fill_by_v2(d, v, out);
}

int
dtype_fill_v3(const struct dtype *d, const struct json *v, uint8_t *out, bool *null_fill)
{
	memset(out, 0, d->size);
	*null_fill = !v || json_type(v) == JSON_TYPE_NULL;
	int r = *null_fill ? 0 : fill(d, v, out);
	if (r < 0)
		memset(out, 0, d->size);
	return r;
}
