/* `transport=libs3`: S3 by the library libs3 2.0, for servers that know signatures of version 2
 * only. It is no store of its own in a URL: the store s3 hands over to it.
 *
 * What libs3 2.0 cannot do is refused when the store is opened: asking without keys (it crashes),
 * session tokens, certificates (it verifies none); or for each request: keys with spaces. Ranges
 * cost a request more, since it does not tell which part of what size an answer is; nothing is
 * written on a condition. */
#include "backends/libs3/call.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KEY_MAX = 1024 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static S3Status started;

/* Neither may be begun by two threads at once, and libs3 leaves libxml2 to begin by itself. */
static void
start(void)
{
	xmlInitParser();
	started = S3_initialize("zarrfs/" ZARRFS_VERSION, S3_INIT_ALL, NULL);
}

static int64_t
deadline_of(const struct zmap *z)
{
	return z->timeout ? clock_now() + z->timeout : 0;
}

/* The key with the store's prefix. ZMAP_ABSENT: no key can be that long. */
static int
whole_key(struct zmap *z, const char *key, char **ret)
{
	const char *prefix = ((struct libs3 *)z)->bucket.settings.address.prefix;
	if (strlen(prefix) + strlen(key) > KEY_MAX)
		return ZMAP_ABSENT;
	if (asprintf(ret, "%s%s", prefix, key) < 0) {
		*ret = NULL;
		return err_set(-ENOMEM, "no memory for a key");
	}
	return 0;
}

/* --- reading --- */

static S3Status
on_data(int n, const char *data, void *arg)
{
	struct libs3_call *c = arg;
	int r = 0;
	c->heard = clock_now();
	if (c->got == 0 && c->stat.size > c->max)
		r = err_set(-EFBIG, "%" PRIu64 " bytes, where at most %zu can be right",
			c->stat.size, c->max);
	else if (c->got == 0)
		r = buf_reserve(c->into, c->start + (size_t)c->stat.size);
	if (r == 0 && (size_t)n > c->max - c->got)
		r = err_set(-EFBIG, "more than %zu bytes, which cannot be right", c->max);
	if (r == 0)
		r = buf_add(c->into, data, (size_t)n);
	if (r < 0)
		return call_give_up(c, r);
	c->got += (size_t)n;
	return S3StatusOK;
}

static void
begin_get(const S3BucketContext *b, S3RequestContext *to, struct libs3_call *c)
{
	static const S3GetObjectHandler handler = {{call_on_properties, call_on_complete}, on_data};
	S3_get_object(b, c->key, &c->conditions, c->off, c->len, to, &handler, c);
}

static void
begin_head(const S3BucketContext *b, S3RequestContext *to, struct libs3_call *c)
{
	static const S3ResponseHandler handler = {call_on_properties, call_on_complete};
	S3_head_object(b, c->key, to, &handler, c);
}

static int
head(struct zmap *z, const char *key, int64_t deadline, struct cancel *cancel,
	struct zmap_stat *ret)
{
	struct libs3_call c = {
		.key = key, .begin = begin_head, .deadline = deadline, .cancel = cancel};
	int r = call_run((struct libs3 *)z, &c);
	if (r == 0)
		*ret = c.stat;
	return r;
}

static int
libs3_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	CLEAN(clean_free) char *whole = NULL;
	int r = whole_key(z, key, &whole);
	return r ? r : head(z, whole, deadline_of(z), cancel, ret);
}

/* The whole object. */
static int
get_all(struct zmap *z, const struct zmap_get *g, struct libs3_call *c, struct zmap_stat *ret)
{
	c->conditions = (S3GetConditions){-1, -1, g->if_match, NULL};
	int r = call_run((struct libs3 *)z, c);
	if (r == 0)
		*ret = c->stat;
	return r;
}

/* A part, or only if it is not a version that is known: what there is must be asked first. */
static int
get_part(struct zmap *z, const struct zmap_get *g, struct libs3_call *c, struct zmap_stat *ret)
{
	struct zmap_stat s = {0};
	size_t len = 0;
	int r = head(z, c->key, g->deadline, g->cancel, &s);
	if (r == 0)
		r = zmap_condition(g, s.version);
	if (r == 0)
		r = zmap_range(g, s.size, &c->off, &len);
	if (r < 0 || r == ZMAP_ABSENT)
		return r;
	*ret = s;
	if (r || !len)
		return r;
	c->len = len == s.size ? 0 : len;
	c->conditions = (S3GetConditions){-1, -1, *s.version ? s.version : NULL, NULL};
	r = call_run((struct libs3 *)z, c);
	if (r == 0 && c->got != len)
		r = err_set(-EIO, "%zu bytes instead of the %zu asked for", c->got, len);
	return r;
}

static int
libs3_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	CLEAN(clean_free) char *whole = NULL;
	size_t before = g->into->len;
	int r = whole_key(z, g->key, &whole);
	if (r)
		return r;
	for (int i = 0; i < 3; i++) {
		struct libs3_call c = {
			.key = whole,
			.begin = begin_get,
			.deadline = g->deadline,
			.cancel = g->cancel,
			.into = g->into,
			.max = g->max,
		};
		bool part = g->off || g->len || g->if_none_match;
		r = part ? get_part(z, g, &c, ret) : get_all(z, g, &c, ret);
		if (r != 0)
			g->into->len = before;
		if (r != ZMAP_CHANGED || g->if_match)
			return r;
	}
	return err_set(-EIO, "it changes whenever it is read");
}

/* --- writing --- */

static int
on_room(int n, char *room, void *arg)
{
	struct libs3_call *c = arg;
	size_t left = c->send.len - c->sent, len = (size_t)n < left ? (size_t)n : left;
	c->heard = clock_now();
	if (len)
		memcpy(room, c->send.data + c->sent, len);
	c->sent += len;
	return (int)len;
}

static void
begin_put(const S3BucketContext *b, S3RequestContext *to, struct libs3_call *c)
{
	static const S3PutObjectHandler handler = {{call_on_properties, call_on_complete}, on_room};
	const S3PutProperties p = {.expires = -1};
	S3_put_object(b, c->key, c->send.len, &p, to, &handler, c);
}

static int
libs3_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	CLEAN(clean_free) char *whole = NULL; /* no conditions: not ZMAP_CONDITIONAL */
	int r = whole_key(z, p->key, &whole);
	if (r)
		return r < 0 ? r : err_set(-EINVAL, "a key of S3 has at most %d bytes", KEY_MAX);
	struct libs3_call c = {.key = whole,
		.begin = begin_put,
		.deadline = p->deadline,
		.cancel = p->cancel,
		.send = p->bytes};
	r = call_run((struct libs3 *)z, &c);
	if (r == 0) {
		*ret = c.stat;
		ret->size = p->bytes.len;
	}
	return r;
}

static void
begin_delete(const S3BucketContext *b, S3RequestContext *to, struct libs3_call *c)
{
	static const S3ResponseHandler handler = {call_on_properties, call_on_complete};
	S3_delete_object(b, c->key, to, &handler, c);
}

static int
libs3_del(struct zmap *z, const struct zmap_del *d)
{
	struct zmap_stat s;
	CLEAN(clean_free) char *whole = NULL;
	int r = whole_key(z, d->key, &whole);
	if (r == 0)
		r = head(z, whole, d->deadline, d->cancel, &s);
	struct libs3_call c = {
		.key = whole, .begin = begin_delete, .deadline = d->deadline, .cancel = d->cancel};
	return r ? r : call_run((struct libs3 *)z, &c);
}

static int
libs3_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	CLEAN(clean_free) char *whole = NULL;
	int r = whole_key(z, prefix, &whole);
	return r ? r : call_list((struct libs3 *)z, whole, deadline_of(z), fn, arg);
}

/* --- the store --- */

static int
libs3_identity(struct zmap *z, struct buf *ret)
{
	struct libs3 *s = (struct libs3 *)z;
	const struct address *a = &s->bucket.settings.address;
	return buf_addf(ret, "%s/%s/%s", s->host, a->bucket, a->prefix);
}

static int
libs3_stats(struct zmap *z, struct buf *ret)
{
	struct libs3 *s = (struct libs3 *)z;
	return buf_addf(ret, "zarrfs_libs3_requests_total %llu\nzarrfs_libs3_retries_total %llu\n",
		(unsigned long long)s->requests, (unsigned long long)s->retries);
}

static void
libs3_close(struct zmap *z)
{
	struct libs3 *s = (struct libs3 *)z;
	lanes_free(s->lanes);
	bucket_close(&s->bucket);
	free(s->host);
	free(s);
}

static int
check(const struct libs3 *s, const struct zmap_options *o)
{
	CLEAN(keys_unrefp) struct s3_keys *keys = NULL;
	const struct address *a = &s->bucket.settings.address;
	int64_t deadline = o->timeout ? clock_now() + o->timeout : 0;
	int r = credentials_get(s->bucket.credentials, deadline, NULL, &keys);
	if (r < 0)
		return r;
	if (!keys)
		return err_set(-EINVAL, "libs3 cannot ask without keys");
	if (keys->token)
		return err_set(-EINVAL, "libs3 cannot send the token of a session");
	if (!a->plain_http && !o->tls_insecure)
		return err_set(-EINVAL, "libs3 does not verify certificates: only with "
					"tls_verify=false does it speak https");
	if (*a->path)
		return err_set(-EINVAL, "libs3 knows no endpoint with a path ('%s')", a->path);
	return 0;
}

/* Without the bucket, which libs3 puts before it. */
static int
set_host(struct libs3 *s)
{
	CLEAN(buf_free) struct buf host = {0};
	struct address a = s->bucket.settings.address;
	a.virtual_host = false;
	int r = address_host(&a, a.region, &host);
	if (r == 0 && !(s->host = strndup((char *)host.data, host.len)))
		r = err_set(-ENOMEM, "no memory for a name");
	return r;
}

extern const struct zmap_ops backend_libs3;

static int
libs3_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	int r = libs3_load();
	if (r < 0)
		return r;
	pthread_once(&once, start);
	if (started != S3StatusOK)
		return err_set(-EIO, "libs3 does not start: %s", S3_get_status_name(started));
	struct libs3 *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory for a store");
	s->z.ops = &backend_libs3;
	s->z.caps = ZMAP_LIST | ZMAP_REMOTE | (options->writable ? ZMAP_WRITE : 0);
	r = bucket_open(url, options, &s->bucket);
	if (r == 0)
		r = check(s, options);
	if (r == 0)
		r = set_host(s);
	if (r == 0)
		r = lanes_new(options->connections ? options->connections : CLIENT_CONNECTIONS,
			&s->lanes);
	if (r < 0) {
		libs3_close(&s->z);
		return r;
	}
	*ret = &s->z;
	return 0;
}

const struct zmap_ops backend_libs3 = {
	.name = "libs3",
	.open = libs3_open,
	.close = libs3_close,
	.stat = libs3_stat,
	.get = libs3_get,
	.list = libs3_list,
	.put = libs3_put,
	.del = libs3_del,
	.identity = libs3_identity,
	.stats = libs3_stats,
};
