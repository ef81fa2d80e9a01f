#include "backends/net/dated.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* In a version, before the second in which the object was young. */
static const char YOUNG[] = "?";

/* ns: the second in which an object was modified is over by the server's clock and by that of its
 * files. An object that is to be modified later than that was given its time. */
static const int64_t SETTLE = 2 * SECOND;

bool
dated_is_etag(const char *version)
{
	return *version == '"' || !strncmp(version, "W/", 2);
}

void
dated_version(const struct client_reply *p, bool chunk, char ret[ZMAP_VERSION])
{
	const int64_t now = p->date ? p->date : clock_wall(), age = now - p->modified;
	int n = snprintf(ret, ZMAP_VERSION, "%" PRId64 "-%" PRIu64, p->modified / SECOND, p->size);
	if (chunk && age > -SETTLE && age < SETTLE)
		snprintf(ret + n, ZMAP_VERSION - (size_t)n, "%s%" PRId64, YOUNG, now / SECOND);
}

bool
dated_same(const char *a, const char *b)
{
	if (dated_is_etag(a) || dated_is_etag(b))
		return !strcmp(a, b);
	const size_t n = strcspn(a, YOUNG);
	return n == strcspn(b, YOUNG) && !memcmp(a, b, n);
}

bool
dated_settled(const char *version)
{
	return *version && !dated_is_etag(version) && !strpbrk(version, YOUNG);
}

int
dated_unless_since(const char *version, struct client_attempt *a)
{
	char text[64];
	struct tm tm;
	time_t t = (time_t)strtoll(version, NULL, 10);
	static const char *const day[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	static const char *const month[] = {
		"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	if (!gmtime_r(&t, &tm))
		return 0;
	snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", day[tm.tm_wday],
		tm.tm_mday, month[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
	return client_header(a, "If-Modified-Since", text);
}
