/* The inside of making a plan: variables that may come into the file, and their dimensions before
 * they have names. nc_plan.c says which and in what order, nc_build.c makes the file of them. */
#pragma once

#include "base/set.h"
#include "view/netcdf/nc_axes.h"
#include "view/netcdf/nc_crs.h"
#include "view/netcdf/nc_plan.h"

/* A dimension by the name that the store has for it: the same name may come with several sizes, and
 * more than once in a variable. */
struct nc_dim_use {
	const char *name; /* as stored; "_Anonymous_Dim_5" where there is none */
	uint64_t size;
	unsigned group;     /* that has it */
	const char *fqn;    /* as struct dim has it, borrowed; NULL: not said */
	unsigned other;     /* how many of that name and size are called otherwise in full */
	unsigned before;    /* how many of that name and size come before it in a variable */
	unsigned uses, dim; /* dim: index in the file */
	bool first;         /* of the variable that the file is for */
	bool unlimited;     /* declared so */
	bool declared;      /* by its group: netCDF-4 */
	unsigned time;      /* enum cf_time_axis of its coordinate variable, once it is asked for */
	unsigned coordinate; /* which of the coordinate variables is its own, in the order in which
				they get their names; 0: none */
	bool keeps;          /* the name, where other sizes have it too */
	bool second;         /* … but one of its size has it already */
};

/* What could be a variable of the file. */
struct nc_candidate {
	const struct nc_member *member;
	const struct nc_var_source *column;
	struct nc_dim_use **use; /* one a dimension, borrowed */
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
	struct nc_placed *placed;
	size_t nplaced;
	enum cdf_format format;       /* of the file that is being made; CDF_NONE: CDF-1 or 2 */
	struct set uses;              /* of struct nc_dim_use, which it owns */
	struct nc_dim_use *record;    /* the record dimension, or NULL */
	struct nc_dim_use **declared; /* netCDF-4: of all groups, borrowed */
	size_t ndeclared;
	size_t top; /* netCDF-4: length of the path of the hierarchy that full names of dimensions
		       begin in */
};

/* Members, columns, candidates and the uses of their dimensions. want->format: NC_4, or any other
 * one. */
int nc_build_start(
	struct mount *, const struct node *, const struct nc_want *, struct nc_build *ret);
void nc_build_end(struct nc_build *);
/* The use that equals this one, made if there is none, or NULL: no memory. Its texts are its
 * own. */
struct nc_dim_use *nc_build_use(struct nc_build *, const struct nc_dim_use *wanted);
/* The same, NULL if there is none. */
struct nc_dim_use *nc_build_known(struct nc_build *, const struct nc_dim_use *like);
/* The use of a candidate's next dimension, or NULL: no memory. */
struct nc_dim_use *nc_build_next_use(
	struct nc_build *, const struct nc_candidate *, const struct nc_dim_use *like);
/* The file's dimensions, with their names. */
int nc_build_dims(struct nc_build *, struct nc_file *);
/* Is the dimension one that has records? In a netCDF-4 file so are those of its name in other
 * groups. */
bool nc_build_is_record(const struct nc_build *, const struct nc_dim_use *);
/* What could not be kept of attributes, for the log. */
void nc_build_note(struct nc_build *, const char *path, const struct attrs *);
/* Not in the file, and the log says why. */
void nc_build_leave_out(struct nc_build *, struct nc_candidate *, const char *why);
/* The file of all candidates that are not left out, in this format, not yet laid out. */
int nc_build_file(struct nc_build *, enum cdf_format, struct nc_plan *ret);
