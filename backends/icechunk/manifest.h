/* Manifests of an Icechunk repository (spec, "Chunk Manifest Files"): fetched once however many
 * ask, kept decompressed and searched as they are, the least recently used ones dropped when they
 * take more than their share of the memory. Any thread may call. */
#pragma once

#include "backends/container/container.h"
#include "backends/icechunk/file.h"

struct ice_manifests;

/* root: the prefix of the repository in lower, which outlives this. memory: bytes; the one last
 * used is kept whatever its size. */
int ice_manifests_new(
	struct zmap *lower, const char *root, size_t memory, struct ice_manifests **ret);
struct ice_manifests *ice_manifests_free(struct ice_manifests *); /* NULL allowed; returns NULL */

/* A chunk of an array, and the manifest that speaks of it. */
struct ice_wanted {
	const uint8_t *manifest; /* id */
	uint64_t size;           /* of its file; 0: not known */
	const uint8_t *node;     /* id of the array */
	unsigned rank;
	const uint64_t *index;
	int64_t deadline;
	struct cancel *cancel;
};

/* Bytes of those that are kept. */
size_t ice_manifests_bytes(struct ice_manifests *);
/* Where its bytes lie. 0; ZMAP_ABSENT: nowhere; -EIO. */
int ice_manifests_locate(
	struct ice_manifests *, const struct ice_wanted *, struct chunk_place *ret);
/* For the fuzzer: the same in the payload of a manifest. */
int ice_manifest_search(
	struct span payload, const struct ice_wanted *, const char *root, struct chunk_place *ret);
