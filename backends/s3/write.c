/* Writing to S3: one PUT an object, which the server takes whole or not at all.
 *
 * A PUT is tried again as any request is, by the client or by curl. Where an answer was lost, what
 * is there now may be our own: a put on a condition then looks whether it is. */
#include "backends/s3/store.h"

#include "backends/s3/etag.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What S3 takes in one request. */
static const uint64_t PUT_MAX = (uint64_t)5 << 30;

static struct bucket *
bucket_of(struct zmap *z)
{
	return &((struct s3 *)z)->bucket;
}

/* --- put --- */

static int
put_once(struct zmap *z, const struct zmap_put *p, const char *if_match, unsigned *ret_requests,
	struct zmap_stat *ret)
{
	struct s3_request q = {
		.bucket = bucket_of(z),
		.kind = CLIENT_PUT,
		.key = p->key,
		.send = p->bytes,
		.if_match = if_match,
		.if_none_match = p->if_absent ? "*" : NULL,
		.deadline = p->deadline,
		.put_off = p->put_off,
		.cancel = p->cancel,
	};
	int r = s3_request_run(&q, ret);
	s3_request_free(&q);
	*ret_requests = q.requests;
	ret->size = p->bytes.len;
	return r;
}

/* On condition of a version. radosgw before Ceph 18 compares If-Match with the version without its
 * quotation marks, so that no put ever succeeds; it can be told by an object that still is that
 * version. */
static int
put_if_match(
	struct zmap *z, const struct zmap_put *p, unsigned *ret_requests, struct zmap_stat *ret)
{
	struct s3 *s = (struct s3 *)z;
	const char *version = p->if_match;
	struct zmap_stat now;
	char bare[ZMAP_VERSION];
	size_t n = strlen(version);
	bool quoted = n >= 2 && n < sizeof bare && version[0] == '"' && version[n - 1] == '"';
	int r = ZMAP_CHANGED;
	if (!s->bare_versions || !quoted) {
		r = put_once(z, p, version, ret_requests, ret);
		if (r != ZMAP_CHANGED || !quoted)
			return r;
		r = s3_stat_by(z, p->key, p->deadline, p->cancel, &now);
		if (r != 0 || strcmp(now.version, version) != 0)
			return r < 0 ? r : ZMAP_CHANGED;
		s->bare_versions = true;
	}
	snprintf(bare, sizeof bare, "%.*s", (int)n - 2, version + 1);
	return put_once(z, p, bare, ret_requests, ret);
}

/* The condition did not hold: perhaps since a request whose answer was lost has done it. Objects
 * that were put in one piece are called by the MD5 of their bytes. */
static int
done_before(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	char version[ETAG_SIZE];
	int r = s3_stat_by(z, p->key, p->deadline, p->cancel, ret);
	if (r == ZMAP_ABSENT)
		return ZMAP_CHANGED;
	if (r == 0)
		r = etag_of(p->bytes, version);
	if (r < 0)
		return r;
	return ret->size == p->bytes.len && !strcmp(ret->version, version) ? 0 : ZMAP_CHANGED;
}

int
s3_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	unsigned requests = 0;
	if (s3_impossible(z, p->key))
		return err_set(-EINVAL, "a key of S3 is UTF-8 of at most %d bytes", S3_KEY_MAX);
	if (p->bytes.len > PUT_MAX)
		return err_set(-EFBIG,
			"%zu bytes, where S3 takes at most %" PRIu64 " in one request",
			p->bytes.len, PUT_MAX);
	int r = p->if_match ? put_if_match(z, p, &requests, ret)
			    : put_once(z, p, NULL, &requests, ret);
	return r == ZMAP_CHANGED && requests > 1 ? done_before(z, p, ret) : r;
}

/* --- delete --- */

static int
delete_once(struct zmap *z, const struct zmap_del *d, unsigned *ret_requests)
{
	struct s3_request q = {.bucket = bucket_of(z),
		.kind = CLIENT_DELETE,
		.key = d->key,
		.if_match = d->if_match,
		.deadline = d->deadline,
		.cancel = d->cancel};
	int r = s3_request_run(&q, NULL);
	s3_request_free(&q);
	*ret_requests = q.requests;
	return r;
}

/* It is not there, or is another one: perhaps since a request whose answer was lost deleted it. */
static int
deleted_before(struct zmap *z, const struct zmap_del *d, int r)
{
	struct zmap_stat s;
	if (r == ZMAP_CHANGED)
		r = s3_stat_by(z, d->key, d->deadline, d->cancel, &s);
	return r == ZMAP_ABSENT ? 0 : r == 0 ? ZMAP_CHANGED : r;
}

/* S3 deletes what is not there as well as anything else; here absence is told. */
int
s3_del(struct zmap *z, const struct zmap_del *d)
{
	struct zmap_stat s;
	unsigned requests = 0;
	if (d->if_match && !((struct s3 *)z)->deletes_if)
		return err_set(-ENOTSUP, "this server does not delete on a condition");
	int r = s3_stat_by(z, d->key, d->deadline, d->cancel, &s);
	if (r == 0 && d->if_match && strcmp(s.version, d->if_match) != 0)
		r = ZMAP_CHANGED;
	if (r != 0)
		return r;
	r = delete_once(z, d, &requests);
	return r > 0 && requests > 1 ? deleted_before(z, d, r) : r;
}
