/* Which arrays of the store the variables of a new header are, or will be. */
#include "base/check.h"
#include "base/path.h"
#include "model/cf.h"
#include "model/edit.h"
#include "view/flat.h"
#include "view/length.h"
#include "view/image/image_new.h"
#include "view/image/image_target.h"
#include "view/netcdf/nc_plan.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

static int
copy_convert(const struct convert *c, struct convert *ret)
{
	struct convert copy = *c;
	copy.part = NULL;
	copy.where = c->where ? strdup(c->where) : NULL;
	if (c->part) {
		copy.part = malloc(c->nparts * sizeof *copy.part);
		if (copy.part)
			memcpy(copy.part, c->part, c->nparts * sizeof *copy.part);
	}
	if ((c->part && !copy.part) || (c->where && !copy.where)) {
		convert_free(&copy);
		return err_set(-ENOMEM, "no memory for a variable");
	}
	*ret = copy;
	return 0;
}

/* Times of another type of numbers count as the file of ours does that has this type: another unit
 * would be another time. */
static bool
counts_alike(const struct dtype *type, const struct nc_var *v)
{
	char text[64];
	const char *units = attrs_text(&v->attrs, "units");
	return !convert_time_units(type, v->type, text, sizeof text) ||
	       (units && strcmp(units, text) == 0);
}

/* How the elements become those of a file that has them in another type: such as one of its views
 * has them in. */
static int
make_convert(const struct image_target *t, const struct image_source *was, const struct nc_var *v,
	enum cdf_format format, struct convert *ret)
{
	const struct dtype *type = array_dtype(t->array);
	const bool known = nc_type_in_file(type, format) == v->type ||
			   nc_type_in_file(type, CDF_2) == v->type ||
			   (v->type == NC_TYPE_DOUBLE && convert_from_doubles(type));
	if (was->convert.part || !known)
		return err_set(-EINVAL, "variable '%s' cannot become one of another type", v->name);
	if (!counts_alike(type, v))
		return err_set(
			-EINVAL, "the times of variable '%s' cannot be in another unit", v->name);
	return convert_make(type, v->type, ret);
}

/* The same array, longer; *ret_rows: how long other writers have made it by now, perhaps longer
 * than this one does; 0: it was this mount that did. */
static int
grow(struct open_image *o, const struct nc_var *v, const struct image_target *old, uint64_t rows,
	uint64_t *ret_rows, struct variable **ret)
{
	CLEAN(node_unrefp) struct node *now = NULL;
	int r = model_lookup(o->mount->model, old->node->path, &now);
	if (r == ZMAP_ABSENT || (r == 0 && !now->array))
		return err_set(-EIO, "array '%s' is no longer in the store", old->node->path);
	if (r < 0)
		return r;
	if (!length_grows(o->mount, now))
		return err_set(-EINVAL,
			"variable '%s' cannot grow: its first dimension is not unlimited", v->name);
	*ret_rows = model_is_own(o->mount->model, now->path, now) ? 0 : now->array->shape[0];
	return variable_grown(
		o->mount, now, max_u64(rows, now->array->shape[0]), array_width(old->array), ret);
}

/* What was new when the header was settled last is in the store by now. */
static int
find_made(struct open_image *o, const struct image_target *old, struct variable **ret)
{
	CLEAN(node_unrefp) struct node *now = NULL;
	int r = model_lookup(o->mount->model, old->node->path, &now);
	if (r == ZMAP_ABSENT || (r == 0 && !now->array))
		return err_set(-EIO, "array '%s' is no longer in the store", old->node->path);
	return r < 0 ? r : variable_get(o->mount, now, array_width(old->array), ret);
}

/* Is the variable what the file is for? */
bool
image_is_own(const struct open_image *o, const struct image_form *now, size_t i)
{
	const struct image_target *t = now->source[i].target;
	if (o->own)
		return strcmp(now->file.var[i].name, o->own) == 0;
	return t && !image_is_companion(o, t);
}

/* A variable that the file had before. */
int
image_bind_known(struct open_image *o, const struct change *c, size_t i, struct image_form *now)
{
	const struct image_source *was = &c->was->source[c->var[i]];
	const struct image_target *old = was->target;
	const struct nc_var *v = &now->file.var[i], *w = &c->was->file.var[c->var[i]];
	const uint64_t grown = change_grown(c, i);
	struct image_source *s = &now->source[i];
	struct image_target *t = NULL;
	struct variable *variable = NULL;
	if (!old) {
		if (v->type == w->type)
			s->axis = was->axis;
		return 0;
	}
	int r = v->type == w->type ? copy_convert(&was->convert, &s->convert)
				   : make_convert(old, was, v, now->file.format, &s->convert);
	if (r == 0 && grown)
		r = grow(o, v, old, grown, &s->rows, &variable);
	else if (r == 0 && old->variable)
		variable = variable_ref(old->variable);
	else if (r == 0)
		r = find_made(o, old, &variable);
	if (r == 0)
		r = image_target_new(variable, &t);
	if (r < 0)
		return r;
	s->target = t;
	t->least = grown ? t->node->array->shape[0] : 0;
	s->guarded = o->shares && image_is_companion(o, t) && !grown;
	return 0;
}

/* The array that a new variable will be. */
static int
plan_array(struct open_image *o, const struct change *c, size_t var, const struct node *group,
	struct image_target *t)
{
	const struct nc_file *f = &c->now->file;
	CLEAN(clean_free) char *path = NULL;
	CLEAN(node_unrefp) struct node *there = NULL;
	struct mount *m = o->mount;
	int r = image_new_make(m, f, var, group, c->flows, &t->new);
	if (r < 0)
		return r;
	path = path_in(group->path, t->new->name);
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	r = model_lookup(m->model, path, &there);
	if (r == 0 &&
		there->kind != NODE_ARRAY) /* chunks that no metadata know look like a group */
		r = image_new_is_there(m, path);
	if (r == 0)
		return err_set(
			-EINVAL, "'%s' is there, but was not in this file: write dataset.nc", path);
	if (r == ZMAP_ABSENT)
		r = model_plan_array(m->model, path, &t->new->is, &t->node);
	if (r == 0)
		r = array_open(m->data, m->zmap, path, t->node->array, 0, &t->array);
	if (r == 0)
		r = array_begin(t->array, false);
	if (r == -ENOTSUP || r == -EPERM)
		return err_add(-EINVAL, "variable '%s' cannot be stored here", f->var[var].name);
	return r;
}

static int
find_group(struct open_image *o, struct node **ret)
{
	CLEAN(clean_free) char *path = NULL;
	int r = image_group_path(o, &path);
	if (r == 0)
		r = model_lookup(o->mount->model, path, ret);
	if (r == ZMAP_ABSENT || (r == 0 && (*ret)->kind != NODE_GROUP))
		return err_set(-EIO, "group '%s' is no longer in the store", path);
	return r;
}

int
image_bind_later(struct open_image *o, const struct change *c, size_t i)
{
	CLEAN(node_unrefp) struct node *group = NULL;
	struct image_new *n = NULL;
	int r = find_group(o, &group);
	if (r == 0)
		r = image_new_make(o->mount, &c->now->file, i, group, c->flows, &n);
	if (r == 0)
		image_new_free(n);
	return r;
}

int
image_bind_new(struct open_image *o, const struct change *c, size_t i, struct image_form *now)
{
	CLEAN(node_unrefp) struct node *group = NULL;
	struct image_source *s = &now->source[i];
	int r = find_group(o, &group);
	struct image_target *t = r == 0 ? calloc(1, sizeof *t) : NULL;
	if (!t)
		return r < 0 ? r : err_set(-ENOMEM, "no memory for a variable");
	r = plan_array(o, c, i, group, t);
	if (r == 0)
		r = convert_make(&t->node->array->dtype, now->file.var[i].type, &s->convert);
	if (r < 0)
		image_target_free(o, t);
	else
		s->target = t;
	return r;
}

/* --- what goes with a variable --- */

struct with {
	const struct nc_file *file;
	bool *is;
	bool more;
};

static int
add_with(void *arg, const char *name, enum cf_role role)
{
	struct with *w = arg;
	for (size_t i = 0; i < w->file->nvars; i++) {
		const char *is = w->file->var[i].name;
		if (!w->is[i] && strcmp(is, name) == 0)
			w->is[i] = w->more = true;
	}
	return 0;
}

static int
add_of(struct with *w, const struct nc_var *v)
{
	static const char *const names[] = {"coordinates", "bounds", "climatology", "grid_mapping"};
	int r = 0;
	for (unsigned i = 0; r == 0 && i < v->rank; i++)
		r = add_with(w, w->file->dim[v->dim[i]].name, CF_COORDINATE);
	for (size_t i = 0; r == 0 && i < sizeof names / sizeof *names; i++) {
		const char *text = attrs_text(&v->attrs, names[i]);
		r = text ? cf_words(names[i], text, add_with, w) : 0;
	}
	return r;
}

int
image_bind_with(const struct nc_file *f, const char *name, bool **ret)
{
	CLEAN(clean_free) bool *is = calloc(f->nvars + 1, sizeof *is);
	struct with w = {.file = f, .is = is};
	int r = is ? add_with(&w, name, CF_DATA) : err_set(-ENOMEM, "no memory for a file");
	while (r == 0 && w.more) {
		w.more = false;
		for (size_t i = 0; r == 0 && i < f->nvars; i++)
			if (is[i])
				r = add_of(&w, &f->var[i]);
	}
	if (r == 0)
		*ret = MOVE(is);
	return r;
}
