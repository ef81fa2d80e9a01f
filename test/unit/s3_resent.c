/* What a server keeps to is tried in four rounds. Puts and deletions on a condition, by a
 * connection that lay idle and dies after the server did what it was asked for: curl sends the
 * request again by itself, and the condition holds no more. */
#include "answerer.h"

#include "backends/s3/etag.h"
#include "base/err.h"
#include "store.h"

#include <errno.h>

enum { ETAG = 64, OBJECTS = 3 };

struct object {
	char name[ETAG];
	bool there;
	char etag[ETAG];
	size_t size;
};

/* A server with a few objects, of which the first is the test's. */
struct bucket {
	pthread_mutex_t lock; /* guards the rest, while the server is asked */
	struct object object[OBJECTS];
	atomic_uint alone; /* requests beside which others did not come */
	bool dies;         /* after the next change, and the connection with it … */
	bool overtaken;    /* … before which another writer puts what is its own */
};

static struct answerer server;
static struct bucket bucket = {.lock = PTHREAD_MUTEX_INITIALIZER, .object = {{"key"}}};
static struct object *const key = &bucket.object[0];
static struct zmap *store;

/* The value of a header. False: there is none. */
static bool
header(const char *head, const char *name, char ret[ETAG])
{
	const char *at = strstr(head, name);
	return at && sscanf(at + strlen(name), ": %63[^\r\n]", ret) == 1;
}

/* That of a request, which may come to be there. */
static struct object *
object_of(const char *head)
{
	char name[ETAG] = "";
	struct object *o = bucket.object;
	sscanf(head, "%*s /bucket/x.zarr/%63s", name);
	while (o < bucket.object + OBJECTS - 1 && *o->name && strcmp(o->name, name) != 0)
		o++;
	strcpy(o->name, name);
	return o;
}

static bool
holds(const struct object *o, const char *head)
{
	char want[ETAG];
	if (header(head, "\r\nIf-None-Match", want))
		return !o->there;
	return !header(head, "\r\nIf-Match", want) || (o->there && !strcmp(want, o->etag));
}

static void
put(struct object *o, struct span bytes)
{
	o->there = true;
	o->size = bytes.len;
	CHECK_INT(etag_of(bytes, o->etag), 0);
}

/* Does it, and says whether the server lives. */
static bool
change(struct object *o, const char *head)
{
	static uint8_t others[1]; /* each time other bytes */
	char length[ETAG] = "0";
	header(head, "\r\nContent-Length", length);
	if (!strncmp(head, "PUT", 3))
		put(o, (struct span){
			       (const uint8_t *)answer_body(head), strtoul(length, NULL, 10)});
	else
		o->there = false;
	const bool lives = !bucket.dies;
	bucket.dies = false;
	if (!lives && bucket.overtaken && ++*others)
		put(o, (struct span){others, sizeof others});
	return lives;
}

static bool
serve_object(struct object *o, int fd, const char *head)
{
	const bool looks = !strncmp(head, "HEAD", 4);
	if (looks && !o->there)
		return answer(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	if (looks)
		return answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nETag: %s\r\n\r\n",
			o->size, o->etag);
	if (!holds(o, head))
		return answer(fd, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n");
	return change(o, head) &&
	       answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: %s\r\n\r\n", o->etag);
}

/* Those that a mount has under way at once come before one of them is answered. */
static void
wait_for_others(struct answerer *s, unsigned n)
{
	static const unsigned all[] = {2, 2, 5, 5, 5, 7, 7, 9, 9};
	for (int i = 0; n < sizeof all / sizeof *all && s->requests < all[n]; i++) {
		if (i == 400) {
			bucket.alone++;
			break;
		}
		answer_pause(s, 10);
	}
}

static bool
serve(struct answerer *s, int fd, const char *head, unsigned n)
{
	bool more = false;
	wait_for_others(s, n);
	if (!strncmp(head, "GET", 3))
		return answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	pthread_mutex_lock(&bucket.lock);
	more = serve_object(object_of(head), fd, head);
	pthread_mutex_unlock(&bucket.lock);
	return more;
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
		CHECK_STR(now.version, key->etag);
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
	snprintf(version, sizeof version, "%s", key->etag);
	expect_put((struct zmap_put){.if_match = version}, "two", 0);
	expect_put((struct zmap_put){0}, "three", 0);
	snprintf(version, sizeof version, "%s", key->etag);
	expect_del(version, 0);
	CHECK(!key->there);
	expect_put((struct zmap_put){.if_absent = true}, "four", 0);
	expect_del(NULL, 0);

	bucket.overtaken = true;
	expect_put((struct zmap_put){.if_absent = true}, "five", ZMAP_CHANGED);
	snprintf(version, sizeof version, "%s", key->etag);
	expect_put((struct zmap_put){.if_match = version}, "six", ZMAP_CHANGED);
	snprintf(version, sizeof version, "%s", key->etag);
	expect_del(version, ZMAP_CHANGED);
	CHECK(key->there);
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
	CHECK_INT(server.requests, 9);
	CHECK_INT(bucket.alone, 0);
	CHECK(!bucket.object[1].there && !bucket.object[2].there);
	test();
	zmap_close(store);
	answerer_stop(&server);
	return check_end();
}
