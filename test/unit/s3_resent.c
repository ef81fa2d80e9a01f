/* Puts and deletions on a condition, by a connection that lay idle and dies after the server did
 * what it was asked for: curl sends the request again by itself, and the condition holds no more.
 */
#include "answerer.h"

#include "backends/s3/etag.h"
#include "base/err.h"
#include "store.h"

#include <errno.h>

enum { ETAG = 64 };

/* A server with one object. */
struct bucket {
	bool there;
	char etag[ETAG];
	size_t size;
	bool dies;      /* after the next change, and the connection with it … */
	bool overtaken; /* … before which another writer puts what is its own */
};

static struct answerer server;
static struct bucket bucket;
static struct zmap *store;

/* The value of a header. False: there is none. */
static bool
header(const char *head, const char *name, char ret[ETAG])
{
	const char *at = strstr(head, name);
	return at && sscanf(at + strlen(name), ": %63[^\r\n]", ret) == 1;
}

static bool
holds(const char *head)
{
	char want[ETAG];
	if (header(head, "\r\nIf-None-Match", want))
		return !bucket.there;
	return !header(head, "\r\nIf-Match", want) || (bucket.there && !strcmp(want, bucket.etag));
}

static void
put(struct span bytes)
{
	bucket.there = true;
	bucket.size = bytes.len;
	CHECK_INT(etag_of(bytes, bucket.etag), 0);
}

/* Does it, and says whether the server lives. */
static bool
change(const char *head)
{
	static uint8_t others[1]; /* each time other bytes */
	char length[ETAG] = "0";
	header(head, "\r\nContent-Length", length);
	if (!strncmp(head, "PUT", 3))
		put((struct span){(const uint8_t *)answer_body(head), strtoul(length, NULL, 10)});
	else
		bucket.there = false;
	const bool lives = !bucket.dies;
	bucket.dies = false;
	if (!lives && bucket.overtaken && ++*others)
		put((struct span){others, sizeof others});
	return lives;
}

static bool
serve(struct answerer *s, int fd, const char *head, unsigned n)
{
	const bool looks = !strncmp(head, "HEAD", 4);
	if (looks && !bucket.there)
		return answer(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	if (looks)
		return answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nETag: %s\r\n\r\n",
			bucket.size, bucket.etag);
	if (!strncmp(head, "GET", 3))
		return answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	if (!holds(head))
		return answer(fd, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n");
	return change(head) &&
	       answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: %s\r\n\r\n", bucket.etag);
}

/* By a connection that is there already. */
static void
expect_put(struct zmap_put p, const char *text, int want)
{
	struct zmap_stat now = {0};
	const unsigned requests = server.requests;
	bucket.dies = true;
	p.key = "key";
	p.bytes = (struct span){(const uint8_t *)text, strlen(text)};
	CHECK_INT(zmap_put(store, &p, &now), want);
	CHECK(server.requests > requests + 1);
	if (want == 0) {
		CHECK_STR(now.version, bucket.etag);
		CHECK_INT(now.size, strlen(text));
	}
}

static void
expect_del(const char *if_match, int want)
{
	bucket.dies = true;
	CHECK_INT(zmap_del(store, &(struct zmap_del){.key = "key", .if_match = if_match}), want);
	CHECK(!bucket.dies);
}

static void
test(void)
{
	char version[ETAG];
	expect_put((struct zmap_put){.if_absent = true}, "one", 0);
	snprintf(version, sizeof version, "%s", bucket.etag);
	expect_put((struct zmap_put){.if_match = version}, "two", 0);
	expect_put((struct zmap_put){0}, "three", 0);
	snprintf(version, sizeof version, "%s", bucket.etag);
	expect_del(version, 0);
	CHECK(!bucket.there);
	expect_put((struct zmap_put){.if_absent = true}, "four", 0);
	expect_del(NULL, 0);

	bucket.overtaken = true;
	expect_put((struct zmap_put){.if_absent = true}, "five", ZMAP_CHANGED);
	snprintf(version, sizeof version, "%s", bucket.etag);
	expect_put((struct zmap_put){.if_match = version}, "six", ZMAP_CHANGED);
	snprintf(version, sizeof version, "%s", bucket.etag);
	expect_del(version, ZMAP_CHANGED);
	CHECK(bucket.there);
}

int
main(void)
{
	char endpoint[64];
	struct url u;
	CLEAN(buf_free) struct buf said = {0};
	setenv("AWS_ACCESS_KEY_ID", "id", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	setenv("NCRCENV_IGNORE", "1", 1);
	unsetenv("http_proxy");
	unsetenv("AWS_ENDPOINT_URL_S3");
	answerer_start(&server, serve, NULL);
	snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", server.port);
	CHECK_INT(url_parse("s3://bucket/x.zarr", &u), 0);
	CHECK_INT(zmap_open(&u,
			  &(struct zmap_options){
				  .endpoint = endpoint, .writable = true, .timeout = 10 * SECOND},
			  &store),
		0);
	url_free(&u);
	CHECK_INT(zmap_try_writing(store, &said), 0);
	CHECK_INT(said.len, 0);
	bucket.there = false;
	test();
	zmap_close(store);
	answerer_stop(&server);
	return check_end();
}
