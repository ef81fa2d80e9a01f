/* Groups of a netCDF-4 file: which of them has a dimension, what names are taken in each, and their
 * attributes. Part of making a plan; in a file without groups all is the root's, number 0. */
#pragma once

#include "view/netcdf/nc_file.h"
#include "view/netcdf/nc_names.h"

struct nc_build;
struct nc_candidate;

/* Dimensions that groups of the store declare are in the file, used or not. 0 or -errno. */
int nc_tree_declare(struct nc_build *);
/* The group that has dimension k of the candidate's array: the one that NCZarr says; the one that
 * has its coordinate variable; the nearest that has one of that name and size; else the array's
 * own. What lies above the file's top is the top's. 0 or -errno. */
int nc_tree_owner(struct nc_build *, const struct nc_candidate *, unsigned k, unsigned *ret);
/* Names in each group of the file, in which those of the groups below it are taken. */
int nc_tree_names(const struct nc_build *, const struct nc_file *, struct nc_taken **ret);
void nc_tree_names_free(const struct nc_build *, struct nc_taken *);
/* The file's groups below the root, with their attributes. 0 or -errno. */
int nc_tree_add_groups(struct nc_build *, struct nc_file *);
