/* Writes of arbitrary bytes into a small netCDF file, and what is made of them. Commands: W, where
 * (two bytes), how many, the bytes; w, the same by a handle that has seen what it read before; R,
 * where: that; T, a size; S: settle. Places beyond 32 KiB are counted from 1 KiB before the data.
 */
#include "base/err.h"
#include "view/image/image.h"
#include "view/image/viewed.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROOM = 1 << 20, DATA = 64 << 10, BEFORE = 1 << 10, FAR = 32 << 10, MOST_SEEN = 20000 };

/* All variables have these bytes. */
static uint8_t elements[ROOM];

static int
read_some(void *arg, void *target, const struct array_want *how, uint64_t off, size_t len,
	uint8_t *to)
{
	if (off > ROOM || len > ROOM - off)
		return err_set(-5, "past the end");
	memcpy(to, elements + off, len);
	return 0;
}

static int
write_some(void *arg, void *target, const struct array_want *how, uint64_t off, struct span b)
{
	if (off > ROOM || b.len > ROOM - off)
		return err_set(-5, "past the end");
	memcpy(elements + off, b.data, b.len);
	return 0;
}

static int
bind(void *arg, const struct change *c, struct image_form *now, const struct array_want *how)
{
	const struct dtype bytes = {.kind = DTYPE_UINT, .size = 1};
	int r = 0;
	for (size_t i = 0; i < now->file.nvars && r == 0; i++) {
		const enum nc_type t = now->file.var[i].type;
		const uint32_t n = (uint32_t)nc_type_size(t);
		const struct dtype same = {
			.kind = t == NC_TYPE_CHAR ? DTYPE_BYTES : DTYPE_INT, .size = n};
		r = convert_make(t == NC_TYPE_SHORT ? &bytes : &same, t, &now->source[i].convert);
		if (r == 0)
			now->source[i].target = elements;
		if (r == 0 && image_form_bytes(now, i) > ROOM)
			r = err_set(-22, "too large");
	}
	return r;
}

static int
commit(void *arg, const struct change *c, const struct array_want *how)
{
	return 0;
}

static int
flush(void *arg, const struct image_form *f, const struct array_want *how)
{
	return 0;
}

static const struct image_ops ops = {
	.store = {.read = read_some, .write = write_some},
	.bind = bind,
	.commit = commit,
	.flush = flush,
};

static void
add_var(struct nc_file *f, const char *name, enum nc_type t, unsigned dim)
{
	struct nc_var *v = &f->var[f->nvars++];
	v->name = strdup(name);
	v->type = t;
	v->rank = 1;
	v->dim = calloc(1, sizeof *v->dim);
	v->dim[0] = dim;
}

static struct image *
begin(void)
{
	static const struct array_want how;
	struct nc_file f = {.format = CDF_1, .record = 1, .ndims = 2};
	struct image_start start = {.own = CHANGE_NONE, .most = 1 << 20, .ops = &ops};
	struct image *im = NULL;
	f.dim = calloc(2, sizeof *f.dim);
	f.var = calloc(3, sizeof *f.var);
	f.dim[0] = (struct nc_dim){.name = strdup("x"), .size = 5};
	f.dim[1] = (struct nc_dim){.name = strdup("t"), .size = 3};
	add_var(&f, "x", NC_TYPE_INT, 0);
	add_var(&f, "t", NC_TYPE_SHORT, 1);
	add_var(&f, "u", NC_TYPE_DOUBLE, 1);
	if (nc_lay_out(&f) < 0)
		abort();
	struct buf header = f.header;
	f.header = (struct buf){0};
	if (image_form_new(&f, buf_span(&header), NULL, &start.form) < 0 ||
		bind(NULL, &(struct change){0}, start.form, &how) < 0 || image_new(&start, &im) < 0)
		abort();
	buf_free(&header);
	return im;
}

static uint64_t
place(const uint8_t *p)
{
	uint64_t at = (uint64_t)p[0] << 8 | p[1];
	return at < FAR ? at : at - FAR + DATA - BEFORE;
}

static void
see(struct image *im, uint64_t off, struct viewed *seen)
{
	uint8_t some[100];
	struct array_want w = {.off = off, .len = sizeof some};
	size_t got = 0;
	image_read(im, &w, seen, some, &got);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct array_want how;
	struct image *im = begin();
	struct viewed seen = {.most = MOST_SEEN};
	memset(elements, 0, sizeof elements);
	for (size_t at = 0; at + 4 <= size;) {
		const uint8_t *p = data + at;
		size_t n = p[3] < size - at - 4 ? p[3] : size - at - 4;
		if (*p == 'W' || *p == 'w') { /* by two handles, of which one sees */
			struct viewed *by = *p == 'w' ? &seen : NULL;
			image_write(im, place(p + 1), (struct span){p + 4, n}, by, &how);
			at += 4 + n;
		} else {
			if (*p == 'T')
				image_truncate(im, place(p + 1), false, &how);
			else if (*p == 'R')
				see(im, place(p + 1), &seen);
			else
				image_settle(im, *p == 'S' ? IMAGE_FLUSH : IMAGE_LOOK, &how);
			at += 3;
		}
	}
	uint8_t all[4096];
	struct array_want w = {.len = sizeof all};
	size_t got = 0;
	for (; w.off < image_size(im) && w.off < 1 << 18; w.off += sizeof all)
		if (image_read(im, &w, NULL, all, &got) == 0 && got > sizeof all)
			abort();
	image_leave(im, &seen);
	image_free(im);
	return 0;
}
