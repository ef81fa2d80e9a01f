/* S3 and what speaks its language, Google's store among them: one bucket, or what lies below one
 * prefix of it. */
#include "backends/s3/store.h"

#include "backends/s3/xml.h"
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	PAGE_MAX = 8 << 20, /* a page of a listing: 1000 keys of 1024 bytes, encoded, and what goes
			       with each */
};

static struct bucket *
bucket_of(struct zmap *z)
{
	return &((struct s3 *)z)->bucket;
}

static int64_t
deadline_of(const struct zmap *z)
{
	return z->timeout ? clock_now() + z->timeout : 0;
}

static int
s3_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	return s3_stat_by(z, key, deadline_of(z), cancel, ret);
}

static struct s3_request
s3_request_for(struct zmap *z, const struct zmap_get *g)
{
	return (struct s3_request){
		.bucket = bucket_of(z),
		.kind = CLIENT_GET,
		.key = g->key,
		.get = g,
		.if_match = g->if_match,
		.if_none_match = g->if_none_match && *g->if_none_match ? g->if_none_match : NULL,
		.deadline = g->deadline,
		.cancel = g->cancel,
	};
}

static int
s3_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct s3_request q = s3_request_for(z, g);
	int r = s3_impossible(z, g->key) ? ZMAP_ABSENT : s3_request_run(&q, ret);
	s3_request_free(&q);
	return r;
}

/* A get that no reader waits for. */
struct submitted_get {
	struct s3_request request;
	struct zmap_get get;
	zmap_done_fn *done;
	void *arg;
};

static void
submitted_done(void *arg, int r, const struct client_reply *reply)
{
	struct submitted_get *e = arg;
	struct zmap_stat s = {0};
	r = s3_request_end(&e->request, r, reply, &s);
	e->done(e->arg, r, &s);
	s3_request_free(&e->request);
	free(e);
}

static void
s3_submit(struct zmap *z, const struct zmap_get *g, zmap_done_fn *done, void *arg)
{
	struct zmap_stat none = {0};
	struct submitted_get *e = s3_impossible(z, g->key) ? NULL : calloc(1, sizeof *e);
	if (!e) {
		done(arg,
			s3_impossible(z, g->key) ? ZMAP_ABSENT
						 : err_set(-ENOMEM, "no memory for a request"),
			&none);
		return;
	}
	e->get = *g;
	e->request = s3_request_for(z, &e->get);
	e->done = done;
	e->arg = arg;
	s3_request_submit(&e->request, submitted_done, e);
}

/* --- listing --- */

struct s3_listing {
	struct bucket *bucket;
	char *prefix; /* whole, with the store's own */
	char *token;  /* of the next page, or NULL */
	size_t seen;
	int64_t deadline;
};

static void
listing_done(struct s3_listing *l)
{
	free(l->prefix);
	free(l->token);
}

static int
ask_page(const struct s3_listing *l, unsigned keys, struct buf *ret)
{
	char count[16];
	struct sign_pair pairs[6] = {{"delimiter", "/"}, {"encoding-type", "url"},
		{"list-type", "2"}, {"prefix", l->prefix}};
	size_t n = 4;
	struct s3_request q = {.bucket = l->bucket,
		.kind = CLIENT_LIST,
		.into = ret,
		.max = PAGE_MAX,
		.deadline = l->deadline};
	snprintf(count, sizeof count, "%u", keys);
	if (l->token)
		pairs[n++] = (struct sign_pair){"continuation-token", l->token};
	if (keys)
		pairs[n++] = (struct sign_pair){"max-keys", count};
	int r = sign_query(pairs, n, &q.query);
	if (r == 0)
		r = buf_terminate(&q.query);
	if (r == 0)
		r = s3_request_run(&q, NULL);
	s3_request_free(&q);
	return r <= 0 ? r : err_set(-EIO, "the bucket is not there");
}

/* One page. 0, what fn returned if not 0, or -errno. */
static int
list_page(struct s3_listing *l, zmap_list_fn *fn, void *arg, bool *ret_more)
{
	CLEAN(buf_free) struct buf page = {0};
	struct xml_page p = {0};
	int r = ask_page(l, 0, &page);
	if (r == 0)
		r = xml_list(buf_span(&page), l->prefix, fn, arg, &p);
	if (r != 0)
		return r;
	l->seen += p.seen;
	*ret_more = p.truncated;
	if (p.truncated && (!p.next || !*p.next || (l->token && !strcmp(l->token, p.next))))
		r = err_set(-EIO, "the listing does not say how it goes on");
	free(l->token);
	l->token = p.next;
	return r;
}

static int
s3_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	CLEAN(listing_done)
	struct s3_listing l = {.bucket = bucket_of(z), .deadline = deadline_of(z)};
	const char *own = l.bucket->settings.address.prefix;
	if (s3_impossible(z, prefix))
		return ZMAP_ABSENT;
	if (asprintf(&l.prefix, "%s%s", own, prefix) < 0) {
		l.prefix = NULL;
		return err_set(-ENOMEM, "no memory for a prefix");
	}
	bool more = true;
	while (more) {
		int r = list_page(&l, fn, arg, &more);
		if (r != 0)
			return r;
	}
	return !l.seen && *l.prefix ? ZMAP_ABSENT : 0;
}

/* --- the store --- */

static int
stop_at_once(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	return 1;
}

/* Something must lie below the prefix, if it may be listed. */
static int
s3_alive(struct zmap *z)
{
	CLEAN(buf_free) struct buf page = {0};
	struct xml_page p = {0};
	struct s3_listing l = {.bucket = bucket_of(z), .deadline = deadline_of(z)};
	l.prefix = l.bucket->settings.address.prefix;
	int r = ask_page(&l, 1, &page);
	if (r == -EACCES)
		return 0;
	if (r == 0)
		r = xml_list(buf_span(&page), l.prefix, stop_at_once, NULL, &p);
	free(p.next);
	if (r == 0 && *l.prefix && !p.seen)
		return err_set(-EIO, "nothing is left below '%s'", l.prefix);
	return r > 0 ? 0 : r < 0 ? err_add(-EIO, "the store does not answer as it did") : 0;
}

static int
s3_stats(struct zmap *z, struct buf *ret)
{
	return client_stats(bucket_of(z)->client, ret);
}

static void
s3_close(struct zmap *z)
{
	bucket_close(bucket_of(z));
	free(z);
}

/* The endpoint may come from the environment. */
static int
s3_identity(struct zmap *z, struct buf *ret)
{
	const struct address *p = &bucket_of(z)->settings.address;
	int r = address_base(p, p->region, ret);
	return r < 0 ? r : buf_addf(ret, "%s/%s/%s", p->path, p->bucket, p->prefix);
}

extern const struct zmap_ops backend_s3;

static int
s3_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	if (options->transport)
		return zmap_open_by(options->transport, url, options, ret);
	struct s3 *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "no memory for a store");
	s->z.ops = &backend_s3;
	s->z.caps =
		ZMAP_LIST | ZMAP_REMOTE | (options->writable ? ZMAP_WRITE | ZMAP_CONDITIONAL : 0);
	int r = bucket_open(url, options, &s->bucket);
	if (r < 0) {
		s3_close(&s->z);
		return r;
	}
	*ret = &s->z;
	return 0;
}

const struct zmap_ops backend_s3 = {
	.name = "s3",
	.open = s3_open,
	.close = s3_close,
	.stat = s3_stat,
	.get = s3_get,
	.submit = s3_submit,
	.list = s3_list,
	.put = s3_put,
	.del = s3_del,
	.try_writing = s3_try_writing,
	.alive = s3_alive,
	.identity = s3_identity,
	.stats = s3_stats,
};
