/* The node at a path, by way of all that stands above it. */
#include "model/probe.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

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
