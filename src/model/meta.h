/* The metadata objects of one node: their bytes, and the node that they make. */
#pragma once

#include "model/dialect.h"
#include "model/nczarr.h"
#include "model/node.h"

/* One object. data NULL: it is not there. */
struct meta {
	struct text *owner; /* a reference */
	const char *data;
	size_t len;
	int64_t mtime;
	char version[ZMAP_VERSION];
	bool chunks; /* zmap_stat.chunks */
};

struct metas {
	struct meta of[META_KINDS];
};

void metas_done(struct metas *);

/* A Zarr V2 array or group, NCZarr V1 with it; of V3 the object says which. Without one: a group
 * that nothing says anything of. */
dialect_read meta_v2_array, meta_v2_group, meta_v3;
/* The body of a V3 array (V3 spec, "Array metadata"), as array_v2. */
int array_v3(const struct nczarr_docs *, const struct dim_scope *, struct node *);
/* Members of a V3 object that one may not pass over. 0, or -ENOTSUP with the name of the first. */
int meta_v3_understood(const struct json *, const char *const *known);
/* The body of a V2 array: shape, chunks, type, codecs, fill value. 0, or why it is none. What is
 * only beyond us marks the node. */
int array_v2(const struct nczarr_docs *, const struct dim_scope *, struct node *);
/* Parts of both: a list of sizes, or a single one where rank is one; … */
int array_sizes(const struct json *, const char *what, unsigned *rank, uint64_t *out);
/* … shape and chunks as they were read, put into a; … */
int array_take_sizes(struct array_meta *, const uint64_t *shape, const uint64_t *chunk);
/* … the fill value of a type of variable length; … */
int array_fill_text(const struct json *, struct array_meta *);
/* … room for that of another; -ENOTSUP: of an element too large to have one; … */
int array_fill_room(struct array_meta *);
/* … and sizes that nothing here could address. */
int array_check_sizes(const struct array_meta *);
/* Codecs of a V2 array in order of encoding, order F included; a->codec grows. */
int codecs_v2(const struct json *zarray, struct array_meta *a);
/* Codecs of V3; the byte order that they say goes into a->dtype. */
int codecs_v3(const struct json *list, struct array_meta *a);
/* Shards of several chunks that can be had one by one, which the array's chunks become then; its
 * codecs and fill value are known. What is wrong with the sizes is told by the codec. */
int shards_v3(struct array_meta *a);
/* -ENOTSUP: one of them is not in this build or never will be. */
int codecs_known(const struct array_meta *a);
