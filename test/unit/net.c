/* The HTTP client, against a server that answers as it is told. */
#include "answerer.h"

#include "backends/net/client.h"
#include "base/clean.h"
#include "base/err.h"
#include "store/zmap.h"

#include <errno.h>

enum { BIG = 1 << 20 };

static char big[BIG];
static struct answerer server;
static struct client *client;
static atomic_uint judged;

/* What a test's prepare() and judge() do. */
struct plan {
	const char *path;
	enum client_verdict verdict;
	int refuse; /* the status that judge() ends the ask for, with result */
	int result;
	int seen[16]; /* the status, or error, of each attempt */
	unsigned prepared;
};

static int
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

static enum client_verdict
judge(void *arg, const struct client_reply *reply, int *ret)
{
	struct plan *p = arg;
	judged++;
	if (reply->attempt < 16)
		p->seen[reply->attempt] = reply->error ? reply->error : reply->status;
	*ret = p->result;
	return p->refuse && reply->status == p->refuse ? CLIENT_DONE : p->verdict;
}

static const struct client_hooks hooks = {prepare, judge};

static void
begin(answer_fn *fn, void *arg, unsigned connections)
{
	answerer_start(&server, fn, arg);
	CHECK_INT(client_new(&(struct client_options){.connections = connections}, &client), 0);
}

static void
end(void)
{
	client = client_free(client);
	answerer_stop(&server);
}

/* One GET of all. The bytes are those of big[off..off+len). */
static void
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
	a.deadline = a.deadline ? a.deadline : when_now() + 20 * SECOND;
	CHECK_INT(client_call(client, &a, &reply), want);
	CHECK_INT(b.len, 4 + len);
	CHECK(b.len >= 4 && !memcmp(b.data, "head", 4));
	CHECK(b.len == 4 + len && !memcmp(b.data + 4, big + off, len));
	client_reply_free(&reply);
}

/* Honours Range, as servers do. */
static bool
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

static void
ranges(void)
{
	begin(usual, NULL, 0);
	expect((struct client_ask){.off = 0}, 0, 0, BIG);
	expect((struct client_ask){.off = 5}, 0, 5, BIG - 5);
	expect((struct client_ask){.off = 5, .len = 7}, 0, 5, 7);
	expect((struct client_ask){.off = BIG - 2, .len = 7}, 0, BIG - 2, 2);
	expect((struct client_ask){.off = BIG, .len = 7}, 0, 0, 0);
	expect((struct client_ask){.off = UINT64_MAX, .len = 7}, 0, 0, 0);
	expect((struct client_ask){.len = 7, .from_end = true}, 0, BIG - 7, 7);
	expect((struct client_ask){.from_end = true}, 0, 0, BIG);
	expect((struct client_ask){.off = 5, .len = 7, .max = 6}, -EFBIG, 0, 0);
	expect((struct client_ask){.max = BIG - 1}, -EFBIG, 0, 0);
	expect((struct client_ask){.max = BIG}, 0, 0, BIG);
	expect((struct client_ask){.off = 1, .max = BIG - 1}, 0, 1, BIG - 1);
	CHECK_INT(server.connections <= 4, 1); /* those that answered too much are closed */
	end();
}

/* Sends all, whatever is asked; without a length if arg is set. */
static bool
whole(struct answerer *s, int fd, const char *head, unsigned n)
{
	if (!s->arg)
		return answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: %d\r\n\r\n", BIG) &&
		       answer_send(fd, big, BIG);
	answer(fd, "HTTP/1.1 200 ok\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (size_t at = 0; at < BIG; at += 65536)
		if (!answer(fd, "10000\r\n") || !answer_send(fd, big + at, 65536) ||
			!answer(fd, "\r\n"))
			return false;
	return answer(fd, "0\r\n\r\n");
}

static void
range_ignored(void)
{
	for (size_t chunked = 0; chunked < 2; chunked++) {
		begin(whole, chunked ? &server : NULL, 0);
		expect((struct client_ask){.off = 0}, 0, 0, BIG);
		expect((struct client_ask){.off = 5}, 0, 5, BIG - 5);
		expect((struct client_ask){.off = 5, .len = 7}, 0, 5, 7);
		expect((struct client_ask){.off = BIG - 2, .len = 7}, 0, BIG - 2, 2);
		expect((struct client_ask){.off = BIG, .len = 7}, 0, 0, 0);
		expect((struct client_ask){.len = 7, .from_end = true}, 0, BIG - 7, 7);
		expect((struct client_ask){.len = 2 * BIG, .from_end = true}, 0, 0, BIG);
		expect((struct client_ask){.len = 7, .from_end = true, .max = 6}, -EFBIG, 0, 0);
		expect((struct client_ask){.off = 5, .len = 7, .max = 7}, 0, 5, 7);
		expect((struct client_ask){.off = 5, .len = 7, .max = 6}, -EFBIG, 0, 0);
		end();
	}
}

/* Another range than the one asked for, in several ways. */
static bool
wrong_range(struct answerer *s, int fd, const char *head, unsigned n)
{
	static const char *const line[] = {"", "Content-Range: bytes 4-10/1048576\r\n",
		"Content-Range: bytes 5-12/1048576\r\n", "Content-Range: bytes 5-3/7\r\n",
		"Content-Range: bytes 5-11/7\r\n", "Content-Range: rows 5-11/20\r\n",
		"Content-Range: bytes 5-99999999999999999999/*\r\n"};
	return answer(fd,
		       "HTTP/1.1 206 part\r\n%sContent-Length: 7\r\nConnection: "
		       "close\r\n\r\n1234567",
		       line[*(unsigned *)s->arg]) &&
	       false;
}

static void
range_wrong(void)
{
	for (unsigned i = 0; i < 7; i++) {
		begin(wrong_range, &i, 0);
		expect((struct client_ask){.off = 5, .len = 7, .once = true}, -EIO, 0, 0);
		end();
	}
}

/* Says what s->arg points to, always. */
static bool
say(struct answerer *s, int fd, const char *head, unsigned n)
{
	return answer(fd, "HTTP/1.1 %s\r\nContent-Length: 4\r\nx-amz-request-id: tx7\r\n\r\nbody",
		(const char *)s->arg);
}

static void
outcomes(void)
{
	static const struct {
		const char *status;
		int want;
		unsigned attempts;
	} row[] = {
		{"404 no", ZMAP_ABSENT, 1},
		{"410 gone", ZMAP_ABSENT, 1},
		{"412 other", ZMAP_CHANGED, 1},
		{"401 who", -EACCES, 1},
		{"403 no", -EACCES, 1},
		{"301 there", -EIO, 1},
		{"400 bad", -EIO, 1},
		{"501 what", -EIO, 1},
		{"416 no", -EIO, 1},
		{"999 hm", -EIO, 1},
		{"503 slow", -EIO, 5},
		{"429 slow", -EIO, 5},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct plan p = {0};
		begin(say, (void *)row[i].status, 0);
		expect((struct client_ask){.arg = &p}, row[i].want, 0, 0);
		CHECK_INT(p.prepared, row[i].attempts);
		if (row[i].want < 0) {
			CHECK(strstr(err_text(), "tx7"));
			CHECK(!strncmp(strstr(err_text(), "HTTP ") + 5, row[i].status, 3));
		}
		end();
	}
}

/* Bad answers first, good ones from the third on. */
static bool
third_time(struct answerer *s, int fd, const char *head, unsigned n)
{
	if (n >= 2)
		return usual(s, fd, head, n);
	CHECK(strstr(head, n ? "X-Attempt: again" : "X-Attempt: first"));
	switch (*(int *)s->arg) {
	case 0: return false; /* without a word */
	case 1: return answer(fd, "HTTP/1.1 500 oh\r\nContent-Length: 0\r\n\r\n");
	case 2: return answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: 9\r\n\r\n1") && false;
	case 3: return answer(fd, "HTTP/1.1 503 slow\r\nRetry-After: 1\r\n\r\n") && false;
	case 4:
		return answer(fd, "HTTP/1.1 200 ok\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab") &&
		       false;
	case 5:
		setsockopt(
			fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
		return false;
	default: return false;
	}
}

static void
tried_again(void)
{
	for (int how = 0; how < 6; how++) {
		struct plan p = {0};
		int64_t start = when_now();
		begin(third_time, &how, 0);
		expect((struct client_ask){.arg = &p}, 0, 0, BIG);
		CHECK_INT(p.prepared, 3);
		CHECK_INT(p.seen[2], 200);
		CHECK(how != 3 || when_now() - start > 2 * SECOND);
		end();
	}
}

/* Breaks off in the middle, twice; the object may be another the third time. */
static bool
in_pieces(struct answerer *s, int fd, const char *head, unsigned n)
{
	const char *range = strstr(head, "\r\nRange: bytes=");
	unsigned long first = range ? strtoul(range + 15, NULL, 10) : 0;
	const char *etag = s->arg ? s->arg : "\"one\"";
	if (n && !s->arg)
		CHECK(strstr(head, "If-Match: \"one\""));
	if (n && s->arg)
		CHECK(!range);
	CHECK_INT(first, s->arg ? 0 : n * 100000UL);
	answer(fd,
		"HTTP/1.1 %s\r\nContent-Length: %lu\r\nETag: %s\r\n"
		"Content-Range: bytes %lu-%d/%d\r\n\r\n",
		range ? "206 part" : "200 ok", BIG - first, etag, first, BIG - 1, BIG);
	if (n >= 2)
		return answer_send(fd, big + first, BIG - first);
	answer_send(fd, big + first, 100000);
	return false;
}

static void
resumed(void)
{
	begin(in_pieces, NULL, 0);
	expect((struct client_ask){.off = 0}, 0, 0, BIG);
	CHECK_INT(server.requests, 3);
	end();
	begin(in_pieces, (void *)"W/\"one\"", 0);
	expect((struct client_ask){.off = 0}, 0, 0, BIG);
	CHECK_INT(server.requests, 3);
	end();
}

/* Breaks off; what comes then is another object: by 412, by a 206 of another ETag, by a 200. */
static bool
changed_between(struct answerer *s, int fd, const char *head, unsigned n)
{
	static const char zeros[100000];
	if (n == 0) {
		answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: %d\r\nETag: \"old\"\r\n\r\n", BIG);
		answer_send(fd, zeros, sizeof zeros);
		return false;
	}
	if (n == 1 && *(int *)s->arg == 0)
		return answer(fd, "HTTP/1.1 412 other\r\nContent-Length: 0\r\n\r\n");
	if (n == 1 && *(int *)s->arg == 1)
		return answer(fd,
			       "HTTP/1.1 206 part\r\nETag: \"one\"\r\nContent-Length: %d\r\n"
			       "Content-Range: bytes 100000-%d/%d\r\n\r\n",
			       BIG - 100000, BIG - 1, BIG) &&
		       answer_send(fd, big + 100000, BIG - 100000);
	if (n == 1)
		return answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: %d\r\nETag: \"one\"\r\n\r\n",
			       BIG) &&
		       answer_send(fd, big, BIG);
	return usual(s, fd, head, n);
}

static void
replaced_between(void)
{
	for (int how = 0; how < 3; how++) {
		struct plan p = {
			.refuse = 412, .result = -EIO}; /* a judge who did not ask for it */
		begin(changed_between, &how, 0);
		expect((struct client_ask){.arg = &p}, 0, 0, BIG);
		CHECK_INT(server.requests, how == 2 ? 2 : 3);
		end();
	}
}

/* All bytes come, but not the end of the answer, which alone would say so; the second time it does. */
static bool
endless(struct answerer *s, int fd, const char *head, unsigned n)
{
	const char *range = strstr(head, "\r\nRange: ");
	if (n && s->arg)
		CHECK(range && !strncmp(range + 2, "Range: bytes=5-11\r\n", 20));
	if (n && range && strstr(head, "bytes=1048576-"))
		return answer(fd,
			"HTTP/1.1 416 no\r\nContent-Range: bytes */%d\r\nContent-Length: "
			"0\r\n\r\n",
			BIG);
	if (n)
		return usual(s, fd, head, n);
	answer(fd, "HTTP/1.1 %s\r\nETag: \"one\"\r\nTransfer-Encoding: chunked\r\n",
		s->arg ? "206 part\r\nContent-Range: bytes 5-11/1048576" : "200 ok");
	answer(fd, "\r\n%x\r\n", s->arg ? 7 : BIG);
	answer_send(fd, big + (s->arg ? 5 : 0), s->arg ? 7 : BIG);
	return false;
}

static void
unended(void)
{
	begin(endless, NULL, 0);
	expect((struct client_ask){.off = 0}, 0, 0, BIG);
	end();
	begin(endless, &server, 0);
	expect((struct client_ask){.off = 5, .len = 7}, 0, 5, 7);
	CHECK_INT(server.requests, 2);
	end();
}

/* The connections that lie idle have died without a word: one attempt finds out, the next one does not try another of them. */
enum { IDLE = 4 };

static bool
dead_connections(struct answerer *s, int fd, const char *head, unsigned n)
{
	static atomic_int dead[IDLE];
	if (n < IDLE) {
		dead[n] = fd;
		answer_pause(s, 300); /* so that each has a connection of its own */
		return usual(s, fd, head, n);
	}
	for (unsigned i = 0; i < IDLE; i++)
		if (dead[i] == fd) {
			answer_pause(s, 20000);
			return false;
		}
	return usual(s, fd, head, n);
}

static void *
get_all(void *arg)
{
	expect((struct client_ask){.off = 0}, 0, 0, BIG);
	return NULL;
}

static void
connections_dead(void)
{
	pthread_t t[IDLE];
	struct plan p = {0};
	begin(dead_connections, NULL, IDLE);
	for (unsigned i = 0; i < IDLE; i++)
		CHECK_INT(pthread_create(&t[i], NULL, get_all, NULL), 0);
	for (unsigned i = 0; i < IDLE; i++)
		pthread_join(t[i], NULL);
	CHECK_INT(server.connections, IDLE);
	expect((struct client_ask){.arg = &p, .deadline = when_now() + 6 * SECOND}, 0, 0, BIG);
	CHECK_INT(p.prepared, 2);
	end();
}

/* Answers the head and no more, or nothing at all. */
static bool
silent(struct answerer *s, int fd, const char *head, unsigned n)
{
	if (s->arg)
		answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: 9\r\n\r\n123");
	answer_pause(s, 20000);
	return false;
}

static void *
cancel_soon(void *arg)
{
	usleep(200000);
	atomic_store(&((struct cancel *)arg)->wanted_no_more, true);
	return NULL;
}

static void
given_up(void)
{
	for (size_t half = 0; half < 2; half++) {
		begin(silent, half ? &server : NULL, 0);
		int64_t start = when_now();
		expect((struct client_ask){.deadline = start + SECOND / 2}, -ETIMEDOUT, 0, 0);
		CHECK(when_now() - start < SECOND);
		start = when_now();
		expect((struct client_ask){.once = true, .patience = SECOND / 2}, -EIO, 0, 0);
		CHECK(when_now() - start < SECOND);
		struct cancel c = {false};
		pthread_t t;
		start = when_now();
		CHECK_INT(pthread_create(&t, NULL, cancel_soon, &c), 0);
		expect((struct client_ask){.cancel = &c}, -EINTR, 0, 0);
		CHECK(when_now() - start < SECOND);
		pthread_join(t, NULL);
		end();
	}
}

static void
verdicts(void)
{
	struct plan again = {.verdict = CLIENT_AGAIN}, done = {.verdict = CLIENT_DONE, .result = 7},
		    later = {.verdict = CLIENT_LATER};
	begin(usual, NULL, 0);
	expect((struct client_ask){.arg = &again}, 0, 0, BIG); /* and then by the rules */
	CHECK_INT(again.prepared, 4);
	expect((struct client_ask){.arg = &done}, 7, 0, 0);
	CHECK_INT(done.prepared, 1);
	expect((struct client_ask){.arg = &later}, -EIO, 0, 0);
	CHECK_INT(later.prepared, 5);
	CHECK_INT(server.requests, 10);
	end();
}

/* What was sent comes back in a header. */
static bool
echo(struct answerer *s, int fd, const char *head, unsigned n)
{
	const char *length = strstr(head, "Content-Length: ");
	int len = length ? (int)strtoul(length + 16, NULL, 10) : 0;
	CHECK(!strstr(head, "Expect:"));
	CHECK(!strstr(head, "Content-Type:"));
	return answer(fd, "HTTP/1.1 %s\r\nContent-Length: 0\r\nETag: \"%.*s%.*s\"\r\n\r\n",
		*(const char **)s->arg, (int)strcspn(head, " "), head, len, answer_body(head));
}

static void
sending(void)
{
	const char *status = "200 ok";
	static const struct {
		struct client_ask ask;
		const char *want;
	} row[] = {
		{{.kind = CLIENT_PUT, .send = {(const uint8_t *)"data", 4}}, "\"PUTdata\""},
		{{.kind = CLIENT_PUT}, "\"PUT\""},
		{{.kind = CLIENT_DELETE}, "\"DELETE\""},
		{{.kind = CLIENT_HEAD}, "\"HEAD\""},
		{{.kind = CLIENT_OTHER, .method = "POST", .send = {(const uint8_t *)"x", 1}},
			"\"POSTx\""},
		{{.kind = CLIENT_LIST}, "\"GET\""},
	};
	begin(echo, &status, 0);
	for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
		struct plan p = {0};
		struct client_reply reply = {0};
		struct client_ask a = row[i / 2].ask;
		status = i % 2 && a.kind == CLIENT_DELETE ? "204 gone" : "200 ok";
		a.hooks = &hooks;
		a.arg = &p;
		a.deadline = when_now() + 10 * SECOND;
		CHECK_INT(client_call(client, &a, &reply), 0);
		CHECK_STR(reply.etag, row[i / 2].want);
		client_reply_free(&reply);
	}
	CHECK_INT(server.connections, 1);
	end();
}

/* Many at once. */
enum { MANY = 300 };

static bool
slow(struct answerer *s, int fd, const char *head, unsigned n)
{
	atomic_uint *most = s->arg;
	if (s->connections > *most)
		*most = s->connections;
	answer_pause(s, 20);
	return n % 50 == 7 ? answer(fd, "HTTP/1.1 503 slow\r\nContent-Length: 0\r\n\r\n")
			   : answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: 4\r\n\r\n0123");
}

struct sum {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned done, good;
};

static void
count_done(void *arg, int r, const struct client_reply *reply)
{
	struct sum *s = arg;
	pthread_mutex_lock(&s->lock);
	s->done++;
	s->good += r == 0 && reply->status == 200;
	pthread_cond_signal(&s->cond);
	pthread_mutex_unlock(&s->lock);
}

static void
many(void)
{
	static struct buf into[MANY];
	static struct plan plan[MANY];
	atomic_uint most = 0;
	struct sum sum = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
	CLEAN(buf_free) struct buf stats = {0};
	begin(slow, &most, 16);
	for (size_t i = 0; i < MANY; i++) {
		struct client_ask a = {.hooks = &hooks,
			.arg = &plan[i],
			.into = &into[i],
			.max = 100,
			.deadline = when_now() + 60 * SECOND};
		client_submit(client, &a, count_done, &sum);
	}
	pthread_mutex_lock(&sum.lock);
	while (sum.done < MANY)
		pthread_cond_wait(&sum.cond, &sum.lock);
	pthread_mutex_unlock(&sum.lock);
	CHECK_INT(sum.good, MANY);
	CHECK_INT(most, 16);
	CHECK_INT(client_stats(client, &stats), 0);
	CHECK_INT(buf_terminate(&stats), 0);
	CHECK(strstr((char *)stats.data, "zarrfs_http_running 0\n"));
	CHECK(strstr((char *)stats.data, "zarrfs_http_waiting 0\n"));
	CHECK(!strstr((char *)stats.data, "zarrfs_http_retries_total 0\n"));
	CHECK(!strstr((char *)stats.data, "zarrfs_http_slowed_total 0\n"));
	for (size_t i = 0; i < MANY; i++) {
		CHECK_INT(into[i].len, 4);
		buf_free(&into[i]);
	}
	end();
}

/* What somebody waits for goes before what is asked for ahead, however late it comes. */
enum { LINE = 6 };

static bool
note_order(struct answerer *s, int fd, const char *head, unsigned n)
{
	char *order = s->arg;
	if (n == 0)
		answer_pause(s, 500); /* the others come meanwhile */
	order[n] = head[5];           /* "GET /x HTTP/1.1" */
	return answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: 0\r\n\r\n");
}

static void
needed_first(void)
{
	static const char *const path[LINE] = {"0", "1", "2", "3", "4", "5"};
	static struct plan plan[LINE];
	char order[LINE + 1] = "";
	atomic_bool yes = true, no_more = true;
	const atomic_bool *ahead[LINE] = {NULL, &yes, &yes, &no_more, &yes, NULL};
	struct sum sum = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
	begin(note_order, order, 1);
	for (size_t i = 0; i < LINE; i++) {
		plan[i].path = path[i];
		client_submit(client,
			&(struct client_ask){.hooks = &hooks, .arg = &plan[i], .ahead = ahead[i]},
			count_done, &sum);
		while (i == 0 && !server.requests)
			usleep(1000);
	}
	no_more = false; /* somebody has come for it */
	pthread_mutex_lock(&sum.lock);
	while (sum.done < LINE)
		pthread_cond_wait(&sum.cond, &sum.lock);
	pthread_mutex_unlock(&sum.lock);
	CHECK_STR(order, "035124");
	end();
}

static void
nobody_there(void)
{
	struct plan p = {0};
	begin(usual, NULL, 0);
	answerer_stop(&server);
	expect((struct client_ask){.arg = &p}, -EIO, 0, 0);
	CHECK_INT(p.prepared, 5);
	CHECK(strstr(err_text(), "connect"));
	client = client_free(client);
}

static void
bad_bundle(void)
{
	struct client_options o = {.ca_bundle = "/nowhere/at/all"};
	CHECK_INT(client_new(&o, &client), -ENOENT);
	CHECK(strstr(err_text(), "/nowhere/at/all"));
}

static void
encoding(void)
{
	CLEAN(buf_free) struct buf b = {0};
	static const char odd[] = "a/b c+%~-._\xc3\xa9=&?#\n";
	CHECK_INT(client_encode(&b, odd, strlen(odd), true), 0);
	CHECK_INT(client_encode(&b, "/", 1, false), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, "a/b%20c%2B%25~-._%C3%A9%3D%26%3F%23%0A%2F");
}

int
main(void)
{
	for (size_t i = 0; i < BIG; i++)
		big[i] = (char)(i * 2654435761U >> 13);
	encoding();
	bad_bundle();
	ranges();
	range_ignored();
	range_wrong();
	outcomes();
	tried_again();
	resumed();
	replaced_between();
	unended();
	connections_dead();
	given_up();
	verdicts();
	sending();
	many();
	needed_first();
	nobody_there();
	return check_end();
}
