#include "view/netcdf/nc_tree.h"

#include "model/cf.h"
#include "model/dims.h"
#include "view/netcdf/nc_attrs.h"
#include "view/netcdf/nc_build.h"
#include "view/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static size_t
number_of_groups(const struct nc_build *b)
{
	return b->members.ngroups ? b->members.ngroups : 1;
}

static const struct node *
group_node(const struct nc_build *b, unsigned g)
{
	return b->members.group[g].node;
}

int
nc_tree_declare(struct nc_build *b)
{
	size_t most = 0;
	CLEAN(clean_free) char *top = NULL;
	if (!b->members.ngroups)
		return 0;
	int r = cf_top(b->mount->model, b->node->path, &top);
	if (r < 0)
		return r;
	b->top = strlen(top);
	for (unsigned g = 0; g < b->members.ngroups; g++)
		most += group_node(b, g)->group ? group_node(b, g)->group->ndims : 0;
	b->declared = calloc(most + 1, sizeof *b->declared);
	if (!b->declared)
		return err_set(-ENOMEM, "no memory for dimensions");
	for (unsigned g = 0; g < b->members.ngroups; g++) {
		const struct group_meta *m = group_node(b, g)->group;
		for (size_t i = 0; m && i < m->ndims; i++) {
			char room[DIM_NAME_ROOM];
			const struct nc_dim_use wanted = {.name = dim_name(&m->dim[i], room),
				.size = m->dim[i].size,
				.group = g};
			struct nc_dim_use *u = nc_build_use(b, &wanted);
			if (!u)
				return err_set(-ENOMEM, "no memory for a dimension");
			u->unlimited |= m->dim[i].unlimited;
			if (!u->declared)
				b->declared[b->ndeclared++] = u;
			u->declared = true;
		}
	}
	return 0;
}

/* Of group g and those above it the one whose path, from where full names begin, has len bytes and
 * is this; the top where none is. */
static unsigned
find_above(const struct nc_build *b, unsigned g, const char *path, size_t len)
{
	for (;; g = b->members.group[g].parent) {
		const char *p = group_node(b, g)->path;
		p += strlen(p) > b->top ? b->top : strlen(p);
		p += *p == '/';
		if ((strlen(p) == len && memcmp(p, path, len) == 0) || !g)
			return g;
	}
}

static unsigned
group_of_array(const struct nc_build *b, unsigned g, const struct node *n)
{
	const char *slash = strrchr(n->path, '/');
	size_t len = slash ? (size_t)(slash - n->path) : 0, skip = b->top;
	skip += len > skip && n->path[skip] == '/';
	return find_above(b, g, n->path + (len > skip ? skip : len), len > skip ? len - skip : 0);
}

int
nc_tree_owner(struct nc_build *b, const struct nc_candidate *c, unsigned k, unsigned *ret)
{
	const struct node *n = c->member->node;
	const struct dim *d = &n->array->dim[k];
	const char *slash = d->fqn ? strrchr(d->fqn, '/') : NULL;
	unsigned g = c->member->group;
	CLEAN(node_unrefp) struct node *found = NULL;
	*ret = g;
	if (!d->name || !g)
		return 0;
	if (slash) {
		size_t len = slash > d->fqn ? (size_t)(slash - d->fqn) - 1 : 0;
		*ret = find_above(b, g, d->fqn + 1, len);
		return 0;
	}
	int r = cf_coordinate(b->mount->model, n, k, &found);
	if (r == 0)
		*ret = group_of_array(b, g, found);
	if (r != ZMAP_ABSENT)
		return r;
	struct nc_dim_use like = {.name = d->name, .size = d->size};
	for (unsigned u = g;; u = b->members.group[u].parent) {
		like.group = u;
		if (nc_build_known(b, &like)) {
			*ret = u;
			return 0;
		}
		if (!u)
			return 0;
	}
}

void
nc_tree_names_free(const struct nc_build *b, struct nc_taken *taken)
{
	for (size_t g = 0; taken && g < number_of_groups(b); g++)
		nc_taken_free(&taken[g]);
	free(taken);
}

int
nc_tree_names(const struct nc_build *b, const struct nc_file *f, struct nc_taken **ret)
{
	struct nc_taken *taken = calloc(number_of_groups(b), sizeof *taken);
	if (!taken)
		return err_set(-ENOMEM, "no memory for names");
	for (unsigned g = 0; g < f->ngroups; g++) {
		CLEAN(clean_free)
		char *name = nc_name_once(&taken[f->group[g].parent], f->group[g].name);
		if (!name) {
			nc_tree_names_free(b, taken);
			return err_set(-ENOMEM, "no memory for names");
		}
	}
	*ret = taken;
	return 0;
}

static int
add_attrs(struct nc_build *b, const struct node *n, enum cdf_format format, struct attrs *ret)
{
	static const struct nc_attrs_of of = {.lists = true};
	struct attrs stored = {0};
	int r = node_attrs(n, &stored);
	if (r == 0)
		r = nc_attrs_make(&stored, &of, format, ret);
	if (r == 0)
		nc_build_note(b, n->path, ret);
	attrs_free(&stored);
	return r;
}

int
nc_tree_add_groups(struct nc_build *b, struct nc_file *f)
{
	size_t n = b->members.ngroups;
	struct nc_taken *taken = NULL;
	if (n < 2)
		return 0;
	f->group = calloc(n, sizeof *f->group);
	int r = f->group ? nc_tree_names(b, f, &taken) : err_set(-ENOMEM, "no memory for groups");
	for (unsigned g = 1; g < n && r == 0; g++) {
		struct nc_group *to = &f->group[f->ngroups++];
		to->parent = b->members.group[g].parent;
		to->name = nc_name_once(&taken[to->parent], group_node(b, g)->name);
		r = to->name ? add_attrs(b, group_node(b, g), f->format, &to->attrs)
			     : err_set(-ENOMEM, "no memory for a name");
	}
	nc_tree_names_free(b, taken);
	return r;
}

void
nc_build_note(struct nc_build *b, const char *path, const struct attrs *as)
{
	for (size_t i = 0; i < as->nproblems; i++)
		notes_add(&b->mount->notes, "'%s': %s", mount_path(b->mount, path), as->problem[i]);
}
