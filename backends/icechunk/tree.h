/* One snapshot of an Icechunk repository: its groups and arrays, and which manifests say where
 * their chunks are (spec, "Snapshot Files"). Immutable once made, counted, safe from every
 * thread. */
#pragma once

#include "backends/icechunk/file.h"

enum { ICE_NODE_ID = 8, ICE_VERSION = 33 };

/* A group or array. */
struct ice_node {
	const char *path; /* relative to the root, "" for that */
	struct span doc;  /* its zarr.json */
	bool array;
	char version[ICE_VERSION];    /* stands for doc and, of an array, all that says where its
					 chunks are */
	const uint8_t *id;            /* ICE_NODE_ID bytes */
	unsigned rank;                /* of the grid of chunks */
	uint64_t *count;              /* chunks along each dimension */
	struct flat_vector manifests; /* of ManifestRef */
	atomic_uint last;             /* the manifest of the chunk that was asked for last */
};

struct ice_tree {
	atomic_uint refs;
	char id[ICE_ID_TEXT + 1];
	struct buf bytes; /* all that nodes point into */
	struct ice_node
		*node; /* by path, in order of bytes; groups that only follow from paths, too */
	size_t count;
	struct flat_vector manifests; /* ManifestFileInfo … */
	bool manifests_v2;            /* … or, of spec 2, tables */
	int64_t time;                 /* ns since 1970 */
	uint8_t parent[ICE_ID];
	bool has_parent; /* spec 1 says it here */
	struct span message;
	char *odd; /* which node cannot be shown, and why; NULL: all can */
};

/* Takes the payload of a snapshot's file over, also on failure. id: what its name says. root_name:
 * what a root that is an array is to be called, in a group; NULL: it stays the root. -EIO with the
 * reason. */
int ice_tree_new(struct buf *payload, const char *id, const char *root_name, struct ice_tree **ret);
struct ice_tree *ice_tree_ref(struct ice_tree *);
struct ice_tree *ice_tree_unref(struct ice_tree *); /* NULL allowed; returns NULL */
CLEAN_DEFINE(struct ice_tree, ice_tree_unref)

/* NULL: there is none. */
struct ice_node *ice_tree_find(const struct ice_tree *, const char *path, size_t len);
/* The children of the group at prefix ("" or "a/"). ZMAP_ABSENT: nothing there. */
int ice_tree_list(const struct ice_tree *, const char *prefix, zmap_list_fn *, void *arg);
/* Which of a node's manifests were looked at for a chunk; zero: none. */
struct ice_cursor {
	uint32_t first, n;
};
/* The next manifest whose extents cover a chunk: mostly the only one, but for old ones of an array
 * that was written over with other dimensions. 0; ZMAP_ABSENT: there is no other; -EIO. */
int ice_tree_manifest(const struct ice_tree *, struct ice_node *, const uint64_t *index,
	struct ice_cursor *, uint8_t ret_id[static ICE_ID], uint64_t *ret_size);
