#include "backends/s3/s3_request.h"

#include "backends/s3/classify.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>

/* What is signed of a request without a body. */
static const char empty_hash[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static const char *
method_of(enum client_kind kind)
{
	switch (kind) {
	case CLIENT_HEAD: return "HEAD";
	case CLIENT_PUT: return "PUT";
	case CLIENT_DELETE: return "DELETE";
	default: return "GET";
	}
}

/* The texts of one attempt. */
struct request_texts {
	struct buf host, path, url, authorization;
	char date[SIGN_DATE];
	const char *query;
};

static void
texts_free(struct request_texts *t)
{
	buf_free(&t->host);
	buf_free(&t->path);
	buf_free(&t->url);
	buf_free(&t->authorization);
}

static int
write_texts(struct s3_request *q, struct request_texts *t)
{
	struct bucket *b = q->bucket;
	const struct address *a = &b->settings.address;
	LOCKED(&b->lock)
		memcpy(q->region, b->region, sizeof q->region);
	t->query = q->query.len ? (char *)q->query.data : "";
	int r = address_host(a, q->region, &t->host);
	if (r == 0)
		r = address_path(a, q->key ? q->key : "", &t->path);
	if (r == 0)
		r = address_base(a, q->region, &t->url);
	if (r == 0)
		r = buf_add(&t->url, t->path.data, t->path.len);
	if (r == 0 && *t->query)
		r = buf_addf(&t->url, "?%s", t->query);
	if (r == 0)
		r = buf_terminate(&t->host);
	if (r == 0)
		r = buf_terminate(&t->path);
	return r < 0 ? r : buf_terminate(&t->url);
}

enum { HEADERS = 7 };

/* With it the answer has the checksum that the store keeps, if it keeps one: of whole objects. */
static const struct sign_pair checksum_mode = {"x-amz-checksum-mode", "ENABLED"};

static bool
wants_checksum(const struct s3_request *q)
{
	const struct zmap_get *g = q->get;
	return q->bucket->settings.verify != ZMAP_VERIFY_FALSE && !q->plain &&
	       atomic_load(&q->bucket->refusals) < S3_MUTE_FROM && g && !g->off && !g->len &&
	       !g->from_end;
}

/* In the order of their names. Returns how many. */
static size_t
write_headers(
	const struct s3_request *q, const struct request_texts *t, struct sign_pair ret[HEADERS])
{
	size_t n = 0;
	ret[n++] = (struct sign_pair){"host", (char *)t->host.data};
	if (q->asks_sum)
		ret[n++] = checksum_mode;
	ret[n++] = (struct sign_pair){"x-amz-content-sha256", q->payload};
	ret[n++] = (struct sign_pair){"x-amz-date", t->date};
	if (q->put_id)
		ret[n++] = (struct sign_pair){CLIENT_PUT_ID, q->put_id};
	if (q->bucket->settings.requester_pays)
		ret[n++] = (struct sign_pair){"x-amz-request-payer", "requester"};
	if (q->keys->token)
		ret[n++] = (struct sign_pair){"x-amz-security-token", q->keys->token};
	return n;
}

static int
sign(struct s3_request *q, struct request_texts *t, struct client_attempt *to)
{
	struct sign_pair headers[HEADERS];
	q->ahead = q->bucket->clock_ahead;
	int64_t when = (clock_wall() + q->ahead) / SECOND;
	sign_date(when, t->date);
	size_t n = write_headers(q, t, headers);
	const struct sign_request s = {
		.method = method_of(q->kind),
		.path = (char *)t->path.data,
		.query = t->query,
		.headers = headers,
		.nheaders = n,
		.payload = q->payload,
		.when = when,
	};
	int r = signer_sign(q->bucket->signer, &s, q->region, q->keys, &t->authorization);
	if (r == 0)
		r = buf_terminate(&t->authorization);
	for (size_t i = 1; i < n && r == 0; i++)
		r = client_header(to, headers[i].name, headers[i].value);
	return r < 0 ? r : client_header(to, "Authorization", (char *)t->authorization.data);
}

static int
prepare(void *arg, unsigned attempt, struct client_attempt *to)
{
	struct s3_request *q = arg;
	CLEAN(texts_free) struct request_texts t = {0};
	keys_unref(MOVE(q->keys));
	q->explained = q->refused = false;
	(void)attempt;
	q->asks_sum = wants_checksum(q);
	int r = credentials_get(q->bucket->credentials, q->deadline, q->cancel, &q->keys);
	if (r == 0)
		r = write_texts(q, &t);
	if (r == 0)
		r = client_url(to, (char *)t.url.data);
	if (r == 0 && q->keys)
		r = sign(q, &t, to);
	else if (r == 0 && q->asks_sum)
		r = client_header(to, checksum_mode.name, checksum_mode.value);
	if (r == 0 && !q->keys && q->put_id)
		r = client_header(to, CLIENT_PUT_ID, q->put_id);
	return r;
}

static const struct client_hooks hooks = {.prepare = prepare, .classify_response = s3_classify};

static int
ask(struct s3_request *q, struct client_ask *ret)
{
	const struct zmap_get *g = q->get;
	memcpy(q->payload, empty_hash, sizeof q->payload);
	q->start = g && g->into ? g->into->len : 0;
	int r = q->send.len ? sign_hash(q->send, q->payload) : 0;
	*ret = (struct client_ask){
		.kind = q->kind,
		.hooks = &hooks,
		.arg = q,
		.send = q->send,
		.off = g ? g->off : 0,
		.len = g ? g->len : 0,
		.from_end = g && g->from_end,
		.if_match = q->if_match,
		.if_none_match = q->if_none_match,
		.into = g ? g->into : q->into,
		.max = g ? g->max : q->max,
		.tries = q->tries,
		.deadline = q->deadline,
		.put_off = q->put_off,
		.cancel = q->cancel,
		.ahead = g ? g->ahead : NULL,
	};
	return r;
}

int
s3_request_end(struct s3_request *q, int r, const struct client_reply *reply, struct zmap_stat *ret)
{
	if (r < 0 && !q->explained && reply && reply->status >= 300 && !reply->error)
		r = s3_response_explain(q, reply, r);
	if (reply && strlen(reply->put_id) < sizeof q->told_id)
		memcpy(q->told_id, reply->put_id, strlen(reply->put_id) + 1);
	if (r < 0 || !ret || !reply)
		return r;
	*ret = (struct zmap_stat){
		.size = reply->size, .mtime = reply->modified, .placed = client_placed(reply)};
	if (strlen(reply->etag) < sizeof ret->version)
		memcpy(ret->version, reply->etag, strlen(reply->etag) + 1);
	return r;
}

int
s3_request_run(struct s3_request *q, struct zmap_stat *ret)
{
	struct client_ask a;
	struct client_reply reply = {0};
	int r = ask(q, &a);
	if (r == 0)
		r = client_call(q->bucket->client, &a, &reply);
	q->requests = reply.requests;
	r = s3_request_end(q, r, &reply, ret);
	client_reply_free(&reply);
	return r;
}

void
s3_request_submit(struct s3_request *q, client_done_fn *done, void *arg)
{
	struct client_ask a;
	int r = ask(q, &a);
	if (r < 0)
		done(arg, r, &(struct client_reply){0});
	else
		client_submit(q->bucket->client, &a, done, arg);
}

void
s3_request_free(struct s3_request *q)
{
	q->keys = keys_unref(q->keys);
	buf_free(&q->query);
}

int
s3_request_probe(struct bucket *b, int64_t deadline, struct cancel *cancel)
{
	struct s3_request q = {.bucket = b,
		.kind = CLIENT_LIST,
		.tries = CLIENT_FEW, /* others may wait with the caller */
		.deadline = deadline,
		.cancel = cancel,
		.max = 1 << 20};
	struct sign_pair pairs[] = {{"list-type", "2"}, {"max-keys", "1"}};
	int r = sign_query(pairs, sizeof pairs / sizeof *pairs, &q.query);
	if (r == 0)
		r = buf_terminate(&q.query);
	if (r == 0)
		r = s3_request_run(&q, NULL);
	s3_request_free(&q);
	return r == -EACCES ? 0 : r > 0 ? err_set(-EIO, "the bucket is not there") : r;
}
