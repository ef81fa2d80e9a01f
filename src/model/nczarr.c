#include "model/nczarr.h"

#include "base/err.h"
#include "base/list.h"
#include "model/ngff.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A dict where it may stand in any generation. */
static const struct json *
part(const struct nczarr_docs *d, const char *lower, const char *upper)
{
	const struct json *const place[] = {d->attrs, d->main};
	const char *const name[] = {lower, upper};
	if (d->v1)
		return d->v1;
	for (unsigned n = 0; n < 2; n++)
		for (unsigned p = 0; p < 2; p++) {
			const struct json *v = place[p] ? json_get(place[p], name[n]) : NULL;
			if (v && json_type(v) == JSON_TYPE_DICT)
				return v;
		}
	return NULL;
}

static const struct json *
either(const struct json *dict, const char *a, const char *b)
{
	const struct json *v = dict ? json_get(dict, a) : NULL;
	return v || !dict ? v : json_get(dict, b);
}

static const struct json *
array_part(const struct nczarr_docs *d)
{
	return part(d, "_nczarr_array", "_NCZARR_ARRAY");
}

static const struct json *
dimrefs(const struct nczarr_docs *d)
{
	const struct json *v = either(array_part(d), "dimension_references", "dimrefs");
	return v && json_type(v) == JSON_TYPE_LIST ? v : NULL;
}

/* "version=2,netcdf=4.9.2,nczarr=2.0.0" → 40902. A netCDF-4 file has "hdf5=" there, and a
 * conversion of one copies it: that tells nothing of the bytes here. */
static unsigned
writer_of(const struct json *attrs)
{
	const struct json *v = attrs ? json_get(attrs, "_NCProperties") : NULL;
	size_t len;
	const char *s = v && json_type(v) == JSON_TYPE_TEXT ? json_text(v, &len) : NULL;
	const char *found = s && strstr(s, "nczarr=") ? strstr(s, "netcdf=") : NULL;
	unsigned major, minor, patch = 0;
	if (!found || sscanf(found, "netcdf=%3u.%2u.%2u", &major, &minor, &patch) < 2)
		return 0;
	return major * 10000 + minor * 100 + patch;
}

static int
read_dim(const char *name, const struct json *v, struct group_meta *g)
{
	bool full = json_type(v) == JSON_TYPE_DICT;
	const struct json *size = full ? json_get(v, "size") : v;
	const struct json *unlimited = full ? json_get(v, "unlimited") : NULL;
	struct dim d = {0};
	int64_t flag = 0;
	if (!size || json_uint(size, &d.size) < 0)
		return 0;
	if (unlimited &&
		(json_type(unlimited) == JSON_TYPE_BOOL || json_int(unlimited, &flag) == 0))
		d.unlimited = flag != 0 ||
			      (json_type(unlimited) == JSON_TYPE_BOOL && json_bool(unlimited));
	d.name = strdup(name);
	if (!d.name)
		return err_set(-ENOMEM, "no memory for a dimension");
	g->dim[g->ndims++] = d;
	return 0;
}

static int
read_dims(const struct json *dims, struct group_meta *g)
{
	if (!dims || json_type(dims) != JSON_TYPE_DICT)
		return 0;
	g->dim = calloc(json_count(dims) + 1, sizeof *g->dim);
	if (!g->dim)
		return err_set(-ENOMEM, "no memory for dimensions");
	int r = 0;
	for (void *i = json_first(dims); i && r == 0; i = json_next(dims, i))
		r = read_dim(json_key(i), json_value(i), g);
	return r;
}

static int
read_order(const struct json *list, struct group_meta *g)
{
	size_t n = list && json_type(list) == JSON_TYPE_LIST ? json_count(list) : 0;
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		size_t len;
		const char *s = json_text(json_at(list, i), &len);
		if (s && strlen(s) == len)
			r = LIST_TAKE(g->order, g->norder, "names", strdup(s));
	}
	return r;
}

int
nczarr_group(const struct nczarr_docs *d, const struct group_meta *parent, bool pure,
	struct group_meta **ret)
{
	struct group_meta *g = calloc(1, sizeof *g);
	if (!g)
		return err_set(-ENOMEM, "no memory for a group");
	*ret = g; /* the node's, which frees it */
	const struct json *said = part(d, "_nczarr_group", "_NCZARR_GROUP");
	g->writer = writer_of(d->attrs);
	if (!g->writer && parent)
		g->writer = parent->writer;
	int r = ngff_parse(d->attrs, &g->ngff);
	if (r < 0 || pure)
		return r;
	g->v1 = d->v1 || (parent && parent->v1);
	g->nczarr = said || part(d, "_nczarr_superblock", "_NCZARR_SUPERBLOCK") ||
		    (parent && parent->nczarr);
	r = read_dims(either(said, "dimensions", "dims"), g);
	if (r == 0)
		r = read_order(either(said, "arrays", "vars"), g);
	return r < 0 ? r : read_order(said ? json_get(said, "groups") : NULL, g);
}

const struct group_meta *
dim_scope_parent(const struct dim_scope *s)
{
	return s->depth ? s->group[s->depth - 1]->group : NULL;
}

bool
dim_scope_pure(const struct dim_scope *s)
{
	return s->mode & (URL_ZARR | URL_XARRAY | URL_NOXARRAY);
}

/* Of an array whose root says nothing, or was not seen because the store was opened below it: the
 * newest that puts its mark there. */
static unsigned
writer_by_mark(const struct nczarr_docs *d)
{
	if (!d->main)
		return 0;
	return json_get(d->main, "_NCZARR_ARRAY")   ? 40900
	       : json_get(d->main, "_nczarr_array") ? 40902
						    : 0;
}

bool
nczarr_wrote(const struct nczarr_docs *d, const struct dim_scope *s, unsigned from, unsigned to)
{
	const struct group_meta *g = dim_scope_parent(s);
	unsigned writer = g ? g->writer : 0; /* groups say it, no array does */
	if (!writer)
		writer = writer_by_mark(d);
	/* Into an NCZarr store other programs may have put arrays of their own; netcdf-c marks its
	 * own. */
	return writer >= from && writer <= to && (!g || !g->nczarr || array_part(d));
}

static const struct json *
xarray_dims(const struct nczarr_docs *d, const struct dim_scope *s)
{
	const struct json *v = d->attrs && !(s->mode & URL_NOXARRAY)
				       ? json_get(d->attrs, "_ARRAY_DIMENSIONS")
				       : NULL;
	return v && json_type(v) == JSON_TYPE_LIST ? v : NULL;
}

static bool
says_scalar(const struct json *array)
{
	int64_t flag;
	const struct json *v = array ? json_get(array, "scalar") : NULL;
	if (v && ((json_type(v) == JSON_TYPE_BOOL && json_bool(v)) ||
			 (json_int(v, &flag) == 0 && flag)))
		return true;
	v = array ? json_get(array, "storage") : NULL;
	return v && json_is(v, "scalar");
}

bool
nczarr_scalar(const struct nczarr_docs *d, const struct dim_scope *s, const struct array_meta *a)
{
	if (a->rank != 1 || a->shape[0] != 1 || a->chunk[0] != 1)
		return false;
	if (!dim_scope_pure(s)) {
		const struct json *refs = dimrefs(d);
		if (says_scalar(array_part(d)) || (refs && !json_count(refs)))
			return true;
	}
	/* What netcdf-c writes as pure Zarr. */
	const struct json *names = xarray_dims(d, s);
	return names && (!json_count(names) ||
				(json_count(names) == 1 && json_is(json_at(names, 0), "_scalar_")));
}

bool
nczarr_char(const struct nczarr_docs *d, const struct dim_scope *s)
{
	const struct json *array = dim_scope_pure(s) ? NULL : array_part(d);
	const struct json *type = array ? json_get(array, "nczarr_type") : NULL;
	return type && json_is(type, "char");
}

/* The group of a full name's directory, if it stands above the array. */
static const struct group_meta *
group_of(const char *fqn, const struct dim_scope *s)
{
	const char *p = fqn + 1;
	for (unsigned i = 0; i < s->depth; i++) {
		const char *end = strchrnul(p, '/');
		if (!*end)
			return s->group[i]->group;
		if (i + 1 == s->depth)
			return NULL;
		const char *name = s->group[i + 1]->name;
		if (strlen(name) != (size_t)(end - p) || memcmp(name, p, (size_t)(end - p)))
			return NULL;
		p = end + 1;
	}
	return NULL;
}

static int
set_fqn(struct dim *d, const char *fqn, const struct dim_scope *s)
{
	const char *name = strrchr(fqn, '/') + 1;
	d->fqn = strdup(fqn);
	d->name = strdup(name);
	if (!d->fqn || !d->name)
		return err_set(-ENOMEM, "no memory for a dimension");
	const struct group_meta *g = group_of(fqn, s);
	for (size_t i = 0; g && i < g->ndims; i++)
		if (!strcmp(g->dim[i].name, name))
			d->unlimited = g->dim[i].unlimited;
	return 0;
}

/* A text without NULs. */
static const char *
plain_text(const struct json *v)
{
	size_t len;
	const char *s = json_type(v) == JSON_TYPE_TEXT ? json_text(v, &len) : NULL;
	return s && strlen(s) == len ? s : NULL;
}

static const char *
is_fqn(const struct json *v)
{
	const char *s = plain_text(v);
	return s && s[0] == '/' && strrchr(s, '/')[1] ? s : NULL;
}

int
nczarr_dims(const struct nczarr_docs *d, const struct dim_scope *s, struct array_meta *a)
{
	const struct json *refs = dim_scope_pure(s) ? NULL : dimrefs(d);
	const struct json *names = xarray_dims(d, s);
	a->dim = calloc(a->rank + 1, sizeof *a->dim);
	if (!a->dim)
		return err_set(-ENOMEM, "no memory for dimensions");
	bool use_refs = refs && json_count(refs) == a->rank;
	bool use_names = names && json_count(names) == a->rank;
	for (unsigned i = 0; i < a->rank; i++) {
		a->dim[i].size = a->shape[i];
		const char *fqn = use_refs ? is_fqn(json_at(refs, i)) : NULL;
		const char *name = use_names ? plain_text(json_at(names, i)) : NULL;
		int r = fqn ? set_fqn(&a->dim[i], fqn, s) : 0;
		if (r < 0)
			return r;
		if (!fqn && name && *name && !(a->dim[i].name = strdup(name)))
			return err_set(-ENOMEM, "no memory for a dimension");
	}
	return 0;
}

enum { STRLEN_MAX = 1 << 20 };

uint32_t
nczarr_strlen(const struct nczarr_docs *d)
{
	const struct json *v = d->attrs ? json_get(d->attrs, "_nczarr_maxstrlen") : NULL;
	uint64_t n;
	return v && json_uint(v, &n) == 0 && n <= STRLEN_MAX ? (uint32_t)n : 0;
}

static enum nc_type
sized_type(char kind, const char *size)
{
	static const struct {
		char name[3];
		enum nc_type type;
	} table[] = {
		{"i1", NC_TYPE_BYTE},
		{"i2", NC_TYPE_SHORT},
		{"i4", NC_TYPE_INT},
		{"i8", NC_TYPE_INT64},
		{"u1", NC_TYPE_UBYTE},
		{"u2", NC_TYPE_USHORT},
		{"u4", NC_TYPE_UINT},
		{"u8", NC_TYPE_UINT64},
		{"f4", NC_TYPE_FLOAT},
		{"f8", NC_TYPE_DOUBLE},
		{"U1", NC_TYPE_CHAR},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].name[0] == kind && table[i].name[1] == size[0] && !size[1])
			return table[i].type;
	return NC_TYPE_NONE;
}

enum nc_type
nczarr_type(const struct json *v)
{
	size_t len;
	const char *s = v ? json_text(v, &len) : NULL;
	int64_t number;
	if (!s || !len)
		return NC_TYPE_NONE;
	if (isdigit((unsigned char)*s)) /* V1 */
		return json_int(v, &number) == 0 && number >= NC_TYPE_BYTE &&
				       number <= NC_TYPE_STRING
			       ? (enum nc_type)number
			       : NC_TYPE_NONE;
	if (!strcmp(s, ">S1"))
		return NC_TYPE_CHAR;
	if (strchr("<>|=", *s))
		s++;
	switch (*s) {
	case 'S': return NC_TYPE_STRING;
	case 'J': return NC_TYPE_CHAR;
	case 0: return NC_TYPE_NONE;
	default: return sized_type(*s, s + 1);
	}
}

const struct json *
nczarr_types(const struct json *attrs, const struct json *v1)
{
	const struct json *types = v1 ? v1 : either(attrs, "_nczarr_attr", "_NCZARR_ATTR");
	types = types ? json_get(types, "types") : NULL;
	return types && json_type(types) == JSON_TYPE_DICT ? types : NULL;
}
