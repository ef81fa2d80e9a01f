/* Zarr V2's dtypes: NumPy's array-interface strings and lists of fields (V2 spec, "Data type
 * encoding"), with the deviations that writers made of them. */
#include "model/dtype.h"

#include "base/check.h"
#include "base/err.h"
#include "model/narrow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bool native_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static int
unknown(const char *text)
{
	return err_set(-EINVAL, "unknown dtype '%.100s'", text);
}

/* What NumPy accepts as a name. */
static const struct {
	const char *name, *dtype;
	uint32_t unsupported; /* bytes, where there is no dtype */
} names[] = {
	{.name = "?", .dtype = "|b1"},
	{.name = "|?", .dtype = "|b1"},
	{.name = "bool", .dtype = "|b1"},
	{.name = "int8", .dtype = "|i1"},
	{.name = "int16", .dtype = "=i2"},
	{.name = "int32", .dtype = "=i4"},
	{.name = "int64", .dtype = "=i8"},
	{.name = "uint8", .dtype = "|u1"},
	{.name = "uint16", .dtype = "=u2"},
	{.name = "uint32", .dtype = "=u4"},
	{.name = "uint64", .dtype = "=u8"},
	{.name = "float16", .dtype = "=f2"},
	{.name = "float32", .dtype = "=f4"},
	{.name = "float64", .dtype = "=f8"},
	{.name = "complex64", .dtype = "=c8"},
	{.name = "complex128", .dtype = "=c16"},
	{.name = "object", .dtype = "|O"},
	{.name = "float128", .unsupported = 16},
	{.name = "complex256", .unsupported = 32},
};

static const struct {
	const char *name;
	enum time_unit unit;
} units[] = {
	{"generic", TIME_GENERIC},
	{"Y", TIME_Y},
	{"M", TIME_M},
	{"W", TIME_W},
	{"D", TIME_D},
	{"h", TIME_H},
	{"m", TIME_MIN},
	{"s", TIME_S},
	{"ms", TIME_MS},
	{"us", TIME_US},
	{"\xc2\xb5s", TIME_US}, /* micro sign */
	{"\xce\xbcs", TIME_US}, /* Greek mu */
	{"ns", TIME_NS},
	{"ps", TIME_PS},
	{"fs", TIME_FS},
	{"as", TIME_AS},
};

/* Decimal digits at *s, which is left behind them. False: none, or more than an element may
 * have. */
static bool
read_count(const char **s, uint32_t *ret)
{
	uint64_t n = 0;
	const char *p = *s;
	for (; *p >= '0' && *p <= '9'; p++) {
		n = n * 10 + (uint64_t)(*p - '0');
		if (n > DTYPE_SIZE_MAX)
			return false;
	}
	bool digits = p > *s;
	*s = p;
	*ret = (uint32_t)n;
	return digits;
}

/* "[10ns]", or nothing. */
static bool
read_unit(const char *s, struct dtype *d)
{
	d->unit = TIME_GENERIC;
	d->unit_count = 1;
	if (!*s)
		return true;
	if (*s++ != '[')
		return false;
	if (*s >= '0' && *s <= '9' && (!read_count(&s, &d->unit_count) || !d->unit_count))
		return false;
	size_t len = strcspn(s, "]");
	if (strcmp(s + len, "]"))
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strlen(units[i].name) != len || memcmp(units[i].name, s, len))
			continue;
		d->unit = units[i].unit;
		return true;
	}
	return false;
}

/* "M8[ns]", "m8", and without NumPy's 8: "M[ns]". */
static bool
read_time(enum dtype_kind kind, const char *s, struct dtype *d)
{
	*d = (struct dtype){.kind = kind, .big = d->big, .size = 8};
	return read_unit(*s == '8' ? s + 1 : s, d);
}

static int
unsupported(const char *text, uint32_t size, struct dtype *ret)
{
	*ret = (struct dtype){.kind = DTYPE_RAW, .size = size};
	return err_set(-ENOTSUP, "dtype '%.100s' is not supported", text);
}

/* The size of a numeric type: 0 if it is one that we have, -ENOTSUP, -EINVAL. */
static int
check_size(char letter, uint32_t size)
{
	bool power = size && !(size & (size - 1));
	switch (letter) {
	case 'b': return size == 1 ? 0 : -EINVAL;
	case 'i':
	case 'u': return power && size <= 8 ? 0 : -EINVAL;
	case 'f':
		if (size == 10 || size == 12 || size == 16)
			return -ENOTSUP;
		return power && size >= 2 && size <= 8 ? 0 : -EINVAL;
	case 'c':
		if (size == 20 || size == 24 || size == 32)
			return -ENOTSUP;
		return size == 8 || size == 16 ? 0 : -EINVAL;
	default: return size ? 0 : -EINVAL;
	}
}

/* A letter and a size, of what `text` says in all. */
static int
parse_sized(const char *text, const char *s, bool big, struct dtype *ret)
{
	static const struct {
		char letter;
		enum dtype_kind kind;
	} letters[] = {
		{'b', DTYPE_BOOL},
		{'i', DTYPE_INT},
		{'u', DTYPE_UINT},
		{'f', DTYPE_FLOAT},
		{'c', DTYPE_COMPLEX},
		{'S', DTYPE_BYTES},
		{'a', DTYPE_BYTES}, /* NumPy's old name of S */
		{'U', DTYPE_UNICODE},
		{'V', DTYPE_RAW},
	};
	size_t i = 0;
	while (i < sizeof letters / sizeof *letters && letters[i].letter != *s)
		i++;
	if (i == sizeof letters / sizeof *letters)
		return unknown(text);
	char letter = *s++;
	struct dtype d = {.kind = letters[i].kind};
	if (!read_count(&s, &d.size) || *s)
		return unknown(text);
	int r = check_size(letter, d.size);
	if (r < 0)
		return r == -ENOTSUP ? unsupported(text, d.size, ret) : unknown(text);
	if (d.kind == DTYPE_UNICODE && d.size > DTYPE_SIZE_MAX / 4)
		return unknown(text);
	if (d.kind == DTYPE_UNICODE)
		d.size *= 4;
	d.big = dtype_swap_unit(&d) > 1 && big;
	*ret = d;
	return 0;
}

static int
parse_string(const char *text, struct dtype *ret)
{
	const char *s = text + (*text && strchr("<>|=", *text));
	bool big = *text == '>' || (*text != '<' && native_big);
	if (!strcmp(s, "O") || !strcmp(s, "O8") || !strcmp(s, "O4")) {
		*ret = (struct dtype){.kind = DTYPE_OBJECT};
		return 0;
	}
	if (*s != 'M' && *s != 'm')
		return parse_sized(text, s, big, ret);
	struct dtype d = {.big = big};
	if (!read_time(*s == 'M' ? DTYPE_DATETIME : DTYPE_TIMEDELTA, s + 1, &d))
		return unknown(text);
	*ret = d;
	return 0;
}

int
dtype_parse_name(const char *text, struct dtype *ret)
{
	static const char datetime[] = "datetime64", timedelta[] = "timedelta64";
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(names[i].name, text))
			continue;
		return names[i].dtype ? parse_string(names[i].dtype, ret)
				      : unsupported(text, names[i].unsupported, ret);
	}
	enum narrow narrow = narrow_find(text);
	if (narrow) {
		*ret = narrow_wide(narrow);
		return 0;
	}
	struct dtype d = {.big = native_big};
	if ((!strncmp(text, datetime, sizeof datetime - 1) &&
		    read_time(DTYPE_DATETIME, text + sizeof datetime - 1, &d)) ||
		(!strncmp(text, timedelta, sizeof timedelta - 1) &&
			read_time(DTYPE_TIMEDELTA, text + sizeof timedelta - 1, &d))) {
		*ret = d;
		return 0;
	}
	return parse_string(text, ret);
}

/* A subarray's shape: one length or a list of them. */
static int
parse_shape(const struct json *shape, struct dtype_field *f)
{
	bool list = json_type(shape) == JSON_TYPE_LIST;
	size_t rank = list ? json_count(shape) : 1;
	if (rank > DTYPE_RANK_MAX)
		return err_set(-EINVAL, "subarray of %zu dimensions", rank);
	f->count = 1;
	for (f->rank = 0; f->rank < rank; f->rank++) {
		uint64_t n;
		int r = json_uint(list ? json_at(shape, f->rank) : shape, &n);
		if (r < 0)
			return err_add(r == -ERANGE ? -EINVAL : r, "shape of a subarray");
		if (!n || mul_over(f->count, n, &f->count) || f->count > DTYPE_SIZE_MAX)
			return err_set(-EINVAL, "subarray of no or too many elements");
		f->shape[f->rank] = n;
	}
	return 0;
}

/* The field's name; a list is NumPy's [title, name]. Nameless ones, which are padding, get a
 * number, as NumPy does. */
static int
parse_field_name(const struct json *name, size_t number, struct dtype_field *f)
{
	if (name && json_type(name) == JSON_TYPE_LIST && json_count(name) == 2)
		name = json_at(name, 1);
	if (!name || json_type(name) != JSON_TYPE_TEXT)
		return err_set(-EINVAL, "%s as the name of a field", json_type_name(name));
	const char *text = json_text(name, NULL);
	if ((*text ? asprintf(&f->name, "%s", text) : asprintf(&f->name, "f%zu", number)) < 0) {
		f->name = NULL;
		return err_set(-ENOMEM, "no memory for a dtype");
	}
	return 0;
}

/* [name, dtype] or [name, dtype, shape]. */
static int
parse_field(const struct json *v, size_t number, struct dtype_field *f)
{
	size_t parts = json_type(v) == JSON_TYPE_LIST ? json_count(v) : 0;
	if (parts < 2 || parts > 3)
		return err_set(
			-EINVAL, "a field of a dtype is not [name, dtype] or [name, dtype, shape]");
	int r = parse_field_name(json_at(v, 0), number, f);
	f->count = 1;
	if (r == 0 && parts == 3)
		r = parse_shape(json_at(v, 2), f);
	if (r == 0)
		r = dtype_parse_v2(json_at(v, 1), &f->type);
	if (r == 0 && f->type.narrow) {
		f->type = narrow_raw(&f->type);
		r = err_set(-ENOTSUP, "data type '%s' in a structured one is not supported",
			narrow_name(f->type.narrow));
	}
	return r < 0 && f->name ? err_add(r, "field '%.100s'", f->name) : r;
}

/* Sets what follows from the fields. */
static int
finish(struct dtype *d, int r, struct dtype *ret)
{
	bool object = false;
	for (size_t i = 0; i < d->nfields; i++)
		object |= d->field[i].type.kind == DTYPE_OBJECT;
	uint32_t size = d->size;
	if (r == 0 && !object) {
		*ret = *d;
		return 0;
	}
	dtype_free(d);
	*ret = (struct dtype){.kind = object ? DTYPE_OBJECT : DTYPE_RAW, .size = object ? 0 : size};
	return object ? 0 : r;
}

static int
parse_fields(const struct json *list, struct dtype *ret)
{
	size_t n = json_count(list);
	struct dtype d = {.kind = DTYPE_STRUCT};
	if (!n)
		return err_set(-EINVAL, "dtype without fields");
	d.field = calloc(n, sizeof *d.field);
	int result = 0, r = d.field ? 0 : err_set(-ENOMEM, "no memory for a dtype");
	while (r == 0 && d.nfields < n) {
		size_t i = d.nfields++;
		r = parse_field(json_at(list, i), i, &d.field[i]);
		if (r == -ENOTSUP)
			result = r; /* of the whole; its size still counts */
		if (r == 0 || r == -ENOTSUP)
			r = dtype_place_field(&d, &d.field[i]);
	}
	if (r == 0)
		return finish(&d, result, ret);
	dtype_free(&d);
	return r;
}

int
dtype_parse_v2(const struct json *v, struct dtype *ret)
{
	if (v && json_type(v) == JSON_TYPE_LIST)
		return parse_fields(v, ret);
	if (!v || json_type(v) != JSON_TYPE_TEXT)
		return err_set(-EINVAL, "%s as dtype", json_type_name(v));
	return dtype_parse_name(json_text(v, NULL), ret);
}
