/* Places where keys may come from. Each is asked for itself; credentials.c knows their order. They
 * may wait for programs and services, never longer than until the deadline. */
#pragma once

#include "backends/s3/keys.h"
#include "backends/s3/settings.h"
#include "base/clock.h"

struct client;

struct provider_ask {
	const struct settings *settings;
	struct client *client;
	int64_t deadline;
	struct cancel *cancel; /* or NULL */
};

enum provider_outcome { PROVIDER_NONE = 1 };

/* 0; PROVIDER_NONE: nothing of the kind is set up here; -errno: it is, and it failed. */
typedef int provider_fn(const struct provider_ask *, struct s3_keys **ret);

provider_fn provider_environment, provider_profile, provider_container, provider_web_identity,
	provider_machine;

/* --- for sources --- */

/* Which role the caller takes: the token in the file, from another service, proves it. */
struct provider_role {
	const char *arn, *token_file;
	const char *session_name; /* NULL: ours */
};
int provider_assume(
	const struct provider_ask *, const struct provider_role *, struct s3_keys **ret);

/* Of the JSON that credential_process, containers and machines answer with: AccessKeyId,
 * SecretAccessKey, SessionToken or Token, Expiration. 0, or -EINVAL with a text that repeats
 * nothing of it. */
int provider_read_json(struct span, struct s3_keys **ret);
/* The same from the XML of AssumeRole and AssumeRoleWithWebIdentity. */
int provider_read_xml(struct span, struct s3_keys **ret);
/* Runs the command line (no shell: words, quotes and backslashes as a shell takes them) and appends
 * what it prints. 0 or -errno. */
int provider_run(const char *command, int64_t deadline, struct cancel *, struct buf *ret);
