/* A shard (Zarr V3, "Sharding codec"): an array in chunks of its own, each through codecs of its
 * own, and an index of where they lie: C order over the chunks, offset and size of each as u64,
 * both all ones where a chunk is missing. The index stands at the end or at the start; offsets
 * count from the start of the shard in either case. Chunks may lie in any order, with gaps between
 * them.
 *
 * Opened once for an array and immutable after; any number of threads use it at once. Index bytes
 * are hostile. */
#pragma once

#include "codec/codec.h"

struct shard;

/* config: the codec's "configuration"; in: the form of a whole shard. before: n codecs that each
 * chunk goes through before the shard's own. -EINVAL: it makes no sense; -ENOTSUP: by name. */
int shard_open(const struct json *config, const struct form *in, const struct codec_spec *before,
	size_t n, struct shard **ret);
struct shard *shard_free(struct shard *); /* NULL is allowed; returns NULL */

/* A chunk in the shard, decoded, and how it is decoded. Both live as long as the shard. */
const struct form *shard_form(const struct shard *);
const struct codec_chain *shard_chain(const struct shard *);
/* Chunks along each dimension, and all of them. */
const uint64_t *shard_counts(const struct shard *);
uint64_t shard_chunks(const struct shard *);

/* The index as it is stored, with its checksums, and the entries in it. */
size_t shard_index_bytes(const struct shard *);
bool shard_index_first(const struct shard *);
size_t shard_entries_bytes(const struct shard *);
/* The stored index made into entries. -EIO: it is too short, a checksum is wrong, or chunks
 * overlap. */
int shard_read_index(const struct shard *, struct span stored, uint8_t *ret);

struct shard_place {
	uint64_t off; /* in the shard */
	size_t len;
};
enum { SHARD_MISSING = 1 };
/* Where chunk i lies in a shard of `size` bytes with these entries. 0; SHARD_MISSING; -EIO: not
 * within it, or in its index. */
int shard_find(const struct shard *, const uint8_t *entries, uint64_t i, uint64_t size,
	struct shard_place *ret);

/* The longest element of all chunks of a stored shard of variable-length elements. 0;
 * SHARD_MISSING: of those that are there. */
int shard_width(const struct shard *, struct span stored, size_t *ret);

/* Making one: entries are shard_entries_bytes(), chunk i of which lies at *place, or (NULL) is
 * missing. */
void shard_set(const struct shard *, uint8_t *entries, uint64_t i, const struct shard_place *place);
/* The index as it is to be stored, appended: shard_index_bytes(). */
int shard_write_index(const struct shard *, const uint8_t *entries, struct buf *ret);
