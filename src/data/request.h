/* One request of a reader on its way, and what the files that answer it share: stream.c (whose
 * turn), request.c and sieve.c (what is asked for), ahead.c (what is loaded before the reader comes
 * and let go behind it), direct.c and gather.c (the answer). No other file includes it. */
#pragma once

#include "data/pause.h"
#include "data/scan.h"
#include "data/staging.h"

enum {
	REQUESTS_AT_ONCE = 64, /* extents looked up under one lock */
	BATCH_TASKS = 8,       /* that are made at once: one for each shard */
	ACTIVE_MOST = 64,      /* requests of one stream that are under way */
};

struct stream {
	struct array *array;
	struct stream *next; /* in array->streams; under the array's lock, as refs and lead are */
	unsigned refs;       /* its reader, those whose lead it is, and requests */
	struct stream *lead; /* the one that stands for this one, NULL: none */
	bool first; /* it was the only one, and has been the oldest since: it follows none */
	atomic_ullong front;  /* scan.high in file order, UINT64_MAX otherwise */
	atomic_ullong origin; /* likewise scan.start */
	atomic_ullong ended;  /* the least origin beyond its front of readers that have closed the
				 file since it was opened; UINT64_MAX: none */
	atomic_llong asked;   /* clock_now() of the last request */
	atomic_ullong
		at; /* where its own reader asked last, whichever stream its requests go through */
	pthread_mutex_t lock; /* guards all below */
	struct pause pause;   /* of its own reader, too */
	uint64_t slab;        /* of chunks, in which its reader asked last … */
	int64_t slab_fresh;   /* … and `fresh` of when that run of requests came to it */
	struct scan scan;
	/* Where requests under way begin, and 1: what they read is not passed yet. They end, which
	 * makes it 0, without the lock. */
	atomic_ullong active[ACTIVE_MOST];
	unsigned nactive; /* from there on all are 0 */
};

struct read_request {
	struct stream *stream;
	struct array *array;
	const struct array_want *want;
	struct scan scan;      /* as it was when the request came */
	atomic_ullong *active; /* the stream's; NULL: there are too many */
	int64_t now, fresh, since;
	int64_t paused;     /* as pause_begin says, of its slab */
	uint64_t slab;      /* of the file's, which begins before it … */
	int64_t slab_fresh; /* … and `fresh` for its chunks: what was good enough for the first part
			      of one is so for the rest */
	bool old;           /* it waited for a load that had begun long before, and failed: why */
	struct err *why;    /* code 0: that never happened */
	struct reply *reply;
	const struct cover
		*over; /* what is written and not stored; NULL: nothing of what is wanted */
};

/* Loads that are about to begin, several small ones as one task. */
struct batch {
	struct array *array;
	struct batch_task {
		struct extent *first, **last;
		size_t bytes;
		unsigned n;
	} task[BATCH_TASKS]; /* in use: the first `tasks` */
	unsigned tasks;
	bool urgent, alone; /* alone: each extent is worth a task of its own */
	bool locked; /* a lock is held while it is filled: pool_fill when that is open, if it has
			sent any */
	bool sent;
	bool here; /* the last task is left to batch_end, for the thread of the reader itself */
};

void batch_add(struct batch *, struct extent *, enum keep);
void batch_send(struct batch *);
/* Loads what is left of a batch that has `here`, on this thread; sends that of others, or after a
 * failure r < 0, whose text stays. */
void batch_end(struct batch *, int r);

/* Of what a request lacks. */
struct batch request_batch(const struct read_request *);

/* What is asked for at once, under one lock of the cache. */
struct cache_requests {
	struct cache_request request[REQUESTS_AT_ONCE];
	struct extent *extent[REQUESTS_AT_ONCE];
	int found[REQUESTS_AT_ONCE];
	size_t n;
};

/* What a request asks where it wants that extent, and its byte `at`. */
struct cache_request request_cache_extent(
	const struct read_request *, struct extent_id, uint64_t at, enum cache_hurry);
/* What a request asks for bytes [at, to) of a chunk. holds: it has pinned others, and must not wait
 * for memory. */
struct cache_request request_cache(
	const struct read_request *, uint64_t chunk, uint64_t at, uint64_t to, bool holds);
/* Has an extent that this request created loaded, with the rest of the batch. */
void request_load(struct read_request *, struct batch *, struct extent *);
/* A pinned extent: CACHE_READY, or CACHE_BUSY: to be waited for. -errno; -EAGAIN: no room for a
 * request that holds others. */
int request_extent(
	struct read_request *, struct batch *, const struct cache_request *, struct extent **ret);
int request_wait(struct read_request *,
	struct extent *); /* -EAGAIN: it became another version, or is to be asked for again */
/* Are two extents of one chunk of one version of it? */
bool request_agree(const struct extent *, const struct extent *);
/* May the reader be given it beside what it has? 0, or -ESTALE. */
int request_goes_on(const struct read_request *, const struct extent *);
/* The reply's next bytes. */
void request_answer(struct read_request *, const void *data, size_t len);

/* Begins the loads of what this reader will ask for next. */
void ahead_load(struct read_request *);
/* The stream's lock is held. passed: no reader reads before it any more. */
void ahead_pass(struct stream *, uint64_t passed);
/* The stream's lock is held. The reader goes elsewhere, or has closed the file and may open it
 * again: what was loaded ahead of it is not worth more than anything else. */
void ahead_leave(struct stream *, bool closed);

/* The answer as pinned chunks. -EAGAIN: not in one go, or chunks changed meanwhile. */
int direct_read(struct read_request *);
/* The answer copied together. -EAGAIN: chunks changed meanwhile. */
int gather_read(struct read_request *);
