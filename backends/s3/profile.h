/* A profile of ~/.aws/config and ~/.aws/credentials (AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE
 * name others). The latter wins, as everywhere. Holds secrets: profile_free wipes them. */
#pragma once

#include <stddef.h>

enum profile_key {
	PROFILE_ID,
	PROFILE_SECRET,
	PROFILE_TOKEN,
	PROFILE_REGION,
	PROFILE_ENDPOINT,
	PROFILE_PROCESS,
	PROFILE_WEB_TOKEN,
	PROFILE_ROLE,
	PROFILE_SESSION_NAME,
	PROFILE_SOURCE,
	PROFILE_CREDENTIAL_SOURCE,
	PROFILE_SSO,
	PROFILE_SSO_URL,
	PROFILE_CA,
	PROFILE_SERVICES,
	PROFILE_ADDRESSING, /* of s3 */
	PROFILE_S3_ENDPOINT,
	PROFILE_KEYS
};

struct profile {
	char *of[PROFILE_KEYS]; /* NULL: not said */
};

enum profile_outcome { PROFILE_UNKNOWN = 1 };

/* Adds what a file of these bytes says of profile `name` to ret. 0, PROFILE_UNKNOWN or -ENOMEM. */
int profile_add(const char *text, size_t len, const char *name, struct profile *ret);
/* 0, PROFILE_UNKNOWN: no file has it, or -errno. ret is empty unless 0. */
int profile_read(const char *name, struct profile *ret);
void profile_free(struct profile *);
