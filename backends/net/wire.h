/* The thread that moves bytes: it owns curl's multi handle and every connection. Attempts wait in line until fewer than
 * `allowed` are under way; those that somebody waits for before those made ahead. */
#pragma once

#include "backends/net/body.h"
#include "backends/net/gauge.h"
#include "base/err.h"

#include <curl/curl.h>

/* One HTTP request. The wire's from wire_start until it calls ended. */
struct client_attempt {
	struct client_attempt *next; /* in a line */
	struct errand *errand;       /* whose it is */
	const struct client_ask *ask;
	struct head head; /* its reply is the errand's */
	struct body *body;
	char *url;
	struct curl_slist *headers;
	int64_t started;  /* the attempt as a whole; 0 while it waits in line */
	int64_t heard;    /* when the last byte came or went */
	int64_t patience; /* until the first byte; half of it between two, and to come slowly */
	int64_t deadline; /* 0: none */
	bool fresh; /* by a new connection: those that lie idle may have died with the last one */
	/* On the wire's thread, once, with no lock held: wakes somebody. The attempt may be gone as soon as it is called. */
	void (*ended)(struct client_attempt *);
	struct err err; /* code 0: a whole answer */
	bool later;     /* such a failure may pass */
	bool stuck;     /* no failure of the server: there was no progress */
	bool odd;       /* nor of the network: the answer does not fit the question */
	/* the wire's */
	bool enough, given_up;
	CURL *easy;
	uint64_t sent, uploaded; /* bytes of the bodies, in and out */
	int64_t marked;          /* when `sent` was looked at; 0: not yet */
	uint64_t sent_then;
	char text[CURL_ERROR_SIZE];
};

struct wire;

int wire_new(const struct client_options *, struct gauge *, struct wire **ret);
struct wire *wire_free(struct wire *);
void wire_start(struct wire *, struct client_attempt *);
/* What an attempt that started then says of how much the server bears. */
void wire_pace(struct wire *, int64_t started, bool slower);
/* The server has given an answer that is no complaint: it is there. */
void wire_reached(struct wire *);
bool wire_is_reached(const struct wire *);
/* Attempts under way, in line, and how many may be under way. */
void wire_count(struct wire *, unsigned *running, unsigned *waiting, unsigned *allowed);
