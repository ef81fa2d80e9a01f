#include "view/nc_build.h"

#include "base/check.h"
#include "model/dims.h"
#include "view/missing.h"
#include "view/nc_attrs.h"
#include "view/nc_names.h"
#include "view/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
by_name_size_and_turn(const void *a, const void *b)
{
	const struct nc_use *x = a, *y = b;
	int c = strcmp(x->name, y->name);
	if (c == 0)
		c = (x->size > y->size) - (x->size < y->size);
	return c ? c : (x->before > y->before) - (x->before < y->before);
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
	free(b->candidate);
	free(b->columns);
	set_free(&b->uses, free);
	nc_members_free(&b->members);
	*b = (struct nc_build){0};
}

/* Its texts are the use's own. */
static struct nc_use *
use_of(struct nc_build *b, const struct nc_use *wanted)
{
	struct nc_use *found = set_find(&b->uses, wanted, by_name_size_and_turn);
	if (found)
		return found;
	size_t len = strlen(wanted->name) + 1;
	struct nc_use *u = calloc(1, sizeof *u + len);
	if (!u)
		return NULL;
	*u = *wanted;
	u->name = memcpy((char *)(u + 1), wanted->name, len);
	if (set_add(&b->uses, u, by_name_size_and_turn) < 0) {
		free(u);
		return NULL;
	}
	return u;
}

/* The use of the candidate's next dimension. A file has a name only once in a variable, also where the store has it twice. */
static struct nc_use *
next_use(struct nc_build *b, const struct nc_candidate *c, const char *name, uint64_t size)
{
	struct nc_use wanted = {.name = name, .size = size};
	for (unsigned i = 0; i < c->rank; i++)
		wanted.before += c->use[i]->size == size && strcmp(c->use[i]->name, name) == 0;
	return use_of(b, &wanted);
}

static int
add_uses(struct nc_build *b, struct nc_candidate *c)
{
	const struct array_meta *a = c->member->node->array;
	unsigned more = c->column->nmore;
	uint64_t size = nc_type_size(nc_type_in_file(&c->column->type, false));
	c->use = calloc(a->rank + more + 1, sizeof *c->use);
	for (unsigned i = 0; c->use && i < a->rank + more; i++) {
		const struct nc_dim *inner = i < a->rank ? NULL : &c->column->more[i - a->rank];
		char room[DIM_NAME_ROOM];
		struct nc_use *u =
			inner ? next_use(b, c, inner->name, inner->size)
			      : next_use(b, c, dim_name(&a->dim[i], room), a->dim[i].size);
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
	if (!m->variable)
		return 0;
	int r = nc_columns_make(n->array, m->width, &b->columns[i]);
	if (r == -ENOTSUP) {
		struct nc_candidate none = {.member = m};
		nc_build_leave_out(b, &none, err_text());
		return 0;
	}
	const struct nc_columns *cs = &b->columns[i];
	struct nc_candidate *all =
		r < 0 ? NULL : realloc(b->candidate, (b->n + cs->n) * sizeof *all);
	if (!all)
		return r < 0 ? r : err_set(-ENOMEM, "no memory for variables");
	b->candidate = all;
	for (size_t k = 0; k < cs->n && r == 0; k++) {
		struct nc_candidate *c = &all[b->n++];
		*c = (struct nc_candidate){
			.member = m, .column = &cs->of[k], .own = !b->want->of_group && i == 0};
		r = add_uses(b, c);
	}
	return r;
}

int
nc_build_start(
	struct mount *m, const struct node *n, const struct nc_want *want, struct nc_build *ret)
{
	struct nc_build b = {.mount = m, .node = n, .want = want};
	int r = want->of_group ? nc_members_of_group(m, n, &b.members)
			       : nc_members_of_array(m, n, &b.members);
	if (r == 0)
		r = nc_members_open(m, &b.members);
	if (r == 0 && !(b.columns = calloc(b.members.n + 1, sizeof *b.columns)))
		r = err_set(-ENOMEM, "no memory for variables");
	b.ncolumns = b.members.n;
	for (size_t i = 0; i < b.members.n && r == 0; i++)
		r = add_candidates(&b, i);
	if (r == 0)
		r = nc_crs_find(&b);
	if (r < 0)
		nc_build_end(&b);
	else
		*ret = b;
	return r;
}

/* Is it the size that keeps the name? Of the file's own variable, else what most variables use, else the first. */
static bool
keeps_name(const struct nc_use *u, const struct nc_use *of)
{
	return u->first != of->first ? u->first : u->uses > of->uses;
}

/* "_4" of size 4 that another size has the name of, "_2" of the second in a variable, "_4_2" of both. */
static void
add_to_name(const struct nc_use *u, char ret[64])
{
	int n = u->keeps ? 0 : snprintf(ret, 32, "_%llu", (unsigned long long)u->size);
	ret[n] = 0;
	if (u->before)
		snprintf(ret + n, 32, "_%u", u->before + 1);
}

/* Names those that keep theirs (plain), or the others. */
static int
name_dims(struct nc_file *f, struct nc_use *const *list, struct nc_taken *taken, bool plain)
{
	for (unsigned i = 0; i < f->ndims; i++) {
		const struct nc_use *u = list[i];
		char more[64];
		if ((u->keeps && !u->before) != plain)
			continue;
		add_to_name(u, more);
		CLEAN(clean_free) char *with = nc_name_with(u->name, more);
		f->dim[i].name = with ? nc_name_once(taken, with) : NULL;
		if (!f->dim[i].name)
			return err_set(-ENOMEM, "no memory for a dimension");
	}
	return 0;
}

/* Uses of the candidates that are in, each once, in order of their first use. */
static int
list_uses(struct nc_build *b, struct nc_use ***ret, size_t *ret_n)
{
	size_t most = 0, n = 0;
	for (size_t i = 0; i < b->n; i++)
		most += b->candidate[i].rank;
	struct nc_use **list = calloc(most + 1, sizeof *list);
	if (!list)
		return err_set(-ENOMEM, "no memory for dimensions");
	for (size_t i = 0; i < b->n; i++)
		for (unsigned k = 0; k < b->candidate[i].rank; k++)
			b->candidate[i].use[k]->dim = NC_NO_DIM;
	for (size_t i = 0; i < b->n; i++)
		for (unsigned k = 0; !b->candidate[i].out && k < b->candidate[i].rank; k++) {
			struct nc_use *u = b->candidate[i].use[k];
			if (u->dim == NC_NO_DIM)
				list[n++] = u;
			u->dim = 0;
		}
	*ret = list;
	*ret_n = n;
	return 0;
}

static int
by_right(const void *a, const void *b)
{
	const struct nc_use *x = *(struct nc_use *const *)a, *y = *(struct nc_use *const *)b;
	int c = strcmp(x->name, y->name);
	if (c == 0)
		c = (x->before > y->before) - (x->before < y->before);
	return c ? c : keeps_name(x, y) ? -1 : keeps_name(y, x);
}

/* Who keeps a name that several have? What comes again in a variable goes with the first. */
static int
judge(struct nc_build *b, struct nc_use *const *list, size_t n)
{
	CLEAN(clean_free) struct nc_use **sorted = malloc((n + 1) * sizeof *sorted);
	if (!sorted)
		return err_set(-ENOMEM, "no memory for dimensions");
	memcpy(sorted, list, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_right);
	for (size_t i = 0; i < n; i++) {
		struct nc_use *u = sorted[i];
		const struct nc_use plain = {.name = u->name, .size = u->size};
		const struct nc_use *first = set_find(&b->uses, &plain, by_name_size_and_turn);
		u->keeps = u->before ? first->keeps
				     : i == 0 || strcmp(u->name, sorted[i - 1]->name) != 0;
	}
	return 0;
}

static int
add_dims(struct nc_build *b, struct nc_file *f)
{
	CLEAN(clean_free) struct nc_use **list = NULL;
	struct nc_taken taken = {0};
	size_t n = 0;
	int r = list_uses(b, &list, &n);
	if (r == 0)
		r = judge(b, list, n);
	if (r == 0 && !(f->dim = calloc(n + 1, sizeof *f->dim)))
		r = err_set(-ENOMEM, "no memory for dimensions");
	for (; r == 0 && f->ndims < n; f->ndims++) {
		struct nc_use *u = list[f->ndims];
		u->dim = f->ndims;
		f->dim[u->dim].size = u->size;
		if (u == b->record)
			f->record = u->dim;
	}
	if (r == 0)
		r = name_dims(f, list, &taken, true);
	if (r == 0)
		r = name_dims(f, list, &taken, false);
	nc_taken_free(&taken);
	return r;
}

static void
note_problems(struct nc_build *b, const char *path, const struct attrs *as)
{
	for (size_t i = 0; i < as->nproblems; i++)
		notes_add(&b->mount->notes, "'%s': %s", mount_path(b->mount, path), as->problem[i]);
}

static int
make_attrs(struct nc_build *b, const struct nc_candidate *c, const struct nc_file *f,
	struct nc_var *v, struct recode *recode)
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
		.recode = recode,
		.grid_mapping = nc_crs_name(b, c, f),
	};
	bool whole = recode->atom_in == 8 && !c->column->part;
	if (by_fill >= 0 && whole && n->array->fill)
		recode_allow(recode, n->array->fill);
	r = by_fill;
	if (r >= 0 && whole)
		r = missing_value(b->mount, n, &stored, 0, &fill);
	if (r == 0 && whole && fill.len == recode->atom_in)
		recode_allow(recode, fill.data);
	if (r >= 0)
		r = nc_attrs_make(&stored, &of, f->format, &v->attrs);
	if (r >= 0) {
		note_problems(b, n->path, &stored);
		note_problems(b, n->path, &v->attrs);
	}
	attrs_free(&stored);
	return r < 0 ? r : 0;
}

static int
make_recode(struct nc_build *b, const struct nc_candidate *c, enum nc_type type, struct recode *ret)
{
	const struct nc_column *k = c->column;
	const struct node *n = c->member->node;
	int r = recode_make(&k->type, type, ret);
	if (r < 0)
		return r;
	if (k->part) {
		struct recode_part *copy = malloc(k->nparts * sizeof *copy);
		if (!copy)
			return err_set(-ENOMEM, "no memory for a field");
		memcpy(copy, k->part, k->nparts * sizeof *copy);
		recode_pick(ret, n->array->dtype.size, copy, k->nparts);
	}
	if (asprintf(&ret->where, "%s.cdf5.nc", mount_path(b->mount, n->path)) < 0) {
		ret->where = NULL;
		return err_set(-ENOMEM, "no memory for a name");
	}
	return 0;
}

/* Whose name is it, if several have it: a variable's of what the file is for, then a field's, then that of what only goes with them. */
static unsigned
turn(const struct nc_build *b, const struct nc_candidate *c)
{
	bool own = c->member < b->members.of + b->members.own;
	return own ? *c->column->field != 0 : 2;
}

static int
name_mappings(struct nc_file *f, size_t n, struct nc_taken *names)
{
	for (size_t i = 0; i < n; i++) {
		f->var[i].name = nc_name_once(names, "crs");
		if (!f->var[i].name)
			return err_set(-ENOMEM, "no memory for a name");
	}
	return 0;
}

/* first: the index of what comes from the store; before it lie grid mappings. */
static int
name_variables(const struct nc_build *b, size_t first, struct nc_file *f)
{
	struct nc_taken names = {0};
	int r = 0;
	for (unsigned t = 0; t <= 2; t++) {
		struct nc_var *v = f->var + first;
		for (size_t i = 0; i < b->n && r == 0; i++) {
			const struct nc_candidate *c = &b->candidate[i];
			const struct node *n = c->member->node;
			const char *name = *n->path ? n->name : mount_path(b->mount, n->path);
			CLEAN(clean_free) char *full = NULL;
			if (!c->out && turn(b, c) == t) {
				if (asprintf(&full, "%s%s", name, c->column->field) < 0)
					full = NULL;
				v->name = full ? nc_name_once(&names, full) : NULL;
				if (!v->name)
					r = err_set(-ENOMEM, "no memory for a name");
			}
			v += !c->out;
		}
	}
	if (r == 0)
		r = name_mappings(f, first, &names);
	nc_taken_free(&names);
	return r;
}

/* v: has its name. */
static int
add_variable(struct nc_build *b, const struct nc_candidate *c, const struct nc_file *f,
	struct nc_var *v, struct nc_source *s)
{
	v->rank = c->rank;
	v->type = nc_type_in_file(&c->column->type, f->format == CDF_5);
	v->dim = calloc(c->rank + 1, sizeof *v->dim);
	s->variable = c->member->variable;
	if (!v->dim)
		return err_set(-ENOMEM, "no memory for a variable");
	for (unsigned i = 0; i < c->rank; i++)
		v->dim[i] = c->use[i]->dim;
	int r = make_recode(b, c, v->type, &s->recode);
	v->alone = recode_refuses(&s->recode);
	return r < 0 ? r : make_attrs(b, c, f, v, &s->recode);
}

/* Attributes of the group: the file's. */
static int
add_global(struct nc_build *b, enum cdf_format format, struct nc_file *f)
{
	CLEAN(node_unrefp) struct node *group = NULL;
	const struct node *n = b->node;
	struct attrs stored = {0};
	const struct nc_attrs_of none = {0};
	if (n->kind == NODE_ARRAY && !*n->path)
		return 0;
	const char *slash = strrchr(n->path, '/');
	CLEAN(clean_free)
	char *path = n->kind == NODE_GROUP
			     ? strdup(n->path)
			     : strndup(n->path, slash ? (size_t)(slash - n->path) : 0);
	int r = path ? model_lookup(b->mount->model, path, &group)
		     : err_set(-ENOMEM, "no memory for a path");
	if (r == 0 && group->kind == NODE_GROUP)
		r = node_attrs(group, &stored);
	if (r == 0)
		r = nc_attrs_make(&stored, &none, format, &f->attrs);
	if (r == 0)
		note_problems(b, path, &f->attrs);
	attrs_free(&stored);
	return r < 0 ? r : 0;
}

int
nc_build_file(struct nc_build *b, enum cdf_format format, struct nc_plan *ret)
{
	struct nc_plan p = {.file = {.format = format, .record = NC_NO_DIM}};
	const size_t first = nc_crs_count(b);
	p.file.var = calloc(first + b->n + 1, sizeof *p.file.var);
	p.source = calloc(first + b->n + 1, sizeof *p.source);
	int r = p.file.var && p.source ? 0 : err_set(-ENOMEM, "no memory for variables");
	p.file.nvars = r == 0 ? first : 0;
	for (size_t i = 0; i < b->n && r == 0; i++)
		p.file.nvars += !b->candidate[i].out;
	if (r == 0)
		r = add_dims(b, &p.file);
	if (r == 0)
		r = name_variables(b, first, &p.file);
	if (r == 0)
		r = nc_crs_add(b, &p.file);
	for (size_t i = 0, k = first; i < b->n && r == 0; i++)
		if (!b->candidate[i].out) {
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
