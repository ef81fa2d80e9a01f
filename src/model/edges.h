/* Where the chunks of a rectilinear grid begin (zarr-extensions, "Rectilinear chunk grid"): along
 * each dimension chunks may have lengths of their own. A dimension whose chunks are all of one
 * length has no list, and is divided as in a regular grid. */
#pragma once

#include "base/json.h"

enum { EDGES_RANK_MAX = 32 };

struct edges {
	unsigned rank;
	struct {
		uint64_t n;      /* chunks that hold elements */
		uint64_t *start; /* of each, and the end of the last, which may lie beyond the
				    array; NULL: all are of one length */
	} dim[EDGES_RANK_MAX];
};

/* "chunk_shapes" of an array of this shape; ret_longest: the longest chunk of each dimension. *ret
 * NULL: it is a regular grid. -EINVAL; -ENOTSUP: more chunks along a dimension than are
 * supported. */
int edges_parse(const struct json *shapes, unsigned rank, const uint64_t *shape,
	uint64_t *ret_longest, struct edges **ret);
int edges_copy(const struct edges *, struct edges **ret);
struct edges *edges_free(struct edges *); /* NULL is allowed; returns NULL */
CLEAN_DEFINE(struct edges, edges_free)
/* Of memory. */
size_t edges_bytes(const struct edges *);
/* The chunk that element i of a dimension with a list lies in. */
uint64_t edges_find(const struct edges *, unsigned dim, uint64_t i);
