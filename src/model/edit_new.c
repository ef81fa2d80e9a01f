/* New groups and arrays. An array's own documents come first, its .zarray last of them: from then
 * on it is there. Then what NCZarr says of it in its group. */
#include "base/err.h"
#include "base/json_edit.h"
#include "base/path.h"
#include "model/dims.h"
#include "model/edit_impl.h"
#include "model/encode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int
commit_set_text(struct commit *c, struct edit_doc *d, const struct buf *text)
{
	buf_free(&d->text);
	commit_touch(c, d);
	return buf_add(&d->text, text->data, text->len);
}

static int
exists(const char *path)
{
	return err_set(-EEXIST, "there is a '%s' already", path);
}

int
commit_check_free(struct commit *c, const struct edit_part *p, const struct buf *text, bool again)
{
	const struct edit_doc *d = p->main;
	struct edit_doc *other;
	bool own =
		again && d->text.len == text->len && !memcmp(d->text.data, text->data, text->len);
	if (d->there && !own)
		return exists(p->path);
	const struct dialect *dialect = dialect_of(p->v3);
	if (dialect->joint)
		return 0;
	const enum meta_kind kind = p->array ? dialect->group : dialect->array;
	int r = commit_doc(c, p->path, meta_name[kind][0], &other);
	return r == 0 && other->there ? exists(p->path) : r;
}

int
commit_check_name(const char *path, const char *name)
{
	const size_t len = strlen(name);
	if (meta_is_name(name) || strchr(name, '/') || len > 255 || strlen(path) > PATH_BYTES_MAX ||
		strspn(name, ".") == len || !strncmp(name, "__", 2))
		return err_set(-EINVAL, "'%.255s' cannot be the name of a node", name);
	return zmap_check_key(path);
}

/* --- arrays --- */

/* Names of an array's dimensions as they go into documents. */
struct edit_names {
	char *of[RANK_MAX];
	char *full[RANK_MAX];
	unsigned n;
};

static void
names_done(struct edit_names *n)
{
	for (unsigned i = 0; i < n->n; i++) {
		free(n->of[i]);
		free(n->full[i]);
	}
}

static int
take_names(struct commit *c, struct edit_part *group, const struct new_array *a,
	struct edit_names *ret)
{
	int r = 0;
	for (unsigned i = 0; r == 0 && i < a->rank; i++) {
		char room[DIM_NAME_ROOM];
		const struct dim d = {
			.name = a->dim ? (char *)a->dim[i] : NULL, .size = a->shape[i]};
		ret->of[i] = strdup(dim_name(&d, room));
		ret->n = i + 1;
		if (!ret->of[i])
			return err_set(-ENOMEM, "no memory for a name");
		if (group->nczarr)
			r = part_use_dim(c, group, ret->of[i], a->shape[i],
				a->unlimited && a->unlimited[i], &ret->full[i]);
	}
	return r;
}

static int
add_list(char *const *names, unsigned n, struct buf *ret)
{
	int r = buf_add(ret, "[", 1);
	for (unsigned i = 0; r == 0 && i < n; i++) {
		r = i ? buf_add(ret, ", ", 2) : 0;
		if (r == 0)
			r = json_quote(names[i], strlen(names[i]), ret);
	}
	return r < 0 ? r : buf_add(ret, "]", 1);
}

/* .zattrs but for the attributes. */
static int
encode_attrs(const struct new_array *a, bool nczarr, const struct edit_names *n, struct buf *ret)
{
	static char scalar[] = "_scalar_";
	char *const one[] = {scalar};
	const bool named = nczarr || a->dim || !a->rank;
	int r = buf_addf(ret, "{%s", named ? "\"_ARRAY_DIMENSIONS\": " : "");
	if (r == 0 && named)
		r = nczarr && !a->rank ? add_list(one, 1, ret) : add_list(n->of, n->n, ret);
	if (r == 0 && !nczarr)
		r = buf_add(ret, "}", 1);
	if (r < 0 || !nczarr)
		return r < 0 ? r : json_to_ascii(ret);
	r = buf_addf(ret, ", \"_nczarr_array\": {\"dimension_references\": ");
	if (r == 0)
		r = add_list(n->full, n->n, ret);
	return r < 0 ? r
		     : buf_addf(ret,
			       "%s, \"storage\": \"chunked\"%s}, \"_nczarr_attr\": {\"types\": "
			       "{\"_nczarr_array\": \"|J0\", \"_nczarr_attr\": \"|J0\"}}}",
			       a->rank ? "" : ", \"scalar\": 1",
			       a->dtype.is_char ? ", \"nczarr_type\": \"char\"" : "");
}

static int
set_attributes(struct commit *c, struct edit_part *p, const struct attrs *as)
{
	const size_t n = as ? as->count : 0;
	CLEAN(clean_free) struct edit_change *change = calloc(n + 1, sizeof *change);
	if (!change)
		return err_set(-ENOMEM, "no memory for attributes");
	for (size_t i = 0; i < n; i++) {
		if (attr_is_hidden(as->attr[i].name))
			return err_set(
				-EPERM, "attribute '%s' is the format's own", as->attr[i].name);
		change[i].attr = as->attr[i]; /* borrowed */
	}
	return part_change_attrs(c, p, change, n);
}

static int
fill_part(struct commit *c, struct edit_part *group, struct edit_part *p, const struct new_array *a,
	const struct buf *main)
{
	CLEAN(names_done) struct edit_names names = {0};
	CLEAN(buf_free) struct buf attrs = {0};
	if (p->v3) {
		int r = commit_set_text(c, p->main, main);
		return r < 0 ? r : set_attributes(c, p, a->attrs);
	}
	int r = take_names(c, group, a, &names);
	if (r == 0)
		r = encode_attrs(a, group->nczarr, &names, &attrs);
	if (r == 0)
		r = commit_set_text(c, p->attrs, &attrs);
	if (r == 0)
		r = set_attributes(c, p, a->attrs);
	return r < 0 ? r : commit_set_text(c, p->main, main);
}

int
commit_open_part(struct commit *c, const struct edit_part *group, const char *path,
	const struct edit_part *kind, struct edit_part **ret)
{
	CLEAN(path_walk_done) struct path_walk w = {0};
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = node_cache_get(c->model, group->path, HOW_LOOKUP, &w, &n);
	if (r == ZMAP_ABSENT)
		return err_set(-EIO, "'%s' was removed meanwhile", group->path);
	return r < 0 ? r : commit_new_part(c, &w, path, kind, ret);
}

int
commit_new_array(struct commit *c, struct edit_part *group, const char *name,
	const struct new_array *a, bool again, struct edit_part **ret)
{
	CLEAN(buf_free) struct buf main = {0};
	CLEAN(clean_free) char *path = path_in(group->path, name);
	const struct edit_part kind = {.v3 = group->v3,
		.array = true,
		.nczarr = group->nczarr,
		.reals = a->dtype.kind == DTYPE_FLOAT};
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	int r = commit_check_name(path, name);
	if (r == 0 && a->rank > RANK_MAX)
		r = err_set(-ENOTSUP, "%u dimensions, at most %d are possible", a->rank, RANK_MAX);
	if (r == 0)
		r = part_check_pure(c, group);
	if (r == 0 && group->nczarr)
		r = part_need_nczarr(c, group);
	if (r == 0)
		r = group->v3 ? encode_array_v3(a, &main)
			      : encode_array_v2(a, group->nczarr, &main);
	if (r == 0)
		r = commit_open_part(c, group, path, &kind, ret);
	if (r == 0)
		r = commit_check_free(c, *ret, &main, again);
	if (r == 0)
		r = fill_part(c, group, *ret, a, &main);
	if (r == 0 && group->nczarr)
		r = part_add_name(c, group, true, name);
	return r < 0 ? err_add(r, "cannot make '%s'", path) : 0;
}

/* --- of one path --- */

/* The group that a path lies in, and its last part. */
static int
split(const char *path, char **ret_group, const char **ret_name)
{
	*ret_name = path_name(path);
	*ret_group = path_above(path);
	return *ret_group ? 0 : err_set(-ENOMEM, "no memory for a path");
}

int
model_plan_array(struct model *m, const char *path, const struct new_array *a, struct node **ret)
{
	CLEAN(commit_done)
	struct commit c = {.model = m, .deadline = clock_now() + m->opt.timeout, .plan = true};
	CLEAN(clean_free) char *group = NULL;
	struct edit_part *g, *p;
	const char *name;
	int r = split(path, &group, &name);
	if (r == 0)
		r = commit_part(&c, group, &g);
	if (r == ZMAP_ABSENT)
		r = err_set(-ENOENT, "there is no group '%s'", group);
	if (r == 0 && g->array)
		r = err_set(-ENOTDIR, "'%s' is no group", group);
	if (r == 0)
		r = commit_new_array(&c, g, name, a, false, &p);
	if (r == 0)
		r = commit_check(&c);
	if (r == 0)
		*ret = node_ref(p->after);
	return r;
}

/* --- groups --- */

struct group_wanted {
	const char *path, *group, *name;
	const struct new_group *top;
	bool again;
};

static int
note_entry(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	*(bool *)arg = true;
	return 1;
}

/* What is at the path may be a folder with nothing in it. */
static int
check_empty(struct commit *c, const struct group_wanted *w)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	CLEAN(clean_free) char *prefix = NULL;
	bool found = false;
	int r = model_look_again(c->model, w->path, &n);
	if (r == ZMAP_ABSENT)
		return 0;
	if (r == 0 && n->kind != NODE_PLAIN)
		return *w->path ? exists(w->path) : err_set(-EEXIST, "there is a store already");
	if (r < 0 || !(c->model->zmap->caps & ZMAP_LIST))
		return r;
	if (asprintf(&prefix, "%s%s", w->path, *w->path ? "/" : "") < 0)
		return err_set(-ENOMEM, "no memory for a prefix");
	r = zmap_list(c->model->zmap, prefix, note_entry, &found);
	return found   ? err_set(-EEXIST, "'%s' is a folder that is not empty",
                               *w->path ? w->path : "/")
	       : r < 0 ? r
		       : 0;
}

static int
add_v3(struct commit *c, struct edit_part *p, bool again)
{
	CLEAN(buf_free) struct buf text = {0};
	int r = buf_addf(
		&text, "{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {}}");
	if (r == 0)
		r = commit_check_free(c, p, &text, again);
	return r < 0 ? r : commit_set_text(c, p->main, &text);
}

static int
add_v2(struct commit *c, struct edit_part *p, bool top, bool again)
{
	CLEAN(buf_free) struct buf text = {0}, attrs = {0};
	int r = buf_addf(&text, "{\"zarr_format\": 2}");
	if (r == 0)
		r = commit_check_free(c, p, &text, again);
	if (r == 0 && p->nczarr)
		r = buf_addf(&attrs,
			"{\"_nczarr_group\": {\"dimensions\": {}, \"arrays\": [], \"groups\": []}, "
			"%s\"_nczarr_attr\": {\"types\": {\"_nczarr_group\": \"|J0\", "
			"%s\"_nczarr_attr\": \"|J0\"}}}",
			top ? "\"_nczarr_superblock\": {\"version\": \"2.0.0\"}, " : "",
			top ? "\"_nczarr_superblock\": \"|J0\", " : "");
	if (r == 0 && p->nczarr)
		r = commit_set_text(c, p->attrs, &attrs);
	return r < 0 ? r : commit_set_text(c, p->main, &text);
}

/* In a hierarchy that is there. */
static int
add_subgroup(struct commit *c, const struct group_wanted *w)
{
	struct edit_part *parent, *p;
	int r = commit_part(c, w->group, &parent);
	if (r == ZMAP_ABSENT)
		return err_set(-ENOENT, "there is no group '%s'", w->group);
	if (r < 0)
		return r;
	if (parent->array)
		return err_set(-ENOTDIR, "'%s' is no group", w->group);
	const struct edit_part kind = {.v3 = parent->v3, .nczarr = parent->nczarr};
	r = part_check_pure(c, parent);
	if (r == 0 && parent->nczarr)
		r = part_need_nczarr(c, parent);
	if (r == 0)
		r = commit_open_part(c, parent, w->path, &kind, &p);
	if (r == 0)
		r = p->v3 ? add_v3(c, p, w->again) : add_v2(c, p, false, w->again);
	return r == 0 && parent->nczarr ? part_add_name(c, parent, false, w->name) : r;
}

/* Of its own, in a folder or at the root. */
static int
add_top(struct commit *c, const struct group_wanted *w, struct path_walk *above)
{
	const struct edit_part kind = {.v3 = w->top->zarr_format == 3,
		.nczarr = w->top->zarr_format == 2 && w->top->nczarr};
	struct edit_part *p;
	int r = commit_new_part(c, above, w->path, &kind, &p);
	if (r < 0)
		return r;
	return p->v3 ? add_v3(c, p, w->again) : add_v2(c, p, true, w->again);
}

static int
add_group(struct commit *c, void *arg)
{
	struct group_wanted *w = arg;
	CLEAN(path_walk_done) struct path_walk above = {0};
	CLEAN(node_unrefp) struct node *parent = NULL;
	int r = w->again ? 0 : check_empty(c, w);
	if (r == 0 && *w->path)
		r = node_cache_get(c->model, w->group, HOW_LOOKUP, &above, &parent);
	if (r == ZMAP_ABSENT)
		return err_set(-ENOENT, "there is no group '%s'", w->group);
	if (r < 0)
		return r;
	r = !parent || parent->kind == NODE_PLAIN ? add_top(c, w, &above) : add_subgroup(c, w);
	w->again |= r == 0;
	return r;
}

int
model_new_group(struct model *m, const char *path, const struct new_group *top, int64_t deadline,
	struct cancel *cancel)
{
	CLEAN(commit_done) struct commit c = {.model = m, .deadline = deadline, .cancel = cancel};
	CLEAN(clean_free) char *group = NULL;
	struct group_wanted w = {.path = path, .top = top};
	int r = split(path, &group, &w.name);
	w.group = group;
	if (r == 0 && *path)
		r = commit_check_name(path, w.name);
	if (r == 0 && top->zarr_format != 2 && top->zarr_format != 3)
		r = err_set(-EINVAL, "there is no Zarr format %u", top->zarr_format);
	return r < 0 ? r : commit_run(&c, add_group, &w);
}
