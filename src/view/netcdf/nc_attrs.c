#include "view/netcdf/nc_attrs.h"

#include "base/err.h"
#include "base/list.h"
#include "view/netcdf/nc4_file.h"
#include "view/netcdf/nc_names.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct attrs_making {
	const struct nc_attrs_of *of;
	enum cdf_format format;
	struct attrs *to;
	struct nc_taken names;
};

/* A whole number that was written as a real one. */
static bool
make_whole(struct attr_number *v)
{
	if (!v->real)
		return true;
	if (v->d != floor(v->d) || !(v->d >= -0x1p63 && v->d < 0x1p64))
		return false;
	v->above = v->d >= 0x1p63;
	v->u = v->above ? (uint64_t)v->d : 0;
	v->i = v->above ? 0 : (int64_t)v->d;
	v->real = false;
	return true;
}

static bool
put_whole(struct attr_number v, enum nc_type t, uint8_t *to)
{
	static const struct {
		int64_t least;
		uint64_t most;
	} range[] = {
		[NC_TYPE_BYTE] = {INT8_MIN, INT8_MAX},
		[NC_TYPE_UBYTE] = {0, UINT8_MAX},
		[NC_TYPE_SHORT] = {INT16_MIN, INT16_MAX},
		[NC_TYPE_USHORT] = {0, UINT16_MAX},
		[NC_TYPE_INT] = {INT32_MIN, INT32_MAX},
		[NC_TYPE_UINT] = {0, UINT32_MAX},
		[NC_TYPE_INT64] = {INT64_MIN, INT64_MAX},
		[NC_TYPE_UINT64] = {0, UINT64_MAX},
	};
	if (!make_whole(&v))
		return false;
	uint64_t bits = v.above ? v.u : (uint64_t)v.i;
	if (v.above ? v.u > range[t].most
		    : v.i < range[t].least || (v.i > 0 && (uint64_t)v.i > range[t].most))
		return false;
	const uint8_t u8 = (uint8_t)bits;
	const uint16_t u16 = (uint16_t)bits;
	const uint32_t u32 = (uint32_t)bits;
	switch (nc_type_size(t)) {
	case 1: memcpy(to, &u8, 1); break;
	case 2: memcpy(to, &u16, 2); break;
	case 4: memcpy(to, &u32, 4); break;
	default: memcpy(to, &bits, 8);
	}
	return true;
}

/* round: the nearest number will do. */
static bool
put_real(struct attr_number v, enum nc_type t, bool round, uint8_t *to)
{
	double d = v.real ? v.d : v.above ? (double)v.u : (double)v.i;
	struct attr_number back = {.real = true, .d = d};
	bool exact = v.real || (make_whole(&back) && back.above == v.above &&
				       (v.above ? back.u == v.u : back.i == v.i));
	if (!exact && !round)
		return false;
	if (t == NC_TYPE_DOUBLE) {
		memcpy(to, &d, sizeof d);
		return true;
	}
	if (isfinite(d) && fabs(d) > (double)FLT_MAX && isinf((float)d))
		return false;
	const float f = (float)d;
	memcpy(to, &f, sizeof f);
	return true;
}

/* All elements of the attribute in another type. 1; 0: one does not convert; -ENOMEM. */
static int
convert(const struct attr *a, enum nc_type t, bool round, struct attr *ret)
{
	size_t size = nc_type_size(t);
	CLEAN(clean_free) uint8_t *data = calloc(a->count + 1, size);
	if (!data)
		return err_set(-ENOMEM, "no memory for %zu numbers", a->count);
	for (size_t i = 0; i < a->count; i++) {
		struct attr_number v = attr_number(a, i);
		bool real = t == NC_TYPE_FLOAT || t == NC_TYPE_DOUBLE;
		if (!(real ? put_real(v, t, round, data + i * size)
			   : put_whole(v, t, data + i * size)))
			return 0;
	}
	ret->type = t;
	ret->count = a->count;
	ret->data = MOVE(data);
	return 1;
}

static int
make_text(const char *text, size_t len, struct attr *ret)
{
	int r = attr_set_text(ret, text, len);
	return r < 0 ? r : 1;
}

static int
make_list(const struct attr *a, struct attr *ret)
{
	char **copy = calloc(a->count, sizeof *copy);
	if (!copy)
		return err_set(-ENOMEM, "no memory for %zu texts", a->count);
	ret->type = NC_TYPE_STRING;
	ret->data = copy;
	for (; ret->count < a->count; ret->count++)
		if (!(copy[ret->count] = strdup(((char **)a->data)[ret->count])))
			return err_set(-ENOMEM, "no memory for a text");
	return 1;
}

static int
make_spelled(const struct attr *a, struct attr *ret)
{
	CLEAN(clean_free) char *text = attr_text(a);
	return text ? make_text(text, strlen(text), ret)
		    : err_set(-ENOMEM, "no memory for an attribute");
}

/* The first type of the format that holds all of it. */
static int
make_any(const struct attrs_making *m, const struct attr *a, struct attr *ret)
{
	static const enum nc_type wider[][3] = {
		[NC_TYPE_UBYTE] = {NC_TYPE_SHORT},
		[NC_TYPE_USHORT] = {NC_TYPE_INT},
		[NC_TYPE_UINT] = {NC_TYPE_INT, NC_TYPE_DOUBLE},
		[NC_TYPE_INT64] = {NC_TYPE_INT, NC_TYPE_DOUBLE},
		[NC_TYPE_UINT64] = {NC_TYPE_INT, NC_TYPE_DOUBLE},
	};
	if (a->type == NC_TYPE_CHAR)
		return make_text(a->data, a->count, ret);
	if (a->type == NC_TYPE_STRING)
		return m->of->lists && a->count ? make_list(a, ret) : make_spelled(a, ret);
	if (nc_has_all_types(m->format) || a->type < NC_TYPE_UBYTE)
		return convert(a, a->type, true, ret);
	for (const enum nc_type *t = wider[a->type]; *t; t++) {
		int r = convert(a, *t, false, ret);
		if (r)
			return r;
	}
	return make_spelled(a, ret);
}

static bool
in_list(const char *const *list, const char *name)
{
	while (*list && (**list != *name || strcmp(*list, name) != 0))
		list++;
	return *list != NULL;
}

static bool
is_fill(const char *name)
{
	return strcmp(name, "_FillValue") == 0;
}

/* Elements that a reader takes for missing. */
static bool
is_limit(const char *name)
{
	static const char *const names[] = {
		"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range", NULL};
	return in_list(names, name);
}

/* What the file's own numbers for times say better. */
static bool
of_time(const char *name)
{
	static const char *const names[] = {"units", "calendar", NULL};
	return is_limit(name) || in_list(names, name);
}

/* Elements of complex numbers and of texts have a dimension of their own in the file. */
static bool
in_parts(const struct nc_attrs_of *of)
{
	return of->dtype->kind == DTYPE_COMPLEX ||
	       (nc_type_size(of->type) == 1 && of->dtype->size > 1);
}

/* netCDF-4 has attributes of its own, and no message of HDF5 is longer. NULL: it can be there. */
static const char *
unfit(const struct attr *a, size_t before)
{
	static const char *const names[] = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST",
		"DIMENSION_LABELS", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties",
		"_nc3_strict", NULL};
	/* libnetcdf rounds by them whatever it converts, and NCZarr writes them without having
	 * rounded. */
	static const char *const rounding[] = {"_QuantizeBitGroomNumberOfSignificantDigits",
		"_QuantizeGranularBitRoundNumberOfSignificantDigits",
		"_QuantizeBitRoundNumberOfSignificantBits", NULL};
	enum { ATTRS_MAX = 60000, REFERENCE = 16 };
	const size_t each = a->type == NC_TYPE_STRING ? REFERENCE : nc_type_size(a->type);
	if (in_list(names, a->name))
		return "netCDF-4 means something else by the name";
	if (in_list(rounding, a->name))
		return "libnetcdf would round once more what it makes doubles of";
	if (before >= ATTRS_MAX)
		return "there are too many";
	if (a->count <= NC4_ATTR_MAX / each)
		return NULL;
	if (a->type != NC_TYPE_CHAR)
		return "HDF5 has no room for so many elements";
	return memchr(a->data, 0, a->count) ? "so long a text cannot have a NUL in it" : NULL;
}

static bool
is_time(const struct nc_attrs_of *of)
{
	return of->dtype && convert_time_unit(of->dtype, of->type);
}

static int
problem(struct attrs_making *m, const struct attr *a, const char *what)
{
	struct attrs *to = m->to;
	char *line = NULL;
	if (asprintf(&line, "attribute '%s' is not in the netCDF file: %s", a->name, what) < 0)
		line = NULL;
	return LIST_TAKE(to->problem, to->nproblems, "a message", line);
}

/* 1: made; 0: left out. */
static int
make_typed(struct attrs_making *m, const struct attr *a, struct attr *ret)
{
	enum nc_type t = m->of->type;
	bool text = t == NC_TYPE_CHAR;
	bool fits = text ? a->type == NC_TYPE_CHAR : attr_is_number(a);
	if (m->of->field)
		return 0;
	if (is_limit(a->name) && in_parts(m->of))
		return problem(m, a, "an element has several parts in the file");
	if (is_fill(a->name) && (a->count != 1 || !fits))
		return problem(m, a, "it is not one element of the variable's type");
	if (!fits && !text)
		return problem(m, a, "its type is not that of the variable");
	if (text)
		return make_any(m, a, ret);
	int r = convert(a, t, is_fill(a->name), ret);
	return r ? r : problem(m, a, "its value does not fit the variable's type");
}

/* Takes a's data over, also when it fails. */
static int
keep(struct attrs_making *m, const char *name, struct attr *a)
{
	a->name = nc_name_lent(&m->names, name);
	if (!a->name) {
		attr_clear(a);
		return err_set(-ENOMEM, "no memory for attribute '%s'", name);
	}
	m->to->attr[m->to->count++] = *a;
	return 0;
}

static int
make(struct attrs_making *m, const struct attr *a)
{
	struct attr made = {0};
	int r;
	if (is_time(m->of) && of_time(a->name))
		return 0;
	if (m->of->type != NC_TYPE_NONE && attr_takes_type(a->name))
		r = make_typed(m, a, &made);
	else
		r = make_any(m, a, &made);
	if (r > 0 && m->format == NC_4) {
		made.name = a->name;
		const char *why = unfit(&made, m->to->count);
		made.name = NULL;
		if (why) {
			attr_clear(&made);
			return problem(m, a, why);
		}
	}
	if (r < 0)
		attr_clear(&made);
	return r > 0 ? keep(m, a->name, &made) : r;
}

static int
keep_text(struct attrs_making *m, const char *name, const char *text)
{
	struct attr a = {0};
	int r = make_text(text, strlen(text), &a);
	return r > 0 ? keep(m, name, &a) : r;
}

static int
keep_number(struct attrs_making *m, const char *name, const void *data)
{
	struct attr a = {.type = m->of->type, .count = 1};
	a.data = calloc(2, nc_type_size(a.type));
	if (!a.data)
		return err_set(-ENOMEM, "no memory for attribute '%s'", name);
	memcpy(a.data, data, nc_type_size(a.type));
	return keep(m, name, &a);
}

static int
add_time(struct attrs_making *m)
{
	static const int64_t nat = INT64_MIN;
	const struct nc_attrs_of *of = m->of;
	bool date = of->dtype->kind == DTYPE_DATETIME;
	char text[64] = "";
	convert_time_units(of->dtype, of->type, text, sizeof text);
	int r = keep_text(m, "units", text);
	if (r == 0 && date)
		r = keep_text(m, "calendar", "proleptic_gregorian");
	bool whole = of->type == NC_TYPE_INT64;
	const void *fill = whole ? (const void *)&nat : &convert_nat;
	return r < 0 ? r : keep_number(m, "_FillValue", fill);
}

/* The array's own fill value, as its elements are shown. */
static int
add_fill(struct attrs_making *m)
{
	const struct convert *c = m->of->convert;
	uint8_t out[8], native[8];
	size_t size = nc_type_size(m->of->type);
	if (c->count != 1 || c->out != size || m->of->type == NC_TYPE_CHAR ||
		convert_run(c, m->of->fill, 1, out) < 0)
		return 0;
	bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	for (size_t i = 0; i < size; i++)
		native[i] = out[host_big == c->big ? i : size - 1 - i];
	return keep_number(m, "_FillValue", native);
}

int
nc_attrs_make(const struct attrs *as, const struct nc_attrs_of *of, enum cdf_format format,
	struct attrs *ret)
{
	enum { ADDED = 4 };
	struct attrs to = {.attr = calloc(as->count + ADDED, sizeof *to.attr)};
	struct attrs_making m = {.of = of, .format = format, .to = &to};
	int r = to.attr ? 0 : err_set(-ENOMEM, "no memory for attributes");
	for (size_t i = 0; i < as->count && r == 0; i++)
		r = make(&m, &as->attr[i]);
	if (r == 0 && is_time(of))
		r = add_time(&m);
	else if (r == 0 && of->fill && !of->field && !attrs_find(as, "_FillValue"))
		r = add_fill(&m);
	if (r == 0 && of->grid_mapping)
		r = keep_text(&m, "grid_mapping", of->grid_mapping);
	nc_taken_done(&m.names);
	if (r < 0)
		attrs_free(&to);
	else
		*ret = to;
	return r;
}
