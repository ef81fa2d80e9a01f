/* The chunk cache: extents of decoded chunks (and of encoded ones) under one budget.
 *
 * An extent is bytes [off, off + len) of one decoded chunk; off == EXTENT_ENCODED marks the stored
 * bytes of the whole chunk. States: LOADING → READY or FAILED. However many ask, one load runs; the
 * others wait for it. An extent is pinned while a reader or load uses it and is then evicted when
 * memory is needed: cold ones first (a reader in file order has passed them), then what is stored
 * of those, then the least recently used. Nothing slow happens under the cache's lock: the caller
 * that creates an extent has it loaded and calls cache_finish. The budget counts extents from their
 * creation on, so that loads under way are inside it.
 *
 * A chunk may be replaced in the store. A reader says since when it has been reading, and is given
 * the first version that was found to be the store's since then, however often it asks and for
 * whichever part. When a load finds another version, the extents of the former one are superseded:
 * they stay for readers that may have been given some of it, and are given to no other. What such a
 * reader lacks is loaded by that version; where neither the cache nor the store has it any more the
 * reader gets -ESTALE, and never the next version beside the former. Versions belong to stored
 * objects: a chunk's own one, or a shard with all its chunks; what readers were given of them is
 * known of each chunk, and of many only of ranges. Versions are known as long as anything of
 * the object is cached, and of the last OBJECTS_KNOWN that nothing is cached of; of more than these
 * a part that is read much later than the rest may be of the next version. Of an object that
 * changes often, or of very many that change, the oldest are forgotten, and readers that have some
 * of those get -ESTALE. All calls are safe from every thread. */
#pragma once

#include "base/err.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/clock.h"
#include "data/semaphore.h"
#include "store/zmap.h"

static const uint64_t EXTENT_ENCODED = UINT64_MAX;
/* struct extent, until: the version is the store's as far as is known. */
static const int64_t EXTENT_CURRENT = INT64_MAX;
enum { OBJECTS_KNOWN = 1 << 14 };

/* Are a chunk's stored bytes to be cached too? */
enum keep {
	KEEP_NOT,
	KEEP_FOR_ALL,   /* a reader at random may want any part of it next */
	KEEP_FOR_PASS,  /* a reader in file order wants each part once, the last one at the end */
	KEEP_AS_VICTIM, /* no reader is known to want them, but having them again costs a round trip
			 */
};

enum extent_state { EXTENT_LOADING, EXTENT_READY, EXTENT_FAILED };

/* Beside its pins: an extent is in the table no more, and its last pin frees it. */
static const unsigned EXTENT_DROPPED = 1u << 31;

struct extent_id {
	uint64_t space; /* space_number: array, type and codecs */
	uint64_t chunk; /* number in the array's grid */
	uint64_t off;
	size_t len;
	uint64_t object; /* number of the stored object that the chunk lies in: its own, or its
			    shard's */
};

/* What a look into the cache needs comes first, in two lines of the processor's cache: there are
 * thousands of extents, and each look is at others. */
struct extent {
	struct extent_id id;
	/* The cache's, under its lock: */
	struct map_entry by_chunk;
	int64_t until;  /* when another version was found in the store */
	int64_t former; /* when the version before this one was last given to a reader; 0: none is
			   known */
	enum extent_state state;
	/* How many, and EXTENT_DROPPED; grows under the lock only, but is given back without. */
	atomic_uint pins;
	struct lru *list; /* in which it is */
	int64_t touched;  /* when it was last moved to the end of its list */
	int64_t asked;    /* clock_now() of the request that had it made */
	int64_t checked;  /* clock_now() of the last comparison with the store */
	int64_t given; /* when it was given to a reader last, while its version was the store's */
	bool used;     /* a reader had it; what was prefetched and not yet read is evicted last */
	/* Written by the loader before cache_finish, constant after: */
	bool failed;
	uint8_t *data;      /* id.len bytes; NULL: the chunk is absent (fill value) */
	size_t cap;         /* of data, for mem_put */
	size_t encoded_len; /* EXTENT_ENCODED: bytes in use */
	char version[ZMAP_VERSION];
	int64_t begun; /* clock_now() before the store was asked: what it said holds since then */
	struct err *failure; /* why; NULL: no memory to say it */
	bool bad;            /* that was because of the bytes which the store gave */
	/* What was cached before and is compared with the store; pinned; NULL after the load. */
	struct extent *prev;
	bool superseded; /* to be loaded in this version, which is no longer the store's */
	/* The loader's: */
	struct task task;
	struct semaphore_waiter
		scratch; /* cost 0: it needs little besides its own bytes, or has it not yet */
	struct semaphore_waiter turn; /* among the loads of its array; cost 0: not yet */
	_Atomic(struct task *) told;  /* the task that will load it, while no thread has begun */
	void *owner;
	struct extent *batch; /* the next extent that the same task loads */
	atomic_bool ahead;    /* loaded before a reader asked for it, and none has since … */
	atomic_bool left;     /* … and the reader that it is loaded for has gone elsewhere */
	enum keep keep;
	atomic_uint waiting; /* readers that wait for the load */
	/* The cache's, under its lock: */
	size_t charge, *loading;
	struct extent *lru_next, *lru_prev;
	struct object *object; /* what it is read from; each extent holds a reference */
	struct extent *object_next, *object_prev; /* others of the same object in the table */
};

struct cache;
struct object;

/* remote: each load costs a round trip. */
int cache_new(size_t budget, bool remote, struct cache **ret);
struct cache *cache_free(struct cache *);

enum cache_hurry {
	CACHE_WAIT,     /* wait for memory until the deadline */
	CACHE_TRY,      /* evict, but do not wait: -EAGAIN */
	CACHE_PREFETCH, /* only what is free or cold: -EAGAIN */
};

struct cache_request {
	struct extent_id id; /* the extent to make if none is there */
	uint64_t at;         /* any extent of the chunk that holds this byte will do */
	/* What to make instead where so many extents of the chunk are cached already; len 0:
	 * never. */
	struct extent_id larger;
	unsigned crowd;
	enum cache_hurry hurry;
	bool keep; /* an extent that is made stays pinned for the caller, beside the pin of its
		      load */
	bool only_there; /* nothing is made: -ENOENT */
	bool only_new;   /* what is there already is neither pinned nor touched */
	bool beside; /* without room it is made beside the budget, which one unpinned extent may be;
			the next one takes its place */
	int64_t now; /* clock_now() */
	int64_t fresh; /* extents checked before this moment must be compared with the store
			  again */
	int64_t begun; /* loads that were asked for before this moment are not waited for */
	int64_t since; /* when the reader began */
	/* Not for a reader, but for the load of this extent, and of its version; or NULL. */
	const struct extent *of;
	int64_t deadline;
	struct cancel *cancel;
	/* Bytes of extents that are being loaded for the same array, or NULL: no array may have all
	 * memory for loads that may hang. Under the cache's lock; lives until all of them have
	 * ended. */
	size_t *loading;
};

enum cache_found {
	CACHE_READY = 1,
	CACHE_BUSY = 2,    /* a load of it is under way: cache_wait */
	CACHE_CREATED = 3, /* the caller has it loaded, which ends in cache_finish */
};
/* A pinned extent and how it was found, or -errno. -ESTALE: replaced while it was read, see
 * above. */
int cache_get(struct cache *, const struct cache_request *, struct extent **ret);
/* The same for many at once. Returns how many went well; found[i] tells how, found of the first
 * that did not is its -errno. None may have hurry CACHE_WAIT. */
size_t cache_get_many(struct cache *, const struct cache_request *, size_t n, struct extent **ret,
	int *ret_found);
/* Waits for a LOADING extent. 0; CACHE_PATIENCE: not by then; CACHE_OTHER: it became a version that
 * is not for this reader, which is to ask again; the load's failure; -EINTR. */
enum { CACHE_PATIENCE = 1, CACHE_OTHER = 2 };
int cache_wait(struct cache *, struct extent *, int64_t since, int64_t deadline, struct cancel *);
/* The load failed; code is that of err_text. */
void extent_fail(struct extent *, int code);
/* The loads have ended: hands the extents to all readers that wait, and takes the pins of the
 * loads. */
void cache_finish(struct cache *, struct extent *const *, size_t n);
void cache_unpin(struct cache *, struct extent *const *, size_t n);
/* The same for an extent whose bytes turned out to be bad: it is given to no other reader. */
void cache_reject(struct cache *, struct extent *);
/* The extents of each chunk that begin within [off, off + len) will not be needed soon; off
 * EXTENT_ENCODED: only the encoded one; len SIZE_MAX: all, the encoded one too. */
enum cold {
	COLD_ALL,
	COLD_UNREAD = 1, /* only those that no reader has read */
	COLD_RAW = 2,    /* what is decoded is what is stored */
	COLD_LEFT = 4,   /* the reader has gone elsewhere: large transfers end */
};
void cache_make_cold(struct cache *, const struct extent_id *, size_t n, enum cold);
/* The loader says in which version the store has the chunk, before cache_finish. Not 0: the object
 * has changed, for that many times now, and the loader has that noted by all that have it open, and
 * then calls cache_told. So does each load of the object until then: no reader is given what is new
 * before it was noted. */
uint64_t cache_found(struct cache *, struct extent *);
void cache_told(struct cache *, const struct extent *, uint64_t changes);
/* What was asked for before now is compared with the store again. */
void cache_expire(struct cache *);
/* A reader since `since` will count as having begun `now`: then some of this chunk may have been
 * given to it before it began. True: it will be given the rest of the same version. False: that is
 * so no longer, because the chunk has changed. */
bool cache_keep(struct cache *, const struct extent_id *, int64_t since, int64_t now);

/* What this mount stores itself is no foreign change: readers go on with the new version, whenever
 * they began. From cache_put_begin to cache_put_end loads of the object that find a version which
 * is not known wait, since it may be the one that is being put. */
int cache_put_begin(struct cache *, const struct extent_id *, struct object **ret);
/* The put is made upon this version ("": nothing was there), of which the store was asked at
 * `begun` (clock_now). True: another one was known, and that is a foreign change. */
bool cache_put_upon(struct cache *, struct object *, const char *version, int64_t begun);
/* version: what the put left ("": nothing is there, or the store does not say); NULL: it failed.
 * What was cached of the object goes. */
void cache_put_end(struct cache *, struct object *, const char *version);
/* Is this loaded extent of a version that may be one that is being put? Then cache_put_wait until
 * that is known, or the deadline. */
bool cache_put_unsure(struct cache *, const struct extent *);
void cache_put_wait(struct cache *, const struct extent *, int64_t deadline);

/* Memory that loads need for a moment besides their extents, all together at most a CACHE_LEND-th
 * of the budget unless one alone needs more: others make room for it as far as they can, and
 * prefetching leaves it free. */
enum { CACHE_LEND = 16 };
void cache_borrow(struct cache *, size_t bytes);
void cache_give_back(struct cache *, size_t bytes);
/* Bytes that others hold under the same budget (models), from now on. */
void cache_set_other(struct cache *, size_t bytes);
/* The same for what was written and is not stored yet: so many bytes more, or less. */
void cache_add_staged(struct cache *, int64_t bytes);

struct cache_counts {
	size_t budget, used, cold, extents;
	uint64_t hits, waits, evicted;
};
void cache_count(struct cache *, struct cache_counts *ret);
size_t cache_budget(const struct cache *);
