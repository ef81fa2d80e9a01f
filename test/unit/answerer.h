/* A web server on loopback that says what a test tells it to, byte for byte: for what no
 * well-behaved server does. Each connection has a thread; a request is handed to the test's
 * function, which writes what it likes. */
#pragma once

#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct answerer;
/* head: the request's, NUL-terminated; n: how many came before. False: the connection is closed. */
typedef bool answer_fn(struct answerer *, int fd, const char *head, unsigned n);

struct answerer {
	answer_fn *answer;
	void *arg;
	int listener;
	unsigned port;
	pthread_t thread;
	atomic_uint requests, connections, threads;
	atomic_bool over;
};

struct answerer_connection {
	struct answerer *server;
	int fd;
};

static inline bool
answer_send(int fd, const void *data, size_t len)
{
	for (const char *p = data; len;) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

__attribute__((format(printf, 2, 3))) static inline bool
answer(int fd, const char *fmt, ...)
{
	char text[4096];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return answer_send(fd, text, (size_t)n);
}

/* Waits for t ms or the end of the test. */
static inline void
answer_pause(struct answerer *s, int ms)
{
	for (; ms > 0 && !s->over; ms -= 10)
		usleep(10000);
}

/* Head and body are there. */
static inline bool
answerer_whole(char *text, size_t len, char **ret_end, size_t *ret_body)
{
	char *end = memmem(text, len, "\r\n\r\n", 4);
	if (!end)
		return false;
	const char *length = memmem(text, (size_t)(end - text), "\r\nContent-Length: ", 18);
	*ret_body = length ? strtoul(length + 18, NULL, 10) : 0;
	*ret_end = end;
	return len - (size_t)(end + 4 - text) >= *ret_body;
}

/* Behind the head. */
static inline const char *
answer_body(const char *head)
{
	return head + strlen(head) + 2;
}

static inline bool
answerer_one(struct answerer_connection *c, char *text, size_t size, size_t *len)
{
	char *end = NULL;
	size_t body = 0;
	while (!answerer_whole(text, *len, &end, &body)) {
		struct pollfd p = {c->fd, POLLIN, 0};
		ssize_t n = 0;
		while (!c->server->over && poll(&p, 1, 50) == 0)
			;
		if (!c->server->over && *len + 1 < size)
			n = read(c->fd, text + *len, size - *len - 1);
		if (n <= 0)
			return false;
		*len += (size_t)n;
	}
	end[2] = 0;
	bool more = c->server->answer(c->server, c->fd, text, c->server->requests++);
	size_t used = (size_t)(end + 4 - text) + body;
	memmove(text, text + used, *len -= used);
	return more;
}

static inline void *
answerer_connection(void *arg)
{
	struct answerer_connection *c = arg;
	char text[16384];
	size_t len = 0;
	while (answerer_one(c, text, sizeof text, &len))
		;
	close(c->fd);
	c->server->threads--;
	free(c);
	return NULL;
}

static inline void *
answerer_listen(void *arg)
{
	struct answerer *s = arg;
	while (!s->over) {
		pthread_t t;
		struct pollfd p = {s->listener, POLLIN, 0};
		if (poll(&p, 1, 20) <= 0)
			continue;
		struct answerer_connection *c = malloc(sizeof *c);
		*c = (struct answerer_connection){s, accept(s->listener, NULL, NULL)};
		s->connections++;
		s->threads++;
		CHECK_INT(pthread_create(&t, NULL, answerer_connection, c), 0);
		pthread_detach(t);
	}
	return NULL;
}

/* A port of its own, 0: any, where no server listens yet: connections are refused. */
static inline void
answerer_bind(struct answerer *s, unsigned port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port)};
	socklen_t len = sizeof a;
	s->listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	CHECK_INT(bind(s->listener, (struct sockaddr *)&a, sizeof a), 0);
	CHECK_INT(getsockname(s->listener, (struct sockaddr *)&a, &len), 0);
	s->port = ntohs(a.sin_port);
}

static inline void
answerer_begin(struct answerer *s)
{
	s->over = false;
	CHECK_INT(listen(s->listener, 128), 0);
	CHECK_INT(pthread_create(&s->thread, NULL, answerer_listen, s), 0);
}

static inline void
answerer_start(struct answerer *s, answer_fn *fn, void *arg)
{
	*s = (struct answerer){.answer = fn, .arg = arg};
	answerer_bind(s, 0);
	answerer_begin(s);
}

static inline void
answerer_stop(struct answerer *s)
{
	s->over = true;
	pthread_join(s->thread, NULL);
	close(s->listener);
	while (s->threads)
		usleep(1000);
}
