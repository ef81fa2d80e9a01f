/* Consolidated metadata (an object of their own, or within a group's): all metadata objects below a
 * group in one. Kept as its text and an index of where each object lies in it; an object is parsed
 * when it is asked for. Counted; immutable but for a doubt. Paths are relative to the group. */
#pragma once

#include "model/cf_index.h"
#include "model/meta.h"

struct consolidated_index;

/* Takes a reference of the object's text, the dialect's `all`. id: which reading it is, never the
 * same twice. ZMAP_ABSENT: it is JSON, but not Zarr's (kerchunk's, a later version), or without
 * any. -EINVAL: it is no JSON. */
int consolidated_open(
	const struct meta *, const struct dialect *, uint64_t id, struct consolidated_index **ret);
struct consolidated_index *consolidated_ref(struct consolidated_index *);
struct consolidated_index *consolidated_unref(struct consolidated_index *);
CLEAN_DEFINE(struct consolidated_index, consolidated_unref)

uint64_t consolidated_id(const struct consolidated_index *);
/* An array's own metadata were found then (clock_now) to say otherwise: those of others may, too.
 * The latest such moment; 0: none. Any thread may call. */
void consolidated_doubt(struct consolidated_index *, int64_t then);
int64_t consolidated_doubted(const struct consolidated_index *);
int64_t consolidated_mtime(const struct consolidated_index *);
size_t consolidated_bytes(const struct consolidated_index *);

/* By paths as the index has them. Borrowed. */
const struct cf_index *consolidated_cf(const struct consolidated_index *);

/* It knows of such a node. */
bool consolidated_has(const struct consolidated_index *, const char *path);
/* The node's objects; references in ret. False: it knows of no such node. True with no objects:
 * something lies below it. */
bool consolidated_node(const struct consolidated_index *, const char *path, struct metas *ret);

/* Children in the order of their names; array: it is one. Non-zero ends it and is returned. */
typedef int consolidated_child_fn(void *arg, const char *name, bool array);
int consolidated_children(
	const struct consolidated_index *, const char *path, consolidated_child_fn *, void *arg);
