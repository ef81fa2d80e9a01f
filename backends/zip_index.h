/* What a zip archive holds, by its central directory alone: bytes in, sorted members out, no I/O. Immutable once made,
 * so every thread may read it. Field offsets are those of PKWARE's APPNOTE.TXT 6.3.10, section 4.3. */
#pragma once

#include "base/buf.h"

/* The records that tell where the directory lies end within this many bytes of the archive's end: a comment of 64 KiB, the end
 * record and the two of zip64 before it. */
enum { ZIP_TAIL = 22 + 65535 + 20 + 56 };

/* What the end of the archive says. */
struct zip_end {
	uint64_t directory,
		length; /* where the central directory is said to begin, in bytes; its length */
	uint64_t count; /* members */
	uint64_t at;    /* where what stands behind the directory begins */
	bool count_cut; /* count may be short of a multiple of 65536 */
};

enum zip_method { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

struct zip_member {
	const char
		*key; /* without the common prefix; with '/' at its end: a directory's own entry */
	uint64_t header;       /* where in the archive its local header begins */
	uint64_t stored, size; /* bytes in the archive; bytes when inflated */
	uint32_t crc;
	uint16_t method;
	uint16_t name; /* bytes of its name in the archive, all of it */
	bool encrypted;
	uint32_t order; /* in the directory */
};

struct zip_index {
	struct zip_member *member; /* sorted by strcmp of keys, each key once */
	size_t count;
	char *names;
	size_t names_len;
	char *prefix;   /* what stands before every key; "" or "a/b/" */
	size_t skipped; /* members whose names cannot be keys */
};

/* tail: the last bytes of an archive of `size` bytes, ZIP_TAIL of them or all. -EIO with the reason if it is none. */
int zip_find_end(struct span tail, uint64_t size, struct zip_end *ret);

/* directory: the bytes there. shift: to be added to all offsets (something stands before the archive). */
int zip_index_new(
	struct span directory, const struct zip_end *, uint64_t shift, struct zip_index **ret);
/* NULL is allowed. */
struct zip_index *zip_index_free(struct zip_index *);
CLEAN_DEFINE(struct zip_index, zip_index_free)

/* Keys and prefixes are also found with the common prefix before them, though they are not listed so. */

/* NULL: there is none. */
const struct zip_member *zip_index_find(const struct zip_index *, const char *key);

typedef int zip_name_fn(void *arg, const char *name, bool prefix);
/* One level, as zmap_list; 1 (ZMAP_ABSENT) where nothing lies below prefix. */
int zip_index_list(const struct zip_index *, const char *prefix, zip_name_fn *, void *arg);
