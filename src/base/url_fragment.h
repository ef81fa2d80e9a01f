/* The part of a store's URL behind '#', for url.c only. */
#pragma once

#include "base/url.h"

/* Takes "mode=zarr,s3&aws.profile=x" apart into url->mode and url->pair. Known keys are those of
 * NCZarr, and "W.…" for each wrapper W in url->wrappers, which must be known before. -EINVAL,
 * -ENOMEM; url is freed by the caller either way. */
int fragment_parse(const char *fragment, struct url *url);
/* Whether a key of a query or fragment names something that only its owner may know. */
bool fragment_key_is_secret(const char *key, size_t len);
int fragment_refuse_secret(const char *key, size_t len);
/* text[0..len) with each %XX replaced by its byte, as a new string. Caller frees. -EINVAL: '%'
 * without two digits, or %00. */
int fragment_decode(const char *text, size_t len, char **ret);
