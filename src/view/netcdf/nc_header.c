#include "view/netcdf/nc_file.h"

#include "base/check.h"
#include "base/err.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_DIMENSION = 10, TAG_VARIABLE = 11, TAG_ATTRIBUTE = 12 };

/* Tools make attributes longer in place: without room after the header, netcdf-c moves all data. */
static const uint64_t DATA_UNIT = 64 << 10, SPARE = 16 << 10;
/* libnetcdf reads the header in blocks of 8 KiB, before which the kernel reads ahead: 32 KiB first,
 * then more and more. What it reads of the data costs chunks that are not wanted. */
static const uint64_t BLOCK = 8 << 10, AHEAD_FIRST = 32 << 10, AHEAD_NEXT = 128 << 10,
		      AHEAD_MOST = 1 << 20;
/* The most that a reader takes at a time: CDO. */
static const uint64_t ALONE_UNIT = 256 << 10;
/* What is larger than 64 KiB begins on a page, so that it can be mapped. */
static const uint64_t LARGE = 64 << 10, PAGE = 4 << 10;
/* Behind coordinates, which libnetcdf reads in blocks of 8 KiB too, the kernel reads ahead 32 KiB
 * and 128 KiB: what is much larger begins behind that, with the next block of the most that is
 * taken at a time. */
static const uint64_t COORDINATES = (64 + 32) << 10, APART = 256 << 10, APART_FROM = 16 << 20;
static const uint64_t MANY = UINT64_MAX;        /* no limit */
static const uint32_t SIZE_UNTOLD = UINT32_MAX; /* vsize of what is too large for it */

struct limits {
	uint64_t begin, variable, dim, records, attr;
	const char *name;
};

/* One variable may be larger where it is the last of a file without records, or the last of those
 * with. */
static const struct limits *
limits_of(enum cdf_format f)
{
	static const struct limits one = {
		INT32_MAX, INT32_MAX - 3, INT32_MAX - 3, INT32_MAX, INT32_MAX, "CDF-1"};
	static const struct limits two = {
		INT64_MAX, UINT32_MAX - 3, INT32_MAX, INT32_MAX, INT32_MAX, "CDF-2"};
	static const struct limits five = {
		INT64_MAX, MANY, INT64_MAX, INT64_MAX, INT64_MAX, "CDF-5"};
	return f == CDF_1 ? &one : f == CDF_2 ? &two : &five;
}

void
nc_file_free(struct nc_file *f)
{
	for (size_t i = 0; i < f->ndims; i++)
		free(f->dim[i].name);
	for (size_t i = 0; i < f->nvars; i++) {
		free(f->var[i].name);
		free(f->var[i].dim);
		attrs_free(&f->var[i].attrs);
	}
	for (size_t i = 0; i < f->ngroups; i++) {
		free(f->group[i].name);
		attrs_free(&f->group[i].attrs);
	}
	free(f->group);
	free(f->dim);
	free(f->var);
	attrs_free(&f->attrs);
	buf_free(&f->header);
	*f = (struct nc_file){.record = NC_NO_DIM};
}

bool
nc_is_record(const struct nc_file *f, const struct nc_var *v)
{
	return f->record != NC_NO_DIM && v->rank && v->dim[0] == f->record;
}

static size_t
record_variables(const struct nc_file *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->nvars; i++)
		n += nc_is_record(f, &f->var[i]);
	return n;
}

uint64_t
nc_record_bytes(const struct nc_file *f, const struct nc_var *v)
{
	return record_variables(f) == 1 ? v->bytes : round_up(v->bytes, 4);
}

/* Bytes on their way into a header. */
struct header_writer {
	const struct nc_file *file;
	struct buf *to;
	int error;
};

static void
put(struct header_writer *w, const void *data, size_t n)
{
	if (w->error == 0)
		w->error = buf_add(w->to, data, n);
}

static void
put_u32(struct header_writer *w, uint32_t v)
{
	v = htobe32(v);
	put(w, &v, sizeof v);
}

static void
put_u64(struct header_writer *w, uint64_t v)
{
	v = htobe64(v);
	put(w, &v, sizeof v);
}

/* A number of things: NON_NEG. */
static void
put_count(struct header_writer *w, uint64_t v)
{
	if (w->file->format == CDF_5)
		put_u64(w, v);
	else
		put_u32(w, (uint32_t)v);
}

static void
put_padding(struct header_writer *w, uint64_t n)
{
	put(w, (const uint8_t[4]){0}, (size_t)(round_up(n, 4) - n));
}

static void
put_name(struct header_writer *w, const char *name)
{
	size_t len = strlen(name);
	put_count(w, len);
	put(w, name, len);
	put_padding(w, len);
}

static void
put_list(struct header_writer *w, uint32_t tag, uint64_t n)
{
	put_u32(w, n ? tag : 0);
	put_count(w, n);
}

static void
put_values(struct header_writer *w, const struct attr *a)
{
	size_t size = nc_type_size(a->type);
	const uint8_t *p = a->data;
	if (size == 1)
		put(w, p, a->count);
	for (size_t i = 0; size > 1 && i < a->count && w->error == 0; i++, p += size) {
		uint16_t v2;
		uint32_t v4;
		uint64_t v8;
		switch (size) {
		case 2:
			memcpy(&v2, p, 2);
			v2 = htobe16(v2);
			put(w, &v2, 2);
			break;
		case 4:
			memcpy(&v4, p, 4);
			put_u32(w, v4);
			break;
		default: memcpy(&v8, p, 8); put_u64(w, v8);
		}
	}
	put_padding(w, a->count * size);
}

static void
put_attrs(struct header_writer *w, const struct attrs *as)
{
	put_list(w, TAG_ATTRIBUTE, as->count);
	for (size_t i = 0; i < as->count; i++) {
		const struct attr *a = &as->attr[i];
		put_name(w, a->name);
		put_u32(w, a->type);
		put_count(w, a->count);
		put_values(w, a);
	}
}

static void
put_var(struct header_writer *w, const struct nc_var *v)
{
	const struct nc_file *f = w->file;
	uint64_t size = round_up(v->bytes, 4);
	put_name(w, v->name);
	put_count(w, v->rank);
	for (unsigned i = 0; i < v->rank; i++)
		put_count(w, v->dim[i]);
	put_attrs(w, &v->attrs);
	put_u32(w, v->type);
	if (f->format != CDF_5 && size > limits_of(f->format)->variable)
		size = SIZE_UNTOLD;
	put_count(w, size);
	if (f->format == CDF_1)
		put_u32(w, (uint32_t)v->begin);
	else
		put_u64(w, v->begin);
}

static int
make_header(struct nc_file *f)
{
	struct header_writer w = {.file = f, .to = &f->header};
	f->header.len = 0;
	put(&w, (const uint8_t[]){'C', 'D', 'F', (uint8_t)f->format}, 4);
	put_count(&w, f->records);
	put_list(&w, TAG_DIMENSION, f->ndims);
	for (unsigned i = 0; i < f->ndims; i++) {
		put_name(&w, f->dim[i].name);
		put_count(&w, i == f->record ? 0 : f->dim[i].size);
	}
	put_attrs(&w, &f->attrs);
	put_list(&w, TAG_VARIABLE, f->nvars);
	for (size_t i = 0; i < f->nvars; i++)
		put_var(&w, &f->var[i]);
	return w.error;
}

/* Bytes of the variable, of one record if it has records. */
static int
measure(const struct nc_file *f, struct nc_var *v)
{
	uint64_t n = nc_type_size(v->type);
	bool over = n == 0;
	for (unsigned i = nc_is_record(f, v); i < v->rank; i++) {
		if (v->dim[i] >= f->ndims || v->dim[i] == f->record)
			return err_set(-EINVAL,
				"variable '%s': the record dimension can only be the first",
				v->name);
		over |= mul_over(n, f->dim[v->dim[i]].size, &n);
	}
	if (over || n > INT64_MAX - 8)
		return err_set(-EFBIG, "variable '%s' has too many bytes", v->name);
	v->bytes = n;
	return 0;
}

static int
check_dims(const struct nc_file *f)
{
	const struct limits *l = limits_of(f->format);
	for (unsigned i = 0; i < f->ndims; i++) {
		const struct nc_dim *d = &f->dim[i];
		if (d->size > (i == f->record ? l->records : l->dim))
			return err_set(-EFBIG, "dimension '%s' of %llu elements does not fit %s",
				d->name, (unsigned long long)d->size, l->name);
		if (d->size == 0 && i != f->record)
			return err_set(-EINVAL, "dimension '%s' has no elements", d->name);
	}
	return 0;
}

static int
check_attrs(const struct nc_file *f, const struct attrs *as)
{
	const struct limits *l = limits_of(f->format);
	for (size_t i = 0; i < as->count; i++)
		if (as->attr[i].count > l->attr / 8)
			return err_set(-EFBIG, "attribute '%s' does not fit %s", as->attr[i].name,
				l->name);
	return 0;
}

static int
too_large(const struct nc_file *f, const struct nc_var *v)
{
	return err_set(-EFBIG, "variable '%s' of %llu bytes does not fit %s where it lies", v->name,
		(unsigned long long)v->bytes, limits_of(f->format)->name);
}

/* The next variable begins at *at or behind it. */
static int
place(const struct nc_file *f, struct nc_var *v, bool last, uint64_t *at)
{
	const struct limits *l = limits_of(f->format);
	if (v->bytes > l->variable && !last)
		return too_large(f, v);
	v->begin = round_up(nc_apart(*at, v->bytes), v->alone           ? ALONE_UNIT
						     : v->bytes > LARGE ? PAGE
									: 4);
	if (v->begin > l->begin || add_over(v->begin, round_up(v->bytes, 4), at) ||
		*at > INT64_MAX - 2 * ALONE_UNIT)
		return too_large(f, v);
	if (v->alone && !last)
		*at = round_up(*at, ALONE_UNIT);
	return 0;
}

static int
place_fixed(struct nc_file *f, size_t nfixed, uint64_t *at)
{
	int r = 0;
	for (size_t i = 0; i < nfixed && r == 0; i++)
		r = place(f, &f->var[i], i + 1 == nfixed && nfixed == f->nvars, at);
	return r;
}

/* Records lie one after the other, their variables without gaps. */
static int
place_records(struct nc_file *f, size_t nfixed, uint64_t at)
{
	const struct limits *l = limits_of(f->format);
	uint64_t all, start = round_up(at, PAGE);
	f->record_start = at = start;
	f->record_size = 0;
	for (size_t i = nfixed; i < f->nvars; i++) {
		struct nc_var *v = &f->var[i];
		if (!nc_is_record(f, v))
			return err_set(
				-EINVAL, "variable '%s' lies behind those with records", v->name);
		if ((v->bytes > l->variable && i + 1 < f->nvars) || at > l->begin)
			return too_large(f, v);
		v->begin = at;
		if (add_over(at, nc_record_bytes(f, v), &at) || at > INT64_MAX - PAGE)
			return too_large(f, v);
	}
	f->record_size = at - start;
	if (mul_over(f->record_size, f->records, &all) || all > INT64_MAX - PAGE - start)
		return err_set(-EFBIG, "a file of more than %lld bytes", (long long)INT64_MAX);
	f->size = start + all;
	return 0;
}

static int
check(struct nc_file *f)
{
	int r = check_dims(f);
	if (r == 0)
		r = check_attrs(f, &f->attrs);
	for (size_t i = 0; i < f->nvars && r == 0; i++) {
		r = check_attrs(f, &f->var[i].attrs);
		if (r == 0)
			r = measure(f, &f->var[i]);
	}
	return r;
}

uint64_t
nc_data_start(uint64_t header)
{
	uint64_t mark = BLOCK,
		 ahead = AHEAD_FIRST; /* a reader that comes behind the mark has more read ahead */
	for (uint64_t n = AHEAD_NEXT; header > mark; n = min_u64(2 * n, AHEAD_MOST)) {
		mark = ahead;
		ahead += n;
	}
	return round_up(max_u64(ahead, header + SPARE), DATA_UNIT);
}

uint64_t
nc_apart(uint64_t at, uint64_t bytes)
{
	return bytes >= APART_FROM && at <= COORDINATES ? APART : at;
}

int
nc_lay_out(struct nc_file *f)
{
	int r = check(f);
	if (r < 0)
		return r;
	f->records = f->record == NC_NO_DIM ? 0 : f->dim[f->record].size;
	r = make_header(f); /* for its length, which does not depend on where things lie */
	if (r < 0)
		return r;
	uint64_t at = nc_data_start(f->header.len);
	size_t nfixed = 0;
	while (nfixed < f->nvars && !nc_is_record(f, &f->var[nfixed]))
		nfixed++;
	r = place_fixed(f, nfixed, &at);
	f->size = at;
	f->record_start = f->record_size = 0;
	if (r == 0 && nfixed < f->nvars)
		r = place_records(f, nfixed, at);
	if (r == 0 && f->format == CDF_1 && f->size > INT32_MAX)
		r = err_set(-EFBIG, "a file of %llu bytes is too large for CDF-1",
			(unsigned long long)f->size);
	return r < 0 ? r : make_header(f);
}
