/* What was written and is not stored yet: of each stored object its changed chunks, of each chunk
 * the bytes that were written here.
 *
 * Keyed by space and number like the cache's objects, so that struct arrays of one space share it,
 * also where the leading dimension grew. An object waits (dirty), is to be stored (queued), or is
 * being stored: then its bytes are a layer that no longer changes, and what is written meanwhile
 * goes to a layer above it. A chunk that is wholly written is not read first; of others the present
 * object is read, the bytes laid over it, and the result put on condition that the object is still
 * that version; if not, the same again. What fails stays, and so does the error, until
 * staging_retry.
 *
 * Readers take a cover before they ask for what is stored, and lay it over after: what is stored
 * meanwhile is then in one or both. All calls are safe from every thread. */
#pragma once

#include "data/array_impl.h"

struct staging;
int staging_new(struct data *, struct staging **ret);
/* What is not stored by now is lost. */
struct staging *staging_free(struct staging *);
int staging_stats(struct staging *, struct buf *ret);

/* Is anything staged in this mount? One load. */
bool staging_any(const struct staging *);

/* What lies over the stored bytes that a read wants. */
struct cover {
	struct cover_chunk {
		uint64_t number;
		struct layer *upper, *lower; /* held; either may be NULL */
		size_t fill_from; /* of what is stored, bytes from here on count as fill */
		bool whole;       /* nothing of what is stored is wanted */
	} * chunk;                /* by number */
	size_t n;
};

/* n is 0 where nothing of it is staged. -ENOMEM. */
int cover_take(struct array *, const struct array_want *, struct cover *ret);
void cover_drop(struct array *, struct cover *);
/* Is all that the read wants of the chunk staged? o NULL: no. */
bool cover_has(const struct cover *o, uint64_t chunk);
/* to: memory for whole elements, from the first one that the read wants some of. */
void cover_lay(struct array *, const struct array_want *, const struct cover *, uint8_t *to);
