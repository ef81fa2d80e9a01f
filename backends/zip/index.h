/* What a zip archive holds: its members in order, and how keys are found among them. No I/O.
 * Immutable once made, so every thread may read it. */
#pragma once

#include "base/buf.h"

enum zip_method { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

struct zip_member {
	const char
		*key; /* without the common prefix; with '/' at its end: a directory's own entry */
	uint64_t header;       /* where in the archive its local header begins */
	uint64_t stored, size; /* bytes in the archive; bytes when inflated */
	uint32_t crc;
	uint16_t method;
	uint16_t name; /* bytes of its name in the archive, all of it */
	bool renamed;  /* its header may have another name, in another encoding */
	bool encrypted;
	uint32_t order; /* in the directory */
};

struct zip_index {
	struct zip_member *member; /* sorted by strcmp of keys, each key once */
	size_t count;
	char *names;
	char *prefix; /* what stands before every key; "" or "a/b/" */
};

/* Members are there, in any order, with their names: sorts them, and finds the prefix, unless it is
 * said; members that do not begin with that are left out. 0 or -ENOMEM. */
int zip_index_order(struct zip_index *, const char *prefix);
/* NULL is allowed. */
struct zip_index *zip_index_free(struct zip_index *);
CLEAN_DEFINE(struct zip_index, zip_index_free)

/* Keys and prefixes are also found with the common prefix before them, though they are not listed
 * so. */

/* Index of the first key that is not below this one. */
size_t zip_index_place(const struct zip_index *, const char *key);
/* By its key alone. NULL: there is none. */
const struct zip_member *zip_index_member(const struct zip_index *, const char *key);
/* NULL: there is none. */
const struct zip_member *zip_index_find(const struct zip_index *, const char *key);

typedef int zip_name_fn(void *arg, const char *name, bool prefix);
/* One level, as zmap_list; 1 (ZMAP_ABSENT) where nothing lies below prefix. */
int zip_index_list(const struct zip_index *, const char *prefix, zip_name_fn *, void *arg);
