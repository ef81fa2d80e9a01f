/* The thread that moves bytes: it owns curl's multi handle and every connection. Attempts wait in
 * line until fewer than `allowed` are under way; requests that a caller waits for before those made
 * ahead. */
#pragma once

#include "backends/net/body.h"
#include "backends/net/http_metrics.h"
#include "backends/net/libcurl.h"
#include "base/err.h"

/* One HTTP request. The loop's from http_loop_start until it calls ended. */
struct client_attempt {
	struct client_attempt *next;  /* in a line */
	struct http_request *request; /* the one that is under way on it */
	const struct client_ask *ask;
	int64_t *until;   /* the ask's deadline, which may be put off while the attempt is the
			     loop's */
	struct head head; /* its reply is the request's */
	struct body *body;
	char *url;
	struct curl_slist *headers;
	int64_t started;  /* the attempt as a whole; 0 while it waits in line */
	int64_t heard;    /* when the last byte came or went */
	int64_t patience; /* until the first byte; half of it between two, and to come slowly */
	int64_t deadline; /* 0: none */
	bool fresh; /* by a new connection: those that lie idle may have died with the last one */
	/* On the loop's thread, once, with no lock held: wakes the caller. The attempt may be gone
	 * as soon as it is called. */
	void (*ended)(struct client_attempt *);
	struct err err; /* code 0: a whole answer */
	bool later;     /* such a failure may pass */
	bool stuck;     /* no failure of the server: there was no progress */
	bool odd;       /* nor of the network: the answer does not fit the question */
	/* the loop's */
	bool enough, given_up;
	CURL *easy;
	unsigned requests;       /* that were sent by all of the ask's attempts */
	uint64_t sent, uploaded; /* bytes of the bodies, in and out */
	uint64_t furthest;       /* most that was uploaded by one of the ask's attempts */
	int64_t marked;          /* when `sent` was looked at; 0: not yet */
	uint64_t sent_then;
	char text[CURL_ERROR_SIZE];
};

struct http_loop;

int http_loop_new(const struct client_options *, struct http_metrics *, struct http_loop **ret);
struct http_loop *http_loop_free(struct http_loop *);
void http_loop_start(struct http_loop *, struct client_attempt *);
/* What an attempt that started then says of how much the server bears. */
void http_loop_pace(struct http_loop *, int64_t started, bool slower);
/* The server has given an answer that asks for no patience (503, 429): it is there. */
void http_loop_reached(struct http_loop *);
bool http_loop_is_reached(const struct http_loop *);
/* Attempts under way, in line, and how many may be under way. */
void http_loop_count(struct http_loop *, unsigned *running, unsigned *waiting, unsigned *allowed);
