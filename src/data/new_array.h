/* A new array while no metadata say that it is there: which of its objects were put here, and that
 * only where nothing was. */
#pragma once

#include "data/array_impl.h"

struct store;

/* The conditions of a put, if the array is new: nothing is there, or what was put here before. 0;
 * -EEXIST: the object that was read is another writer's. *ret_match: what ret borrows, which the
 * caller frees; or NULL. */
int new_array_condition(const struct store *, struct zmap_put *ret, char **ret_match);
/* Is nothing of the array deleted for being all fill? What is there may be another writer's. */
bool new_array_stays(const struct store *);
/* What a put of a new array came to. 0; -EEXIST: another writer's object is there. */
int new_array_was_put(struct store *, int result, struct zmap_stat *now);
/* Deletes the object with the chunk if it is that version, and of that time (0: of any). 0,
 * ZMAP_ABSENT, ZMAP_CHANGED or -errno. A store that cannot delete on a condition does so right
 * after it was looked at. */
int array_remove_version(struct array *, uint64_t chunk, const char *version, int64_t mtime);
void new_array_free(struct array *);
