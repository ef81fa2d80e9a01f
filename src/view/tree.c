#include "view/tree.h"

#include "view/state.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Node of the flat file with this path, which must be an array's. */
static int
find_array(struct mount *m, const char *path, struct node **ret)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	bool single = atomic_load(&m->root_is_array);
	if (single && strcmp(path, m->single) != 0)
		return ZMAP_ABSENT;
	int r = model_lookup(m->model, single ? "" : path, &n);
	if (r)
		return r;
	if (n->kind != NODE_ARRAY)
		return ZMAP_ABSENT;
	*ret = MOVE(n);
	return 0;
}

/* Length of path without the view's suffix, 0: it does not have it. */
static size_t
stem_len(const char *path, const struct view_ops *v)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(name), suffix = strlen(v->suffix);
	if (!suffix || len <= suffix || strcmp(name + len - suffix, v->suffix) != 0)
		return 0;
	return strlen(path) - suffix;
}

/* Files that views make of a variable: of "t.cdf5.nc", that of the longest variable name that there is. */
static int
find_view(
	struct mount *m, const char *path, struct node **ret_node, const struct view_ops **ret_view)
{
	size_t best = 0;
	for (const struct view_ops *const *v = view_table; *v; v++) {
		size_t len = stem_len(path, *v);
		if (len <= best)
			continue;
		CLEAN(clean_free) char *stem = strndup(path, len);
		if (!stem)
			return err_set(-ENOMEM, "no memory for a path");
		CLEAN(node_unrefp) struct node *n = NULL;
		int r = find_array(m, stem, &n);
		if (r < 0)
			return r;
		if (r > 0 || ((*v)->applies && !(*v)->applies(n)))
			continue;
		best = len;
		node_unref(*ret_node);
		*ret_node = MOVE(n);
		*ret_view = *v;
	}
	return best ? 0 : ZMAP_ABSENT;
}

int
tree_find(
	struct mount *m, const char *path, struct node **ret_node, const struct view_ops **ret_view)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	const struct view_ops *v = NULL;
	int r;
	if (atomic_load(&m->root_is_array))
		r = find_array(m, path, &n);
	else
		r = model_lookup(m->model, path, &n);
	if (r == ZMAP_ABSENT)
		r = find_view(m, path, &n, &v);
	else if (r == 0 && n->kind == NODE_ARRAY)
		v = view_table[0];
	if (r)
		return r;
	*ret_node = MOVE(n);
	*ret_view = v;
	return 0;
}

struct listing {
	struct mount *mount;
	const char *path;
	mount_dir_fn *fn;
	void *arg;
	struct buf arrays; /* names of variables that other views may show too, each with its NUL */
	bool more_views;
};

static char *
join(const char *dir, const char *name, const char *suffix)
{
	char *p;
	return asprintf(&p, "%s%s%s%s", dir, *dir ? "/" : "", name, suffix) < 0 ? NULL : p;
}

/* Why a name cannot be that of a file; NULL: it can. */
static const char *
unfit(const char *dir, const char *name)
{
	size_t len = strlen(name);
	if (!len || strchr(name, '/'))
		return "it is no file name";
	if (len > NAME_MAX)
		return "its name is longer than 255 bytes";
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return "its name means a directory";
	if (!*dir && (!strcmp(name, ".zarrfs") || !strcmp(name, ".store")))
		return "the mount has something else of that name";
	return NULL;
}

static int
emit(struct listing *l, const char *name, const char *suffix, unsigned char type)
{
	CLEAN(clean_free) char *path = join(l->path, name, suffix);
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	const char *slash = strrchr(path, '/');
	return l->fn(l->arg, slash ? slash + 1 : path, mount_ino(path), type);
}

static int
list_child(const struct model_child *c, void *arg)
{
	struct listing *l = arg;
	const char *why = unfit(l->path, c->name);
	if (why) {
		notes_add(&l->mount->notes, "left out '%s%s%s': %s", l->path, *l->path ? "/" : "",
			c->name, why);
		return 0;
	}
	bool file = c->kind == NODE_ARRAY || c->kind == NODE_OBJECT;
	int r = emit(l, c->name, "", !c->known ? DT_UNKNOWN : file ? DT_REG : DT_DIR);
	if (r == 0 && l->more_views && c->known && c->kind == NODE_ARRAY)
		r = buf_add(&l->arrays, c->name, strlen(c->name) + 1);
	return r;
}

/* The file that view v makes of a variable, unless a real node has its name or the view has no such file. */
static int
list_view(struct listing *l, const char *name, const struct view_ops *v)
{
	if (strlen(name) + strlen(v->suffix) > NAME_MAX)
		return 0;
	CLEAN(clean_free) char *path = join(l->path, name, v->suffix);
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	CLEAN(node_unrefp) struct node *n = NULL;
	const struct view_ops *found = NULL;
	int r = tree_find(l->mount, path, &n, &found);
	if (r == 0 && found == v)
		return emit(l, name, v->suffix, DT_REG);
	if (r == 0)
		notes_add(&l->mount->notes,
			"left out the '%s' of variable '%s': a node has that name", v->suffix,
			name);
	return r < 0 ? r : 0;
}

static int
list_views(struct listing *l)
{
	const char *name = (const char *)l->arrays.data, *end = name + l->arrays.len;
	int r = 0;
	for (; name < end && r == 0; name += strlen(name) + 1)
		for (const struct view_ops *const *v = view_table + 1; *v && r == 0; v++)
			if ((*v)->listed)
				r = list_view(l, name, *v);
	return r;
}

static bool
has_more_views(void)
{
	for (const struct view_ops *const *v = view_table + 1; *v; v++)
		if ((*v)->listed)
			return true;
	return false;
}

int
tree_list(struct mount *m, const char *path, mount_dir_fn *fn, void *arg)
{
	struct listing l = {m, path, fn, arg, .more_views = has_more_views()};
	int r;
	if (*path == 0 && atomic_load(&m->root_is_array))
		r = list_child(&(struct model_child){m->single, NODE_ARRAY, true}, &l);
	else
		r = model_children(m->model, path, list_child, &l);
	if (r == 0 && l.arrays.len)
		r = list_views(&l);
	buf_free(&l.arrays);
	return r;
}
