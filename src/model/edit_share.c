/* Which arrays have a dimension: by its full name below the group that declares it, or by its
 * simple one in their own group. */
#include "base/err.h"
#include "base/list.h"
#include "base/path.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Names in one group, or paths. */
struct members {
	char **name;
	size_t count;
};

static void
members_done(struct members *m)
{
	LIST_FREE(m->name, m->count);
}

/* Arrays by their dimension's name. */
struct dim_users {
	struct commit *commit;
	const char *fqn, *name;         /* one of both */
	char path[PATH_BYTES_MAX + 1];  /* of the group that is gone through */
	const struct group_meta *group; /* where it is declared, as that is now; or NULL */
	unsigned depth;
	struct members found; /* paths of arrays that have it */
};

bool
dim_is_called(const struct dim *d, const char *fqn, const char *name)
{
	return fqn ? d->fqn && !strcmp(d->fqn, fqn) : !d->fqn && d->name && !strcmp(d->name, name);
}

bool
array_has_dim(const struct array_meta *a, const char *fqn, const char *name)
{
	bool has = false;
	for (unsigned i = 0; a && i < a->rank; i++)
		has |= dim_is_called(&a->dim[i], fqn, name);
	return has;
}

static int
add_member(struct members *m, const char *name)
{
	return LIST_TAKE(m->name, m->count, "names", strdup(name));
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
add_child(const struct model_child *child, void *arg)
{
	return child->known && child->kind != NODE_GROUP && child->kind != NODE_ARRAY
		       ? 0
		       : add_member(arg, child->name);
}

/* What a listing or consolidated metadata show, and what NCZarr says, of which the one may be older
 * than the other. Names may stand beside each other twice. */
static int
list_members(const struct dim_users *s, struct members *ret)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	struct model *m = s->commit->model;
	int r = model_children(m, s->path, add_child, ret);
	if (r == 0 && s->depth)
		r = model_lookup(m, s->path, &n);
	const struct group_meta *g = n ? n->group : s->depth ? NULL : s->group;
	for (size_t i = 0; r == 0 && g && i < g->norder; i++)
		r = strchr(g->order[i], '/') ? 0 : add_member(ret, g->order[i]);
	if (r == 0 && ret->count)
		qsort(ret->name, ret->count, sizeof *ret->name, by_name);
	return r;
}

static int share_group(struct dim_users *);

static int
share_member(struct dim_users *s, const char *name)
{
	const size_t len = strlen(s->path);
	CLEAN(node_unrefp) struct node *n = NULL;
	int k = snprintf(s->path + len, sizeof s->path - len, "%s%s", len ? "/" : "", name);
	int r = k < 0 || (size_t)k >= sizeof s->path - len
			? ZMAP_ABSENT
			: model_lookup(s->commit->model, s->path, &n);
	if (r == 0 && array_has_dim(n->array, s->fqn, s->name))
		r = add_member(&s->found, s->path);
	else if (r == 0 && n->kind == NODE_GROUP && s->fqn && s->depth < DEPTH_MAX)
		r = share_group(s);
	s->path[len] = 0;
	return r == ZMAP_ABSENT ? 0 : r;
}

static int
share_group(struct dim_users *s)
{
	CLEAN(members_done) struct members m = {0};
	int r = list_members(s, &m);
	s->depth++;
	for (size_t i = 0; r == 0 && i < m.count; i++)
		if (!i || strcmp(m.name[i], m.name[i - 1]) != 0)
			r = share_member(s, m.name[i]);
	s->depth--;
	return r;
}

/* The group of a full name, below the top of the array's hierarchy. -1: too long. */
static int
group_path(const struct edit_part *p, const char *fqn, char *ret, size_t size)
{
	const char *top = p->walk.in_zarr ? p->walk.up[p->walk.top]->path : "";
	const size_t len = (size_t)(strrchr(fqn, '/') - fqn);
	int n = snprintf(ret, size, "%s%s%.*s", top, *top && len ? "/" : "",
		(int)(len ? len - 1 : 0), fqn + 1);
	return n < 0 || (size_t)n >= size ? -1 : 0;
}

static int
take_arrays(struct commit *c, char *const *path, size_t n, bool v3)
{
	int r = commit_read_arrays(c, path, n, v3);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct edit_part *p;
		r = commit_part(c, path[i], &p);
	}
	return r < 0 ? r : 0;
}

static void
dim_users_done(struct dim_users *s)
{
	members_done(&s->found);
}

int
commit_share(struct commit *c, const struct edit_part *p, const char *fqn,
	struct edit_part **ret_group, struct declared_dim *ret)
{
	CLEAN(dim_users_done) struct dim_users s = {.commit = c, .fqn = fqn};
	struct edit_part *group = NULL;
	if (group_path(p, fqn, s.path, sizeof s.path) < 0)
		return err_set(-ENAMETOOLONG, "dimension '%.60s…' has too long a name", fqn);
	int r = commit_part(c, s.path, &group);
	if (r == 0) {
		find_declared_dim(group, path_name(fqn), ret);
		s.group = group->before->group;
	}
	*ret_group = r == 0 ? group : NULL;
	if (r >= 0)
		r = share_group(&s);
	return r < 0 ? r : take_arrays(c, s.found.name, s.found.count, p->v3);
}

int
commit_share_named(struct commit *c, const struct edit_part *p, const char *name)
{
	CLEAN(dim_users_done) struct dim_users s = {.commit = c, .name = name};
	CLEAN(node_unrefp) struct node *above = NULL;
	const char *last = path_name(p->path);
	snprintf(s.path, sizeof s.path, "%.*s", last > p->path ? (int)(last - p->path) - 1 : 0,
		p->path);
	int r = model_lookup(c->model, s.path, &above);
	if (r == 0 && above->kind == NODE_GROUP) /* else it is the top of its store */
		r = share_group(&s);
	return r < 0 ? r : take_arrays(c, s.found.name, s.found.count, p->v3);
}
