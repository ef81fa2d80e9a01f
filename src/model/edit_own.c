/* After a commit: the model's own nodes follow at once, and know their own. */
#include "base/err.h"
#include "base/hash.h"
#include "base/path.h"
#include "model/edit_impl.h"
#include "model/parallel.h"

#include <string.h>

enum { OWN_MAX = sizeof(((struct model *)0)->own) / sizeof(struct own_change) };

static uint64_t
hash_path(const char *path)
{
	return hash_bytes(HASH_START, path, strlen(path));
}

static struct own_change
own_change(const struct edit_part *p)
{
	struct own_change o = {.path = hash_path(p->path)};
	const struct node *n = p->after;
	if (n)
		memcpy(o.version, n->version, sizeof o.version);
	if (n && n->array && n->array->rank)
		o.rows = n->array->shape[0];
	return o;
}

void
commit_note_own(struct commit *c)
{
	struct model *m = c->model;
	for (size_t i = 0; i < c->parts; i++) {
		const struct own_change o = own_change(c->part[i]);
		LOCKED(&m->lock)
			m->own[m->nown++ % OWN_MAX] = o;
	}
}

void
commit_own_stored(struct commit *c)
{
	struct model *m = c->model;
	for (size_t i = 0; i < c->parts; i++) {
		const struct own_change now = own_change(c->part[i]);
		LOCKED(&m->lock)
			for (unsigned k = 0; k < OWN_MAX && k < m->nown; k++)
				if (m->own[k].path == now.path && m->own[k].rows != now.rows)
					m->own[k] = (struct own_change){0};
	}
}

void
commit_disown(struct commit *c, const struct edit_part *p)
{
	struct model *m = c->model;
	const uint64_t path = hash_path(p->path);
	LOCKED(&m->lock)
		for (unsigned k = 0; k < OWN_MAX && k < m->nown; k++)
			if (m->own[k].path == path)
				m->own[k] = (struct own_change){0};
}

bool
model_is_own(struct model *m, const char *path, const struct node *n)
{
	const uint64_t hash = hash_path(path);
	const char *version = n ? n->version : "";
	bool found = false;
	LOCKED(&m->lock)
		for (unsigned i = 0; i < OWN_MAX && i < m->nown && !found; i++)
			found = m->own[i].path == hash && !strcmp(m->own[i].version, version);
	return found;
}

/* Listings of the group may have other names by now. */
static void
forget_names(struct model *m, const char *path)
{
	CLEAN(clean_free) char *dir = path_above(path);
	LOCKED(&m->lock) {
		m->renamed++;
		m->renamed_at = clock_now();
		struct cached_node *p = dir && *path ? node_cache_find(m, dir) : NULL;
		if (p) {
			p->names_due = 0;
			if (p->listed)
				p->listed->due = 0;
		}
	}
}

static bool
is_known(struct model *m, const char *path)
{
	bool known = false;
	LOCKED(&m->lock)
		known = node_cache_find(m, path);
	return known;
}

/* What cannot be seen just now is looked at when a caller asks. */
static void
look(struct model *m, const char *path)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	if (node_cache_get(m, path, HOW_ALL, NULL, &n) >= 0)
		return;
	LOCKED(&m->lock) {
		struct cached_node *p = node_cache_find(m, path);
		if (p)
			p->due = 0;
	}
}

/* Parts that are looked at again, by several threads where each look costs a round trip. */
struct renewing {
	struct commit *commit;
	bool arrays; /* these, after the groups that they lie in */
};

static void
renew_part(void *arg, size_t i)
{
	const struct renewing *g = arg;
	const struct commit *c = g->commit;
	const struct edit_part *p = c->part[i];
	const bool goes = p->before && !p->after;
	if (p->array != g->arrays || (!p->main->turn && !p->attrs->turn) || (goes && c->emptying))
		return;
	if (!p->before || goes)
		forget_names(c->model, p->path);
	look(c->model, p->path);
}

void
commit_renew(struct commit *c)
{
	const bool remote = c->model->zmap->caps & ZMAP_REMOTE;
	for (size_t i = c->nconsolidated; i > 0; i--) /* the ones above first */
		if (is_known(c->model, c->consolidated[i - 1]))
			look(c->model, c->consolidated[i - 1]);
	in_parallel(c->parts, false, renew_part, &(struct renewing){c, false});
	in_parallel(c->parts, remote, renew_part, &(struct renewing){c, true});
}
