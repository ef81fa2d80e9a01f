/* Reading the nodes of a snapshot into its tree. Parts of icechunk_tree.c. */
#pragma once

#include "backends/icechunk/tree.h"

enum { ICE_RANGE = 8 /* bytes of ChunkIndexRange: u32 from, u32 to */ };

/* All nodes, in their order, and the groups that only follow from paths. Once, of a new tree.
 * root_name: of icechunk_tree.h. 0 or -EIO. */
int ice_nodes_read(struct ice_tree *, const struct flat_vector *nodes, const char *root_name);
