#include "view/text/cdl_dims.h"

#include "base/list.h"
#include "model/dims.h"
#include "view/text/cdl_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DIMS_MAX = 1 << 20 };

void
cdl_scope_done(struct cdl_scope *s)
{
	for (size_t i = 0; i < s->ndims; i++) {
		free(s->dim[i].name);
		free(s->dim[i].shown);
	}
	free(s->dim);
	nc_taken_free(&s->names);
}

static struct cdl_dim *
find_turn(const struct cdl_scope *s, const char *name, uint64_t size, unsigned before)
{
	for (size_t i = 0; i < s->ndims; i++)
		if (s->dim[i].size == size && s->dim[i].before == before &&
			strcmp(s->dim[i].name, name) == 0)
			return &s->dim[i];
	return NULL;
}

static struct cdl_dim *
find(const struct cdl_scope *s, const char *name, uint64_t size)
{
	return find_turn(s, name, size, 0);
}

static int
add(struct cdl_scope *s, const struct cdl_dim *d)
{
	int r = s->ndims < DIMS_MAX ? LIST_MORE(s->dim, s->ndims, "dimensions")
				    : list_no_memory("dimensions");
	if (r < 0)
		return r;
	struct cdl_dim copy = *d;
	copy.name = strdup(d->name);
	if (!copy.name)
		return list_no_memory("a dimension");
	s->dim[s->ndims++] = copy;
	return 0;
}

/* The group above (or this one) that has the dimension: by its full name; without one, the nearest
 * that has one of that name and size, as coordinates are found. NULL: the array's own group. */
static const struct cdl_scope *
owner(const struct cdl_scope *s, const struct dim *d)
{
	const char *slash = d->fqn ? strrchr(d->fqn, '/') : NULL;
	size_t len = slash > d->fqn ? (size_t)(slash - d->fqn) : 1;
	if (!d->name || (!slash && find(s, d->name, d->size)))
		return NULL;
	for (; s; s = s->up) {
		bool here = !slash || (strlen(s->path) == len && !memcmp(s->path, d->fqn, len));
		if (here && find(s, slash ? slash + 1 : d->name, d->size))
			return s;
	}
	return NULL;
}

/* How many of the array's first n dimensions have that name and size, in that group. */
static unsigned
count_before(const struct cdl_scope *s, const struct array_meta *a, unsigned n,
	const struct cdl_scope *of, const struct cdl_dim *like)
{
	char room[DIM_NAME_ROOM];
	unsigned before = 0;
	for (unsigned i = 0; i < n; i++) {
		const struct cdl_scope *o = owner(s, &a->dim[i]);
		before += a->dim[i].size == like->size && (o ? o : s) == (of ? of : s) &&
			  strcmp(dim_name(&a->dim[i], room), like->name) == 0;
	}
	return before;
}

int
cdl_declare(struct cdl_scope *s, const struct dim *d)
{
	char room[DIM_NAME_ROOM];
	const char *name = dim_name(d, room);
	if (find(s, name, d->size))
		return 0;
	return add(s, &(struct cdl_dim){.name = (char *)name,
			      .size = d->size,
			      .unlimited = d->unlimited,
			      .declared = true});
}

/* The array's dimension k, or where k is its rank, one of that name and size that comes with its
 * elements. */
static struct cdl_dim
dim_of(const struct cdl_scope *s, const struct array_meta *a, unsigned k, const char *name,
	uint64_t size)
{
	struct cdl_dim d = {.name = (char *)name, .size = size, .users = 1};
	d.before = count_before(s, a, k, k < a->rank ? owner(s, &a->dim[k]) : NULL, &d);
	return d;
}

static int
use(struct cdl_scope *s, const struct cdl_dim *d)
{
	struct cdl_dim *found = find_turn(s, d->name, d->size, d->before);
	if (!found)
		return add(s, d);
	found->users++;
	found->unlimited |= d->unlimited;
	if (!found->placed)
		found->placed = d->placed;
	return 0;
}

int
cdl_use_size(struct cdl_scope *s, const struct array_meta *a, const char *name, uint64_t size)
{
	struct cdl_dim d = dim_of(s, a, a->rank, name, size);
	return use(s, &d);
}

int
cdl_use(struct cdl_scope *s, const struct array_meta *a, unsigned k)
{
	char room[DIM_NAME_ROOM];
	const struct dim *is = &a->dim[k];
	struct cdl_dim d = dim_of(s, a, k, dim_name(is, room), is->size);
	if (!d.before && owner(s, is))
		return 0;
	d.unlimited = !d.before && is->unlimited;
	d.placed = !d.before && is->placed ? is : NULL;
	return use(s, &d);
}

/* Which of two sizes of a name keeps it. */
static bool
beats(const struct cdl_dim *a, const struct cdl_dim *b)
{
	if (a->declared != b->declared)
		return a->declared;
	return a->users != b->users ? a->users > b->users : a < b;
}

static bool
keeps_name(const struct cdl_scope *s, const struct cdl_dim *d)
{
	for (size_t i = 0; i < s->ndims; i++)
		if (&s->dim[i] != d && !s->dim[i].before && strcmp(s->dim[i].name, d->name) == 0 &&
			beats(&s->dim[i], d))
			return false;
	return true;
}

/* "x"; "x_4" of size 4 that another size has the name of, "x_2" of the second in an array, "x_4_2"
 * of both. */
static char *
text_of(const struct cdl_scope *s, const struct cdl_dim *d)
{
	const struct cdl_dim *first = find(s, d->name, d->size);
	char size[32] = "", turn[32] = "", *text = NULL;
	if (first && !keeps_name(s, first))
		snprintf(size, sizeof size, "_%" PRIu64, d->size);
	if (d->before)
		snprintf(turn, sizeof turn, "_%u", d->before + 1);
	return asprintf(&text, "%s%s%s", d->name, size, turn) < 0 ? NULL : text;
}

int
cdl_name_dims(struct cdl_scope *s)
{
	for (unsigned others = 0; others < 2; others++)
		for (size_t i = 0; i < s->ndims; i++) {
			struct cdl_dim *d = &s->dim[i];
			bool plain = !d->before && keeps_name(s, d);
			if (others == plain)
				continue;
			CLEAN(clean_free) char *name = text_of(s, d);
			if (!name || !(d->shown = nc_name_once(&s->names, name)))
				return err_set(-ENOMEM, "no memory for a dimension");
		}
	return 0;
}

/* Another group between here and the owner has a dimension of that name. */
static bool
is_hidden(const struct cdl_scope *s, const struct cdl_scope *owner, const char *shown)
{
	for (; s != owner; s = s->up)
		for (size_t i = 0; i < s->ndims; i++)
			if (strcmp(s->dim[i].shown, shown) == 0)
				return true;
	return false;
}

/* The path of a group from the text's own root, and a '/'. */
static int
add_path(const struct cdl_scope *group, struct buf *ret)
{
	const struct cdl_scope *root = group;
	int r = buf_add(ret, "/", 1);
	while (root->up)
		root = root->up;
	const char *path = group->path + strlen(root->path);
	path += *path == '/';
	while (*path && r == 0) {
		size_t len = strcspn(path, "/");
		CLEAN(clean_free) char *part = strndup(path, len);
		CLEAN(clean_free) char *name = part ? nc_name(part) : NULL;
		if (!name)
			return err_set(-ENOMEM, "no memory for a name");
		r = len ? cdl_name(name, ret) : 0;
		if (r == 0)
			r = buf_add(ret, "/", 1);
		path += len + (path[len] == '/');
	}
	return r;
}

static int
add_text(const struct cdl_scope *s, const struct cdl_dim *like, struct buf *ret)
{
	const struct cdl_dim *d = find_turn(s, like->name, like->size, like->before);
	if (!d)
		d = find(s, like->name, like->size);
	return d ? cdl_name(d->shown, ret)
		 : err_set(-EINVAL, "dimension '%s' is unknown", like->name);
}

int
cdl_size_text(const struct cdl_scope *s, const struct array_meta *a, const char *name,
	uint64_t size, struct buf *ret)
{
	struct cdl_dim d = dim_of(s, a, a->rank, name, size);
	return add_text(s, &d, ret);
}

int
cdl_dim_text(const struct cdl_scope *s, const struct array_meta *a, unsigned k, struct buf *ret)
{
	char room[DIM_NAME_ROOM];
	const struct dim *is = &a->dim[k];
	const struct cdl_scope *o = owner(s, is);
	struct cdl_dim d = dim_of(s, a, k, dim_name(is, room), is->size);
	if (!o || d.before)
		return add_text(s, &d, ret);
	int r = is_hidden(s, o, find(o, is->name, is->size)->shown) ? add_path(o, ret) : 0;
	return r < 0 ? r : add_text(o, &d, ret);
}
