/* Headers, records and whole files written into a netCDF file whose variables are arrays in memory:
 * what programs do that write it anew. */
#include "image_shop.h"

#include <endian.h>

/* The file as another program would write it: these variables, these attributes, in its own
 * layout. */
static void
write_new(struct image *im, struct nc_file *f, struct shop *s, bool in_parts)
{
	CHECK_INT(nc_lay_out(f), 0);
	uint8_t *all = calloc(1, f->size + 1);
	memcpy(all, f->header.data, f->header.len);
	for (size_t i = 0; i < f->nvars; i++) {
		const struct nc_var *v = &f->var[i];
		uint64_t size = nc_type_size(v->type), n = v->bytes / size;
		uint64_t records = nc_is_record(f, v) ? f->records : 1;
		for (uint64_t r = 0; r < records; r++)
			for (uint64_t k = 0; k < n; k++) {
				double d = (double)(r * n + k + 1);
				uint8_t *p = all + v->begin + r * f->record_size + k * size;
				uint64_t b8;
				uint32_t b4;
				uint16_t b2;
				float fl = (float)d;
				memcpy(&b8, &d, 8);
				memcpy(&b4, &fl, 4);
				b8 = htobe64(b8);
				b4 = htobe32(b4);
				b2 = htobe16((uint16_t)d);
				memcpy(p,
					size == 8   ? (void *)&b8
					: size == 4 ? (void *)&b4
						    : (void *)&b2,
					size);
			}
	}
	size_t some = in_parts ? 1000 : f->size;
	for (size_t at = 0; at < f->size; at += some)
		CHECK_INT(put(im, at, all + at, f->size - at < some ? f->size - at : some), 0);
	free(all);
}

/* A file that replaces what there was: attributes, values, a new variable, more of time. */
static void
test_rewritten(bool records, bool in_parts)
{
	struct shop s;
	struct image *im = open_image(&s, records);
	struct nc_file f;
	CHECK_INT(image_truncate(im, 0, false, &how), 0);
	CHECK(image_is_blank(im));
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0); /* bash does that first */
	base_file(&f, records);
	f.dim[0].size = TIME + 2;
	attrs_free(&f.attrs);
	f.attrs = (struct attrs){0};
	add_text(&f.attrs, "history", "by hand");
	add_text(&f.var[2].attrs, "long_name", "what");
	add_var(&f, "w", NC_TYPE_DOUBLE, 1, records ? 0 : 1, 0);
	write_new(im, &f, &s, in_parts);
	CHECK_INT(image_settle(im, IMAGE_LOOK, &how), 0);
	CHECK_STR(s.said, "");
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_STR(s.said, ":-title;:history;v:long_name;new w;time=6;");
	CHECK_INT(find_array(&s, "v")->count, (TIME + 2) * X);
	for (int i = 0; i < (TIME + 2) * X; i++)
		CHECK_INT(find_array(&s, "v")->data[i], i + 1);
	for (int i = 0; i < TIME + 2; i++)
		CHECK_INT(time_at(&s, i), i + 1);
	CHECK(((double *)(void *)find_array(&s, "w")->data)[X - 1] == X);
	CHECK(!image_waits(im));
	/* It reads as it was written, and goes on from there. */
	struct array_want w = {.off = f.var[1].begin + (records ? f.record_size : 8), .len = 8};
	uint8_t got[8];
	size_t n;
	CHECK_INT(image_read(im, &w, NULL, got, &n), 0);
	CHECK_MEM(got, "\x40\0\0\0\0\0\0\0", 8);
	CHECK_INT(put(im, w.off, "\x40\x08\0\0\0\0\0\0", 8), 0);
	CHECK_INT(time_at(&s, 1), 3);
	nc_file_free(&f);
	close_shop(&s, im);
}

/* ncatted: an attribute more in page 0. */
static void
test_attribute(void)
{
	struct shop s;
	struct image *im = open_image(&s, false);
	struct nc_file f;
	unsigned writes = 0;
	base_file(&f, false);
	add_text(&f.var[0].attrs, "units", "m");
	CHECK_INT(nc_lay_out(&f), 0);
	CHECK_INT(put(im, 0, f.header.data, 100), 0);
	CHECK(image_waits(im));
	CHECK_INT(image_settle(im, IMAGE_LOOK, &how), 0); /* half of it */
	CHECK_STR(s.said, "");
	CHECK_INT(put(im, 100, f.header.data + 100, f.header.len - 100), 0);
	CHECK_INT(image_settle(im, IMAGE_LOOK, &how), 0);
	CHECK_STR(s.said, "x:units;");
	for (size_t i = 0; i < s.n; i++)
		writes += s.array[i].writes;
	CHECK_INT(writes, 0);
	CHECK(!image_waits(im));
	nc_file_free(&f);
	close_shop(&s, im);
}

/* A record more: data past the end, then the count. */
static void
test_record(void)
{
	struct shop s;
	struct image *im = open_image(&s, true);
	struct nc_file f;
	uint8_t record[20] = {0x40, 0x59}; /* 100 */
	base_file(&f, true);
	CHECK_INT(nc_lay_out(&f), 0);
	for (int i = 0; i < X; i++)
		record[9 + 2 * i] = (uint8_t)(50 + i);
	CHECK_INT(f.record_size, 20);
	CHECK_INT(put(im, f.size, record, 20), 0);
	CHECK(image_waits(im));
	CHECK_INT(image_settle(im, IMAGE_LOOK, &how), 0);
	CHECK(image_waits(im));
	const uint32_t count = htobe32(TIME + 1);
	memcpy(f.header.data + 4, &count, 4);
	CHECK_INT(put(im, 0, f.header.data, f.header.len), 0);
	CHECK_INT(image_settle(im, IMAGE_LOOK, &how), 0);
	CHECK_STR(s.said, "time=5;");
	CHECK_INT(time_at(&s, TIME), 100);
	CHECK_INT(find_array(&s, "v")->data[TIME * X + 2], 52);
	CHECK_INT(time_at(&s, TIME - 1), 10 + TIME - 1);
	nc_file_free(&f);
	close_shop(&s, im);
}

/* As many records as do not fit into memory. */
static void
test_many_records(void)
{
	enum { RECORDS = 3 * MOST / 20 };
	struct shop s;
	struct image *im = open_image(&s, true);
	struct nc_file f;
	struct array *t = find_array(&s, "time"), *v = find_array(&s, "v");
	uint8_t *all = calloc(RECORDS, 20);
	t->data = realloc(t->data, 8 * (RECORDS + TIME));
	v->data = realloc(v->data, X * (RECORDS + TIME));
	base_file(&f, true);
	CHECK_INT(nc_lay_out(&f), 0);
	for (size_t i = 0; i < RECORDS; i++) {
		double d = (double)i;
		uint64_t bits;
		memcpy(&bits, &d, 8);
		bits = htobe64(bits);
		memcpy(all + 20 * i, &bits, 8);
		all[20 * i + 9] = (uint8_t)i;
	}
	for (size_t at = 0; at < RECORDS * 20; at += 100000) {
		size_t n = RECORDS * 20 - at < 100000 ? RECORDS * 20 - at : 100000;
		CHECK_INT(put(im, f.size + at, all + at, n), 0);
	}
	const uint32_t count = htobe32(TIME + RECORDS);
	memcpy(f.header.data + 4, &count, 4);
	CHECK_INT(put(im, 0, f.header.data, f.header.len), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	for (int i = 0; i < RECORDS && !check_failed; i += 1 + i / 3) {
		CHECK_INT(time_at(&s, TIME + i), i);
		CHECK_INT(v->data[(TIME + i) * X], i % 256);
	}
	CHECK_INT(time_at(&s, TIME - 1), 10 + TIME - 1);
	free(all);
	nc_file_free(&f);
	close_shop(&s, im);
}

/* What cannot be: the image stays as it is, nothing is changed. */
static void
refused(void (*spoil)(struct nc_file *), int want)
{
	struct shop s;
	struct image *im = open_image(&s, false);
	struct nc_file f;
	CHECK_INT(image_truncate(im, 0, false, &how), 0);
	base_file(&f, false);
	spoil(&f);
	write_new(im, &f, &s, false);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), want);
	CHECK(image_waits(im));
	for (size_t i = 0; i < s.n; i++)
		CHECK_INT(s.array[i].writes, 0);
	CHECK_STR(s.said, "");
	nc_file_free(&f);
	close_shop(&s, im);
}

static void
shorter(struct nc_file *f)
{
	f->dim[0].size--;
}

static void
renamed(struct nc_file *f)
{
	memcpy(f->dim[1].name, "y", 1);
}

static void
wider(struct nc_file *f)
{
	f->dim[1].size++;
}

static void
other_type(struct nc_file *f)
{
	f->var[2].type = NC_TYPE_FLOAT;
}

/* 300 is no byte. */
static void
too_many(struct nc_file *f)
{
	f->dim[0].size = 60;
}

static void
test_refused(void)
{
	refused(shorter, -EINVAL);
	refused(renamed, -EINVAL);
	refused(wider, -EINVAL);
	refused(other_type, -EINVAL);
	refused(too_many, -ERANGE);
	struct shop s;
	struct image *im = open_image(&s, false);
	const uint64_t size = image_size(im);
	CHECK_INT(put(im, size + MOST, "x", 1), 0);
	uint8_t *big = calloc(1, MOST);
	CHECK_INT(put(im, size, big, MOST), 0);
	CHECK_INT(put(im, size - 1, big, 2), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0); /* the header is as it was */
	CHECK_INT(image_truncate(im, 100, false, &how), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), -EINVAL);
	free(big);
	close_shop(&s, im);
}

/* a(x) and b(x), which the file did not have; what is in b is 10 more. */
static struct image *
open_pair(struct shop *s, struct nc_file *f)
{
	struct image *im = open_image(s, false);
	CHECK_INT(image_truncate(im, 0, false, &how), 0);
	base_file(f, false);
	add_var(f, "a", NC_TYPE_FLOAT, 1, 1, 0);
	add_var(f, "b", NC_TYPE_FLOAT, 1, 1, 0);
	write_new(im, f, s, false);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	float *b = (void *)find_array(s, "b")->data;
	for (int i = 0; i < X; i++)
		b[i] += 10;
	s->said[0] = 0;
	return im;
}

/* Nothing but the header is written, in which they are called so. */
static void
give_names(struct image *im, struct nc_file *f, const char *a, const char *b)
{
	memcpy(f->var[3].name, a, 1);
	memcpy(f->var[4].name, b, 1);
	buf_free(&f->header);
	f->header = (struct buf){0};
	CHECK_INT(nc_lay_out(f), 0);
	CHECK_INT(put(im, 0, f->header.data, f->header.len), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK(!image_waits(im));
	nc_file_free(f);
}

static float
first_of(struct shop *s, const char *name)
{
	return ((float *)(void *)find_array(s, name)->data)[0];
}

/* ncrename: two variables change names, or each takes that of the next one. */
static void
test_names(void)
{
	struct shop s;
	struct nc_file f;
	struct image *im = open_pair(&s, &f);
	give_names(im, &f, "b", "a");
	CHECK_STR(s.said, "a>b;b>a;");
	CHECK(first_of(&s, "a") == 11);
	CHECK(first_of(&s, "b") == 1);
	close_shop(&s, im);
	im = open_pair(&s, &f);
	give_names(im, &f, "b", "c");
	CHECK_STR(s.said, "a>b;b>c;");
	CHECK(!find_array(&s, "a"));
	CHECK(first_of(&s, "b") == 1);
	CHECK(first_of(&s, "c") == 11);
	close_shop(&s, im);
}

/* Records of a length that is no multiple of 4, one of which comes before it is counted. */
static void
test_odd_record(void)
{
	enum { BYTES = 2 * X };
	struct shop s;
	struct image *im = open_image(&s, true);
	struct nc_file f;
	const uint8_t record[BYTES] = {0, 61, 0, 62, 0, 63, 0, 64, 0, 65};
	CHECK_INT(image_truncate(im, 0, false, &how), 0);
	base_file(&f, true);
	f.var[1].dim[0] = 1; /* a variable of that name may be what it likes */
	memcpy(f.var[1].name, "else", 4);
	f.dim[0].size = TIME + 1;
	write_new(im, &f, &s, false);
	CHECK_INT(f.record_size, BYTES);
	CHECK_INT(put(im, f.size, record, BYTES), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	const uint32_t count = htobe32(TIME + 2);
	CHECK_INT(put(im, 4, &count, 4), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	for (int i = 0; i < X; i++)
		CHECK_INT(find_array(&s, "v")->data[(TIME + 1) * X + i], 61 + i);
	nc_file_free(&f);
	close_shop(&s, im);
}

/* A text attribute of a file of very many records becomes another one. NULL: it has none. */
static void
edit_endless(const char *was, const char *becomes)
{
	struct shop s;
	struct nc_file f, g;
	struct image *im = NULL;
	struct image_start start = {.own = CHANGE_NONE, .most = MOST, .ops = &ops, .arg = &s};
	struct change c = {0};
	open_shop(&s);
	for (int more = 0; more < 2; more++) {
		struct nc_file *to = more ? &g : &f;
		const char *text = more ? becomes : was;
		base_file(to, true);
		to->format = CDF_5;
		to->dim[0].size = UINT64_C(1) << 40;
		if (text)
			add_text(&to->attrs, "history", text);
		CHECK_INT(nc_lay_out(to), 0);
	}
	const size_t len = (g.header.len + 4095) / 4096 * 4096;
	CHECK(f.record_start >= len && f.record_start == g.record_start);
	CLEAN(clean_free) uint8_t *bytes = malloc(len);
	memset(bytes, 1, len);
	memcpy(bytes, g.header.data, g.header.len);
	CLEAN(buf_free) struct buf header = f.header;
	f.header = (struct buf){0};
	CHECK_INT(image_form_new(&f, buf_span(&header), NULL, &start.form), 0);
	CHECK_INT(shop_bind(&s, &c, start.form, &how), 0);
	CHECK_INT(image_new(&start, &im), 0);
	CHECK_INT(put(im, 0, bytes, len), 0);
	CHECK(image_waits(im));
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_STR(s.said, ":history;");
	nc_file_free(&g);
	close_shop(&s, im);
}

/* What a header costs does not depend on how many records there are, and one that is a little
 * longer than it was may be nearly as long as what is kept in memory. */
static void
test_endless(void)
{
	enum { LONG = MOST * 2 / 5 };
	char *was = calloc(1, LONG + 1), *becomes = calloc(1, LONG + 5);
	edit_endless(NULL, "by hand");
	memset(was, 'a', LONG);
	memset(becomes, 'b', LONG + 4);
	edit_endless(was, becomes);
	free(was);
	free(becomes);
}

static int
shop_begin(void *arg, const struct image_form *now)
{
	return 0;
}

/* A file of new variables that flows, and is asked for when a record has come that its header does
 * not count yet. */
static void
test_flowing_record(void)
{
	enum { LONG = 2 * MOST / 8 };
	struct shop s;
	struct image_ops flowing = ops;
	struct image *im = NULL;
	struct nc_file f = {.format = CDF_1, .record = 0};
	flowing.begin = shop_begin;
	struct image_start start = {.own = CHANGE_NONE, .most = MOST, .ops = &flowing, .arg = &s};
	s = (struct shop){0};
	CHECK_INT(image_new(&start, &im), 0);
	CHECK_INT(image_truncate(im, 1, false, &how), 0);
	CHECK_INT(image_truncate(im, 0, false, &how), 0);
	f.dim = calloc(2, sizeof *f.dim);
	f.dim[f.ndims++] = (struct nc_dim){.name = strdup("time"), .size = 1};
	f.dim[f.ndims++] = (struct nc_dim){.name = strdup("x"), .size = LONG};
	f.var = calloc(2, sizeof *f.var);
	add_var(&f, "long", NC_TYPE_DOUBLE, 1, 1, 0);
	add_var(&f, "time", NC_TYPE_DOUBLE, 1, 0, 0);
	write_new(im, &f, &s, true);
	CHECK(image_flows(im));
	CHECK_INT(put(im, f.size, "\x40\x59\0\0\0\0\0\0", 8), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_STR(s.said, "new long;new time;");
	CHECK(!image_waits(im));
	uint8_t got[8];
	size_t n;
	struct array_want w = {.off = f.size, .len = 8};
	CHECK_INT(image_read(im, &w, NULL, got, &n), 0);
	CHECK_MEM(got, "\x40\x59\0\0\0\0\0\0", 8);
	CHECK_INT(put(im, 4, "\0\0\0\x02", 4), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	const double *time = (void *)find_array(&s, "time")->data;
	CHECK(time[0] == 1 && time[1] == 100);
	nc_file_free(&f);
	close_shop(&s, im);
}

/* A file of one variable `s`, of y or of y and another dimension of length 1. */
static struct image_form *
form_of_chars(enum nc_type type, const char *last)
{
	struct nc_file f = {.format = CDF_1, .record = NC_NO_DIM};
	struct image_form *form = NULL;
	f.dim = calloc(2, sizeof *f.dim);
	f.dim[f.ndims++] = (struct nc_dim){.name = strdup("y"), .size = 3};
	if (last)
		f.dim[f.ndims++] = (struct nc_dim){.name = strdup(last), .size = 1};
	f.var = calloc(1, sizeof *f.var);
	add_var(&f, "s", type, f.ndims, 0, 1);
	CHECK_INT(nc_lay_out(&f), 0);
	struct buf header = f.header;
	f.header = (struct buf){0};
	CHECK_INT(image_form_new(&f, buf_span(&header), NULL, &form), 0);
	buf_free(&header);
	return form;
}

/* Texts of one byte are the characters that a file had which does not know them as texts. */
static void
test_chars(enum nc_type type, const char *was, const char *now, int want)
{
	struct image_form *a = form_of_chars(type, was), *b = form_of_chars(type, now);
	struct change c = {0};
	const int r = change_make(a, b, CHANGE_REWRITTEN, CHANGE_NONE, &c);
	CHECK_INT(r, want);
	if (r == 0) {
		CHECK(c.var[0] == 0);
		CHECK(!change_of_metadata(&c));
		change_free(&c);
	}
	image_form_free(a, NULL, NULL);
	image_form_free(b, NULL, NULL);
}

int
main(void)
{
	for (int records = 0; records < 2; records++) {
		test_rewritten(records, false);
		test_rewritten(records, true);
	}
	test_attribute();
	test_record();
	test_many_records();
	test_refused();
	test_names();
	test_odd_record();
	test_endless();
	test_flowing_record();
	test_chars(NC_TYPE_CHAR, "str1", NULL, 0);
	test_chars(NC_TYPE_CHAR, NULL, "string1", 0);
	test_chars(NC_TYPE_CHAR, "z", NULL, -EINVAL);
	test_chars(NC_TYPE_CHAR, NULL, "z", -EINVAL);
	test_chars(NC_TYPE_FLOAT, "str1", NULL, -EINVAL);
	return check_end();
}
