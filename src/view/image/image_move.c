/* Arrays whose variables or dimensions have other names under a new header, or are gone. */
#include "model/edit.h"
#include "view/change.h"
#include "view/image/image_target.h"
#include "view/netcdf/nc_names.h"
#include "view/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* In the group of the file, and a whole array. */
static int
is_of_group(const struct open_image *o, const struct image_source *s, bool *ret)
{
	CLEAN(clean_free) char *group = NULL;
	const struct image_target *t = s->target;
	*ret = false;
	if (!t || s->recode.part)
		return 0;
	int r = image_group_path(o, &group);
	const char *path = t->node->path, *slash = strrchr(path, '/');
	const size_t len = slash ? (size_t)(slash - path) : 0;
	*ret = r == 0 && strlen(group) == len && strncmp(path, group, len) == 0;
	return r;
}

int
image_move_drop(struct open_image *o, const struct change *c)
{
	int r = 0;
	for (size_t i = 0; r == 0 && c->was && i < c->was->file.nvars; i++) {
		const struct image_target *t = c->was->source[i].target;
		bool own = false;
		if (c->gone[i])
			r = is_of_group(o, &c->was->source[i], &own);
		if (r == 0 && own)
			r = change_remove_array(o->mount, t->node);
	}
	return r;
}

static int
path_beside(const struct node *n, const char *name, char **ret)
{
	const char *slash = strrchr(n->path, '/');
	if (asprintf(ret, "%.*s%s", slash ? (int)(slash - n->path) + 1 : 0, n->path, name) >= 0)
		return 0;
	*ret = NULL;
	return err_set(-ENOMEM, "no memory for a path");
}

int
image_move_check(struct open_image *o, const struct change *c, size_t var)
{
	const struct image_source *s = &c->now->source[var];
	const struct image_target *t = s->target;
	const char *name = c->now->file.var[var].name;
	CLEAN(clean_free) char *path = NULL;
	CLEAN(node_unrefp) struct node *there = NULL;
	bool own = false;
	int r = is_of_group(o, s, &own);
	if (r == 0 && (!own || s->guarded))
		r = err_set(-EINVAL, "variable '%s' cannot be called '%s': %s",
			c->was->file.var[c->var[var]].name, name,
			own ? "others use it too" : "it is no array of this group");
	if (r == 0)
		r = path_beside(t->node, name, &path);
	if (r == 0)
		r = model_lookup(o->mount->model, path, &there);
	if (r == 0)
		return err_set(-EINVAL, "there is a '%s' already", path);
	return r == ZMAP_ABSENT ? 0 : r;
}

/* The array moves, and the variable's elements are there from now on. */
static int
move(struct open_image *o, struct image_target *t, const char *name)
{
	CLEAN(clean_free) char *path = NULL;
	int r = path_beside(t->node, name, &path);
	if (r == 0)
		r = change_move_array(o->mount, t->node, name);
	if (r == 0)
		r = image_target_follow(o, t, path);
	return r == -ENOTSUP || r == -EROFS ? -EINVAL : r;
}

int
image_move_all(struct open_image *o, const struct change *c)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < c->now->file.nvars; i++)
		if (change_renames(c, i))
			r = move(o, c->now->source[i].target, c->now->file.var[i].name);
	return r;
}

/* --- dimensions --- */

/* An array of the group that has the dimension `dim` of the old header. NULL: none has, or not by
 * that name. */
static struct node *
find_with(struct open_image *o, const struct change *c, unsigned dim, unsigned *ret_at)
{
	for (size_t i = 0; i < c->now->file.nvars; i++) {
		const struct image_target *t = c->now->source[i].target;
		const struct nc_var *w =
			c->var[i] == CHANGE_NONE ? NULL : &c->was->file.var[c->var[i]];
		CLEAN(node_unrefp) struct node *now = NULL; /* the target's may have older names */
		bool own = false;
		if (!w || !t || is_of_group(o, &c->now->source[i], &own) < 0 || !own ||
			model_lookup(o->mount->model, t->node->path, &now) != 0 || !now->array)
			continue;
		for (unsigned k = 0; k < w->rank && k < now->array->rank; k++) {
			const char *name = now->array->dim[k].name;
			CLEAN(clean_free) char *shown = name ? nc_name(name) : NULL;
			*ret_at = k;
			if (w->dim[k] == dim && shown &&
				strcmp(shown, c->was->file.dim[dim].name) == 0)
				return MOVE(now);
		}
	}
	return NULL;
}

int
image_move_dims(struct open_image *o, const struct change *c, bool plan)
{
	int r = 0;
	for (size_t i = 0; plan && change_renames_dims(c) && i < c->now->file.nvars; i++)
		if (c->var[i] == CHANGE_NONE)
			return err_set(-EINVAL,
				"a dimension has another name, and '%s' is new: one after the "
				"other",
				c->now->file.var[i].name);
	for (unsigned d = 0; r == 0 && c->was && d < c->was->file.ndims; d++) {
		unsigned at = 0;
		CLEAN(node_unrefp)
		struct node *n = c->renamed[d] ? find_with(o, c, d, &at) : NULL;
		if (n)
			r = model_rename_dim(
				o->mount->model, n->path, at, c->renamed[d], plan, NULL);
		else if (c->renamed[d])
			r = err_set(-EINVAL, "the name of dimension '%s' is made by the mount",
				c->was->file.dim[d].name);
		if (r < 0 && c->renamed[d])
			r = err_add(r == -ENOTSUP ? -EINVAL : r,
				"dimension '%s' cannot become '%s'", c->was->file.dim[d].name,
				c->renamed[d]);
	}
	return r;
}
