/* Headers that are made are read back as they were; what is cut off or spoilt is no header. */
#include "check.h"
#include "nc_random.h"

#include "view/image/nc_parse.h"

#include <errno.h>

static void
same_attrs(const struct attrs *got, const struct attrs *want)
{
	CHECK_INT(got->count, want->count);
	for (size_t i = 0; i < got->count && i < want->count; i++) {
		const struct attr *a = &got->attr[i], *b = &want->attr[i];
		CHECK_STR(a->name, b->name);
		CHECK_INT(a->type, b->type);
		CHECK_INT(a->count, b->count);
		CHECK_MEM(a->data, b->data, b->count * nc_type_size(b->type));
	}
}

static void
same_file(const struct nc_file *got, const struct nc_file *want)
{
	CHECK_INT(got->format, want->format);
	CHECK_INT(got->ndims, want->ndims);
	CHECK_INT(got->nvars, want->nvars);
	CHECK_INT(got->record, want->record);
	CHECK_INT(got->records, want->records);
	for (unsigned i = 0; i < got->ndims; i++) {
		CHECK_STR(got->dim[i].name, want->dim[i].name);
		CHECK_INT(got->dim[i].size, want->dim[i].size);
	}
	same_attrs(&got->attrs, &want->attrs);
	for (size_t i = 0; i < got->nvars; i++) {
		const struct nc_var *v = &got->var[i], *w = &want->var[i];
		CHECK_STR(v->name, w->name);
		CHECK_INT(v->type, w->type);
		CHECK_INT(v->rank, w->rank);
		CHECK_MEM(v->dim, w->dim, v->rank * sizeof *v->dim);
		CHECK_INT(v->bytes, w->bytes);
		CHECK_INT(v->begin, w->begin);
		same_attrs(&v->attrs, &w->attrs);
	}
	CHECK_INT(got->record_size, want->record_size);
	if (want->record_size)
		CHECK_INT(got->record_start, want->record_start);
	CHECK(got->size <= want->size);
}

/* Bytes of exactly that length, so that a sanitizer sees a read past them. */
static int
parse(const struct buf *header, size_t len, uint64_t file_size)
{
	struct nc_file f;
	size_t end;
	uint8_t *exact = malloc(len ? len : 1);
	memcpy(exact, header->data, len);
	int r = nc_parse((struct span){exact, len}, file_size, &f, &end);
	free(exact);
	if (r == 0)
		nc_file_free(&f);
	return r;
}

static void
check_one(struct nc_file *f)
{
	struct nc_file got;
	size_t len;
	CHECK_INT(nc_lay_out(f), 0);
	CHECK_INT(nc_parse(buf_span(&f->header), f->size, &got, &len), 0);
	CHECK_INT(len, f->header.len);
	same_file(&got, f);
	CHECK_INT(nc_parse_places(&got, len, f->size), 0);
	if (got.nvars && got.size)
		CHECK_INT(nc_parse_places(&got, len, got.size - 1), -EINVAL);
	for (size_t i = 0; i < f->header.len; i += 1 + i / 7)
		CHECK_INT(parse(&f->header, i, f->size), NC_PARSE_MORE);
	/* Any byte may be wrong: it is read as something, or not. */
	for (size_t i = 0; i < f->header.len; i += 1 + i / 7) {
		uint8_t was = f->header.data[i];
		f->header.data[i] = (uint8_t)pick(256);
		CHECK(parse(&f->header, f->header.len, f->size) <= NC_PARSE_MORE);
		f->header.data[i] = was;
	}
	nc_file_free(&got);
}

static void
test_random(void)
{
	static const enum cdf_format format[] = {CDF_1, CDF_2, CDF_5};
	for (int i = 0; i < 300 && !check_failed; i++) {
		struct nc_file f;
		random_file(&f, format[i % 3]);
		check_one(&f);
		nc_file_free(&f);
	}
}

/* One variable of shorts with records, and one without. */
static void
small_file(struct nc_file *f)
{
	*f = (struct nc_file){.format = CDF_1, .record = 0, .ndims = 2, .nvars = 2};
	f->dim = calloc(2, sizeof *f->dim);
	f->dim[0] = (struct nc_dim){.name = strdup("time"), .size = 5};
	f->dim[1] = (struct nc_dim){.name = strdup("x"), .size = 3};
	f->var = calloc(2, sizeof *f->var);
	for (unsigned i = 0; i < 2; i++) {
		struct nc_var *v = &f->var[i];
		v->name = strdup(i ? "v" : "x");
		v->type = NC_TYPE_SHORT;
		v->rank = 1 + i;
		v->dim = calloc(2, sizeof *v->dim);
		v->dim[i] = 1;
	}
	CHECK_INT(nc_lay_out(f), 0);
}

/* The count of records is left open by programs that write a stream. */
static void
test_open_count(void)
{
	struct nc_file f, got;
	size_t len;
	small_file(&f);
	CHECK_INT(f.record_size, 6);
	memset(f.header.data + 4, 0xff, 4);
	CHECK_INT(nc_parse(buf_span(&f.header), f.record_start + 20, &got, &len), 0);
	CHECK_INT(got.records, 3);
	CHECK_INT(got.dim[0].size, 3);
	nc_file_free(&got);
	CHECK_INT(nc_parse(buf_span(&f.header), 0, &got, &len), 0);
	CHECK_INT(got.records, 0);
	nc_file_free(&got);
	nc_file_free(&f);
}

/* A name that got shorter where it stands ends in NUL. */
static void
test_shorter_name(void)
{
	struct nc_file f, got;
	size_t len;
	small_file(&f);
	uint8_t *name = memmem(f.header.data, f.header.len, "time", 4);
	memcpy(name, "t\0\0", 4);
	CHECK_INT(nc_parse(buf_span(&f.header), f.size, &got, &len), 0);
	CHECK_STR(got.dim[0].name, "t");
	CHECK_INT(len, f.header.len);
	nc_file_free(&got);
	memcpy(name, "t\0e", 4);
	CHECK_INT(nc_parse(buf_span(&f.header), f.size, &got, &len), -EINVAL);
	memcpy(name, "\0\0\0", 4);
	CHECK_INT(nc_parse(buf_span(&f.header), f.size, &got, &len), -EINVAL);
	nc_file_free(&f);
}

static void
test_places(void)
{
	struct nc_file f;
	small_file(&f);
	const uint64_t h = f.header.len, begin = f.var[0].begin;
	CHECK_INT(nc_parse_places(&f, h, f.size), 0);
	f.var[0].begin = h - 1;
	CHECK_INT(nc_parse_places(&f, h, f.size), -EINVAL);
	f.var[0].begin = 0;
	CHECK_INT(nc_parse_places(&f, h, f.size), -EINVAL);
	f.var[0].begin = f.record_start + 7; /* in the second record */
	CHECK_INT(nc_parse_places(&f, h, f.size), -EINVAL);
	f.var[0].begin = f.size;
	CHECK_INT(nc_parse_places(&f, h, f.size + 5), -EINVAL);
	CHECK_INT(nc_parse_places(&f, h, f.size + 6), 0);
	f.var[0].begin = begin;
	f.records = 6;
	CHECK_INT(nc_parse_places(&f, h, f.size), -EINVAL);
	f.records = 0;
	CHECK_INT(nc_parse_places(&f, h, f.record_start), 0);
	nc_file_free(&f);
}

int
main(void)
{
	test_random();
	test_open_count();
	test_shorter_name();
	test_places();
	return check_end();
}
