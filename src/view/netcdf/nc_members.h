/* The arrays that a netCDF file shows, each once. */
#pragma once

#include "model/model.h"

struct mount;
struct variable;

struct nc_member {
	struct node *node;
	struct variable *variable; /* found by nc_members_open; NULL: it cannot be read */
	uint32_t width;            /* of variable-length elements, else 0 */
	unsigned group;            /* index of the members' groups; 0 where there are none */
};

struct nc_member_group {
	struct node *node;
	unsigned parent; /* comes before it; of the first one 0 */
};

struct nc_members {
	struct nc_member *of;
	size_t n;
	size_t own; /* the first so many are what the file is for, the rest goes with them */
	struct nc_member_group *group; /* of a tree: the first is its top; else NULL */
	size_t ngroups;
};

/* A variable (first) and what belongs to it: coordinate variables of its dimensions, what its CF
 * attributes name, their bounds. */
int nc_members_of_array(struct mount *, const struct node *, struct nc_members *ret);
/* All variables of a group, and coordinate variables of dimensions that it has from groups
 * above. */
int nc_members_of_group(struct mount *, const struct node *, struct nc_members *ret);
/* All variables of a group and of all below it, groups before what is in them, and coordinate
 * variables of dimensions that they have from above, which count as the top's. -EFBIG: too many
 * nodes to ask a store for. */
int nc_members_of_tree(struct mount *, const struct node *, struct nc_members *ret);
/* Finds the variables of all; the log says which cannot be opened. */
int nc_members_open(struct mount *, struct nc_members *);
void nc_members_free(struct nc_members *);
