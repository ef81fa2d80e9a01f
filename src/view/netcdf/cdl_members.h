/* What lies in a group, by the names that it has in CDL. One thread's. */
#pragma once

#include "view/netcdf/nc_columns.h"
#include "view/netcdf/nc_names.h"

struct mount;

struct cdl_variable {
	struct node *node;
	char *shown;               /* its name */
	char *type;                /* name of its compound type; NULL: it has none */
	char *dtype;               /* that type as the store has it; NULL as long as type is */
	struct nc_columns columns; /* one, unless it has a compound type */
	uint32_t width;
	char *why; /* it is left out */
};

struct cdl_members {
	bool nodes_only; /* asked for: nothing but nodes and mtime */
	struct cdl_variable *var;
	size_t nvars;
	struct node **group;
	char **group_shown;
	size_t ngroups;
	struct nc_taken names; /* of variables, groups and types */
	int64_t mtime;         /* of the newest variable; 0: there is none */
};

/* Of a group; of a single array that array. ret is empty before, and has something in it also when
 * it fails. */
int cdl_members_load(struct mount *, const struct node *, struct cdl_members *ret);
void cdl_members_done(struct cdl_members *);
bool cdl_is_compound(const struct cdl_variable *);
