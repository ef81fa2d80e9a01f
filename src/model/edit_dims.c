/* What NCZarr says of a group: its dimensions, and the names of what is in it. */
#include "base/err.h"
#include "base/json_edit.h"
#include "model/edit_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool
is_declared(struct edit_part *group, bool in_main, const char *part, const char *dims,
	const char *name, struct declared_dim *ret)
{
	struct edit_doc *d = in_main ? group->main : group->attrs;
	struct declared_dim at = {.doc = d, .path = {part, dims, name, NULL}};
	if (group->v3)
		at = (struct declared_dim){
			.doc = d, .path = {"attributes", part, dims, name, NULL}};
	struct span v = doc_find(d, at.path);
	if (!v.len)
		return false;
	if (*v.data == '{') {
		at.path[group->v3 ? 4 : 3] = "size";
		v = doc_find(d, at.path);
	}
	for (size_t i = 0; i < v.len && v.data[i] >= '0' && v.data[i] <= '9'; i++)
		at.size = at.size * 10 + (uint64_t)(v.data[i] - '0');
	*ret = at;
	return true;
}

bool
find_declared_dim(struct edit_part *group, const char *name, struct declared_dim *ret)
{
	static const char *const part[] = {"_nczarr_group", "_NCZARR_GROUP"};
	static const char *const dims[] = {"dimensions", "dims"};
	for (unsigned i = 0; i < 8; i++)
		if (is_declared(group, i & 1, part[i >> 2], dims[i >> 1 & 1], name, ret))
			return true;
	return false;
}

/* Of the newest generation, which is the only one that gets anything new. */
static const char part_name[] = "_nczarr_group";

static struct span
span_of(const char *text)
{
	return (struct span){(const uint8_t *)text, strlen(text)};
}

static const char *
either(const struct edit_part *group, const char *a, const char *b)
{
	const char *const path[] = {part_name, b, NULL};
	return doc_find(group->attrs, path).len ? b : a;
}

int
part_need_nczarr(struct commit *c, struct edit_part *group)
{
	static const char *const at[] = {part_name, NULL};
	static const char *const type[] = {"_nczarr_attr", "types", part_name, NULL};
	const struct group_meta *g = group->before ? group->before->group : NULL;
	const char *const upper[] = {"_NCZARR_GROUP", NULL};
	const char *const lower[] = {part_name, NULL};
	if (doc_find(group->main, upper).len || doc_find(group->main, lower).len ||
		(g && g->writer && g->writer < 40903))
		return err_set(
			-ENOTSUP, "NCZarr as netcdf-c before 4.9.3 wrote it gets nothing new");
	if (doc_find(group->attrs, at).len)
		return 0;
	int r = doc_set(c, group->attrs, at,
		span_of("{\"dimensions\": {}, \"arrays\": [], \"groups\": []}"));
	return r < 0 ? r : doc_set(c, group->attrs, type, span_of("\"|J0\""));
}

/* Where in the list the name is; ret: that, or how many names there are. */
static int
find_name(const struct edit_part *group, const char *const *path, const char *name, size_t *ret)
{
	CLEAN(json_freep) struct json *list = NULL;
	const struct span text = doc_find(group->attrs, path);
	*ret = 0;
	if (!text.len)
		return 0;
	int r = json_parse((const char *)text.data, text.len, &list);
	if (r < 0)
		return r;
	while (*ret < json_count(list) && !json_is(json_at(list, *ret), name))
		++*ret;
	return *ret < json_count(list);
}

int
part_add_name(struct commit *c, struct edit_part *group, bool array, const char *name)
{
	const char *const path[] = {
		part_name, array ? either(group, "arrays", "vars") : "groups", NULL};
	size_t at;
	int r = 0, there = find_name(group, path, name, &at);
	if (there < 0)
		return there;
	commit_touch(c, group->attrs);
	if (there)
		return 0;
	if (!doc_find(group->attrs, path).len)
		r = doc_set(c, group->attrs, path, span_of("[]"));
	return r < 0 ? r : doc_set_text_at(c, group->attrs, path, at, name);
}

int
part_drop_name(struct commit *c, struct edit_part *group, bool array, const char *name)
{
	static const char *const list[2][4] = {{"groups", NULL}, {"arrays", "vars", NULL}};
	static const char *const part[] = {"_nczarr_group", "_NCZARR_GROUP"};
	int r = 0;
	for (unsigned i = 0; r == 0 && i < 2; i++)
		for (const char *const *l = list[array]; r == 0 && *l; l++) {
			const char *const path[] = {part[i], *l, NULL};
			struct edit_doc *d =
				doc_find(group->main, path).len ? group->main : group->attrs;
			struct edit_part at = *group;
			size_t n;
			at.attrs = d;
			r = find_name(&at, path, name, &n);
			if (r <= 0)
				continue;
			commit_touch(c, d);
			r = json_edit_take(&d->text, path, n);
		}
	return r;
}

/* "/g1/x" of a dimension in the group of that path, in the hierarchy with that top. */
static int
full_name(const char *top, const char *group, const char *name, char **ret)
{
	const char *below = group + strlen(top);
	below += *below == '/';
	if (asprintf(ret, "/%s%s%s", below, *below ? "/" : "", name) >= 0)
		return 0;
	*ret = NULL;
	return err_set(-ENOMEM, "no memory for a name");
}

/* The nearest group above that has such a dimension of that size. NULL: none. */
static const struct node *
find_above(const struct path_walk *w, const char *name, uint64_t size)
{
	for (size_t k = w->in_zarr ? w->depth : 0; k > w->top; k--) {
		const struct node *n = w->up[k - 1];
		for (size_t i = 0; n->group && i < n->group->ndims; i++)
			if (!strcmp(n->group->dim[i].name, name) && n->group->dim[i].size == size)
				return n;
	}
	return NULL;
}

static int
wrong_size(const char *name, uint64_t has, uint64_t wanted)
{
	return err_set(-EINVAL,
		"dimension '%s' has %" PRIu64 " elements in this group, not %" PRIu64, name, has,
		wanted);
}

static int
declare(struct commit *c, struct edit_part *group, const char *name, uint64_t size, bool unlimited)
{
	char text[64];
	const char *const path[] = {part_name, either(group, "dimensions", "dims"), name, NULL};
	snprintf(text, sizeof text,
		unlimited ? "{\"size\": %" PRIu64 ", \"unlimited\": 1}" : "%" PRIu64, size);
	return doc_set(c, group->attrs, path, span_of(text));
}

int
part_use_dim(struct commit *c, struct edit_part *group, const char *name, uint64_t size,
	bool unlimited, char **ret)
{
	const struct path_walk *w = &group->walk;
	const char *top = w->in_zarr ? w->up[w->top]->path : group->path;
	struct declared_dim d;
	int r = 0;
	if (strchr(name, '/') || !*name)
		return err_set(-EINVAL, "'%.100s' is no name of a dimension", name);
	bool own = find_declared_dim(group, name, &d);
	const struct node *above = own ? NULL : find_above(w, name, size);
	if (above)
		return full_name(top, above->path, name, ret);
	if (!own)
		r = declare(c, group, name, size, unlimited);
	else if (c->plan && unlimited && d.size < size)
		r = doc_set_number(c, d.doc, d.path, size);
	else if (d.size != size)
		r = wrong_size(name, d.size, size);
	return r < 0 ? r : full_name(top, group->path, name, ret);
}
