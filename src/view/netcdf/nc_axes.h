/* Coordinate variables that a netCDF file has though the store has none: of dimensions whose
 * elements lie at equal distances, as the metadata of an image say. Part of making a plan. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nc_build;
struct nc_file;
struct nc_plan;
struct nc_dim_use;
struct dim;
struct attrs;

/* Values of such a variable, as doubles: origin + i × step. */
struct nc_axis {
	bool is; /* false: it is none */
	double origin, step;
};

static inline double
nc_axis_at(const struct nc_axis *x, uint64_t i)
{
	return x->origin + (double)i * x->step;
}

/* Those of a dimension; and the attributes of their variable, which are the caller's also when it
 * fails. */
struct nc_axis nc_axis_of(const struct dim *);
int nc_axis_attrs(const struct dim *, struct attrs *ret);

/* One that a file could have. */
struct nc_placed {
	const struct nc_dim_use *use;
	const struct dim *dim;
	size_t at; /* index of its variable in the file that is being made; SIZE_MAX: it is not in
		      it */
};

/* Which dimensions of candidates have which. 0 or -ENOMEM. */
int nc_axes_find(struct nc_build *);
/* Those of the file's dimensions come behind the first so many variables of it; returns how many
 * there are then. */
size_t nc_axes_count(struct nc_build *, size_t first);
/* Makes their variables, which have their names. 0 or -ENOMEM. */
int nc_axes_add(const struct nc_build *, struct nc_plan *);

/* Bytes [off, off + len) of the variable's in a file, whole atoms or not. */
void nc_axis_make(const struct nc_axis *, bool big, uint64_t off, size_t len, uint8_t *to);
