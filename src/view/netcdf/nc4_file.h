/* The inside of laying out a netCDF-4 file: what its metadata say, which are put down twice, since
 * addresses in them are known from the first time only. One thread's. */
#pragma once

#include "view/netcdf/h5.h"
#include "view/netcdf/nc_file.h"

/* Bytes of an attribute that fit one message, with all that goes with them. */
enum { NC4_ATTR_MAX = 65000 };

/* Numbers of things by the number of what they belong to: of[start[i]] … of[start[i + 1] - 1]
 * belong to i. */
struct nc4_sorted {
	size_t *start;
	unsigned *of;
};

/* A variable has a dimension, as its number so. */
struct nc4_axis {
	unsigned var, dim, number;
};

struct nc4 {
	struct nc_file *file;
	struct h5 h5;
	struct nc4_sorted dims, vars, groups; /* by group */
	struct nc4_sorted by_dim;             /* of axis: those of variables that are no scales */
	struct nc4_axis *axis;
	size_t naxes;
	unsigned *scale;      /* of each dimension: 1 + the variable that is its scale; 0: none */
	unsigned *scale_of;   /* of each variable: the dimension, or NC_NO_DIM */
	bool *secret;         /* of each variable: a dimension has its name */
	unsigned *attr_count; /* of each variable's object; known from the first time */
	size_t *attrs_len; /* of each variable's own attributes; 0: there is an address in them */
	uint64_t *links;   /* of each group */
	struct h5_object *list; /* of each dimension: where the reference to it is kept */
	uint64_t *size, *most;  /* room for one variable's dimensions */
	uint64_t *group_at, *dim_at, *var_at, *tree_at;
};

/* All metadata, with the addresses that are known by now. 0 or -errno. */
int nc4_put(struct nc4 *);
