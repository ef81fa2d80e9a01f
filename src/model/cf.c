#include "model/cf.h"

#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Cuts the last part off. False: it was the root. */
static bool
go_up(char *path)
{
	char *slash = strrchr(path, '/');
	if (!*path)
		return false;
	*(slash ? slash : path) = 0;
	return true;
}

static int
look_up(struct model *m, const char *dir, const char *name, struct node **ret)
{
	CLEAN(clean_free) char *path = path_in(dir, name);
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	return model_lookup_known(m, path, ret);
}

/* The path is that of a group: of this hierarchy, since what stands above the hierarchy is none. */
static int
is_group(struct model *m, const char *path)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = model_lookup_known(m, path, &n);
	return r < 0 ? r : r == 0 && n->kind == NODE_GROUP;
}

typedef bool fits_fn(const struct node *, const void *arg);

/* The nearest array of that name that fits, from the directory upwards; dir is cut. */
static int
find_upwards(struct model *m, char *dir, const char *name, fits_fn *fits, const void *arg,
	struct node **ret)
{
	do {
		CLEAN(node_unrefp) struct node *n = NULL;
		int r = is_group(m, dir);
		if (r <= 0)
			return r < 0 ? r : ZMAP_ABSENT;
		r = look_up(m, dir, name, &n);
		if (r < 0)
			return r;
		if (r == 0 && n->kind == NODE_ARRAY && (!fits || fits(n, arg))) {
			*ret = MOVE(n);
			return 0;
		}
	} while (go_up(dir));
	return ZMAP_ABSENT;
}

/* The top of the hierarchy that the group lies in; dir is cut to it. */
static int
go_to_top(struct model *m, char *dir)
{
	int r = 1;
	while (*dir && r > 0) {
		CLEAN(clean_free) char *above = strdup(dir);
		if (!above)
			return err_set(-ENOMEM, "no memory for a path");
		go_up(above);
		r = is_group(m, above);
		if (r > 0)
			go_up(dir);
	}
	return r < 0 ? r : 0;
}

int
cf_top(struct model *m, const char *group, char **ret)
{
	CLEAN(clean_free) char *dir = strdup(group);
	int r = dir ? go_to_top(m, dir) : err_set(-ENOMEM, "no memory for a path");
	if (r == 0)
		*ret = MOVE(dir);
	return r;
}

static char *
group_of(const char *path)
{
	char *dir = strdup(path);
	if (dir)
		go_up(dir);
	return dir;
}

int
cf_find(struct model *m, const char *path, const char *name, struct node **ret)
{
	CLEAN(clean_free) char *dir = group_of(path);
	if (!dir)
		return err_set(-ENOMEM, "no memory for a path");
	int r = 0;
	if (!*path)
		return ZMAP_ABSENT; /* an array alone */
	if (*name == '/') {
		r = go_to_top(m, dir);
		name++;
	}
	while (strncmp(name, "../", 3) == 0) {
		if (!go_up(dir))
			return ZMAP_ABSENT;
		name += 3;
	}
	if (r < 0 || !*name)
		return r < 0 ? r : ZMAP_ABSENT;
	if (!strchr(name, '/'))
		return find_upwards(m, dir, name, NULL, NULL, ret);
	CLEAN(node_unrefp) struct node *n = NULL;
	r = look_up(m, dir, name, &n);
	if (r)
		return r;
	if (n->kind != NODE_ARRAY)
		return ZMAP_ABSENT;
	*ret = MOVE(n);
	return 0;
}

bool
cf_is_coordinate(const struct node *n)
{
	return n->array && n->array->rank == 1 && n->array->dim[0].name &&
	       strcmp(n->array->dim[0].name, n->name) == 0;
}

static bool
fits_dim(const struct node *n, const void *arg)
{
	const struct dim *d = arg;
	return cf_is_coordinate(n) && n->array->shape[0] == d->size;
}

int
cf_coordinate(struct model *m, const struct node *n, unsigned dim, struct node **ret)
{
	const struct dim *d = &n->array->dim[dim];
	if (!d->name || !*n->path)
		return ZMAP_ABSENT;
	CLEAN(clean_free) char *dir = group_of(n->path);
	if (!dir)
		return err_set(-ENOMEM, "no memory for a path");
	const char *slash = d->fqn ? strrchr(d->fqn, '/') : NULL;
	if (!slash)
		return find_upwards(m, dir, d->name, fits_dim, d, ret);
	/* Groups below the one that has the dimension may have variables of its name, but not its
	 * coordinates. */
	int r = go_to_top(m, dir);
	if (r < 0)
		return r;
	CLEAN(clean_free) char *path = NULL;
	bool deeper = slash > d->fqn;
	if (asprintf(&path, "%s%s%.*s", dir, *dir && deeper ? "/" : "",
		    deeper ? (int)(slash - d->fqn - 1) : 0, d->fqn + 1) < 0)
		return err_set(-ENOMEM, "no memory for a path");
	CLEAN(node_unrefp) struct node *found = NULL;
	r = look_up(m, path, d->name, &found);
	if (r)
		return r;
	if (!fits_dim(found, d))
		return ZMAP_ABSENT;
	*ret = MOVE(found);
	return 0;
}

struct cf_names {
	const char *const *name;
	size_t n;
	enum cf_role *role;
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
give_role(const struct cf_names *all, const char *name, enum cf_role role)
{
	const char *const *found = bsearch(&name, all->name, all->n, sizeof *all->name, by_name);
	enum cf_role *is = found ? &all->role[found - all->name] : NULL;
	if (is && (*is == CF_DATA || role == CF_BOUNDS))
		*is = role;
}

static int
note_reference(void *arg, const char *name, enum cf_role role)
{
	give_role(arg, name, role);
	return 0;
}

static int
note_references(const struct node *n, const struct cf_names *all)
{
	struct attrs as = {0};
	if (!cf_mentions(n))
		return 0;
	int r = node_attrs(n, &as);
	if (r < 0)
		return r;
	cf_references(&as, note_reference, (void *)all);
	if (n->kind == NODE_ARRAY && attrs_find(&as, "grid_mapping_name"))
		give_role(all, n->name, CF_GRID_MAPPING);
	attrs_free(&as);
	return 0;
}

int
cf_roles(struct model *m, const char *group, const char *const *name, size_t n, enum cf_role *ret)
{
	const struct cf_names all = {name, n, ret};
	CLEAN(node_unrefp) struct node *self = NULL;
	for (size_t i = 0; i < n; i++)
		ret[i] = CF_DATA;
	int r = model_lookup(m, group, &self);
	if (r == 0)
		r = note_references(
			self, &all); /* xarray names there what no variable has all dimensions of */
	for (size_t i = 0; i < n && r != -ENOMEM; i++) {
		CLEAN(node_unrefp) struct node *node = NULL;
		if (look_up(m, group, name[i], &node) || node->kind != NODE_ARRAY)
			continue;
		if (cf_is_coordinate(node))
			give_role(&all, name[i], CF_COORDINATE);
		r = note_references(node, &all);
	}
	return r == -ENOMEM ? r : 0;
}
