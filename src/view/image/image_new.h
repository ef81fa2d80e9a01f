/* A variable of a netCDF file that becomes a new array of the store: how it is stored. */
#pragma once

#include "model/edit.h"
#include "view/netcdf/nc_file.h"

struct mount;

/* What edit_new_array wants, and what it borrows. */
struct image_new {
	char *name; /* of the array in its group */
	struct new_array is;
	uint64_t *shape, *chunk, *shard;
	const char **dim;
	bool *unlimited;
	uint8_t fill[8];
	struct attrs attrs; /* borrowed from the file */
};

/* In that group. -EINVAL: the variable cannot be one. What it makes borrows from the file. flows:
 * its elements will be written in the order of the file, in which a record has those of others,
 * too. */
int image_new_make(const struct mount *, const struct nc_file *, size_t var,
	const struct node *group, bool flows, struct image_new **ret);
void image_new_free(struct image_new *); /* NULL allowed */
/* Elements of a stored object of so many chunks that it has at most `most` bytes, not compressed;
 * at least one chunk. */
void image_new_shard(uint64_t item, unsigned rank, const uint64_t *shape, const uint64_t *chunk,
	uint64_t most, uint64_t slab, uint64_t *ret);
/* Elements of a chunk along each dimension, so that both a map and a series of one point need few.
 * most: bytes of a chunk. */
void image_new_chunk(
	uint64_t item, unsigned rank, const uint64_t *shape, uint64_t most, uint64_t *ret);
/* The same, where no more than so many bytes of the variable lie between the beginning of a chunk
 * and its end, in file order. */
void image_new_slab(uint64_t item, unsigned rank, const uint64_t *shape, uint64_t most,
	uint64_t slab, uint64_t *ret);
