/* Places where keys may come from. Each is asked for itself; credentials.c knows their order. They may wait for programs and services,
 * never longer than until the deadline. */
#pragma once

#include "backends/s3/keys.h"
#include "backends/s3/settings.h"
#include "base/when.h"

struct client;

struct source_ask {
	const struct settings *settings;
	struct client *client;
	int64_t deadline;
	struct cancel *cancel; /* or NULL */
};

enum source_outcome { SOURCE_NONE = 1 };

/* 0; SOURCE_NONE: nothing of the kind is set up here; -errno: it is, and it failed. */
typedef int source_fn(const struct source_ask *, struct keys **ret);

source_fn source_environment, source_profile, source_container, source_web_identity, source_machine;

/* --- for sources --- */

/* Who is to be taken for whom: the token in the file, from another service, proves it. */
struct source_role {
	const char *arn, *token_file;
	const char *session_name; /* NULL: ours */
};
int source_assume(const struct source_ask *, const struct source_role *, struct keys **ret);

/* Of the JSON that credential_process, containers and machines answer with: AccessKeyId, SecretAccessKey, SessionToken or Token, Expiration.
 * 0, or -EINVAL with a text that repeats nothing of it. */
int source_read_json(struct span, struct keys **ret);
/* The same from the XML of AssumeRole and AssumeRoleWithWebIdentity. */
int source_read_xml(struct span, struct keys **ret);
/* Runs the command line (no shell: words, quotes and backslashes as a shell takes them) and appends what it prints. 0 or -errno. */
int source_run(const char *command, int64_t deadline, struct cancel *, struct buf *ret);
