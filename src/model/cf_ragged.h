/* Ragged arrays (CF chapter 9): samples of many instances, such as stations or trajectories, one
 * behind the other in a dimension, and the variables that say to which feature each belongs. Any
 * thread. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct node;

/* One of those variables. Texts are borrowed. */
struct cf_ragged {
	const char *name;
	const char *samples; /* the dimension that it shares out; "": it only tells instances apart
				(cf_role) */
	const char *instances; /* the dimension of these */
};

/* Adds the array, if it is one, to a list of texts. 0 or -errno. */
int cf_ragged_add(const struct node *array, struct buf *list);
/* Only arrays that have an attribute of such a name can be added. */
bool cf_ragged_mark(const char *attribute);
/* The next of the list from *at on. False: there is none. */
bool cf_ragged_next(const struct buf *list, size_t *at, struct cf_ragged *ret);
