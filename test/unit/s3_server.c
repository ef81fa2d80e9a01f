/* The S3 client against a server that answers as no good one does, or only once in a while: whose
 * keys expire in the middle, whose clock is another, which knows no If-Match. */
#include "answerer.h"

#include "base/err.h"
#include "base/clock.h"
#include "store.h"

#include <errno.h>
#include <time.h>

static struct answerer server;
static struct zmap *store;
static struct place home;

static void
begin(answer_fn *fn, void *arg, struct zmap_options o)
{
	char endpoint[64];
	struct url u;
	answerer_start(&server, fn, arg);
	snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", server.port);
	o.endpoint = endpoint;
	o.timeout = 10 * SECOND;
	CHECK_INT(url_parse("s3://bucket/x.zarr", &u), 0);
	CHECK_INT(zmap_open(&u, &o, &store), 0);
	url_free(&u);
}

static void
end(void)
{
	store = zmap_close(store);
	answerer_stop(&server);
}

/* A GET of "key" gives this, or nothing if want is not 0. */
static void
expect(struct zmap_get g, int want, const char *text)
{
	CLEAN(buf_free) struct buf b = {0};
	struct zmap_stat s = {0};
	g.key = "key";
	g.into = &b;
	g.max = 100;
	CHECK_INT(zmap_get(store, &g, &s), want);
	CHECK_INT(b.len, strlen(text));
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, text);
}

static void
keys_of(const char *id)
{
	char path[300];
	snprintf(path, sizeof path, "%s/keys", home.path);
	FILE *f = fopen(path, "w");
	CHECK(f);
	if (!f)
		return;
	fprintf(f,
		"{\"Version\": 1, \"AccessKeyId\": \"%s\", \"SecretAccessKey\": \"s\", "
		"\"SessionToken\": \"token-%s\", \"Expiration\": \"2099-01-01T00:00:00Z\"}",
		id, id);
	fclose(f);
}

static bool
whole(int fd)
{
	return answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: 4\r\nETag: \"one\"\r\n\r\nbody");
}

static bool
refuse(int fd, const char *head, const char *status, const char *code)
{
	char body[200];
	int n = snprintf(body, sizeof body, "<Error><Code>%s</Code></Error>", code);
	bool mute = !strncmp(head, "HEAD ", 5);
	return answer(
		fd, "HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, n, mute ? "" : body);
}

/* --- keys that expire --- */

struct monitor {
	const char *good, *status, *code;
	int want; /* where no keys are good */
	int head; /* where the newest are, of a HEAD */
};

/* Knows one key only. */
static bool
one_key(struct answerer *s, int fd, const char *head, unsigned n)
{
	const struct monitor *k = s->arg;
	char id[64], token[64];
	snprintf(id, sizeof id, "Credential=%s/", k->good);
	snprintf(token, sizeof token, "x-amz-security-token: token-%s\r\n", k->good);
	CHECK(strstr(head, "Authorization: AWS4-HMAC-SHA256 "));
	if (!strstr(head, id))
		return refuse(fd, head, k->status, k->code);
	CHECK(strcasestr(head, token));
	return strstr(head, "list-type=2")
		       ? answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: 0\r\n\r\n")
		       : whole(fd);
}

static void
expire_in_the_middle(void)
{
	static const struct monitor rows[] = {
		{"old", "400 bad", "ExpiredToken", -EIO, 0},
		{"old", "403 no", "ExpiredToken", -EPERM, -EACCES},
		{"old", "403 no", "InvalidAccessKeyId", -EPERM, -EACCES},
		{"old", "400 bad", "InvalidToken", -EIO, 0},
		/* Ceph says no more than that, and what time it is there */
		{"old", "403 no\r\nDate: Fri, 01 Jan 2100 00:00:00 GMT", "AccessDenied", -EPERM, 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct monitor k = rows[i];
		struct zmap_stat st;
		keys_of("old");
		begin(one_key, &k, (struct zmap_options){.profile = "work"});
		expect((struct zmap_get){0}, 0, "body");
		CHECK_INT(server.requests, 1);
		k.good = "new";
		keys_of("new");
		expect((struct zmap_get){0}, 0, "body"); /* refused, renewed, asked again */
		CHECK_INT(server.requests, 3);
		expect((struct zmap_get){0}, 0, "body");
		CHECK_INT(server.requests, 4);
		k.good = "newer"; /* an answer to HEAD does not say why, nor whether 403 means
				     something else */
		keys_of("newer");
		CHECK_INT(zmap_stat(store, "key", &st), k.head);
		k.good = "nobody's";
		expect((struct zmap_get){0}, k.want, "");
		CHECK(strstr(err_text(), k.code));
		CHECK(!strstr(err_text(), "token-"));
		end();
	}
}

/* --- another clock --- */

static bool
two_hours_ahead(struct answerer *s, int fd, const char *head, unsigned n)
{
	char now[17], date[64];
	struct tm tm;
	time_t t = time(NULL) + 7200;
	gmtime_r(&t, &tm);
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	const char *said = strcasestr(head, "x-amz-date: ");
	CHECK(said);
	if (!said)
		return false;
	struct tm signed_at = {0};
	snprintf(now, sizeof now, "%.16s", said + 12);
	CHECK(strptime(now, "%Y%m%dT%H%M%SZ", &signed_at));
	if (llabs((long long)(timegm(&signed_at) - t)) < 60)
		return whole(fd);
	char status[100];
	snprintf(status, sizeof status, "403 no\r\nDate: %s", date);
	return refuse(fd, head, status, "RequestTimeTooSkewed");
}

static void
clock_skew(void)
{
	keys_of("any");
	begin(two_hours_ahead, NULL, (struct zmap_options){.profile = "work"});
	expect((struct zmap_get){0}, 0, "body");
	CHECK_INT(server.requests, 2);
	expect((struct zmap_get){0}, 0, "body");
	CHECK_INT(server.requests, 3); /* it is remembered */
	end();
}

/* --- the requester pays --- */

static bool
payer(struct answerer *s, int fd, const char *head, unsigned n)
{
	const char *names = strstr(head, "SignedHeaders=");
	bool pays = strcasestr(head, "x-amz-request-payer: requester\r\n");
	CHECK(names);
	bool is_signed = names && memmem(names, strcspn(names, ","), "x-amz-request-payer", 19);
	CHECK(pays == is_signed);
	return pays ? whole(fd) : refuse(fd, head, "403 no", "AccessDenied");
}

static void
requester_pays(void)
{
	keys_of("any");
	begin(payer, NULL, (struct zmap_options){.profile = "work"});
	expect((struct zmap_get){0}, -EACCES, "");
	end();
	begin(payer, NULL, (struct zmap_options){.profile = "work", .requester_pays = true});
	expect((struct zmap_get){0}, 0, "body");
	end();
}

/* --- conditions --- */

static bool
unconditional(struct answerer *s, int fd, const char *head, unsigned n)
{
	return whole(fd);
}

static void
no_conditions(void)
{
	keys_of("any");
	begin(unconditional, NULL, (struct zmap_options){.profile = "work"});
	expect((struct zmap_get){.if_match = "\"one\""}, 0, "body");
	expect((struct zmap_get){.if_match = "\"two\""}, ZMAP_CHANGED, "");
	end();
}

/* --- what is damaged on its way --- */

struct damage {
	unsigned times; /* so many answers */
	const char *head;
};

static const char md5[] = "ETag: \"841a2d689ad86bd1611447453c22c6fc\"\r\n";

static bool
damaged(struct answerer *s, int fd, const char *head, unsigned n)
{
	const struct damage *d = s->arg;
	bool part = strcasestr(head, "\r\nRange: ");
	return answer(fd, "HTTP/1.1 %s\r\nContent-Length: 4\r\n%s%s\r\n%s",
		part ? "206 part" : "200 ok", d->head, part ? "Content-Range: bytes 0-3/9\r\n" : "",
		n < d->times ? "bady" : "body");
}

static enum zmap_verify by; /* how the next are compared */

/* A GET of it has this outcome, after so many requests. */
static void
compare(struct damage d, struct zmap_get g, int want, unsigned requests)
{
	begin(damaged, &d, (struct zmap_options){.profile = "work", .verify = by});
	expect(g, want, want ? "" : requests > d.times ? "body" : "bady");
	CHECK_INT(server.requests, requests);
	CHECK(!want || strstr(err_text(), "'key' came damaged"));
	end();
}

static void
verified(void)
{
	static const char *const other[] = {
		"", /* nothing to compare with, or nothing that is an MD5 of it */
		"ETag: \"841a2d689ad86bd1611447453c22c6fc-2\"\r\n",
		"ETag: W/\"841a2d689ad86bd1611447453c22c6fc\"\r\n",
		"ETag: \"841a2d689ad86bd1611447453c22c6fg\"\r\n",
		"ETag: \"841a2d689ad86bd1611447453c22c6fc\"\r\n"
		"x-amz-server-side-encryption: aws:kms\r\n",
		"ETag: \"841a2d689ad86bd1611447453c22c6fc\"\r\n"
		"x-amz-server-side-encryption-customer-algorithm: AES256\r\n",
	};
	struct zmap_get all = {0};
	keys_of("any");
	by = ZMAP_VERIFY_TRUE;
	compare((struct damage){0, md5}, all, 0, 1);
	compare((struct damage){1, md5}, all, 0, 2);
	compare((struct damage){9, md5}, all, -EIO, 2);
	compare((struct damage){9, md5}, (struct zmap_get){.len = 4}, 0, 1);
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		compare((struct damage){9, other[i]}, all, 0, 1);
	for (by = ZMAP_VERIFY_AUTO; by <= ZMAP_VERIFY_FALSE; by++)
		compare((struct damage){9, md5}, all, 0, 1);
}

/* Of "body", by what the store keeps with it. */
static void
verified_by_checksums(void)
{
	static const char *const right[] = {
		"x-amz-checksum-crc32: 26gLsg==",
		"x-amz-checksum-crc32c: Jj/JUA==",
		"x-amz-checksum-crc64nvme: mI+Ji1NHP80=",
		"x-amz-checksum-sha1: Agg/RXngimEkJcDBoX7ket14O5Q=",
		"X-Amz-Checksum-SHA256: Iw2DWNyOiJC0xY3utikS7i8gNXrpKlzIYbmOaP4xrLU=",
	};
	static const char *const none[] = {
		"x-amz-checksum-crc32: AAAA",
		"x-amz-checksum-crc32c: AAAAAA==-3\r\nx-amz-checksum-type: COMPOSITE",
		"x-amz-checksum-crc32c: AAAAAA==\r\nx-amz-checksum-type: COMPOSITE",
		"x-amz-checksum-md7: AAAAAA==",
	};
	enum { CRCS = 3 };
	char head[300];
	struct zmap_get all = {0};
	by = ZMAP_VERIFY_TRUE;
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		snprintf(head, sizeof head, "%s\r\nx-amz-server-side-encryption: aws:kms\r\n%s",
			right[i], md5);
		compare((struct damage){0, head}, all, 0, 1);
		compare((struct damage){1, head}, all, 0, 2);
		compare((struct damage){9, head}, all, -EIO, 2);
		compare((struct damage){9, head}, (struct zmap_get){.len = 4}, 0, 1);
	}
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		snprintf(head, sizeof head, "%s\r\n", none[i]);
		compare((struct damage){9, head}, all, 0, 1);
		snprintf(head, sizeof head, "%s\r\n%s", none[i], md5);
		compare((struct damage){9, head}, all, -EIO, 2);
	}
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		snprintf(head, sizeof head, "%s\r\nx-amz-checksum-type: FULL_OBJECT\r\n%s",
			right[i], md5);
		by = ZMAP_VERIFY_FALSE;
		compare((struct damage){9, head}, all, 0, 1);
		by = ZMAP_VERIFY_AUTO; /* by what is cheap */
		compare((struct damage){0, head}, all, 0, 1);
		compare((struct damage){1, head}, all, 0, i < CRCS ? 2 : 1);
		compare((struct damage){9, head}, all, i < CRCS ? -EIO : 0, i < CRCS ? 2 : 1);
		compare((struct damage){9, head}, (struct zmap_get){.len = 4}, 0, 1);
	}
}

/* They are asked for with whole objects only, and only where a reader compares them. */
static bool
asks_for_checksums(struct answerer *s, int fd, const char *head, unsigned n)
{
	const bool *wanted = s->arg;
	bool asked = strcasestr(head, "\r\nx-amz-checksum-mode: ENABLED\r\n");
	CHECK_INT(asked, *wanted);
	CHECK_INT(asked, strcasestr(head, ";x-amz-checksum-mode;x-amz-content-sha256;") != NULL);
	return strcasestr(head, "\r\nRange: ")
		       ? answer(fd, "HTTP/1.1 206 part\r\nContent-Length: 4\r\n"
				    "Content-Range: bytes 0-3/9\r\n\r\nbody")
		       : whole(fd);
}

static void
asked_for_checksums(void)
{
	for (unsigned v = ZMAP_VERIFY_AUTO; v <= ZMAP_VERIFY_TRUE; v++) {
		bool wanted = v != ZMAP_VERIFY_FALSE;
		begin(asks_for_checksums, &wanted,
			(struct zmap_options){.profile = "work", .verify = (enum zmap_verify)v});
		expect((struct zmap_get){0}, 0, "body");
		wanted = false;
		expect((struct zmap_get){.len = 4}, 0, "body");
		end();
	}
}

/* Servers that know nothing of them: it costs one request each, three times. */
struct ignorant {
	const char *status, *code;
	bool always; /* it does not answer otherwise either */
};

static bool
knows_no_checksums(struct answerer *s, int fd, const char *head, unsigned n)
{
	const struct ignorant *i = s->arg;
	return i->always || strcasestr(head, "x-amz-checksum-mode")
		       ? refuse(fd, head, i->status, i->code)
		       : whole(fd);
}

/* A time-out says nothing of them. */
static bool
late_once(struct answerer *s, int fd, const char *head, unsigned n)
{
	CHECK(strcasestr(head, "x-amz-checksum-mode"));
	return n ? whole(fd) : refuse(fd, head, "400 late", "RequestTimeout");
}

/* A refusal that passes does not end them. */
static bool
refused_once(struct answerer *s, int fd, const char *head, unsigned n)
{
	CHECK_INT(strcasestr(head, "x-amz-checksum-mode") != NULL, n != 1);
	return n ? whole(fd) : refuse(fd, head, "400 bad", "BadRequest");
}

static void
refused_checksums(void)
{
	static const struct ignorant rows[] = {
		{"501 no", "NotImplemented"},
		{"501 no", ""},
		{"400 bad", "InvalidArgument"},
		{"400 bad", ""},
		{"403 no", "SignatureDoesNotMatch"},
	};
	static const char *const profiles[] = {"work", "anon"};
	for (size_t k = 0; k < sizeof rows / sizeof *rows * 2; k++) {
		struct ignorant i = rows[k / 2];
		const struct zmap_options o = {.profile = profiles[k % 2]};
		begin(knows_no_checksums, &i, o);
		expect((struct zmap_get){0}, 0, "body");
		CHECK_INT(server.requests, 2);
		for (unsigned n = 0; n < 3; n++)
			expect((struct zmap_get){0}, 0, "body");
		CHECK_INT(server.requests, 7);
		end();
		i.always = true;
		begin(knows_no_checksums, &i, o);
		expect((struct zmap_get){0},
			*i.status == '5'          ? -ENOTSUP
			: strstr(i.status, "403") ? -EPERM
						  : -EIO,
			"");
		CHECK_INT(server.requests, 2);
		end();
	}
	begin(refused_once, NULL, (struct zmap_options){.profile = "work"});
	for (unsigned n = 0; n < 5; n++)
		expect((struct zmap_get){0}, 0, "body");
	CHECK_INT(server.requests, 6);
	end();
	begin(late_once, NULL, (struct zmap_options){.profile = "work"});
	expect((struct zmap_get){0}, 0, "body");
	CHECK_INT(server.requests, 2);
	end();
}

int
main(void)
{
	char path[300], text[700];
	home = place_new();
	snprintf(path, sizeof path, "%s/config", home.path);
	snprintf(text, sizeof text, "[profile work]\ncredential_process = cat \"%s/keys\"\n",
		home.path);
	FILE *f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
	setenv("HOME", home.path, 1);
	setenv("AWS_CONFIG_FILE", path, 1);
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	setenv("NCRCENV_IGNORE", "1", 1);
	unsetenv("http_proxy");
	unsetenv("AWS_ENDPOINT_URL_S3");
	expire_in_the_middle();
	clock_skew();
	requester_pays();
	no_conditions();
	verified_by_checksums();
	asked_for_checksums();
	refused_checksums();
	verified();
	place_remove(&home);
	return check_end();
}
