/* Random files: their headers are read by libnetcdf, which must find everything where it was said
 * to lie, and are those that it writes. */
#include "check.h"
#include "nc_random.h"

#include "base/check.h"
#include "view/image/nc_parse.h"

#include <errno.h>
#include <netcdf.h>
#include <unistd.h>

/* A file with each variable's bytes counted up from its place. */
static void
write_file(const struct nc_file *f, const char *path)
{
	FILE *o = fopen(path, "w");
	CHECK(o != NULL);
	CHECK_INT(fwrite(f->header.data, 1, f->header.len, o), f->header.len);
	CHECK_INT(ftruncate(fileno(o), 0), 0);
	rewind(o);
	fwrite(f->header.data, 1, f->header.len, o);
	for (uint64_t at = f->header.len; at < f->size; at++)
		putc((int)(at % 113), o);
	fclose(o);
}

static void
check_attrs(int nc, int var, const struct attrs *as)
{
	int n;
	CHECK_INT(var == NC_GLOBAL ? nc_inq_natts(nc, &n) : nc_inq_varnatts(nc, var, &n), 0);
	CHECK_INT(n, as->count);
	for (int i = 0; i < n && i < (int)as->count; i++) {
		char name[NC_MAX_NAME + 1];
		nc_type t;
		size_t len;
		uint8_t got[80];
		const struct attr *a = &as->attr[i];
		CHECK_INT(nc_inq_attname(nc, var, i, name), 0);
		CHECK_STR(name, a->name);
		CHECK_INT(nc_inq_att(nc, var, name, &t, &len), 0);
		CHECK_INT(t, a->type);
		CHECK_INT(len, a->count);
		CHECK_INT(nc_get_att(nc, var, name, got), 0);
		CHECK_MEM(got, a->data, len * nc_type_size(a->type));
	}
}

/* The last element, as bytes of the file. */
static void
check_last(int nc, int id, const struct nc_file *f, const struct nc_var *v)
{
	size_t at[8], size = nc_type_size(v->type);
	uint8_t got[8] = {0}, want[8];
	for (unsigned i = 0; i < v->rank; i++) {
		uint64_t n = f->dim[v->dim[i]].size;
		if (n == 0)
			return;
		at[i] = n - 1;
	}
	uint64_t off = v->begin + v->bytes - size;
	if (nc_is_record(f, v))
		off += (f->records - 1) * f->record_size;
	for (size_t i = 0; i < size; i++)
		want[size - 1 - i] = (uint8_t)((off + i) % 113); /* little-endian here */
	CHECK(off + size <= f->size);
	CHECK_INT(nc_get_var1(nc, id, at, got), 0);
	CHECK_MEM(got, want, size);
}

static void
check_file(const struct nc_file *f, const char *path)
{
	int nc, ndims, nvars, record;
	int r = nc_open(path, NC_NOWRITE, &nc);
	CHECK_INT(r, 0);
	if (r)
		return;
	CHECK_INT(nc_inq(nc, &ndims, &nvars, NULL, &record), 0);
	CHECK_INT(ndims, f->ndims);
	CHECK_INT(nvars, f->nvars);
	CHECK_INT(record, f->record == NC_NO_DIM ? -1 : (int)f->record);
	for (int i = 0; i < ndims; i++) {
		char name[NC_MAX_NAME + 1];
		size_t len;
		CHECK_INT(nc_inq_dim(nc, i, name, &len), 0);
		CHECK_STR(name, f->dim[i].name);
		CHECK_INT(len, f->dim[i].size);
	}
	check_attrs(nc, NC_GLOBAL, &f->attrs);
	for (int i = 0; i < nvars; i++) {
		const struct nc_var *v = &f->var[i];
		char name[NC_MAX_NAME + 1];
		nc_type t;
		int rank, dim[8];
		CHECK_INT(nc_inq_var(nc, i, name, &t, &rank, dim, NULL), 0);
		CHECK_STR(name, v->name);
		CHECK_INT(t, v->type);
		CHECK_INT(rank, v->rank);
		for (int k = 0; k < rank; k++)
			CHECK_INT(dim[k], v->dim[k]);
		check_attrs(nc, i, &v->attrs);
		check_last(nc, i, f, v);
	}
	nc_close(nc);
}

static void
put_attrs(int nc, int var, const struct attrs *as)
{
	for (size_t i = 0; i < as->count; i++) {
		const struct attr *a = &as->attr[i];
		CHECK_INT(nc_put_att(nc, var, a->name, (nc_type)a->type, a->count, a->data), 0);
	}
}

/* The same by libnetcdf. */
static void
write_theirs(const struct nc_file *f, const char *path)
{
	int mode = f->format == CDF_5 ? NC_64BIT_DATA : f->format == CDF_2 ? NC_64BIT_OFFSET : 0;
	int nc, id, record = -1;
	CHECK_INT(nc_create(path, NC_CLOBBER | mode, &nc), 0);
	CHECK_INT(nc_set_fill(nc, NC_NOFILL, NULL), 0);
	for (unsigned i = 0; i < f->ndims; i++) {
		size_t size = i == f->record ? NC_UNLIMITED : f->dim[i].size;
		CHECK_INT(nc_def_dim(nc, f->dim[i].name, size, &id), 0);
	}
	put_attrs(nc, NC_GLOBAL, &f->attrs);
	for (size_t i = 0; i < f->nvars; i++) {
		const struct nc_var *v = &f->var[i];
		CHECK_INT(nc_def_var(nc, v->name, (nc_type)v->type, (int)v->rank,
				  (const int *)v->dim, &id),
			0);
		put_attrs(nc, id, &v->attrs);
		if (nc_is_record(f, v))
			record = id;
	}
	CHECK_INT(nc_enddef(nc), 0);
	if (record >= 0 && f->records) {
		const size_t at[8] = {f->records - 1};
		CHECK_INT(nc_put_var1(nc, record, at, &(double){0}), 0);
	}
	CHECK_INT(nc_close(nc), 0);
}

static size_t
name_bytes(const struct nc_file *f, const char *name)
{
	return (f->format == CDF_5 ? 8 : 4) + (strlen(name) + 3) / 4 * 4;
}

/* Bytes of a variable in the header. */
static size_t
entry_bytes(const struct nc_file *f, const struct nc_var *v)
{
	size_t count = f->format == CDF_5 ? 8 : 4, offset = f->format == CDF_1 ? 4 : 8;
	size_t n =
		name_bytes(f, v->name) + count + v->rank * count + 4 + count + 4 + count + offset;
	for (size_t i = 0; i < v->attrs.count; i++) {
		const struct attr *a = &v->attrs.attr[i];
		size_t data = a->count * nc_type_size(a->type);
		n += name_bytes(f, a->name) + 4 + count + (data + 3) / 4 * 4;
	}
	return n;
}

/* What libnetcdf wrote is read as what it was told, and all of it lies within the file. */
static void
check_parsed(const struct nc_file *f, const uint8_t *header, size_t len, uint64_t size)
{
	struct nc_file got;
	size_t end;
	CHECK_INT(nc_parse((struct span){header, len}, size, &got, &end), 0);
	CHECK_INT(end, len);
	CHECK_INT(got.nvars, f->nvars);
	CHECK_INT(got.ndims, f->ndims);
	CHECK_INT(nc_parse_places(&got, end, size), 0);
	nc_file_free(&got);
}

/* libnetcdf's header has the same bytes, but for where variables begin. */
static void
check_theirs(struct nc_file *f, const char *path)
{
	size_t len = f->header.len, end = len, offset = f->format == CDF_1 ? 4 : 8, records = 0;
	uint8_t *theirs = calloc(1, len + 1);
	FILE *i = fopen(path, "r");
	CHECK(i != NULL);
	CHECK_INT(fread(theirs, 1, len, i), len);
	fseek(i, 0, SEEK_END);
	check_parsed(f, theirs, len, (uint64_t)ftell(i));
	fclose(i);
	for (size_t k = f->nvars; k--;) {
		memset(f->header.data + end - offset, 0, offset);
		memset(theirs + end - offset, 0, offset);
		end -= entry_bytes(f, &f->var[k]);
		records += nc_is_record(f, &f->var[k]);
	}
	if (!records) /* then libnetcdf cannot write any */
		memset(f->header.data + 4, 0, f->format == CDF_5 ? 8 : 4);
	CHECK_MEM(f->header.data, theirs, len);
	free(theirs);
}

static void
test_random(void)
{
	char path[] = "/tmp/nc_headerXXXXXX";
	close(mkstemp(path));
	for (int i = 0; i < 400 && !check_failed; i++) {
		static const enum cdf_format format[] = {CDF_1, CDF_2, CDF_5};
		struct nc_file f;
		random_file(&f, format[i % 3]);
		CHECK_INT(nc_lay_out(&f), 0);
		for (size_t k = 0; k < f.nvars; k++) {
			CHECK(f.var[k].begin >= f.header.len + (16 << 10));
			CHECK(f.var[k].begin % (f.var[k].bytes > 65536 &&
								       !nc_is_record(&f, &f.var[k])
							       ? 4096
							       : 4) ==
					0 ||
				nc_is_record(&f, &f.var[k]));
		}
		if (f.nvars)
			CHECK_INT(f.var[0].begin % 65536, 0);
		write_file(&f, path);
		check_file(&f, path);
		write_theirs(&f, path);
		check_theirs(&f, path);
		if (check_failed)
			fprintf(stderr, "file %d\n", i);
		nc_file_free(&f);
	}
	if (!check_failed)
		unlink(path);
}

/* One dimension a variable, of so many bytes. */
static int
sizes(enum cdf_format format, bool record, const uint64_t *bytes, struct nc_file *f)
{
	*f = (struct nc_file){.format = format, .record = NC_NO_DIM};
	f->dim = calloc(8, sizeof *f->dim);
	f->var = calloc(8, sizeof *f->var);
	for (; *bytes; bytes++) {
		f->var[f->nvars] = (struct nc_var){
			.name = text("v%u%s", (uint32_t)f->nvars), .type = NC_TYPE_BYTE, .rank = 2};
		f->var[f->nvars].dim = calloc(2, sizeof(unsigned));
		for (int i = 0; i < 2; i++) {
			f->var[f->nvars].dim[i] = f->ndims;
			f->dim[f->ndims] =
				(struct nc_dim){text("d%u%s", f->ndims), i ? *bytes >> 10 : 1024};
			f->ndims++;
		}
		f->nvars++;
	}
	if (record) {
		f->record = f->ndims;
		f->dim[f->ndims++] = (struct nc_dim){text("r%u%s", 0), 3};
		f->var[f->nvars - 1].dim[0] = f->record;
	}
	return nc_lay_out(f);
}

static void
fits(enum cdf_format format, bool record, const uint64_t *bytes, int want)
{
	char path[] = "/tmp/nc_headerXXXXXX";
	struct nc_file f;
	CHECK_INT(sizes(format, record, bytes, &f), want);
	if (want == 0) {
		close(mkstemp(path)); /* sparse */
		write_theirs(&f, path);
		check_theirs(&f, path);
		unlink(path);
	}
	nc_file_free(&f);
}

static void
test_limits(void)
{
	const uint64_t g = 1 << 30, big[] = {g, 5 * g, 0}, two[] = {5 * g, 6 * g, 0},
		       first[] = {5 * g, g, 0};
	const uint64_t small[] = {g - 1024, 3 * g, 0}, half[] = {g / 2, g, 0},
		       three[] = {g, g, g, 0};
	fits(CDF_1, false, small, -EFBIG);
	fits(CDF_1, false, half, 0);
	fits(CDF_2, false, small, 0);
	fits(CDF_1, false, three, -EFBIG);
	fits(CDF_2, false, three, 0);
	fits(CDF_2, false, big, 0);
	fits(CDF_2, false, first, -EFBIG);
	fits(CDF_2, false, two, -EFBIG);
	fits(CDF_5, false, two, 0);
	fits(CDF_2, true, first, -EFBIG);
	fits(CDF_2, true, big, 0);
	struct nc_file f;
	const uint64_t wide[] = {(uint64_t)1 << 43, 0}, all[] = {(uint64_t)1 << 62, 0};
	CHECK_INT(sizes(CDF_2, false, wide, &f), -EFBIG);
	nc_file_free(&f);
	CHECK_INT(sizes(CDF_5, false, all, &f), 0);
	nc_file_free(&f);
	CHECK_INT(sizes(CDF_5, true, all, &f), 0);
	nc_file_free(&f);
}

/* Coordinates and their readers are far from large data; the gap is small beside those, and there
 * is one at most. */
static void
test_apart(void)
{
	struct nc_file f;
	const uint64_t k = 1 << 10, m = 1 << 20, era5[] = {6 * k, 12 * k, 96 * m, 96 * m, 0},
		       less[] = {6 * k, 12 * k, 8 * m, 0}, wide[] = {k, 48 * k, 96 * m, 0};
	CHECK_INT(sizes(CDF_2, false, era5, &f), 0);
	CHECK_INT(f.var[2].begin, 256 * k);
	CHECK_INT(f.var[3].begin, 256 * k + 96 * m);
	nc_file_free(&f);
	CHECK_INT(sizes(CDF_2, false, less, &f), 0);
	CHECK(f.var[2].begin < 96 * k);
	nc_file_free(&f);
	CHECK_INT(sizes(CDF_2, false, wide, &f), 0);
	CHECK(f.var[2].begin < 128 * k);
	nc_file_free(&f);
}

int
main(void)
{
	test_random();
	test_limits();
	test_apart();
	return check_end();
}
