/* The arrays that a netCDF file shows, each once. */
#pragma once

#include "model/model.h"

struct mount;
struct variable;

struct nc_member {
	struct node *node;
	struct variable *variable; /* opened by nc_members_open; NULL: it cannot be read */
	uint32_t width;            /* of variable-length elements, else 0 */
};

struct nc_members {
	struct nc_member *of;
	size_t n;
	size_t own; /* the first so many are what the file is for, the rest goes with them */
};

/* A variable (first) and what belongs to it: coordinate variables of its dimensions, what its CF attributes name, their bounds. */
int nc_members_of_array(struct mount *, const struct node *, struct nc_members *ret);
/* All variables of a group, and coordinate variables of dimensions that it has from groups above. */
int nc_members_of_group(struct mount *, const struct node *, struct nc_members *ret);
/* Opens all; the log says which cannot be. */
int nc_members_open(struct mount *, struct nc_members *);
void nc_members_free(struct nc_members *);
