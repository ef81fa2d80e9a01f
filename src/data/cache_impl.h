/* The inside of struct cache: cache.c (whose turn a piece is, what state it is in), cache_table.c (pieces by chunk, and in the order of
 * their use) and cache_room.c (memory). Nobody else includes it. All functions but cache_unlock want the lock held. */
#pragma once

#include "data/cache.h"
#include "data/lru.h"

enum {
	CACHE_BUCKETS = 1 << 14,
	CACHE_CONDS = 32,
	PIECE_COST = sizeof(struct piece) + 64, /* with what malloc adds */
};

/* Somebody who waits for memory. First come, first served: what needs much would wait for ever behind what needs little. */
struct waiter {
	struct waiter *next;
	bool queued;
};

/* A version of a chunk that is no longer the store's. */
struct past {
	struct past *older;
	char version[ZMAP_VERSION];
	int64_t until, given, former; /* as those of its pieces */
};

/* In which version a chunk was last found, whether anything of it is cached or not. */
struct mark {
	uint64_t chunk; /* hash; 0: of none */
	char version[ZMAP_VERSION];
	int64_t seen, turned;  /* when it was last loaded; when its version was found first */
	int64_t given, former; /* as those of a piece; given: of evicted ones */
	struct past *past;     /* the versions before, the newest first */
	int64_t lost; /* when versions that are forgotten by now were last given; 0: there are none */
};

struct cache {
	size_t budget, cold_max, spare_max;
	pthread_mutex_t lock; /* guards all below */
	struct piece *bucket[CACHE_BUCKETS];
	struct mark mark[CHUNKS_KNOWN];
	struct lru hot, cold, spare; /* spare: cold ones whose bytes are the stored ones */
	size_t used, pieces;
	int64_t expired;    /* of the last cache_expire */
	struct piece *dead; /* to be freed once the lock is open */
	uint64_t hits, waits, evicted;
	size_t other, lent, lend; /* lend: what prefetching leaves free for loads to borrow */
	struct waiter *waiting;   /* for memory */
	pthread_cond_t loaded[CACHE_CONDS]; /* a piece left LOADING: by hash */
	pthread_cond_t freed; /* memory came back, or the next one that waits for it may look */
};

/* Where the pieces of a chunk are, among others; linked by hash_next. */
struct piece **table_bucket(struct cache *, const struct piece_id *);
pthread_cond_t *table_cond(struct cache *, const struct piece *);
/* A new piece, with one pin, LOADING. It takes over the pin of prev. NULL: no memory. */
struct piece *table_insert(
	struct cache *, const struct piece_id *, struct piece *prev, size_t *loading);
void table_touch(struct piece *, int64_t now);
void table_cool(struct cache *, struct piece *, bool stored);
/* Puts back what was taken out of it and is pinned. */
void table_restore(struct cache *, struct piece *);
/* The mark of a chunk; one whose `chunk` is another: nothing is known, and this is where to remember it. */
struct mark *table_mark(struct cache *, const struct piece_id *, uint64_t *ret_hash);
/* Takes a piece out of the table; its memory stays until the last pin goes. */
void table_drop(struct cache *, struct piece *);
/* Nobody holds it and it is in no table: its memory goes when the lock is open. */
void table_destroy(struct cache *, struct piece *);
void table_unpin(struct cache *, struct piece *);
/* Opens the lock and frees what was destroyed under it. */
void cache_unlock(struct cache *);
/* The same after memory was taken or given: what malloc keeps for later is inside the budget too. */
void cache_unlock_trim(struct cache *);

/* The version that a reader must be given, because it may have some of it, or NULL: the store's. -ESTALE: it is forgotten. */
int version_for(struct cache *, const struct piece_id *, int64_t since, const struct past **ret);
/* A new piece is to be of that version. */
void version_begin(struct cache *, struct piece *, const struct past *);
/* Is a piece of the version that the reader must be given? */
bool version_suits(struct cache *, const struct piece *, int64_t since);
/* A load has ended. The chunk may have changed since that was told, and the table may be without the piece. */
void version_ready(struct cache *, struct piece *);
/* A piece leaves the table: what it tells of its version is kept. */
void version_dropped(struct cache *, const struct piece *);
void versions_free(struct cache *); /* no lock needed */

/* Evicts the oldest one of a list that nobody uses; unused: also what was prefetched and nobody has read yet. */
bool room_evict(struct cache *, struct lru *, bool unused);
/* Room for n more bytes: free, cold, spare or (unless prefetching) least recently used. */
bool room_make(struct cache *, size_t n, enum cache_hurry);
/* The same; what is larger than the whole budget goes alone. */
bool room_for(struct cache *, size_t n, enum cache_hurry);
/* The loads of one array leave a quarter of the memory to others. */
bool room_share(const struct cache *, const struct cache_ask *, size_t n);
/* Waits for somebody to let go of memory; the lock is open meanwhile. in_turn: others that wait come after it. 0: look again. */
int room_wait(struct cache *, const struct cache_ask *, struct waiter *, bool in_turn);
void room_stop_waiting(struct cache *, struct waiter *);
/* 0: look again. The lock is open meanwhile. */
int cache_timed_wait(pthread_cond_t *, pthread_mutex_t *, int64_t deadline, struct cancel *);
