#include "view/netcdf/cdl_members.h"

#include "base/mem.h"
#include "base/path.h"
#include "model/parallel.h"
#include "view/flat.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

void
cdl_members_done(struct cdl_members *g)
{
	for (size_t i = 0; i < g->nvars; i++) {
		node_unref(g->var[i].node);
		free(g->var[i].shown);
		free(g->var[i].dtype);
		free(g->var[i].type);
		free(g->var[i].why);
		nc_columns_free(&g->var[i].columns);
	}
	for (size_t i = 0; i < g->ngroups; i++) {
		node_unref(g->group[i]);
		free(g->group_shown[i]);
	}
	free(g->var);
	free(g->group);
	free(g->group_shown);
	nc_taken_free(&g->names);
}

struct child {
	const char *name;
	bool array;
	size_t rank; /* in NCZarr's order of definition; SIZE_MAX: it does not say */
};

struct children {
	struct buf names; /* 'a' or 'g', name, NUL */
	struct child *of;
	size_t n;
};

static void
children_done(struct children *c)
{
	buf_free(&c->names);
	free(c->of);
}

static int
keep_child(const struct model_child *c, void *arg)
{
	struct children *all = arg;
	const char kind = c->kind == NODE_ARRAY ? 'a' : 'g';
	if (!c->known || (c->kind != NODE_ARRAY && c->kind != NODE_GROUP))
		return 0;
	all->n++;
	int r = buf_add(&all->names, &kind, 1);
	return r < 0 ? r : buf_add(&all->names, c->name, strlen(c->name) + 1);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct child *)a)->name, ((const struct child *)b)->name);
}

static int
by_rank(const void *a, const void *b)
{
	const struct child *x = a, *y = b;
	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

/* Mostly they come by name, and no other order is said: then there is nothing to do. */
static void
sort(struct children *all, int (*order)(const void *, const void *))
{
	size_t i = 1;
	while (i < all->n && order(&all->of[i - 1], &all->of[i]) <= 0)
		i++;
	if (i < all->n)
		qsort(all->of, all->n, sizeof *all->of, order);
}

/* In the order in which NCZarr says they were defined, the others behind them by name. */
static int
list_children(struct mount *m, const struct node *n, struct children *ret)
{
	int r = model_children(m->model, n->path, keep_child, ret);
	if (r)
		return r < 0 ? r : 0;
	ret->of = calloc(ret->n + 1, sizeof *ret->of);
	if (!ret->of)
		return err_set(-ENOMEM, "no memory for %zu names", ret->n);
	const char *p = (const char *)ret->names.data;
	for (size_t i = 0; i < ret->n; i++, p += strlen(p) + 1)
		ret->of[i] = (struct child){p + 1, *p == 'a', SIZE_MAX};
	sort(ret, by_name);
	for (size_t i = 0; n->group && i < n->group->norder; i++) {
		const struct child key = {.name = n->group->order[i]};
		struct child *c = bsearch(&key, ret->of, ret->n, sizeof key, by_name);
		if (c && c->rank == SIZE_MAX)
			c->rank = i;
	}
	sort(ret, by_rank);
	return 0;
}

struct preload {
	struct mount *mount;
	const struct node *group;
	const struct children *all;
};

static void
preload_one(void *arg, size_t i)
{
	const struct preload *p = arg;
	const struct child *c = &p->all->of[i];
	CLEAN(clean_free) char *path = c->array ? NULL : path_in(p->group->path, c->name);
	if (path)
		model_preload(p->mount->model, path); /* if it fails, the next one to ask says so */
}

/* What lies in the groups, of all of them at once: one after another each would wait for the
 * store. */
static void
preload_groups(struct mount *m, const struct node *n, const struct children *all)
{
	struct preload p = {m, n, all};
	if (m->zmap->caps & ZMAP_REMOTE)
		in_parallel(all->n, true, preload_one, &p);
}

/* What a variable is, and why it is left out. */
static int
describe_variable(struct mount *m, struct cdl_variable *v)
{
	const struct node *n = v->node;
	bool known = n->array && !(n->error && n->array->dtype.kind == DTYPE_RAW);
	int r = known ? flat_width(m, n, &v->width)
		      : err_set(-ENOTSUP, "%s", n->error ? n->error : "its metadata are odd");
	if (r == 0)
		r = nc_columns_make(n->array, v->width, &v->columns);
	if (r != -ENOTSUP && r != -EACCES)
		return r;
	v->why = strdup(err_text());
	return v->why ? 0 : err_set(-ENOMEM, "no memory for a message");
}

bool
cdl_is_compound(const struct cdl_variable *v)
{
	return v->node->array && v->node->array->dtype.kind == DTYPE_STRUCT;
}

static int
add_array(struct mount *m, struct cdl_members *g, struct node *n)
{
	struct cdl_variable *v = &g->var[g->nvars++];
	v->node = n;
	if (n->mtime > g->mtime)
		g->mtime = n->mtime;
	if (g->nodes_only)
		return 0;
	v->shown = nc_name_once(&g->names, *n->path ? n->name : m->single);
	return v->shown ? describe_variable(m, v) : err_set(-ENOMEM, "no memory for a name");
}

static int
add_group(struct cdl_members *g, struct node *n)
{
	size_t i = g->ngroups++;
	g->group[i] = n;
	if (g->nodes_only)
		return 0;
	g->group_shown[i] = nc_name_once(&g->names, n->name);
	return g->group_shown[i] ? 0 : err_set(-ENOMEM, "no memory for a name");
}

static int
load_children(struct mount *m, const struct node *n, struct cdl_members *g)
{
	CLEAN(children_done) struct children all = {0};
	int r = list_children(m, n, &all);
	if (r < 0)
		return r;
	preload_groups(m, n, &all);
	g->var = calloc(all.n + 1, sizeof *g->var);
	g->group = calloc(all.n + 1, sizeof *g->group);
	g->group_shown = calloc(all.n + 1, sizeof *g->group_shown);
	if (!g->var || !g->group || !g->group_shown)
		return err_set(-ENOMEM, "no memory for %zu nodes", all.n);
	for (size_t i = 0; i < all.n && r >= 0; i++) {
		mem_ahead(i);
		CLEAN(clean_free) char *path = path_in(n->path, all.of[i].name);
		struct node *c = NULL;
		if (!path)
			return err_set(-ENOMEM, "no memory for a path");
		r = model_lookup(m->model, path, &c);
		if (r == 0 && c->kind == NODE_ARRAY)
			r = add_array(m, g, c);
		else if (r == 0 && c->kind == NODE_GROUP)
			r = add_group(g, c);
		else
			node_unref(c);
		if (r == -EACCES) {
			notes_add(&m->notes, "'%s' is not in the files of its group: %s", path,
				err_text());
			r = 0;
		}
	}
	return r < 0 ? r : 0;
}

int
cdl_members_load(struct mount *m, const struct node *n, struct cdl_members *g)
{
	if (n->kind != NODE_ARRAY)
		return load_children(m, n, g);
	g->var = calloc(1, sizeof *g->var);
	return g->var ? add_array(m, g, node_ref((struct node *)n))
		      : err_set(-ENOMEM, "no memory for a variable");
}
