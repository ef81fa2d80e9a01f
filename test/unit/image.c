/* Writing into a netCDF file whose variables are arrays in memory: what programs do, and what then is in the arrays. */
#include "check.h"

#include "base/check.h"
#include "base/clock.h"
#include "view/image.h"

#include <endian.h>
#include <errno.h>

enum { ARRAYS = 6, TIME = 4, X = 5, MOST = 1 << 20 };

struct array {
	char name[16];
	struct dtype type;
	uint64_t count, capacity; /* elements */
	uint8_t *data;
	unsigned writes;
};

struct shop {
	struct array array[ARRAYS];
	size_t n;
	char said[2000]; /* what commits were told */
	unsigned flushes;
};

static const struct array_want how;

static int
shop_read(void *arg, void *target, const struct array_want *want, uint64_t off, size_t len,
	uint8_t *to)
{
	const struct array *a = target;
	CHECK(off + len <= a->capacity * a->type.size);
	memcpy(to, a->data + off, len);
	return 0;
}

static int
shop_write(void *arg, void *target, const struct array_want *want, uint64_t off, struct span bytes)
{
	struct array *a = target;
	CHECK(off + bytes.len <= a->capacity * a->type.size);
	memcpy(a->data + off, bytes.data, bytes.len);
	a->writes++;
	return 0;
}

static struct array *
add_array(struct shop *s, const char *name, struct dtype t, uint64_t count)
{
	struct array *a = &s->array[s->n++];
	snprintf(a->name, sizeof a->name, "%s", name);
	a->type = t;
	a->count = a->capacity = count;
	a->data = calloc(20 * count + 1, t.size);
	return a;
}

static struct array *
find_array(struct shop *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->array[i].name, name) == 0)
			return &s->array[i];
	return NULL;
}

/* What has grown has room from now on; new ones are little-endian, as the file has them. */
static int
shop_bind(void *arg, const struct change *c, struct image_form *now, const struct array_want *want)
{
	struct shop *s = arg;
	int r = 0;
	for (size_t i = 0; i < now->file.nvars && r == 0; i++) {
		const struct nc_var *v = &now->file.var[i];
		struct array *a = find_array(s, v->name);
		uint64_t count = image_form_bytes(now, i) / nc_type_size(v->type);
		if (!a)
			a = add_array(s, v->name,
				(struct dtype){.kind = DTYPE_FLOAT,
					.size = (uint32_t)nc_type_size(v->type)},
				count);
		a->capacity = max_u64(a->capacity, count);
		now->source[i].target = a;
		r = recode_make(&a->type, v->type, &now->source[i].recode);
	}
	return r;
}

static int
shop_commit(void *arg, const struct change *c, const struct array_want *want)
{
	struct shop *s = arg;
	size_t n = strlen(s->said);
	for (size_t i = 0; i < c->nattrs; i++)
		n += (size_t)snprintf(s->said + n, sizeof s->said - n, "%s:%s%s;",
			c->attr[i].var == CHANGE_NONE ? "" : c->now->file.var[c->attr[i].var].name,
			c->attr[i].to ? "" : "-", c->attr[i].name);
	for (size_t i = 0; i < c->now->file.nvars; i++)
		if (c->var[i] == CHANGE_NONE)
			n += (size_t)snprintf(s->said + n, sizeof s->said - n, "new %s;",
				c->now->file.var[i].name);
	for (unsigned i = 0; c->was && i < c->was->file.ndims; i++)
		if (c->grown[i])
			n += (size_t)snprintf(s->said + n, sizeof s->said - n, "%s=%d;",
				c->was->file.dim[i].name, (int)c->grown[i]);
	for (size_t i = 0; i < s->n; i++)
		s->array[i].count = s->array[i].capacity;
	return 0;
}

static int
shop_flush(void *arg, const struct image_form *form, const struct array_want *want)
{
	((struct shop *)arg)->flushes++;
	return 0;
}

static const struct image_ops ops = {
	.store = {.read = shop_read, .write = shop_write},
	.bind = shop_bind,
	.commit = shop_commit,
	.flush = shop_flush,
};

static void
add_var(struct nc_file *f, const char *name, enum nc_type t, unsigned rank, unsigned a, unsigned b)
{
	struct nc_var *v = &f->var[f->nvars++];
	v->name = strdup(name);
	v->type = t;
	v->rank = rank;
	v->dim = calloc(3, sizeof *v->dim);
	v->dim[0] = a;
	v->dim[1] = b;
}

static void
add_text(struct attrs *as, const char *name, const char *text)
{
	as->attr = realloc(as->attr, (as->count + 1) * sizeof *as->attr);
	struct attr *a = &as->attr[as->count++];
	*a = (struct attr){.name = strdup(name)};
	CHECK_INT(attr_set_text(a, text, strlen(text)), 0);
}

/* int64 time(time), ubyte v(time, x), float x(x), shown as double, short, float; not laid out. */
static void
base_file(struct nc_file *f, bool records)
{
	*f = (struct nc_file){.format = CDF_1, .record = records ? 0 : NC_NO_DIM};
	f->dim = calloc(4, sizeof *f->dim);
	f->dim[f->ndims++] = (struct nc_dim){.name = strdup("time"), .size = TIME};
	f->dim[f->ndims++] = (struct nc_dim){.name = strdup("x"), .size = X};
	f->var = calloc(6, sizeof *f->var);
	add_var(f, "x", NC_TYPE_FLOAT, 1, 1, 0);
	add_var(f, "time", NC_TYPE_DOUBLE, 1, 0, 0);
	add_var(f, "v", NC_TYPE_SHORT, 2, 0, 1);
	add_text(&f->attrs, "title", "one");
	add_text(&f->var[2].attrs, "units", "K");
}

static void
open_shop(struct shop *s)
{
	*s = (struct shop){0};
	struct array *x = add_array(s, "x", (struct dtype){.kind = DTYPE_FLOAT, .size = 4}, X);
	struct array *t = add_array(s, "time", (struct dtype){.kind = DTYPE_INT, .size = 8}, TIME);
	struct array *v =
		add_array(s, "v", (struct dtype){.kind = DTYPE_UINT, .size = 1}, TIME * X);
	for (int i = 0; i < X; i++)
		((float *)(void *)x->data)[i] = (float)i;
	for (int i = 0; i < TIME; i++)
		((int64_t *)(void *)t->data)[i] = 10 + i;
	for (int i = 0; i < TIME * X; i++)
		v->data[i] = (uint8_t)(100 + i);
}

static void
close_shop(struct shop *s, struct image *im)
{
	image_free(im);
	for (size_t i = 0; i < s->n; i++)
		free(s->array[i].data);
}

static struct image *
open_image(struct shop *s, bool records)
{
	struct nc_file f;
	struct image *im = NULL;
	struct image_start start = {.own = CHANGE_NONE, .most = MOST, .ops = &ops, .arg = s};
	struct change c = {0};
	open_shop(s);
	base_file(&f, records);
	CHECK_INT(nc_lay_out(&f), 0);
	CLEAN(buf_free) struct buf header = f.header;
	f.header = (struct buf){0};
	uint64_t size = f.size;
	CHECK_INT(image_form_new(&f, buf_span(&header), NULL, &start.form), 0);
	CHECK_INT(shop_bind(s, &c, start.form, &how), 0);
	CHECK_INT(start.form->size, size);
	CHECK_INT(image_new(&start, &im), 0);
	return im;
}

static int
put(struct image *im, uint64_t off, const void *bytes, size_t n)
{
	return image_write(im, off, (struct span){bytes, n}, &how);
}

static uint64_t
begin_of(struct image *im, size_t var, bool records)
{
	struct nc_file f;
	base_file(&f, records);
	CHECK_INT(nc_lay_out(&f), 0);
	uint64_t at = f.var[var].begin;
	nc_file_free(&f);
	return at;
}

static int64_t
time_at(struct shop *s, int i)
{
	return ((int64_t *)(void *)find_array(s, "time")->data)[i];
}

/* All of the file, written back, changes nothing; one value in the midst of a page changes that one. */
static void
test_values(bool records)
{
	struct shop s;
	struct image *im = open_image(&s, records);
	const uint64_t size = image_size(im);
	uint8_t *all = malloc(size);
	size_t n = 0;
	struct array_want w = {.len = size};
	CHECK_INT(image_read(im, &w, all, &n), 0);
	CHECK_INT(n, size);
	CHECK_INT(put(im, 0, all, size), 0);
	CHECK_INT(find_array(&s, "v")->writes + find_array(&s, "time")->writes, 0);
	uint64_t at = begin_of(im, 2, records) + (records ? 2 * 20 : 2 * X * 2) + 3 * 2;
	CHECK_INT(all[at + 1], 100 + 2 * X + 3);
	all[at + 1] = 7;
	CHECK_INT(put(im, at - 30, all + at - 30, 36), 0);
	CHECK_INT(find_array(&s, "v")->data[2 * X + 3], 7);
	CHECK_INT(find_array(&s, "v")->writes, 1);
	CHECK(!image_waits(im));
	/* Too large for a byte: refused, with all that came with it. */
	all[at] = 1;
	all[at + 2] = 0;
	all[at + 3] = 9;
	CHECK_INT(put(im, at, all + at, 4), -ERANGE);
	CHECK_INT(find_array(&s, "v")->data[2 * X + 3], 7);
	CHECK_INT(find_array(&s, "v")->data[2 * X + 4], 100 + 2 * X + 4);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_INT(s.flushes, 1);
	CHECK_STR(s.said, "");
	free(all);
	close_shop(&s, im);
}

/* Half a number is none: 1e300 for a moment. */
static void
test_parts(void)
{
	struct shop s;
	struct image *im = open_image(&s, false);
	uint64_t at = begin_of(im, 1, false) + 8, bits;
	double d = -123456;
	memcpy(&bits, &d, 8);
	bits = htobe64(bits);
	for (int i = 0; i < 8; i++) {
		CHECK_INT(time_at(&s, 1), 11);
		CHECK_INT(put(im, at + (uint64_t)i, (uint8_t *)&bits + i, 1), 0);
	}
	CHECK_INT(time_at(&s, 1), -123456);
	/* What is missing when the file is asked for is what was there. */
	d = -123457;
	memcpy(&bits, &d, 8);
	bits = htobe64(bits);
	CHECK_INT(put(im, at + 2, (uint8_t *)&bits + 2, 6), 0);
	CHECK_INT(time_at(&s, 1), -123456);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), 0);
	CHECK_INT(time_at(&s, 1), -123457);
	bits = htobe64(UINT64_C(0x3fe0000000000000)); /* 0.5 */
	CHECK_INT(put(im, at, &bits, 4), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), -ERANGE);
	close_shop(&s, im);
}

/* The file as another program would write it: these variables, these attributes, in its own layout. */
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
	CHECK_INT(image_truncate(im, 0, &how), 0);
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
	CHECK_INT(image_read(im, &w, got, &n), 0);
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
	CHECK_INT(image_truncate(im, 0, &how), 0);
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
	CHECK_INT(image_truncate(im, 100, &how), 0);
	CHECK_INT(image_settle(im, IMAGE_FLUSH, &how), -EINVAL);
	free(big);
	close_shop(&s, im);
}

int
main(void)
{
	for (int records = 0; records < 2; records++) {
		test_values(records);
		test_rewritten(records, false);
		test_rewritten(records, true);
	}
	test_parts();
	test_attribute();
	test_record();
	test_many_records();
	test_refused();
	return check_end();
}
