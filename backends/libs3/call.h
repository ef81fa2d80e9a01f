/* What libs3.c (the store), libs3_call.c (one request, tried again where that is right, and the
 * connections it goes over) and libs3_list.c (listings, page by page) share. libs3 knows neither
 * deadlines nor cancellation, and takes a body that breaks off for a whole one: that is made good
 * here. Any thread may call. */
#pragma once

#include "backends/libs3/library.h"
#include "backends/s3/s3_request.h"

struct lanes;

int lanes_new(unsigned most, struct lanes **ret);
struct lanes *lanes_free(struct lanes *); /* NULL is allowed; returns NULL */

struct libs3 {
	struct zmap z;
	struct bucket bucket; /* of which its settings and credentials are used */
	char *host;
	struct lanes *lanes;
	atomic_ullong requests, retries;
	atomic_bool reached; /* as the other client has it, whose rules for retries hold here */
};

struct libs3_call;
/* Hands the request to libs3, with call as callbackData. */
typedef void call_begin_fn(const S3BucketContext *, S3RequestContext *, struct libs3_call *);

struct libs3_call {
	/* what is asked */
	const char *key; /* whole; NULL: of no single object */
	call_begin_fn *begin;
	int64_t deadline;
	struct cancel *cancel;
	S3GetConditions conditions;
	uint64_t off, len; /* len 0: all */
	struct buf *into;  /* as in struct zmap_get */
	size_t max;
	struct span send;
	void *arg; /* begin's own */
	/* what came */
	bool answered;         /* stat and length are set */
	struct zmap_stat stat; /* size is that of the answer */
	int result;            /* of callbacks; < 0 ends the attempt, its text kept in why */
	char why[256];
	char request_id[128];
	/* call_run's own */
	size_t start, sent, got;
	int64_t heard;
	bool over;
	S3Status status;
};

/* 0, ZMAP_ABSENT, ZMAP_SAME, ZMAP_CHANGED or -errno. */
int call_run(struct libs3 *, struct libs3_call *);
/* The names below a whole prefix, as zmap_list. */
int call_list(struct libs3 *, const char *prefix, int64_t deadline, zmap_list_fn *, void *arg);
/* For every request's handler. */
S3ResponsePropertiesCallback call_on_properties;
S3ResponseCompleteCallback call_on_complete;
/* For callbacks: the attempt ends, and with it the call, with the failure r whose text is set. */
S3Status call_give_up(struct libs3_call *, int r);
