/* Grid mappings that a netCDF file has though the store has none: for variables whose attributes,
 * or those of their group, state a coordinate reference system in another way than CF's. Part of
 * making a plan. */
#pragma once

#include <stddef.h>

struct nc_build;
struct nc_candidate;
struct nc_file;

/* As many a file has at most; variables with further ones have none. */
enum { NC_CRS_MAX = 16 };

struct nc_crs {
	char *wkt;
	size_t at; /* index of its variable in the file that is being made */
};

/* Which candidates have which. 0 or -errno. */
int nc_crs_find(struct nc_build *);
void nc_crs_free(struct nc_build *);
/* Those that variables of the file have come first in it; returns how many. */
size_t nc_crs_count(struct nc_build *);
/* Makes their variables, which have their names. 0 or -ENOMEM. */
int nc_crs_add(const struct nc_build *, struct nc_file *);
/* The name of what the candidate has, or NULL. */
const char *nc_crs_name(
	const struct nc_build *, const struct nc_candidate *, const struct nc_file *);
