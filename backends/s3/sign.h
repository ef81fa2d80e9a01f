/* Signature Version 4 of AWS: what proves the sender of a request. As AWS documents it for S3: the
 * path is encoded once and not tidied, so keys of any bytes are signed as they are. No I/O; any
 * thread may call. */
#pragma once

#include "base/buf.h"
#include "backends/s3/keys.h"

#include <stdint.h>

struct sign_pair {
	const char *name, *value; /* plain, not encoded */
};

struct sign_request {
	const char *method;
	const char *path;  /* as sent: encoded, with its first '/' */
	const char *query; /* as sent, from sign_query; "" if none */
	/* Lower-case names in the order of strcmp. `host` must be among them, and all that begin
	 * with "x-amz-". */
	const struct sign_pair *headers;
	size_t nheaders;
	const char
		*payload; /* what x-amz-content-sha256 says; SIGN_UNSIGNED or the SHA-256 in hex */
	int64_t when;     /* seconds since 1970: the server's clock */
};

#define SIGN_UNSIGNED "UNSIGNED-PAYLOAD"
enum { SIGN_DATE = 17, SIGN_HASH = 65 };

/* "20150830T123600Z", what x-amz-date says. */
void sign_date(int64_t when, char ret[SIGN_DATE]);
/* 0 or -EIO. */
int sign_hash(struct span, char ret[SIGN_HASH]);

/* Appends "a=b&c=d", encoded, in the order that is signed. Rearranges pairs. 0 or -ENOMEM. */
int sign_query(struct sign_pair *pairs, size_t n, struct buf *ret);

/* Keeps the key of the day, which costs four hashes. */
struct signer;
/* service: "s3". NULL: no memory. */
struct signer *signer_new(const char *service);
struct signer *signer_free(struct signer *); /* NULL is allowed; returns NULL */
/* Appends the value of the header Authorization. 0 or -errno. */
int signer_sign(struct signer *, const struct sign_request *, const char *region,
	const struct s3_keys *, struct buf *ret);
