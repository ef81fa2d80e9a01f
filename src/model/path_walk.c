/* The way from the root to a path: the groups above it, and the consolidated metadata that cover it. */
#include "model/probe.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

void
path_walk_done(struct path_walk *w)
{
	for (unsigned i = 0; i < w->depth; i++)
		node_unref(w->up[i]);
	consolidated_unref(w->con);
	*w = (struct path_walk){0};
}

struct dim_scope
path_walk_scope(const struct path_walk *w, const struct model *m)
{
	return (struct dim_scope){
		.group = w->up + w->top,
		.depth = w->in_zarr ? w->depth - w->top : 0,
		.mode = m->opt.mode,
	};
}

bool
path_walk_covers(const struct path_walk *w)
{
	const char *path = w->depth ? w->up[w->depth - 1]->path : "";
	if (!w->con)
		return false;
	/* con's own group has a path one shorter than con_skip */
	return strlen(path) < w->con_skip || consolidated_has(w->con, path + w->con_skip);
}

/* Takes the node over: it now stands above what comes next. */
static void
step(struct model *m, struct path_walk *w, struct node *n)
{
	if (n->kind == NODE_GROUP && !w->in_zarr) {
		w->in_zarr = true;
		w->top = w->depth;
	}
	w->up[w->depth++] = n;
	LOCKED(&m->lock) {
		const struct cached_node *p = node_cache_find(m, n->path);
		if (p && p->con) {
			consolidated_unref(w->con);
			w->con = consolidated_ref(p->con);
			w->con_skip = strlen(n->path) + (*n->path != 0);
			w->con_beside_objects = seen_any(p->seen, G | V3);
		}
	}
}

/* Does anything lie below it that we show? */
static bool
has_children(const struct node *n)
{
	return n->kind == NODE_PLAIN || (n->kind == NODE_GROUP && n->error_code != -ENOTSUP);
}

static bool
is_node_path(const char *path)
{
	if (strlen(path) > PATH_BYTES_MAX || (*path && zmap_check_key(path) < 0))
		return false;
	unsigned depth = 1;
	for (const char *p = path; (p = strchr(p, '/')); p++)
		depth++;
	return depth < DEPTH_MAX;
}

int
node_cache_get(struct model *m, const char *path, enum how how, struct path_walk *ret_walk,
	struct node **ret)
{
	CLEAN(path_walk_done) struct path_walk own_walk = {0};
	struct path_walk *w = ret_walk ? ret_walk : &own_walk;
	char prefix[PATH_BYTES_MAX + 1];
	if (!is_node_path(path))
		return ZMAP_ABSENT;
	w->deadline = clock_now() + m->opt.timeout;
	bool trust = m->opt.consolidated == CONSOLIDATED_TRUST;
	size_t end = 0;
	for (bool root = true;; root = false) {
		size_t begin = root || !end ? 0 : end + 1;
		end = root ? 0 : begin + strcspn(path + begin, "/");
		memcpy(prefix, path, end);
		prefix[end] = 0;
		if (meta_is_name(prefix + begin))
			return ZMAP_ABSENT;
		bool last = !path[end];
		CLEAN(node_unrefp) struct node *n = NULL;
		const enum how step_how = last || (trust && how >= HOW_NOW) ? how : HOW_LOOKUP;
		const bool walked = last && how == HOW_LOOKUP && w->depth && !w->in_zarr &&
				    m->zmap->caps & ZMAP_REMOTE;
		int r = walked ? siblings_get(m, prefix, w, &n)
			       : node_cache_get_child(m, prefix, step_how, w, &n);
		if (r)
			return r;
		if (last) {
			*ret = node_ref(n);
			if (ret_walk)
				step(m, w, MOVE(n));
			return 0;
		}
		if (!has_children(n))
			return ZMAP_ABSENT;
		step(m, w, MOVE(n));
	}
}
