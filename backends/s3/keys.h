/* What requests are signed with. Immutable and counted: a request keeps the keys it began with
 * while others are fetched. They lie in pages of their own, which core dumps leave out, and are
 * wiped when the last owner lets go. Any thread may call. */
#pragma once

#include "base/clean.h"

#include <stdatomic.h>
#include <stdint.h>

struct s3_keys {
	atomic_uint refs;
	const char *id, *secret;
	const char *token; /* of a session; NULL: none */
	int64_t expires;   /* ns since 1970; INT64_MAX: never */
};

/* Copies all texts; token may be NULL or "". NULL: no memory. */
struct s3_keys *keys_new(const char *id, const char *secret, const char *token, int64_t expires);
struct s3_keys *keys_ref(struct s3_keys *);
/* Returns NULL. NULL is allowed. */
struct s3_keys *keys_unref(struct s3_keys *);
CLEAN_DEFINE(struct s3_keys, keys_unref)

/* For a text or a buffer on the heap that holds a secret: wiped, then freed. */
void secret_free(char *text);
CLEAN_DEFINE(char, secret_free)
struct buf;
void secret_buf_free(struct buf *);
