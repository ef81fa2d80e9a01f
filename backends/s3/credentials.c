#include "backends/s3/credentials.h"

#include "backends/s3/provider.h"
#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const int64_t EARLY = 300 * SECOND; /* fetched anew so long before they expire */
static const int64_t AGAIN_AFTER =
	10 * SECOND; /* a source that failed, while the old keys still last */

struct credentials {
	const struct settings *settings;
	struct client *client;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t fetched;
	bool fetching;
	bool given_up;        /* the last fetch was cancelled, and says nothing */
	bool anonymous;       /* nothing is to be signed */
	bool refused;         /* the server did not take the present keys */
	bool old;             /* they had expired when they were fetched */
	struct s3_keys *keys; /* or NULL */
	provider_fn *source;  /* that gave keys; NULL: none yet */
	int64_t next_fetch;   /* clock_now() clock; not before that */
	struct err err;       /* of the last fetch */
};

int
credentials_new(const struct settings *s, struct client *client, struct credentials **ret)
{
	struct credentials *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "no memory for credentials");
	c->settings = s;
	c->client = client;
	pthread_mutex_init(&c->lock, NULL);
	clock_cond_init(&c->fetched);
	*ret = c;
	return 0;
}

struct credentials *
credentials_free(struct credentials *c)
{
	if (!c)
		return NULL;
	keys_unref(c->keys);
	pthread_cond_destroy(&c->fetched);
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}

static int
nothing_found(void)
{
	return err_set(-EINVAL,
		"no credentials in the environment, in ~/.aws or from this machine; "
		"for public data say -o profile=anon");
}

/* Asks one source after the other. PROVIDER_NONE: nothing is to be signed, since what most people
 * read of Google's is public. */
static int
search(const struct provider_ask *a, provider_fn **source, struct s3_keys **ret)
{
	static provider_fn *const named[] = {provider_profile, NULL};
	static provider_fn *const all[] = {provider_environment, provider_profile,
		provider_container, provider_web_identity, provider_machine, NULL};
	static provider_fn *const google[] = {provider_environment, NULL};
	const struct settings *s = a->settings;
	provider_fn *const *list = s->profile_named ? named : s->address.google ? google : all;
	for (; *list; list++) {
		int r = (*list)(a, ret);
		if (r == 0)
			*source = *list;
		if (r <= 0)
			return r;
	}
	if (s->address.google && !s->profile_named)
		return PROVIDER_NONE;
	if (s->profile_named)
		return err_set(-EINVAL, "profile '%s' has no keys", s->profile_name);
	return nothing_found();
}

/* Not under the lock. */
static void
fetch(struct credentials *c, provider_fn *source, int64_t deadline, struct cancel *cancel)
{
	const struct provider_ask a = {c->settings, c->client, deadline, cancel};
	CLEAN(keys_unrefp) struct s3_keys *old = NULL;
	struct s3_keys *new = NULL;
	int r = source ? source(&a, &new) : search(&a, &source, &new);
	bool anonymous = r > 0 && !source;
	if (r > 0 && !anonymous)
		r = nothing_found();
	LOCKED(&c->lock) {
		c->fetching = false;
		c->given_up = r < 0 && cancelled(cancel);
		c->next_fetch = clock_now() + (c->given_up ? 0 : AGAIN_AFTER);
		c->anonymous = anonymous;
		if (r >= 0) {
			old = c->keys;
			c->keys = new;
			c->refused = false;
			c->old = new &&new->expires <= clock_wall();
			c->source = source;
		} else {
			err_save(r, &c->err);
		}
		pthread_cond_broadcast(&c->fetched);
	}
}

enum state { GOOD, LATE, GONE };

/* The lock is held. LATE: good, but should be fetched anew. */
static enum state
state(const struct credentials *c)
{
	if (c->anonymous)
		return GOOD;
	if (!c->keys || c->refused)
		return GONE;
	int64_t now = clock_wall();
	if (c->keys->expires == INT64_MAX || now < c->keys->expires - EARLY)
		return GOOD;
	/* Where there are no better ones the server is to say whether they are good: our clock may
	 * be wrong. */
	return now < c->keys->expires || c->old ? LATE : GONE;
}

/* The lock is held. */
static void
wait_a_little(struct credentials *c)
{
	int64_t until = clock_now() + SECOND / 10; /* the cancel flag wants to be looked at */
	struct timespec t = {until / SECOND, until % SECOND};
	pthread_cond_timedwait(&c->fetched, &c->lock, &t);
}

int
credentials_get(
	struct credentials *c, int64_t deadline, struct cancel *cancel, struct s3_keys **ret)
{
	*ret = NULL;
	if (c->settings->anonymous)
		return 0;
	for (bool fetched = false;; fetched = true) {
		provider_fn *source = NULL;
		bool mine = false;
		LOCKED(&c->lock) {
			enum state s = state(c);
			while (s == GONE && c->fetching) {
				int r = zmap_patience(deadline, cancel);
				if (r < 0)
					return err_add(r, "waiting for credentials");
				wait_a_little(c);
				s = state(c);
				fetched = !c->fetching && !c->given_up;
			}
			bool due = s == GONE ? !fetched : s == LATE && clock_now() >= c->next_fetch;
			mine = due && !c->fetching;
			if (!mine && s == GONE)
				return err_restore(&c->err);
			if (!mine) {
				*ret = keys_ref(c->keys);
				return 0;
			}
			c->fetching = true;
			source = c->source;
		}
		fetch(c, source, deadline, cancel);
	}
}

bool
credentials_renew(struct credentials *c, const struct s3_keys *refused)
{
	bool may_help = false;
	LOCKED(&c->lock) {
		may_help = c->source != provider_environment;
		if (may_help && c->keys == refused)
			c->refused = true;
	}
	return may_help;
}

void
credentials_origin(struct credentials *c, char *ret, size_t size)
{
	const struct settings *s = c->settings;
	const char *role = getenv("AWS_ROLE_ARN"), *google = getenv("GS_ACCESS_KEY_ID");
	provider_fn *source = NULL;
	LOCKED(&c->lock)
		source = c->source;
	if (source == provider_environment)
		snprintf(ret, size, "$%s",
			s->address.google && google && *google ? "GS_ACCESS_KEY_ID"
							       : "AWS_ACCESS_KEY_ID");
	else if (source == provider_profile)
		snprintf(ret, size, "profile '%s' of ~/.aws", s->profile_name);
	else if (source == provider_web_identity)
		snprintf(ret, size, "role '%s' by web identity", role ? role : "");
	else
		snprintf(ret, size, "%s",
			source == provider_container ? "the container's service for credentials"
			: source == provider_machine ? "this machine's role"
						     : "");
}
