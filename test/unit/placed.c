/* When an object came to be there, by our clock, though the server's clock is another: chunks that
 * are newer than their array's metadata are known by that. */
#include "answerer.h"

#include "base/clock.h"
#include "store.h"

#include <time.h>

enum { HOUR = 3600, LONG_AGO = 1800, NEAR = 900 }; /* s */

struct server_clock {
	int64_t ahead, age; /* s */
};

static struct answerer server;

static void
add_time(char **to, const char *name, int64_t t)
{
	const time_t s = t;
	struct tm tm;
	gmtime_r(&s, &tm);
	*to += sprintf(*to, "%s: ", name);
	*to += strftime(*to, 80, "%a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
}

static bool
tell(struct answerer *s, int fd, const char *head, unsigned n)
{
	const struct server_clock *c = s->arg;
	const int64_t now = clock_wall() / SECOND + c->ahead;
	char times[300], *end = times;
	add_time(&end, "Last-Modified", now - LONG_AGO);
	add_time(&end, "Date", now - c->age);
	if (c->age)
		sprintf(end, "Age: %d\r\n", (int)c->age);
	return answer(
		fd, "HTTP/1.1 200 ok\r\nContent-Length: 4\r\nETag: \"one\"\r\n%s\r\nbody", times);
}

static struct zmap *
open_one(bool s3)
{
	char http[64];
	struct url u;
	struct zmap *z = NULL;
	snprintf(http, sizeof http, "http://127.0.0.1:%u/x.zarr#mode=zarr", server.port);
	if (!s3)
		return store_open_url(http, false);
	*strrchr(http, '/') = 0;
	const struct zmap_options o = {.timeout = 10 * SECOND, .endpoint = http, .profile = "anon"};
	CHECK_INT(url_parse("s3://bucket/x.zarr", &u), 0);
	CHECK_INT(zmap_open(&u, &o, &z), 0);
	url_free(&u);
	return z;
}

int
main(void)
{
	static struct server_clock clock[] = {
		{0, 0}, {-HOUR, 0}, {HOUR, 0}, {0, 2 * HOUR}, {-HOUR, 2 * HOUR}};
	for (size_t i = 0; i < 2 * sizeof clock / sizeof *clock; i++) {
		CLEAN(buf_free) struct buf b = {0};
		struct zmap_stat s = {0};
		answerer_start(&server, tell, &clock[i / 2]);
		struct zmap *z = open_one(i % 2);
		const int64_t modified = clock_wall() - LONG_AGO * SECOND;
		const struct zmap_get g = {.key = "v/0", .into = &b, .max = 9};
		if (z)
			CHECK_INT(zmap_get(z, &g, &s), 0);
		CHECK(s.placed > modified && s.placed < modified + NEAR * SECOND);
		zmap_close(z);
		answerer_stop(&server);
	}
	return check_end();
}
