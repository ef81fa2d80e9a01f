/* Consolidated metadata (.zmetadata): all metadata objects below a group in one. Kept as its text and an index of where each
 * object lies in it; an object is parsed when somebody asks. Counted and immutable. Paths are relative to the group. */
#pragma once

#include "model/meta.h"

struct consolidated;

/* Takes a reference of the object's text. id: which reading it is, never the same twice. ZMAP_ABSENT: it is JSON, but not Zarr's (kerchunk's, a later version). -EINVAL: it is no JSON. */
int consolidated_open(const struct meta *, uint64_t id, struct consolidated **ret);
struct consolidated *consolidated_ref(struct consolidated *);
struct consolidated *consolidated_unref(struct consolidated *);
CLEAN_DEFINE(struct consolidated, consolidated_unref)

uint64_t consolidated_id(const struct consolidated *);
int64_t consolidated_mtime(const struct consolidated *);
size_t consolidated_bytes(const struct consolidated *);

/* It knows of such a node. */
bool consolidated_has(const struct consolidated *, const char *path);
/* The node's objects; references in ret. False: it knows of no such node. True with no objects: something lies below it. */
bool consolidated_node(const struct consolidated *, const char *path, struct metas *ret);

/* Children in the order of their names; array: it has a .zarray. Non-zero ends it and is returned. */
typedef int consolidated_child_fn(void *arg, const char *name, bool array);
int consolidated_children(const struct consolidated *, const char *path, consolidated_child_fn *, void *arg);
