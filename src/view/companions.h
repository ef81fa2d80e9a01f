/* The variables of a file beside the one it is named after: a layout may be made of consolidated
 * metadata, which may be older than theirs. */
#pragma once

#include <stdbool.h>

struct layout;
struct mount;
struct node;

/* Before a netCDF file of the node is opened: looks at the own metadata of each variable of its
 * layout, where that costs little (a local store and not many variables) or nothing (all will be
 * read), or where the consolidated metadata were found to be stale. False: that was not done, or
 * there are no others. */
bool companions_look(struct mount *, const struct node *, const struct layout *);
