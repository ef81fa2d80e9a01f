/* Groups, types and variables, written as ncdump -h writes them. */
#include "view/text/cdl.h"

#include "view/text/cdl_dims.h"
#include "view/netcdf/cdl_members.h"
#include "view/text/cdl_text.h"
#include "view/text/cdl_writer.h"
#include "view/netcdf/nc_axes.h"
#include "view/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One group while it is written. */
struct group_text {
	struct cdl_writer *w;
	struct cdl_scope scope;
	struct cdl_members in;
};

static const size_t TEXT_MAX = (size_t)256 << 20;

static void
group_done(struct group_text *g)
{
	cdl_members_done(&g->in);
	cdl_scope_done(&g->scope);
}

int
cdl_put(struct cdl_writer *w, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (w->to->len > TEXT_MAX)
		return err_set(-EFBIG, "more than %zu MiB of text", TEXT_MAX >> 20);
	return buf_add(w->to, text, strlen(text));
}

/* A new line of this group, with so many tabs. */
int
cdl_indent(struct cdl_writer *w, unsigned tabs)
{
	int r = 0;
	for (unsigned i = 0; i < w->depth && r == 0; i++)
		r = buf_add(w->to, "  ", 2);
	for (unsigned i = 0; i < tabs && r == 0; i++)
		r = buf_add(w->to, "\t", 1);
	return r;
}

int
cdl_heading(struct cdl_writer *w, const char *text)
{
	int r = cdl_indent(w, 0);
	return r < 0 ? r : cdl_put(w, "%s\n", text);
}

/* Dimensions. */

static int
use_dims(struct group_text *g, const struct cdl_variable *v)
{
	int r = 0;
	for (unsigned i = 0; i < v->node->array->rank && r == 0; i++)
		r = cdl_use(&g->scope, v->node->array, i);
	for (unsigned i = 0; !cdl_is_compound(v) && i < v->columns.of->nmore && r == 0; i++)
		r = cdl_use_size(&g->scope, v->node->array, v->columns.of->more[i].name,
			v->columns.of->more[i].size);
	return r;
}

static int
collect_dims(struct group_text *g, const struct node *n)
{
	int r = 0;
	for (size_t i = 0; n->group && i < n->group->ndims && r == 0; i++)
		r = cdl_declare(&g->scope, &n->group->dim[i]);
	for (size_t i = 0; i < g->in.nvars && r == 0; i++)
		if (!g->in.var[i].why)
			r = use_dims(g, &g->in.var[i]);
	return r < 0 ? r : cdl_name_dims(&g->scope);
}

static int
write_dims(struct group_text *g)
{
	struct cdl_writer *w = g->w;
	int r = g->scope.ndims ? cdl_heading(w, "dimensions:") : 0;
	for (size_t i = 0; i < g->scope.ndims && r == 0; i++) {
		const struct cdl_dim *d = &g->scope.dim[i];
		r = cdl_indent(w, 1);
		if (r == 0)
			r = cdl_name(d->shown, w->to);
		if (r < 0)
			return r;
		if (d->unlimited || !d->size)
			r = cdl_put(w, " = UNLIMITED ; // (%" PRIu64 " currently)\n", d->size);
		else /* ncgen wants the suffix from 2^32 on */
			r = cdl_put(w, " = %" PRIu64 "%s ;\n", d->size, d->size >> 32 ? "LL" : "");
	}
	return r;
}

/* Types. */

static int write_compound(struct group_text *, const char *name, const struct dtype *, char **ret);

/* "float x(2, 3) ;": a field of a compound type; what elements are made of follows its own
 * shape. */
static int
write_field(struct group_text *g, struct nc_taken *names, const struct dtype_field *f,
	const char *type, struct buf *ret)
{
	const struct array_meta one = {.dtype = f->type};
	struct nc_columns c = {0};
	CLEAN(clean_free) char *name = nc_name_once(names, f->name);
	int r = name ? 0 : err_set(-ENOMEM, "no memory for a name");
	if (r == 0 && !type)
		r = nc_columns_make(&one, 0, &c);
	if (r == 0)
		r = buf_addf(ret, "%s ",
			type ? type : cdl_type_name(nc_type_in_file(&c.of->type, CDF_5)));
	if (r == 0)
		r = cdl_name(name, ret);
	unsigned n = 0;
	for (unsigned i = 0; i < f->rank && r == 0; i++)
		r = buf_addf(ret, "%s%" PRIu64, n++ ? ", " : "(", f->shape[i]);
	for (unsigned i = 0; c.n && i < c.of->nmore && r == 0; i++)
		r = buf_addf(ret, "%s%" PRIu64, n++ ? ", " : "(", c.of->more[i].size);
	nc_columns_free(&c);
	return r < 0 ? r : buf_addf(ret, "%s ;\n", n ? ")" : "");
}

static int
write_fields(struct group_text *g, const char *name, const struct dtype *t, struct buf *ret)
{
	struct nc_taken names = {0};
	int r = 0;
	for (size_t i = 0; i < t->nfields && r == 0; i++) {
		const struct dtype_field *f = &t->field[i];
		CLEAN(clean_free) char *inner = NULL, *type = NULL;
		if (f->type.kind == DTYPE_STRUCT) {
			inner = nc_name_with(name, "_field");
			r = inner ? write_compound(g, inner, &f->type, &type)
				  : err_set(-ENOMEM, "no memory for a name");
		}
		for (unsigned k = 0; k < g->w->depth + 2 && r == 0; k++)
			r = buf_add(ret, "  ", 2);
		if (r == 0)
			r = write_field(g, &names, f, type, ret);
	}
	nc_taken_free(&names);
	return r;
}

/* Types inside stand before it. *ret: what it is called, as CDL writes it. */
static int
write_compound(struct group_text *g, const char *name, const struct dtype *t, char **ret)
{
	struct cdl_writer *w = g->w;
	CLEAN(buf_free) struct buf fields = {0}, shown = {0};
	CLEAN(clean_free) char *with = nc_name_with(name, "_t");
	CLEAN(clean_free) char *once = with ? nc_name_once(&g->in.names, with) : NULL;
	int r = once ? cdl_name(once, &shown) : err_set(-ENOMEM, "no memory for a name");
	if (r == 0)
		r = buf_terminate(&shown);
	if (r == 0)
		r = write_fields(g, name, t, &fields);
	if (r == 0)
		r = cdl_indent(w, 0);
	if (r == 0)
		r = buf_addf(w->to, "  compound %s {\n", (char *)shown.data);
	if (r == 0)
		r = buf_add(w->to, fields.data, fields.len);
	if (r == 0)
		r = cdl_indent(w, 0);
	if (r == 0)
		r = buf_addf(w->to, "  }; // %s\n", (char *)shown.data);
	if (r == 0 && !(*ret = strdup((char *)shown.data)))
		r = err_set(-ENOMEM, "no memory for a name");
	return r;
}

/* netCDF-4 takes types that are alike for one, by the name of the first. NULL: no variable before
 * this one has such a type. */
static const char *
find_type(const struct group_text *g, const struct cdl_variable *v)
{
	for (const struct cdl_variable *k = g->in.var; k < v; k++)
		if (k->dtype && strcmp(k->dtype, v->dtype) == 0)
			return k->type;
	return NULL;
}

static int
write_type(struct group_text *g, struct cdl_variable *v)
{
	v->dtype = dtype_text(&v->node->array->dtype);
	const char *known = v->dtype ? find_type(g, v) : NULL;
	if (v->dtype && !known)
		return write_compound(g, v->shown, &v->node->array->dtype, &v->type);
	v->type = known ? strdup(known) : NULL;
	return v->type ? 0 : err_set(-ENOMEM, "no memory for a type");
}

static int
write_types(struct group_text *g)
{
	bool any = false;
	int r = 0;
	for (size_t i = 0; i < g->in.nvars && r == 0; i++) {
		struct cdl_variable *v = &g->in.var[i];
		if (v->why || !cdl_is_compound(v))
			continue;
		r = any ? 0 : cdl_heading(g->w, "types:");
		any = true;
		if (r == 0)
			r = write_type(g, v);
	}
	return r;
}

/* Variables. */

static int
write_shape(struct group_text *g, const struct cdl_variable *v)
{
	struct buf *to = g->w->to;
	const struct array_meta *a = v->node->array;
	unsigned n = 0;
	int r = 0;
	for (unsigned i = 0; i < a->rank && r == 0; i++) {
		r = buf_addf(to, n++ ? ", " : "(");
		if (r == 0)
			r = cdl_dim_text(&g->scope, a, i, to);
	}
	for (unsigned i = 0; !cdl_is_compound(v) && i < v->columns.of->nmore && r == 0; i++) {
		const struct nc_dim *d = &v->columns.of->more[i];
		r = buf_addf(to, n++ ? ", " : "(");
		if (r == 0)
			r = cdl_size_text(&g->scope, a, d->name, d->size, to);
	}
	return r < 0 ? r : buf_addf(to, "%s ;\n", n ? ")" : "");
}

static int
write_left_out(struct cdl_writer *w, const struct cdl_variable *v)
{
	int r = cdl_indent(w, 1);
	if (r == 0)
		r = cdl_put(w, "// ");
	if (r == 0)
		r = cdl_comment(v->shown, w->to);
	if (r == 0)
		r = cdl_put(w, " is left out: ");
	if (r == 0)
		r = cdl_comment(v->why, w->to);
	return r < 0 ? r : cdl_put(w, "\n");
}

static int
write_variable(struct group_text *g, const struct cdl_variable *v)
{
	struct cdl_writer *w = g->w;
	CLEAN(buf_free) struct buf name = {0};
	if (v->why)
		return write_left_out(w, v);
	const char *type =
		v->type ? v->type : cdl_type_name(nc_type_in_file(&v->columns.of->type, CDF_5));
	int r = cdl_name(v->shown, &name);
	if (r == 0)
		r = buf_terminate(&name);
	if (r == 0)
		r = cdl_indent(w, 1);
	if (r == 0)
		r = buf_addf(w->to, "%s %s", type, (char *)name.data);
	if (r == 0)
		r = write_shape(g, v);
	return r < 0 ? r : cdl_variable_attrs(w, (char *)name.data, v);
}

static bool
has_variable(const struct group_text *g, const struct cdl_dim *d)
{
	for (size_t i = 0; i < g->in.nvars; i++) {
		const struct node *n = g->in.var[i].node;
		if (n->array && n->array->rank && n->array->dim[0].size == d->size &&
			strcmp(n->name, d->name) == 0)
			return true;
	}
	return false;
}

/* Of a dimension, as a netCDF file has it, though the store has none. */
static int
write_place(struct group_text *g, const struct cdl_dim *d)
{
	struct cdl_writer *w = g->w;
	struct attrs as = {0};
	CLEAN(buf_free) struct buf name = {0}, dim = {0};
	CLEAN(clean_free) char *once = nc_name_once(&g->in.names, d->shown);
	int r = once ? cdl_name(once, &name) : err_set(-ENOMEM, "no memory for a name");
	if (r == 0)
		r = buf_terminate(&name);
	if (r == 0)
		r = cdl_name(d->shown, &dim);
	if (r == 0)
		r = cdl_indent(w, 1);
	if (r == 0)
		r = buf_addf(w->to, "double %s(%.*s) ;\n", (char *)name.data, (int)dim.len,
			(char *)dim.data);
	if (r == 0)
		r = nc_axis_attrs(d->placed, &as);
	if (r == 0)
		r = cdl_attrs(w, (char *)name.data, &as);
	attrs_free(&as);
	return r;
}

static int
write_variables(struct group_text *g)
{
	int r = g->in.nvars ? cdl_heading(g->w, "variables:") : 0;
	for (size_t i = 0; i < g->scope.ndims && r == 0; i++)
		if (g->scope.dim[i].placed && !has_variable(g, &g->scope.dim[i]))
			r = write_place(g, &g->scope.dim[i]);
	for (size_t i = 0; i < g->in.nvars && r == 0; i++)
		r = write_variable(g, &g->in.var[i]);
	return r;
}

static int write_group(struct cdl_writer *, const struct cdl_scope *up, const struct node *);

static int
write_subgroup(struct group_text *g, size_t i)
{
	struct cdl_writer *w = g->w;
	CLEAN(buf_free) struct buf name = {0};
	int r = cdl_name(g->in.group_shown[i], &name);
	if (r == 0)
		r = buf_terminate(&name);
	if (r == 0)
		r = cdl_put(w, "\n");
	if (r == 0)
		r = cdl_indent(w, 0);
	if (r == 0)
		r = buf_addf(w->to, "group: %s {\n", (char *)name.data);
	w->depth++;
	if (r == 0)
		r = write_group(w, &g->scope, g->in.group[i]);
	if (r == 0)
		r = cdl_indent(w, 0);
	w->depth--;
	return r < 0 ? r : buf_addf(w->to, "} // group %s\n", (char *)name.data);
}

static int
write_body(struct group_text *g, const struct node *n)
{
	int r = cdl_members_load(g->w->mount, n, &g->in);
	if (g->in.mtime > g->w->mtime)
		g->w->mtime = g->in.mtime;
	if (r == 0)
		r = collect_dims(g, n);
	if (r == 0)
		r = write_types(g);
	if (r == 0)
		r = write_dims(g);
	if (r == 0)
		r = write_variables(g);
	if (r == 0)
		r = cdl_group_attrs(g->w, n);
	for (size_t i = 0; i < g->in.ngroups && r == 0; i++)
		r = write_subgroup(g, i);
	return r;
}

static int
write_group(struct cdl_writer *w, const struct cdl_scope *up, const struct node *n)
{
	CLEAN(clean_free) char *path = NULL;
	const char *below = n->path + (strlen(n->path) > w->skip ? w->skip : strlen(n->path));
	if (asprintf(&path, "%s%s", *below == '/' ? "" : "/", below) < 0)
		return err_set(-ENOMEM, "no memory for a path");
	CLEAN(group_done) struct group_text g = {.w = w, .scope = {.up = up, .path = path}};
	if (n->mtime > w->mtime)
		w->mtime = n->mtime;
	return write_body(&g, n);
}

int
cdl_write(struct mount *m, const struct node *n, struct buf *ret, int64_t *ret_mtime)
{
	struct cdl_writer w = {.mount = m, .to = ret};
	CLEAN(clean_free) char *top = NULL;
	int r = n->kind == NODE_GROUP ? cf_top(m->model, n->path, &top) : 0;
	w.skip = top ? strlen(top) : 0;
	if (r == 0)
		r = cdl_put(&w, "netcdf dataset {\n");
	if (r == 0)
		r = write_group(&w, NULL, n);
	if (r == 0)
		r = cdl_put(&w, "}\n");
	*ret_mtime = w.mtime;
	return r;
}
