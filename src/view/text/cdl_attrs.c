/* Attributes of variables and groups, written as ncdump -h writes them. */
#include "view/netcdf/cdl_members.h"
#include "view/text/cdl_text.h"
#include "view/text/cdl_writer.h"
#include "view/missing.h"
#include "view/netcdf/nc_attrs.h"
#include "view/state.h"

#include <string.h>

/* owner: what stands before the colon, as CDL writes it; "" for a group's. */
static int
write_attr(struct cdl_writer *w, const char *owner, const struct attr *a)
{
	CLEAN(buf_free) struct buf values = {0};
	int r = cdl_values(a, &values);
	if (r)
		return r < 0 ? r : 0;
	r = cdl_indent(w, 2);
	if (r == 0)
		r = buf_addf(w->to, "%s%s:", a->type == NC_TYPE_STRING ? "string " : "", owner);
	if (r == 0)
		r = cdl_attr_name(a->name, *owner, w->to);
	if (r == 0)
		r = cdl_put(w, " = ");
	if (r == 0)
		r = buf_add(w->to, values.data, values.len);
	return r < 0 ? r : cdl_put(w, " ;\n");
}

int
cdl_attrs(struct cdl_writer *w, const char *owner, const struct attrs *as)
{
	int r = 0;
	for (size_t i = 0; i < as->count && r == 0; i++)
		r = write_attr(w, owner, &as->attr[i]);
	return r;
}

static void
tell_problems(struct cdl_writer *w, const struct node *n, const struct attrs *as)
{
	for (size_t i = 0; i < as->nproblems; i++)
		notes_add(&w->mount->notes, "'%s': %s", *n->path ? n->path : "/", as->problem[i]);
}

/* What belongs to the type has no form for a compound one. */
static void
drop_fill(struct attrs *as)
{
	for (size_t i = 0; i < as->count; i++)
		if (strcmp(as->attr[i].name, "_FillValue") == 0) {
			attr_clear(&as->attr[i]);
			memmove(&as->attr[i], &as->attr[i + 1],
				(--as->count - i) * sizeof *as->attr);
		}
}

static int
make_attrs(
	struct cdl_writer *w, const struct cdl_variable *v, struct attrs *stored, struct attrs *ret)
{
	const struct array_meta *a = v->node->array;
	struct convert convert = {0};
	struct nc_attrs_of of = {.dtype = &a->dtype, .lists = true};
	if (cdl_is_compound(v)) {
		drop_fill(stored);
		return nc_attrs_make(stored, &of, CDF_5, ret);
	}
	of.dtype = &v->columns.of->type;
	of.type = nc_type_in_file(of.dtype, CDF_5);
	int r = missing_by_fill(w->mount, v->node);
	if (r > 0 && a->fill) {
		of.fill = a->fill;
		of.convert = &convert;
		r = convert_make(of.dtype, of.type, &convert);
	}
	if (r >= 0)
		r = nc_attrs_make(stored, &of, CDF_5, ret);
	convert_free(&convert);
	return r;
}

int
cdl_variable_attrs(struct cdl_writer *w, const char *owner, const struct cdl_variable *v)
{
	struct attrs stored = {0}, made = {0};
	int r = node_attrs(v->node, &stored);
	if (r == 0)
		r = make_attrs(w, v, &stored, &made);
	if (r == 0)
		r = cdl_attrs(w, owner, &made);
	tell_problems(w, v->node, &stored);
	tell_problems(w, v->node, &made);
	attrs_free(&stored);
	attrs_free(&made);
	return r;
}

int
cdl_group_attrs(struct cdl_writer *w, const struct node *n)
{
	static const struct nc_attrs_of of = {.lists = true};
	struct attrs stored = {0}, made = {0};
	int r = n->kind == NODE_GROUP ? node_attrs(n, &stored) : 0;
	if (r == 0)
		r = nc_attrs_make(&stored, &of, CDF_5, &made);
	if (r == 0 && made.count)
		r = cdl_put(w, "\n");
	if (r == 0 && made.count)
		r = cdl_heading(w, w->depth ? "// group attributes:" : "// global attributes:");
	if (r == 0)
		r = cdl_attrs(w, "", &made);
	tell_problems(w, n, &stored);
	tell_problems(w, n, &made);
	attrs_free(&stored);
	attrs_free(&made);
	return r;
}
