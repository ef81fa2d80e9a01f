/* The inside of struct cache: cache.c (whose turn an extent is, what state it is in), cache_table.c
 * (extents by chunk, and in the order of their use), cache_object.c (objects by number),
 * cache_version.c (their versions), cache_put.c (those that this mount makes) and cache_room.c
 * (memory). No other file includes it. All functions but cache_unlock want the lock held. */
#pragma once

#include "base/hash.h"
#include "base/mem.h"
#include "base/wait.h"
#include "data/cache.h"
#include "data/lru.h"

enum { CACHE_CONDS = 32 };

/* A request that waits for memory. First come, first served: a request for much would wait for ever
 * behind those for little. */
struct waiter {
	struct waiter *next;
	bool queued;
};

/* Chunks of an object, and when one of them was last given to a reader; at 0: there are none. A set
 * of so many: more than it has room for become ranges with others between them. */
struct given {
	uint64_t from, to;
	int64_t at;
};
enum { OBJECT_GIVEN = 3, OLD_GIVEN = 8 };

/* A version of an object that is no longer the store's. */
struct old_version {
	struct old_version *older;
	char version[ZMAP_VERSION];
	int64_t until; /* as that of its extents */
	struct given given[OLD_GIVEN];
};

/* A stored object: which version of it the store has, and which ones readers were given before. */
struct object {
	uint64_t space, number;
	struct map_entry by_number;
	struct object *next;          /* of those that are to be freed */
	struct object *newer, *older; /* among those that nothing is cached of */
	size_t refs;                  /* extents there are, in the table or not */
	struct extent *extents;       /* those in the table */
	bool found;                   /* a load has told the version */
	uint64_t changes, told;       /* how often it was another, and how often at least that was
					 noted, see cache_told */
	char version[ZMAP_VERSION];
	int64_t turned;                   /* when that version was found first */
	struct given given[OBJECT_GIVEN]; /* in that version: evicted extents */
	struct old_version *old;          /* the versions before, the newest first */
	unsigned putting;                 /* puts by this mount that are under way */
	struct given lost;                /* in versions that are forgotten by now */
};

/* Of memory, besides its bytes: with its object, what pieces are larger than these, and what tables
 * have for both. */
enum { EXTENT_COST = sizeof(struct extent) + sizeof(struct object) + 128 };

/* Objects by number. */
struct objects {
	struct map by_number;
	struct object *newest, *oldest; /* of the idle ones */
	struct object *dead;            /* to be freed once the lock is open */
	size_t idle, old_versions;
};

struct cache {
	size_t budget, cold_max, victim_max;
	pthread_mutex_t lock; /* guards all below */
	struct map by_chunk;
	struct objects objects;
	/* unread: prefetched, and no reader has had them yet; victim: cold ones whose bytes are the
	 * stored ones. */
	struct lru active, unread, cold, victim;
	size_t used, extents;
	struct extent *beside;  /* the one that is in memory beside the budget: charge 0; or NULL */
	int64_t expired;        /* of the last cache_expire */
	struct map_entry *dead; /* by_chunk of extents that are to be freed once the lock is open */
	uint64_t hits, waits, evicted;
	/* other: with staged. lend: what prefetching leaves free for loads to borrow */
	size_t other, staged, lent, lend;
	atomic_uint puts;                   /* of all objects; read without the lock */
	struct waiter *waiting;             /* for memory */
	atomic_bool awaited;                /* there are such; read without the lock */
	pthread_cond_t loaded[CACHE_CONDS]; /* an extent left LOADING: by hash */
	pthread_cond_t put;                 /* a put of this mount has ended */
	pthread_cond_t freed; /* memory came back, or the next one that waits for it may look */
};

/* What an extent with so many bytes takes of the budget. */
static inline size_t
extent_charge(size_t bytes)
{
	return mem_size(bytes) + EXTENT_COST;
}

static inline bool
extent_dropped(const struct extent *p)
{
	return atomic_load(&p->pins) & EXTENT_DROPPED;
}

/* With the lock held: one that is in no table and has no pins belongs to the thread that frees
 * it. */
static inline void
extent_pin(struct extent *p)
{
	atomic_fetch_add(&p->pins, 1);
}

/* Without it. What is left. The extent may be gone, unless that is EXTENT_DROPPED: then it is for
 * the caller to give it to table_unpinned. */
static inline unsigned
extent_unpin(struct extent *p)
{
	return atomic_fetch_sub(&p->pins, 1) - 1;
}

static inline uint64_t
table_hash(const struct extent_id *id)
{
	return hash_pair(id->space, id->chunk);
}

/* An extent of the chunk: the first one (NULL), and the one behind p; NULL: there is none. */
static inline struct extent *
table_next(const struct cache *c, const struct extent_id *id, const struct extent *p)
{
	struct map_entry *e = p ? map_next(&p->by_chunk) : map_first(&c->by_chunk, table_hash(id));
	for (; e; e = map_next(e)) {
		struct extent *of = MAP_OF(e, struct extent, by_chunk);
		if (of->id.space == id->space && of->id.chunk == id->chunk)
			return of;
	}
	return NULL;
}
pthread_cond_t *table_cond(struct cache *, const struct extent *);
/* A new extent, with one pin, LOADING, unread. It takes over the pin of prev. NULL: no memory. */
struct extent *table_insert(
	struct cache *, const struct extent_id *, struct extent *prev, size_t *loading);
void table_touch(struct extent *, int64_t now);
/* A reader has it. */
void table_use(struct cache *, struct extent *);
void table_make_cold(struct cache *, struct extent *, bool stored);
/* Puts back what was taken out of it and is pinned. */
void table_restore(struct cache *, struct extent *);
/* Takes an extent out of the table; its memory goes with the last pin, at once where there is
 * none. */
void table_drop(struct cache *, struct extent *);
void table_unpin(struct cache *, struct extent *);
/* A pin is given back, and so many are left (extent_unpin): with none, and not dropped, the extent
 * may be gone. */
void table_unpinned(struct cache *, struct extent *, unsigned left);
/* Opens the lock and frees what was destroyed under it. */
void cache_unlock(struct cache *);

/* The object of that space and number; NULL: nothing is known of it. */
struct object *object_find(struct cache *, const struct extent_id *);
/* The same, made where there is none, with a reference for an extent. NULL: no memory. */
struct object *object_hold(struct cache *, const struct extent_id *);
void object_release(struct cache *, struct object *);
/* An extent comes into the table, or leaves it. */
void object_add(struct extent *);
void object_remove(struct extent *);
void objects_free(struct cache *);       /* no lock needed */
void objects_free_dead(struct object *); /* likewise */

void given_note(struct given *, unsigned n, const struct given *);
int64_t given_at(const struct given *, unsigned n, uint64_t chunk);
/* When some of the chunk was last given to a reader in this version or one before it; 0: never. */
int64_t version_given(const struct object *, const struct old_version *, uint64_t chunk);

/* Has the object had other versions than the store's? */
static inline bool
version_turned(const struct object *o)
{
	return o->old || o->lost.at;
}

/* As version_given, of those before the store's. */
static inline int64_t
version_former(const struct object *o, uint64_t chunk)
{
	return version_turned(o) ? version_given(o, o->old, chunk) : 0;
}

/* The version that a reader must be given, because it may have some of the chunk in it, or NULL:
 * the store's. -ESTALE: it is forgotten. */
int version_for(
	struct cache *, const struct extent_id *, int64_t since, const struct old_version **ret);
/* The version that an extent is being loaded in; the same. */
int version_of(const struct extent *, const struct old_version **ret);
/* A new extent is to be of that version. */
void version_begin(struct extent *, const struct old_version *);
/* Is an extent of the version that the reader must be given? */
bool version_suits(struct cache *, const struct extent *, int64_t since);
/* A load has ended. The object may have changed since that was told, and the table may be without
 * the extent. */
void version_ready(struct extent *);
/* An extent leaves the table: what it tells of its version is kept. */
void version_dropped(const struct extent *);
/* Notes the version that the object, whose version is known, had in the store at `begun`
 * (clock_now). 0; VERSION_NEW: another one was known; VERSION_OLD: it may be older than what is
 * known. */
enum { VERSION_NEW = 1, VERSION_OLD };
int version_found(struct cache *, struct object *, const char *version, int64_t begun);
/* Notes the version of an extent as the first one that is known of its object. */
void version_found_first(struct object *, const struct extent *, int64_t now);
/* Makes an extent one of an old version. One of a version that no reader was given is for none. */
void version_join_old(struct extent *);
/* The versions before are remembered no more. */
void version_forget(struct cache *, struct object *);
/* The same, but when readers were given which chunks of them stays known. */
void version_lose_old(struct cache *, struct object *);

/* Evicts the oldest extent of a list that is not pinned. */
bool room_evict(struct cache *, struct lru *);
/* Room for n more bytes: free, cold, victim or (unless prefetching) least recently used. */
bool room_make(struct cache *, size_t n, enum cache_hurry);
/* The same; what is larger than the whole budget goes alone. */
bool room_for(struct cache *, size_t n, enum cache_hurry);
/* The loads of one array leave a quarter of the memory to others. */
bool room_share(const struct cache *, const struct cache_request *, size_t n);
/* May an extent be made beside the budget? The one that was, unless it is prev, goes. */
bool room_beside(struct cache *, struct extent *prev);
void room_put_beside(struct cache *, struct extent *);
/* Waits until an extent lets go of memory; the lock is open meanwhile. in_turn: others that wait
 * come after it. 0: look again. */
int room_wait(struct cache *, const struct cache_request *, struct waiter *, bool in_turn);
void room_stop_waiting(struct cache *, struct waiter *);
