#include "backends/net/head.h"

#include "backends/net/libcurl.h"
#include "base/check.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A server that says more is not believed: no caller waits that long. */
static const int64_t RETRY_AFTER_MAX = 20 * (int64_t)1000000000;

static bool
number(const char **text, uint64_t *ret)
{
	uint64_t v = 0;
	const char *p = *text;
	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++)
		if (mul_over(v, 10, &v) || add_over(v, (uint64_t)(*p - '0'), &v))
			return false;
	*text = p;
	*ret = v;
	return true;
}

static void
take_length(struct head *h, const char *value)
{
	h->has_length = number(&value, &h->length) && !*value;
}

/* bytes FIRST-LAST/TOTAL, where TOTAL may be '*', or bytes * and a TOTAL (RFC 9110 14.4). */
static void
take_range(struct head *h, const char *value)
{
	uint64_t first = 0, last = 0, total = 0;
	bool unsatisfied = false;
	if (strncasecmp(value, "bytes", 5) != 0 || (value[5] != ' ' && value[5] != '='))
		return;
	value += 6;
	if (*value == '*') {
		unsatisfied = true;
		value++;
	} else if (!number(&value, &first) || *value++ != '-' || !number(&value, &last) ||
		   last < first || last == UINT64_MAX) {
		return;
	}
	if (*value++ != '/')
		return;
	bool any = !strcmp(value, "*");
	if (!any && (!number(&value, &total) || *value || (!unsatisfied && total <= last)))
		return;
	h->has_range = !unsatisfied;
	h->has_total = !any;
	h->first = first;
	h->last = last;
	h->total = total;
}

/* 0: not a date. */
static int64_t
date(const char *value)
{
	time_t t = libcurl_load() == 0 ? curl_getdate(value, NULL) : -1;
	int64_t ns;
	return t < 0 || __builtin_mul_overflow((int64_t)t, SECOND, &ns) ? 0 : ns;
}

/* Of a cache (RFC 9111 5.1). What is beyond a year is none. */
static int64_t
age(const char *value)
{
	enum { YEAR = 366 * 24 * 3600 };
	uint64_t s;
	return number(&value, &s) && s < YEAR ? (int64_t)s * SECOND : 0;
}

static void
take_date(struct client_reply *r, const char *value)
{
	r->date = date(value);
	r->heard = clock_wall();
}

/* Seconds, or the moment (RFC 9110 10.2.3). */
static int64_t
retry_after(const char *value)
{
	uint64_t s;
	int64_t ns = 0;
	if (number(&value, &s))
		ns = s < 3600 ? (int64_t)s * SECOND : RETRY_AFTER_MAX;
	else if (date(value))
		ns = date(value) - clock_wall();
	return ns < 0 ? 0 : ns > RETRY_AFTER_MAX ? RETRY_AFTER_MAX : ns;
}

static void
take_text(char *ret, size_t size, const char *value)
{
	size_t n = strlen(value);
	if (n < size)
		memcpy(ret, value, n + 1);
	else
		*ret = 0;
}

/* The header's name behind "x-amz-checksum-", or NULL; its type is none. */
static const char *
checksum_name(const char *name)
{
	static const char start[] = "x-amz-checksum-";
	const size_t n = sizeof start - 1;
	return strncasecmp(name, start, n) == 0 && strcasecmp(name + n, "type") != 0 ? name + n
										     : NULL;
}

static void
take_checksum(struct client_reply *r, const char *name, const char *value)
{
	char text[CLIENT_TEXT];
	const int n = snprintf(text, sizeof text, "%s=%s", name, value);
	if (n < 0 || (size_t)n >= sizeof text || (*r->checksum && strlen(r->checksum) <= (size_t)n))
		return;
	for (char *p = text; *p != '='; p++)
		*p = (char)tolower((unsigned char)*p);
	memcpy(r->checksum, text, (size_t)n + 1);
}

static void
take(struct head *h, const char *name, const char *value)
{
	struct client_reply *r = h->reply;
	const struct {
		const char *name;
		char *text;
		size_t size;
	} texts[] = {
		{"etag", r->etag, sizeof r->etag},
		{"x-amz-request-id", r->request_id, sizeof r->request_id},
		{"x-amz-bucket-region", r->region, sizeof r->region},
		{"content-type", r->content_type, sizeof r->content_type},
		{"content-encoding", r->content_encoding, sizeof r->content_encoding},
		{"location", r->location, sizeof r->location},
		{CLIENT_PUT_ID, r->put_id, sizeof r->put_id},
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!strcasecmp(name, texts[i].name))
			take_text(texts[i].text, texts[i].size, value);
	if (checksum_name(name))
		take_checksum(r, checksum_name(name), value);
	else if (!strcasecmp(name, "x-amz-checksum-type"))
		r->composite = !strcasecmp(value, "COMPOSITE");
	if (!strcasecmp(name, "content-length"))
		take_length(h, value);
	else if (!strcasecmp(name, "content-range"))
		take_range(h, value);
	else if (!strcasecmp(name, "last-modified"))
		r->modified = date(value);
	else if (!strcasecmp(name, "date"))
		take_date(r, value);
	else if (!strcasecmp(name, "age"))
		r->age = age(value);
	else if (!strcasecmp(name, "x-amz-server-side-encryption"))
		r->sealed |= !strncasecmp(value, "aws:kms", 7);
	else if (!strcasecmp(name, "x-amz-server-side-encryption-customer-algorithm"))
		r->sealed = true;
	else if (!strcasecmp(name, "retry-after"))
		r->retry_after = retry_after(value);
}

static void
begin(struct head *h, const char *line)
{
	struct client_reply *r = h->reply;
	uint64_t status = 0;
	line += strcspn(line, " ");
	line += strspn(line, " ");
	if (!number(&line, &status) || status > 999)
		status = 0;
	*h = (struct head){.reply = r};
	*r = (struct client_reply){
		.attempt = r->attempt, .error = r->error, .body = r->body, .status = (int)status};
}

void
head_line(struct head *h, const char *line, size_t len)
{
	char text[CLIENT_LOCATION + 64];
	while (len && (isspace((unsigned char)line[len - 1])))
		len--;
	if (!len || len >= sizeof text || memchr(line, 0, len))
		return;
	memcpy(text, line, len);
	text[len] = 0;
	char *colon = strchr(text, ':');
	if (!strncmp(text, "HTTP/", 5)) {
		begin(h, text);
	} else if (colon) {
		*colon++ = 0;
		take(h, text, colon + strspn(colon, " \t"));
	}
}
