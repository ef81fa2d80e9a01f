#include "view/tree.h"

#include "view/state.h"

#include <errno.h>
#include <string.h>

/* How the model is asked for a name. */
typedef int ask_fn(struct model *, const char *path, struct node **ret);

static int
find_node(struct mount *m, const char *path, ask_fn *ask, struct node **ret)
{
	if (!atomic_load(&m->root_is_array))
		return ask(m->model, path, ret);
	return strcmp(path, m->single) == 0 ? ask(m->model, "", ret) : ZMAP_ABSENT;
}

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Length of path without the suffix of a view of variables, 0: it does not have it. */
static size_t
stem_len(const char *path, const struct view_ops *v)
{
	size_t len = strlen(last_part(path)), suffix = strlen(v->suffix);
	if (v->of_group || !suffix || len <= suffix)
		return 0;
	return strcmp(path + strlen(path) - suffix, v->suffix) == 0 ? strlen(path) - suffix : 0;
}

static const struct view_ops *
group_view(const char *name)
{
	for (const struct view_ops *const *v = view_table; *v; v++)
		if ((*v)->of_group && strcmp(name, (*v)->suffix) == 0)
			return *v;
	return NULL;
}

static bool
may_be_view(const char *path)
{
	if (group_view(last_part(path)))
		return true;
	for (const struct view_ops *const *v = view_table; *v; v++)
		if (stem_len(path, *v))
			return true;
	return false;
}

static bool
has_view(struct mount *m, const struct node *n, const struct view_ops *v)
{
	return !v->applies || v->applies(m, n);
}

/* A file of the group that path lies in. */
static int
find_group_view(
	struct mount *m, const char *path, struct node **ret_node, const struct view_ops **ret_view)
{
	const char *name = last_part(path);
	const struct view_ops *v = group_view(name);
	CLEAN(node_unrefp) struct node *n = NULL;
	bool single = atomic_load(&m->root_is_array);
	if (!v || (single && name != path))
		return ZMAP_ABSENT;
	CLEAN(clean_free) char *dir = strndup(path, name == path ? 0 : (size_t)(name - path - 1));
	if (!dir)
		return err_set(-ENOMEM, "no memory for a path");
	int r = model_lookup(m->model, dir, &n);
	if (r)
		return r;
	if (n->kind != (single ? NODE_ARRAY : NODE_GROUP) || n->error || !has_view(m, n, v))
		return ZMAP_ABSENT;
	*ret_node = MOVE(n);
	*ret_view = v;
	return 0;
}

/* A file that a view makes of a variable: of "t.cdf5.nc", that of the longest variable name that there is. */
static int
find_view(struct mount *m, const char *path, ask_fn *ask, struct node **ret_node,
	const struct view_ops **ret_view)
{
	size_t best = 0;
	for (const struct view_ops *const *v = view_table; *v; v++) {
		size_t len = stem_len(path, *v);
		if (!len)
			continue;
		CLEAN(clean_free) char *stem = strndup(path, len);
		if (!stem)
			return err_set(-ENOMEM, "no memory for a path");
		CLEAN(node_unrefp) struct node *n = NULL;
		int r = find_node(m, stem, ask, &n);
		if (r < 0)
			return r;
		if (r > 0 || n->kind != NODE_ARRAY || !has_view(m, n, *v))
			continue;
		if (best)
			notes_add(&m->notes,
				"'%s' is the file of the variable with the longest name", path);
		if (len <= best)
			continue;
		best = len;
		node_unref(*ret_node);
		*ret_node = MOVE(n);
		*ret_view = *v;
	}
	return best ? 0 : ZMAP_ABSENT;
}

/* A node of that name; else a file of its group; else one of a variable. */
static int
find(struct mount *m, const char *path, ask_fn *ask, struct node **ret_node,
	const struct view_ops **ret_view)
{
	int r = find_node(m, path, ask, ret_node);
	if (r == 0)
		*ret_view = (*ret_node)->kind == NODE_ARRAY ? view_table[0] : NULL;
	if (r == ZMAP_ABSENT)
		r = find_group_view(m, path, ret_node, ret_view);
	if (r == ZMAP_ABSENT)
		r = find_view(m, path, ask, ret_node, ret_view);
	return r;
}

int
tree_find(
	struct mount *m, const char *path, struct node **ret_node, const struct view_ops **ret_view)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	const struct view_ops *v = NULL;
	/* `ls -l` asks for t2m.nc: no store should be asked for t2m.nc/.zarray because of that, where what is known says that there is none. */
	int r = may_be_view(path) ? find(m, path, model_lookup_known, &n, &v) : ZMAP_ABSENT;
	if (r == ZMAP_ABSENT)
		r = find(m, path, model_lookup, &n, &v);
	if (r)
		return r;
	*ret_node = MOVE(n);
	*ret_view = v;
	return 0;
}
