#include "base/check.h"
#include "base/err.h"
#include "base/set.h"
#include "view/netcdf/nc4_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is that large begins on a page. */
static const uint64_t LARGE = 4 << 10, PAGE = 4 << 10, UNIT = 8;
/* HDF5 keeps chunks that fit its cache and reads all of one for any part of it; others it reads
 * where they lie. That cache has 1 MiB, with libnetcdf 64 MiB. Chunks of 4 GiB there cannot be. */
static const uint64_t SMALL = 1 << 20, CACHE = 64 << 20, WANTED = 256 << 20, CHUNK_MAX = UINT32_MAX;
/* Many chunks make a large tree: then they are as large as they can be. */
static const uint64_t MANY = 4096, CHUNKS_MAX = 1 << 20;

static void
sorted_free(struct nc4_sorted *s)
{
	free(s->start);
	free(s->of);
}

static void
done(struct nc4 *n)
{
	h5_done(&n->h5);
	sorted_free(&n->dims);
	sorted_free(&n->vars);
	sorted_free(&n->groups);
	sorted_free(&n->by_dim);
	free(n->axis);
	free(n->scale);
	free(n->scale_of);
	free(n->secret);
	free(n->attr_count);
	free(n->attrs_len);
	free(n->links);
	free(n->list);
	free(n->size);
	free(n->most);
	free(n->group_at);
	free(n->dim_at);
	free(n->var_at);
	free(n->tree_at);
}

/* key[i] < keys: what thing i belongs to. The things of a key keep their order. */
static int
sort(const unsigned *key, size_t n, size_t keys, struct nc4_sorted *ret)
{
	ret->start = calloc(keys + 2, sizeof *ret->start);
	ret->of = calloc(n + 1, sizeof *ret->of);
	if (!ret->start || !ret->of)
		return err_set(-ENOMEM, "no memory for a netCDF file");
	size_t *next = ret->start + 1; /* of each key; becomes its end */
	for (size_t i = 0; i < n; i++)
		next[key[i] + 1]++;
	for (size_t k = 0; k < keys; k++)
		next[k + 1] += next[k];
	for (size_t i = 0; i < n; i++)
		ret->of[next[key[i]]++] = (unsigned)i;
	return 0;
}

/* By what groups have. */
static int
sort_all(struct nc4 *n)
{
	const struct nc_file *f = n->file;
	const size_t groups = f->ngroups + 1;
	size_t most = max_u64(max_u64(f->ndims, f->nvars), max_u64(f->ngroups, n->naxes));
	CLEAN(clean_free) unsigned *key = calloc(most + 1, sizeof *key);
	if (!key)
		return err_set(-ENOMEM, "no memory for a netCDF file");
	for (size_t i = 0; i < f->ndims; i++)
		key[i] = f->dim[i].group;
	int r = sort(key, f->ndims, groups, &n->dims);
	for (size_t i = 0; i < f->nvars; i++)
		key[i] = f->var[i].group;
	if (r == 0)
		r = sort(key, f->nvars, groups, &n->vars);
	for (size_t i = 0; i < f->ngroups; i++)
		key[i] = f->group[i].parent;
	if (r == 0)
		r = sort(key, f->ngroups, groups, &n->groups);
	for (size_t i = 0; i < n->naxes; i++)
		key[i] = n->axis[i].dim;
	return r < 0 ? r : sort(key, n->naxes, f->ndims, &n->by_dim);
}

struct nc4_named {
	const char *name;
	unsigned group, number;
};

static int
by_group_and_name(const void *a, const void *b)
{
	const struct nc4_named *x = a, *y = b;
	return x->group != y->group ? (x->group < y->group ? -1 : 1) : strcmp(x->name, y->name);
}

/* Which variables stand for dimensions: those of their name, in their group, that begin with
 * them. */
static int
find_scales(struct nc4 *n)
{
	const struct nc_file *f = n->file;
	CLEAN(clean_free) struct nc4_named *all = calloc(f->ndims + 1, sizeof *all);
	if (!all)
		return err_set(-ENOMEM, "no memory for a netCDF file");
	for (unsigned i = 0; i < f->ndims; i++)
		all[i] = (struct nc4_named){f->dim[i].name, f->dim[i].group, i};
	qsort(all, f->ndims, sizeof *all, by_group_and_name);
	for (size_t i = 0; i < f->nvars; i++) {
		const struct nc_var *v = &f->var[i];
		const struct nc4_named key = {v->name, v->group, 0};
		const struct nc4_named *d =
			bsearch(&key, all, f->ndims, sizeof *all, by_group_and_name);
		const bool scale = d && v->rank && v->dim[0] == d->number;
		n->scale_of[i] = scale ? d->number : NC_NO_DIM;
		n->secret[i] = d && !scale;
		if (scale)
			n->scale[d->number] = 1 + (unsigned)i;
	}
	return 0;
}

static int
find_axes(struct nc4 *n)
{
	const struct nc_file *f = n->file;
	size_t most = 0;
	for (size_t i = 0; i < f->nvars; i++)
		most += f->var[i].rank;
	n->axis = calloc(most + 1, sizeof *n->axis);
	if (!n->axis)
		return err_set(-ENOMEM, "no memory for a netCDF file");
	for (unsigned i = 0; i < f->nvars; i++)
		for (unsigned k = 0; n->scale_of[i] == NC_NO_DIM && k < f->var[i].rank; k++)
			n->axis[n->naxes++] = (struct nc4_axis){i, f->var[i].dim[k], k};
	return 0;
}

static void
count_links(struct nc4 *n)
{
	const struct nc_file *f = n->file;
	for (size_t i = 0; i < f->ndims; i++)
		n->links[f->dim[i].group] += !n->scale[i];
	for (size_t i = 0; i < f->nvars; i++)
		n->links[f->var[i].group]++;
	for (size_t i = 0; i < f->ngroups; i++)
		n->links[f->group[i].parent]++;
}

static int
prepare(struct nc4 *n)
{
	const struct nc_file *f = n->file;
	size_t rank = 1;
	for (size_t i = 0; i < f->nvars; i++)
		rank = max_u64(rank, f->var[i].rank);
	n->scale = calloc(f->ndims + 1, sizeof *n->scale);
	n->dim_at = calloc(f->ndims + 1, sizeof *n->dim_at);
	n->list = calloc(f->ndims + 1, sizeof *n->list);
	n->scale_of = calloc(f->nvars + 1, sizeof *n->scale_of);
	n->secret = calloc(f->nvars + 1, sizeof *n->secret);
	n->attr_count = calloc(f->nvars + 1, sizeof *n->attr_count);
	n->attrs_len = calloc(f->nvars + 1, sizeof *n->attrs_len);
	n->var_at = calloc(f->nvars + 1, sizeof *n->var_at);
	n->tree_at = calloc(f->nvars + 1, sizeof *n->tree_at);
	n->group_at = calloc((size_t)f->ngroups + 1, sizeof *n->group_at);
	n->links = calloc((size_t)f->ngroups + 1, sizeof *n->links);
	n->size = calloc(rank, sizeof *n->size);
	n->most = calloc(rank, sizeof *n->most);
	if (!n->scale || !n->dim_at || !n->list || !n->scale_of || !n->secret || !n->attr_count ||
		!n->attrs_len || !n->var_at || !n->tree_at || !n->group_at || !n->links ||
		!n->size || !n->most)
		return err_set(-ENOMEM, "no memory for a netCDF file");
	int r = find_scales(n);
	if (r == 0)
		r = find_axes(n);
	if (r == 0)
		r = sort_all(n);
	if (r == 0)
		count_links(n);
	return r;
}

bool
nc4_has_chunks(uint64_t row)
{
	return row <= CHUNK_MAX;
}

/* leads: the dimension that has no limit is the first, so that a chunk may be larger than what
 * there is. */
static uint64_t
rows_of_chunk(uint64_t rows, uint64_t row, bool leads)
{
	const uint64_t all = rows * row;
	uint64_t n = rows;
	if (all > SMALL && all <= CACHE && leads)
		n = CACHE / row + 1;
	else if (all > CACHE)
		n = min_u64(WANTED / row + 1, rows);
	if (n && rows / n > MANY)
		n = CHUNK_MAX / row;
	return max_u64(min_u64(n, CHUNK_MAX / max_u64(row, 1)), 1);
}

static int
measure(const struct nc_file *f, struct nc_var *v)
{
	uint64_t row = nc_type_size(v->type), rows = v->rank ? f->dim[v->dim[0]].size : 1;
	bool over = row == 0, grows = false;
	for (unsigned i = 0; i < v->rank; i++) {
		grows |= f->dim[v->dim[i]].unlimited;
		if (i && !over)
			over = mul_over(row, f->dim[v->dim[i]].size, &row);
	}
	v->chunk_rows = 0;
	if (over || mul_over(row, rows, &v->bytes) || v->bytes > INT64_MAX / 4)
		return err_set(-EFBIG, "variable '%s' has too many bytes", v->name);
	if (!grows)
		return 0;
	if (!row) { /* nothing is stored, in chunks of any shape */
		v->chunk_rows = 1;
		return 0;
	}
	if (row > CHUNK_MAX)
		return err_set(-EFBIG, "variable '%s' has rows of more than 4 GiB", v->name);
	v->chunk_rows = rows_of_chunk(rows, row, f->dim[v->dim[0]].unlimited);
	if (rows / v->chunk_rows > CHUNKS_MAX)
		return err_set(-EFBIG, "variable '%s' has too many chunks", v->name);
	return 0;
}

/* What it takes in the file: of chunks the last one is whole. */
static uint64_t
room_of(const struct nc_file *f, const struct nc_var *v)
{
	if (!v->chunk_rows || !v->bytes)
		return v->bytes;
	const uint64_t rows = f->dim[v->dim[0]].size;
	return v->bytes / rows * round_up(rows, v->chunk_rows);
}

static int
check(const struct nc_file *f)
{
	for (unsigned i = 0; i < f->ndims; i++)
		if (f->dim[i].size > INT64_MAX / 4)
			return err_set(-EFBIG, "dimension '%s' of %llu elements is too large",
				f->dim[i].name, (unsigned long long)f->dim[i].size);
	for (size_t i = 0; i < f->nvars; i++)
		for (unsigned k = 0; k < f->var[i].rank; k++)
			if (f->var[i].dim[k] >= f->ndims)
				return err_set(-EINVAL, "variable '%s' has no such dimension",
					f->var[i].name);
	return 0;
}

struct sized {
	uint64_t bytes;
	size_t at;
};

static int
by_size(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

/* Data lie behind the metadata, the smallest first. */
static int
place(struct nc4 *n)
{
	struct nc_file *f = n->file;
	uint64_t at = nc_data_start(n->h5.to.len);
	CLEAN(clean_free) struct sized *all = calloc(f->nvars + 1, sizeof *all);
	if (!all)
		return err_set(-ENOMEM, "no memory for a netCDF file");
	for (size_t i = 0; i < f->nvars; i++)
		all[i] = (struct sized){f->var[i].bytes, i};
	qsort(all, f->nvars, sizeof *all, by_size);
	f->size = n->h5.to.len;
	for (size_t i = 0; i < f->nvars; i++) {
		struct nc_var *v = &f->var[all[i].at];
		if (!v->bytes)
			continue;
		v->begin = round_up(nc_apart(at, v->bytes), v->bytes < LARGE ? UNIT : PAGE);
		if (add_over(v->begin, room_of(f, v), &at) || at > INT64_MAX - 2 * PAGE)
			return err_set(-EFBIG, "variable '%s' makes the file too large", v->name);
		f->size = at;
	}
	return 0;
}

/* For the metadata of very many variables, a little more than they take. Pages come as they are
 * written; growing step by step would take twice as much for a moment. */
static int
make_room(struct nc4 *n)
{
	enum { OBJECT_ABOUT = 600, ATTR_ABOUT = 64 };
	const struct nc_file *f = n->file;
	size_t about = 0;
	for (size_t i = 0; i < f->nvars; i++) {
		const struct attrs *a = &f->var[i].attrs;
		about += OBJECT_ABOUT;
		for (size_t k = 0; k < a->count; k++)
			about += ATTR_ABOUT + strlen(a->attr[k].name) +
				 a->attr[k].count * nc_type_size(a->attr[k].type);
	}
	return buf_reserve_most(&n->h5.to, about);
}

int
nc4_lay_out(struct nc_file *f)
{
	struct nc4 n = {.file = f};
	int r = check(f);
	for (size_t i = 0; i < f->nvars && r == 0; i++)
		r = measure(f, &f->var[i]);
	if (r == 0)
		r = prepare(&n);
	if (r == 0)
		r = make_room(&n);
	/* Sizes do not depend on addresses. */
	n.h5.draft = true;
	if (r == 0)
		r = nc4_put(&n);
	if (r == 0)
		r = place(&n);
	n.h5.draft = false;
	if (r == 0)
		r = nc4_put(&n);
	if (r == 0) {
		buf_free(&f->header);
		f->header = n.h5.to;
		n.h5.to = (struct buf){0};
	}
	done(&n);
	return r;
}
