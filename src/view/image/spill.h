/* The bytes of a file that belongs to no variable yet: in memory, and once they are many in a
 * temporary file that has no name. Bytes that were never written are zeros. Not locked: its owner
 * does that. An empty one is {.fd = -1}. */
#pragma once

#include "base/buf.h"

struct spill {
	struct buf kept;
	int fd; /* -1: all is in memory */
	uint64_t size;
};

void spill_free(struct spill *); /* what it holds, not itself */
/* most: bytes that may lie in memory. */
int spill_write(struct spill *, uint64_t off, struct span, size_t most);
int spill_truncate(struct spill *, uint64_t size, size_t most);
/* [off, off + len); zeros behind the end. */
int spill_read(const struct spill *, uint64_t off, size_t len, uint8_t *to);
/* A path that leads to the bytes, for libraries that want one, until spill_unname, which frees it:
 * a descriptor that is open then goes on. */
int spill_name(const struct spill *, char **ret);
void spill_unname(char *path);
