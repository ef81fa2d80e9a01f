/* References to chunks in a manifest of Icechunk (spec, "Chunk Manifest Files", ChunkRef). Parts of icechunk_manifest.c. */
#pragma once

#include "backends/container.h"
#include "backends/icechunk_file.h"

/* How locations are compressed. Immutable; any thread may use it. */
struct ice_dictionary {
	void *dictionary; /* zstd's, or NULL */
	unsigned method;
};

/* An unknown method is an error only where it is needed. */
int ice_dictionary_init(struct ice_dictionary *, struct span, unsigned method);
void ice_dictionary_done(struct ice_dictionary *);

/* They are in ascending order, those of fewer indices first where the others are the same. 0 or -EIO. */
int ice_refs_check(const struct flat_vector *refs);
/* The one of just these indices. early: before 1.0 that of a scalar may have one. 0; ZMAP_ABSENT; -EIO. */
int ice_refs_find(const struct flat_vector *refs, unsigned rank, const uint64_t *index, bool early,
	struct flat_table *ret);
/* Where the chunk lies. root: of the repository in the lower store. */
int ice_ref_place(const struct flat_table *ref, const struct ice_dictionary *, const char *root,
	struct chunk_place *ret);
