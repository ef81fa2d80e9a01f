/* The chunk cache: pieces of decoded chunks (and of encoded ones) under one budget.
 *
 * A piece is bytes [off, off + len) of one decoded chunk; off == PIECE_ENCODED marks the stored bytes of the whole chunk.
 * States: LOADING → READY or FAILED. However many ask, one load runs; the others wait for it. A piece is pinned while anybody
 * uses it and is then evicted when memory is needed: cold ones first (a reader in file order has passed them), then what is stored of
 * those, then the least recently used. Nothing slow happens under the cache's lock: who creates a piece loads it and calls cache_finish.
 * The budget counts pieces from their creation on, so that loads under way are inside it.
 *
 * A chunk may be replaced in the store. Whoever asks says since when it has been reading, and is given the first version that was found
 * to be the store's since then, however often it asks and for whichever part. When a load finds another version, the pieces of the
 * former one are superseded: they stay for those who may have been given some of it, and are given to nobody else. What such a reader lacks
 * is loaded by that version; where neither the cache nor the store has it any more the reader gets -ESTALE, and never the next version
 * beside the former. Which versions these were is remembered for as many chunks as CHUNKS_KNOWN, whether anything of them is cached or not;
 * of more than these a part that is read much later than the rest may be of the next version.
 * All calls are safe from every thread. */
#pragma once

#include "base/err.h"
#include "base/pool.h"
#include "base/when.h"
#include "data/gate.h"
#include "store/zmap.h"

static const uint64_t PIECE_ENCODED = UINT64_MAX;
/* struct piece, until: the version is the store's as far as anybody knows. */
static const int64_t PIECE_CURRENT = INT64_MAX;
enum { CHUNKS_KNOWN = 1 << 14 };

/* Are a chunk's stored bytes to be cached too? */
enum keep {
	KEEP_NOT,
	KEEP_FOR_ALL,  /* whoever reads at random may want any part of it next */
	KEEP_FOR_PASS, /* a reader in file order wants each part once, the last one at the end */
	KEEP_SPARE,    /* nobody is known to want them, but having them again costs a round trip */
};

enum piece_state { PIECE_LOADING, PIECE_READY, PIECE_FAILED };

struct piece_id {
	uint64_t space; /* of spaces_number: array, type and codecs */
	uint64_t chunk; /* number in the array's grid */
	uint64_t off;
	size_t len;
};

struct piece {
	struct piece_id id;
	/* Written by the loader before cache_finish, constant after: */
	uint8_t *data;      /* id.len bytes; NULL: the chunk is absent (fill value) */
	size_t cap;         /* of data, for mem_put */
	size_t encoded_len; /* PIECE_ENCODED: bytes in use */
	char version[ZMAP_VERSION];
	int64_t begun; /* when_now() before the store was asked: what it said holds since then */
	int64_t former; /* when the version before this one was last given to anybody; 0: none is known */
	bool failed;
	struct err *failure; /* why; NULL: no memory to say it */
	/* What was cached before and is compared with the store; pinned; NULL after the load. */
	struct piece *prev;
	int64_t since;   /* of whom it is loaded for */
	bool superseded; /* to be loaded in this version, which is no longer the store's */
	/* The loader's: */
	struct task task;
	struct ticket
		scratch;    /* cost 0: it needs little besides its own bytes, or has it not yet */
	struct ticket turn; /* among the loads of its array; cost 0: not yet */
	_Atomic(struct task *) told; /* the task that will load it, while nobody has begun */
	void *owner;
	struct piece *batch; /* the next piece that the same task loads */
	atomic_bool ahead;   /* loaded before anybody asked for it, and nobody has since */
	enum keep keep;
	/* The cache's, under its lock: */
	enum piece_state state;
	unsigned pins;
	struct lru *list; /* in which it is */
	bool dropped;
	int64_t touched; /* when it was last moved to the end of its list */
	bool used;     /* somebody read it; what was prefetched and not yet read is evicted last */
	int64_t asked; /* when_now() of who had it made */
	int64_t checked; /* when_now() of the last comparison with the store */
	int64_t given;   /* when it was given to anybody last, while its version was the store's */
	int64_t until;   /* when another version was found in the store */
	size_t charge, *loading;
	struct piece *hash_next, *lru_next, *lru_prev;
};

struct cache;

/* remote: each load costs a round trip. */
int cache_new(size_t budget, bool remote, struct cache **ret);
struct cache *cache_free(struct cache *);

enum cache_hurry {
	CACHE_WAIT,     /* wait for memory until the deadline */
	CACHE_TRY,      /* evict, but do not wait: -EAGAIN */
	CACHE_PREFETCH, /* only what is free or cold: -EAGAIN */
};

struct cache_ask {
	struct piece_id id; /* the piece to make if none is there */
	uint64_t at;        /* any piece of the chunk that holds this byte will do */
	/* What to make instead where so many pieces of the chunk are cached already; len 0: never. */
	struct piece_id larger;
	unsigned crowd;
	enum cache_hurry hurry;
	bool keep; /* a piece that is made stays pinned for the caller, beside the pin of its load */
	bool only_there; /* nothing is made: -ENOENT */
	bool only_new;   /* what is there already is neither pinned nor touched */
	int64_t now;     /* when_now() */
	int64_t fresh; /* pieces checked before this moment must be compared with the store again */
	int64_t since; /* when the reader began */
	int64_t deadline;
	struct cancel *cancel;
	/* Bytes of pieces that are being loaded for the same array, or NULL: no array may have all memory for loads that may hang. Under
	 * the cache's lock; lives until all of them have ended. */
	size_t *loading;
};

enum cache_found {
	CACHE_READY = 1,
	CACHE_BUSY = 2,    /* somebody is loading it: cache_wait */
	CACHE_CREATED = 3, /* the caller has it loaded, which ends in cache_finish */
};
/* A pinned piece and how it was found, or -errno. -ESTALE: replaced while it was read, see above. */
int cache_get(struct cache *, const struct cache_ask *, struct piece **ret);
/* The same for many at once. Returns how many went well; found[i] tells how, found of the first that did not is its -errno.
 * None may have hurry CACHE_WAIT. */
size_t cache_get_many(
	struct cache *, const struct cache_ask *, size_t n, struct piece **ret, int *ret_found);
/* Waits for a LOADING piece. 0; CACHE_PATIENCE: not by then; CACHE_OTHER: it became a version that is not for this reader, who is to ask
 * again; the load's failure; -EINTR. */
enum { CACHE_PATIENCE = 1, CACHE_OTHER = 2 };
int cache_wait(struct cache *, struct piece *, int64_t since, int64_t deadline, struct cancel *);
/* The load failed; code is that of err_text. */
void piece_fail(struct piece *, int code);
/* The loads have ended: hands the pieces to all who wait, and takes the pins of the loads. */
void cache_finish(struct cache *, struct piece *const *, size_t n);
void cache_unpin(struct cache *, struct piece *const *, size_t n);
/* The same for a piece whose bytes turned out to be bad: it is given to nobody else. */
void cache_reject(struct cache *, struct piece *);
/* The pieces of each chunk that begin within [off, off + len) will not be needed soon; off PIECE_ENCODED: only the encoded
 * one; len SIZE_MAX: all, the encoded one too. */
enum cool {
	COOL_ALL,
	COOL_UNREAD = 1, /* only those that nobody has read */
	COOL_RAW = 2,    /* what is decoded is what is stored */
};
void cache_cool(struct cache *, const struct piece_id *, size_t n, enum cool);
/* The loader tells in which version the store has the chunk, before cache_finish. True: it had another one before. */
bool cache_found(struct cache *, struct piece *);
/* What was asked for before now is compared with the store again. */
void cache_expire(struct cache *);
/* Who has been reading since `since` will count as having begun `now`: then some of this chunk may have been given to it before it began.
 * True: it will be given the rest of the same version. False: that is so no longer, because the chunk has changed. */
bool cache_keep(struct cache *, const struct piece_id *, int64_t since, int64_t now);

/* Memory that loads need for a moment besides their pieces, all together at most a CACHE_LEND-th of the budget unless one alone needs
 * more: others make room for it as far as they can, and prefetching leaves it free. */
enum { CACHE_LEND = 16 };
void cache_borrow(struct cache *, size_t bytes);
void cache_give_back(struct cache *, size_t bytes);
/* Bytes that others hold under the same budget (models), from now on. */
void cache_set_other(struct cache *, size_t bytes);

struct cache_counts {
	size_t budget, used, cold, pieces;
	uint64_t hits, waits, evicted;
};
void cache_count(struct cache *, struct cache_counts *ret);
size_t cache_budget(const struct cache *);
