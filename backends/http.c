/* A plain web server, read-only: a key is a path below the store's URL. There are no listings, so
 * consolidated metadata must say what there is. An object's version is its ETag, or else when it
 * was modified, in whole seconds, and its size.
 *
 * Redirects are followed within the server that the URL names. A user with an entry in ~/.netrc
 * ($NETRC) or a token is known to that server only: no other ever sees it. */
#include "store/zmap.h"

#include "backends/net/libcurl.h"
#include "backends/net/auth.h"
#include "backends/net/client.h"
#include "backends/net/dated.h"
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct http {
	struct zmap z;
	struct client *client;
	char *base;           /* scheme, host and path, percent-encoded, no '/' at its end */
	char *query;          /* "" or "?…" */
	char *auth;           /* the value of Authorization, or NULL */
	atomic_bool no_head;  /* this server refuses HEAD */
	atomic_bool no_range; /* it sends all of an object of which a part was asked for */
	void (*warn)(const char *what);
};

/* One operation. */
struct http_part {
	struct http *h;
	const char *key;
	char *url; /* where it is now */
	const char *if_match, *if_none_match;
	size_t part; /* bytes asked for; 0: all, or to the end */
	bool of_array;
	struct zmap_stat stat;
	/* of submitted ones */
	zmap_done_fn *done;
	void *done_arg;
};

static void
request_done(struct http_part *q)
{
	free(q->url);
}

static int
request_init(struct http_part *q, struct zmap *z, const char *key)
{
	struct http *h = (struct http *)z;
	CLEAN(buf_free) struct buf url = {0};
	*q = (struct http_part){.h = h, .key = key};
	int r = buf_addf(&url, "%s/", h->base);
	if (r == 0)
		r = client_encode(&url, key, strlen(key), true);
	if (r == 0)
		r = buf_addf(&url, "%s", h->query);
	if (r == 0 && !(q->url = strndup((char *)url.data, url.len)))
		r = err_set(-ENOMEM, "no memory for a URL");
	return r;
}

static void
take_stat(const struct client_reply *p, bool of_array, struct zmap_stat *ret)
{
	*ret = (struct zmap_stat){
		.size = p->size, .mtime = p->modified, .placed = client_placed(p)};
	if (*p->etag && strlen(p->etag) < sizeof ret->version)
		memcpy(ret->version, p->etag, strlen(p->etag) + 1);
	else if (!*p->etag && p->modified && p->sized)
		dated_version(p, of_array, ret->version);
}

/* --- what is sent --- */

static int
prepare(void *arg, unsigned attempt, struct client_attempt *a)
{
	struct http_part *q = arg;
	(void)attempt;
	int r = client_url(a, q->url);
	if (r == 0 && q->h->auth)
		r = client_header(a, "Authorization", q->h->auth);
	if (r == 0 && q->if_none_match && dated_settled(q->if_none_match))
		r = dated_unless_since(q->if_none_match, a);
	return r;
}

/* --- what comes back --- */

static char *
part(CURLU *u, CURLUPart what)
{
	char *text = NULL;
	curl_url_get(u, what, &text, CURLU_DEFAULT_PORT);
	return text;
}

static bool
same_part(CURLU *a, CURLU *b, CURLUPart what)
{
	char *x = part(a, what), *y = part(b, what);
	bool same = x && y && !strcasecmp(x, y);
	curl_free(x);
	curl_free(y);
	return same;
}

/* The rest of that URL may be what lets one in there. */
static int
elsewhere(CURLU *to)
{
	char *scheme = part(to, CURLUPART_SCHEME), *host = part(to, CURLUPART_HOST),
	     *port = part(to, CURLUPART_PORT);
	int r = err_set(-EIO,
		"the server sends to another one, which is not followed: '%s://%s:%s'",
		scheme ? scheme : "", host ? host : "", port ? port : "");
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	return r;
}

/* Sets `from` to the URL that was asked for, and `to` to what Location means, which may be relative
 * to it. false: it means nothing. */
static bool
resolve(const char *url, const char *location, CURLU *from, CURLU *to)
{
	if (!from || !to || curl_url_set(from, CURLUPART_URL, url, CURLU_PATH_AS_IS))
		return false;
	char *text = part(from, CURLUPART_URL);
	bool known = text && !curl_url_set(to, CURLUPART_URL, text, CURLU_PATH_AS_IS);
	curl_free(text);
	return known && *location && !curl_url_set(to, CURLUPART_URL, location, CURLU_PATH_AS_IS);
}

static bool
same_server(CURLU *a, CURLU *b)
{
	return same_part(a, b, CURLUPART_SCHEME) && same_part(a, b, CURLUPART_HOST) &&
	       same_part(a, b, CURLUPART_PORT);
}

/* The same path with a '/' behind it. */
static bool
is_directory_of(const char *url, const char *other)
{
	size_t n = strcspn(url, "?");
	return strncmp(url, other, n) == 0 && other[n] == '/' &&
	       (!other[n + 1] || other[n + 1] == '?');
}

static int
copy_url(CURLU *u, char **ret)
{
	char *text = part(u, CURLUPART_URL);
	*ret = text ? strdup(text) : NULL;
	int r = text && !*ret ? err_set(-ENOMEM, "no memory for a URL") : 0;
	curl_free(text);
	return r;
}

/* The URL that Location means. 0; ZMAP_ABSENT: the same with a '/', so there is a directory;
 * -errno: not to be followed. */
static int
redirected(const struct http_part *q, const char *location, char **ret)
{
	CURLU *from = curl_url(), *to = curl_url();
	int r;
	if (!resolve(q->url, location, from, to))
		r = err_set(-EIO, "the server says it is elsewhere, but not where");
	else if (!same_server(from, to))
		r = elsewhere(to);
	else
		r = copy_url(to, ret);
	if (r == 0 && *ret && is_directory_of(q->url, *ret))
		r = ZMAP_ABSENT;
	curl_url_cleanup(from);
	curl_url_cleanup(to);
	return r;
}

static enum client_verdict
follow(struct http_part *q, const struct client_reply *p, int *ret)
{
	char *url = NULL;
	*ret = redirected(q, p->location, &url);
	if (*ret) {
		free(url);
		return CLIENT_DONE;
	}
	free(q->url);
	q->url = url;
	return url ? CLIENT_AGAIN : CLIENT_RULES;
}

/* Not all servers know what If-Match and its like mean. */
static bool
conditions_failed(struct http_part *q, int *ret)
{
	char *version = q->stat.version;
	const char *match = q->if_match, *known = q->if_none_match;
	if (match && !dated_same(match, version)) {
		*ret = ZMAP_CHANGED;
		return true;
	}
	const bool same = known && *known && dated_same(known, version) &&
			  (dated_is_etag(known) || dated_settled(known));
	if (same || match)
		snprintf(version, ZMAP_VERSION, "%s", same ? known : match);
	*ret = ZMAP_SAME;
	return same;
}

/* Said once a server. */
static void
all_came(struct http *h)
{
	if (!atomic_exchange(&h->no_range, true) && h->warn)
		h->warn("the web server ignores Range: a reader of a part of an object gets all "
			"of it, up to that part");
}

static enum client_verdict
classify_response(void *arg, const struct client_reply *p, int *ret)
{
	struct http_part *q = arg;
	if (p->error)
		return CLIENT_RULES;
	take_stat(p, q->of_array, &q->stat);
	switch (p->status) {
	case 301:
	case 302:
	case 303:
	case 307:
	case 308: return follow(q, p, ret);
	case 200:
	case 206:
		if (*p->content_encoding && strcasecmp(p->content_encoding, "identity")) {
			*ret = err_set(-EIO, "the server sends it encoded as '%.32s', unasked",
				p->content_encoding);
			return CLIENT_DONE;
		}
		if (p->status == 200 && q->part && p->sized && p->size > q->part)
			all_came(q->h);
		return conditions_failed(q, ret) ? CLIENT_DONE : CLIENT_RULES;
	case 304:
		if (q->if_none_match)
			snprintf(q->stat.version, sizeof q->stat.version, "%s", q->if_none_match);
		return CLIENT_RULES;
	default: return CLIENT_RULES;
	}
}

static const struct client_hooks hooks = {prepare, classify_response};

/* --- operations --- */

/* Puts the request into q and what the client is to do into a. */
static int
ask_get(struct zmap *z, const struct zmap_get *g, struct http_part *q, struct client_ask *a)
{
	int r = request_init(q, z, g->key);
	if (r < 0)
		return r;
	q->if_match = g->if_match;
	q->if_none_match = g->if_none_match;
	q->part = g->len;
	q->of_array = g->of_array;
	*a = (struct client_ask){
		.kind = CLIENT_GET,
		.hooks = &hooks,
		.arg = q,
		.off = g->off,
		.len = g->len,
		.from_end = g->from_end,
		.whole = g->whole,
		/* a weak ETag never matches where that is asked for */
		.if_match = g->if_match && *g->if_match == '"' ? g->if_match : NULL,
		.if_none_match = g->if_none_match && dated_is_etag(g->if_none_match)
					 ? g->if_none_match
					 : NULL,
		.into = g->into,
		.max = g->max,
		.deadline = g->deadline,
		.cancel = g->cancel,
		.ahead = g->ahead,
	};
	return 0;
}

static int
http_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct http_part q;
	struct client_ask a;
	int r = ask_get(z, g, &q, &a);
	if (r == 0)
		r = client_call(q.h->client, &a, NULL);
	if (r >= 0 && r != ZMAP_ABSENT)
		*ret = q.stat;
	request_done(&q);
	return r;
}

static void
submitted_done(void *arg, int r, const struct client_reply *reply)
{
	struct http_part *q = arg;
	(void)reply;
	q->done(q->done_arg, r, &q->stat);
	request_done(q);
	free(q);
}

static void
http_submit(struct zmap *z, const struct zmap_get *g, zmap_done_fn *done, void *arg)
{
	struct client_ask a;
	struct http_part *q = malloc(sizeof *q);
	int r = q ? ask_get(z, g, q, &a) : err_set(-ENOMEM, "no memory for a request");
	if (r < 0) {
		done(arg, r, &(struct zmap_stat){0});
		if (q)
			request_done(q);
		free(q);
		return;
	}
	q->done = done;
	q->done_arg = arg;
	client_submit(q->h->client, &a, submitted_done, q);
}

/* Where HEAD is refused. */
static int
stat_by_get(struct zmap *z, const char *key, int64_t deadline, struct cancel *cancel,
	struct zmap_stat *ret)
{
	CLEAN(buf_free) struct buf byte = {0};
	return http_get(z,
		&(struct zmap_get){.key = key,
			.len = 1,
			.into = &byte,
			.max = 1,
			.deadline = deadline,
			.cancel = cancel},
		ret);
}

static int
http_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	struct http *h = (struct http *)z;
	struct http_part q;
	struct client_reply reply = {0};
	int64_t deadline = z->timeout ? clock_now() + z->timeout : 0;
	if (atomic_load(&h->no_head))
		return stat_by_get(z, key, deadline, cancel, ret);
	int r = request_init(&q, z, key);
	if (r == 0)
		r = client_call(h->client,
			&(struct client_ask){.kind = CLIENT_HEAD,
				.hooks = &hooks,
				.arg = &q,
				.deadline = deadline,
				.cancel = cancel},
			&reply);
	request_done(&q);
	client_reply_free(&reply);
	bool refused = r < 0 && (reply.status == 403 || reply.status == 405 || reply.status == 501);
	if (refused || (r == 0 && !reply.sized)) {
		r = stat_by_get(z, key, deadline, cancel, ret);
		if (r == 0)
			atomic_store(&h->no_head, true);
		return r;
	}
	if (r == 0)
		*ret = q.stat;
	return r;
}

static int
http_stats(struct zmap *z, struct buf *ret)
{
	return client_stats(((struct http *)z)->client, ret);
}

/* --- the store --- */

static void
http_close(struct zmap *z)
{
	struct http *h = (struct http *)z;
	client_free(h->client);
	free(h->base);
	free(h->query);
	auth_free(h->auth);
	free(h);
}

static int
set_place(struct http *h, const struct url *u)
{
	CLEAN(buf_free) struct buf base = {0};
	int r = buf_addf(&base, "%s://%s", u->scheme, u->host);
	if (r == 0)
		r = client_encode(&base, u->path, strlen(u->path), true);
	if (r < 0)
		return r;
	h->base = strndup((char *)base.data, base.len);
	if (!h->base || asprintf(&h->query, "%s%s", *u->query ? "?" : "", u->query) < 0) {
		h->query = NULL;
		return err_set(-ENOMEM, "no memory for a URL");
	}
	return 0;
}

extern const struct zmap_ops backend_http;

static int
http_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	const struct client_options o = {
		.connections = options->connections,
		.ca_bundle = options->ca_bundle,
		.tls_insecure = options->tls_insecure,
	};
	if (options->writable)
		return err_set(-EROFS, "a web server is only read from");
	struct http *h = calloc(1, sizeof *h);
	if (!h)
		return err_set(-ENOMEM, "no memory for a store");
	h->z.ops = &backend_http;
	h->z.caps = ZMAP_REMOTE | ZMAP_CONDITIONAL | ZMAP_EXCHANGED;
	h->warn = options->warn;
	int r = set_place(h, url);
	if (r == 0)
		r = auth_find(url, !options->no_token, options->http_token_file, &h->auth);
	if (r == 0)
		r = client_new(&o, &h->client);
	if (r < 0) {
		http_close(&h->z);
		return r;
	}
	*ret = &h->z;
	return 0;
}

const struct zmap_ops backend_http = {
	.name = "http",
	.open = http_open,
	.close = http_close,
	.stat = http_stat,
	.get = http_get,
	.submit = http_submit,
	.stats = http_stats,
};
