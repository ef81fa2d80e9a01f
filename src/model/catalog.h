/* Consolidated metadata (.zmetadata): all metadata objects below a group in one. Kept as its text and an index of where each
 * object lies in it; an object is parsed when somebody asks. Counted and immutable. Paths are relative to the group. */
#pragma once

#include "model/meta.h"

struct catalog;

/* Takes a reference of the object's text. id: which reading it is, never the same twice. ZMAP_ABSENT: it is JSON, but not Zarr's (kerchunk's, a later version). -EINVAL: it is no JSON. */
int catalog_open(const struct meta *, uint64_t id, struct catalog **ret);
struct catalog *catalog_ref(struct catalog *);
struct catalog *catalog_unref(struct catalog *);
CLEAN_DEFINE(struct catalog, catalog_unref)

uint64_t catalog_id(const struct catalog *);
int64_t catalog_mtime(const struct catalog *);
size_t catalog_bytes(const struct catalog *);

/* It knows of such a node. */
bool catalog_has(const struct catalog *, const char *path);
/* The node's objects; references in ret. False: it knows of no such node. True with no objects: something lies below it. */
bool catalog_node(const struct catalog *, const char *path, struct metas *ret);

/* Children in the order of their names; array: it has a .zarray. Non-zero ends it and is returned. */
typedef int catalog_child_fn(void *arg, const char *name, bool array);
int catalog_children(const struct catalog *, const char *path, catalog_child_fn *, void *arg);
