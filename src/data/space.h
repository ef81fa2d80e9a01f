/* Numbers for names: what an array's chunks mean (path, type, chunks, codecs) ↔ the number that
 * stands for it in the keys of cached extents. No two names ever get the same number; a name keeps
 * its number while an array has it, and for some time after: of the names that no array has, the
 * last SPACES_IDLE bytes are remembered. Any thread may call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SPACES_IDLE = 8 << 20 };

struct spaces;
struct space;

int spaces_new(struct spaces **ret);
struct spaces *spaces_free(struct spaces *);
struct space_name {
	const char *name;
	size_t len;
	uint64_t extent; /* of the leading dimension, which is no part of the name */
};
/* A reference to the name's space. ret_grown: clock_now() of when the extent was last found to be
 * another than before; 0: never was. 0 or -ENOMEM. */
int spaces_get(struct spaces *, const struct space_name *, struct space **ret, int64_t *ret_grown);
uint64_t space_number(const struct space *);
/* NULL is allowed. Returns NULL. */
struct space *spaces_put(struct spaces *, struct space *);
/* The name has its number for good. */
void spaces_keep(struct spaces *, struct space *);
