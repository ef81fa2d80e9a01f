/* Where the bytes of an answer go: which of them were asked for, how many there may be, and what
 * remains to be asked for when the answer broke off. One per ask, kept over its attempts. */
#pragma once

#include "backends/net/head.h"

struct body {
	const struct client_ask *ask;
	size_t start;           /* ask->into->len before */
	size_t got;             /* bytes behind it that are right so far */
	char etag[CLIENT_TEXT]; /* of the object they are of; "": they are of no use to another
				   attempt */
	bool placed;            /* from_end: the answer said where that is */
	uint64_t first;         /* placed: the offset of the first byte asked for */
	bool whole;             /* all of the object comes, and is wanted (ask->whole) */
	/* of this attempt */
	bool begun;
	bool tail;        /* from_end, and the size is not known: what came last is kept */
	uint64_t skip;    /* bytes of the answer that are passed over */
	uint64_t want;    /* that are taken then; UINT64_MAX: all */
	bool unsized;     /* nor is it known how many bytes will come */
	uint64_t missing; /* that were asked for, and the answer does not have */
};

enum { BODY_ENOUGH = 1 };

/* Before each attempt. Keeps what the last one got, if that can be used. */
void body_attempt(struct body *);
/* Forgets what was got. */
void body_restart(struct body *);
/* The value of Range; "": none. ret holds BODY_RANGE bytes. */
enum { BODY_RANGE = 64 };
void body_range(const struct body *, char *ret);

/* With all lines of a 200 or 206, before its first byte. 0; -EIO: an answer to something else;
 * -EFBIG, -ENOMEM. */
int body_begin(struct body *, const struct head *);
/* 0; BODY_ENOUGH: the rest of the answer is of no interest; -EFBIG, -ENOMEM. */
int body_take(struct body *, const void *data, size_t len);
/* The answer is whole as far as HTTP can tell. 0, or -EIO: it is not what was asked for. */
int body_end(struct body *);
