/* The HTTP client and a server that is known: how long it is waited for when it complains, is away,
 * or hardly moves. */
#include "net_client.h"

#include <errno.h>

enum { SENT = 5 << 20 }; /* bytes of what is put */

/* --- until the deadline --- */

/* Good, then every answer that asks for patience, for so many ms; then good again. */
struct outage {
	atomic_llong end; /* clock_now(); 0: it has not begun */
	int ms;
	int retry_after; /* s */
};

static bool
overloaded(struct answerer *s, int fd, const char *head, unsigned n)
{
	static const int status[] = {503, 429, 500, 502, 504};
	struct outage *o = s->arg;
	if (n && !o->end)
		o->end = clock_now() + o->ms * (SECOND / 1000);
	if (!n || clock_now() > o->end)
		return usual(s, fd, head, n);
	return answer(fd, "HTTP/1.1 %d oh\r\nRetry-After: %d\r\nContent-Length: 0\r\n\r\n",
		status[n % 5], o->retry_after);
}

static void
waited_for(void)
{
	begin(overloaded, &(struct outage){.ms = 2000}, 0);
	expect((struct client_ask){.len = 7}, 0, 0, 7);
	expect((struct client_ask){.off = 0}, 0, 0, BIG);
	end();
}

static void
never_past_the_deadline(void)
{
	for (int retry_after = 0; retry_after < 3600; retry_after += 1800) {
		struct outage o = {.ms = 60000, .retry_after = retry_after};
		begin(overloaded, &o, 0);
		expect((struct client_ask){.len = 7}, 0, 0, 7);
		int64_t deadline = clock_now() + 3 * SECOND;
		expect((struct client_ask){.deadline = deadline}, -ETIMEDOUT, 0, 0);
		CHECK(clock_now() < deadline + 50 * SECOND);
		CHECK(strstr(err_text(), "HTTP 5") || strstr(err_text(), "HTTP 429"));
		end();
	}
}

static void
cancelled_in_a_pause(void)
{
	struct outage o = {.ms = 60000, .retry_after = 15};
	struct cancel c = {false};
	pthread_t t;
	begin(overloaded, &o, 0);
	expect((struct client_ask){.len = 7}, 0, 0, 7);
	int64_t start = clock_now();
	CHECK_INT(pthread_create(&t, NULL, cancel_soon, &c), 0);
	expect((struct client_ask){.cancel = &c}, -EINTR, 0, 0);
	CHECK(clock_now() - start < 14 * SECOND);
	pthread_join(t, NULL);
	end();
}

static void *
come_back(void *arg)
{
	sleep(2);
	answerer_begin(arg);
	return NULL;
}

static void
away_and_back(void)
{
	pthread_t t;
	begin(usual, NULL, 0);
	expect((struct client_ask){.len = 7}, 0, 0, 7);
	answerer_stop(&server);
	answerer_bind(&server, server.port);
	CHECK_INT(pthread_create(&t, NULL, come_back, &server), 0);
	expect((struct client_ask){.off = 0}, 0, 0, BIG);
	pthread_join(t, NULL);
	end();
}

/* --- too slowly --- */

/* The first answer begins well, and then comes by pieces of s->arg. */
struct trickle {
	const char *etag;
	size_t piece; /* bytes, each 20 ms */
	size_t most;  /* then the rest comes at once */
};

static bool
trickling(struct answerer *s, int fd, const char *head, unsigned n)
{
	const struct trickle *t = s->arg;
	size_t sent = 5000;
	if (n) {
		bool resumed = strstr(head, "\r\nRange: bytes=");
		CHECK_INT(resumed, *t->etag == '"');
		CHECK(!resumed || strstr(head, "If-Match: \"one\""));
		return usual(s, fd, head, n);
	}
	answer(fd, "HTTP/1.1 200 ok\r\nETag: %s\r\nContent-Length: %d\r\n\r\n", t->etag, BIG);
	bool more = answer_send(fd, big, sent);
	for (; more && !s->over && sent < t->most; sent += t->piece) {
		more = answer_send(fd, big + sent, t->piece);
		answer_pause(s, 20);
	}
	return more && !s->over && answer_send(fd, big + sent, BIG - sent);
}

static void
too_slow(void)
{
	static const char *const etag[] = {"\"one\"", "W/\"one\""};
	for (size_t i = 0; i < 2; i++) {
		struct trickle t = {etag[i], 1, BIG};
		begin(trickling, &t, 0);
		expect((struct client_ask){.deadline = clock_now() + 12 * SECOND}, 0, 0, BIG);
		CHECK(server.connections > 1);
		end();
	}
}

/* By 50 kB/s, for longer than a crawling answer gets. */
static void
slow_enough(void)
{
	struct trickle t = {"\"one\"", 1000, 75000};
	begin(trickling, &t, 0);
	expect((struct client_ask){.deadline = clock_now() + 8 * SECOND}, 0, 0, BIG);
	CHECK_INT(server.requests, 1);
	end();
}

/* Takes SENT bytes of each request, 64 KiB at once, and then answers. */
struct taker {
	int listener;
	atomic_uint pause_us; /* after each 64 KiB */
	atomic_bool complains;
};

static void *
take(void *arg)
{
	static char piece[65536];
	struct taker *k = arg;
	for (int fd; (fd = accept(k->listener, NULL, NULL)) >= 0; close(fd)) {
		size_t all = 0;
		for (ssize_t n; all < SENT && (n = recv(fd, piece, sizeof piece, MSG_WAITALL)) > 0;
			usleep(k->pause_us))
			all += (size_t)n;
		if (all >= SENT)
			answer(fd, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
				k->complains ? "503 slow" : "200 ok");
	}
	return NULL;
}

static int
put(bool put_off)
{
	static const uint8_t bytes[SENT];
	struct plan usual_plan = {0};
	const struct client_ask a = {.kind = CLIENT_PUT,
		.hooks = &hooks,
		.arg = &usual_plan,
		.send = {bytes, SENT},
		.put_off = put_off ? 2 * SECOND : 0,
		.deadline = clock_now() + 2 * SECOND};
	return client_call(client, &a, NULL);
}

/* Storing goes on as long as the server takes bytes, and only then; those that it has refused are
 * none. */
static void
taken(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof to;
	struct taker k = {socket(AF_INET, SOCK_STREAM, 0), .pause_us = 40000};
	int small = 32768;
	pthread_t t;
	CHECK_INT(setsockopt(k.listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
	CHECK_INT(bind(k.listener, (struct sockaddr *)&to, len), 0);
	CHECK_INT(listen(k.listener, 8), 0);
	CHECK_INT(getsockname(k.listener, (struct sockaddr *)&to, &len), 0);
	server.port = ntohs(to.sin_port);
	CHECK_INT(pthread_create(&t, NULL, take, &k), 0);
	CHECK_INT(client_new(&(struct client_options){.connections = 2}, &client), 0);
	CHECK_INT(put(false), -ETIMEDOUT);
	CHECK_INT(put(true), 0);
	k.pause_us = 0;
	k.complains = true;
	int64_t begun = clock_now();
	CHECK_INT(put(true), -ETIMEDOUT);
	CHECK((clock_now() - begun) / SECOND < 60);
	client = client_free(client);
	shutdown(k.listener, SHUT_RDWR);
	pthread_join(t, NULL);
	close(k.listener);
}

int
main(void)
{
	fill_big();
	waited_for();
	never_past_the_deadline();
	cancelled_in_a_pause();
	away_and_back();
	too_slow();
	slow_enough();
	taken();
	return check_end();
}
