/* The way from the root to a path: the groups above it, and the consolidated metadata that cover
 * it. */
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
