#include "backends/s3/profile.h"

#include "backends/net/userfile.h"
#include "backends/s3/ini.h"
#include "backends/s3/keys.h"
#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct profile_name {
	const char *parent, *key;
	enum profile_key is;
} names[] = {
	{NULL, "aws_access_key_id", PROFILE_ID},
	{NULL, "aws_secret_access_key", PROFILE_SECRET},
	{NULL, "aws_session_token", PROFILE_TOKEN},
	{NULL, "aws_security_token", PROFILE_TOKEN},
	{NULL, "region", PROFILE_REGION},
	{NULL, "aws_region", PROFILE_REGION}, /* netcdf-c up to 4.9.3 */
	{NULL, "endpoint_url", PROFILE_ENDPOINT},
	{NULL, "credential_process", PROFILE_PROCESS},
	{NULL, "web_identity_token_file", PROFILE_WEB_TOKEN},
	{NULL, "role_arn", PROFILE_ROLE},
	{NULL, "role_session_name", PROFILE_SESSION_NAME},
	{NULL, "provider_profile", PROFILE_SOURCE},
	{NULL, "credential_source", PROFILE_CREDENTIAL_SOURCE},
	{NULL, "sso_session", PROFILE_SSO},
	{NULL, "sso_start_url", PROFILE_SSO_URL},
	{NULL, "ca_bundle", PROFILE_CA},
	{NULL, "services", PROFILE_SERVICES},
	{"s3", "addressing_style", PROFILE_ADDRESSING},
	{"s3", "endpoint_url", PROFILE_S3_ENDPOINT},
};

struct profile_reader {
	const char *kind, *name; /* "[kind name]"; "[name]" as well if kind is "profile" */
	struct profile *to;
	bool found;
};

static bool
same(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !strncasecmp(text, word, len);
}

/* "profile x", "profile \"x\"" or "x". */
static bool
is_section(const struct profile_reader *r, const char *text, size_t len)
{
	size_t kind = strlen(r->kind);
	bool has_kind = len > kind && !strncasecmp(text, r->kind, kind) &&
			(text[kind] == ' ' || text[kind] == '\t');
	if (!has_kind && strcmp(r->kind, "profile") != 0)
		return false;
	if (has_kind) {
		text += kind;
		len -= kind;
		while (len && (*text == ' ' || *text == '\t')) {
			text++;
			len--;
		}
	}
	if (len >= 2 && (*text == '"' || *text == '\'') && text[len - 1] == *text) {
		text++;
		len -= 2;
	}
	return strlen(r->name) == len && !memcmp(text, r->name, len);
}

static int
set(struct profile *p, enum profile_key k, const struct ini_entry *e)
{
	char *value = strndup(e->value, e->value_len);
	if (!value)
		return err_set(-ENOMEM, "no memory for a profile");
	secret_free(p->of[k]);
	p->of[k] = value;
	return 0;
}

static int
read_entry(void *arg, const struct ini_entry *e)
{
	struct profile_reader *r = arg;
	if (!is_section(r, e->section, e->section_len))
		return 0;
	r->found = true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct profile_name *n = &names[i];
		bool right_parent = n->parent
					    ? e->parent && same(e->parent, e->parent_len, n->parent)
					    : !e->parent;
		if (right_parent && same(e->key, e->key_len, n->key) && e->value_len)
			return set(r->to, n->is, e);
	}
	return 0;
}

int
profile_add(const char *text, size_t len, const char *name, struct profile *ret)
{
	struct profile_reader reader = {"profile", name, ret, false};
	int r = ini_parse(text, len, read_entry, &reader);
	if (r == 0 && ret->of[PROFILE_SERVICES]) {
		CLEAN(clean_free) char *services = strdup(ret->of[PROFILE_SERVICES]);
		if (!services)
			return err_set(-ENOMEM, "no memory for a profile");
		r = ini_parse(text, len, read_entry,
			&(struct profile_reader){"services", services, ret, false});
	}
	return r < 0 ? r : reader.found ? 0 : PROFILE_UNKNOWN;
}

static int
add_file(const char *variable, const char *standard, const char *name, struct profile *ret)
{
	CLEAN(secret_buf_free) struct buf text = {0};
	const char *given = getenv(variable);
	CLEAN(clean_free)
	char *path = !given || !*given                    ? userfile_at_home(NULL, standard)
		     : given[0] == '~' && given[1] == '/' ? userfile_at_home(NULL, given + 2)
							  : strdup(given);
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	int r = userfile_read(path, &text);
	if (r == USERFILE_NONE || (r == 0 && !text.len))
		return PROFILE_UNKNOWN;
	return r < 0 ? r : profile_add((char *)text.data, text.len, name, ret);
}

int
profile_read(const char *name, struct profile *ret)
{
	struct profile p = {0};
	int config = add_file("AWS_CONFIG_FILE", ".aws/config", name, &p);
	int r = config < 0 ? config
			   : add_file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", name, &p);
	if (r == PROFILE_UNKNOWN && config == 0)
		r = 0;
	if (r == 0)
		*ret = p;
	else
		profile_free(&p);
	return r;
}

void
profile_free(struct profile *p)
{
	for (int k = 0; k < PROFILE_KEYS; k++)
		secret_free(p->of[k]);
	*p = (struct profile){0};
}
