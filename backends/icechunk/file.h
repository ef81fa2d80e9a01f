/* The files of an Icechunk repository (spec, "Binary File Format"): a head of 39 bytes, and
 * FlatBuffers, as they are or by zstd. Ids in names are Crockford's base 32. Any thread may
 * call. */
#pragma once

#include "backends/icechunk/flat.h"
#include "store/zmap.h"

enum {
	ICE_ID = 12,      /* bytes of an id */
	ICE_ID_TEXT = 20, /* the same as text */
	ICE_HEAD = 39,    /* bytes before the payload */
};

enum ice_type { ICE_SNAPSHOT = 1, ICE_MANIFEST = 2, ICE_REPO = 6 };

/* Is it the head of a file of Icechunk's, whatever its kind? */
bool ice_is_file(struct span);
/* May it be from before the format's library was at 1.0? Certain is only that one of a later
 * library is not. */
bool ice_may_be_early(struct span file);
/* The payload of a file, decompressed, at most `max` bytes of it: into what the caller frees. -EIO
 * with the reason; -EFBIG; -ENOMEM. */
int ice_unpack(struct span file, enum ice_type, size_t max, struct buf *ret);
/* The same of an object of the store. size: what it must have; 0: not known. early
 * (ice_may_be_early) and stat may be NULL. Outcomes of zmap_get besides. */
int ice_read(struct zmap *, const struct zmap_get *, enum ice_type, uint64_t size, struct buf *ret,
	bool *early, struct zmap_stat *stat);

void ice_id_text(const uint8_t id[static ICE_ID], char ret[static ICE_ID_TEXT + 1]);
/* False: it is none. */
bool ice_id_parse(const char *text, size_t len, uint8_t ret[static ICE_ID]);
/* A refusal, or something else of that name, is as good as nothing. */
bool ice_is_nothing(int r);
