/* The HTTP client and a server that answers as a test tells it. */
#pragma once

#include "answerer.h"

#include "backends/net/client.h"
#include "base/clean.h"
#include "base/err.h"

enum { BIG = 1 << 20 };

static char big[BIG];

static struct answerer server;

static struct client *client;

/* What a test's prepare() and judge() do. */
struct plan {
	const char *path;
	enum client_verdict verdict;
	int refuse; /* the status that judge() ends the ask for, with result */
	int result;
	int seen[16]; /* the status, or error, of each attempt */
	unsigned prepared;
};

static inline int
prepare(void *arg, unsigned attempt, struct client_attempt *a)
{
	struct plan *p = arg;
	char url[512];
	CHECK_INT(attempt, p->prepared);
	p->prepared++;
	snprintf(url, sizeof url, "http://127.0.0.1:%u/%s", server.port, p->path ? p->path : "");
	int r = client_url(a, url);
	return r == 0 ? client_header(a, "X-Attempt", attempt ? "again" : "first") : r;
}

static inline enum client_verdict
judge(void *arg, const struct client_reply *reply, int *ret)
{
	struct plan *p = arg;
	if (reply->attempt < 16)
		p->seen[reply->attempt] = reply->error ? reply->error : reply->status;
	*ret = p->result;
	return p->refuse && reply->status == p->refuse ? CLIENT_DONE : p->verdict;
}

static const struct client_hooks hooks = {prepare, judge};

static inline void
begin(answer_fn *fn, void *arg, unsigned connections)
{
	answerer_start(&server, fn, arg);
	CHECK_INT(client_new(&(struct client_options){.connections = connections}, &client), 0);
}

static inline void
end(void)
{
	client = client_free(client);
	answerer_stop(&server);
}

/* One GET of all. The bytes are those of big[off..off+len). */
static inline void
expect(struct client_ask a, int want, size_t off, size_t len)
{
	CLEAN(buf_free) struct buf b = {0};
	struct plan usual = {0};
	struct client_reply reply;
	CHECK_INT(buf_add(&b, "head", 4), 0);
	a.hooks = &hooks;
	a.arg = a.arg ? a.arg : &usual;
	a.into = &b;
	a.max = a.max ? a.max : 2 * BIG;
	a.deadline = a.deadline ? a.deadline : clock_now() + 20 * SECOND;
	CHECK_INT(client_call(client, &a, &reply), want);
	CHECK_INT(b.len, 4 + len);
	CHECK(b.len >= 4 && !memcmp(b.data, "head", 4));
	CHECK(b.len == 4 + len && !memcmp(b.data + 4, big + off, len));
	client_reply_free(&reply);
}

/* Honours Range, as servers do. */
static inline bool
usual(struct answerer *s, int fd, const char *head, unsigned n)
{
	unsigned long first = 0, last = BIG - 1;
	const char *range = strcasestr(head, "\r\nRange: bytes=");
	if (range && range[15] == '-')
		first = BIG - strtoul(range + 16, NULL, 10);
	else if (range)
		sscanf(range + 15, "%lu-%lu", &first, &last);
	if (last >= BIG)
		last = BIG - 1;
	if (first >= BIG)
		return answer(fd,
			"HTTP/1.1 416 no\r\nContent-Range: bytes */%d\r\nContent-Length: 0\r\n\r\n",
			BIG);
	return answer(fd,
		       "HTTP/1.1 %s\r\nContent-Length: %lu\r\nETag: \"one\"\r\n"
		       "Content-Range: bytes %lu-%lu/%d\r\n\r\n",
		       range ? "206 part" : "200 ok", last - first + 1, first, last, BIG) &&
	       answer_send(fd, big + first, last - first + 1);
}

/* What there is to read: begin with it. */
static inline void
fill_big(void)
{
	for (size_t i = 0; i < BIG; i++)
		big[i] = (char)(i * 2654435761U >> 13);
}

/* A thread that wants no answer any more, a little later. arg: struct cancel. */
__attribute__((unused)) static void *
cancel_soon(void *arg)
{
	usleep(200000);
	atomic_store(&((struct cancel *)arg)->wanted_no_more, true);
	return NULL;
}
