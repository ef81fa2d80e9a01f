/* The metadata of a netCDF-4 file: how HDF5 objects stand for dimensions, variables and groups.
 *
 * https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html, "NetCDF-4/HDF5
 * Format", and HDF5's specification of dimension scales,
 * https://support.hdfgroup.org/documentation/hdf5/latest/_h5_d_s__u_g.html. */
#include "base/check.h"
#include "base/err.h"
#include "base/swap.h"
#include "view/netcdf/h5.h"
#include "view/netcdf/nc4_file.h"
#include "view/netcdf/nc_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The one that netCDF does not show: a variable has the name of a dimension that it is no
 * coordinate of. */
static const char SECRET[] = "_nc4_non_coord_";

enum {
	BACK_REFERENCES_MAX = 4000, /* more do not fit a message, and readers do without */
	BACK_REFERENCE_SIZE = 16,
};

/* Attributes of one object, in their order. */
struct attrs_at {
	struct nc4 *n;
	unsigned count;
};

static void
put_attr(struct attrs_at *to, const struct h5_attr *a)
{
	h5_attribute(&to->n->h5, to->count++, a);
}

static void
put_name(struct attrs_at *to, const char *name, const char *text)
{
	const size_t len = strlen(text) + 1;
	const struct h5_attr a = {.name = name,
		.type = {H5_NAME, .size = (uint32_t)len},
		.scalar = true,
		.count = 1,
		.data = {(const uint8_t *)text, len}};
	put_attr(to, &a);
}

static const struct h5_type *
type_of(enum nc_type t)
{
	static const struct h5_type types[] = {
		[NC_TYPE_BYTE] = {H5_INTEGER, 1, .has_sign = true},
		[NC_TYPE_CHAR] = {H5_NAME, 1},
		[NC_TYPE_SHORT] = {H5_INTEGER, 2, .has_sign = true},
		[NC_TYPE_INT] = {H5_INTEGER, 4, .has_sign = true},
		[NC_TYPE_FLOAT] = {H5_REAL, 4},
		[NC_TYPE_DOUBLE] = {H5_REAL, 8},
		[NC_TYPE_UBYTE] = {H5_INTEGER, 1},
		[NC_TYPE_USHORT] = {H5_INTEGER, 2},
		[NC_TYPE_UINT] = {H5_INTEGER, 4},
		[NC_TYPE_INT64] = {H5_INTEGER, 8, .has_sign = true},
		[NC_TYPE_UINT64] = {H5_INTEGER, 8},
		[NC_TYPE_STRING] = {H5_LONG_TEXT, 16},
	};
	return &types[t];
}

/* Numbers in native order into little-endian or the other. */
static int
put_numbers(struct buf *to, const void *data, size_t n, unsigned size, bool big)
{
	const bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	size_t at = to->len;
	int r = buf_add(to, data, n * size);
	if (r == 0 && size > 1 && big != host_big)
		swap_run(size, to->data + at, to->data + at, n);
	return r;
}

static void
put_int(struct buf *to, uint64_t v, unsigned size, int *error)
{
	uint8_t out[8];
	for (unsigned i = 0; i < size; i++)
		out[i] = (uint8_t)(v >> 8 * i);
	if (*error == 0)
		*error = buf_add(to, out, size);
}

static void
put_object(struct buf *to, uint32_t n, const struct h5_object *o, int *error)
{
	put_int(to, n, 4, error);
	put_int(to, o->collection, 8, error);
	put_int(to, o->index, 4, error);
}

/* Text of any length: what does not fit a message lies in the heap. */
static void
put_text(struct attrs_at *to, const struct attr *a)
{
	struct h5 *w = &to->n->h5;
	CLEAN(buf_free) struct buf out = {0};
	struct h5_attr h = {.name = a->name, .type = {H5_TEXT, 1}, .scalar = true};
	h.count = a->count != 0;
	if (a->count && a->count <= NC4_ATTR_MAX) {
		h.type.size = (uint32_t)a->count;
		h.data = (struct span){a->data, a->count};
	} else if (a->count) {
		const struct h5_object o = h5_heap_add(w, a->data, a->count);
		put_object(&out, (uint32_t)a->count, &o, &w->error);
		h.type = *type_of(NC_TYPE_STRING);
		h.data = buf_span(&out);
	}
	put_attr(to, &h);
}

static void
put_texts(struct attrs_at *to, const struct attr *a)
{
	struct h5 *w = &to->n->h5;
	CLEAN(buf_free) struct buf out = {0};
	for (size_t i = 0; i < a->count; i++) {
		const char *text = ((char **)a->data)[i];
		const size_t len = *text ? strlen(text) : 1; /* nothing at all would be none */
		const struct h5_object o = h5_heap_add(w, text, len);
		put_object(&out, (uint32_t)len, &o, &w->error);
	}
	const struct h5_attr h = {.name = a->name,
		.type = *type_of(a->type),
		.count = a->count,
		.data = buf_span(&out)};
	put_attr(to, &h);
}

static void
put_attrs(struct attrs_at *to, const struct attrs *as)
{
	struct h5 *w = &to->n->h5;
	for (size_t i = 0; i < as->count && w->error == 0; i++) {
		const struct attr *a = &as->attr[i];
		if (a->type == NC_TYPE_CHAR) {
			put_text(to, a);
			continue;
		}
		if (a->type == NC_TYPE_STRING) {
			put_texts(to, a);
			continue;
		}
		const struct h5_attr h = {
			.name = a->name, .type = *type_of(a->type), .count = a->count};
		h5_begin_attribute(w, to->count++, &h);
		if (w->error == 0)
			w->error = put_numbers(
				&w->to, a->data, a->count, (unsigned)nc_type_size(a->type), false);
		h5_end_message(w);
	}
}

static void
put_dim_id(struct attrs_at *to, unsigned id)
{
	uint8_t out[4] = {
		(uint8_t)id, (uint8_t)(id >> 8), (uint8_t)(id >> 16), (uint8_t)(id >> 24)};
	const struct h5_attr h = {.name = "_Netcdf4Dimid",
		.type = {H5_INTEGER, 4, .has_sign = true},
		.scalar = true,
		.count = 1,
		.data = {out, sizeof out}};
	put_attr(to, &h);
}

/* Which variable has the dimension, and as which of its own. */
static void
put_users(struct attrs_at *to, unsigned dim)
{
	const struct nc4 *n = to->n;
	const size_t users = n->by_dim.start[dim + 1] - n->by_dim.start[dim];
	CLEAN(buf_free) struct buf out = {0};
	if (!users || users > BACK_REFERENCES_MAX)
		return;
	for (size_t i = n->by_dim.start[dim]; i < n->by_dim.start[dim + 1]; i++) {
		const struct nc4_axis *a = &n->axis[n->by_dim.of[i]];
		put_int(&out, n->var_at[a->var], 8, &to->n->h5.error);
		put_int(&out, a->number, 8, &to->n->h5.error);
	}
	const struct h5_attr h = {.name = "REFERENCE_LIST",
		.type = {H5_BACK_REFERENCE, BACK_REFERENCE_SIZE},
		.count = users,
		.data = buf_span(&out)};
	put_attr(to, &h);
}

static void
put_scale(struct attrs_at *to, const char *name, unsigned dim)
{
	put_name(to, "CLASS", "DIMENSION_SCALE");
	put_name(to, "NAME", name);
	put_dim_id(to, dim);
}

/* A variable's dimensions, by reference and by number. */
static void
put_dims(struct attrs_at *to, const struct nc_var *v, bool scale)
{
	struct h5 *w = &to->n->h5;
	const struct h5_attr lists = {
		.name = "DIMENSION_LIST", .type = {H5_REFERENCES, 16}, .count = v->rank};
	const struct h5_attr ids = {.name = "_Netcdf4Coordinates",
		.type = {H5_INTEGER, 4, .has_sign = true},
		.count = v->rank};
	if (!v->rank)
		return;
	if (!scale) {
		h5_begin_attribute(w, to->count++, &lists);
		for (unsigned i = 0; i < v->rank; i++)
			h5_put_object(w, 1, &to->n->list[v->dim[i]]);
		h5_end_message(w);
	}
	h5_begin_attribute(w, to->count++, &ids);
	for (unsigned i = 0; i < v->rank; i++)
		h5_number(w, v->dim[i], 4);
	h5_end_message(w);
}

static void
put_type(struct h5 *w, const struct h5_type *t)
{
	h5_begin_message(w, H5_DATATYPE, 0);
	h5_type(w, t);
	h5_end_message(w);
}

static void
put_space(struct nc4 *n, unsigned rank, const unsigned *dim)
{
	const struct nc_file *f = n->file;
	bool grows = false;
	for (unsigned i = 0; i < rank; i++) {
		n->size[i] = f->dim[dim[i]].size;
		n->most[i] = f->dim[dim[i]].unlimited ? H5_UNDEFINED : n->size[i];
		grows |= f->dim[dim[i]].unlimited;
	}
	h5_begin_message(&n->h5, H5_DATASPACE, 0);
	h5_space(&n->h5, rank, n->size, grows ? n->most : NULL);
	h5_end_message(&n->h5);
}

/* An element of the variable's type that stands for what is missing, in the order of its bytes. */
static int
fill_of(const struct nc_var *v, struct buf *ret)
{
	const struct attr *a = attrs_find(&v->attrs, "_FillValue");
	if (!a || a->type != v->type || a->count != 1)
		return 0;
	return put_numbers(ret, a->data, 1, (unsigned)nc_type_size(v->type), v->big);
}

static void
put_layout(struct nc4 *n, size_t i)
{
	const struct nc_var *v = &n->file->var[i];
	const uint32_t element = (uint32_t)nc_type_size(v->type);
	if (!v->chunk_rows) {
		h5_contiguous(&n->h5, v->bytes ? v->begin : H5_UNDEFINED, v->bytes);
		return;
	}
	bool none = false; /* a dimension of length 0 counts as 1 here, and the others as theirs */
	for (unsigned k = 1; k < v->rank; k++)
		none |= !n->file->dim[v->dim[k]].size;
	for (unsigned k = 0; k < v->rank; k++)
		n->size[k] = k && none ? 1 : k ? n->file->dim[v->dim[k]].size : v->chunk_rows;
	h5_chunked(&n->h5, v->bytes ? n->tree_at[i] : H5_UNDEFINED, v->rank, n->size, element);
}

/* What the first time left where it was, and has no address in it, holds. */
static void
put_own_attrs(struct attrs_at *to, size_t i)
{
	struct nc4 *n = to->n;
	const size_t at = n->h5.to.len, heap = n->h5.heap.len;
	if (!n->h5.draft && n->attrs_len[i]) {
		n->h5.to.len += n->attrs_len[i];
		to->count = n->attr_count[i];
		return;
	}
	put_attrs(to, &n->file->var[i].attrs);
	n->attrs_len[i] = n->h5.heap.len == heap ? n->h5.to.len - at : 0;
}

static void
put_var(struct nc4 *n, size_t i)
{
	const struct nc_var *v = &n->file->var[i];
	const unsigned dim = n->scale_of[i];
	struct h5_type type = *type_of(v->type);
	CLEAN(buf_free) struct buf fill = {0};
	struct attrs_at to = {n, 0};
	type.big = v->big;
	n->var_at[i] = h5_begin_object(&n->h5);
	put_space(n, v->rank, v->dim);
	put_type(&n->h5, &type);
	if (n->h5.error == 0)
		n->h5.error = fill_of(v, &fill);
	h5_fill(&n->h5, v->bytes != 0, buf_span(&fill));
	put_layout(n, i);
	h5_attribute_info(&n->h5, n->attr_count[i]);
	if (dim != NC_NO_DIM)
		put_scale(&to, v->name, dim);
	put_dims(&to, v, dim != NC_NO_DIM);
	if (dim != NC_NO_DIM)
		put_users(&to, dim);
	put_own_attrs(&to, i);
	n->attr_count[i] = to.count;
	h5_end_object(&n->h5);
}

/* A dimension that no variable stands for. */
static void
put_dim(struct nc4 *n, unsigned i)
{
	static const struct h5_type type = {H5_REAL, 4, .big = true};
	static const uint64_t one = 1;
	const struct nc_dim *d = &n->file->dim[i];
	const bool users = n->by_dim.start[i + 1] - n->by_dim.start[i] - 1 < BACK_REFERENCES_MAX;
	struct attrs_at to = {n, 0};
	char name[96];
	snprintf(name, sizeof name, "This is a netCDF dimension but not a netCDF variable.%10lld",
		(long long)d->size);
	n->dim_at[i] = h5_begin_object(&n->h5);
	put_space(n, 1, &i);
	put_type(&n->h5, &type);
	h5_fill(&n->h5, false, (struct span){0});
	if (d->unlimited)
		h5_chunked(&n->h5, H5_UNDEFINED, 1, &one, 4);
	else
		h5_contiguous(&n->h5, H5_UNDEFINED, 4 * d->size);
	h5_attribute_info(&n->h5, 3 + users);
	put_scale(&to, name, i);
	put_users(&to, i);
	h5_end_object(&n->h5);
}

static void
put_links(struct nc4 *n, unsigned g)
{
	const struct nc_file *f = n->file;
	uint64_t order = 0;
	for (size_t i = n->dims.start[g]; i < n->dims.start[g + 1]; i++)
		if (!n->scale[n->dims.of[i]])
			h5_link(&n->h5, order++, f->dim[n->dims.of[i]].name,
				n->dim_at[n->dims.of[i]]);
	for (size_t i = n->vars.start[g]; i < n->vars.start[g + 1]; i++) {
		const size_t k = n->vars.of[i];
		CLEAN(clean_free) char *secret = NULL;
		if (n->secret[k]) {
			/* cut so that what netCDF shows of it is no longer than it likes */
			CLEAN(clean_free) char *cut = nc_name_with(f->var[k].name, SECRET);
			if (!cut || asprintf(&secret, "%s%.*s", SECRET,
					    (int)(strlen(cut) - strlen(SECRET)), cut) < 0) {
				secret = NULL;
				n->h5.error = err_set(-ENOMEM, "no memory for a name");
				return;
			}
		}
		h5_link(&n->h5, order++, secret ? secret : f->var[k].name, n->var_at[k]);
	}
	for (size_t i = n->groups.start[g]; i < n->groups.start[g + 1]; i++)
		h5_link(&n->h5, order++, f->group[n->groups.of[i]].name,
			n->group_at[n->groups.of[i] + 1]);
}

static void
put_group(struct nc4 *n, unsigned g)
{
	const struct nc_file *f = n->file;
	const struct attrs *as = g ? &f->group[g - 1].attrs : &f->attrs;
	struct attrs_at to = {n, 0};
	n->group_at[g] = h5_begin_object(&n->h5);
	h5_group_info(&n->h5, n->links[g]);
	h5_attribute_info(&n->h5, (unsigned)as->count + !g);
	if (!g)
		put_name(&to, "_NCProperties", "version=2,zarrfs=" ZARRFS_VERSION);
	put_attrs(&to, as);
	put_links(n, g);
	h5_end_object(&n->h5);
}

/* A group, dimensions that it has, scales, then what has them. */
static void
put_contents(struct nc4 *n, unsigned g)
{
	put_group(n, g);
	for (size_t i = n->dims.start[g]; i < n->dims.start[g + 1] && n->h5.error == 0; i++)
		if (!n->scale[n->dims.of[i]])
			put_dim(n, n->dims.of[i]);
	for (int scale = 1; scale >= 0; scale--)
		for (size_t i = n->vars.start[g]; i < n->vars.start[g + 1] && n->h5.error == 0; i++)
			if ((n->scale_of[n->vars.of[i]] != NC_NO_DIM) == scale)
				put_var(n, n->vars.of[i]);
}

static void
put_trees(struct nc4 *n)
{
	const struct nc_file *f = n->file;
	for (size_t i = 0; i < f->nvars && n->h5.error == 0; i++) {
		const struct nc_var *v = &f->var[i];
		if (!v->chunk_rows || !v->bytes)
			continue;
		const uint64_t rows = f->dim[v->dim[0]].size;
		const struct h5_chunks c = {.at = v->begin,
			.count = ceil_div(rows, v->chunk_rows),
			.rows = v->chunk_rows,
			.bytes = (uint32_t)(v->bytes / rows * v->chunk_rows),
			.rank = v->rank};
		n->tree_at[i] = h5_tree(&n->h5, &c);
	}
}

int
nc4_put(struct nc4 *n)
{
	struct h5 *w = &n->h5;
	const struct nc_file *f = n->file;
	w->to.len = w->heap.len = w->collection = 0;
	w->objects = 0;
	h5_superblock(w, f->size, n->group_at[0]);
	for (unsigned i = 0; i < f->ndims; i++) {
		const uint64_t at = n->scale[i] ? n->var_at[n->scale[i] - 1] : n->dim_at[i];
		uint8_t out[8];
		for (unsigned k = 0; k < sizeof out; k++)
			out[k] = (uint8_t)(at >> 8 * k);
		n->list[i] = h5_heap_add(w, out, sizeof out);
	}
	for (unsigned g = 0; g <= f->ngroups && w->error == 0; g++)
		put_contents(n, g);
	h5_end_heap(w);
	put_trees(n);
	return w->error;
}
