/* One request of a reader on its way, and what the files that answer it share: stream.c (whose turn, what is asked for), ahead.c (what is
 * loaded before the reader comes and let go behind it), direct.c and gather.c (the answer). Nobody else includes it. */
#pragma once

#include "data/scan.h"

enum {
	ASKS = 64,        /* pieces looked up under one lock */
	ACTIVE_MOST = 64, /* requests of one stream that are under way */
};

struct stream {
	struct array *array;
	struct stream *next; /* in array->streams; under the array's lock, as refs and lead are */
	unsigned refs;       /* its reader, those whose lead it is, and requests */
	struct stream *lead; /* the one that stands for this one, NULL: none */
	atomic_ullong front; /* scan.high in file order, UINT64_MAX otherwise */
	/* Of its own reader, whichever stream its requests go through: where it asked last and when, and for how many bytes since its run in
	 * file order began or it has followed this lead. */
	atomic_ullong at, asked;
	atomic_llong read;
	pthread_mutex_t lock; /* guards all below */
	struct scan scan;
	int64_t began; /* when the run in file order began */
	bool again;    /* it was not the first one */
	uint64_t active
		[ACTIVE_MOST]; /* where requests under way begin: what they read is not passed yet */
	unsigned nactive;
};

struct request {
	struct stream *stream;
	struct array *array;
	const struct array_want *want;
	struct scan scan; /* as it was when the request came */
	int64_t now, fresh, since;
	bool old;        /* it waited for a load that had begun long before, and failed: why */
	struct err *why; /* code 0: that never happened */
	struct reply *reply;
};

/* Loads that are about to begin, several small ones as one task. */
struct batch {
	struct array *array;
	struct piece *first, **last;
	size_t bytes;
	unsigned n;
	bool urgent, alone; /* alone: each piece is worth a task of its own */
};

void batch_add(struct batch *, struct piece *, enum keep);
void batch_send(struct batch *);

/* What is asked for at once, under one lock of the cache. */
struct asks {
	struct cache_ask ask[ASKS];
	struct piece *piece[ASKS];
	int found[ASKS];
	size_t n;
};

/* What a request asks for bytes [at, to) of a chunk. holds: it has pinned others, and must not wait for memory. */
struct cache_ask request_ask(
	const struct request *, uint64_t chunk, uint64_t at, uint64_t to, bool holds);
/* Has a piece that this request created loaded, with the rest of the batch. */
void request_load(struct request *, struct batch *, struct piece *);
/* A pinned piece: CACHE_READY, or CACHE_BUSY: to be waited for. -errno; -EAGAIN: no room for a request that holds others. */
int request_piece(struct request *, struct batch *, const struct cache_ask *, struct piece **ret);
int request_wait(struct request *,
	struct piece *); /* -EAGAIN: it became another version, or is to be asked for again */
/* Are two pieces of one chunk of one version of it? */
bool request_agree(const struct piece *, const struct piece *);
/* The reply's next bytes. */
void request_answer(struct request *, const void *data, size_t len);

/* Begins the loads of what this reader will ask for next. */
void ahead_load(struct request *);
/* The stream's lock is held. passed: nobody reads before it any more. */
void ahead_pass(struct stream *, uint64_t passed);
/* The stream's lock is held. The reader goes elsewhere: what was loaded ahead of it is not worth more than anything else. */
void ahead_leave(struct stream *);

/* The answer as pinned chunks. -EAGAIN: not in one go, or chunks changed meanwhile. */
int direct_read(struct request *);
/* The answer copied together. -EAGAIN: chunks changed meanwhile. */
int gather_read(struct request *);
