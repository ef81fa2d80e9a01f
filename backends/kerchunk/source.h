/* The text of a file of references, an object of a store: plain, gzip (RFC 1952) or zstd (RFC
 * 8878), told by its first bytes, fetched and unpacked piece by piece. Belongs to one thread. */
#pragma once

#include "backends/kerchunk/json.h"

struct kerchunk_source;

/* Fetches the first piece, and what it says of the object. -ENOENT: there is no such object. The
 * store outlives the source; key is copied. */
int kerchunk_source_open(
	struct zmap *, const char *key, struct kerchunk_source **ret, struct zmap_stat *ret_stat);
struct kerchunk_source *kerchunk_source_free(struct kerchunk_source *);
CLEAN_DEFINE(struct kerchunk_source, kerchunk_source_free)

/* To read from; lives as long as the source. -EAGAIN: the object is another one by now. -EFBIG: it
 * unpacks to more than any list of references does. */
struct kerchunk_text *kerchunk_source_text(struct kerchunk_source *);

/* Could this be the beginning of such a file? */
bool kerchunk_source_likely(struct span begin);
