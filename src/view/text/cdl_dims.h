/* The dimensions of a tree of groups: which group has them, and what they are called there. One
 * thread's. */
#pragma once

#include "model/model.h"
#include "view/netcdf/nc_names.h"

struct cdl_dim {
	char *name;  /* in the store; or what stands for one, or the file needs it */
	char *shown; /* what it is called, when all of the group are known */
	uint64_t size;
	unsigned before; /* how many of that name and size come before it in an array */
	bool unlimited, declared;
	unsigned users;
	const struct dim *placed; /* what says where its elements lie; borrowed of an array's; NULL:
				     nothing */
};

/* A group and what stands above it. */
struct cdl_scope {
	const struct cdl_scope *up;
	const char *path; /* from the top: "/", "/g/h" */
	struct cdl_dim *dim;
	size_t ndims;
	struct nc_taken names;
};

void cdl_scope_done(struct cdl_scope *);
/* The group has this dimension. Declared ones come before those that are used. */
int cdl_declare(struct cdl_scope *, const struct dim *);
/* An array of the group has dimension k: its own, or by its full name a group's above; what an
 * array has twice is the second time its own. */
int cdl_use(struct cdl_scope *, const struct array_meta *, unsigned k);
/* So has one by what its elements are: "str12", "complex". */
int cdl_use_size(struct cdl_scope *, const struct array_meta *, const char *name, uint64_t size);
/* All are known: each gets the name it has in the file. One name with two sizes stays that of the
 * size which most use. */
int cdl_name_dims(struct cdl_scope *);
/* How an array of the group names it: "x", or "/g/x" where "x" is another one's. */
int cdl_dim_text(const struct cdl_scope *, const struct array_meta *, unsigned k, struct buf *ret);
int cdl_size_text(const struct cdl_scope *, const struct array_meta *, const char *name,
	uint64_t size, struct buf *ret);
