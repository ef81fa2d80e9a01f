/* Numbers for names: what an array's chunks mean (path, type, chunks, codecs) ↔ the number that
 * stands for it in the keys of cached extents. The same name always gets the same number, and no
 * other name does. Any thread may call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct spaces;

int spaces_new(struct spaces **ret);
struct spaces *spaces_free(struct spaces *);
struct space_name {
	const char *name;
	size_t len;
	uint64_t extent; /* of the leading dimension, which is no part of the name */
};
/* ret_grown: clock_now() of when the extent was last found to be another than before; 0: never was.
 * 0 or -ENOMEM. */
int spaces_number(struct spaces *, const struct space_name *, uint64_t *ret, int64_t *ret_grown);
