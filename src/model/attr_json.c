/* Attributes of JSON made into netCDF's: typed as NCZarr recorded them, else as netcdf-c infers
 * them, except where that would lose something (formats: NCZarr's "JSON convention"). netcdf-c
 * writes text that happens to parse as JSON as that JSON, sometimes as words that are no JSON (007,
 * +5): so text is what stands in the source, letter for letter. */
#include "base/base64.h"
#include "base/err.h"
#include "base/list.h"
#include "model/nczarr.h"
#include "model/node.h"

#include <endian.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* All attributes of a node, being made. */
struct attr_reading {
	const struct node *node;
	const struct json *doc;
	const struct json *types; /* dict, or NULL */
	struct attrs *out;
};

static const char *const hidden[] = {
	"_ARRAY_DIMENSIONS",
	"_Codecs",
	"_NCProperties",
	"_nczarr_attr",
	"_nczarr_attrs",
	"_nczarr_group",
	"_nczarr_array",
	"_nczarr_superblock",
	"_NCZARR_ATTR",
	"_NCZARR_GROUP",
	"_NCZARR_ARRAY",
	"_NCZARR_SUPERBLOCK",
	"_Netcdf4Coordinates",
	"_Netcdf4Dimid",
	"CLASS",
	"NAME",
	"REFERENCE_LIST",
	"DIMENSION_LIST",
	NULL,
};

bool
attr_is_hidden(const char *name)
{
	for (const char *const *h = hidden; *h; h++)
		if (**h == *name && !strcmp(*h, name))
			return true;
	return false;
}

static int
add_problem(struct attrs *as, const char *name, const char *what)
{
	char *line = NULL;
	if (asprintf(&line, "%s%s%s%s", name ? "attribute '" : "attributes", name ? name : "",
		    name ? "': " : ": ", what) < 0)
		line = NULL;
	return LIST_TAKE(as->problem, as->nproblems, "a message", line);
}

/* Signed and unsigned integers of any size. */
static int
put_integer(enum nc_type t, const struct json *v, uint8_t *to)
{
	size_t size = nc_type_size(t);
	bool is_signed =
		t == NC_TYPE_BYTE || t == NC_TYPE_SHORT || t == NC_TYPE_INT || t == NC_TYPE_INT64;
	int64_t i = 0;
	uint64_t u = 0;
	int r = is_signed ? json_int(v, &i) : json_uint(v, &u);
	if (r < 0)
		return r;
	unsigned bits = (unsigned)size * 8;
	if (bits < 64 &&
		(is_signed ? i < -((int64_t)1 << (bits - 1)) || i >= (int64_t)1 << (bits - 1)
			   : u >> bits))
		return err_set(-ERANGE, "the number does not fit its type");
	if (is_signed)
		u = (uint64_t)i;
	const uint8_t u8 = (uint8_t)u;
	const uint16_t u16 = (uint16_t)u;
	const uint32_t u32 = (uint32_t)u;
	const void *from = size == 1   ? (const void *)&u8
			   : size == 2 ? (const void *)&u16
			   : size == 4 ? (const void *)&u32
				       : &u;
	memcpy(to, from, size);
	return 0;
}

static int
put_number(enum nc_type t, const struct json *v, uint8_t *to)
{
	if (json_type(v) == JSON_TYPE_BOOL) {
		memset(to, 0, nc_type_size(t));
		const float f = json_bool(v);
		const double d = json_bool(v);
		const uint16_t one = 1;
		if (t == NC_TYPE_FLOAT)
			memcpy(to, &f, sizeof f);
		else if (t == NC_TYPE_DOUBLE)
			memcpy(to, &d, sizeof d);
		else if (json_bool(v))
			to[*(const uint8_t *)&one ? 0 : nc_type_size(t) - 1] = 1;
		return 0;
	}
	if (t != NC_TYPE_FLOAT && t != NC_TYPE_DOUBLE)
		return put_integer(t, v, to);
	double d;
	int r = json_double(v, &d);
	if (r < 0)
		return r;
	if (t == NC_TYPE_DOUBLE) {
		memcpy(to, &d, sizeof d);
		return 0;
	}
	if (isfinite(d) && fabs(d) > (double)FLT_MAX && isinf((float)d))
		return err_set(-ERANGE, "the number does not fit a float");
	const float f = (float)d;
	memcpy(to, &f, sizeof f);
	return 0;
}

static size_t
elements(const struct json *v)
{
	return json_type(v) == JSON_TYPE_LIST ? json_count(v) : 1;
}

static const struct json *
element(const struct json *v, size_t i)
{
	return json_type(v) == JSON_TYPE_LIST ? json_at(v, i) : v;
}

/* 0 and ret->{type,count,data}; -EINVAL or -ERANGE if an element is no such number. */
static int
make_numbers(enum nc_type t, const struct json *v, struct attr *ret)
{
	size_t n = elements(v), size = nc_type_size(t);
	CLEAN(clean_free) uint8_t *data = calloc(n + 1, size);
	if (!data)
		return err_set(-ENOMEM, "no memory for %zu numbers", n);
	for (size_t i = 0; i < n; i++) {
		int r = put_number(t, element(v, i), data + i * size);
		if (r < 0)
			return r;
	}
	ret->type = t;
	ret->count = n;
	ret->data = MOVE(data);
	return 0;
}

struct wanted {
	const char *name;
	const char *text;
	size_t len;
};

static int
take_slice(const struct json_slice *s, void *arg)
{
	struct wanted *w = arg;
	CLEAN(clean_free) char *key = json_slice_key(s);
	if (!key)
		return err_set(-ENOMEM, "no memory for a key");
	if (!strcmp(key, w->name)) {
		w->text = s->value;
		w->len = s->value_len;
	}
	return 0;
}

/* What stands in the source for an attribute that is a list or a dict; on one line, as netcdf-c
 * writes it. */
static int
make_source(const struct attr_reading *g, const char *name, const struct json *v, struct attr *ret)
{
	struct wanted w = {.name = name};
	int r = json_scan(g->node->attrs_text, g->node->attrs_len, NULL, take_slice, &w);
	if (r < 0)
		return r;
	ret->json = true;
	if (w.text && !memchr(w.text, '\n', w.len))
		return attr_set_text(ret, w.text, w.len);
	CLEAN(clean_free) char *text = json_dump(v);
	return text ? attr_set_text(ret, text, strlen(text))
		    : err_set(-ENOMEM, "no memory for the text of '%s'", name);
}

/* The text of a value that is neither list nor dict. */
static const char *
scalar_text(const struct json *v, size_t *len)
{
	const char *s = json_text(v, len);
	if (s)
		return s;
	s = json_type(v) == JSON_TYPE_NULL ? "null" : json_bool(v) ? "true" : "false";
	*len = strlen(s);
	return s;
}

static bool
is_nested(const struct json *v)
{
	return json_type(v) == JSON_TYPE_LIST || json_type(v) == JSON_TYPE_DICT;
}

static int
make_text(const struct attr_reading *g, const char *name, const struct json *v, struct attr *ret)
{
	if (is_nested(v))
		return make_source(g, name, v, ret);
	size_t len;
	const char *s = scalar_text(v, &len);
	return attr_set_text(ret, s, len);
}

/* A list of texts. NULs inside would end them: netCDF's strings are C's. */
static int
make_strings(const struct json *v, struct attr *ret)
{
	size_t n = elements(v);
	struct attr a = {.type = NC_TYPE_STRING, .data = calloc(n + 1, sizeof(char *))};
	if (!a.data)
		return err_set(-ENOMEM, "no memory for %zu strings", n);
	ret->type = a.type;
	ret->data = a.data;
	for (; ret->count < n; ret->count++) {
		const struct json *e = element(v, ret->count);
		size_t len;
		const char *s = is_nested(e) ? NULL : scalar_text(e, &len);
		char *copy = s ? strndup(s, len) : json_dump(e);
		if (!copy)
			return err_set(-ENOMEM, "no memory for a string");
		((char **)a.data)[ret->count] = copy;
	}
	return 0;
}

/* What the elements of a value without a recorded type have in common. */
struct census {
	size_t bools, ints, reals, texts, others;
	size_t specials; /* of the texts: NaN and infinities, as numbers that JSON lacks are written
			    in lists */
	bool negative, above_int, above_uint, above_int64, above_uint64, below_int, below_int64;
};

static void
count_integer(const struct json *v, struct census *c)
{
	int64_t i;
	uint64_t u;
	if (json_int(v, &i) == 0) {
		c->negative |= i < 0;
		c->below_int |= i < INT32_MIN;
		c->above_int |= i > INT32_MAX;
		c->above_uint |= i > (int64_t)UINT32_MAX;
	} else if (json_uint(v, &u) == 0) {
		c->above_int = c->above_uint = c->above_int64 = true;
	} else {
		c->above_uint64 = true;
	}
}

static void
count_element(const struct json *v, struct census *c)
{
	double d;
	size_t len;
	switch (json_type(v)) {
	case JSON_TYPE_BOOL: c->bools++; break;
	case JSON_TYPE_TEXT:
		if (strlen(json_text(v, &len)) < len) /* a string of netCDF ends there */
			c->others++;
		c->texts++;
		c->specials +=
			json_is(v, "NaN") || json_is(v, "Infinity") || json_is(v, "-Infinity");
		break;
	case JSON_TYPE_WORD:
		if (json_word_is_int(v)) {
			c->ints++;
			count_integer(v, c);
		} else if (json_double(v, &d) == 0) {
			c->reals++;
		} else {
			c->others++;
		}
		break;
	default: c->others++;
	}
}

/* Is there an integer that a double would round? */
static bool
any_rounded(const struct json *v)
{
	char text[DBL_MAX_10_EXP + sizeof "-0"];
	for (size_t i = 0, n = elements(v); i < n; i++) {
		const struct json *e = element(v, i);
		double d;
		if (!json_word_is_int(e))
			continue;
		if (json_double(e, &d) < 0)
			return true;
		snprintf(text, sizeof text, "%.0f", d);
		if (strcmp(text, json_text(e, NULL)) != 0)
			return true;
	}
	return false;
}

/* The first type that holds all of these integers; NC_TYPE_NONE: none does. */
static enum nc_type
integer_type(const struct census *c)
{
	if (c->above_uint64 || (c->above_int64 && c->negative))
		return NC_TYPE_NONE;
	if (c->above_int64)
		return NC_TYPE_UINT64;
	if (c->above_uint || c->below_int || (c->above_int && c->negative))
		return NC_TYPE_INT64;
	return c->above_int ? NC_TYPE_UINT : NC_TYPE_INT;
}

/* netcdf-c takes the type of the first element; where that does not hold the others, the first that
 * holds all. */
static enum nc_type
infer(const struct json *v)
{
	struct census c = {0};
	size_t n = elements(v);
	for (size_t i = 0; i < n; i++)
		count_element(element(v, i), &c);
	bool numbers = c.ints + c.reals > 0;
	if (!n || c.others || (c.texts && c.texts < n && !(numbers && c.specials == c.texts)))
		return NC_TYPE_NONE;
	if (c.texts == n)
		return json_type(v) == JSON_TYPE_LIST ? NC_TYPE_STRING : NC_TYPE_CHAR;
	if (c.bools == n)
		return NC_TYPE_UBYTE;
	enum nc_type t = c.reals || c.texts ? NC_TYPE_NONE : integer_type(&c);
	if (t != NC_TYPE_NONE)
		return t;
	return any_rounded(v) ? NC_TYPE_NONE : NC_TYPE_DOUBLE;
}

/* xarray's fill value of floats in Zarr V3: base64 of the little-endian double. 0, or -EINVAL: it
 * is none. */
static int
make_packed(enum nc_type t, const struct json *v, struct attr *ret)
{
	size_t len;
	CLEAN(buf_free) struct buf bytes = {0};
	const char *s = json_type(v) == JSON_TYPE_TEXT ? json_text(v, &len) : NULL;
	uint64_t bits;
	double d;
	if (!s || base64_decode(s, len, &bytes) < 0 || bytes.len != sizeof bits)
		return err_set(-EINVAL, "no packed double");
	memcpy(&bits, bytes.data, sizeof bits);
	bits = le64toh(bits);
	memcpy(&d, &bits, sizeof d);
	const float f = (float)d;
	const size_t size = nc_type_size(t);
	void *data = malloc(size);
	if (!data)
		return err_set(-ENOMEM, "no memory for an attribute");
	memcpy(data, t == NC_TYPE_FLOAT ? (const void *)&f : &d, size);
	ret->type = t;
	ret->count = 1;
	ret->data = data;
	return 0;
}

static bool
may_be_packed(const struct attr_reading *g, const char *name, enum nc_type t)
{
	return g->node->array->zarr_format == 3 && (t == NC_TYPE_FLOAT || t == NC_TYPE_DOUBLE) &&
	       !strcmp(name, "_FillValue");
}

static int
make_inferred(
	const struct attr_reading *g, const char *name, const struct json *v, struct attr *ret)
{
	const struct array_meta *a = g->node->array;
	bool half = a && a->dtype.kind == DTYPE_FLOAT && a->dtype.size == 2;
	enum nc_type t = !a || !attr_takes_type(name) ? NC_TYPE_NONE
			 : half                       ? NC_TYPE_FLOAT
						      : nc_type_of(&a->dtype);
	if (nc_type_size(t) && t != NC_TYPE_CHAR && make_numbers(t, v, ret) == 0)
		return 0;
	if (a && may_be_packed(g, name, t) && make_packed(t, v, ret) == 0)
		return 0;
	t = infer(v);
	if (t == NC_TYPE_STRING)
		return make_strings(v, ret);
	if (t != NC_TYPE_NONE && t != NC_TYPE_CHAR)
		return make_numbers(t, v, ret);
	ret->json = json_type(v) == JSON_TYPE_NULL;
	return make_text(g, name, v, ret);
}

static int
make(const struct attr_reading *g, const char *name, const struct json *v, struct attr *ret)
{
	enum nc_type t = nczarr_type(g->types ? json_get(g->types, name) : NULL);
	if (t == NC_TYPE_NONE)
		return make_inferred(g, name, v, ret);
	ret->recorded = true;
	if (t == NC_TYPE_CHAR)
		return make_text(g, name, v, ret);
	if (t == NC_TYPE_STRING)
		return make_strings(v, ret);
	int r = make_numbers(t, v, ret);
	if (r == 0 || r == -ENOMEM)
		return r;
	ret->recorded = false;
	r = add_problem(g->out, name, err_text());
	return r < 0 ? r : make_inferred(g, name, v, ret);
}

static int
read_member(struct attr_reading *g, const char *name, const struct json *v)
{
	struct attrs *as = g->out;
	struct attr *a = &as->attr[as->count];
	*a = (struct attr){.name = strdup(name)};
	if (!a->name)
		return err_set(-ENOMEM, "no memory for attribute '%s'", name);
	as->count++; /* attrs_free takes it from here */
	int r = make(g, name, v, a);
	if (r >= 0 || r == -ENOMEM)
		return r;
	as->count--;
	attr_clear(a);
	return add_problem(as, name, err_text());
}

static int
read_all(struct attr_reading *g)
{
	g->out->attr = calloc(json_count(g->doc) + 1, sizeof *g->out->attr);
	if (!g->out->attr)
		return err_set(-ENOMEM, "no memory for attributes");
	for (void *i = json_first(g->doc); i; i = json_next(g->doc, i)) {
		int r = attr_is_hidden(json_key(i)) ? 0
						    : read_member(g, json_key(i), json_value(i));
		if (r < 0)
			return r;
	}
	return 0;
}

int
node_attrs(const struct node *n, struct attrs *ret)
{
	*ret = (struct attrs){0};
	if (!n->attrs_text)
		return 0;
	CLEAN(json_freep) struct json *doc = NULL, *v1 = NULL;
	int r = json_parse(n->attrs_text, n->attrs_len, &doc);
	if (r == 0 && json_type(doc) != JSON_TYPE_DICT)
		r = err_set(-EINVAL, "%s instead of a dict", json_type_name(doc));
	struct attr_reading g = {.node = n, .doc = doc, .out = ret};
	if (r < 0) {
		r = r == -ENOMEM ? r : add_problem(ret, NULL, err_text());
	} else {
		const struct attr_context *c = n->attr_context;
		if (c && c->types_text && json_parse(c->types_text, c->types_len, &v1) < 0)
			r = add_problem(ret, NULL, err_text());
		if (c && !c->pure)
			g.types = nczarr_types(doc, v1);
		if (r == 0)
			r = read_all(&g);
	}
	if (r < 0)
		attrs_free(ret);
	return r;
}
