#include "view/netcdf/nc_build.h"

#include "base/check.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/path.h"
#include "model/dims.h"
#include "view/missing.h"
#include "view/netcdf/nc_attrs.h"
#include "view/netcdf/nc_names.h"
#include "view/netcdf/nc_tree.h"
#include "view/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void
nc_plan_free(struct nc_plan *p)
{
	for (size_t i = 0; p->source && i < p->file.nvars; i++)
		convert_free(&p->source[i].convert);
	free(p->source);
	nc_file_free(&p->file);
	nc_members_free(&p->members);
	*p = (struct nc_plan){0};
}

void
nc_build_leave_out(struct nc_build *b, struct nc_candidate *c, const char *why)
{
	c->out = true;
	notes_add(&b->mount->notes, "variable '%s%s' is not in the netCDF file of '%s': %s",
		c->member->node->path, c->column ? c->column->field : "",
		mount_path(b->mount, b->node->path), why);
}

void
nc_build_end(struct nc_build *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->candidate[i].use);
	for (size_t i = 0; b->columns && i < b->ncolumns; i++)
		nc_columns_free(&b->columns[i]);
	nc_crs_free(b);
	free(b->placed);
	free(b->candidate);
	free(b->declared);
	free(b->columns);
	set_free(&b->uses, free);
	nc_members_free(&b->members);
	*b = (struct nc_build){0};
}

static int
add_uses(struct nc_build *b, struct nc_candidate *c)
{
	const struct array_meta *a = c->member->node->array;
	unsigned more = c->column->nmore;
	uint64_t size = nc_type_size(nc_type_in_file(&c->column->type, CDF_2));
	c->use = calloc(a->rank + more + 1, sizeof *c->use);
	for (unsigned i = 0; c->use && i < a->rank + more; i++) {
		const struct nc_dim *inner = i < a->rank ? NULL : &c->column->more[i - a->rank];
		char room[DIM_NAME_ROOM];
		struct nc_dim_use wanted = {
			.group = c->member->group, .fqn = inner ? NULL : a->dim[i].fqn};
		wanted.name = inner ? inner->name : dim_name(&a->dim[i], room);
		wanted.size = inner ? inner->size : a->dim[i].size;
		int r = inner || !b->members.ngroups ? 0 : nc_tree_owner(b, c, i, &wanted.group);
		if (r < 0)
			return r;
		struct nc_dim_use *u = nc_build_next_use(b, c, &wanted);
		if (!u)
			break;
		u->uses++;
		u->first |= c->own;
		u->unlimited |= !inner && !u->before && a->dim[i].unlimited;
		c->use[c->rank++] = u;
		if (mul_over(size, u->size, &size))
			size = UINT64_MAX;
	}
	c->size = size;
	return c->use && c->rank == a->rank + more ? 0
						   : err_set(-ENOMEM, "no memory for dimensions");
}

/* Of one member; none if netCDF cannot show it. */
static int
add_candidates(struct nc_build *b, size_t i)
{
	const struct nc_member *m = &b->members.of[i];
	const struct node *n = m->node;
	int r = nc_columns_make(n->array, m->width, &b->columns[i]);
	if (r == -ENOTSUP) {
		struct nc_candidate none = {.member = m};
		nc_build_leave_out(b, &none, err_text());
		return 0;
	}
	const struct nc_columns *cs = &b->columns[i];
	for (size_t k = 0; k < cs->n && r == 0; k++) {
		r = LIST_ADD(b->candidate, b->n, "variables",
			(struct nc_candidate){.member = m,
				.column = &cs->of[k],
				.own = !b->want->of_group && i == 0});
		if (r == 0)
			r = add_uses(b, &b->candidate[b->n - 1]);
	}
	return r;
}

int
nc_build_start(
	struct mount *m, const struct node *n, const struct nc_want *want, struct nc_build *ret)
{
	struct nc_build b = {.mount = m, .node = n, .want = want};
	bool tree = want->of_group && want->format == NC_4;
	int r = tree             ? nc_members_of_tree(m, n, &b.members)
		: want->of_group ? nc_members_of_group(m, n, &b.members)
				 : nc_members_of_array(m, n, &b.members);
	if (r == 0)
		r = nc_members_open(m, &b.members);
	if (r == 0 && !(b.columns = calloc(b.members.n + 1, sizeof *b.columns)))
		r = err_set(-ENOMEM, "no memory for variables");
	b.ncolumns = b.members.n;
	if (r == 0)
		r = nc_tree_declare(&b);
	/* What lies in groups below may have the dimensions of what lies above. */
	for (int below = 0; below < 2; below++)
		for (size_t i = 0; i < b.members.n && r == 0; i++)
			if (b.members.of[i].variable && (b.members.of[i].group != 0) == below)
				r = add_candidates(&b, i);
	if (r == 0)
		r = nc_crs_find(&b);
	if (r == 0)
		r = nc_axes_find(&b);
	if (r < 0)
		nc_build_end(&b);
	else
		*ret = b;
	return r;
}

static int
make_attrs(struct nc_build *b, const struct nc_candidate *c, const struct nc_file *f,
	struct nc_var *v, struct convert *convert)
{
	const struct node *n = c->member->node;
	struct attrs stored = {0};
	CLEAN(buf_free) struct buf fill = {0};
	int r = node_attrs(n, &stored);
	int by_fill = r < 0 ? r : missing_by_fill(b->mount, n);
	const struct nc_attrs_of of = {
		.type = v->type,
		.dtype = &c->column->type,
		.field = *c->column->field,
		.fill = by_fill > 0 ? n->array->fill : NULL,
		.convert = convert,
		.grid_mapping = nc_crs_name(b, c, f),
		.lists = f->format == NC_4,
	};
	bool whole = convert->atom_in == 8 && !c->column->part;
	if (by_fill >= 0 && whole && n->array->fill)
		convert_allow(convert, n->array->fill);
	r = by_fill;
	if (r >= 0 && whole)
		r = missing_value(b->mount, n, &stored, 0, &fill);
	if (r == 0 && whole && fill.len == convert->atom_in)
		convert_allow(convert, fill.data);
	if (r >= 0)
		r = nc_attrs_make(&stored, &of, f->format, &v->attrs);
	if (r >= 0) {
		nc_build_note(b, n->path, &stored);
		nc_build_note(b, n->path, &v->attrs);
	}
	attrs_free(&stored);
	return r < 0 ? r : 0;
}

static int
make_convert(
	struct nc_build *b, const struct nc_candidate *c, enum nc_type type, struct convert *ret)
{
	const struct nc_var_source *k = c->column;
	const struct node *n = c->member->node;
	int r = convert_make(&k->type, type, ret);
	if (r < 0)
		return r;
	if (b->format == NC_4)
		convert_keep_order(ret);
	if (k->part) {
		struct convert_part *copy = malloc(k->nparts * sizeof *copy);
		if (!copy)
			return err_set(-ENOMEM, "no memory for a field");
		memcpy(copy, k->part, k->nparts * sizeof *copy);
		convert_pick(ret, n->array->dtype.size, copy, k->nparts);
	}
	if (convert_refuses(ret) &&
		asprintf(&ret->where, "%s.cdf5.nc", mount_path(b->mount, n->path)) < 0) {
		ret->where = NULL;
		return err_set(-ENOMEM, "no memory for a name");
	}
	return 0;
}

/* Which one's name is it, if several have it: a variable's of what the file is for, then a field's,
 * then that of what only goes with them. */
static unsigned
turn(const struct nc_build *b, const struct nc_candidate *c)
{
	bool own = c->member < b->members.of + b->members.own;
	return own ? *c->column->field != 0 : 2;
}

/* Those that the store does not have: grid mappings first, then coordinates, which are called as
 * their dimensions are. */
static int
name_virtual(const struct nc_build *b, size_t n, struct nc_file *f, struct nc_taken *names)
{
	for (size_t i = 0; i < b->nplaced; i++) {
		const struct nc_placed *p = &b->placed[i];
		if (p->at == SIZE_MAX)
			continue;
		struct nc_var *v = &f->var[p->at];
		v->group = p->use->group;
		v->name = nc_name_once(&names[v->group], f->dim[p->use->dim].name);
	}
	for (size_t i = 0; i < n; i++) {
		if (!f->var[i].name)
			f->var[i].name = nc_name_once(names, "crs");
		if (!f->var[i].name)
			return err_set(-ENOMEM, "no memory for a name");
	}
	return 0;
}

/* field: "" for a variable that is none. */
static char *
name_of_field(struct nc_taken *names, const char *name, const char *field)
{
	CLEAN(clean_free) char *full = NULL;
	if (!*field)
		return nc_name_once(names, name);
	if (asprintf(&full, "%s%s", name, field) < 0) {
		full = NULL;
		return NULL;
	}
	return nc_name_once(names, full);
}

/* first: the index of what comes from the store; before it lie those that it does not have. */
static int
name_variables(const struct nc_build *b, size_t first, struct nc_file *f)
{
	struct nc_taken *names = NULL;
	int r = nc_tree_names(b, f, &names);
	for (unsigned t = 0; t <= 2; t++) {
		struct nc_var *v = f->var + first;
		for (size_t i = 0; i < b->n && r == 0; i++) {
			const struct nc_candidate *c = &b->candidate[i];
			const struct node *n = c->member->node;
			const char *name = *n->path ? n->name : mount_path(b->mount, n->path);
			if (!c->out && turn(b, c) == t) {
				v->group = c->member->group;
				v->name = name_of_field(&names[v->group], name, c->column->field);
				if (!v->name)
					r = err_set(-ENOMEM, "no memory for a name");
			}
			v += !c->out;
		}
	}
	if (r == 0)
		r = name_virtual(b, first, f, names);
	nc_tree_names_free(b, names);
	return r;
}

/* v: has its name. */
static int
add_variable(struct nc_build *b, const struct nc_candidate *c, const struct nc_file *f,
	struct nc_var *v, struct nc_source *s)
{
	v->rank = c->rank;
	v->type = nc_type_in_file(&c->column->type, f->format);
	v->dim = calloc(c->rank + 1, sizeof *v->dim);
	s->variable = c->member->variable;
	if (!v->dim)
		return err_set(-ENOMEM, "no memory for a variable");
	for (unsigned i = 0; i < c->rank; i++)
		v->dim[i] = c->use[i]->dim;
	int r = make_convert(b, c, v->type, &s->convert);
	v->alone = convert_refuses(&s->convert);
	v->big = s->convert.big && nc_type_size(v->type) > 1;
	return r < 0 ? r : make_attrs(b, c, f, v, &s->convert);
}

/* Attributes of the group: the file's. */
static int
add_global(struct nc_build *b, enum cdf_format format, struct nc_file *f)
{
	CLEAN(node_unrefp) struct node *group = NULL;
	const struct node *n = b->node;
	struct attrs stored = {0};
	const struct nc_attrs_of none = {.lists = format == NC_4};
	if (n->kind == NODE_ARRAY && !*n->path)
		return 0;
	CLEAN(clean_free)
	char *path = n->kind == NODE_GROUP ? strdup(n->path) : path_above(n->path);
	int r = path ? model_lookup(b->mount->model, path, &group)
		     : err_set(-ENOMEM, "no memory for a path");
	if (r == 0 && group->kind == NODE_GROUP)
		r = node_attrs(group, &stored);
	if (r == 0)
		r = nc_attrs_make(&stored, &none, format, &f->attrs);
	if (r == 0)
		nc_build_note(b, path, &f->attrs);
	attrs_free(&stored);
	return r < 0 ? r : 0;
}

int
nc_build_file(struct nc_build *b, enum cdf_format format, struct nc_plan *ret)
{
	struct nc_plan p = {.file = {.format = format, .record = NC_NO_DIM}};
	const size_t first = nc_axes_count(b, nc_crs_count(b));
	p.file.var = calloc(first + b->n + 1, sizeof *p.file.var);
	p.source = calloc(first + b->n + 1, sizeof *p.source);
	int r = p.file.var && p.source ? 0 : err_set(-ENOMEM, "no memory for variables");
	p.file.nvars = r == 0 ? first : 0;
	for (size_t i = 0; i < b->n && r == 0; i++)
		p.file.nvars += !b->candidate[i].out;
	if (r == 0)
		r = nc_tree_add_groups(b, &p.file);
	if (r == 0)
		r = nc_build_dims(b, &p.file);
	if (r == 0)
		r = name_variables(b, first, &p.file);
	if (r == 0)
		r = nc_crs_add(b, &p.file);
	if (r == 0)
		r = nc_axes_add(b, &p);
	for (size_t i = 0, k = first; i < b->n && r == 0; i++)
		if (!b->candidate[i].out) {
			mem_ahead(i);
			r = add_variable(
				b, &b->candidate[i], &p.file, &p.file.var[k], &p.source[k]);
			k++;
		}
	if (r == 0)
		r = add_global(b, format, &p.file);
	if (r < 0)
		nc_plan_free(&p);
	else
		*ret = p;
	return r;
}
