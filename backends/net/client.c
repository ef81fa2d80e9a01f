#include "backends/net/client.h"

#include "backends/net/dispatcher.h"
#include "base/clean.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t LOOK = 100000000; /* ns between looks at cancel during a pause */

struct client {
	struct http_metrics metrics;
	struct http_loop *loop;
	struct dispatcher *dispatcher;
};

int
client_new(const struct client_options *o, struct client **ret)
{
	struct client *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "no memory for a client");
	int r = http_loop_new(o, &c->metrics, &c->loop);
	if (r == 0)
		r = dispatcher_new(c->loop, &c->metrics, &c->dispatcher);
	if (r < 0) {
		client_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

struct client *
client_free(struct client *c)
{
	if (!c)
		return NULL;
	dispatcher_free(c->dispatcher);
	http_loop_free(c->loop);
	free(c);
	return NULL;
}

static void
call_ended(struct client_attempt *a)
{
	struct http_request *e = a->request;
	LOCKED(&e->lock) {
		e->ended = true;
		pthread_cond_signal(&e->cond);
	}
}

static void
wait_for_answer(struct http_request *e)
{
	LOCKED(&e->lock) {
		while (!e->ended) /* the loop looks at deadline and cancel */
			pthread_cond_wait(&e->cond, &e->lock);
		e->ended = false;
	}
}

static enum http_request_step
sleep_through(struct http_request *e)
{
	for (;;) {
		int64_t now = clock_now(), left = e->at - now;
		enum http_request_step s = http_request_wait(e, now);
		if (s != HTTP_REQUEST_PAUSE)
			return s;
		left = left < LOOK ? left : LOOK;
		nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
	}
}

int
client_call(struct client *c, const struct client_ask *ask, struct client_reply *ret)
{
	struct http_request e;
	http_request_init(&e, ask, call_ended);
	enum http_request_step s = HTTP_REQUEST_NOW;
	while (s != HTTP_REQUEST_OVER) {
		s = http_request_send(&e, c->loop);
		if (s == HTTP_REQUEST_OVER)
			break;
		wait_for_answer(&e);
		s = http_request_weigh(&e, c->loop, &c->metrics);
		if (s == HTTP_REQUEST_PAUSE)
			s = sleep_through(&e);
	}
	if (ret) {
		*ret = e.reply;
		e.reply.body = (struct buf){0};
	}
	http_request_done(&e);
	return e.result;
}

void
client_submit(struct client *c, const struct client_ask *ask, client_done_fn *done, void *done_arg)
{
	dispatcher_submit(c->dispatcher, ask, done, done_arg);
}

int
client_stats(struct client *c, struct buf *ret)
{
	unsigned running, waiting, allowed;
	http_loop_count(c->loop, &running, &waiting, &allowed);
	int r = http_metrics_print(&c->metrics, ret);
	return r < 0 ? r
		     : buf_addf(ret,
			       "zarrfs_http_running %u\nzarrfs_http_waiting %u\n"
			       "zarrfs_http_allowed %u\n",
			       running, waiting, allowed);
}

int
client_url(struct client_attempt *a, const char *url)
{
	free(a->url);
	a->url = strdup(url);
	return a->url ? 0 : err_set(-ENOMEM, "no memory for a URL");
}

int
client_encode(struct buf *ret, const char *text, size_t len, bool keep_slash)
{
	static const char digits[] = "0123456789ABCDEF";
	int r = 0;
	for (size_t i = 0; i < len && r == 0; i++) {
		unsigned char c = (unsigned char)text[i];
		bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
			     (c && strchr("-._~", c)) || (c == '/' && keep_slash);
		const char coded[] = {'%', digits[c >> 4], digits[c & 15]};
		r = plain ? buf_add(ret, &c, 1) : buf_add(ret, coded, sizeof coded);
	}
	return r;
}
