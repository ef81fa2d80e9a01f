/* What array.c, load.c and stream.c share: the inside of struct data and struct array. Nobody else includes it. */
#pragma once

#include "data/array.h"
#include "data/cache.h"
#include "data/gate.h"
#include "data/grid.h"
#include "data/space.h"

enum {
	ARRAY_KEY_MAX = 4096,
	LOAD_BATCH = 16, /* small pieces that one task loads */
	FAR = 32,        /* loads ahead of a reader that hide the latency of a remote store */
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
	struct cache *cache;
	struct spaces *spaces;
	struct gate *gate; /* memory that loads need besides their pieces */
	struct pool *pool;
	struct cancel ending; /* data_free waits for loads: those of a store that hangs stop */
	unsigned workers;
	atomic_uint scans; /* readers in file order, for sharing the budget */
	struct data_counts counts;
};

struct array {
	atomic_uint refs;
	struct data *data;
	struct zmap *zmap;
	char *key; /* prefix with its '/', or "" */
	uint64_t space;
	struct dtype dtype; /* width filled in */
	struct grid grid;
	char separator, key_form;
	struct codec_chain *chain;
	struct form form;   /* of a decoded chunk; shape points into grid */
	struct gate *turns; /* of the tasks that load its chunks */
	size_t loading;     /* bytes of its pieces that are being loaded; under the cache's lock */
	bool ranged, raw;   /* parts can be decoded alone; chunks are stored as they are */
	bool remote;        /* each request costs a round trip */
	size_t encoded_max, scratch;
	uint8_t *fill; /* one element */
	bool fill_zero;
	char *fill_error; /* why there is none; NULL: there is one */
	size_t fill_long; /* bytes of a fill value that is longer than an element may be, so that there is none; 0: it fits */
	bool fill_nul;       /* it ends in NUL, which padding would hide: there is none either */
	atomic_size_t grain; /* bytes the codec decodes at the least; 0: not known yet */
	atomic_llong
		fetch_time; /* ns that a remote store takes to send a chunk; 0: none was sent yet */
	atomic_size_t encoded_mean; /* stored size of a chunk, of those seen; 0: none yet */
	struct array_hooks hooks;
	pthread_mutex_t lock;   /* guards streams, and how they hang together */
	struct stream *streams; /* of all readers there are, the oldest first */
};

/* Key of a chunk: the array's prefix and the indices. -ENAMETOOLONG. */
int array_chunk_key(const struct array *, uint64_t chunk, char ret[static ARRAY_KEY_MAX]);
/* n elements of fill value. */
void array_fill(const struct array *, uint8_t *to, uint64_t bytes);
/* The moment before which a cached piece must be compared with the store again. */
int64_t data_fresh(const struct data *, int64_t now);

/* Asks the store how large a chunk is, if nobody knows how large chunks of this array are stored. */
void load_probe_size(struct array *, uint64_t chunk);
/* Begins the loads of pieces that cache_get created, linked by `batch`, one after the other; a cache_finish for each follows on a worker. */
void load_start(struct array *, struct piece *first, bool urgent);
/* Somebody has waited for long: what runs for longer than age ns (when_now) may hang, and others go in its place. */
void load_patrol(struct data *, int64_t age);
/* Somebody waits for this piece: where its load stands in line, it goes before those that nobody waits for. */
void load_hurry(struct array *, struct piece *);
