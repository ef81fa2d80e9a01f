/* References to chunks in a manifest of Icechunk (spec, "Chunk Manifest Files", ChunkRef). Parts of
 * icechunk_manifest.c. */
#pragma once

#include "backends/container/container.h"
#include "backends/icechunk/file.h"

/* How locations are compressed. Immutable; any thread may use it. */
struct ice_dictionary {
	void *dictionary; /* zstd's, or NULL */
	unsigned method;
};

/* An unknown method is an error only where it is needed. */
int ice_dictionary_init(struct ice_dictionary *, struct span, unsigned method);
void ice_dictionary_done(struct ice_dictionary *);

/* They are in ascending order, those of fewer indices first where the others are the same.
 * ret_twice: some indices are there more than once. 0 or -EIO. */
int ice_refs_check(const struct flat_vector *refs, bool *ret_twice);
/* One of just these indices, and which one it is. early: before 1.0 that of a scalar may have one.
 * 0; ZMAP_ABSENT; -EIO. */
int ice_refs_find(const struct flat_vector *refs, unsigned rank, const uint64_t *index, bool early,
	uint32_t *ret);
/* Where the chunk of that one lies. twice: others of the same indices must say the same. root: of
 * the repository in the lower store. */
int ice_refs_place(const struct flat_vector *refs, uint32_t at, bool twice,
	const struct ice_dictionary *, const char *root, struct chunk_place *ret);
