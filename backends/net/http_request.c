#include "backends/net/http_request.h"

#include "base/clean.h"
#include "store/zmap.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>

enum { AGAINS = 3, DOUBLINGS = 5 };

static const int64_t MS = 1000000;
/* Until the first byte; doubled with each attempt that had no more, since a server may really be
 * that slow. */
static const int64_t PATIENCE = 10 * (int64_t)1000000000;
enum { SHARES = 4 }; /* but no more than one of so many of the time there is: 1 + 2 leaves one */
/* With less left there is no other attempt. */
static const int64_t LAST = 200 * (int64_t)1000000;

static int64_t
first_patience(int64_t deadline)
{
	int64_t share = deadline ? (deadline - clock_now()) / SHARES : PATIENCE;
	return share < 0 ? 0 : share < PATIENCE ? share : PATIENCE;
}

void
http_request_init(struct http_request *e, const struct client_ask *ask,
	void (*ended)(struct client_attempt *))
{
	*e = (struct http_request){
		.ask = *ask,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	e->patience = first_patience(ask->deadline);
	e->body.ask = &e->ask;
	e->body.start = ask->into ? ask->into->len : 0;
	e->attempt.request = e;
	e->attempt.ask = &e->ask;
	e->attempt.until = &e->ask.deadline;
	e->attempt.body = &e->body;
	e->attempt.head.reply = &e->reply;
	e->attempt.ended = ended;
}

static void
forget_request(struct http_request *e)
{
	free(e->attempt.url);
	curl_slist_free_all(e->attempt.headers);
	e->attempt.url = NULL;
	e->attempt.headers = NULL;
}

void
http_request_done(struct http_request *e)
{
	forget_request(e);
	client_reply_free(&e->reply);
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->cond);
}

static enum http_request_step
over(struct http_request *e, int r)
{
	e->result = r;
	if (r != 0)
		body_restart(&e->body);
	return HTTP_REQUEST_OVER;
}

/* No caller waits any more: what the attempts before met with is worth more than that. */
static enum http_request_step
given_up(struct http_request *e, int r)
{
	if (r == -ETIMEDOUT && e->said.code)
		err_set(r, "%s; before that: %s", err_text(), e->said.text);
	return over(e, r);
}

enum http_request_step
http_request_send(struct http_request *e, struct http_loop *w)
{
	struct client_attempt *a = &e->attempt;
	forget_request(e);
	e->reply.body.len = 0;
	e->reply = (struct client_reply){.attempt = e->tried, .body = e->reply.body};
	a->head = (struct head){.reply = &e->reply};
	body_attempt(&e->body);
	int r = e->ask.hooks->prepare(e->ask.arg, e->tried, a);
	if (r == 0)
		r = zmap_patience(e->ask.deadline, e->ask.cancel);
	if (r < 0)
		return given_up(e, r);
	a->patience = e->patience << (e->stuck < DOUBLINGS ? e->stuck : DOUBLINGS);
	a->deadline = e->ask.patience ? clock_now() + e->ask.patience : 0;
	a->fresh = a->err.code;
	e->tried++;
	http_loop_start(w, a);
	return HTTP_REQUEST_SENT;
}

int64_t
client_pause(unsigned n, int64_t left)
{
	uint64_t most = (uint64_t)(100 * MS) << (n < 16 ? n : 16), dice = 0;
	if (most > 20 * (uint64_t)SECOND)
		most = 20 * (uint64_t)SECOND;
	if (getrandom(&dice, sizeof dice, GRND_NONBLOCK) != (ssize_t)sizeof dice)
		dice = (uint64_t)clock_now();
	int64_t pause = (int64_t)(dice % most);
	return left < LAST ? left : pause < left / 2 ? pause : left / 2;
}

/* How many attempts there may be: as many as there is time for, where it is known that the server
 * can be reached. */
static unsigned
tries(const struct http_request *e, const struct http_loop *w)
{
	const struct client_ask *a = &e->ask;
	bool lasts = a->deadline && a->kind != CLIENT_OTHER && http_loop_is_reached(w);
	return a->tries ? a->tries : lasts ? UINT_MAX : CLIENT_FEW;
}

/* r: the outcome if there is no more time, its text set. */
static enum http_request_step
later(struct http_request *e, struct http_loop *w, struct http_metrics *g, int r)
{
	unsigned n = e->tried - e->again;
	int64_t now = clock_now(), left = e->ask.deadline ? e->ask.deadline - now : INT64_MAX;
	int64_t pause = client_pause(n - 1, left);
	if (pause < e->reply.retry_after)
		pause = e->reply.retry_after;
	if (e->ask.tries == 1)
		return over(e, r);
	if (n >= tries(e, w) || e->odd >= CLIENT_FEW)
		return over(e, err_add(r, "after %u attempts", n));
	if (pause >= left)
		return over(e, err_add(-ETIMEDOUT, "no time for another attempt"));
	err_save(r, &e->said);
	e->at = now + pause;
	http_metrics_add(&g->retries, 1);
	if (e->body.got && *e->body.etag == '"')
		http_metrics_add(&g->resumed, 1);
	return HTTP_REQUEST_PAUSE;
}

static int
say_status(const struct client_reply *p, int code)
{
	return *p->request_id ? err_set(code, "HTTP %d (request id %s)", p->status, p->request_id)
			      : err_set(code, "HTTP %d", p->status);
}

static int
ask_for_name(const struct client_reply *p)
{
	say_status(p, -EACCES);
	return err_set(-EACCES,
		"%s; a name and password are taken from ~/.netrc, a token from -o http_token_file=",
		err_text());
}

static bool
passing(int status)
{
	return status == 429 || status == 500 || (status >= 502 && status <= 504);
}

/* A range behind the end of the object has no bytes; of an object that has them it is an odd
 * answer. */
static int
beyond(const struct http_request *e)
{
	const struct client_ask *a = &e->ask;
	const struct client_reply *p = &e->reply;
	bool asked = a->from_end ? a->len : a->off;
	if (!p->sized || p->size == 0 || (asked && !a->from_end && a->off >= p->size))
		return asked || a->len ? 0 : say_status(p, -EIO);
	return say_status(p, -EIO);
}

static int
outcome(const struct http_request *e)
{
	const struct client_reply *p = &e->reply;
	switch (p->status) {
	case 200:
	case 201:
	case 202:
	case 204:
	case 206: return 0;
	case 304: return ZMAP_SAME;
	case 412: return ZMAP_CHANGED;
	case 404:
	case 410: return ZMAP_ABSENT;
	case 416: return beyond(e);
	case 401: return ask_for_name(p);
	case 403: return say_status(p, -EACCES);
	default: return say_status(p, -EIO);
	}
}

/* What the rules say of a whole answer or a failure. */
static enum http_request_step
by_rules(struct http_request *e, struct http_loop *w, struct http_metrics *g)
{
	struct client_attempt *a = &e->attempt;
	if (a->err.code) {
		int r = err_restore(&a->err);
		return a->later ? later(e, w, g, r) : over(e, r);
	}
	if (passing(e->reply.status))
		return later(e, w, g, say_status(&e->reply, -EIO));
	return over(e, outcome(e));
}

static enum http_request_step
by_verdict(struct http_request *e, struct http_loop *w, struct http_metrics *g)
{
	const struct client_hooks *h = e->ask.hooks;
	int r = 0;
	if (e->attempt.err.code)
		err_restore(&e->attempt.err);
	switch (h->classify_response ? h->classify_response(e->ask.arg, &e->reply, &r)
				     : CLIENT_RULES) {
	case CLIENT_DONE: return over(e, r);
	case CLIENT_AGAIN:
		if (e->again >= AGAINS || e->ask.tries == 1)
			break;
		e->again++;
		body_restart(&e->body);
		return HTTP_REQUEST_NOW;
	case CLIENT_SLOWER:
		http_loop_pace(w, e->attempt.started, true);
		__attribute__((fallthrough));
	case CLIENT_LATER:
		if (e->attempt.err.code)
			return later(e, w, g, err_restore(&e->attempt.err));
		body_restart(&e->body);
		return later(e, w, g, say_status(&e->reply, -EIO));
	case CLIENT_RULES: break;
	}
	return by_rules(e, w, g);
}

/* The condition or the range that the answer refuses is ours, not the asker's: that of the part
 * which was missing. */
static bool
resumed_in_vain(const struct http_request *e)
{
	return e->body.got && !e->attempt.err.code &&
	       (e->reply.status == 412 || e->reply.status == 416);
}

static enum http_request_step
start_anew(struct http_request *e, struct http_loop *w, struct http_metrics *g)
{
	e->odd++;
	body_restart(&e->body);
	return later(e, w, g, err_set(-EIO, "it changed while it was read"));
}

enum http_request_step
http_request_weigh(struct http_request *e, struct http_loop *w, struct http_metrics *g)
{
	struct client_attempt *a = &e->attempt;
	int status = e->reply.status;
	e->reply.error = a->err.code;
	e->reply.requests = a->requests;
	if (a->err.code == -EINTR || a->err.code == -ETIMEDOUT)
		return given_up(e, err_restore(&a->err));
	e->stuck += a->stuck;
	e->odd += a->odd;
	if (status && !passing(status) && e->ask.kind != CLIENT_OTHER)
		http_loop_reached(w);
	if (status && !a->err.code)
		http_loop_pace(w, a->started, status == 429 || status == 503);
	if (buf_terminate(&e->reply.body) < 0)
		return over(e, -ENOMEM);
	return resumed_in_vain(e) ? start_anew(e, w, g) : by_verdict(e, w, g);
}

enum http_request_step
http_request_wait(struct http_request *e, int64_t now)
{
	int r = zmap_patience(e->ask.deadline, e->ask.cancel);
	if (r < 0)
		return given_up(e, r);
	return now >= e->at ? HTTP_REQUEST_NOW : HTTP_REQUEST_PAUSE;
}
