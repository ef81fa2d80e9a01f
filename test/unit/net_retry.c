/* The HTTP client where answers break off, come late or not at all: what is tried again, and
 * how. */
#include "net_client.h"

#include <errno.h>

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
		int64_t start = clock_now();
		begin(third_time, &how, 0);
		expect((struct client_ask){.arg = &p}, 0, 0, BIG);
		CHECK_INT(p.prepared, 3);
		CHECK_INT(p.seen[2], 200);
		CHECK(how != 3 || clock_now() - start > 2 * SECOND);
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

/* All of it comes where its end was asked for, and breaks off; the end comes then. */
static bool
whole_then_end(struct answerer *s, int fd, const char *head, unsigned n)
{
	CHECK(strstr(head, "\r\nRange: bytes=-150000\r\n"));
	if (n)
		return usual(s, fd, head, n);
	answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: %d\r\nETag: \"one\"\r\n\r\n", BIG);
	answer_send(fd, big, 100000);
	return false;
}

static void
whole_broken(void)
{
	begin(whole_then_end, NULL, 0);
	expect((struct client_ask){.len = 150000, .from_end = true, .whole = BIG}, 0, BIG - 150000,
		150000);
	CHECK_INT(server.requests, 2);
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
			.refuse = 412, .result = -EIO}; /* a judge that did not ask for it */
		begin(changed_between, &how, 0);
		expect((struct client_ask){.arg = &p}, 0, 0, BIG);
		CHECK_INT(server.requests, how == 2 ? 2 : 3);
		end();
	}
}

/* All bytes come, but not the end of the answer, which alone would say so; the second time it
 * does. */
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

/* The connections that lie idle have died without a word: one attempt finds out, the next one does
 * not try another of them. */
enum { IDLE = 4 };

static bool
dead_connections(struct answerer *s, int fd, const char *head, unsigned n)
{
	static atomic_int dead[IDLE];
	static atomic_uint came;
	if (n < IDLE) {
		dead[n] = fd;
		atomic_fetch_add(&came, 1);
		while (came < IDLE && !s->over)
			answer_pause(s, 10); /* so that each has a connection of its own */
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
	expect((struct client_ask){.arg = &p, .deadline = clock_now() + 16 * SECOND}, 0, 0, BIG);
	CHECK_INT(p.prepared, 2);
	end();
}

/* Takes the second request, and closes the connection without a word. */
static bool
takes_and_ends(struct answerer *s, int fd, const char *head, unsigned n)
{
	return n != 1 && answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: 0\r\n\r\n");
}

/* A request that curl sends again by itself, with a body and without, counts as two. */
static void
sent_by_curl(void)
{
	static const enum client_kind kind[] = {CLIENT_PUT, CLIENT_DELETE};
	for (unsigned i = 0; i < 2; i++) {
		begin(takes_and_ends, NULL, 0);
		for (unsigned sent = 1; sent <= 2; sent++) {
			struct plan p = {0};
			struct client_reply reply;
			const struct client_ask a = {.kind = kind[i],
				.hooks = &hooks,
				.arg = &p,
				.send = {(const uint8_t *)"body", i ? 0 : 4}};
			CHECK_INT(client_call(client, &a, &reply), 0);
			CHECK_INT(reply.requests, sent);
			CHECK_INT(p.prepared, 1);
			client_reply_free(&reply);
		}
		end();
	}
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

static void
given_up(void)
{
	for (size_t half = 0; half < 2; half++) {
		begin(silent, half ? &server : NULL, 0);
		int64_t start = clock_now();
		expect((struct client_ask){.deadline = start + SECOND / 2}, -ETIMEDOUT, 0, 0);
		CHECK(clock_now() - start < 15 * SECOND);
		start = clock_now();
		expect((struct client_ask){.tries = 1, .patience = SECOND / 2}, -EIO, 0, 0);
		CHECK(clock_now() - start < 15 * SECOND);
		struct cancel c = {false};
		pthread_t t;
		start = clock_now();
		CHECK_INT(pthread_create(&t, NULL, cancel_soon, &c), 0);
		expect((struct client_ask){.cancel = &c}, -EINTR, 0, 0);
		CHECK(clock_now() - start < 15 * SECOND);
		pthread_join(t, NULL);
		end();
	}
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

int
main(void)
{
	fill_big();
	tried_again();
	resumed();
	whole_broken();
	replaced_between();
	unended();
	connections_dead();
	sent_by_curl();
	given_up();
	nobody_there();
	return check_end();
}
