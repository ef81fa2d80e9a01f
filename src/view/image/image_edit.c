/* What a new header changes in the store's metadata: attributes, and arrays that are new. */
#include "model/attr_edit.h"
#include "model/edit.h"
#include "view/image/image_new.h"
#include "view/image/image_target.h"
#include "view/netcdf/nc_names.h"
#include "view/convert_time.h"
#include "view/state.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Its name in the store, of an attribute that the file had. Caller frees. ZMAP_ABSENT: the store
 * has none; the file shows what follows from something else. */
static int
stored_name(const struct attrs *stored, const char *name, char **ret)
{
	for (size_t i = 0; i < stored->count; i++) {
		CLEAN(clean_free) char *shown = nc_name(stored->attr[i].name);
		if (!shown)
			return err_set(-ENOMEM, "no memory for a name");
		if (strcmp(shown, name) == 0) {
			*ret = strdup(stored->attr[i].name);
			return *ret ? 0 : err_set(-ENOMEM, "no memory for a name");
		}
	}
	return ZMAP_ABSENT;
}

/* The node that has the attributes: an array, or the group. */
static int
owner_of(struct open_image *o, const struct change *c, size_t var, char **ret)
{
	if (var == CHANGE_NONE)
		return image_group_path(o, ret);
	const struct image_target *t = c->now->source[var].target;
	if (!t)
		return err_set(-EINVAL, "variable '%s' is made by the mount: it cannot be changed",
			c->now->file.var[var].name);
	*ret = strdup(t->node->path);
	return *ret ? 0 : err_set(-ENOMEM, "no memory for a path");
}

static int
unmade(const char *name, const char *path)
{
	return err_set(-EINVAL,
		"attribute '%s' of '%s' follows from how it is stored: it cannot be changed", name,
		path);
}

/* Does the fill value say this attribute? Only in pure Zarr V2: elsewhere it says what missing
 * chunks hold, and that stays so. */
static bool
is_fill(const struct node *n, const char *name)
{
	return n->array && !n->nczarr && n->array->zarr_format == 2 &&
	       strcmp(name, "_FillValue") == 0;
}

/* to NULL: it says nothing any more. Of a missing time it never does: that is NaT. */
static int
set_fill(struct edit *e, const struct attr *to)
{
	const struct node *n = edit_node(e);
	const struct dtype *d = &n->array->dtype;
	const enum nc_type own = nc_type_of(d);
	const bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	CLEAN(attr_clear) struct attr is = {0};
	uint8_t fill[8];
	if (!to && convert_time_unit(d, NC_TYPE_DOUBLE))
		return unmade("_FillValue", n->path);
	if (!to)
		return edit_set_fill(e, NULL);
	if ((d->kind != DTYPE_INT && d->kind != DTYPE_UINT && d->kind != DTYPE_FLOAT) ||
		d->narrow || own == NC_TYPE_NONE || nc_type_size(own) != d->size)
		return err_set(-EINVAL, "the fill value of '%s' cannot be changed", n->path);
	int r = to->count == 1 && attr_is_number(to) ? attr_as(to, own, &is) : -ERANGE;
	if (r == -ERANGE)
		return err_set(-EINVAL, "'%s' can have no such fill value", n->path);
	for (size_t i = 0; r == 0 && i < d->size; i++)
		fill[i] = ((const uint8_t *)is.data)[host_big == d->big ? i : d->size - 1 - i];
	return r < 0 ? r : edit_set_fill(e, fill);
}

/* The attribute as the store is to have it. */
static int
to_store(const struct edit *e, const struct change_attr *a, char *name, struct attr *ret)
{
	const struct node *n = edit_node(e);
	struct attr to = *a->to;
	to.name = name;
	enum nc_type own = n->array ? nc_type_of(&n->array->dtype) : NC_TYPE_NONE;
	if (own == NC_TYPE_NONE || !attr_takes_type(name) || own == to.type || !attr_is_number(&to))
		return attr_copy(&to, ret);
	int r = attr_as(&to, own, ret);
	if (r == -ERANGE)
		return err_set(
			-EINVAL, "attribute '%s' does not fit the type of '%s'", name, n->path);
	if (r == 0 && !ret->name && !(ret->name = strdup(name)))
		r = err_set(-ENOMEM, "no memory for a name");
	return r;
}

/* NaN as the fill value of whole numbers, which are doubles in the file if they are wide: that no
 * element is missing. xarray says so of all that has no fill value. */
static bool
marks_none(const struct node *n, const struct change_attr *a, const struct attr *value)
{
	if (!value || !n->array || strcmp(a->name, "_FillValue") != 0)
		return false;
	const enum dtype_kind kind = n->array->dtype.kind;
	if ((kind != DTYPE_INT && kind != DTYPE_UINT) || value->count != 1 ||
		!attr_is_number(value))
		return false;
	const struct attr_number v = attr_number(value, 0);
	return v.real && isnan(v.d);
}

static int
edit_one(struct edit *e, const struct change_attr *a, const struct attrs *stored)
{
	CLEAN(clean_free) char *name = NULL;
	struct attr to = {0};
	const bool had = a->from && !marks_none(edit_node(e), a, a->from);
	const bool has = a->to && !marks_none(edit_node(e), a, a->to);
	if (!had && !has)
		return 0;
	int r = stored_name(stored, a->name, &name);
	if (r == ZMAP_ABSENT && is_fill(edit_node(e), a->name))
		return set_fill(e, a->to);
	if (r == ZMAP_ABSENT && had)
		return unmade(a->name, edit_node(e)->path);
	if (r == ZMAP_ABSENT)
		r = (name = strdup(a->name)) ? 0 : err_set(-ENOMEM, "no memory for a name");
	if (r < 0)
		return r;
	if (is_fill(edit_node(e), name))
		return err_set(-EINVAL,
			"'%s' has an attribute '_FillValue' besides its fill value: neither is "
			"changed",
			edit_node(e)->path);
	if (!a->to)
		return edit_del_attr(e, name);
	r = to_store(e, a, name, &to);
	if (r == 0)
		r = edit_set_attr(e, &to);
	attr_clear(&to);
	return r == -EPERM ? err_set(-EINVAL, "'%s' cannot be an attribute's name", name) : r;
}

/* New arrays are made with the attributes of their group. */
static int
edit_arrays(struct edit *e, const struct change *c)
{
	int r = 0;
	for (size_t i = 0; i < c->now->file.nvars && r == 0; i++) {
		const struct image_target *t = c->now->source[i].target;
		if (c->var[i] == CHANGE_NONE && t && t->new)
			r = edit_new_array(e, t->new->name, &t->new->is);
	}
	return r;
}

/* Attributes [*at, …) of one variable, or of the file. commit: else it is only looked whether that
 * could be. */
static int
edit_attrs(struct open_image *o, const struct change *c, size_t var, size_t *at, bool commit,
	const struct array_want *how)
{
	CLEAN(clean_free) char *path = NULL;
	CLEAN(edit_freep) struct edit *e = NULL;
	struct attrs stored = {0};
	bool fills = false;
	int r = owner_of(o, c, var, &path);
	if (r == 0)
		r = model_edit(o->mount->model, path, &e);
	if (r == ZMAP_ABSENT)
		r = err_set(-EIO, "'%s' is no longer in the store", path);
	if (r == 0)
		r = node_attrs(edit_node(e), &stored);
	if (r == 0 && var == CHANGE_NONE)
		r = edit_arrays(e, c);
	for (; r == 0 && *at < c->nattrs && c->attr[*at].var == var; ++*at) {
		fills |= is_fill(edit_node(e), c->attr[*at].name);
		r = edit_one(e, &c->attr[*at], &stored);
	}
	struct image_target *of = var == CHANGE_NONE ? NULL : c->now->source[var].target;
	if (r == 0 && !commit)
		r = edit_plan(e, how->cancel);
	if (r == 0 && commit && fills)
		r = array_keep_empty(of->array, how->cancel);
	if (r == 0 && commit)
		r = edit_commit(e, how->deadline, how->cancel);
	if (r == 0 && commit && fills)
		r = image_target_follow(o, of, path);
	attrs_free(&stored);
	return r;
}

static bool
any_new(const struct change *c)
{
	bool any = false;
	for (size_t i = 0; i < c->now->file.nvars; i++)
		any |= c->var[i] == CHANGE_NONE;
	return any;
}

/* The group's come first in the list. */
int
image_edit_all(
	struct open_image *o, const struct change *c, bool commit, const struct array_want *how)
{
	size_t at = 0;
	int r = 0;
	if (any_new(c) || (c->nattrs && c->attr[0].var == CHANGE_NONE))
		r = edit_attrs(o, c, CHANGE_NONE, &at, commit, how);
	while (r == 0 && at < c->nattrs) {
		const size_t var = c->attr[at].var;
		if (c->var[var] != CHANGE_NONE)
			r = edit_attrs(o, c, var, &at, commit, how);
		else
			at++; /* a new variable has them from the start */
	}
	return r;
}
