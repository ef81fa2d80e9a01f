/* A dimension that gets another name. NCZarr: its group declares the new one beside the old one,
 * then all arrays say that instead, then the old one goes; so a reader meanwhile finds each that an
 * array names. Else: every array of the group that has it. */
#include "base/err.h"
#include "base/json_edit.h"
#include "base/path.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct edit_renaming {
	const char *path; /* of an array that has it */
	unsigned at;      /* which of its dimensions that is */
	const char *to;
	char *name, *fqn; /* as it is called when this begins; some arrays may have the other name
			     by then */
	char *to_fqn;
	struct edit_part *group; /* NCZarr: that declares it */
	struct declared_dim declared;
};

static void
rename_done(struct edit_renaming *r)
{
	free(r->name);
	free(r->fqn);
	free(r->to_fqn);
}

/* --- in the documents of an array --- */

/* Element `at` of a list of names. *ret: does it say that? */
static int
says(struct span list, unsigned at, const char *name, bool *ret)
{
	CLEAN(json_freep) struct json *all = NULL;
	int r = json_parse((const char *)list.data, list.len, &all);
	*ret = r == 0 && json_type(all) == JSON_TYPE_LIST && at < json_count(all) &&
	       json_is(json_at(all, at), name);
	return r;
}

/* Where that list is in the document, if it is there. */
static int
set_in(struct commit *c, const struct edit_renaming *n, struct edit_doc *d, const char *const *path,
	unsigned at, unsigned *found)
{
	const char *const from[] = {n->fqn, n->name}, *const to[] = {n->to_fqn, n->to};
	const struct span list = doc_find(d, path);
	bool is = false;
	int r = 0;
	for (unsigned i = n->fqn ? 0 : 1; r == 0 && list.len && !is && i < 2; i++) {
		r = says(list, at, from[i], &is);
		if (r == 0 && is)
			r = doc_set_text_at(c, d, path, at, to[i]);
	}
	*found += is;
	return r;
}

/* Every list of the array that names its dimensions. */
static int
set_in_lists(struct commit *c, const struct edit_renaming *n, struct edit_part *p, unsigned at)
{
	static const char *const list[][4] = {
		{"dimension_names"},
		{"_ARRAY_DIMENSIONS"},
		{"_nczarr_array", "dimension_references"},
		{"_nczarr_array", "dimrefs"},
		{"_NCZARR_ARRAY", "dimension_references"},
		{"_NCZARR_ARRAY", "dimrefs"},
	};
	unsigned found = 0;
	int r = 0;
	for (size_t i = 0; r == 0 && i < sizeof list / sizeof *list; i++) {
		const char *const inside[] = {"attributes", list[i][0], list[i][1], NULL};
		r = set_in(c, n, p->main, list[i], at, &found);
		if (r == 0 && p->attrs != p->main)
			r = set_in(c, n, p->attrs, list[i], at, &found);
		if (r == 0 && p->v3)
			r = set_in(c, n, p->main, inside, at, &found);
	}
	return r == 0 && !found
		       ? err_set(-EINVAL, "'%s' does not name its dimension '%s'", p->path, n->name)
		       : r;
}

/* The array must then have what was meant. */
static int
check_array(const struct commit *c, const struct edit_renaming *n, const struct edit_part *p,
	unsigned at)
{
	CLEAN(node_unrefp) struct node *now = NULL;
	int r = part_node(c, p, &now);
	if (r == 0 && !(now->array && at < now->array->rank && now->array->dim[at].name &&
			      !strcmp(now->array->dim[at].name, n->to)))
		r = err_set(-EINVAL, "dimension '%s' of '%s' would not be called '%s'", n->name,
			p->path, n->to);
	return r;
}

static int
set_array(struct commit *c, const struct edit_renaming *n, struct edit_part *p)
{
	const struct array_meta *a = p->before ? p->before->array : NULL;
	int r = 0;
	if (array_has_dim(a, n->to_fqn,
		    n->to)) /* stored by an attempt before: for consolidated metadata */
		commit_touch(c, p->main);
	for (unsigned i = 0; r == 0 && a && i < a->rank; i++)
		if (dim_is_called(&a->dim[i], n->fqn, n->name))
			r = set_in_lists(c, n, p, i);
	for (unsigned i = 0; r == 0 && a && i < a->rank; i++)
		if (dim_is_called(&a->dim[i], n->fqn, n->name))
			r = check_array(c, n, p, i);
	return r;
}

/* --- arrays that have it --- */

/* Is there another one of the new name, or of either one another of another size? Arrays that have
 * only the new one may have it from an attempt that failed. */
static int
check_others(const struct commit *c, const struct edit_renaming *n, uint64_t size)
{
	for (size_t k = 0; k < c->parts; k++) {
		const struct array_meta *a = c->part[k]->before->array;
		for (unsigned i = 0; a && i < a->rank; i++) {
			const struct dim *d = &a->dim[i];
			if (dim_is_called(d, n->to_fqn, n->to) &&
				(d->size != size || array_has_dim(a, n->fqn, n->name)))
				return err_set(-EINVAL, "'%s' has a dimension '%s' already",
					c->part[k]->path, n->to);
			if (dim_is_called(d, n->fqn, n->name) && d->size != size)
				return err_set(-EINVAL,
					"dimension '%s' has %" PRIu64
					" elements in '%s', not %" PRIu64,
					n->name, d->size, c->part[k]->path, size);
		}
	}
	return 0;
}

static bool
is_above(const char *group, const char *path)
{
	const char *name = path_name(path);
	const size_t len = name > path ? (size_t)(name - path) - 1 : 0;
	return strlen(group) == len && !strncmp(group, path, len);
}

/* All arrays that have the old name, or the new one, are parts. */
static int
find_parts(struct commit *c, struct edit_renaming *n, const struct edit_part *p)
{
	struct declared_dim other = {0};
	struct edit_part *group;
	if (!n->fqn) {
		int r = commit_share_named(c, p, n->name);
		return r < 0 ? r : commit_share_named(c, p, n->to);
	}
	if (!n->to_fqn && asprintf(&n->to_fqn, "%.*s%s", (int)(path_name(n->fqn) - n->fqn), n->fqn,
				  n->to) < 0) {
		n->to_fqn = NULL;
		return err_set(-ENOMEM, "no memory for a name");
	}
	int r = commit_share(c, p, n->to_fqn, &group, &other);
	if (r == 0)
		r = commit_share(c, p, n->fqn, &n->group, &n->declared);
	if (r == 0 && !n->declared.doc && !other.doc)
		r = err_set(-EINVAL, "no group declares it");
	if (r == 0 && !is_above(n->group->path, p->path))
		r = err_set(-EINVAL, "it is a dimension of the group '%s'",
			*n->group->path ? n->group->path : "/");
	if (r == 0 && other.doc && n->declared.doc && other.size != n->declared.size)
		r = err_set(-EINVAL, "there is a dimension '%s' already", n->to_fqn);
	return r;
}

static int
begin(struct commit *c, struct edit_renaming *n)
{
	struct edit_part *p;
	n->declared = (struct declared_dim){0};
	int r = commit_part(c, n->path, &p);
	if (r == ZMAP_ABSENT || (r == 0 && !(p->before->array && n->at < p->before->array->rank)))
		return err_set(-EIO, "'%s' became something else meanwhile", n->path);
	if (r == 0)
		r = part_check_pure(c, p);
	if (r < 0)
		return r;
	const struct dim *d = &p->before->array->dim[n->at];
	if (!d->name)
		return err_set(-EINVAL, "a dimension of '%s' has no name", n->path);
	if (!n->name && (!(n->name = strdup(d->name)) || (d->fqn && !(n->fqn = strdup(d->fqn)))))
		return err_set(-ENOMEM, "no memory for a name");
	if (!dim_is_called(d, n->fqn, n->name) && !dim_is_called(d, n->to_fqn, n->to))
		return err_set(-EIO, "'%s' became something else meanwhile", n->path);
	r = find_parts(c, n, p);
	return r < 0 ? r : check_others(c, n, d->size);
}

/* --- what is stored --- */

/* The group declares both. */
static int
declare(struct commit *c, void *arg)
{
	struct edit_renaming *n = arg;
	CLEAN(buf_free) struct buf value = {0};
	int r = begin(c, n);
	if (r < 0 || !n->declared.doc)
		return r;
	const char *path[6] = {0};
	const unsigned at = n->group->v3 ? 3 : 2;
	memcpy(path, n->declared.path, (at + 1) * sizeof *path);
	const struct span old = doc_find(n->declared.doc, path);
	r = buf_add(&value, old.data, old.len);
	path[at] = n->to;
	return r < 0 ? r : doc_set(c, n->declared.doc, path, buf_span(&value));
}

static int
use(struct commit *c, void *arg)
{
	struct edit_renaming *n = arg;
	int r = begin(c, n);
	c->together = true; /* no array says anything of another */
	for (size_t k = 0; r == 0 && k < c->parts; k++)
		r = set_array(c, n, c->part[k]);
	c->together = false;
	if (r < 0 || !n->declared.doc)
		return r;
	const char *path[6] = {0};
	memcpy(path, n->declared.path, (n->group->v3 ? 4 : 3) * sizeof *path);
	return doc_del(c, n->declared.doc, path);
}

static int
try_it(struct model *m, struct edit_renaming *n, commit_fn *fn, bool plan, struct cancel *cancel)
{
	CLEAN(commit_done)
	struct commit c = {.model = m,
		.cancel = cancel,
		.plan = plan,
		.deadline = clock_now() + m->opt.timeout};
	if (!plan)
		return commit_run(&c, fn, n);
	int r = fn(&c, n);
	return r < 0 ? r : commit_check(&c);
}

int
model_rename_dim(struct model *m, const char *array, unsigned at, const char *name, bool plan,
	struct cancel *cancel)
{
	CLEAN(rename_done) struct edit_renaming n = {.path = array, .at = at, .to = name};
	if (!*name || strchr(name, '/'))
		return err_set(-EINVAL, "'%.100s' is no name of a dimension", name);
	int r = try_it(m, &n, declare, plan, cancel);
	return r < 0 ? r : try_it(m, &n, use, plan, cancel);
}
