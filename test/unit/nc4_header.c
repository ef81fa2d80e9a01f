/* Random netCDF-4 files: the same model gives the same bytes, and libnetcdf finds everything where
 * it was said to lie. nc4_header FOLDER: leaves some of them there for other readers. */
#include "check.h"

#include "view/netcdf/nc_file.h"

#include <errno.h>
#include <netcdf.h>
#include <unistd.h>

enum { DIMS = 6, VARS = 9, GROUPS = 4, ATTRS = 7, RANK = 3 };

static uint32_t seed = 1;

static uint32_t
pick(uint32_t n)
{
	return check_random(&seed) % n;
}

static char *
text(const char *fmt, uint32_t i)
{
	static const char *const more[] = {
		"", "_", " x", ".y", "\xc3\xa9", "\xe6\xb8\xa9", "_a_long_name_"};
	char *s;
	return asprintf(&s, fmt, i, more[pick(7)]) < 0 ? NULL : s;
}

static void
random_texts(struct attr *a)
{
	char **list = calloc(a->count + 1, sizeof *list);
	for (size_t i = 0; i < a->count; i++)
		list[i] = pick(4) ? text("text %u%s", (uint32_t)i) : strdup("");
	a->data = list;
}

static void
random_attrs(struct attrs *as)
{
	as->attr = calloc(ATTRS, sizeof *as->attr);
	uint32_t n = pick(ATTRS);
	for (uint32_t i = 0; i < n; i++) {
		struct attr *a = &as->attr[as->count++];
		a->name = text("att%u%s", i);
		a->type = (enum nc_type)(1 + pick(12));
		a->count = pick(8) ? pick(10) : 0;
		if (a->type == NC_TYPE_CHAR && pick(20) == 0)
			a->count = 60000 + pick(100000);
		if (a->type == NC_TYPE_STRING) {
			a->count += !a->count;
			random_texts(a);
			continue;
		}
		uint8_t *p = calloc(1, a->count * 8 + 1);
		for (size_t k = 0; k < a->count * 8; k++)
			p[k] = (uint8_t)(1 + pick(0x6f)); /* no NaN, no NUL */
		a->data = p;
	}
}

static void
random_dims(struct nc_file *f)
{
	uint32_t n = pick(DIMS);
	for (uint32_t i = 0; i < n; i++)
		f->dim[f->ndims++] =
			(struct nc_dim){text("dim%u%s", i), .size = pick(12) ? 1 + pick(40) : 0,
				.group = pick(f->ngroups + 1), .unlimited = pick(5) == 0};
}

static bool
sees(const struct nc_file *f, unsigned group, unsigned of)
{
	while (group && group != of)
		group = f->group[group - 1].parent;
	return group == of;
}

static bool
has_var(const struct nc_file *f, const char *name)
{
	for (size_t i = 0; i < f->nvars; i++)
		if (strcmp(f->var[i].name, name) == 0)
			return true;
	return false;
}

static void
random_var(struct nc_file *f, uint32_t i)
{
	struct nc_var v = {.type = (enum nc_type)(1 + pick(11)), .group = pick(f->ngroups + 1)};
	const struct nc_dim *d = f->ndims && pick(2) ? &f->dim[pick(f->ndims)] : NULL;
	v.dim = calloc(RANK + 1, sizeof *v.dim);
	v.big = pick(2) && nc_type_size(v.type) > 1;
	if (d && !has_var(f, d->name)) { /* of its name, and mostly its coordinate */
		v.name = strdup(d->name);
		v.group = d->group;
		if (pick(4))
			v.dim[v.rank++] = (unsigned)(d - f->dim);
	} else {
		v.name = text("var%u%s", i);
	}
	for (uint32_t k = pick(RANK); k && f->ndims; k--) {
		uint32_t n = pick(f->ndims);
		if (sees(f, v.group, f->dim[n].group))
			v.dim[v.rank++] = n;
	}
	random_attrs(&v.attrs);
	f->var[f->nvars++] = v;
}

static void
random_file(struct nc_file *f)
{
	*f = (struct nc_file){.format = NC_4, .record = NC_NO_DIM};
	f->dim = calloc(DIMS, sizeof *f->dim);
	f->var = calloc(VARS, sizeof *f->var);
	f->group = calloc(GROUPS, sizeof *f->group);
	for (uint32_t i = pick(GROUPS + 1); i; i--) {
		struct nc_group *g = &f->group[f->ngroups];
		*g = (struct nc_group){text("group%u%s", i), .parent = pick(f->ngroups + 1)};
		random_attrs(&g->attrs);
		f->ngroups++;
	}
	random_dims(f);
	random_attrs(&f->attrs);
	for (uint32_t i = pick(VARS); i; i--)
		random_var(f, i);
}

/* A file with each variable's bytes counted up from its place. */
static void
write_file(const struct nc_file *f, const char *path)
{
	FILE *o = fopen(path, "w");
	CHECK(o != NULL);
	fwrite(f->header.data, 1, f->header.len, o);
	for (uint64_t at = f->header.len; at < f->size && at < 4 << 20; at++)
		putc((int)(at % 113), o);
	CHECK_INT(fflush(o), 0);
	CHECK_INT(ftruncate(fileno(o), (off_t)f->size), 0);
	fclose(o);
}

static void
check_texts(int nc, int var, const struct attr *a)
{
	char *got[16] = {0};
	CHECK_INT(nc_get_att_string(nc, var, a->name, got), 0);
	for (size_t i = 0; i < a->count; i++)
		CHECK_STR(got[i], ((char **)a->data)[i]);
	nc_free_string(a->count, got);
}

static void
check_attr(int nc, int var, const struct attr *a)
{
	static uint8_t got[200000];
	nc_type t;
	size_t len;
	CHECK_INT(nc_inq_att(nc, var, a->name, &t, &len), 0);
	if (a->type == NC_TYPE_STRING) {
		CHECK_INT(t, NC_STRING);
		CHECK_INT(len, a->count);
		check_texts(nc, var, a);
	} else if (a->type == NC_TYPE_CHAR && t == NC_STRING) { /* a long one */
		char *s = NULL;
		CHECK(a->count > 65000);
		CHECK_INT(nc_get_att_string(nc, var, a->name, &s), 0);
		CHECK_INT(strlen(s), a->count);
		CHECK_MEM(s, a->data, a->count);
		nc_free_string(1, &s);
	} else {
		CHECK_INT(t, a->type);
		CHECK_INT(len, a->count);
		CHECK_INT(nc_get_att(nc, var, a->name, got), 0);
		CHECK_MEM(got, a->data, len * nc_type_size(a->type));
	}
}

static void
check_attrs(int nc, int var, const struct attrs *as)
{
	int n;
	CHECK_INT(var == NC_GLOBAL ? nc_inq_natts(nc, &n) : nc_inq_varnatts(nc, var, &n), 0);
	CHECK_INT(n, as->count);
	for (int i = 0; i < n && i < (int)as->count; i++) {
		char name[NC_MAX_NAME + 1];
		CHECK_INT(nc_inq_attname(nc, var, i, name), 0);
		CHECK_STR(name, as->attr[i].name);
		check_attr(nc, var, &as->attr[i]);
	}
}

/* The last element, as bytes of the file. */
static void
check_last(int nc, int id, const struct nc_file *f, const struct nc_var *v)
{
	size_t at[RANK + 1], size = nc_type_size(v->type);
	uint8_t got[8] = {0}, want[8];
	for (unsigned i = 0; i < v->rank; i++) {
		uint64_t n = f->dim[v->dim[i]].size;
		if (n == 0)
			return;
		at[i] = n - 1;
	}
	uint64_t off = v->begin + v->bytes - size;
	for (size_t i = 0; i < size; i++)
		want[v->big ? size - 1 - i : i] =
			(uint8_t)((off + i) % 113); /* little-endian here */
	CHECK(off + size <= f->size);
	CHECK_INT(nc_get_var1(nc, id, at, got), 0);
	CHECK_MEM(got, want, size);
}

static void
check_vars(int nc, const struct nc_file *f, unsigned group)
{
	int nvars, id = 0;
	CHECK_INT(nc_inq_nvars(nc, &nvars), 0);
	for (size_t i = 0; i < f->nvars; i++) {
		const struct nc_var *v = &f->var[i];
		char name[NC_MAX_NAME + 1];
		nc_type t;
		int rank = 0, dim[8];
		if (v->group != group)
			continue;
		CHECK_INT(nc_inq_var(nc, id, name, &t, &rank, dim, NULL), 0);
		CHECK_STR(name, v->name);
		CHECK_INT(t, v->type);
		CHECK_INT(rank, v->rank);
		for (int k = 0; k < rank; k++)
			CHECK_INT(dim[k], v->dim[k]);
		check_attrs(nc, id, &v->attrs);
		check_last(nc, id, f, v);
		id++;
	}
	CHECK_INT(nvars, id);
}

/* What has no limit is as long as variables say. */
static bool
is_used(const struct nc_file *f, unsigned dim)
{
	for (size_t i = 0; i < f->nvars; i++)
		for (unsigned k = 0; k < f->var[i].rank; k++)
			if (f->var[i].dim[k] == dim)
				return true;
	return false;
}

static void
check_file(const struct nc_file *f, const char *path)
{
	int nc, group[GROUPS + 1];
	CHECK_INT(nc_open(path, NC_NOWRITE, &nc), 0);
	if (check_failed)
		return;
	group[0] = nc;
	for (unsigned g = 0; g < f->ngroups; g++)
		CHECK_INT(
			nc_inq_ncid(group[f->group[g].parent], f->group[g].name, &group[g + 1]), 0);
	for (unsigned i = 0; i < f->ndims; i++) {
		const struct nc_dim *d = &f->dim[i];
		int n = 0, ids[DIMS] = {0}, unlimited = 0;
		char name[NC_MAX_NAME + 1];
		size_t len;
		CHECK_INT(nc_inq_dim(group[d->group], (int)i, name, &len), 0);
		CHECK_STR(name, d->name);
		CHECK_INT(len, d->unlimited && !is_used(f, i) ? 0 : d->size);
		CHECK_INT(nc_inq_unlimdims(group[d->group], &n, ids), 0);
		for (int k = 0; k < n; k++)
			unlimited |= ids[k] == (int)i;
		CHECK_INT(unlimited, d->unlimited || !d->size);
	}
	for (unsigned g = 0; g <= f->ngroups; g++) {
		check_attrs(group[g], NC_GLOBAL, g ? &f->group[g - 1].attrs : &f->attrs);
		check_vars(group[g], f, g);
	}
	nc_close(nc);
}

static void
check_places(const struct nc_file *f)
{
	for (size_t k = 0; k < f->nvars; k++) {
		const struct nc_var *v = &f->var[k];
		CHECK(!v->bytes || v->begin >= f->header.len);
		CHECK(!v->bytes || v->begin % (v->bytes < 4096 ? 8 : 4096) == 0);
		CHECK(!v->bytes || v->begin + v->bytes <= f->size);
	}
}

static void
test_random(const char *folder)
{
	char path[] = "/tmp/nc4_headerXXXXXX";
	close(mkstemp(path));
	for (int i = 0; i < (folder ? 60 : 400) && !check_failed; i++) {
		struct nc_file f;
		random_file(&f);
		CHECK_INT(nc4_lay_out(&f), 0);
		struct buf first = f.header;
		const uint64_t size = f.size;
		f.header = (struct buf){0};
		CHECK_INT(nc4_lay_out(&f), 0);
		CHECK_INT(f.size, size);
		CHECK_INT(f.header.len, first.len);
		CHECK_MEM(f.header.data, first.data, first.len);
		buf_free(&first);
		check_places(&f);
		char kept[500];
		snprintf(kept, sizeof kept, "%s/%d.nc4", folder ? folder : "", i);
		write_file(&f, folder ? kept : path);
		check_file(&f, folder ? kept : path);
		if (check_failed)
			fprintf(stderr, "file %d\n", i);
		nc_file_free(&f);
	}
	if (!check_failed)
		unlink(path);
}

/* One variable of bytes, of so many rows. */
static int
make(uint64_t rows, uint64_t row, bool unlimited, struct nc_file *f)
{
	*f = (struct nc_file){.format = NC_4, .record = NC_NO_DIM};
	f->dim = calloc(2, sizeof *f->dim);
	f->var = calloc(1, sizeof *f->var);
	f->dim[0] = (struct nc_dim){strdup("time"), rows, .unlimited = unlimited};
	f->dim[1] = (struct nc_dim){strdup("x"), row};
	f->ndims = 2;
	f->var[0] = (struct nc_var){.name = strdup("v"), .type = NC_TYPE_UBYTE, .rank = 2};
	f->var[0].dim = calloc(2, sizeof *f->var[0].dim);
	f->var[0].dim[1] = 1;
	f->nvars = 1;
	return nc4_lay_out(f);
}

/* Chunks are larger than what libnetcdf keeps of them, or one is all; and data lie in order all the
 * same. */
static void
chunks(uint64_t rows, uint64_t row, int want, uint64_t want_rows)
{
	char path[] = "/tmp/nc4_headerXXXXXX";
	struct nc_file f;
	int nc, storage;
	size_t chunk[2] = {0};
	CHECK_INT(make(rows, row, true, &f), want);
	if (want == 0) {
		CHECK_INT(f.var[0].chunk_rows, want_rows);
		CHECK_INT((f.size - f.var[0].begin) % (want_rows * row), 0);
		close(mkstemp(path));
		write_file(&f, path); /* sparse */
		CHECK_INT(nc_open(path, NC_NOWRITE, &nc), 0);
		CHECK_INT(nc_inq_var_chunking(nc, 0, &storage, chunk), 0);
		CHECK_INT(storage, NC_CHUNKED);
		CHECK_INT(chunk[0], want_rows);
		uint8_t got = 1;
		if (rows * row > 8 << 20) /* not written */
			CHECK_INT(nc_get_var1(nc, 0, (size_t[]){rows - 1, row - 1}, &got), 0);
		CHECK_INT(got, rows * row <= 8 << 20);
		nc_close(nc);
		unlink(path);
	}
	nc_file_free(&f);
}

static void
test_chunks(void)
{
	const uint64_t m = 1 << 20, g = 1 << 30;
	chunks(10, 100, 0, 10);
	chunks(10, m, 0, 65);
	chunks(100, m, 0, 100);
	chunks(1000, 3 * m, 0, 86);
	chunks(100, g, 0, 1);
	chunks(64 * 64 + 1, m, 0, 257);
	chunks(200000, 64 * m, 0, 63);
	chunks(2, 4 * g, -EFBIG, 0);
	struct nc_file f;
	CHECK_INT(make(UINT64_C(1) << 40, 1 << 20, false, &f), 0);
	CHECK(f.header.len < 8192);
	nc_file_free(&f);
	CHECK_INT(make(UINT64_C(1) << 40, UINT64_C(1) << 40, false, &f), -EFBIG);
	nc_file_free(&f);
}

int
main(int argc, char **argv)
{
	test_random(argc > 1 ? argv[1] : NULL);
	test_chunks();
	return check_end();
}
