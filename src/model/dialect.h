/* The dialects of Zarr's metadata: which objects a node has in each, where consolidated ones lie,
 * and which function makes nodes of them. Only this and the files that write metadata know. What
 * NCZarr's generations have within these objects is nczarr.h's. */
#pragma once

#include "model/meta_name.h"

struct metas;
struct node;
struct dim_scope;
/* Makes the node at `path`. What is wrong with it marks the node; fails only without memory. */
typedef int dialect_read(
	const char *path, const struct metas *, const struct dim_scope *, struct node **ret);

/* A version of Zarr, NCZarr of that version with it. */
struct dialect {
	enum meta_kind array, group; /* what says that a node is one … */
	enum meta_kind attrs;        /* … and what its attributes are */
	enum meta_kind all;          /* consolidated metadata are within it … */
	const char *members; /* … below this path, by the keys of objects or (`joint`) by the paths
				of nodes */
	bool joint;          /* one object says all of a node */
	dialect_read *read_array, *read_group;
};

extern const struct dialect dialect_v2, dialect_v3;

/* What says everything in a hierarchy of that version. */
const struct dialect *dialect_of(bool v3);
/* Of the hierarchy that holds what lies in the scope. */
const struct dialect *dialect_in(const struct dim_scope *);
/* The node that the objects make: by the dialect that they are of, an array rather than a group;
 * without any, a group of the scope's. */
dialect_read dialect_node;
