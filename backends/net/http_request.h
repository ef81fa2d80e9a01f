/* One ask from its first attempt to its outcome: hooks, rules, pauses. One thread at a time: the
 * caller's, or the dispatcher. */
#pragma once

#include "backends/net/http_loop.h"

#include <pthread.h>

struct http_request {
	struct http_request *next; /* in a line of the dispatcher */
	struct client_ask ask;
	struct client_reply reply;
	struct body body;
	struct client_attempt attempt;
	unsigned tried, again; /* attempts so far; those of CLIENT_AGAIN */
	unsigned stuck;   /* of them, those without progress: the next one has twice the time */
	unsigned odd;     /* and those whose answer did not fit */
	int64_t patience; /* so long a silence ends the first attempt */
	int64_t at;       /* when the next one begins, after HTTP_REQUEST_PAUSE */
	int result;       /* after HTTP_REQUEST_OVER */
	struct err said;  /* why the last attempt was in vain; code 0: none was */
	/* of submitted ones */
	struct dispatcher *dispatcher;
	client_done_fn *done;
	void *done_arg;
	/* of calls */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool ended; /* guarded by lock */
};

enum http_request_step {
	HTTP_REQUEST_OVER,
	HTTP_REQUEST_SENT,
	HTTP_REQUEST_NOW,
	HTTP_REQUEST_PAUSE
};

/* ended: how the request's owner is told, on the loop's thread. */
void http_request_init(
	struct http_request *, const struct client_ask *, void (*ended)(struct client_attempt *));
void http_request_done(struct http_request *);
/* Sends the next attempt: HTTP_REQUEST_SENT, or HTTP_REQUEST_OVER. */
enum http_request_step http_request_send(struct http_request *, struct http_loop *);
/* After an attempt has ended: HTTP_REQUEST_NOW, HTTP_REQUEST_PAUSE, or HTTP_REQUEST_OVER with the
 * text of a failure set. */
enum http_request_step http_request_weigh(
	struct http_request *, struct http_loop *, struct http_metrics *);
/* In a pause: HTTP_REQUEST_PAUSE as long as it lasts, HTTP_REQUEST_NOW, or HTTP_REQUEST_OVER when
 * no caller waits any more. */
enum http_request_step http_request_wait(struct http_request *, int64_t now);
