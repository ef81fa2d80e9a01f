/* kerchunk references as JSON, versions 0 and 1 (kerchunk, docs/source/spec.rst), read in pieces:
 * what is in memory at a time is one member of the text and the table that it fills.
 *
 * A reference that makes no sense is KERCHUNK_BAD; what spoils the whole text is -EINVAL. Commas
 * before a bracket that closes are allowed; of duplicate keys the last counts. */
#pragma once

#include "backends/kerchunk/table.h"

/* Where the text comes from. */
struct kerchunk_text {
	/* Appends at least one byte and about `wish` at most; 1. At the end of the text 0.
	 * -errno. */
	int (*more)(struct kerchunk_text *, size_t wish, struct buf *into);
};

/* most: bytes that the table may hold, and eight times those of one member of the text. -EFBIG: it
 * would be more. -ENOTSUP: another version. */
int kerchunk_json_read(struct kerchunk_text *, size_t most, struct kerchunk_table **ret);
