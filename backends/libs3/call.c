#include "backends/libs3/call.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>

enum { DOUBLINGS = 5 };

static const int64_t LOOK = 100000000; /* ns between looks at cancel */
static const int64_t PATIENCE =
	10 * (int64_t)1000000000; /* without a byte; doubled with each attempt */

/* --- connections --- */

struct libs3_lane {
	struct libs3_lane *next;
	S3RequestContext *context; /* keeps its connection from one request to the next */
};

struct lanes {
	pthread_mutex_t lock;
	pthread_cond_t cond;     /* one is idle again, or may be made */
	struct libs3_lane *idle; /* guarded by lock, as is all that follows */
	unsigned made, most;
};

int
lanes_new(unsigned most, struct lanes **ret)
{
	struct lanes *l = calloc(1, sizeof *l);
	if (!l)
		return err_set(-ENOMEM, "no memory for a store");
	pthread_mutex_init(&l->lock, NULL);
	clock_cond_init(&l->cond);
	l->most = most;
	*ret = l;
	return 0;
}

static void
lane_free(struct libs3_lane *lane)
{
	S3_destroy_request_context(lane->context);
	free(lane);
}

struct lanes *
lanes_free(struct lanes *l)
{
	if (!l)
		return NULL;
	for (struct libs3_lane *next; l->idle; l->idle = next) {
		next = l->idle->next;
		lane_free(l->idle);
	}
	pthread_cond_destroy(&l->cond);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

/* 0 and one that is idle, or NULL where one may be made. */
static int
wait_for_lane(struct lanes *l, const struct libs3_call *c, struct libs3_lane **ret)
{
	LOCKED(&l->lock) {
		while (!l->idle && l->made >= l->most) {
			int r = zmap_patience(c->deadline, c->cancel);
			if (r < 0)
				return r;
			int64_t until = clock_now() + LOOK;
			struct timespec t = {until / SECOND, until % SECOND};
			pthread_cond_timedwait(&l->cond, &l->lock, &t);
		}
		*ret = l->idle;
		if (l->idle)
			l->idle = l->idle->next;
		else
			l->made++;
	}
	return 0;
}

/* lane NULL: it is no more. */
static void
give_back(struct lanes *l, struct libs3_lane *lane)
{
	LOCKED(&l->lock) {
		if (lane) {
			lane->next = l->idle;
			l->idle = lane;
		} else {
			l->made--;
		}
		pthread_cond_signal(&l->cond);
	}
}

static int
take_lane(struct lanes *l, const struct libs3_call *c, struct libs3_lane **ret)
{
	struct libs3_lane *lane = NULL;
	int r = wait_for_lane(l, c, &lane);
	if (r == 0 && !lane) {
		lane = calloc(1, sizeof *lane);
		if (!lane || S3_create_request_context(&lane->context) != S3StatusOK) {
			free(lane);
			give_back(l, NULL);
			return err_set(-ENOMEM, "no memory for a connection");
		}
	}
	*ret = lane;
	return r;
}

/* --- callbacks of every request --- */

S3Status
call_on_properties(const S3ResponseProperties *p, void *arg)
{
	struct libs3_call *c = arg;
	c->heard = clock_now();
	c->answered = true;
	c->stat = (struct zmap_stat){.size = p->contentLength};
	if (p->lastModified > 0 && p->lastModified < INT64_MAX / SECOND)
		c->stat.mtime = p->lastModified * SECOND;
	if (p->eTag && strlen(p->eTag) < sizeof c->stat.version)
		memcpy(c->stat.version, p->eTag, strlen(p->eTag) + 1);
	snprintf(c->request_id, sizeof c->request_id, "%s", p->requestId ? p->requestId : "");
	return S3StatusOK;
}

void
call_on_complete(S3Status status, const S3ErrorDetails *e, void *arg)
{
	struct libs3_call *c = arg;
	c->status = status;
	c->over = true;
	if (c->result == 0 && status != S3StatusOK && e && e->message)
		snprintf(c->why, sizeof c->why, ": %s", e->message);
}

S3Status
call_give_up(struct libs3_call *c, int r)
{
	c->result = r;
	snprintf(c->why, sizeof c->why, "%s", err_text());
	return S3StatusAbortedByCallback;
}

/* --- one attempt --- */

/* Moves bytes until the request is over. -errno: given up. */
static int
drive(S3RequestContext *context, struct libs3_call *c, int64_t patience)
{
	while (!c->over) {
		int left, most = -1;
		fd_set r, w, e;
		if (S3_runonce_request_context(context, &left) != S3StatusOK)
			return err_set(-EIO, "libs3 does not go on");
		if (c->over)
			break;
		int why = zmap_patience(c->deadline, c->cancel);
		if (why < 0)
			return why;
		if (clock_now() - c->heard > patience)
			return err_set(-EAGAIN, "no answer for %" PRId64 " s", patience / SECOND);
		FD_ZERO(&r);
		FD_ZERO(&w);
		FD_ZERO(&e);
		S3_get_request_context_fdsets(context, &r, &w, &e, &most);
		struct timeval wait = {0, most < 0 ? 5000 : LOOK / 1000};
		select(most + 1, &r, &w, &e, &wait);
	}
	return 0;
}

/* libs3 dates a request by gmtime(), which all threads share. Nothing is sent yet. */
static void
begin(struct libs3_call *c, const S3BucketContext *bucket, S3RequestContext *context)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what gmtime() returns */
	LOCKED(&lock)
		c->begin(bucket, context, c);
}

static int
attempt(struct libs3 *s, struct libs3_call *c, int64_t patience)
{
	CLEAN(keys_unrefp) struct s3_keys *keys = NULL;
	const struct address *a = &s->bucket.settings.address;
	struct libs3_lane *lane = NULL;
	int r = credentials_get(s->bucket.credentials, c->deadline, c->cancel, &keys);
	if (r == 0 && (!keys || keys->token))
		r = err_set(-EINVAL, "libs3 can sign with lasting keys only");
	if (r == 0)
		r = take_lane(s->lanes, c, &lane);
	if (r < 0)
		return r;
	const S3BucketContext bucket = {
		.hostName = s->host,
		.bucketName = a->bucket,
		.protocol = a->plain_http ? S3ProtocolHTTP : S3ProtocolHTTPS,
		.uriStyle = a->virtual_host ? S3UriStyleVirtualHost : S3UriStylePath,
		.accessKeyId = keys->id,
		.secretAccessKey = keys->secret,
	};
	atomic_fetch_add_explicit(&s->requests, 1, memory_order_relaxed);
	c->heard = clock_now();
	begin(c, &bucket, lane->context);
	r = drive(lane->context, c, patience);
	if (r < 0) { /* what is under way is ended with its connection */
		struct err why;
		err_save(r, &why);
		lane_free(lane);
		lane = NULL;
		err_restore(&why);
	}
	give_back(s->lanes, lane);
	return r;
}

/* --- what it means --- */

static bool
passing(S3Status status)
{
	switch (status) {
	case S3StatusErrorInternalError:
	case S3StatusErrorOperationAborted:
	case S3StatusErrorRequestTimeout:
	case S3StatusErrorSlowDown:
	case S3StatusInternalError:
	case S3StatusNameLookupError:
	case S3StatusFailedToConnect:
	case S3StatusConnectionFailed:
	case S3StatusHttpErrorUnknown: return true;
	default: return false;
	}
}

static int
failure(const struct libs3_call *c, int code)
{
	const char *name = S3_get_status_name(c->status), *id = c->request_id;
	return err_set(code, "libs3: %s%s%s%s%s", name, c->why, *id ? " (request id " : "", id,
		*id ? ")" : "");
}

/* Refused: the source of the keys may be another one than the user thinks. */
static int
refusal(const struct libs3 *s, const struct libs3_call *c)
{
	char origin[160] = "";
	int r = failure(c, -EACCES);
	credentials_origin(s->bucket.credentials, origin, sizeof origin);
	return *origin ? err_set(r, "%s; with the keys of %s", err_text(), origin) : r;
}

/* -EAGAIN: may be better the next time. */
static int
meaning(const struct libs3 *s, const struct libs3_call *c)
{
	if (c->result < 0)
		return err_set(c->result, "%s", c->why);
	switch (c->status) {
	case S3StatusOK: break;
	case S3StatusErrorNoSuchKey:
	case S3StatusHttpErrorNotFound: return ZMAP_ABSENT;
	case S3StatusErrorPreconditionFailed: return ZMAP_CHANGED;
	case S3StatusErrorAccessDenied:
	case S3StatusErrorInvalidAccessKeyId:
	case S3StatusErrorSignatureDoesNotMatch:
	case S3StatusHttpErrorForbidden: return refusal(s, c);
	case S3StatusOutOfMemory: return failure(c, -ENOMEM);
	default: return failure(c, passing(c->status) ? -EAGAIN : -EIO);
	}
	if (c->into && !c->answered)
		return err_set(-EAGAIN, "an answer without a head");
	const char *want = c->conditions.ifMatchETag; /* of which not all servers take notice */
	if (want && strcmp(want, c->stat.version) != 0)
		return ZMAP_CHANGED;
	if (c->into && c->got != c->stat.size)
		return err_set(
			-EAGAIN, "truncated: %zu of %" PRIu64 " bytes", c->got, c->stat.size);
	return 0;
}

static void
reset(struct libs3_call *c)
{
	if (c->into)
		c->into->len = c->start;
	c->answered = c->over = false;
	c->result = 0;
	c->sent = c->got = 0;
	*c->why = *c->request_id = 0;
}

static int
wait_until(const struct libs3_call *c, int64_t when)
{
	for (int64_t now; (now = clock_now()) < when;) {
		int64_t left = when - now < LOOK ? when - now : LOOK;
		int r = zmap_patience(c->deadline, c->cancel);
		if (r < 0)
			return r;
		nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
	}
	return 0;
}

/* libs3 writes a space in a key as '+', which no server takes for one, and other programs' keys
 * with spaces cannot be read. */
static int
check_key(const char *key)
{
	if (strchr(key, ' '))
		return err_set(-ENOTSUP, "libs3 cannot name a key with a space, such as '%s'", key);
	return 0;
}

int
call_run(struct libs3 *s, struct libs3_call *c)
{
	int r = c->key ? check_key(c->key) : 0;
	if (r < 0)
		return r;
	c->start = c->into ? c->into->len : 0;
	for (unsigned n = 0;; n++) {
		reset(c);
		r = attempt(s, c, PATIENCE << (n < DOUBLINGS ? n : DOUBLINGS));
		if (r == 0)
			r = meaning(s, c);
		if (r != -EAGAIN)
			break;
		int64_t now = clock_now(), left = c->deadline ? c->deadline - now : INT64_MAX;
		int64_t pause = client_pause(n, left);
		bool few = !s->reached || !c->deadline;
		if ((few && n + 1 >= CLIENT_FEW) || pause >= left) {
			r = err_add(-EIO, "after %u attempts", n + 1);
			break;
		}
		atomic_fetch_add_explicit(&s->retries, 1, memory_order_relaxed);
		r = wait_until(c, now + pause);
		if (r < 0)
			break;
	}
	if (r >= 0)
		s->reached = true;
	if (r != 0 && c->into)
		c->into->len = c->start;
	return r;
}
