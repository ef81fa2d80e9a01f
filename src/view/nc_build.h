/* The inside of making a plan: variables that may come into the file, and their dimensions before they have names. nc_plan.c says which
 * and in what order, nc_build.c makes the file of them. */
#pragma once

#include "base/set.h"
#include "view/nc_crs.h"
#include "view/nc_plan.h"

/* A dimension by the name that the store has for it: the same name may come with several sizes, and more than once in a variable. */
struct nc_use {
	const char *name; /* as stored; "_Anonymous_Dim_5" where there is none */
	uint64_t size;
	unsigned before;    /* how many of that name and size come before it in a variable */
	unsigned uses, dim; /* dim: index in the file */
	bool first;         /* of the variable that the file is for */
	bool unlimited;     /* declared so */
	unsigned time;      /* enum cf_time_axis of its coordinate variable, once it is asked for */
	bool keeps;         /* the name, where several have it */
};

/* What could be a variable of the file. */
struct nc_candidate {
	const struct nc_member *member;
	const struct nc_column *column;
	struct nc_use **use; /* one a dimension, borrowed */
	unsigned rank;
	uint64_t size; /* bytes in a CDF-2 file without records; UINT64_MAX: more than can be */
	bool own;      /* of the variable that the file is for */
	bool out;      /* left out */
	unsigned crs;  /* 1 + index of the build's; 0: none */
};

struct nc_build {
	struct mount *mount;
	const struct node *node;
	const struct nc_want *want;
	struct nc_members members;
	struct nc_columns *columns; /* one a member */
	size_t ncolumns;
	struct nc_candidate *candidate;
	size_t n;
	struct nc_crs crs[NC_CRS_MAX];
	unsigned ncrs;
	bool five;             /* the file that is being made is CDF-5 */
	struct set uses;       /* of struct nc_use, which it owns */
	struct nc_use *record; /* the record dimension, or NULL */
};

/* Members, columns, candidates and the uses of their dimensions. */
int nc_build_start(
	struct mount *, const struct node *, const struct nc_want *, struct nc_build *ret);
void nc_build_end(struct nc_build *);
/* Not in the file, and the log says why. */
void nc_build_leave_out(struct nc_build *, struct nc_candidate *, const char *why);
/* The file of all candidates that are not left out, in this format, not yet laid out. */
int nc_build_file(struct nc_build *, enum cdf_format, struct nc_plan *ret);
