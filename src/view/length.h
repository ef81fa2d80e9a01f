/* The length of a leading dimension in a writable mount: of which arrays it grows, and for which
 * objects it is still to come. */
#pragma once

#include "view/state.h"

/* Is the leading dimension one that grows: unlimited, or the one that -o unlimited= names where the
 * store says nothing? */
bool length_grows(const struct mount *, const struct node *);
/* Is an object of that mtime (ns; 0: unknown) another writer's, the length of which may come yet?
 * Rows that another file of this mount has written, or another writer has stored, or what was left
 * when the array was made shorter: the metadata tell, which are much newer then. behind: all of it
 * lies behind the end, where a writer may store long before the length. */
bool length_may_come(const struct node *, int64_t mtime, bool behind);
