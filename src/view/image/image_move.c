/* Arrays whose variables or dimensions have other names under a new header, or are gone. */
#include "base/list.h"
#include "model/edit.h"
#include "view/change.h"
#include "view/flats.h"
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
	if (!t || s->convert.part)
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

/* Has the variable of the old header another name under the new one? */
static bool
goes(const struct change *c, size_t was)
{
	bool any = false;
	for (size_t i = 0; i < c->now->file.nvars; i++)
		any |= c->var[i] == was && change_renames(c, i);
	return any;
}

static int
to_invalid(int r)
{
	return r == -ENOTSUP || r == -EROFS || r == -EEXIST ? -EINVAL : r;
}

/* Nothing but what is to be called something else is there under the name, or what an attempt that
 * broke off has left. */
static int
check_name(struct open_image *o, const struct change *c, const struct node *of, const char *path,
	const char *name)
{
	CLEAN(node_unrefp) struct node *there = NULL;
	const size_t had = change_find(&c->was->file, name);
	const struct image_target *t =
		had == CHANGE_NONE || !goes(c, had) ? NULL : c->was->source[had].target;
	unsigned n = 0;
	for (size_t i = 0; i < c->now->file.nvars; i++)
		n += strcmp(c->now->file.var[i].name, name) == 0;
	int r = n > 1 ? 0 : model_look_again(o->mount->model, path, &there);
	if (r == 0 && there && !there->made_of && !there->mtime) /* a folder without documents */
		return to_invalid(model_may_move(o->mount->model, of->path, name, NULL));
	if (r == 0 && (n > 1 || !t || strcmp(t->node->path, path) != 0))
		return err_set(-EINVAL, "there is a '%s' already", path);
	return r < 0 ? r : 0;
}

int
image_move_check(struct open_image *o, const struct change *c, size_t var)
{
	const struct image_source *s = &c->was->source[c->var[var]];
	const struct image_target *t = s->target;
	const char *name = c->now->file.var[var].name;
	CLEAN(clean_free) char *path = NULL;
	bool own = false;
	int r = is_of_group(o, s, &own);
	if (r == 0 && (!own || (o->shares && image_is_companion(o, t))))
		r = err_set(-EINVAL, "variable '%s' cannot be called '%s': %s",
			c->was->file.var[c->var[var]].name, name,
			own ? "others use it too" : "it is no array of this group");
	if (r == 0)
		r = path_beside(t->node, name, &path);
	return r < 0 ? r : check_name(o, c, t->node, path, name);
}

/* --- one after the other --- */

struct renames {
	struct open_image *image;
	struct image_form *was;
	size_t n;
	struct image_renaming {
		size_t at;      /* number of the variable, or dimension */
		char **is;      /* its name as yet, in `was` */
		const char *to; /* what it is to be called */
	} * of;
	int (*step)(struct renames *, size_t at, const char *to);
};

static int
add(struct renames *all, size_t at, char **is, const char *to)
{
	return LIST_ADD(all->of, all->n, "names", (struct image_renaming){at, is, to});
}

/* The first whose new name no other variable has; all->n: they wait for each other. */
static size_t
find_free(const struct renames *all)
{
	for (size_t i = 0; i < all->n; i++) {
		bool free = true;
		for (size_t k = 0; free && k < all->n; k++)
			free = strcmp(*all->of[k].is, all->of[i].to) != 0;
		if (free)
			return i;
	}
	return all->n;
}

/* A name of its own that makes way for another one. */
static int
rename_one(struct renames *all, size_t i, const char *to)
{
	struct image_renaming *one = &all->of[i];
	CLEAN(clean_free) char *name = strdup(to);
	int r = name ? all->step(all, one->at, to) : err_set(-ENOMEM, "no memory for a name");
	if (r < 0)
		return r;
	free(*one->is);
	*one->is = MOVE(name);
	return 0;
}

static int
rename_in_turn(struct renames *all)
{
	int r = 0;
	while (r == 0 && all->n) {
		CLEAN(clean_free) char *between = NULL;
		const size_t i = find_free(all);
		if (i == all->n && asprintf(&between, "%.200s.renamed", *all->of[0].is) < 0) {
			between = NULL;
			return err_set(-ENOMEM, "no memory for a name");
		}
		r = i < all->n ? rename_one(all, i, all->of[i].to) : rename_one(all, 0, between);
		if (r < 0)
			r = err_add(r, "'%s' is not called '%s' yet", *all->of[i % all->n].is,
				all->of[i % all->n].to);
		else if (i < all->n)
			all->of[i] = all->of[--all->n];
	}
	return r;
}

/* --- variables --- */

/* It is the array that the file has, or that one longer. */
static int
check_array(struct open_image *o, const struct image_target *t)
{
	CLEAN(node_unrefp) struct node *now = NULL;
	int r = model_look_again(o->mount->model, t->node->path, &now);
	if (r == ZMAP_ABSENT || (r == 0 && (!now->array || now->error)))
		return err_set(-EIO, "array '%s' is no longer in the store", t->node->path);
	if (r == 0 && !flat_is_same(t->node->array, now->array))
		r = variable_say_rewritten(t->node->path);
	return r;
}

/* The array moves, and the variable's elements are there from now on. */
static int
move(struct renames *all, size_t at, const char *name)
{
	struct open_image *o = all->image;
	struct image_target *t = all->was->source[at].target;
	CLEAN(clean_free) char *path = NULL;
	const bool own = strcmp(t->node->path, o->node->path) == 0;
	int r = check_array(o, t);
	if (r == 0)
		r = path_beside(t->node, name, &path);
	if (r == 0)
		r = change_move_array(o->mount, t->node, name);
	if (r == 0)
		r = image_target_follow(o, t, path);
	if (r == 0 && own) {
		node_unref(o->node);
		o->node = node_ref(t->node);
	}
	return to_invalid(r);
}

static int
move_all(struct open_image *o, const struct change *c, struct image_form *was)
{
	struct renames all = {.image = o, .was = was, .step = move};
	int r = 0;
	for (size_t i = 0; r == 0 && i < c->now->file.nvars; i++)
		if (change_renames(c, i))
			r = add(&all, c->var[i], &was->file.var[c->var[i]].name,
				c->now->file.var[i].name);
	r = r == 0 ? rename_in_turn(&all) : r;
	free(all.of);
	return r;
}

/* --- dimensions --- */

/* An array of the group that has the dimension `dim` of the header. NULL: none has, or not by that
 * name. */
static struct node *
find_with(struct open_image *o, const struct image_form *was, size_t dim, unsigned *ret_at)
{
	for (size_t i = 0; i < was->file.nvars; i++) {
		const struct image_target *t = was->source[i].target;
		const struct nc_var *w = &was->file.var[i];
		CLEAN(node_unrefp) struct node *now = NULL; /* the target's may have older names */
		bool own = false;
		if (!t || is_of_group(o, &was->source[i], &own) < 0 || !own ||
			model_lookup(o->mount->model, t->node->path, &now) != 0 || !now->array)
			continue;
		for (unsigned k = 0; k < w->rank && k < now->array->rank; k++) {
			const char *name = now->array->dim[k].name;
			CLEAN(clean_free) char *shown = name ? nc_name(name) : NULL;
			*ret_at = k;
			if (w->dim[k] == dim && shown &&
				strcmp(shown, was->file.dim[dim].name) == 0)
				return MOVE(now);
		}
	}
	return NULL;
}

static int
rename_dim(
	struct open_image *o, const struct image_form *was, size_t dim, const char *to, bool plan)
{
	unsigned at = 0;
	CLEAN(node_unrefp) struct node *n = find_with(o, was, dim, &at);
	int r = n ? model_rename_dim(o->mount->model, n->path, at, to, plan, NULL)
		  : err_set(-EINVAL, "the name of dimension '%s' is made by the mount",
			    was->file.dim[dim].name);
	return r == -ENOTSUP ? -EINVAL : r;
}

static int
rename_dim_now(struct renames *all, size_t dim, const char *to)
{
	return rename_dim(all->image, all->was, dim, to, false);
}

/* Does it grow only by its name, which an option says? Then it has its new one when it has grown.
 */
static bool
is_late(struct open_image *o, const struct change *c, unsigned dim)
{
	unsigned at = 0;
	CLEAN(node_unrefp)
	struct node *n = c->grown[dim] ? find_with(o, c->was, dim, &at) : NULL;
	return n && !n->array->dim[at].unlimited;
}

bool
image_move_awaited(struct open_image *o, const struct change *c, size_t var)
{
	const struct nc_file *f = &c->now->file;
	const struct nc_var *v = &f->var[var];
	const size_t had = c->was ? change_find(&c->was->file, v->name) : CHANGE_NONE;
	bool is = had != CHANGE_NONE && goes(c, had);
	for (unsigned k = 0; c->was && k < v->rank; k++)
		for (unsigned d = 0; d < c->was->file.ndims; d++)
			is |= c->renamed[d] && !strcmp(c->renamed[d], f->dim[v->dim[k]].name) &&
			      !is_late(o, c, d);
	return is;
}

/* A name that another dimension gives up is free by then. */
static int
plan_dim(struct open_image *o, const struct change *c, unsigned dim)
{
	const struct nc_file *f = &c->was->file;
	CLEAN(clean_free) char *between = NULL;
	bool had = false, gives = true;
	for (unsigned d = 0; d < f->ndims; d++)
		if (d != dim && strcmp(f->dim[d].name, c->renamed[dim]) == 0) {
			had = true;
			gives &= c->renamed[d] && !is_late(o, c, d);
		}
	if (had && gives && asprintf(&between, "%.200s.renamed", f->dim[dim].name) < 0) {
		between = NULL;
		return err_set(-ENOMEM, "no memory for a name");
	}
	int r = rename_dim(o, c->was, dim, between ? between : c->renamed[dim], true);
	return r < 0 ? err_add(r, "dimension '%s' cannot become '%s'", f->dim[dim].name,
			       c->renamed[dim])
		     : 0;
}

int
image_move_check_dims(struct open_image *o, const struct change *c)
{
	int r = 0;
	for (unsigned d = 0; r == 0 && c->was && d < c->was->file.ndims; d++)
		if (c->renamed[d])
			r = plan_dim(o, c, d);
	return r;
}

static int
rename_dims(struct open_image *o, const struct change *c, struct image_form *was)
{
	struct renames all = {.image = o, .was = was, .step = rename_dim_now};
	int r = 0;
	for (unsigned d = 0; r == 0 && d < was->file.ndims; d++)
		if (c->renamed[d] && !is_late(o, c, d))
			r = add(&all, d, &was->file.dim[d].name, c->renamed[d]);
	r = r == 0 ? rename_in_turn(&all) : r;
	free(all.of);
	return r;
}

int
image_move_late(struct open_image *o, const struct change *c)
{
	int r = 0;
	for (unsigned d = 0; r == 0 && c->was && d < c->was->file.ndims; d++)
		if (c->renamed[d])
			r = rename_dim(o, c->was, d, c->renamed[d], false);
	return r;
}

int
image_move(struct open_image *o, const struct change *c, struct image_form *was,
	const struct array_want *how)
{
	int r = image_flush(o, was, how);
	if (r == 0)
		r = rename_dims(o, c, was);
	return r < 0 ? r : move_all(o, c, was);
}
