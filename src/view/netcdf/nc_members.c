#include "view/netcdf/nc_members.h"

#include "base/list.h"
#include "base/path.h"
#include "base/set.h"
#include "model/cf_ragged.h"
#include "view/netcdf/cdl_members.h"
#include "view/flat.h"
#include "view/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct gathering {
	struct mount *mount;
	struct nc_members *to;
	struct set paths;        /* of those that are there */
	unsigned group;          /* which the next ones are in */
	const struct node *from; /* whose attributes are followed */
	bool bounds_only;
};

void
nc_members_free(struct nc_members *ms)
{
	for (size_t i = 0; i < ms->n; i++) {
		variable_unref(ms->of[i].variable);
		node_unref(ms->of[i].node);
	}
	for (size_t i = 0; i < ms->ngroups; i++)
		node_unref(ms->group[i].node);
	free(ms->group);
	free(ms->of);
	*ms = (struct nc_members){0};
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool
taken(struct gathering *g, const struct node *n)
{
	return set_find(&g->paths, n->path, by_path) != NULL;
}

/* Takes the reference over. */
static int
add_readable(struct gathering *g, struct node *n)
{
	CLEAN(node_unrefp) struct node *node = n;
	struct nc_members *ms = g->to;
	if (taken(g, n))
		return 0;
	uint32_t width = 0;
	int r = LIST_MORE(ms->of, ms->n, "variables");
	if (r == 0 && n->array)
		r = flat_width(g->mount, n, &width);
	if (r == 0)
		r = set_add(&g->paths, n->path, by_path);
	if (r < 0)
		return r;
	ms->of[ms->n++] = (struct nc_member){.node = MOVE(node), .width = width, .group = g->group};
	return 0;
}

static int
leave_out(struct gathering *g, const char *path)
{
	notes_add(&g->mount->notes, "'%s' is in no netCDF file but its own: %s",
		mount_path(g->mount, path), err_text());
	return 0;
}

/* Takes the reference over. How wide texts are that the store denies is not known: they cost the
 * others nothing. */
static int
add(struct gathering *g, struct node *n)
{
	CLEAN(node_unrefp) struct node *held = node_ref(n);
	int r = add_readable(g, n);
	return r == -EACCES ? leave_out(g, held->path) : r;
}

static int
add_coordinates(struct gathering *g, const struct node *n)
{
	int r = 0;
	for (unsigned i = 0; n->array && i < n->array->rank && r >= 0; i++) {
		struct node *found = NULL;
		r = cf_coordinate(g->mount->model, n, i, &found);
		if (r == 0)
			r = add(g, found);
	}
	return r < 0 ? r : 0;
}

static int
add_reference(void *arg, const char *name, enum cf_role role)
{
	struct gathering *g = arg;
	struct node *found = NULL;
	if (g->bounds_only && role != CF_BOUNDS)
		return 0;
	int r = cf_find(g->mount->model, g->from->path, name, &found);
	if (r)
		return r < 0 ? r : 0;
	return add(g, found);
}

static int
add_references(struct gathering *g, const struct node *n, bool bounds_only)
{
	struct attrs as = {0};
	int r = node_attrs(n, &as);
	g->from = n;
	g->bounds_only = bounds_only;
	if (r == 0)
		r = cf_references(&as, add_reference, g);
	attrs_free(&as);
	return r;
}

/* What shares out the samples along a dimension, what tells the instances apart that get them; and
 * those may be shared out in turn. */
struct ragged {
	struct gathering *to;
	const struct node *of;
	struct buf list;
	unsigned depth;
};

/* CF has samples of profiles, and profiles of stations. */
enum { RAGGED_DEPTH_MAX = 3 };

static int
add_beside(struct ragged *g, const char *name, struct node **ret)
{
	const char *slash = strrchr(g->of->path, '/');
	CLEAN(clean_free) char *path = NULL;
	CLEAN(node_unrefp) struct node *n = NULL;
	int len = slash ? (int)(slash - g->of->path) + 1 : 0;
	if (asprintf(&path, "%.*s%s", len, g->of->path, name) < 0)
		return err_set(-ENOMEM, "no memory for a path");
	int r = model_lookup(g->to->mount->model, path, &n);
	if (r || n->kind != NODE_ARRAY || taken(g->to, n))
		return r < 0 ? r : ZMAP_ABSENT;
	r = add(g->to, node_ref(n));
	if (r == 0)
		*ret = MOVE(n);
	return r;
}

static int add_along(struct ragged *g, const char *samples, const char *instances);

/* Of instances that have just got something that shares samples out among them. */
static int
add_instances(struct ragged *g, const char *dim)
{
	int r = add_along(g, "", dim);
	if (r < 0 || g->depth == RAGGED_DEPTH_MAX)
		return r;
	g->depth++;
	r = add_along(g, dim, NULL);
	g->depth--;
	return r;
}

/* Those of the list that go with samples, or with nothing but instances, along a dimension. */
static int
add_along(struct ragged *g, const char *samples, const char *instances)
{
	struct cf_ragged c;
	int r = 0;
	for (size_t at = 0; r == 0 && cf_ragged_next(&g->list, &at, &c);) {
		CLEAN(node_unrefp) struct node *n = NULL;
		if (strcmp(c.samples, samples) != 0 ||
			(instances && strcmp(c.instances, instances) != 0))
			continue;
		r = add_beside(g, c.name, &n);
		if (r == 0)
			r = add_coordinates(g->to, n);
		if (r == 0 && !instances)
			r = add_instances(g, c.instances);
		if (r == ZMAP_ABSENT)
			r = 0;
	}
	return r;
}

static int
add_ragged(struct gathering *g, const struct node *n)
{
	struct ragged ragged = {.to = g, .of = n};
	int r = n->array && n->array->rank ? roles_ragged(g->mount, n, &ragged.list) : 0;
	for (unsigned i = 0; r == 0 && ragged.list.len && i < n->array->rank; i++)
		if (n->array->dim[i].name)
			r = add_along(&ragged, n->array->dim[i].name, NULL);
	buf_free(&ragged.list);
	return r;
}

static int
finish(struct gathering *g, int r)
{
	set_free(&g->paths, NULL);
	if (r < 0)
		nc_members_free(g->to);
	return r;
}

int
nc_members_of_array(struct mount *m, const struct node *n, struct nc_members *ret)
{
	*ret = (struct nc_members){0};
	struct gathering g = {.mount = m, .to = ret};
	int r = add_readable(&g, node_ref((struct node *)n));
	ret->own = ret->n;
	if (r == 0)
		r = add_coordinates(&g, n);
	if (r == 0)
		r = add_references(&g, n, false);
	size_t direct = ret->n;
	for (size_t i = 1; i < direct && r == 0; i++)
		r = add_references(&g, ret->of[i].node, true);
	if (r == 0)
		r = add_ragged(&g, n);
	return finish(&g, r);
}

static int
add_child(const struct model_child *c, void *arg)
{
	struct buf *names = arg;
	return c->kind == NODE_ARRAY || !c->known ? buf_add(names, c->name, strlen(c->name) + 1)
						  : 0;
}

static int
add_named(struct gathering *g, const struct node *group, const char *name)
{
	CLEAN(clean_free) char *path = path_in(group->path, name);
	struct node *n = NULL;
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	int r = model_lookup(g->mount->model, path, &n);
	if (r == 0 && n->kind == NODE_ARRAY)
		return add(g, n);
	node_unref(n);
	if (r == -EACCES)
		return leave_out(g, path);
	return r < 0 ? r : 0;
}

int
nc_members_of_group(struct mount *m, const struct node *group, struct nc_members *ret)
{
	*ret = (struct nc_members){0};
	if (group->kind == NODE_ARRAY)
		return nc_members_of_array(m, group, ret);
	struct gathering g = {.mount = m, .to = ret};
	CLEAN(buf_free) struct buf names = {0};
	int r = model_preload(m->model, group->path);
	if (r == 0)
		r = model_children(m->model, group->path, add_child, &names);
	const char *name;
	for (size_t at = 0; r == 0 && at < names.len; at += strlen(name) + 1) {
		name = (const char *)names.data + at;
		r = add_named(&g, group, name);
	}
	ret->own = ret->n;
	for (size_t i = 0; i < ret->own && r == 0; i++)
		r = add_coordinates(&g, ret->of[i].node);
	return finish(&g, r);
}

/* Where nothing tells all nodes at once, so many are asked for. */
enum { TREE_NODES_MAX = 1000 };

/* Takes the reference over. */
static int
add_group(struct nc_members *ms, struct node *n, unsigned parent)
{
	int r = LIST_ADD(ms->group, ms->ngroups, "groups", (struct nc_member_group){n, parent});
	if (r < 0)
		node_unref(n);
	return r;
}

/* What lies in the group g->group. */
static int
add_contents(struct gathering *g)
{
	const struct node *n = g->to->group[g->group].node;
	CLEAN(cdl_members_done) struct cdl_members in = {.nodes_only = true};
	int r = model_preload(g->mount->model, n->path);
	if (r == 0)
		r = cdl_members_load(g->mount, n, &in);
	for (size_t i = 0; i < in.nvars && r == 0; i++)
		r = add(g, node_ref(in.var[i].node));
	for (size_t i = 0; i < in.ngroups && r == 0; i++)
		r = add_group(g->to, node_ref(in.group[i]), g->group);
	return r;
}

int
nc_members_of_tree(struct mount *m, const struct node *top, struct nc_members *ret)
{
	*ret = (struct nc_members){0};
	if (top->kind == NODE_ARRAY)
		return nc_members_of_array(m, top, ret);
	struct gathering g = {.mount = m, .to = ret};
	bool known = model_consolidated(m->model, top->path) != 0;
	int r = add_group(ret, node_ref((struct node *)top), 0);
	for (; r == 0 && g.group < ret->ngroups; g.group++) {
		r = add_contents(&g);
		if (r == 0 && !known && ret->n + ret->ngroups > TREE_NODES_MAX)
			r = err_set(-EFBIG,
				"more than %d groups and variables, and no consolidated metadata",
				TREE_NODES_MAX);
	}
	ret->own = ret->n;
	g.group = 0;
	for (size_t i = 0; *top->path && i < ret->own && r == 0; i++)
		r = add_coordinates(&g, ret->of[i].node);
	return finish(&g, r);
}

/* It may go better the next time. */
static bool
passes(int code)
{
	return code == -ENOMEM || code == -EINTR || code == -ETIMEDOUT;
}

int
nc_members_open(struct mount *m, struct nc_members *ms)
{
	for (size_t i = 0; i < ms->n; i++) {
		struct nc_member *a = &ms->of[i];
		const struct node *n = a->node;
		int r = n->error || !n->array
				? err_set(-EIO, "%s", n->error ? n->error : "its type is not known")
				: variable_get_closed(m, n, a->width, &a->variable);
		if (passes(r))
			return r;
		if (r < 0)
			notes_add(&m->notes, "variable '%s' is in no netCDF file: %s",
				mount_path(m, n->path), err_text());
	}
	return 0;
}
