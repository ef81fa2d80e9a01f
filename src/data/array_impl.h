/* What array.c, load.c and stream.c share: the inside of struct data and struct array. No other
 * file includes it. */
#pragma once

#include "data/array.h"
#include "data/cache.h"
#include "data/semaphore.h"
#include "data/grid.h"
#include "data/space.h"
#include "base/negative_cache.h"
#include "base/pool.h"
#include "codec/shard.h"

enum {
	ARRAY_KEY_MAX = 4096,
	VERSION_TRIES = 32, /* times that what is read in parts may have changed meanwhile, before
			       the reader hears of it */
	LONG_PART = 4,   /* of the time that an operation may take: after it a server may have come
			    back */
	LOAD_BATCH = 64, /* small extents that one task loads */
	LOAD_JOINED = 2 << 20, /* bytes of a shard that are asked for at once, with those of chunks
				  that the same task loads */
	FAR = 128,             /* loads ahead of a reader that hide the latency of a slow store */
	SLOW_FROM = 1000 * 1000, /* ns for a chunk; no disk here takes so long */
	TURNS_SLOW = 144, /* loads of one array under way, where the store is slow: what the store
			     bears is for it to say */
};

struct data_counts {
	atomic_ullong fetches;       /* requests for chunk bytes: objects or parts of them */
	atomic_ullong fetched_bytes; /* stored bytes */
	atomic_ullong decodes;       /* runs of a codec chain */
	atomic_ullong decoded_bytes;
	atomic_ullong absent; /* chunks shown as fill value */
	atomic_ullong failed;
	atomic_ullong prefetched;  /* loads begun ahead of the reader */
	atomic_ullong revalidated; /* cached chunks the store said are unchanged */
};

struct data {
	struct data_options options;
	struct negative_cache negative; /* chunks, by space and number */
	struct cache *cache;
	struct spaces *spaces;
	struct semaphore *semaphore; /* memory that loads need besides their extents */
	struct pool *pool;
	struct staging *staging;
	struct cancel ending; /* data_free waits for loads: those of a store that hangs stop */
	unsigned workers;
	atomic_uint scans;    /* readers in file order, for sharing the budget */
	atomic_size_t other;  /* bytes that data_set_other was told last */
	atomic_size_t shown;  /* … and data_set_shown */
	atomic_size_t tables; /* bytes that the store held when it was asked last */
	atomic_size_t joined; /* bytes of shards that are asked for at once, by all loads */
	struct data_counts counts;
};

struct array {
	atomic_uint refs;
	struct data *data;
	struct zmap *zmap;
	char *key;  /* prefix with its '/', or "" */
	char *path; /* the same without '/' */
	uint64_t space;
	uint64_t site; /* the same whatever the leading extent, and the width that texts are shown
			  in */
	struct space *space_name, *site_name; /* whose numbers these are: references */
	int64_t grown; /* when the array was found to have grown or shrunk: what was cached before
			  is compared with the store; 0: never */
	struct dtype dtype; /* width filled in */
	struct grid grid;
	char separator, key_form;
	char *chunks_of; /* array_meta.chunks_of; NULL: chunks are objects of the store */
	bool scalar;     /* of no dimension, though its grid has one */
	const struct codec_chain *chain; /* of a chunk */
	struct codec_chain *own_chain;   /* the same, unless it is a shard's */
	struct form form;                /* of a decoded chunk; shape points into grid */
	struct uneven *uneven;           /* of a rectilinear grid; NULL: it is regular */
	struct shard *shard;             /* what a stored object is; NULL: one chunk */
	uint64_t in_shard[RANK_MAX];     /* chunks of a shard along each dimension; 1 everywhere
					    without */
	struct semaphore *turns;         /* of the tasks that load its chunks */
	size_t loading;   /* bytes of its extents that are being loaded; under the cache's lock */
	bool ranged, raw; /* parts can be decoded alone; chunks are stored as they are */
	bool remote;      /* each request costs a round trip */
	bool prompt;      /* none takes longer than a local disk or memory does */
	bool exchanged;   /* its metadata are looked at once a second while chunks are loaded, see
			     load_check_begin */
	struct task look; /* that does so, … */
	atomic_bool looking; /* … under way */
	atomic_bool widened; /* turns are those of a slow store */
	size_t encoded_max, scratch;
	uint8_t *fill; /* one element */
	bool fill_zero;
	char *fill_error;    /* why there is none; NULL: there is one */
	size_t fill_long;    /* bytes of a fill value that is longer than an element may be, so that
				there is none; 0: it fits */
	bool fill_nul;       /* it ends in NUL, which padding would hide: there is none either */
	atomic_size_t grain; /* bytes the codec decodes at the least; 0: not known yet */
	atomic_llong fetch_time; /* ns that a store takes to send a chunk, if it is not prompt; 0:
				    none was sent yet */
	atomic_size_t encoded_mean; /* stored size of a chunk, of those seen; 0: none yet */
	struct array_hooks hooks;
	struct begun_array *new_array; /* what was put of a new one; NULL: it is none */
	atomic_bool made;              /* metadata say that it is there */
	pthread_mutex_t lock;          /* guards streams, and how they hang together */
	struct stream *streams;        /* of all readers there are, the oldest first */
	/* clock_now() of when the last reader went, or until when one may come; 0: there are some,
	 * or never were. Changed under the lock. */
	atomic_llong left;
};

/* This chunk did not come in time: from now on its loads are refused for a while, with the thread's
 * err_text. */
void load_missed(struct array *, uint64_t chunk, int code);
/* The stored object that a chunk lies in. */
uint64_t array_object(const struct array *, uint64_t chunk);
/* Which one it is among the chunks of its shard. */
uint64_t array_chunk_in_shard(const struct array *, uint64_t chunk);

static inline struct extent_id
array_extent(const struct array *a, uint64_t chunk, uint64_t off, size_t len)
{
	return (struct extent_id){a->space, chunk, off, len, array_object(a, chunk)};
}

/* Is the store worth asking for many chunks at once? A network's file system shows by its answers
 * that it is. */
static inline bool
array_slow(const struct array *a)
{
	return a->remote || (!a->prompt && atomic_load_explicit(&a->fetch_time,
						   memory_order_relaxed) >= SLOW_FROM);
}

/* Key of a chunk: the array's prefix and the indices. -ENAMETOOLONG. */
int array_chunk_key(const struct array *, uint64_t chunk, char ret[static ARRAY_KEY_MAX]);
/* The chunk by its coordinates, kept in `index` and *ret; NULL: it is an object, and its key is
 * enough. */
const struct zmap_chunk *array_chunk(const struct array *, uint64_t chunk,
	uint64_t index[static RANK_MAX], struct zmap_chunk *ret);
/* n elements of fill value. */
void array_fill(const struct array *, uint8_t *to, uint64_t bytes);
/* The moment before which a cached extent must be compared with the store again. */
int64_t data_fresh(const struct data *, int64_t now);

static inline int64_t
array_fresh(const struct array *a, int64_t now)
{
	int64_t fresh = data_fresh(a->data, now);
	return fresh > a->grown ? fresh : a->grown;
}

/* Counts what the tables of the store take now, where that has changed. */
void data_count_tables(struct data *, struct zmap *);
/* Do the metadata of the array still hold, looked at since then (clock_wall)? 0 or -EIO. */
int load_check_since(const struct array *, int64_t since);
/* Can absent elements be shown: is the fill value what elements can be? */
int load_check_fill(const struct array *);
/* Asks the store how large a chunk is, if it is not known how large chunks of this array are
 * stored. */
void load_probe_size(struct array *, uint64_t chunk);
/* Begins the loads of extents that cache_get created, linked by `batch`, one after the other; a
 * cache_finish for each follows on a worker. */
void load_start(struct array *, struct extent *first, bool urgent);
/* The same, not urgent, while a lock is held: the caller has pool_fill begin what workers that
 * takes. */
void load_queue(struct array *, struct extent *first);
/* The same on this thread, if a worker's place is free: no thread has to be woken. What must wait
 * for its turn goes on on a worker. */
void load_here(struct array *, struct extent *first);
/* A reader has waited for long: a load that runs for longer than age ns (clock_now) may hang, and
 * others go in its place. */
void load_rescue(struct data *, int64_t age);
/* A reader waits for this extent: where its load stands in line, it goes before those that no
 * reader waits for. */
void load_hurry(struct array *, struct extent *);
