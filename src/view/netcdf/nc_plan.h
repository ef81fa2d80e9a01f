/* A netCDF file of the mount: which variables it has, how they are shown and where they lie. A pure
 * function of metadata (and of string widths). Belongs to its maker. */
#pragma once

#include "view/netcdf/nc_axes.h"
#include "view/netcdf/nc_columns.h"
#include "view/netcdf/nc_members.h"

struct nc_want {
	bool of_group;
	bool records;           /* record layout, whatever the options say */
	enum cdf_format format; /* CDF_NONE: as the options say, or what fits */
};

/* One for each variable of the file. */
struct nc_source {
	struct variable *variable; /* one of the plan's members'; NULL: places along an axis, or
				      zeros, of a grid mapping */
	struct nc_axis axis;
	struct convert convert;
};

struct nc_plan {
	struct nc_members members;
	struct nc_file file;
	struct nc_source *source; /* file.nvars of them, in the same order */
	uint64_t version;
};

/* node: an array or a group. ZMAP_ABSENT: it has no such file; -EFBIG: the format asked for cannot
 * hold it; both with the reason in err_text. */
int nc_plan_make(struct mount *, const struct node *, const struct nc_want *, struct nc_plan *ret);
void nc_plan_free(struct nc_plan *);
/* May the variable stand in a .nc file, as far as it alone can say? No data, no attributes are
 * looked at. */
bool nc_plan_fits(struct mount *, const struct node *array);
/* The same of a netCDF-4 file. */
bool nc_plan_fits_nc4(struct mount *, const struct node *array);
