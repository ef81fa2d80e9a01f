/* HTTP for stores: many requests at once over few connections, tried again where that is right.
 *
 * A client is owned by the store that made it, and has two threads. The loop moves bytes, and does
 * nothing else: no hook and no callback of a store runs on it, so neither a decoder nor a slow
 * signature stalls the network. The dispatcher looks after requests that were submitted: their
 * hooks between attempts, and their `done`. A client_call is looked after by the thread that calls.
 *
 * An ask is one operation, with one deadline; an attempt is one HTTP request. For each attempt
 * prepare() says what is sent (a signature made anew), and classify_response() may look at the
 * answer before the rules below do. Both run on the caller's thread or on the dispatcher, one at a
 * time for an ask; they may wait (fetch credentials by another client_call), though on the
 * dispatcher other requests wait with them. On failure they use err_set.
 *
 * What is tried again, after rand(0, min(20 s, 100 ms * 2^n)) or Retry-After: the status 429 500
 * 502 503 504; no connection, no answer, an answer that breaks off, stands still or comes by less
 * than CLIENT_RATE. A GET that broke off goes on where it stopped, by another connection, if the
 * object can be told to be the same (strong ETag), else from its start. 429 and 503 halve how many
 * requests go out at once; each answer that is none of them lets it grow again.
 *
 * How long: until the deadline. But there are CLIENT_FEW attempts at most as long as the server has
 * never given any other answer, since its address may be wrong; of answers that do not fit the
 * question; of credentials; and without a deadline.
 *
 * TLS is verified, redirects are never followed (classify_response() sees them), proxies are those
 * of the environment. */
#pragma once

#include "base/buf.h"
#include "base/clock.h"

struct client;

struct client_options {
	unsigned connections;  /* at once; 0: CLIENT_CONNECTIONS */
	const char *ca_bundle; /* file; NULL: $AWS_CA_BUNDLE, else the system's */
	bool tls_insecure;     /* certificates are not verified */
};

enum {
	CLIENT_CONNECTIONS = 128,
	CLIENT_FEW = 5,
	CLIENT_RATE = 1000, /* bytes a second, over as long as an answer may stand still */
};

/* What requests are counted by. */
enum client_kind {
	CLIENT_GET,
	CLIENT_HEAD,
	CLIENT_LIST,
	CLIENT_PUT,
	CLIENT_DELETE,
	CLIENT_OTHER, /* credentials */
	CLIENT_KINDS
};

/* One HTTP request while prepare() makes it. */
struct client_attempt;
/* The whole URL, percent-encoded: it is sent as it stands. Copied. Needed once in each prepare(). 0
 * or -ENOMEM. */
int client_url(struct client_attempt *, const char *url);
/* Copied. Not for Host (the URL's), Range, If-Match, If-None-Match and Content-Length, which the
 * client sends. An empty value is sent as an empty header. -EINVAL for control characters in
 * either. */
int client_header(struct client_attempt *, const char *name, const char *value);

enum { CLIENT_TEXT = 256, CLIENT_LOCATION = 4096, CLIENT_BODY_MAX = 1 << 16 };

/* What an object keeps of the put that made it. */
#define CLIENT_PUT_ID "x-amz-meta-zarrfs-put"

/* An answer. Texts are "" and numbers 0 where the server said nothing; what would not fit is "",
 * never cut. */
struct client_reply {
	unsigned attempt; /* which one it answers, as told to prepare() */
	/* How many were sent by now, for all attempts: curl sends one again by itself when a
	 * connection that lay idle dies before an answer. More than one: the server may have done
	 * what an earlier one asks for, and this answer is about what came of that. */
	unsigned requests;
	int status; /* of HTTP; 0: no whole answer came, and error says why */
	int error;  /* -errno when the answer is not whole (err_text() says why), whatever its
		       status; else 0 */
	char etag[CLIENT_TEXT];     /* as sent, quotes and W/ included */
	char checksum[CLIENT_TEXT]; /* x-amz-checksum-NAME, as NAME=VALUE; of several the
				       shortest */
	bool composite;             /* a checksum of the checksums of parts */
	char put_id[CLIENT_TEXT];   /* CLIENT_PUT_ID */
	char request_id[CLIENT_TEXT],
		region[CLIENT_TEXT]; /* x-amz-request-id, x-amz-bucket-region */
	char content_type[CLIENT_TEXT], content_encoding[CLIENT_TEXT];
	char location[CLIENT_LOCATION];
	int64_t modified;    /* Last-Modified, ns since 1970 */
	int64_t date;        /* the server's clock: ns since 1970 … */
	int64_t heard;       /* … and clock_wall() when it said so */
	int64_t age;         /* ns for which a cache had the answer */
	int64_t retry_after; /* ns from now; capped */
	bool sealed; /* encrypted by such keys that the ETag says nothing of the bytes (aws:kms, or
			a customer's) */
	bool sized;  /* size is known */
	uint64_t size; /* of the whole object: from Content-Range, or Content-Length of a whole
			  answer */
	/* What came with another status than 200, 204, 206 (at most CLIENT_BODY_MAX bytes of it),
	 * NUL-terminated behind len. Valid until the hook or callback that got the reply returns;
	 * by client_call: until client_reply_free. */
	struct buf body;
};

void client_reply_free(struct client_reply *); /* what it holds, not itself */
/* The latest moment at which the object was modified, by clock_wall(): the server's clock may be
 * ahead or behind. 0: not said. */
int64_t client_placed(const struct client_reply *);

/* What classify_response() makes of an answer. */
enum client_verdict {
	CLIENT_RULES, /* what the rules say: 200 204 206 → 0; 304 → ZMAP_SAME; 412 → ZMAP_CHANGED;
		       * 404 410 → ZMAP_ABSENT; 416 → 0 and no bytes; 401 403 → -EACCES; the list
		       * above → later; else -EIO */
	CLIENT_DONE,   /* *ret is the outcome: 0, positive, or -errno after err_set */
	CLIENT_AGAIN,  /* at once, with another prepare(): other region, clock or credentials. At
			  most 3 times an ask, then as CLIENT_RULES */
	CLIENT_LATER,  /* after a pause, as if the status were 503 but without fewer connections */
	CLIENT_SLOWER, /* as 503 */
};

struct client_hooks {
	/* attempt counts from 0. 0 or -errno, which ends the ask. */
	int (*prepare)(void *arg, unsigned attempt, struct client_attempt *);
	/* Called for each attempt, failed ones (status 0) included. What the body had in into (a
	 * 200) is there when error is 0. NULL: CLIENT_RULES. */
	enum client_verdict (*classify_response)(void *arg, const struct client_reply *, int *ret);
};

/* Borrowed until client_call returns or done is called; client_submit copies the struct itself. */
struct client_ask {
	enum client_kind kind;
	const char *method; /* NULL: by kind GET HEAD GET PUT DELETE GET */
	const struct client_hooks *hooks;
	void *arg;
	struct span send; /* PUT, POST: the body; sent with Content-Length */
	/* GET: which bytes, as in struct zmap_get. A server that ignores Range is asked once and
	 * read up to what is needed. */
	uint64_t off;
	size_t len;
	bool from_end;
	size_t whole;
	const char *if_match, *if_none_match; /* values of these headers, or NULL */
	/* Where the bytes of a 200 or 206 go, appended; untouched unless the outcome is 0. NULL:
	 * they are dropped. More than max: -EFBIG, never allocated. */
	struct buf *into;
	size_t max;
	int64_t deadline; /* clock_now() clock; 0: none */
	/* ns that the deadline is ahead after each byte that the server takes, and no attempt
	 * before had sent; 0: it stands */
	int64_t put_off;
	struct cancel *cancel;    /* looked at every 100 ms; or NULL */
	const atomic_bool *ahead; /* as long as it is true, others go first; or NULL */
	unsigned tries;           /* attempts at most; 0: as said above */
	bool nearby; /* on this machine or its link, where no proxy leads, nor should it see what is
			said */
	int64_t patience; /* ns for an attempt as a whole; 0: connect, first byte and progress have
			     their usual times */
};

/* Starts the threads: after any fork. 0 or -errno. */
int client_new(const struct client_options *, struct client **ret);
/* Nothing may be under way any more. NULL is allowed. */
struct client *client_free(struct client *);

/* Waits. The outcome; ret is the last answer (also on failure; freed by client_reply_free), or
 * NULL. */
int client_call(struct client *, const struct client_ask *, struct client_reply *ret);
/* reply is what client_call gives, until done returns. Called once, on the dispatcher, or on this
 * thread before client_submit returns when there is nothing to wait for. It may take locks and wake
 * others, but whatever takes long belongs elsewhere: behind it wait the client's other submitted
 * requests. */
typedef void client_done_fn(void *arg, int result, const struct client_reply *reply);
void client_submit(
	struct client *, const struct client_ask *, client_done_fn *done, void *done_arg);

/* ns to pause after attempt n (from 0): rand(0, min(20 s, 100 ms * 2^n)), no more than half of the
 * time that is left. All of that: it is too short for another attempt. */
int64_t client_pause(unsigned n, int64_t left);

/* Lines for .zarrfs/stats: requests by kind, bytes, retries, latencies. */
int client_stats(struct client *, struct buf *ret);

/* text[0..len) with all but unreserved characters (RFC 3986 2.3) as %XX, appended; keep_slash: '/'
 * stays. 0 or -ENOMEM. */
int client_encode(struct buf *ret, const char *text, size_t len, bool keep_slash);
