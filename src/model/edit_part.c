/* Nodes of which a commit changes the documents. */
#include "base/err.h"
#include "base/list.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <string.h>

static void
part_free(struct edit_part *p)
{
	if (!p)
		return;
	node_unref(p->before);
	node_unref(p->after);
	path_walk_done(&p->walk);
	free(p->path);
	free(p);
}
CLEAN_DEFINE(struct edit_part, part_free)

void
parts_forget(struct commit *c)
{
	for (size_t i = 0; i < c->parts; i++)
		part_free(c->part[i]);
	free(c->part);
	c->part = NULL;
	c->parts = 0;
}

/* The walk ends with the node itself, which does not stand above its own documents. */
static struct node *
step_back(struct path_walk *w)
{
	struct node *n = w->up[--w->depth];
	if (w->in_zarr && w->top == w->depth)
		w->in_zarr = false;
	return n;
}

static bool
is_v3(const struct node *n)
{
	return n->kind == NODE_GROUP
		       ? n->group && n->group->v3
		       : n->made_of && !strcmp(n->made_of, meta_name[dialect_v3.array][0]);
}

static int
check_kind(const struct path_walk *w, const struct node *n)
{
	const struct group_meta *parent = w->in_zarr ? w->up[w->depth - 1]->group : NULL;
	if (n->kind != NODE_GROUP && n->kind != NODE_ARRAY)
		return err_set(-ENOTSUP, "'%s' is neither a group nor an array", n->path);
	if (n->kind == NODE_GROUP && n->error)
		return err_set(n->error_code, "group '%s': %s", n->path, n->error);
	if ((n->group && n->group->v1) || (parent && parent->v1))
		return err_set(
			-ENOTSUP, "NCZarr as netcdf-c 4.8.0 wrote it is read, but not written");
	if (n->array && n->array->chunks_of)
		return err_set(-EROFS, "'%s' lies in a store that cannot be written", n->path);
	return 0;
}

/* A group below consolidated metadata is known by these: what the store itself has there was not
 * looked at. */
static bool
is_hearsay(const struct edit_part *p)
{
	return !p->array && p->walk.con;
}

static int
read_docs(struct commit *c, struct edit_part *p)
{
	const struct dialect *d = dialect_of(p->v3);
	const char *const main = meta_name[p->array ? d->array : d->group][0];
	const char *const attrs = meta_name[d->attrs][0];
	const struct doc_name each[] = {
		{p->path, main}, {p->path, attrs}, {p->path, meta_name[d->array][0]}};
	int r = commit_read(c, each, d->joint ? 1 : is_hearsay(p) ? 3 : 2);
	if (r == 0)
		r = commit_doc(c, p->path, main, &p->main);
	if (r == 0 && !d->joint)
		r = commit_doc(c, p->path, attrs, &p->attrs);
	if (d->joint)
		p->attrs = p->main;
	return r;
}

int
commit_read_arrays(struct commit *c, char *const *path, size_t n, bool v3)
{
	CLEAN(clean_free) struct doc_name *name = calloc(2 * n + 1, sizeof *name);
	const struct dialect *d = dialect_of(v3);
	size_t count = 0;
	if (!name)
		return err_set(-ENOMEM, "no memory for names");
	for (size_t i = 0; i < n; i++) {
		name[count++] = (struct doc_name){path[i], meta_name[d->array][0]};
		if (!d->joint)
			name[count++] = (struct doc_name){path[i], meta_name[d->attrs][0]};
	}
	return commit_read(c, name, count);
}

int
part_node(const struct commit *c, const struct edit_part *p, struct node **ret)
{
	CLEAN(metas_done) struct metas m = {0};
	const struct dim_scope s = path_walk_scope(&p->walk, c->model);
	const struct dialect *d = dialect_of(p->v3);
	int r = doc_meta(p->main, &m.of[p->array ? d->array : d->group]);
	if (r == 0 && !d->joint)
		r = doc_meta(p->attrs, &m.of[d->attrs]);
	if (r < 0)
		return r;
	return (p->array ? d->read_array : d->read_group)(p->path, &m, &s, ret);
}

static int
add_part(struct commit *c, struct edit_part *p)
{
	return LIST_ADD(c->part, c->parts, "a change", p);
}

static struct edit_part *
find_part(const struct commit *c, const char *path)
{
	for (size_t i = 0; i < c->parts; i++)
		if (!strcmp(c->part[i]->path, path))
			return c->part[i];
	return NULL;
}

static int
new_part(const char *path, struct edit_part **ret)
{
	struct edit_part *p = calloc(1, sizeof *p);
	if (!p || !(p->path = strdup(path))) {
		free(p);
		return err_set(-ENOMEM, "no memory for a change");
	}
	*ret = p;
	return 0;
}

/* A path that is taken for a group, for its own document was not looked at or is not there, may
 * have the document of an array. */
static int
check_group(struct commit *c, const struct edit_part *p)
{
	struct edit_doc *other;
	if (p->array || p->v3 || (p->main->there && !is_hearsay(p)))
		return 0;
	int r = commit_doc(c, p->path, meta_name[META_ARRAY][0], &other);
	return r == 0 && other->there
		       ? err_set(-EIO, "'%s' is taken for a group, but there is '%s'", p->path,
				 other->key)
		       : r;
}

/* Metadata that zarr-python 2 reads get ASCII only, which is all that it knows. (netcdf-c, which
 * reads NCZarr's, does not know \\u.) */
static void
note_ascii(const struct edit_part *p)
{
	p->main->ascii = p->attrs->ascii = !p->v3 && !p->nczarr && !part_types(p);
}

int
commit_part(struct commit *c, const char *path, struct edit_part **ret)
{
	CLEAN(part_freep) struct edit_part *p = NULL;
	CLEAN(node_unrefp) struct node *n = NULL;
	if ((*ret = find_part(c, path)))
		return 0;
	int r = new_part(path, &p);
	if (r == 0)
		r = node_cache_get(c->model, path, HOW_LOOKUP, &p->walk, &n);
	if (r)
		return r;
	node_unref(step_back(&p->walk));
	r = check_kind(&p->walk, n);
	p->v3 = is_v3(n);
	p->array = n->kind == NODE_ARRAY;
	p->nczarr = n->group && n->group->nczarr;
	if (r == 0)
		r = read_docs(c, p);
	if (r == 0)
		r = check_group(c, p);
	if (r < 0)
		return r;
	if (p->array && !p->main->there)
		return ZMAP_ABSENT;
	note_ascii(p);
	r = part_node(c, p, &p->before);
	if (r == 0 && p->before->kind != n->kind)
		r = ZMAP_ABSENT;
	if (r == 0 && p->before->array)
		p->reals = p->before->array->dtype.kind == DTYPE_FLOAT;
	if (r == 0)
		r = add_part(c, p);
	if (r == 0)
		*ret = MOVE(p);
	return r;
}

int
commit_new_part(struct commit *c, struct path_walk *w, const char *path,
	const struct edit_part *kind, struct edit_part **ret)
{
	CLEAN(part_freep) struct edit_part *p = NULL;
	int r = new_part(path, &p);
	if (r < 0)
		return r;
	p->walk = *w;
	*w = (struct path_walk){0};
	p->v3 = kind->v3;
	p->array = kind->array;
	p->nczarr = kind->nczarr;
	p->reals = kind->reals;
	r = read_docs(c, p);
	if (r < 0)
		return r;
	note_ascii(p);
	r = add_part(c, p);
	if (r == 0)
		*ret = MOVE(p);
	return r;
}

int
part_check_pure(const struct commit *c, const struct edit_part *p)
{
	const bool pure = c->model->opt.mode & (URL_ZARR | URL_XARRAY | URL_NOXARRAY);
	if (!pure || !part_types(p))
		return 0;
	return err_set(-ENOTSUP,
		"'%s' has metadata of NCZarr, which are not seen in this mode (#mode=nczarr)",
		p->path);
}

/* What was right is to stay right. */
static int
check_after(const struct edit_part *p)
{
	const struct node *a = p->after, *b = p->before;
	const char *wrong = NULL;
	if (a->error && (!b || !b->error))
		wrong = a->error;
	else if (a->flaw && (!b || !b->flaw))
		wrong = a->flaw;
	else if (a->array && a->array->fill_error && !(b && b->array && b->array->fill_error))
		wrong = a->array->fill_error;
	return wrong ? err_set(-EINVAL, "the metadata of '%s' would make no sense: %s", p->path,
			       wrong)
		     : 0;
}

int
commit_check(struct commit *c)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < c->parts; i++) {
		struct edit_part *p = c->part[i];
		if (!p->main->want && !(p->attrs->want && !p->array))
			continue;
		p->after = node_unref(p->after);
		r = part_node(c, p, &p->after);
		if (r == 0)
			r = check_after(p);
	}
	return r;
}

int
part_need_group(struct commit *c, struct edit_part *p)
{
	static const char *const format[] = {"zarr_format", NULL}, *const type[] = {
									   "node_type", NULL};
	const struct span two = {(const uint8_t *)"2", 1}, three = {(const uint8_t *)"3", 1};
	const struct span group = {(const uint8_t *)"\"group\"", 7};
	if (p->main->want)
		return 0;
	int r = doc_set(c, p->main, format, p->v3 ? three : two);
	return r == 0 && p->v3 ? doc_set(c, p->main, type, group) : r;
}

const char *
part_types(const struct edit_part *p)
{
	static const char *const name[2][5] = {
		{"_nczarr_attr", "_nczarr_array", "_nczarr_group", "_nczarr_superblock", NULL},
		{"_NCZARR_ATTR", "_NCZARR_ARRAY", "_NCZARR_GROUP", "_NCZARR_SUPERBLOCK", NULL},
	};
	for (unsigned older = 0; older < 2; older++)
		for (const char *const *n = name[older]; *n; n++) {
			const char *const in_attrs[] = {
				p->v3 ? "attributes" : *n, p->v3 ? *n : NULL, NULL};
			const char *const in_main[] = {*n, NULL};
			if (doc_find(p->attrs, in_attrs).len || doc_find(p->main, in_main).len)
				return name[older][0];
		}
	return NULL;
}
