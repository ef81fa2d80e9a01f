/* Keys that the user keeps on this machine: environment, profiles. */
#include "backends/s3/provider.h"

#include "base/err.h"
#include "store/zmap.h"

#include <errno.h>
#include <string.h>

static int
only_one(const char *id, const char *secret)
{
	return err_set(-EINVAL, "%s and %s belong together, and only one is set", id, secret);
}

static int
make(const char *id, const char *secret, const char *token, struct s3_keys **ret)
{
	*ret = keys_new(id, secret, token, INT64_MAX);
	return *ret ? 0 : err_set(-ENOMEM, "no memory for keys");
}

/* Google's keys by the names that GDAL uses, or by Amazon's where they say themselves that they are
 * Google's. */
static int
google_environment(struct s3_keys **ret)
{
	const char *id = getenv("GS_ACCESS_KEY_ID"), *secret = getenv("GS_SECRET_ACCESS_KEY");
	bool has_id = id && *id, has_secret = secret && *secret;
	if (has_id != has_secret)
		return only_one("GS_ACCESS_KEY_ID", "GS_SECRET_ACCESS_KEY");
	if (!has_id) {
		id = getenv("AWS_ACCESS_KEY_ID");
		secret = getenv("AWS_SECRET_ACCESS_KEY");
		if (!id || strncmp(id, "GOOG", 4) != 0 || !secret || !*secret)
			return PROVIDER_NONE;
	}
	return make(id, secret, NULL, ret);
}

int
provider_environment(const struct provider_ask *a, struct s3_keys **ret)
{
	static const char *const tokens[] = {"AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", NULL};
	const char *id = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
	if (a->settings->address.google)
		return google_environment(ret);
	bool has_id = id && *id, has_secret = secret && *secret;
	if (has_id != has_secret)
		return only_one("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
	return has_id ? make(id, secret, settings_env(tokens), ret) : PROVIDER_NONE;
}

static int
run_process(const struct provider_ask *a, const char *command, struct s3_keys **ret)
{
	CLEAN(secret_buf_free) struct buf answer = {0};
	int r = provider_run(command, a->deadline, a->cancel, &answer);
	if (r == 0)
		r = provider_read_json(buf_span(&answer), ret);
	return r < 0 ? err_add(r, "credential_process") : 0;
}

/* What a profile may hold that is of no use here. */
static int
refuse(const struct profile *p)
{
	const char *what = p->of[PROFILE_SSO] || p->of[PROFILE_SSO_URL] ? "single sign-on"
			   : p->of[PROFILE_ROLE]                        ? "a role to assume"
									: NULL;
	return what ? err_set(-EINVAL,
			      "it wants %s; let another tool do that: credential_process = aws "
			      "configure export-credentials --profile NAME",
			      what)
		    : PROVIDER_NONE;
}

int
provider_profile(const struct provider_ask *a, struct s3_keys **ret)
{
	CLEAN(profile_free) struct profile p = {0};
	const struct settings *s = a->settings;
	int r = profile_read(s->profile_name, &p);
	if (r != 0)
		return r < 0 ? r : PROVIDER_NONE;
	if (p.of[PROFILE_ID] && p.of[PROFILE_SECRET])
		r = make(p.of[PROFILE_ID], p.of[PROFILE_SECRET], p.of[PROFILE_TOKEN], ret);
	else if (p.of[PROFILE_WEB_TOKEN] && p.of[PROFILE_ROLE])
		r = provider_assume(a,
			&(struct provider_role){p.of[PROFILE_ROLE], p.of[PROFILE_WEB_TOKEN],
				p.of[PROFILE_SESSION_NAME]},
			ret);
	else if (p.of[PROFILE_PROCESS])
		r = run_process(a, p.of[PROFILE_PROCESS], ret);
	else
		r = refuse(&p);
	return r < 0 ? err_add(r, "profile '%s'", s->profile_name) : r;
}

int
provider_web_identity(const struct provider_ask *a, struct s3_keys **ret)
{
	const struct provider_role role = {getenv("AWS_ROLE_ARN"),
		getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), getenv("AWS_ROLE_SESSION_NAME")};
	if (!role.arn || !*role.arn || !role.token_file || !*role.token_file)
		return PROVIDER_NONE;
	return provider_assume(a, &role, ret);
}
