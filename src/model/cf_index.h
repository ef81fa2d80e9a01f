/* Which arrays are named by the CF attributes of others beside them, and which have to do with
 * ragged arrays: found while consolidated metadata are opened, so that nothing has to look through
 * a large group later. Built by one thread, then immutable. Empty: {0}. */
#pragma once

#include "base/buf.h"
#include "base/set.h"
#include "model/cf.h"

struct cf_index {
	struct set names;  /* of what is named */
	struct set values; /* attributes that were seen; many arrays have the same ones */
	struct buf ragged; /* paths of arrays, each with its NUL */
	size_t count;      /* of all three */
	bool full;         /* there was more than is kept: it knows nothing */
};

void cf_index_free(struct cf_index *);
size_t cf_index_bytes(const struct cf_index *);
/* The attributes of an array (JSON, which must live until cf_index_built; what is none counts as
 * empty) at a path of len bytes. 0 or -ENOMEM. */
int cf_index_add(struct cf_index *, const char *path, size_t len, struct span attrs);
/* All is in it. */
void cf_index_built(struct cf_index *);
/* What attributes make of the array at the path; CF_DATA: nothing. Not to be asked where it is
 * full. 0 or -ENOMEM. */
int cf_index_role(const struct cf_index *, const char *path, enum cf_role *ret);
