/* A netCDF file that is being written, whose variables are arrays in memory. */
#pragma once

#include "check.h"

#include "base/check.h"
#include "base/clock.h"
#include "view/image/image.h"

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
	uint64_t theirs; /* rows that others have made */
};

static const struct array_want how;

static inline int
shop_read(void *arg, void *target, const struct array_want *want, uint64_t off, size_t len,
	uint8_t *to)
{
	const struct array *a = target;
	CHECK(off + len <= a->capacity * a->type.size);
	memcpy(to, a->data + off, len);
	return 0;
}

static inline int
shop_write(void *arg, void *target, const struct array_want *want, uint64_t off, struct span bytes)
{
	struct array *a = target;
	CHECK(off + bytes.len <= a->capacity * a->type.size);
	if (!want->under || !a->data[off])
		memcpy(a->data + off, bytes.data, bytes.len);
	a->writes++;
	return 0;
}

static inline struct array *
add_array(struct shop *s, const char *name, struct dtype t, uint64_t count)
{
	struct array *a = &s->array[s->n++];
	snprintf(a->name, sizeof a->name, "%s", name);
	a->type = t;
	a->count = a->capacity = count;
	a->data = calloc(20 * count + 1, t.size);
	return a;
}

static inline struct array *
find_array(struct shop *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->array[i].name, name) == 0)
			return &s->array[i];
	return NULL;
}

/* What has grown has room from now on; new ones are little-endian, as the file has them. */
static inline int
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
		now->source[i].rows = s->theirs;
		r = convert_make(&a->type, v->type, &now->source[i].convert);
	}
	return r;
}

static inline void
set_name(char **is, const char *to)
{
	char *name = strdup(to);
	free(*is);
	*is = name;
}

static inline int
shop_rename(
	void *arg, const struct change *c, struct image_form *was, const struct array_want *want)
{
	struct shop *s = arg;
	size_t n = strlen(s->said);
	for (size_t i = 0; i < c->now->file.nvars; i++) {
		const char *to = c->now->file.var[i].name;
		if (!change_renames(c, i))
			continue;
		struct array *a = was->source[c->var[i]].target;
		n += (size_t)snprintf(s->said + n, sizeof s->said - n, "%s>%s;",
			was->file.var[c->var[i]].name, to);
		snprintf(a->name, sizeof a->name, "%s", to);
		set_name(&was->file.var[c->var[i]].name, to);
	}
	for (unsigned i = 0; i < was->file.ndims; i++) {
		if (!c->renamed[i])
			continue;
		n += (size_t)snprintf(s->said + n, sizeof s->said - n, "%s>>%s;",
			was->file.dim[i].name, c->renamed[i]);
		set_name(&was->file.dim[i].name, c->renamed[i]);
	}
	return 0;
}

static inline int
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

static inline int
shop_flush(void *arg, const struct image_form *form, const struct array_want *want)
{
	((struct shop *)arg)->flushes++;
	return 0;
}

static const struct image_ops ops = {
	.store = {.read = shop_read, .write = shop_write},
	.bind = shop_bind,
	.rename = shop_rename,
	.commit = shop_commit,
	.flush = shop_flush,
};

static inline void
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

static inline void
add_text(struct attrs *as, const char *name, const char *text)
{
	as->attr = realloc(as->attr, (as->count + 1) * sizeof *as->attr);
	struct attr *a = &as->attr[as->count++];
	*a = (struct attr){.name = strdup(name)};
	CHECK_INT(attr_set_text(a, text, strlen(text)), 0);
}

/* int64 time(time), ubyte v(time, x), float x(x), shown as double, short, float; not laid out. */
static inline void
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

static inline void
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

static inline void
close_shop(struct shop *s, struct image *im)
{
	image_free(im);
	for (size_t i = 0; i < s->n; i++)
		free(s->array[i].data);
}

static inline struct image *
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

static inline int
put(struct image *im, uint64_t off, const void *bytes, size_t n)
{
	return image_write(im, off, (struct span){bytes, n}, NULL, &how);
}

static inline uint64_t
begin_of(struct image *im, size_t var, bool records)
{
	struct nc_file f;
	base_file(&f, records);
	CHECK_INT(nc_lay_out(&f), 0);
	uint64_t at = f.var[var].begin;
	nc_file_free(&f);
	return at;
}

static inline int64_t
time_at(struct shop *s, int i)
{
	return ((int64_t *)(void *)find_array(s, "time")->data)[i];
}
