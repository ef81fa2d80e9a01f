/* A web server for tests: nginx, if it is installed, that shows all files of this machine on a port
 * of loopback. */
#pragma once

#include "store.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct nginx {
	struct place place; /* its own files */
	unsigned port;
	pid_t pid;
};

static inline bool
nginx_socket(unsigned *port, bool connects)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)*port)};
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = connects ? connect(fd, (struct sockaddr *)&a, sizeof a) == 0
			   : bind(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
				     getsockname(fd, (struct sockaddr *)&a, &len) == 0;
	if (ok)
		*port = ntohs(a.sin_port);
	close(fd);
	return ok;
}

static inline void
nginx_configure(const struct nginx *n, const char *path)
{
	FILE *f = fopen(path, "w");
	CHECK(f);
	if (!f)
		return;
	if (getuid() == 0)
		fprintf(f, "user root;\n");
	fprintf(f,
		"daemon off; pid pid; error_log error.log;\nevents {}\nhttp {\n access_log off;\n");
	static const char *const temporary[] = {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"};
	for (size_t i = 0; i < sizeof temporary / sizeof *temporary; i++)
		fprintf(f, " %s_temp_path %s;\n", temporary[i], temporary[i]);
	fprintf(f, " server { listen 127.0.0.1:%u; root /; }\n}\n", n->port);
	fclose(f);
}

/* False: there is none. */
static inline bool
nginx_start(struct nginx *ret)
{
	char path[sizeof ret->place.path + 16];
	*ret = (struct nginx){.place = place_new()};
	/* none that the kernel gives to a socket which asks for any */
	for (unsigned i = 0; i < 1000; i++) {
		ret->port = 10000 + ((unsigned)getpid() * 7 + i) % 10000;
		if (nginx_socket(&ret->port, false))
			break;
	}
	snprintf(path, sizeof path, "%s/conf", ret->place.path);
	nginx_configure(ret, path);
	ret->pid = fork();
	if (ret->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		int null = open("/dev/null", O_WRONLY);
		dup2(null, 2);
		execlp("nginx", "nginx", "-p", ret->place.path, "-c", "conf", (char *)NULL);
		execl("/usr/sbin/nginx", "nginx", "-p", ret->place.path, "-c", "conf",
			(char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 500 && waitpid(ret->pid, NULL, WNOHANG) == 0; i++) {
		if (nginx_socket(&ret->port, true))
			return true;
		usleep(10000);
	}
	fprintf(stderr, "no nginx: nothing is tried over HTTP\n");
	ret->pid = 0;
	return false;
}

static inline void
nginx_stop(struct nginx *n)
{
	if (n->pid) {
		kill(n->pid, SIGTERM);
		waitpid(n->pid, NULL, 0);
	}
	place_remove(&n->place);
}

/* The folder as a store behind it. */
static inline struct zmap *
nginx_open(const struct nginx *n, const char *path)
{
	char text[512];
	struct url u;
	struct zmap *z = NULL;
	snprintf(text, sizeof text, "http://127.0.0.1:%u%s", n->port, path);
	CHECK_INT(url_parse(text, &u), 0);
	CHECK_INT(zmap_open(&u, &(struct zmap_options){.timeout = 10 * SECOND}, &z), 0);
	url_free(&u);
	return z;
}
