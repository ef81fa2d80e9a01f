#include "view/cdl_dims.h"

#include "view/cdl_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { DIMS_MAX = 1 << 20, ANONYMOUS_TEXT = 48 };

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
find(const struct cdl_scope *s, const char *name, uint64_t size)
{
	for (size_t i = 0; i < s->ndims; i++)
		if (s->dim[i].size == size && strcmp(s->dim[i].name, name) == 0)
			return &s->dim[i];
	return NULL;
}

static int
add(struct cdl_scope *s, const struct cdl_dim *d)
{
	if ((s->ndims & (s->ndims - 1)) == 0) { /* room doubles */
		size_t room = s->ndims ? 2 * s->ndims : 1;
		struct cdl_dim *more =
			s->ndims < DIMS_MAX ? realloc(s->dim, room * sizeof *more) : NULL;
		if (!more)
			return err_set(-ENOMEM, "no memory for dimensions");
		s->dim = more;
	}
	struct cdl_dim copy = *d;
	copy.name = strdup(d->name);
	if (!copy.name)
		return err_set(-ENOMEM, "no memory for a dimension");
	s->dim[s->ndims++] = copy;
	return 0;
}

/* As netcdf-c 4.9.3 and later call what has no name. */
static const char *
name_of(const struct dim *d, char anonymous[ANONYMOUS_TEXT])
{
	if (d->name)
		return d->name;
	snprintf(anonymous, ANONYMOUS_TEXT, "_Anonymous_Dim_%" PRIu64, d->size);
	return anonymous;
}

/* The group above (or this one) that has the dimension: by its full name; without one, the nearest that has one of that name and size, as
 * coordinates are found. NULL: the array's own group. */
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

int
cdl_declare(struct cdl_scope *s, const struct dim *d)
{
	char anonymous[ANONYMOUS_TEXT];
	const char *name = name_of(d, anonymous);
	if (find(s, name, d->size))
		return 0;
	return add(s, &(struct cdl_dim){.name = (char *)name,
			      .size = d->size,
			      .unlimited = d->unlimited,
			      .declared = true});
}

int
cdl_use_size(struct cdl_scope *s, const char *name, uint64_t size)
{
	struct cdl_dim *d = find(s, name, size);
	if (d) {
		d->users++;
		return 0;
	}
	return add(s, &(struct cdl_dim){.name = (char *)name, .size = size, .users = 1});
}

int
cdl_use(struct cdl_scope *s, const struct dim *d)
{
	char anonymous[ANONYMOUS_TEXT];
	const char *name = name_of(d, anonymous);
	if (owner(s, d))
		return 0;
	int r = cdl_use_size(s, name, d->size);
	if (r == 0 && d->unlimited)
		find(s, name, d->size)->unlimited = true;
	return r;
}

/* Who of two sizes of a name keeps it. */
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
		if (&s->dim[i] != d && strcmp(s->dim[i].name, d->name) == 0 && beats(&s->dim[i], d))
			return false;
	return true;
}

int
cdl_name_dims(struct cdl_scope *s)
{
	for (unsigned losers = 0; losers < 2; losers++)
		for (size_t i = 0; i < s->ndims; i++) {
			struct cdl_dim *d = &s->dim[i];
			if (losers == keeps_name(s, d))
				continue;
			CLEAN(clean_free) char *name = NULL;
			int n = losers ? asprintf(&name, "%s_%" PRIu64, d->name, d->size)
				       : asprintf(&name, "%s", d->name);
			if (n < 0 || !(d->shown = nc_name_once(&s->names, name)))
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

int
cdl_size_text(const struct cdl_scope *s, const char *name, uint64_t size, struct buf *ret)
{
	const struct cdl_dim *d = find(s, name, size);
	return d ? cdl_name(d->shown, ret) : err_set(-EINVAL, "dimension '%s' is unknown", name);
}

int
cdl_dim_text(const struct cdl_scope *s, const struct dim *d, struct buf *ret)
{
	char anonymous[ANONYMOUS_TEXT];
	const struct cdl_scope *o = owner(s, d);
	if (!o)
		return cdl_size_text(s, name_of(d, anonymous), d->size, ret);
	const char *name = d->fqn ? strrchr(d->fqn, '/') + 1 : d->name;
	int r = is_hidden(s, o, find(o, name, d->size)->shown) ? add_path(o, ret) : 0;
	return r < 0 ? r : cdl_size_text(o, name, d->size, ret);
}
