/* An archive from which a new one is made: which of its members stay, and where they lie. */
#pragma once

#include "backends/zip/write.h"

#include <endian.h>
#include <string.h>

enum {
	ZIP_LOCAL_LEN = 30,
	ZIP_ENTRY_LEN = 46,
	ZIP_END_LEN = 22,
	ZIP_END64_LEN = 56,
	ZIP_LOCATOR_LEN = 20,
};

/* Numbers of an archive. */
static inline uint64_t
zip_get(const uint8_t *p, unsigned bytes)
{
	uint64_t v = 0;
	memcpy(&v, p, bytes);
	return le64toh(v);
}

static inline void
zip_set(uint8_t *p, uint64_t v, unsigned bytes)
{
	v = htole64(v);
	memcpy(p, &v, bytes);
}

/* A member that stays. */
struct zip_old_part {
	uint64_t header, stored, size; /* header: without what stands before the archive */
	uint64_t now;                  /* where its header lies in the new one, likewise */
	uint32_t entry;                /* where in the directory */
};

struct zip_old {
	const struct zip_rewrite *in;
	uint64_t size, before;
	struct buf dir, comment;
	struct zip_old_part *part;   /* in the directory's order */
	struct zip_old_part **place; /* in the order in which they lie */
	size_t parts;
};

/* 0 or -errno; done in any case. */
int zip_old_read(struct zip_old *, const struct zip_rewrite *);
void zip_old_done(struct zip_old *);
int zip_old_read_at(const struct zip_old *, uint64_t off, void *to, size_t len);
/* -EIO: the archive is not as it should be. */
int zip_old_odd(const char *what);
/* Where among an entry's extra fields the 8-byte numbers are that did not fit; NULL: there are
 * none. *ret_len: their bytes. */
uint8_t *zip_old_numbers64(uint8_t *entry, size_t *ret_len);
/* The place of the 8-byte number that stands for the entry's header; NULL: the short one is right,
 * or it is damaged. */
uint8_t *zip_old_header64(uint8_t *entry);
