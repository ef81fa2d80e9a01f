/* The variables of a netCDF file that one array becomes: itself, or one for each field of its
 * structured type. */
#pragma once

#include "model/model.h"
#include "view/netcdf/nc_file.h"
#include "view/convert.h"

struct nc_var_source {
	char *field;         /* ".a.b" behind the array's name; "" */
	struct dtype type;   /* of one element, or of one of the field; width filled in; what it
				points to is the array's */
	struct nc_dim *more; /* dimensions behind the array's own: of a field's subarray, of text,
				of complex numbers */
	unsigned nmore;
	struct convert_part
		*part; /* where the field lies in an element; NULL: the element is it. Owned */
	uint32_t nparts;
};

struct nc_columns {
	struct nc_var_source *of;
	size_t n;
};

/* width: of variable-length elements. -ENOTSUP: netCDF cannot show it, err_text says why. */
int nc_columns_make(const struct array_meta *, uint32_t width, struct nc_columns *ret);
void nc_columns_free(struct nc_columns *);

/* The type of a column's numbers in a file of this format; NC_TYPE_NONE: none holds them. */
enum nc_type nc_type_in_file(const struct dtype *, enum cdf_format);
