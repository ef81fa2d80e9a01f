/* The keys of a store, found where the user keeps them and fetched anew before they expire. In this
 * order: a profile that was named (URL, option, rc file), the environment, AWS_PROFILE or
 * "default", the container's service, a web identity, the machine's own role. The source that once
 * gave keys is asked again later, no other.
 *
 * Any thread may call. One fetches at a time; meanwhile others go on with keys that are still good,
 * or wait. */
#pragma once

#include "backends/s3/keys.h"
#include "base/clock.h"

#include <stddef.h>

struct client;
struct settings;
struct credentials;

/* Borrows both. 0 or -ENOMEM. */
int credentials_new(const struct settings *, struct client *, struct credentials **ret);
struct credentials *credentials_free(struct credentials *); /* NULL is allowed; returns NULL */

/* Keys that are good now; *ret is NULL where nothing is to be signed. 0, or -errno: nothing was
 * found (-EINVAL), or a source failed. */
int credentials_get(struct credentials *, int64_t deadline, struct cancel *, struct s3_keys **ret);
/* The server says that these have expired or are not known: they are fetched anew by the next get,
 * if they can be. Returns whether that may help. */
bool credentials_renew(struct credentials *, const struct s3_keys *);
/* Where the keys that are asked for came from, for messages: "the environment", "profile 'x' of
 * ~/.aws"; "" before there were any. */
void credentials_origin(struct credentials *, char *ret, size_t size);
