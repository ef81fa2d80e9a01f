/* Zarr V3's data types (V3 spec, "Data types"; zarr-extensions, data-types): names, or a name with
 * its configuration. */
#include "model/dtype.h"

#include "base/err.h"
#include "model/narrow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
unsupported(const char *name)
{
	return err_set(-ENOTSUP, "data type '%.100s' is not supported", name);
}

/* Types whose name is all that they are, as NumPy calls them. */
static const struct {
	const char *name, *dtype;
} plain[] = {
	{"bool", "bool"},
	{"int8", "int8"},
	{"int16", "int16"},
	{"int32", "int32"},
	{"int64", "int64"},
	{"uint8", "uint8"},
	{"uint16", "uint16"},
	{"uint32", "uint32"},
	{"uint64", "uint64"},
	{"float16", "float16"},
	{"float32", "float32"},
	{"float64", "float64"},
	{"complex64", "complex64"},
	{"complex128", "complex128"},
	{"complex_float32", "complex64"},
	{"complex_float64", "complex128"},
};

/* "r24": raw bits, whole bytes of them. */
static int
parse_raw(const char *name, struct dtype *ret)
{
	char *end;
	errno = 0;
	unsigned long bits = strtoul(name + 1, &end, 10);
	if (*end || errno || !bits || bits % 8 || bits / 8 > DTYPE_SIZE_MAX)
		return err_set(-EINVAL, "data type '%.100s': raw bits are whole bytes", name);
	*ret = (struct dtype){.kind = DTYPE_RAW, .size = (uint32_t)(bits / 8)};
	return 0;
}

static int
parse_plain(const char *name, struct dtype *ret)
{
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (!strcmp(plain[i].name, name))
			return dtype_parse_name(plain[i].dtype, ret);
	enum narrow narrow = narrow_find(name);
	if (narrow) {
		*ret = narrow_wide(narrow);
		return 0;
	}
	if (name[0] == 'r' && name[1] >= '0' && name[1] <= '9')
		return parse_raw(name, ret);
	bool text = !strcmp(name, "string");
	if (text || !strcmp(name, "bytes") || !strcmp(name, "variable_length_bytes")) {
		*ret = (struct dtype){.kind = text ? DTYPE_VLEN_TEXT : DTYPE_VLEN_BYTES};
		return 0;
	}
	return unsupported(name);
}

/* numpy.datetime64 and numpy.timedelta64: {"unit": "ns", "scale_factor": 10}. */
static int
parse_time(char letter, const struct json *config, struct dtype *ret)
{
	const struct json *unit = json_get(config, "unit"),
			  *scale = json_get(config, "scale_factor");
	uint64_t count = 1;
	char text[64];
	if (!unit || json_type(unit) != JSON_TYPE_TEXT)
		return err_set(-EINVAL, "a time without a 'unit'");
	if (scale && (json_uint(scale, &count) < 0 || !count || count > INT32_MAX))
		return err_set(-EINVAL, "a time with a bad 'scale_factor'");
	if (json_is(unit, "generic"))
		snprintf(text, sizeof text, "=%c8", letter);
	else
		snprintf(text, sizeof text, "=%c8[%u%.16s]", letter, (unsigned)count,
			json_text(unit, NULL));
	return dtype_parse_name(text, ret);
}

static int
parse_sized(enum dtype_kind kind, const struct json *config, struct dtype *ret)
{
	const struct json *v = json_get(config, "length_bytes");
	uint64_t bytes;
	if (!v || json_uint(v, &bytes) < 0 || !bytes || bytes > DTYPE_SIZE_MAX ||
		(kind == DTYPE_UNICODE && bytes % 4))
		return err_set(-EINVAL, "a data type with a bad 'length_bytes'");
	*ret = (struct dtype){.kind = kind, .size = (uint32_t)bytes};
	dtype_set_order(ret, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	return 0;
}

/* struct: {"name", "data_type"}; structured, its former name: [name, data_type]. */
static int
parse_field(const struct json *v, struct dtype_field *f)
{
	bool list = json_type(v) == JSON_TYPE_LIST;
	const struct json *name = list ? json_at(v, 0) : json_get(v, "name");
	const struct json *type = list ? json_at(v, 1) : json_get(v, "data_type");
	if (!name || !type || json_type(name) != JSON_TYPE_TEXT || (list && json_count(v) != 2))
		return err_set(-EINVAL, "a field without a name and a data type");
	f->name = strdup(json_text(name, NULL));
	f->count = 1;
	if (!f->name)
		return err_set(-ENOMEM, "no memory for a data type");
	int r = dtype_parse_v3(type, &f->type);
	if (r == 0 && !f->type.size)
		r = err_set(-ENOTSUP, "elements of varying length");
	if (r == 0 && f->type.narrow)
		r = unsupported(narrow_name(f->type.narrow));
	return r < 0 ? err_add(r, "field '%.100s'", f->name) : 0;
}

static int
parse_fields(const struct json *config, struct dtype *ret)
{
	const struct json *list = json_get(config, "fields");
	size_t n = list && json_type(list) == JSON_TYPE_LIST ? json_count(list) : 0;
	struct dtype d = {.kind = DTYPE_STRUCT};
	if (!n)
		return err_set(-EINVAL, "a structured data type without fields");
	d.field = calloc(n, sizeof *d.field);
	int r = d.field ? 0 : err_set(-ENOMEM, "no memory for a data type");
	while (r == 0 && d.nfields < n) {
		struct dtype_field *f = &d.field[d.nfields];
		r = parse_field(json_at(list, d.nfields++), f);
		if (r == 0)
			r = dtype_place_field(&d, f);
	}
	if (r < 0)
		dtype_free(&d);
	else
		*ret = d;
	return r;
}

static int
parse_configured(const char *name, const struct json *config, struct dtype *ret)
{
	if (!strcmp(name, "numpy.datetime64"))
		return parse_time('M', config, ret);
	if (!strcmp(name, "numpy.timedelta64"))
		return parse_time('m', config, ret);
	if (!strcmp(name, "fixed_length_utf32"))
		return parse_sized(DTYPE_UNICODE, config, ret);
	if (!strcmp(name, "null_terminated_bytes"))
		return parse_sized(DTYPE_BYTES, config, ret);
	if (!strcmp(name, "raw_bytes"))
		return parse_sized(DTYPE_RAW, config, ret);
	if (!strcmp(name, "struct") || !strcmp(name, "structured"))
		return parse_fields(config, ret);
	return json_count(config) ? unsupported(name) : parse_plain(name, ret);
}

int
dtype_parse_v3(const struct json *v, struct dtype *ret)
{
	const struct json *name = v && json_type(v) == JSON_TYPE_DICT ? json_get(v, "name") : v;
	if (!name || json_type(name) != JSON_TYPE_TEXT)
		return err_set(-EINVAL, "%s as 'data_type'", v ? json_type_name(v) : "nothing");
	const struct json *config = name == v ? NULL : json_get(v, "configuration");
	return config ? parse_configured(json_text(name, NULL), config, ret)
		      : parse_plain(json_text(name, NULL), ret);
}
