/* The metadata objects of one node: their names, their bytes, and the node that they make. */
#pragma once

#include "model/nczarr.h"
#include "model/node.h"

enum meta_kind {
	META_ARRAY,    /* .zarray */
	META_GROUP,    /* .zgroup */
	META_ATTRS,    /* .zattrs */
	META_ALL,      /* .zmetadata */
	META_NC_GROUP, /* .nczgroup: NCZarr V1 */
	META_NC_ARRAY, /* .nczvar, .nczarray */
	META_NC_ATTRS, /* .nczattr, .nczattrs */
	META_V3,       /* zarr.json */
	META_KINDS,
};

/* Names of the object, the usual one first; the second may be NULL. */
extern const char *const meta_name[META_KINDS][2];
/* A name that is no key of a user's own: metadata of any kind. */
bool meta_is_name(const char *name);

/* One object. data NULL: it is not there. */
struct meta {
	struct text *owner; /* a reference */
	const char *data;
	size_t len;
	int64_t mtime;
	char version[ZMAP_VERSION];
};

struct metas {
	struct meta of[META_KINDS];
};

void metas_done(struct metas *);

/* A Zarr V2 array or group (V1 and later NCZarr with it) at `path`. What is wrong with it marks the node; fails only without memory. */
int meta_v2_array(const char *path, const struct metas *, const struct scope *, struct node **ret);
int meta_v2_group(const char *path, const struct metas *, const struct scope *, struct node **ret);
/* Zarr V3, which is shown but not read. */
int meta_v3(const char *path, const struct metas *, struct node **ret);
/* The body of a V2 array: shape, chunks, type, codecs, fill value. 0, or why it is none. What is only beyond us marks the node. */
int array_v2(const struct nczarr_docs *, const struct scope *, struct node *);
/* Codecs of a .zarray in order of encoding, order F included; a->codec grows. */
int codecs_v2(const struct json *zarray, struct array_meta *a);
/* -ENOTSUP: one of them is not in this build or never will be. */
int codecs_known(const struct array_meta *a);
