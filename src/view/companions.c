#include "view/companions.h"

#include "model/parallel.h"
#include "view/state.h"

#include <string.h>

enum {
	FEW = 128, /* spans: what opening a file may cost of looks at a local store, a tenth of a
		      millisecond each */
};

struct looking {
	struct mount *mount;
	const struct layout *layout;
};

/* What cannot be looked at is said when it is read. */
static void
look(void *arg, size_t i)
{
	const struct looking *g = arg;
	const struct variable *v = g->layout->span[i].variable;
	struct node *now = NULL;
	if (v && model_is_due(g->mount->model, v->node->path) &&
		model_check(g->mount->model, v->node->path, &now) == 0)
		node_unref(now);
}

static bool
has_others(const struct layout *l, const struct node *n)
{
	for (size_t i = 0; i < l->nspans; i++)
		if (l->span[i].variable && strcmp(l->span[i].variable->node->path, n->path) != 0)
			return true;
	return false;
}

bool
companions_look(struct mount *m, const struct node *n, const struct layout *l)
{
	struct looking g = {m, l};
	const bool remote = m->zmap->caps & ZMAP_REMOTE;
	int64_t doubted = model_doubted(m->model, n->path);
	const bool costly = remote || l->nspans > FEW;
	if (!has_others(l, n) || (costly && !doubted && !m->options.read_whole))
		return false;
	in_parallel(l->nspans, remote, look, &g);
	/* The first pass found an array to differ: what was looked at before is due again. */
	if (model_doubted(m->model, n->path) != doubted)
		in_parallel(l->nspans, remote, look, &g);
	return true;
}
