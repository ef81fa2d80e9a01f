/* What the files of a load share. From the top: load.c (turns, the outcome), load_whole.c (from all
 * stored bytes), load_part.c (from some of them), load_shard.c (where a chunk's bytes are in a
 * shard), load_stored.c (stored bytes that are cached), load_fetch.c (asking the store),
 * load_check.c (its metadata) and load_extent.c (what is filled). None calls one above it. No other
 * file includes this. */
#pragma once

#include "data/array_impl.h"

/* Bytes of a shard that one request brought for several chunks. */
struct joined {
	struct buf bytes;
	uint64_t object, off; /* in which shard, and where they begin */
	char version[ZMAP_VERSION];
	int64_t begun; /* clock_now() before the store was asked */
	struct zmap_stat stat;
	size_t counted; /* in data->joined */
	bool absent;    /* there is no such shard */
};

struct load {
	struct array *array;
	struct extent *extent;
	struct extent **rest; /* what the same task loads next; those that this load gives to other
				 tasks are taken out */
	struct joined *joined;
	struct extent *index; /* of the extent's shard, if it is large and was at hand when this
				 load began: pinned; or NULL */
	enum keep keep;
	bool bad;          /* its bytes cannot be decoded */
	bool bypass_cache; /* … so that they are sent again */
	int64_t deadline;
	struct cancel cancel; /* no reader wants it any more */
	struct zmap_stat stat;
	uint64_t object_size; /* of the stored object that the last bytes came from: of a shard, all
				 of it */
	char key[ARRAY_KEY_MAX];
};

static inline void
load_count(atomic_ullong *c, unsigned long long n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

/* Bytes of the chunk, wherever it is stored; fills in key and deadline. Outcomes as zmap_get. */
int load_get(struct load *, struct zmap_get *);
/* One request for bytes of the stored object; the same. */
int load_object(struct load *, struct zmap_get *);
/* Memory for the index of the extent's shard while it is read; 0: it takes little, or is at hand,
 * and is until load_index_let_go. */
size_t load_index_scratch(struct load *);
void load_index_let_go(struct load *);
void load_joined_free(struct data *, struct joined *);
/* Stored bytes that may be kept in an extent. */
struct stored {
	struct extent_id id;
	enum keep keep;
	bool beside;   /* they are wanted again at once, even if there is no room for them */
	int64_t fresh; /* since when they must have been compared with the store */
	struct extent *extent; /* pinned: ready, or to be filled; NULL: they are not kept */
	bool new;              /* it is to be filled */
};
/* Finds that extent, or makes it. A load of it that is under way is waited for; where it fails this
 * load does, of the same. */
int load_stored(struct load *, struct stored *);
/* Fills a new one with what was fetched, which is handed over, or with the failure r. Returns r. */
int load_fill_stored(struct load *, struct extent *, struct buf *from, int r);
/* What came of decoding, from r as said by that. */
int load_decoded(struct load *, int r);
/* In which version the store is asked for an extent of a chunk, or which one is known. */
void load_conditions(const struct extent *, struct zmap_get *);
/* Before the store is asked (a copy at hand is no reason): where another store may be at its place
 * by now, the metadata are looked at beside the chunk, unless that was done within a second. */
void load_check_begin(struct load *);
/* A chunk newer than what we know of its array makes us look at the metadata again: the array may
 * have been rewritten. */
int load_check_found(struct load *);
/* A chunk that the store lacks: its array is looked at, too. 0: it is absent. */
int load_check_absent(struct load *);
/* All extents of a batch are that task's; NULL: of none any more. */
void load_tell(struct extent *first, struct task *);
/* Extents of the same task are loaded at the same time, as a task of their own. */
void load_apart(struct load *, struct extent *first);
/* The version of what was loaded is noted. */
void load_found(struct load *, struct extent *);
/* A chunk of this array takes so many bytes in the store. */
void load_learn_size(struct array *, size_t encoded);
/* Memory for the extent, and its way into it. */
int load_room(struct load *, struct buf *out);
/* The bytes become the extent's: id.len of them, which are as a file shows them but for their
 * order. */
void load_hand_over(struct load *, struct buf *out);

/* The whole chunk. Outcomes as zmap_get. */
int load_whole(struct load *);
/* A part by decoding everything. */
int load_slice(struct load *);
/* A part of what is cached encoded, for codecs that can decode parts. */
int load_kept_range(struct load *);

/* Parts of chunks by fetching and decoding only those, for chains that can. Outcomes as
 * zmap_get. */
int load_range(struct load *);
int load_raw_range(struct load *);
