/* Random netCDF files: what nc_lay_out lays out. */
#pragma once

#include "check.h"

#include "view/netcdf/nc_file.h"

static uint32_t seed = 1;

static inline uint32_t
pick(uint32_t n)
{
	return check_random(&seed) % n;
}

static inline char *
text(const char *fmt, uint32_t i)
{
	static const char *const more[] = {
		"", "_", " x", ".y", "\xc3\xa9", "\xe6\xb8\xa9", "_a_long_name_"};
	char *s;
	return asprintf(&s, fmt, i, more[pick(7)]) < 0 ? NULL : s;
}

static inline void
random_attrs(struct attrs *as, bool five)
{
	as->attr = calloc(6, sizeof *as->attr);
	uint32_t n = pick(6);
	for (uint32_t i = 0; i < n; i++) {
		struct attr *a = &as->attr[as->count++];
		a->name = text("att%u%s", i);
		a->type = (enum nc_type)(1 + pick(five ? 11 : 6));
		a->count = pick(8) ? pick(10) : 0;
		uint8_t *p = calloc(1, a->count * 8 + 1);
		for (size_t k = 0; k < a->count * 8; k++)
			p[k] = (uint8_t)pick(0x70); /* no NaN */
		a->data = p;
	}
}

static inline void
random_file(struct nc_file *f, enum cdf_format format)
{
	bool five = format == CDF_5, records = pick(2);
	*f = (struct nc_file){.format = format, .record = NC_NO_DIM};
	uint32_t ndims = pick(6), nvars = pick(10);
	f->dim = calloc(8, sizeof *f->dim);
	f->var = calloc(10, sizeof *f->var);
	for (uint32_t i = 0; i < ndims; i++)
		f->dim[f->ndims++] = (struct nc_dim){text("dim%u%s", i), 1 + pick(70)};
	if (records && ndims) {
		f->record = pick(ndims);
		f->dim[f->record].size = pick(20);
	}
	random_attrs(&f->attrs, five);
	for (int record = 0; record < 2; record++)
		for (uint32_t i = 0; i < nvars; i++) {
			struct nc_var v = {.type = (enum nc_type)(1 + pick(five ? 11 : 6)),
				.dim = calloc(8, sizeof *v.dim)};
			if (f->nvars == nvars || (record ? f->record == NC_NO_DIM : pick(2))) {
				free(v.dim);
				continue;
			}
			if (record)
				v.dim[v.rank++] = f->record;
			for (uint32_t k = pick(4); k && ndims; k--) {
				uint32_t d = pick(ndims);
				if (d != f->record)
					v.dim[v.rank++] = d;
			}
			v.name = text("var%u%s", i + 100 * (uint32_t)record);
			random_attrs(&v.attrs, five);
			f->var[f->nvars++] = v;
		}
}
