/* Attributes as a netCDF file has them: SEMANTICS "The netCDF files". */
#pragma once

#include "view/netcdf/nc_file.h"
#include "view/convert.h"

struct node;
struct dtype;

/* Of the variable that attributes are for; {0} for those of a group. */
struct nc_attrs_of {
	enum nc_type type;         /* in the file */
	const struct dtype *dtype; /* in the store */
	bool field; /* one of several that share the array's attributes: what belongs to a type is
		       not theirs */
	const uint8_t *fill; /* the array's fill value is the variable's `_FillValue`: its bytes as
				stored; else NULL */
	const struct convert *convert; /* which makes it the file's */
	const char *grid_mapping;      /* to be added; NULL: none */
	bool lists; /* of texts stay lists, as netCDF-4 has them; else a line each */
};

/* The store's attributes made into the file's. ret->problem: one line for each that is left out. */
int nc_attrs_make(
	const struct attrs *, const struct nc_attrs_of *, enum cdf_format, struct attrs *ret);
