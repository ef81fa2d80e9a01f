/* What the document of an array says of where its chunks are: the form of their keys, and their
 * grid. */
#pragma once

#include "base/buf.h"

enum { KERCHUNK_RANK_MAX = 64 };

struct kerchunk_array {
	bool v3, plain; /* plain: V3's keys "0.0" without "c" */
	char separator; /* '.' or '/'; 0: not said, either */
	unsigned rank;
	uint64_t grid[KERCHUNK_RANK_MAX]; /* chunks */
};

/* text: .zarray, or v3: zarr.json. 0, or -EIO with the reason. */
int kerchunk_array_read(struct span text, bool v3, struct kerchunk_array *ret);
/* Appends the key of a chunk, without its array's path, and a NUL. 0 or -ENOMEM. */
int kerchunk_array_key(
	const struct kerchunk_array *, const uint64_t *index, char separator, struct buf *ret);
/* Which of the array's chunks, in C order. False: none of them. */
bool kerchunk_array_number(const struct kerchunk_array *, const uint64_t *index, uint64_t *ret);
