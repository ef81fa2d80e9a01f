#include "backends/s3/classify.h"

#include "backends/s3/checksum.h"
#include "backends/s3/etag.h"
#include "backends/s3/xml.h"
#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A server and we may differ by 15 minutes. */
static const int64_t SKEW = 300 * SECOND;
/* So long an answer proves that the bucket is there. */
static const int64_t BELIEVED = 5 * SECOND;

enum { CODE, MESSAGE, REGION, REQUEST_ID, FIELDS };

/* What the body of an answer says. */
struct s3_error {
	struct xml_field f[FIELDS];
};

static const char *
code_of(const struct s3_error *s)
{
	return s->f[CODE].text;
}

static struct s3_error *
understand(const struct client_reply *reply)
{
	struct s3_error *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->f[CODE].name = "Code";
	s->f[MESSAGE].name = "Message";
	s->f[REGION].name = "Region";
	s->f[REQUEST_ID].name = "RequestId";
	if (reply->body.len && xml_fields(buf_span(&reply->body), s->f, FIELDS) < 0)
		memset(s->f[CODE].text, 0, sizeof s->f[CODE].text);
	return s;
}

static bool
is(const struct s3_error *s, const char *const *codes)
{
	while (*codes && strcmp(code_of(s), *codes) != 0)
		codes++;
	return *codes;
}

/* Refused for what the keys may do, not for what they are. */
static const char *const denied[] = {"AccessDenied", "AllAccessDisabled", "Forbidden", NULL};
/* Of keys that were good once, or will be. */
static const char *const expired[] = {"ExpiredToken", "ExpiredTokenException",
	"TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId", "RequestExpired", NULL};
static const char *const skewed[] = {"RequestTimeTooSkewed", "RequestInTheFuture", NULL};
static const char *const elsewhere[] = {"AuthorizationHeaderMalformed", "PermanentRedirect",
	"TemporaryRedirect", "Redirect", "IllegalLocationConstraintException", NULL};
static const char *const passing[] = {"RequestTimeout", "OperationAborted", NULL};

/* Printable ASCII of what a server says: it goes to logs. */
static void
tidy(const char *text, char *ret, size_t size)
{
	size_t n = 0;
	for (; text[n] && n + 1 < size; n++)
		ret[n] = text[n] >= ' ' && text[n] < 0x7f ? text[n] : '?';
	ret[n] = 0;
}

/* Refused, and the time of the keys is over as the server's clock has it: Ceph calls that
 * AccessDenied. */
static bool
overdue(const struct s3_request *q, const struct client_reply *reply)
{
	return (reply->status == 401 || reply->status == 403) && q->keys && reply->date &&
	       reply->date >= q->keys->expires;
}

static int
code_for(const struct s3_request *q, const struct client_reply *reply, const struct s3_error *s,
	int fallback)
{
	if (reply->status == 401 || reply->status == 403)
		return overdue(q, reply)                           ? -EPERM
		       : !*code_of(s) || is(s, denied)             ? -EACCES
		       : !strcmp(code_of(s), "InvalidObjectState") ? -EIO
								   : -EPERM;
	if (reply->status == 501) /* conditions of puts, of some servers */
		return -ENOTSUP;
	return fallback < 0 ? fallback : -EIO;
}

/* Of a refusal: the source of the keys, since it may be another one than the user thinks. */
static void
say_keys(struct s3_request *q, const struct client_reply *reply, const struct s3_error *s,
	char *ret, size_t size)
{
	char origin[160] = "";
	*ret = 0;
	if (reply->status != 401 && reply->status != 403 && !is(s, expired))
		return;
	if (q->keys)
		credentials_origin(q->bucket->credentials, origin, sizeof origin);
	if (!q->keys || *origin)
		snprintf(ret, size, "%s%s", q->keys ? "; with the keys of " : "; without keys",
			origin);
}

static int
explain(struct s3_request *q, const struct client_reply *reply, const struct s3_error *s, int code)
{
	char name[64], message[300], id[128], where[128] = "", keys[200];
	tidy(code_of(s), name, sizeof name);
	tidy(s->f[MESSAGE].text, message, sizeof message);
	tidy(*reply->request_id ? reply->request_id : s->f[REQUEST_ID].text, id, sizeof id);
	if (reply->status / 100 == 3 && (*reply->region || *s->f[REGION].text))
		snprintf(where, sizeof where, ", in region %.64s",
			*reply->region ? reply->region : s->f[REGION].text);
	say_keys(q, reply, s, keys, sizeof keys);
	q->explained = true;
	return err_set(code, "HTTP status %d%s%s%s%s%s%s%s%s%s", reply->status, *name ? " " : "",
		name, *message ? ": " : "", message, where, keys, *id ? " (request " : "", id,
		*id ? ")" : "");
}

int
s3_response_explain(struct s3_request *q, const struct client_reply *reply, int fallback)
{
	struct s3_error *s = understand(reply);
	int r = s ? explain(q, reply, s, code_for(q, reply, s, fallback)) : fallback;
	free(s);
	return r;
}

/* The bucket lies in another region than the one that was asked, and here is which. Others may have
 * found out meanwhile. */
static bool
follow_region(struct s3_request *q, const char *region)
{
	if (!address_is_region(region) || !strcmp(region, q->region))
		return false;
	LOCKED(&q->bucket->lock)
		memcpy(q->bucket->region, region, strlen(region) + 1);
	return true;
}

/* An answer to HEAD has no body to say what is wrong; that to another question has, and region and
 * keys are put right by it. */
static bool
ask_aloud(struct s3_request *q)
{
	CLEAN(keys_unrefp) struct s3_keys *keys = NULL;
	bool other = false;
	if (s3_request_probe(q->bucket, q->deadline, q->cancel) < 0 ||
		credentials_get(q->bucket->credentials, q->deadline, q->cancel, &keys) < 0)
		return false;
	LOCKED(&q->bucket->lock)
		other = strcmp(q->bucket->region, q->region) != 0;
	return other || keys != q->keys;
}

static bool
put_region_right(struct s3_request *q, const struct client_reply *reply, const struct s3_error *s)
{
	bool redirected = reply->status == 301 || reply->status == 302 || reply->status == 307 ||
			  reply->status == 308;
	const char *region = *reply->region ? reply->region : s->f[REGION].text;
	bool other = redirected || is(s, elsewhere);
	bool bare = q->kind == CLIENT_HEAD && reply->status == 400 && !*region;
	if (q->moved || !(other || bare))
		return false;
	q->moved = true;
	return *region ? follow_region(q, region) : q->kind == CLIENT_HEAD && ask_aloud(q);
}

static bool
put_clock_right(struct s3_request *q, const struct client_reply *reply, const struct s3_error *s)
{
	int64_t ahead = reply->date ? reply->date - clock_wall() : 0;
	bool head = q->kind == CLIENT_HEAD && reply->status == 403;
	int64_t off = ahead - q->ahead;
	if (q->timed || !q->keys || !reply->date || !(is(s, skewed) || head) ||
		(off < SKEW && off > -SKEW))
		return false;
	q->timed = true;
	q->bucket->clock_ahead = ahead;
	return true;
}

static bool
renew_keys(struct s3_request *q, const struct client_reply *reply, const struct s3_error *s)
{
	if (q->renewed || !q->keys || !(is(s, expired) || overdue(q, reply)))
		return false;
	q->renewed = true;
	return credentials_renew(q->bucket->credentials, q->keys);
}

/* A server may refuse a header that it does not know, or what is before it take the header away, so
 * that the signature is wrong. */
static bool
refuses_header(const struct client_reply *reply, const struct s3_error *s)
{
	return reply->status == 501 || !strcmp(code_of(s), "SignatureDoesNotMatch") ||
	       (reply->status == 400 && !is(s, expired) && !is(s, skewed) && !is(s, elsewhere) &&
		       !is(s, passing));
}

/* Without x-amz-checksum-mode. */
static bool
ask_plainly(struct s3_request *q)
{
	if (!q->asks_sum || !q->refused)
		return false;
	q->plain = true;
	return true;
}

/* An object came. Where asking for its checksum had been refused, and is for several objects in
 * turn, the server does not know the header. */
static void
note_sums(struct s3_request *q)
{
	atomic_uint *refusals = &q->bucket->refusals;
	if (q->asks_sum)
		atomic_store(refusals, 0);
	else if (q->plain && atomic_fetch_add(refusals, 1) + 1 == S3_MUTE_FROM)
		log_debug("bucket '%s': the server refuses to be asked for checksums, and its "
			  "objects are read without",
			q->bucket->settings.address.bucket);
}

/* 404: the key, or everything? Only S3's own word counts; a HEAD has none. */
static int
absent(struct s3_request *q, const struct client_reply *reply, const struct s3_error *s)
{
	struct bucket *b = q->bucket;
	if (!strcmp(code_of(s), "NoSuchKey")) {
		b->seen_at = clock_now();
		return q->kind == CLIENT_PUT ? ZMAP_CHANGED : ZMAP_ABSENT;
	}
	if (!strcmp(code_of(s), "NoSuchBucket"))
		return err_add(explain(q, reply, s, -EIO), "there is no bucket '%s'",
			b->settings.address.bucket);
	if (reply->body.len || q->kind == CLIENT_LIST || q->kind == CLIENT_PUT || !q->key)
		return explain(q, reply, s, -EIO);
	if (b->seen_at && clock_now() - b->seen_at < BELIEVED)
		return ZMAP_ABSENT;
	int r = s3_request_probe(b, q->deadline, q->cancel);
	if (r < 0) {
		q->explained = true;
		return r;
	}
	b->seen_at = clock_now();
	return ZMAP_ABSENT;
}

/* What nothing can be done about. */
static enum client_verdict
outcome(struct s3_request *q, const struct client_reply *reply, const struct s3_error *s, int *ret)
{
	bool conditional = q->if_match || q->if_none_match;
	switch (reply->status) {
	case 304:
		if (q->if_none_match)
			return CLIENT_RULES;
		break;
	case 404: *ret = absent(q, reply, s); return CLIENT_DONE;
	case 409:
		*ret = ZMAP_CHANGED;
		if (conditional && q->kind != CLIENT_GET)
			return CLIENT_DONE;
		break;
	case 412:
		if (conditional)
			return CLIENT_RULES;
		break;
	case 416: return CLIENT_RULES;
	case 429:
	case 500:
	case 502:
	case 503:
	case 504: return CLIENT_RULES;
	default: break;
	}
	if (is(s, passing))
		return CLIENT_LATER;
	if (!strcmp(code_of(s), "SlowDown"))
		return CLIENT_SLOWER;
	*ret = explain(q, reply, s, code_for(q, reply, s, -EIO));
	return CLIENT_DONE;
}

/* Some servers do not know If-Match of a GET. */
static bool
other_version(const struct s3_request *q, const struct client_reply *reply)
{
	return q->get && q->if_match && strcmp(q->if_match, reply->etag) != 0;
}

/* The bytes of the whole object, if the answer had them all. */
static bool
is_whole(const struct s3_request *q, const struct client_reply *reply, struct span *ret)
{
	const struct zmap_get *g = q->get;
	const size_t got = g && g->into ? g->into->len - q->start : 0;
	*ret = (struct span){got ? g->into->data + q->start : NULL, got};
	return q->kind == CLIENT_GET && reply->sized && reply->size == got;
}

/* A sum of the bytes as the answer says it, and as they have it. */
struct sum {
	const char *name, *said;
	char is[CHECKSUM_TEXT]; /* an ETag is shorter */
};
_Static_assert((int)ETAG_SIZE <= (int)CHECKSUM_TEXT, "an ETag fits");

/* By the checksum that the answer tells, or by its ETag where that is their MD5. 1: the bytes have
 * another; 0: they have it, or the answer tells none; -errno. */
static int
is_other_sum(
	enum zmap_verify by, const struct client_reply *reply, struct span bytes, struct sum *ret)
{
	const bool all = by == ZMAP_VERIFY_TRUE;
	if (reply->status == 200 && !reply->composite && checksum_tells(reply->checksum) &&
		(all || checksum_is_cheap(reply->checksum))) {
		ret->name = "checksum";
		ret->said = reply->checksum;
		int r = checksum_of(reply->checksum, bytes, ret->is);
		return r < 0 ? r : strcmp(ret->is, ret->said) != 0;
	}
	if (!all || reply->sealed || !etag_is_md5(reply->etag))
		return 0;
	ret->name = "MD5";
	ret->said = reply->etag;
	int r = etag_of(bytes, ret->is);
	return r < 0 ? r : strcasecmp(ret->is, ret->said) != 0;
}

/* Are all the bytes that came what the answer says they are? They may have been damaged on their
 * way only, so they are asked for once more. */
static enum client_verdict
verify(struct s3_request *q, const struct client_reply *reply, int *ret)
{
	struct span bytes;
	struct sum s;
	const enum zmap_verify by = q->bucket->settings.verify;
	int r = by != ZMAP_VERIFY_FALSE && is_whole(q, reply, &bytes)
			? is_other_sum(by, reply, bytes, &s)
			: 0;
	if (r == 0)
		return CLIENT_RULES;
	if (r > 0 && !q->resent) {
		q->resent = true;
		return CLIENT_LATER;
	}
	*ret = r < 0 ? r
		     : err_set(-EIO, "'%s' came damaged twice: its %s is %s, not %s", q->key,
			       s.name, s.is, s.said);
	return CLIENT_DONE;
}

enum client_verdict
s3_classify(void *request, const struct client_reply *reply, int *ret)
{
	struct s3_request *q = request;
	if (!reply->status || reply->error)
		return CLIENT_RULES;
	if (reply->status == 304 || reply->status == 412 || reply->status < 300)
		q->bucket->seen_at = clock_now();
	if (reply->status < 300 && other_version(q, reply)) {
		*ret = ZMAP_CHANGED;
		return CLIENT_DONE;
	}
	if (reply->status < 300 || (q->plain && reply->status == 404))
		note_sums(q);
	if (reply->status < 300)
		return verify(q, reply, ret);
	struct s3_error *s = understand(reply);
	if (!s) {
		*ret = err_set(-ENOMEM, "no memory for an answer");
		return CLIENT_DONE;
	}
	q->refused = refuses_header(reply, s);
	bool again = put_region_right(q, reply, s) || put_clock_right(q, reply, s) ||
		     renew_keys(q, reply, s) || ask_plainly(q);
	enum client_verdict v = again ? CLIENT_AGAIN : outcome(q, reply, s, ret);
	free(s);
	return v;
}
