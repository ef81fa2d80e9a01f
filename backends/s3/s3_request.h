/* One request to S3: addressed, signed, sent by the HTTP client, its answer understood. What a
 * server teaches on the way (another region, the right time, that keys have expired) is put right
 * once in each request and remembered for the store. */
#pragma once

#include "backends/net/client.h"
#include "backends/s3/credentials.h"
#include "backends/s3/settings.h"
#include "backends/s3/sign.h"
#include "store/zmap.h"

#include <pthread.h>
#include <stdatomic.h>

enum { S3_MUTE_FROM = 3, S3_PUT_ID = 33 };

/* What all requests of a store share. */
struct bucket {
	struct settings settings;
	struct client *client;
	struct signer *signer;
	struct credentials *credentials;
	atomic_llong clock_ahead; /* the server's clock minus ours, ns */
	atomic_llong seen_at; /* clock_now() of the last answer that proves the bucket to be there;
				 0: none yet */
	atomic_uint refusals; /* of x-amz-checksum-mode, since it was not refused last;
				 S3_MUTE_FROM: it is no longer sent */
	pthread_mutex_t lock; /* guards region */
	char region[64];
};

/* Threads start here: after any fork. 0 or -errno; ret is to be closed in both cases. */
int bucket_open(const struct url *, const struct zmap_options *, struct bucket *ret);
void bucket_close(struct bucket *);

struct s3_request {
	struct bucket *bucket;
	enum client_kind kind;
	const char *key;  /* below the store's prefix; NULL: the bucket itself. Borrowed */
	struct buf query; /* from sign_query; owned */
	struct span send; /* of a PUT */
	const char *if_match, *if_none_match;
	const char *put_id;         /* that the object is to keep, of a PUT; or NULL */
	const struct zmap_get *get; /* of a GET of a key, or NULL */
	struct buf *into;           /* for bodies of others; or NULL */
	size_t max;
	unsigned tries; /* attempts at most; 0: as struct client_ask has it */
	int64_t deadline;
	int64_t put_off; /* as struct client_ask has it */
	struct cancel *cancel;

	/* of s3_request.c */
	unsigned requests;       /* as struct client_reply has it, when it is over */
	char told_id[S3_PUT_ID]; /* that the object keeps, likewise; "": it is of no such put */
	size_t start;            /* of the body in get->into */
	struct s3_keys *keys;    /* that the last attempt was signed with */
	char region[64];         /* and for */
	int64_t ahead;           /* and by which clock */
	char payload[SIGN_HASH];
	bool moved, renewed, timed; /* what has been put right */
	bool asks_sum;              /* the last attempt, for the checksum that the store keeps */
	bool plain;                 /* no further one does, since that was refused */
	bool refused;               /* the last attempt, as one with an unknown header may be */
	bool resent;                /* since it came damaged */
	bool explained;             /* err_text() already says what S3 said */
};

/* Waits. 0, a positive outcome or -errno, with HTTP status, S3's code and the request's id in the
 * text. ret may be NULL. */
int s3_request_run(struct s3_request *, struct zmap_stat *ret);
/* The request lives until done is called, then belongs to the thread that done tells. */
void s3_request_submit(struct s3_request *, client_done_fn *done, void *arg);
/* What done was told, made what s3_request_run returns. */
int s3_request_end(
	struct s3_request *, int result, const struct client_reply *, struct zmap_stat *ret);
void s3_request_free(struct s3_request *); /* what it holds, not itself */

/* Asks whether the bucket is there at all. 0 (also where that cannot be told), or -EIO. */
int s3_request_probe(struct bucket *, int64_t deadline, struct cancel *);
