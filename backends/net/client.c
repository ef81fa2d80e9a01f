#include "backends/net/client.h"

#include "backends/net/desk.h"
#include "base/clean.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const int64_t LOOK = 100000000; /* ns between looks at cancel during a pause */

struct client {
	struct gauge gauge;
	struct wire *wire;
	struct desk *desk;
};

int
client_new(const struct client_options *o, struct client **ret)
{
	struct client *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "no memory for a client");
	int r = wire_new(o, &c->gauge, &c->wire);
	if (r == 0)
		r = desk_new(c->wire, &c->gauge, &c->desk);
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
	desk_free(c->desk);
	wire_free(c->wire);
	free(c);
	return NULL;
}

void
client_reply_free(struct client_reply *r)
{
	buf_free(&r->body);
}

static void
call_ended(struct client_attempt *a)
{
	struct errand *e = a->errand;
	LOCKED(&e->lock) {
		e->ended = true;
		pthread_cond_signal(&e->cond);
	}
}

static void
wait_for_answer(struct errand *e)
{
	LOCKED(&e->lock) {
		while (!e->ended) /* the wire looks at deadline and cancel */
			pthread_cond_wait(&e->cond, &e->lock);
		e->ended = false;
	}
}

static enum errand_step
sleep_through(struct errand *e)
{
	for (;;) {
		int64_t now = when_now(), left = e->at - now;
		enum errand_step s = errand_wait(e, now);
		if (s != ERRAND_PAUSE)
			return s;
		left = left < LOOK ? left : LOOK;
		nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
	}
}

int
client_call(struct client *c, const struct client_ask *ask, struct client_reply *ret)
{
	struct errand e;
	errand_init(&e, ask, call_ended);
	enum errand_step s = ERRAND_NOW;
	while (s != ERRAND_OVER) {
		s = errand_send(&e, c->wire);
		if (s == ERRAND_OVER)
			break;
		wait_for_answer(&e);
		s = errand_weigh(&e, c->wire, &c->gauge);
		if (s == ERRAND_PAUSE)
			s = sleep_through(&e);
	}
	if (ret) {
		*ret = e.reply;
		e.reply.body = (struct buf){0};
	}
	errand_done(&e);
	return e.result;
}

void
client_submit(struct client *c, const struct client_ask *ask, client_done_fn *done, void *done_arg)
{
	desk_submit(c->desk, ask, done, done_arg);
}

int
client_stats(struct client *c, struct buf *ret)
{
	unsigned running, waiting, allowed;
	wire_count(c->wire, &running, &waiting, &allowed);
	int r = gauge_print(&c->gauge, ret);
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

static bool
printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

int
client_header(struct client_attempt *a, const char *name, const char *value)
{
	CLEAN(clean_free) char *line = NULL;
	if (!printable(name) || !printable(value))
		return err_set(-EINVAL, "a control character in header '%.32s'", name);
	/* curl's way to say "with nothing behind it" */
	int n = *value ? asprintf(&line, "%s: %s", name, value) : asprintf(&line, "%s;", name);
	if (n < 0)
		line = NULL;
	struct curl_slist *more = line ? curl_slist_append(a->headers, line) : NULL;
	if (!more)
		return err_set(-ENOMEM, "no memory for a header");
	a->headers = more;
	return 0;
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
