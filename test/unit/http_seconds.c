/* A web server without ETags: two changes of an object within one second have one Last-Modified. */
#include "answerer.h"

#include "base/clock.h"
#include "store.h"

#include <string.h>
#include <time.h>

/* What the server has and says, in seconds since BEGIN. */
enum { BEGIN = 1700000000 };
static int64_t now, modified;
static const char *body;
static bool mute; /* no Date is said */
static struct answerer server;
static struct zmap *z;

static void
add_time(char **to, const char *name, int64_t seconds)
{
	const time_t t = BEGIN + seconds;
	struct tm tm;
	gmtime_r(&t, &tm);
	*to += sprintf(*to, "%s: ", name);
	*to += strftime(*to, 80, "%a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
}

static bool
tell(struct answerer *s, int fd, const char *head, unsigned n)
{
	char lines[300], unless[100], *end = lines, *to = unless;
	(void)s;
	(void)n;
	add_time(&end, "Last-Modified", modified);
	add_time(&to, "If-Modified-Since", modified);
	if (!mute)
		add_time(&end, "Date", now);
	if (strstr(head, unless))
		return answer(fd, "HTTP/1.1 304 same\r\n%s\r\n", lines);
	return answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: %zu\r\n%s\r\n%s", strlen(body), lines,
		body);
}

static void
change(const char *to, int64_t at)
{
	body = to;
	modified = now = at;
}

/* The first byte, if it is another version than the one in `known`, which it becomes; '=': it is
 * not. */
static char
look(char known[ZMAP_VERSION])
{
	CLEAN(buf_free) struct buf b = {0};
	struct zmap_stat s = {0};
	const struct zmap_get g = {.key = "v/0",
		.of_array = true,
		.if_none_match = *known ? known : NULL,
		.into = &b,
		.max = 9};
	int r = zmap_get(z, &g, &s);
	memcpy(known, s.version, sizeof s.version);
	return r == ZMAP_SAME ? '=' : r == 0 ? (char)b.data[0] : 0;
}

/* Outcome of asking for a part of that version. */
static int
part_of(const char *version)
{
	CLEAN(buf_free) struct buf b = {0};
	struct zmap_stat s = {0};
	const struct zmap_get g = {.key = "v/0",
		.of_array = true,
		.if_match = version,
		.into = &b,
		.len = 1,
		.max = 1};
	int r = zmap_get(z, &g, &s);
	if (r == 0)
		CHECK_STR(s.version, version);
	return r;
}

/* What replaces an object in the second in which it was read is another version. */
static void
twice_in_a_second(void)
{
	char version[ZMAP_VERSION] = "";
	change("1", 100);
	CHECK_INT(look(version), '1');
	change("2", 100);
	now += 5;
	CHECK_INT(look(version), '2');
	CHECK_INT(look(version), '=');
}

/* A clock of the server's that is a second behind that of its files, or says nothing. */
static void
other_clocks(void)
{
	char version[ZMAP_VERSION] = "";
	change("1", 100);
	now--;
	CHECK_INT(look(version), '1');
	change("2", 100);
	now++;
	CHECK_INT(look(version), '2');
	now += 5;
	CHECK_INT(look(version), '2');
	CHECK_INT(look(version), '=');
	mute = true;
	CHECK_INT(look(version), '=');
	mute = false;
}

/* It is not sent twice, nor where its time is one that is to come. */
static void
old(void)
{
	char version[ZMAP_VERSION] = "", later[ZMAP_VERSION] = "";
	change("1", 100);
	now += 2;
	CHECK_INT(look(version), '1');
	CHECK_INT(look(version), '=');
	now -= 60;
	CHECK_INT(look(later), '1');
	CHECK_STR(later, version);
	CHECK_INT(look(later), '=');
}

/* Another look at the object is later than the one that found it young, at its parts is not. */
static void
parts(void)
{
	char version[ZMAP_VERSION] = "", settled[ZMAP_VERSION] = "";
	change("1", 100);
	CHECK_INT(look(version), '1');
	CHECK_INT(part_of(version), 0);
	now += 5;
	CHECK_INT(part_of(version), 0);
	CHECK_INT(look(settled), '1');
	CHECK(strcmp(settled, version) != 0);
	CHECK_INT(part_of(settled), 0);
	modified++;
	CHECK_INT(part_of(version), ZMAP_CHANGED);
	CHECK_INT(part_of(settled), ZMAP_CHANGED);
	change("22", 100);
	CHECK_INT(part_of(version), ZMAP_CHANGED);
}

int
main(void)
{
	static void (*const row[])(void) = {twice_in_a_second, other_clocks, old, parts};
	char url[64];
	answerer_start(&server, tell, NULL);
	snprintf(url, sizeof url, "http://127.0.0.1:%u/x.zarr#mode=zarr", server.port);
	z = store_open_url(url, false);
	for (size_t i = 0; z && i < sizeof row / sizeof *row; i++)
		row[i]();
	zmap_close(z);
	answerer_stop(&server);
	return check_end();
}
