#include "view/netcdf/nc_crs.h"

#include "model/cf_crs.h"
#include "view/netcdf/nc_build.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

/* What holds for the group is asked for once. */
struct finding {
	struct nc_build *build;
	char *group;    /* its path */
	char *of_group; /* NULL: none */
};

static char *
group_of(const struct nc_build *b)
{
	const char *path = b->node->path, *slash = strrchr(path, '/');
	size_t len = b->node->kind == NODE_GROUP ? strlen(path)
		     : slash                     ? (size_t)(slash - path)
						 : 0;
	return strndup(path, len);
}

static int
wkt_of(const struct node *n, char **ret)
{
	struct attrs as = {0};
	if (!cf_crs_mentioned(n))
		return ZMAP_ABSENT;
	int r = node_attrs(n, &as);
	if (r == 0)
		r = attrs_find(&as, "grid_mapping") ? ZMAP_ABSENT : cf_crs_wkt(&as, ret);
	attrs_free(&as);
	return r;
}

static int
find_of_group(struct finding *f)
{
	CLEAN(node_unrefp) struct node *group = NULL;
	f->group = group_of(f->build);
	if (!f->group)
		return err_set(-ENOMEM, "no memory for a path");
	if (f->build->node->kind == NODE_ARRAY && !*f->build->node->path)
		return 0;
	int r = model_lookup(f->build->mount->model, f->group, &group);
	if (r == 0 && group->kind == NODE_GROUP)
		r = wkt_of(group, &f->of_group);
	return r < 0 ? r : 0;
}

/* Is the array on the group's grid? Bounds and coordinates of two dimensions are not; the roles of
 * arrays are asked for where that costs nothing. */
static int
on_grid(const struct finding *f, const struct node *n)
{
	struct mount *m = f->build->mount;
	struct attrs as = {0};
	enum cf_role role = CF_DATA;
	if (n->array->rank < 2)
		return 0;
	int r = model_consolidated(m->model, f->group) ? roles_of_array(m, n, &role) : 0;
	if (r < 0 || role != CF_DATA)
		return r;
	r = node_attrs(n, &as);
	if (r == 0)
		r = !attrs_find(&as, "grid_mapping");
	attrs_free(&as);
	return r;
}

/* Its own, or that of the group. Caller frees. */
static int
find_one(const struct finding *f, const struct node *n, char **ret)
{
	if (cf_is_coordinate(n))
		return ZMAP_ABSENT;
	int r = wkt_of(n, ret);
	if (r != ZMAP_ABSENT || !f->of_group)
		return r;
	r = on_grid(f, n);
	if (r <= 0)
		return r < 0 ? r : ZMAP_ABSENT;
	*ret = strdup(f->of_group);
	return *ret ? 0 : err_set(-ENOMEM, "no memory for a grid mapping");
}

/* Takes the text over. */
static void
give(struct nc_build *b, struct nc_candidate *c, char *text)
{
	CLEAN(clean_free) char *wkt = text;
	unsigned i = 0;
	while (i < b->ncrs && strcmp(b->crs[i].wkt, wkt) != 0)
		i++;
	if (i == NC_CRS_MAX)
		return;
	if (i == b->ncrs)
		b->crs[b->ncrs++].wkt = MOVE(wkt);
	c->crs = i + 1;
}

int
nc_crs_find(struct nc_build *b)
{
	struct finding f = {.build = b};
	int r = find_of_group(&f);
	for (size_t i = 0; i < b->n && r == 0; i++) {
		struct nc_candidate *c = &b->candidate[i];
		char *wkt = NULL;
		if (c->member >= b->members.of + b->members.own)
			continue;
		r = find_one(&f, c->member->node, &wkt);
		if (r == 0)
			give(b, c, wkt);
		if (r == ZMAP_ABSENT)
			r = 0;
	}
	free(f.group);
	free(f.of_group);
	return r;
}

void
nc_crs_free(struct nc_build *b)
{
	for (unsigned i = 0; i < b->ncrs; i++)
		free(b->crs[i].wkt);
}

size_t
nc_crs_count(struct nc_build *b)
{
	size_t n = 0;
	for (unsigned i = 0; i < b->ncrs; i++)
		b->crs[i].at = SIZE_MAX;
	for (size_t i = 0; i < b->n; i++) {
		const struct nc_candidate *c = &b->candidate[i];
		if (!c->out && c->crs && b->crs[c->crs - 1].at == SIZE_MAX)
			b->crs[c->crs - 1].at = n++;
	}
	return n;
}

/* GDAL reads spatial_ref, CF and PROJ say crs_wkt. */
static int
add_texts(const char *wkt, struct attrs *to)
{
	static const char *const names[] = {"crs_wkt", "spatial_ref", NULL};
	to->attr = calloc(2, sizeof *to->attr);
	for (const char *const *n = names; to->attr && *n; n++) {
		struct attr *a = &to->attr[to->count++];
		a->name = strdup(*n);
		int r = attr_set_text(a, wkt, strlen(wkt));
		if (r < 0 || !a->name)
			return err_set(-ENOMEM, "no memory for attribute '%s'", *n);
	}
	return to->attr ? 0 : err_set(-ENOMEM, "no memory for attributes");
}

int
nc_crs_add(const struct nc_build *b, struct nc_file *f)
{
	int r = 0;
	for (unsigned i = 0; i < b->ncrs && r == 0; i++) {
		if (b->crs[i].at == SIZE_MAX)
			continue;
		struct nc_var *v = &f->var[b->crs[i].at];
		v->type = NC_TYPE_INT;
		v->dim = calloc(1, sizeof *v->dim);
		r = v->dim ? add_texts(b->crs[i].wkt, &v->attrs)
			   : err_set(-ENOMEM, "no memory for a variable");
	}
	return r;
}

const char *
nc_crs_name(const struct nc_build *b, const struct nc_candidate *c, const struct nc_file *f)
{
	return c->crs ? f->var[b->crs[c->crs - 1].at].name : NULL;
}
