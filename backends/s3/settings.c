#include "backends/s3/settings.h"

#include "backends/s3/ncrc.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *
settings_env(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);
		if (value && *value)
			return value;
	}
	return NULL;
}

static int
copy(char **to, const char *text)
{
	free(*to);
	*to = text ? strdup(text) : NULL;
	return text && !*to ? err_set(-ENOMEM, "no memory for settings") : 0;
}

/* The URL's word and the option of the same meaning: NULL if neither was said. */
static int
said(const struct url *u, const char *key, const char *option, const char **ret)
{
	const char *in_url = url_get(u, key);
	if (in_url && !*in_url)
		in_url = NULL;
	if (in_url && option && strcmp(in_url, option) != 0)
		return err_set(-EINVAL, "'%s=%s' of the URL contradicts option '%s=%s'", key,
			in_url, key + strlen("aws."), option);
	*ret = option ? option : in_url;
	return 0;
}

static char *
from_rc(const struct url *u, const char *key)
{
	return ncrc_get(&(struct ncrc_want){u->host, u->path, key});
}

/* NCZarr's "no" and "none", and "anon", which reads better. */
static bool
means_anonymous(const char *name)
{
	return !strcasecmp(name, "no") || !strcasecmp(name, "none") || !strcasecmp(name, "anon");
}

/* Google's store has names of its own for everything. */
static bool
is_google(const struct url *u)
{
	return !strncmp(u->scheme, "gs", 2) || u->mode & URL_GS3;
}

static int
choose_profile(const struct url *u, const struct zmap_options *o, struct settings *s)
{
	static const char *const variables[] = {"AWS_PROFILE", "AWS_DEFAULT_PROFILE", NULL};
	const char *name = NULL;
	int r = said(u, "aws.profile", o->profile, &name);
	CLEAN(clean_free) char *rc = r == 0 && !name ? from_rc(u, "AWS.PROFILE") : NULL;
	if (r < 0)
		return r;
	if (!name && rc && *rc)
		name = rc;
	s->profile_named = name;
	if (!name && !is_google(u))
		name = settings_env(variables);
	s->anonymous = name && means_anonymous(name);
	return copy(&s->profile_name, name ? name : "default");
}

/* A profile that was named must be there. */
static int
read_profile(const struct settings *s, bool google, struct profile *ret)
{
	if (s->anonymous || (google && !s->profile_named))
		return 0;
	int r = profile_read(s->profile_name, ret);
	bool must = s->profile_named || strcmp(s->profile_name, "default") != 0;
	if (r == PROFILE_UNKNOWN && must)
		return err_set(-EINVAL,
			"no profile '%s' in ~/.aws/config or ~/.aws/credentials ('anon' means no "
			"signature)",
			s->profile_name);
	return r < 0 ? r : 0;
}

static enum zmap_addressing
addressing_of(const char *text)
{
	return !text                      ? ZMAP_ADDRESSING_AUTO
	       : !strcmp(text, "path")    ? ZMAP_ADDRESSING_PATH
	       : !strcmp(text, "virtual") ? ZMAP_ADDRESSING_VIRTUAL
					  : ZMAP_ADDRESSING_AUTO;
}

static const char *
first(const char *a, const char *b)
{
	return a && *a ? a : b;
}

/* A store of Google's takes nothing from what is said about Amazon's but what was said for this
 * mount. */
static int
choose_address(const struct url *u, const struct zmap_options *o, const struct profile *p,
	struct settings *s)
{
	static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
	static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL};
	bool google = is_google(u);
	bool named = !strncmp(u->scheme, "http", 4); /* the URL's own host */
	const char *ignore = getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
	bool ignored = google || named || (ignore && !strcasecmp(ignore, "true"));
	struct address_wishes w = {.addressing = o->addressing};
	int r = said(u, "aws.endpoint", o->endpoint, &w.endpoint);
	if (r == 0)
		r = said(u, "aws.region", o->region, &w.region);
	CLEAN(clean_free) char *rc = r == 0 && !w.region ? from_rc(u, "AWS.REGION") : NULL;
	if (!w.endpoint && !ignored)
		w.endpoint = first(settings_env(endpoints),
			first(p->of[PROFILE_S3_ENDPOINT], p->of[PROFILE_ENDPOINT]));
	if (!w.region && !google)
		w.region = first(rc, first(settings_env(regions), p->of[PROFILE_REGION]));
	if (w.addressing == ZMAP_ADDRESSING_AUTO && !google)
		w.addressing = addressing_of(p->of[PROFILE_ADDRESSING]);
	return r < 0 ? r : address_find(u, &w, &s->address);
}

int
settings_gather(const struct url *u, const struct zmap_options *o, struct settings *ret)
{
	struct settings s = {.requester_pays = o->requester_pays, .verify = o->verify};
	struct profile p = {0};
	int r = choose_profile(u, o, &s);
	if (r == 0)
		r = read_profile(&s, is_google(u), &p);
	if (r == 0)
		r = choose_address(u, o, &p, &s);
	if (r == 0)
		r = copy(&s.ca_bundle, o->ca_bundle);
	if (r == 0 && !s.ca_bundle && !getenv("AWS_CA_BUNDLE"))
		r = copy(&s.ca_bundle, p.of[PROFILE_CA]);
	profile_free(&p);
	if (r < 0)
		settings_free(&s);
	else
		*ret = s;
	return r;
}

void
settings_free(struct settings *s)
{
	address_free(&s->address);
	free(s->profile_name);
	free(s->ca_bundle);
	*s = (struct settings){0};
}
