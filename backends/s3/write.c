/* Writing to S3: one PUT an object, which the server takes whole or not at all.
 *
 * A PUT is tried again as any request is, by the client, by curl, or by a proxy before the server,
 * of which nothing is seen here. Where an answer was lost, what is there now may be our own: a put
 * on a condition that does not hold looks whether it is, by an id that it sent along. The ETag does
 * not say: of an encrypted object it is no MD5, and two writers may put the same bytes. */
#include "backends/s3/store.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* What S3 takes in one request. */
static const uint64_t PUT_MAX = (uint64_t)5 << 30;

static struct bucket *
bucket_of(struct zmap *z)
{
	return &((struct s3 *)z)->bucket;
}

/* --- put --- */

int
s3_new_put_id(char ret[S3_PUT_ID])
{
	uint64_t id[2] = {0};
	if (getrandom(id, sizeof id, 0) != sizeof id)
		return err_sys(errno, "getrandom");
	snprintf(ret, S3_PUT_ID, "%016" PRIx64 "%016" PRIx64, id[0], id[1]);
	return 0;
}

/* What one put does by several requests. */
struct putting {
	const struct zmap_put *put;
	char id[S3_PUT_ID]; /* "": it has no condition, or the server refuses ids */
	unsigned requests;  /* of the last PUT */
};

static int
put_once(struct zmap *z, struct putting *w, const char *if_match, struct zmap_stat *ret)
{
	const struct zmap_put *p = w->put;
	struct s3_request q = {
		.bucket = bucket_of(z),
		.kind = CLIENT_PUT,
		.key = p->key,
		.send = p->bytes,
		.if_match = if_match,
		.if_none_match = p->if_absent ? "*" : NULL,
		.put_id = *w->id ? w->id : NULL,
		.deadline = p->deadline,
		.put_off = p->put_off,
		.cancel = p->cancel,
	};
	int r = s3_request_run(&q, ret);
	s3_request_free(&q);
	w->requests = q.requests;
	ret->size = p->bytes.len;
	return r;
}

/* On condition of a version. radosgw before Ceph 18 compares If-Match with the version without its
 * quotation marks, so that no put ever succeeds; it can be told by an object that still is that
 * version. */
static int
put_if_match(struct zmap *z, struct putting *w, struct zmap_stat *ret)
{
	struct s3 *s = (struct s3 *)z;
	const struct zmap_put *p = w->put;
	const char *version = p->if_match;
	struct zmap_stat now;
	char bare[ZMAP_VERSION];
	size_t n = strlen(version);
	bool quoted = n >= 2 && n < sizeof bare && version[0] == '"' && version[n - 1] == '"';
	int r = ZMAP_CHANGED;
	if (!s->bare_versions || !quoted) {
		r = put_once(z, w, version, ret);
		if (r != ZMAP_CHANGED || !quoted)
			return r;
		r = s3_stat_by(z, p->key, p->deadline, p->cancel, &now);
		if (r != 0 || strcmp(now.version, version) != 0)
			return r < 0 ? r : ZMAP_CHANGED;
	}
	snprintf(bare, sizeof bare, "%.*s", (int)n - 2, version + 1);
	r = put_once(z, w, bare, ret);
	if (r == 0)
		s->bare_versions = true;
	return r;
}

/* Where no ids are kept: by the bytes that are there. */
static int
is_same(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	CLEAN(buf_free) struct buf b = {0};
	const struct zmap_get g = {.key = p->key, .into = &b, .max = p->bytes.len};
	struct s3_request q = {.bucket = bucket_of(z),
		.kind = CLIENT_GET,
		.key = p->key,
		.get = &g,
		.deadline = p->deadline,
		.cancel = p->cancel};
	int r = s3_request_run(&q, ret);
	s3_request_free(&q);
	if (r == -EFBIG || r == ZMAP_ABSENT)
		return ZMAP_CHANGED;
	if (r != 0)
		return r;
	const bool same =
		b.len == p->bytes.len && (!b.len || memcmp(b.data, p->bytes.data, b.len) == 0);
	return same ? 0 : ZMAP_CHANGED;
}

/* The condition did not hold. 0: because an earlier request put the object, and its answer was
 * lost. */
static int
done_before(struct zmap *z, const struct putting *w, struct zmap_stat *ret)
{
	struct s3_request q = {.bucket = bucket_of(z),
		.kind = CLIENT_HEAD,
		.key = w->put->key,
		.deadline = w->put->deadline,
		.cancel = w->put->cancel};
	if (!((struct s3 *)z)->keeps_ids)
		return is_same(z, w->put, ret);
	int r = s3_request_run(&q, ret);
	s3_request_free(&q);
	return r < 0 ? r : r == 0 && !strcmp(q.told_id, w->id) ? 0 : ZMAP_CHANGED;
}

int
s3_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	struct putting w = {.put = p};
	if (s3_impossible(z, p->key))
		return err_set(-EINVAL, "a key of S3 is UTF-8 of at most %d bytes", S3_KEY_MAX);
	if (p->bytes.len > PUT_MAX)
		return err_set(-EFBIG,
			"%zu bytes, where S3 takes at most %" PRIu64 " in one request",
			p->bytes.len, PUT_MAX);
	const bool marked = (p->if_match || p->if_absent) && !((struct s3 *)z)->refuses_ids;
	int r = marked ? s3_new_put_id(w.id) : 0;
	if (r == 0)
		r = p->if_match ? put_if_match(z, &w, ret) : put_once(z, &w, NULL, ret);
	const bool tells = *w.id && ((struct s3 *)z)->keeps_ids;
	return r == ZMAP_CHANGED && (tells || w.requests > 1) ? done_before(z, &w, ret) : r;
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

/* The object is not there, or is another one. 0: an earlier request deleted it, and its answer was
 * lost. */
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
