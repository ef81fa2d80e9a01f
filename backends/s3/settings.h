/* All that is said about a store, gathered once from its URL, the options, the environment,
 * netcdf-c's rc files and the profiles of AWS; constant afterwards, so every thread may read it.
 * What is said more explicitly comes first: URL and options, then rc files, then environment, then
 * profile. */
#pragma once

#include "backends/s3/address.h"
#include "backends/s3/profile.h"
#include "store/zmap.h"

struct settings {
	struct address address;
	char *profile_name; /* as said explicitly, or by AWS_PROFILE, or "default" */
	bool profile_named; /* explicitly: it must exist, and comes before the environment's keys */
	bool anonymous;     /* never sign */
	bool requester_pays;
	enum zmap_verify verify;
	char *ca_bundle; /* NULL: what the client finds */
};

/* 0, or -errno with the reason. */
int settings_gather(const struct url *, const struct zmap_options *, struct settings *ret);
void settings_free(struct settings *);

/* The first of the environment's variables that is set and not empty, or NULL. List ends with
 * NULL. */
const char *settings_env(const char *const *names);
