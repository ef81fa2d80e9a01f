/* One ask from its first attempt to its outcome: hooks, rules, pauses. One thread at a time: the caller's, or the desk. */
#pragma once

#include "backends/net/wire.h"

#include <pthread.h>

struct errand {
	struct errand *next; /* in a line of the desk */
	struct client_ask ask;
	struct client_reply reply;
	struct body body;
	struct client_attempt attempt;
	unsigned tried, again; /* attempts so far; those of CLIENT_AGAIN */
	unsigned stuck;   /* of them, those without progress: the next one has twice the time */
	unsigned odd;     /* and those whose answer did not fit */
	int64_t patience; /* so long a silence ends the first attempt */
	int64_t at;       /* when the next one begins, after ERRAND_PAUSE */
	int result;       /* after ERRAND_OVER */
	struct err said;  /* why the last attempt was in vain; code 0: none was */
	/* of submitted ones */
	struct desk *desk;
	client_done_fn *done;
	void *done_arg;
	/* of calls */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool ended; /* guarded by lock */
};

enum errand_step { ERRAND_OVER, ERRAND_SENT, ERRAND_NOW, ERRAND_PAUSE };

/* ended: how the errand's owner is told, on the wire's thread. */
void errand_init(
	struct errand *, const struct client_ask *, void (*ended)(struct client_attempt *));
void errand_done(struct errand *);
/* Sends the next attempt: ERRAND_SENT, or ERRAND_OVER. */
enum errand_step errand_send(struct errand *, struct wire *);
/* After an attempt has ended: ERRAND_NOW, ERRAND_PAUSE, or ERRAND_OVER with the text of a failure set. */
enum errand_step errand_weigh(struct errand *, struct wire *, struct gauge *);
/* In a pause: ERRAND_PAUSE as long as it lasts, ERRAND_NOW, or ERRAND_OVER when nobody waits any more. */
enum errand_step errand_wait(struct errand *, int64_t now);
