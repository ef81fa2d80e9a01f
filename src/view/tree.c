#include "view/tree.h"

#include "base/path.h"

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

/* Length of path without the suffix of a view of variables, 0: it does not have it. */
static size_t
stem_len(const char *path, const struct view_ops *v)
{
	size_t len = strlen(path_name(path)), suffix = strlen(v->suffix);
	if (v->of_group || !suffix || len <= suffix)
		return 0;
	return strcmp(path + strlen(path) - suffix, v->suffix) == 0 ? strlen(path) - suffix : 0;
}

static const struct view_ops *
group_view(const struct mount *m, const char *name)
{
	for (const struct view_ops *const *v = m->views; *v; v++)
		if ((*v)->of_group && strcmp(name, (*v)->suffix) == 0)
			return *v;
	return NULL;
}

static bool
may_be_view(const struct mount *m, const char *path)
{
	if (group_view(m, path_name(path)))
		return true;
	for (const struct view_ops *const *v = m->views; *v; v++)
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
	const char *name = path_name(path);
	const struct view_ops *v = group_view(m, name);
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

/* The array that path[0, len) names, if it has a file of the view. */
static int
find_array(struct mount *m, const char *path, size_t len, const struct view_ops *v, ask_fn *ask,
	struct node **ret)
{
	CLEAN(clean_free) char *stem = strndup(path, len);
	if (!stem)
		return err_set(-ENOMEM, "no memory for a path");
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = find_node(m, stem, ask, &n);
	if (r)
		return r;
	if (n->kind != NODE_ARRAY || !has_view(m, n, v))
		return ZMAP_ABSENT;
	*ret = MOVE(n);
	return 0;
}

/* Takes ".12" from the end of path[0, *len), if there is something like it behind a name. */
static bool
cut_number(const char *path, size_t *len)
{
	size_t n = *len;
	while (n && path[n - 1] >= '0' && path[n - 1] <= '9')
		n--;
	if (n == *len || n < 2 || path[n - 1] != '.' || path[n - 2] == '/')
		return false;
	*len = n - 1;
	return true;
}

/* The array of which path[0, *len) with the view's suffix is a file, of all of it or of a part;
 * *len becomes that of its name. */
static int
find_shown(struct mount *m, const char *path, size_t *len, const struct view_ops *v, ask_fn *ask,
	struct node **ret)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	const size_t all = *len;
	int r = find_array(m, path, all, v, ask, ret);
	for (unsigned i = 0; r == ZMAP_ABSENT && v->has_part && i < RANK_MAX; i++) {
		if (!cut_number(path, len))
			break;
		r = find_array(m, path, *len, v, ask, &n);
		if (r == 0 && !v->has_part(n, path + *len, all - *len))
			return ZMAP_ABSENT;
		if (r == 0)
			*ret = MOVE(n);
	}
	return r;
}

/* A file that a view makes of a variable: of "t.cdf5.nc", that of the longest variable name that
 * there is. */
static int
find_view(struct mount *m, const char *path, ask_fn *ask, struct node **ret_node,
	const struct view_ops **ret_view)
{
	size_t best = 0;
	for (const struct view_ops *const *v = m->views; *v; v++) {
		size_t len = stem_len(path, *v);
		if (!len)
			continue;
		CLEAN(node_unrefp) struct node *n = NULL;
		int r = find_shown(m, path, &len, *v, ask, &n);
		if (r < 0)
			return r;
		if (r > 0)
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
		*ret_view = (*ret_node)->kind == NODE_ARRAY ? m->views[0] : NULL;
	if (r == ZMAP_ABSENT)
		r = find_group_view(m, path, ret_node, ret_view);
	if (r == ZMAP_ABSENT)
		r = find_view(m, path, ask, ret_node, ret_view);
	return r;
}

/* What GDAL keeps beside a file, with its name or instead of what is behind its '.': beside t2m.nc
 * also "t2m.aux". */
static bool
is_side_suffix(const char *text)
{
	static const char *const known[] = {"aux", "aux.xml", "hdr", "msk", "ovr", NULL};
	unsigned i = 0;
	while (known[i] && strcasecmp(text, known[i]) != 0)
		i++;
	return known[i];
}

/* What programs keep beside a file, "t2m.nc.aux.xml", and look for in vain. Where there are no
 * listings and consolidated metadata have no such name, each would cost a round trip. 1, 0 or
 * -errno. */
static int
is_beside_view(struct mount *m, const char *path)
{
	const unsigned caps = m->zmap->caps & (ZMAP_REMOTE | ZMAP_LIST);
	CLEAN(clean_free) char *stem = strdup(path);
	if (!stem)
		return err_set(-ENOMEM, "no memory for a path");
	const size_t name = (size_t)(path_name(path) - path);
	char *dot = caps == ZMAP_REMOTE ? strrchr(stem + name, '.') : NULL;
	for (; dot && dot > stem + name; dot = strrchr(stem + name, '.')) {
		CLEAN(node_unrefp) struct node *n = NULL;
		CLEAN(node_unrefp) struct node *own = NULL;
		const struct view_ops *v = NULL;
		const bool side = is_side_suffix(path + (dot - stem) + 1);
		*dot = 0;
		int r = side || may_be_view(m, stem) ? find(m, stem, model_lookup_known, &n, &v)
						     : ZMAP_ABSENT;
		if (r < 0)
			return r;
		if (r > 0 || !v || (!*v->suffix && !side))
			continue;
		r = find_node(m, path, model_lookup_known, &own);
		stem[name ? name - 1 : 0] = 0;
		return r < 0 ? r : r == ZMAP_ABSENT && model_consolidated(m->model, stem);
	}
	return 0;
}

int
tree_find(
	struct mount *m, const char *path, struct node **ret_node, const struct view_ops **ret_view)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	const struct view_ops *v = NULL;
	/* `ls -l` asks for t2m.nc: no store should be asked for t2m.nc/.zarray because of that,
	 * where what is known says that there is none. */
	int r = may_be_view(m, path) ? find(m, path, model_lookup_known, &n, &v) : ZMAP_ABSENT;
	int beside = r == ZMAP_ABSENT ? is_beside_view(m, path) : 0;
	if (beside < 0)
		return beside;
	if (r == ZMAP_ABSENT && !beside)
		r = find(m, path, model_lookup, &n, &v);
	if (r)
		return r;
	*ret_node = MOVE(n);
	*ret_view = v;
	return 0;
}
