/* NCZarr: what netcdf-c says beyond Zarr, in each of its generations:
 *
 *   4.8.0, V1          objects .nczgroup, .nczvar (or .nczarray), .nczattr (or .nczattrs)
 *   4.8.1, 4.9.0       _NCZARR_GROUP in .zgroup, _NCZARR_ARRAY in .zarray, _NCZARR_ATTR in .zattrs
 *   4.9.1, 4.9.2       the same in lower case
 *   4.9.3 and later    all of them in .zattrs
 *
 * Inner names differ too and all are taken in every place: dims|dimensions, vars|arrays,
 * dimrefs|dimension_references. */
#pragma once

#include "base/json.h"
#include "model/model.h"

/* The documents of one node, parsed. Any of them may be NULL. */
struct nczarr_docs {
	const struct json *attrs; /* .zattrs */
	const struct json *main;  /* .zgroup or .zarray */
	const struct json *v1;    /* .nczgroup or .nczvar */
};

/* parent: the group above in the same hierarchy, NULL at its top. pure: NCZarr's metadata do not
 * count, only which library wrote them. */
int nczarr_group(const struct nczarr_docs *, const struct group_meta *parent, bool pure,
	struct group_meta **ret);

/* What stands above an array, from the top of its hierarchy: for dimensions by their full names. */
struct dim_scope {
	struct node *const *group;
	unsigned depth;
	unsigned mode; /* enum url_mode */
};

/* The group that holds the array; NULL if it lies in none. */
const struct group_meta *dim_scope_parent(const struct dim_scope *);
bool dim_scope_pure(const struct dim_scope *);
/* netcdf-c wrote this array itself, in a version from..to (40900 is 4.9.0). */
bool nczarr_wrote(const struct nczarr_docs *, const struct dim_scope *, unsigned from, unsigned to);
/* The array is a scalar, which NCZarr stores with shape [1]. */
bool nczarr_scalar(const struct nczarr_docs *, const struct dim_scope *, const struct array_meta *);
/* Its one-byte strings are netCDF's char, said beside a type that every reader knows ("|S1"). */
bool nczarr_char(const struct nczarr_docs *, const struct dim_scope *);
/* Fills a->dim from what names the dimensions; what does not fit the array's rank is not used. */
int nczarr_dims(const struct nczarr_docs *, const struct dim_scope *, struct array_meta *a);
/* _nczarr_maxstrlen; 0: not said. */
uint32_t nczarr_strlen(const struct nczarr_docs *);

/* The type that a recorded type names ("<f4", ">S1", "|J0", V1's "5"); NC_TYPE_NONE for what is
 * none. */
enum nc_type nczarr_type(const struct json *);
/* The dict of recorded types, from .nczattr (may be NULL) or the attributes themselves; NULL: there
 * is none. */
const struct json *nczarr_types(const struct json *attrs, const struct json *v1);
