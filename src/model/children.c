/* What lies in a group or directory. */
#include "base/err.h"
#include "base/path.h"
#include "model/names.h"
#include "model/node_cache.h"
#include "model/parallel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A store that cannot list: what NCZarr says of the group. */
static int
names_said(const struct node *n, struct names *ret)
{
	int r = 0;
	if (!n->group || !n->group->nczarr)
		return err_set(-ENOTSUP,
			"this kind of store cannot be listed and has no consolidated metadata; "
			"what is in it can be opened by its name");
	for (size_t i = 0; n->group && i < n->group->norder && r == 0; i++)
		r = strchr(n->group->order[i], '/')
			    ? 0
			    : names_add(ret, n->group->order[i], true, NULL);
	return r;
}

static int
list_names(struct model *m, const struct node *n, struct names *ret)
{
	bool group = n->kind == NODE_GROUP;
	if (!(m->zmap->caps & ZMAP_LIST))
		return names_said(n, ret);
	if (group && names_remembered(m, n->path, ret) == 0)
		return 0;
	CLEAN(clean_free) char *prefix = NULL;
	if (asprintf(&prefix, "%s%s", n->path, *n->path ? "/" : "") < 0)
		return err_set(-ENOMEM, "no memory for a prefix");
	const int64_t begun = clock_now();
	if (m->opt.ttl != INT64_MAX) /* a new name of a local store should not have to wait */
		node_cache_told(begun + (m->zmap->caps & ZMAP_REMOTE ? m->opt.ttl : SECOND));
	int r = zmap_list(m->zmap, prefix, names_entry, ret);
	if (r < 0)
		return r;
	names_sort(ret);
	if (group)
		names_remember(m, n->path, ret, begun);
	else
		names_remember_listed(m, n->path, ret, begun);
	return 0;
}

/* The children of one group being loaded, by several threads where each request costs a round
 * trip. */
struct loading {
	struct model *model;
	const struct path_walk *walk;
	const char *path;
	struct names *names;
};

static int
child_path(const char *dir, const char *name, char *path, size_t size)
{
	int n = snprintf(path, size, "%s%s%s", dir, *dir ? "/" : "", name);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static void
load_one(void *arg, size_t i)
{
	const struct loading *g = arg;
	struct name *n = &g->names->of[i];
	char path[PATH_BYTES_MAX + 1];
	CLEAN(node_unrefp) struct node *node = NULL;
	if (!n->prefix || child_path(g->path, n->name, path, sizeof path) < 0) {
		n->gone = true;
		return;
	}
	int r = node_cache_get_child(g->model, path, HOW_LOOKUP, g->walk, &node);
	if (r == ZMAP_ABSENT) /* it was just listed: an older answer */
		r = node_cache_get_child(g->model, path, HOW_NOW, g->walk, &node);
	n->gone = r == ZMAP_ABSENT;
	n->known = r == 0;
	n->kind = node ? node->kind : NODE_GROUP;
}

static void
load_children(struct model *m, const struct path_walk *w, const char *path, struct names *names)
{
	struct loading g = {.model = m, .walk = w, .path = path, .names = names};
	in_parallel(names->count, m->zmap->caps & ZMAP_REMOTE, load_one, &g);
}

/* Above stores: nothing is looked at, but what is known already is said. */
static void
guess_kinds(struct model *m, const char *dir, struct names *names)
{
	char path[PATH_BYTES_MAX + 1];
	LOCKED(&m->lock) {
		for (size_t i = 0; i < names->count; i++) {
			struct name *n = &names->of[i];
			n->kind = n->prefix ? NODE_PLAIN : NODE_OBJECT;
			n->known = !n->prefix;
			const struct cached_node *p =
				child_path(dir, n->name, path, sizeof path) == 0
					? node_cache_find(m, path)
					: NULL;
			if (n->prefix && p && p->node)
				n->kind = p->node->kind;
		}
	}
}

static int
add_consolidated(void *arg, const char *name, bool array)
{
	struct names *n = arg;
	int r = meta_is_name(name) ? 0 : names_add(n, name, true, NULL);
	if (r == 0 && n->count) {
		n->of[n->count - 1].known = true;
		n->of[n->count - 1].kind = array ? NODE_ARRAY : NODE_GROUP;
	}
	return r;
}

/* Not what was found to be deleted since, or to be of another kind. */
static void
correct_consolidated(
	struct model *m, const struct path_walk *w, const char *dir, struct names *names)
{
	char path[PATH_BYTES_MAX + 1];
	uint64_t id = consolidated_id(w->con);
	LOCKED(&m->lock) {
		for (size_t i = 0; i < names->count; i++) {
			struct name *n = &names->of[i];
			const struct cached_node *p =
				child_path(dir, n->name, path, sizeof path) == 0
					? node_cache_find(m, path)
					: NULL;
			if (!p || !p->known || p->con_id != id)
				continue;
			n->gone = !p->node;
			n->kind = p->node ? p->node->kind : n->kind;
		}
	}
}

/* Names and kinds of all children, as exactly as the group allows; load_only: only what the store
 * has to be asked for. */
static int
read_children(struct model *m, const char *path, bool load_only, struct names *ret)
{
	CLEAN(path_walk_done) struct path_walk w = {0};
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = node_cache_get(m, path, HOW_LOOKUP, &w, &n);
	if (r)
		return r;
	if (n->kind == NODE_ARRAY || n->kind == NODE_OBJECT)
		return err_set(-ENOTDIR, "'%s' is no group", path);
	if (n->error_code == -ENOTSUP)
		return 0;
	if (path_walk_covers(&w)) {
		if (load_only)
			return 0;
		size_t skip = strlen(path) < w.con_skip ? strlen(path) : w.con_skip;
		r = consolidated_children(w.con, path + skip, add_consolidated, ret);
		if (r == 0)
			correct_consolidated(m, &w, path, ret);
		return r;
	}
	r = list_names(m, n, ret);
	if (r < 0)
		return r;
	if (n->kind == NODE_GROUP)
		load_children(m, &w, path, ret);
	else
		guess_kinds(m, path, ret);
	return 0;
}

int
model_children(struct model *m, const char *path, model_child_fn *fn, void *arg)
{
	CLEAN(names_done) struct names names = {0};
	int r = read_children(m, path, false, &names);
	for (size_t i = 0; r == 0 && i < names.count; i++) {
		const struct name *n = &names.of[i];
		const struct model_child child = {n->name, n->kind, n->known};
		if (!n->gone)
			r = fn(&child, arg);
	}
	return r;
}

int
model_preload(struct model *m, const char *path)
{
	CLEAN(names_done) struct names names = {0};
	return read_children(m, path, true, &names);
}

uint64_t
model_consolidated(struct model *m, const char *path)
{
	CLEAN(path_walk_done) struct path_walk w = {0};
	CLEAN(node_unrefp) struct node *n = NULL;
	return node_cache_get(m, path, HOW_LOOKUP, &w, &n) == 0 && path_walk_covers(&w)
		       ? consolidated_id(w.con)
		       : 0;
}

bool
model_has_consolidated(struct model *m)
{
	bool has = false;
	LOCKED(&m->lock) {
		const struct cached_node *root = node_cache_find(m, "");
		has = root && root->con;
	}
	return has;
}

int
model_lookup_known(struct model *m, const char *path, struct node **ret)
{
	CLEAN(path_walk_done) struct path_walk w = {0};
	CLEAN(node_unrefp) struct node *parent = NULL;
	const char *name = path_name(path);
	CLEAN(clean_free) char *dir = path_above(path);
	if (!dir)
		return err_set(-ENOMEM, "no memory for a path");
	int r = *path ? node_cache_get(m, dir, HOW_LOOKUP, &w, &parent) : 0;
	if (r)
		return r;
	const bool covered = path_walk_covers(&w);
	bool lacking = *path && covered && !consolidated_has(w.con, path + w.con_skip);
	LOCKED(&m->lock) {
		const struct cached_node *p = node_cache_find(m, path);
		if (p && p->node)
			lacking = false;    /* it was asked for before */
		else if (*path && !covered) /* what is may have no objects */
			lacking = names_tell(node_cache_find(m, dir), name) == LACK_SURELY;
	}
	return lacking ? ZMAP_ABSENT : model_lookup(m, path, ret);
}
