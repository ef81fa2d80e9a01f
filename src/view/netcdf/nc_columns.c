#include "view/netcdf/nc_columns.h"

#include "base/check.h"
#include "base/err.h"
#include "base/list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of hostile metadata: more than these no table has that is read as netCDF. */
enum { COLUMNS_MAX = 4096, PARTS_MAX = 1 << 16 };

static void
column_done(struct nc_var_source *c)
{
	free(c->field);
	for (unsigned i = 0; i < c->nmore; i++)
		free(c->more[i].name);
	free(c->more);
	free(c->part);
}

void
nc_columns_free(struct nc_columns *cs)
{
	for (size_t i = 0; i < cs->n; i++)
		column_done(&cs->of[i]);
	free(cs->of);
	*cs = (struct nc_columns){0};
}

enum nc_type
nc_type_in_file(const struct dtype *t, enum cdf_format format)
{
	const bool all = nc_has_all_types(format);
	switch (t->kind) {
	case DTYPE_BOOL: return NC_TYPE_BYTE;
	case DTYPE_RAW: return format == NC_4 ? NC_TYPE_UBYTE : NC_TYPE_BYTE;
	case DTYPE_INT:
		return nc_type_by_size(t->size, NC_TYPE_BYTE, NC_TYPE_SHORT, NC_TYPE_INT,
			all ? NC_TYPE_INT64 : NC_TYPE_DOUBLE);
	case DTYPE_UINT:
		return all ? nc_type_by_size(t->size, NC_TYPE_UBYTE, NC_TYPE_USHORT, NC_TYPE_UINT,
				     NC_TYPE_UINT64)
			   : nc_type_by_size(t->size, NC_TYPE_SHORT, NC_TYPE_INT, NC_TYPE_DOUBLE,
				     NC_TYPE_DOUBLE);
	case DTYPE_FLOAT:
		return nc_type_by_size(
			t->size, NC_TYPE_NONE, NC_TYPE_FLOAT, NC_TYPE_FLOAT, NC_TYPE_DOUBLE);
	case DTYPE_COMPLEX:
		return nc_type_by_size(
			t->size / 2, NC_TYPE_NONE, NC_TYPE_NONE, NC_TYPE_FLOAT, NC_TYPE_DOUBLE);
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA:
		return all && (t->unit == TIME_GENERIC || convert_time_unit(t, NC_TYPE_INT64))
			       ? NC_TYPE_INT64
			       : NC_TYPE_DOUBLE;
	case DTYPE_BYTES:
	case DTYPE_UNICODE:
	case DTYPE_VLEN_TEXT:
	case DTYPE_VLEN_BYTES: return NC_TYPE_CHAR;
	default: return NC_TYPE_NONE;
	}
}

static int
add_more(struct nc_var_source *c, char *name, uint64_t size)
{
	int r = name ? LIST_ADD(c->more, c->nmore, "a dimension", (struct nc_dim){name, size})
		     : list_no_memory("a dimension");
	if (r < 0)
		free(name);
	return r;
}

static char *
numbered(const char *fmt, uint64_t n)
{
	char text[40];
	snprintf(text, sizeof text, "%s%llu", fmt, (unsigned long long)n);
	return strdup(text);
}

/* What an element of the type has in it. */
static int
add_inner(struct nc_var_source *c)
{
	const struct dtype *t = &c->type;
	switch (t->kind) {
	case DTYPE_COMPLEX: return add_more(c, strdup("complex"), 2);
	case DTYPE_RAW: return add_more(c, numbered("opaque", t->size), t->size);
	case DTYPE_BYTES:
		if (t->is_char)
			return 0;
		break;
	case DTYPE_UNICODE:
	case DTYPE_VLEN_TEXT:
	case DTYPE_VLEN_BYTES: break;
	default: return 0;
	}
	return add_more(c, numbered("str", t->size), t->size);
}

/* On the way into a structured type: what leads there. */
struct column_way {
	const struct column_way *up;
	const struct dtype_field *field;
	const uint32_t *at; /* where elements of the type begin */
	uint32_t n;
};

static int
add_name(const struct column_way *w, struct buf *ret)
{
	if (!w->field)
		return 0;
	int r = add_name(w->up, ret);
	return r < 0 ? r : buf_addf(ret, ".%s", w->field->name);
}

static int
add_subarray(const struct column_way *w, struct nc_var_source *c)
{
	if (!w->field)
		return 0;
	int r = add_subarray(w->up, c);
	for (unsigned i = 0; i < w->field->rank && r == 0; i++) {
		char *name;
		if (asprintf(&name, "%s_dim%u", w->field->name, i) < 0)
			name = NULL;
		r = add_more(c, name, w->field->shape[i]);
	}
	return r;
}

static int
check_column(const struct nc_var_source *c)
{
	if (nc_type_in_file(&c->type, CDF_2) == NC_TYPE_NONE)
		return err_set(-ENOTSUP, "netCDF has no type for it");
	for (unsigned i = 0; i < c->nmore; i++)
		if (!c->more[i].size)
			return err_set(-ENOTSUP, "its elements are empty");
	return 0;
}

static int
add_column(struct nc_columns *cs, const struct column_way *w, const struct dtype *t)
{
	struct nc_var_source c = {.type = *t};
	CLEAN(buf_free) struct buf name = {0};
	if (cs->n == COLUMNS_MAX)
		return err_set(-ENOTSUP, "more than %d fields", COLUMNS_MAX);
	int r = LIST_MORE(cs->of, cs->n, "its fields");
	if (r == 0)
		r = add_name(w, &name);
	if (r == 0)
		r = buf_terminate(&name);
	if (r == 0 && !(c.field = strdup((char *)name.data)))
		r = err_set(-ENOMEM, "no memory for a name");
	if (r == 0)
		r = add_subarray(w, &c);
	if (r == 0)
		r = add_inner(&c);
	if (r == 0 && w->field) {
		uint64_t atoms = w->field->count * (t->kind == DTYPE_COMPLEX ? 2 : 1);
		c.part = calloc(w->up->n, sizeof *c.part);
		if (!c.part)
			r = err_set(-ENOMEM, "no memory for a field");
		for (; r == 0 && c.nparts < w->up->n; c.nparts++)
			c.part[c.nparts] = (struct convert_part){
				w->up->at[c.nparts] + w->field->offset, (uint32_t)atoms};
	}
	if (r == 0)
		r = check_column(&c);
	if (r < 0)
		column_done(&c);
	else
		cs->of[cs->n++] = c;
	return r;
}

static int add_fields(struct nc_columns *, const struct column_way *, const struct dtype *);

/* A field that has fields itself, or several of these. */
static int
add_nested(struct nc_columns *cs, struct column_way *w, const struct column_way *up)
{
	const struct dtype_field *f = w->field;
	uint64_t n;
	if (mul_over(up->n, f->count, &n) || n > PARTS_MAX)
		return err_set(-ENOTSUP, "its fields lie in too many places");
	CLEAN(clean_free) uint32_t *at = calloc(n + 1, sizeof *at);
	if (!at)
		return err_set(-ENOMEM, "no memory for a field");
	for (uint32_t i = 0; i < up->n; i++)
		for (uint64_t k = 0; k < f->count; k++)
			at[w->n++] = up->at[i] + f->offset + (uint32_t)k * f->type.size;
	w->at = at;
	return add_fields(cs, w, &f->type);
}

static int
add_fields(struct nc_columns *cs, const struct column_way *up, const struct dtype *t)
{
	int r = 0;
	for (size_t i = 0; i < t->nfields && r == 0; i++) {
		struct column_way w = {.up = up, .field = &t->field[i]};
		const struct dtype *type = &t->field[i].type;
		r = type->kind == DTYPE_STRUCT ? add_nested(cs, &w, up) : add_column(cs, &w, type);
	}
	return r;
}

int
nc_columns_make(const struct array_meta *a, uint32_t width, struct nc_columns *ret)
{
	static const uint32_t start[] = {0};
	const struct column_way top = {.at = start, .n = 1};
	struct nc_columns cs = {0};
	struct dtype t = a->dtype;
	if (width)
		t.size = width;
	int r = t.kind == DTYPE_STRUCT ? add_fields(&cs, &top, &t) : add_column(&cs, &top, &t);
	if (r == 0 && !cs.n)
		r = err_set(-ENOTSUP, "it has no fields");
	if (r < 0)
		nc_columns_free(&cs);
	else
		*ret = cs;
	return r;
}
