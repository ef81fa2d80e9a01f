#include "view/image/nc4_input.h"

#include "base/check.h"
#include "base/clean.h"
#include "base/err.h"
#include "base/lazy.h"
#include "base/swap.h"
#include "model/dtype.h"
#include "view/image/spill.h"

#include <errno.h>
#include <netcdf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define NETCDF(F) \
	F(nc_open) F(nc_close) F(nc_strerror) F(nc_inq) F(nc_inq_dim) F(nc_inq_unlimdims) F(nc_inq_grps) \
	F(nc_inq_var) F(nc_inq_var_chunking) F(nc_inq_attname) F(nc_inq_att) F(nc_get_att) \
	F(nc_get_vara) F(nc_free_string)
/* clang-format on */

static const uint64_t BLOCK = 64 << 20; /* bytes that are read at once, at the most */

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER; /* guards all of the library */
LAZY_LIBRARY(netcdf, NETCDF, "libnetcdf.so.19")

/* Elements that one call has read. */
struct nc4_block {
	size_t var;
	uint64_t first, bytes; /* of the variable's; bytes 0: nothing is there yet */
	uint8_t *data;         /* big-endian */
	size_t room;
};

struct nc4_input {
	int id;
	struct nc4_block block;
};

static int
load_library(void)
{
	return netcdf_load() < 0
		       ? err_add(-EINVAL,
				 "a netCDF-4 file, which needs libnetcdf (nccopy -k cdf5 makes "
				 "a classic one)")
		       : 0;
}

static int
failed(int status, const char *what, const char *name)
{
	if (status == NC_ENOMEM)
		return err_set(-ENOMEM, "no memory for a netCDF-4 file");
	return err_set(-EINVAL, "cannot read %s '%s' of a netCDF-4 file: %s", what, name,
		netcdf.nc_strerror(status));
}

/* --- what it holds: all with the lock held --- */

static int
read_list(int id, int var, const char *name, struct attr *a)
{
	char **got = calloc(a->count + 1, sizeof *got), **own = calloc(a->count + 1, sizeof *own);
	int status = got && own ? netcdf.nc_get_att(id, var, name, got) : NC_ENOMEM;
	a->data = own;
	for (size_t i = 0; status == NC_NOERR && i < a->count; i++)
		if (!(own[i] = strdup(got[i] ? got[i] : "")))
			status = NC_ENOMEM;
	if (got && own)
		netcdf.nc_free_string(a->count, got);
	free(got);
	return status;
}

/* One string is a text. */
static int
simplify(struct attr *a)
{
	if (a->type != NC_TYPE_STRING || a->count != 1)
		return 0;
	char **list = a->data;
	CLEAN(clean_free) char *text = list[0];
	free(list);
	a->data = NULL;
	a->count = 0;
	return attr_set_text(a, text, strlen(text));
}

static int
read_attr(int id, int var, int number, struct attr *a)
{
	char name[NC_MAX_NAME + 1] = "";
	nc_type type;
	size_t n;
	int status = netcdf.nc_inq_attname(id, var, number, name);
	if (status == NC_NOERR)
		status = netcdf.nc_inq_att(id, var, name, &type, &n);
	if (status != NC_NOERR)
		return failed(status, "attribute", name);
	if (type < NC_BYTE || type > NC_STRING)
		return err_set(-EINVAL, "attribute '%s' has a type of its own", name);
	*a = (struct attr){.type = (enum nc_type)type, .count = n, .name = strdup(name)};
	const size_t size = nc_type_size(a->type);
	if (!a->name)
		return failed(NC_ENOMEM, "attribute", name);
	if (type == NC_STRING)
		status = read_list(id, var, name, a);
	else if (!(a->data = calloc(n + 1, size)))
		status = NC_ENOMEM;
	else if (n)
		status = netcdf.nc_get_att(id, var, name, a->data);
	return status == NC_NOERR ? simplify(a) : failed(status, "attribute", name);
}

static int
read_attrs(int id, int var, int n, struct attrs *ret)
{
	int r = 0;
	ret->attr = calloc((size_t)n + 1, sizeof *ret->attr);
	if (!ret->attr)
		return failed(NC_ENOMEM, "attribute", "");
	for (int i = 0; r == 0 && i < n; i++)
		r = read_attr(id, var, i, &ret->attr[ret->count++]);
	return r;
}

static int
read_dims(int id, int n, struct nc_file *f)
{
	CLEAN(clean_free) int *unlimited = calloc((size_t)n + 1, sizeof *unlimited);
	int many = 0;
	f->dim = calloc((size_t)n + 1, sizeof *f->dim);
	if (!f->dim || !unlimited)
		return failed(NC_ENOMEM, "dimension", "");
	int status = netcdf.nc_inq_unlimdims(id, &many, unlimited);
	for (int i = 0; status == NC_NOERR && i < n; i++) {
		char name[NC_MAX_NAME + 1] = "";
		size_t size = 0;
		status = netcdf.nc_inq_dim(id, i, name, &size);
		if (status != NC_NOERR)
			break;
		f->dim[i] = (struct nc_dim){.name = strdup(name), .size = size};
		f->ndims = (unsigned)i + 1;
		for (int k = 0; k < many; k++)
			f->dim[i].unlimited |= unlimited[k] == i;
		status = f->dim[i].name ? NC_NOERR : NC_ENOMEM;
	}
	return status == NC_NOERR ? 0 : failed(status, "dimension", "");
}

static int
read_var(int id, int number, struct nc_file *f, struct nc_var *v)
{
	char name[NC_MAX_NAME + 1] = "";
	int dim[NC_MAX_VAR_DIMS], rank = 0, natts = 0;
	nc_type type = 0;
	int status = netcdf.nc_inq_var(id, number, name, &type, &rank, dim, &natts);
	if (status != NC_NOERR)
		return failed(status, "variable", name);
	if (type < NC_BYTE || type > NC_UINT64)
		return err_set(-EINVAL, "variable '%s' has %s", name,
			type == NC_STRING ? "strings: make them char of a fixed length"
					  : "a type of its own");
	v->name = strdup(name);
	v->dim = calloc((size_t)rank + 1, sizeof *v->dim);
	if (!v->name || !v->dim)
		return failed(NC_ENOMEM, "variable", name);
	v->type = (enum nc_type)type;
	v->rank = (unsigned)rank;
	v->bytes = nc_type_size(v->type);
	v->begin = f->size;
	bool over = rank > DTYPE_RANK_MAX;
	for (int i = 0; i < rank; i++) {
		if (dim[i] < 0 || (unsigned)dim[i] >= f->ndims)
			return err_set(-EINVAL, "variable '%s' has a dimension of nowhere", name);
		v->dim[i] = (unsigned)dim[i];
		over |= mul_over(v->bytes, f->dim[dim[i]].size, &v->bytes);
	}
	if (over || add_over(f->size, v->bytes, &f->size) || f->size > INT64_MAX)
		return err_set(-EINVAL, "variable '%s' is too large", name);
	return read_attrs(id, number, natts, &v->attrs);
}

static int
read_file(int id, struct nc_file *f)
{
	int ndims, nvars, natts, unlimited, groups = 0;
	int status = netcdf.nc_inq(id, &ndims, &nvars, &natts, &unlimited);
	if (status == NC_NOERR)
		status = netcdf.nc_inq_grps(id, &groups, NULL);
	if (status != NC_NOERR)
		return failed(status, "the root", "");
	if (groups)
		return err_set(-EINVAL, "it has groups: take each one alone (ncks -g GROUP -G :)");
	f->var = calloc((size_t)nvars + 1, sizeof *f->var);
	if (!f->var)
		return failed(NC_ENOMEM, "variable", "");
	int r = read_dims(id, ndims, f);
	for (int i = 0; r == 0 && i < nvars; i++) {
		f->nvars = (size_t)i + 1;
		r = read_var(id, i, f, &f->var[i]);
	}
	return r < 0 ? r : read_attrs(id, NC_GLOBAL, natts, &f->attrs);
}

/* --- */

int
nc4_input_open(struct spill *s, struct nc_file *ret_file, struct nc4_input **ret)
{
	struct nc_file f = {.format = CDF_5, .record = NC_NO_DIM};
	struct nc4_input *n = NULL;
	char *path = NULL;
	int r = load_library();
	if (r == 0)
		r = spill_name(s, &path);
	if (r < 0)
		return r;
	n = calloc(1, sizeof *n);
	if (!n) {
		spill_unname(path);
		return err_set(-ENOMEM, "no memory for a netCDF-4 file");
	}
	n->id = -1;
	LOCKED(&one_at_a_time) {
		int status = netcdf.nc_open(path, NC_NOWRITE, &n->id);
		if (status != NC_NOERR)
			n->id = -1;
		r = status == NC_NOERR ? read_file(n->id, &f) : failed(status, "all", "");
	}
	spill_unname(path);
	if (r < 0) {
		nc_file_free(&f);
		nc4_input_free(n);
		return r;
	}
	*ret_file = f;
	*ret = n;
	return 0;
}

struct nc4_input *
nc4_input_free(struct nc4_input *n)
{
	if (!n)
		return NULL;
	if (n->id >= 0)
		LOCKED(&one_at_a_time)
			netcdf.nc_close(n->id);
	free(n->block.data);
	free(n);
	return NULL;
}

/* --- elements --- */

/* Which elements one call reads: all of dimensions [full, rank), some of the one before, one of
 * each before that. */
struct slab {
	unsigned full;
	uint64_t row;  /* bytes of one of the dimension before */
	uint64_t rows; /* of that dimension in one call: whole chunks, where those are not too
			  large */
};

/* With the lock held. */
static int
choose(const struct nc4_input *n, const struct nc_file *f, size_t var, struct slab *ret)
{
	const struct nc_var *v = &f->var[var];
	struct slab s = {.full = v->rank, .row = nc_type_size(v->type), .rows = 1};
	size_t chunk[NC_MAX_VAR_DIMS];
	int storage = NC_CONTIGUOUS;
	while (s.full && s.row * f->dim[v->dim[s.full - 1]].size <= BLOCK)
		s.row *= f->dim[v->dim[--s.full]].size;
	if (s.full) {
		int status = netcdf.nc_inq_var_chunking(n->id, (int)var, &storage, chunk);
		if (status != NC_NOERR)
			return failed(status, "variable", v->name);
		const uint64_t step = storage == NC_CHUNKED ? chunk[s.full - 1] : 1;
		s.rows = max_u64(BLOCK / s.row, 1);
		if (step && step <= s.rows)
			s.rows -= s.rows % step;
	}
	*ret = s;
	return 0;
}

/* With the lock held. */
static int
load_block(struct nc4_input *n, const struct nc_file *f, size_t var, uint64_t in)
{
	const struct nc_var *v = &f->var[var];
	size_t start[NC_MAX_VAR_DIMS] = {0}, count[NC_MAX_VAR_DIMS] = {0};
	struct slab s = {0};
	int r = choose(n, f, var, &s);
	if (r < 0)
		return r;
	uint64_t at = s.row ? in / s.row : 0, first = at, rows = 1;
	for (unsigned i = s.full; i < v->rank; i++)
		count[i] = f->dim[v->dim[i]].size;
	for (unsigned i = s.full; i-- > 0;) {
		const uint64_t size = f->dim[v->dim[i]].size, index = at % size;
		at /= size;
		start[i] = index;
		count[i] = 1;
		if (i + 1 == s.full) {
			start[i] = index - index % s.rows;
			count[i] = rows = min_u64(s.rows, size - start[i]);
			first -= index - start[i];
		}
	}
	struct nc4_block *b = &n->block;
	b->bytes = 0;
	if (b->room < rows * s.row) {
		free(b->data);
		b->data = malloc(rows * s.row);
		b->room = b->data ? rows * s.row : 0;
	}
	if (!b->data)
		return failed(NC_ENOMEM, "variable", v->name);
	int status = netcdf.nc_get_vara(n->id, (int)var, start, count, b->data);
	if (status != NC_NOERR)
		return failed(status, "variable", v->name);
	const unsigned size = (unsigned)nc_type_size(v->type);
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && size > 1)
		swap_run(size, b->data, b->data, rows * s.row / size);
	b->var = var;
	b->first = first * s.row;
	b->bytes = rows * s.row;
	return 0;
}

int
nc4_input_read(struct nc4_input *n, const struct nc_file *f, size_t var, uint64_t in, size_t len,
	uint8_t *to)
{
	const struct nc4_block *b = &n->block;
	while (len) {
		int r = 0;
		if (b->var != var || in < b->first || in - b->first >= b->bytes)
			LOCKED(&one_at_a_time)
				r = load_block(n, f, var, in);
		if (r < 0)
			return r;
		const uint64_t at = in - b->first;
		const size_t some = (size_t)min_u64(len, b->bytes - at);
		memcpy(to, b->data + at, some);
		to += some;
		in += some;
		len -= some;
	}
	return 0;
}
