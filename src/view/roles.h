/* What the variables of a group are for, and which of them have which files besides the flat one:
 * told by their metadata, worked out once for each version of the group. Any thread. */
#pragma once

#include "base/buf.h"
#include "model/cf.h"

struct mount;
struct roles;

enum { ROLES_SLOTS = 64 };

struct roles_table {
	pthread_mutex_t lock; /* guards slot */
	struct roles *slot[ROLES_SLOTS];
};

void roles_init(struct roles_table *);
void roles_free(struct roles_table *);

/* A bit for each view of variables that this mount lists beside the flat file; that of the first
 * view is 1. */
uint32_t roles_listed_views(struct mount *);
/* name[0..n): the arrays of the group, sorted by strcmp. ret[i]: those views that list a file of
 * array i. 0 or -errno. */
int roles_of_group(
	struct mount *, const char *group, const char *const *name, size_t n, uint32_t *ret);
/* Which variables of the array's group share out samples of ragged arrays: a list for
 * cf_ragged_next, the caller's to free. No store is asked for it: empty where metadata are not
 * consolidated, unless the group says `featureType`, as CF wants of what has ragged arrays. 0 or
 * -errno. */
int roles_ragged(struct mount *, const struct node *array, struct buf *ret);
/* What an array is for, as its group is known to be within the TTL. 0 or -errno. */
int roles_of_array(struct mount *, const struct node *array, enum cf_role *ret);
