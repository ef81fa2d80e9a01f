/* What a server keeps to is tried in four rounds. Puts and deletions on a condition, by a
 * connection that lay idle and dies after the server did what it was asked for: curl sends the
 * request again by itself, and the condition holds no more. By servers whose ETags are the MD5 of
 * the bytes and by others, which keep the id of a put and which do not. */
#include "answerer.h"

#include "backends/s3/etag.h"
#include "base/err.h"
#include "store.h"

#include <errno.h>

enum { ETAG = 64, OBJECTS = 3, BYTES = 16 };

struct object {
	char name[ETAG];
	bool there;
	char etag[ETAG];
	char id[ETAG]; /* of the put */
	size_t size;
	char bytes[BYTES];
};

struct manner {
	bool md5;            /* an ETag is that of the bytes; else each object has another one */
	bool ids;            /* what a put says of itself is kept */
	bool deletes;        /* whatever the condition */
	const char *refuses; /* what a put that says anything of itself gets; NULL: it is taken … */
	const char *why;     /* … and the body of that; NULL: it has none */
};

/* What becomes of the next change, before the connection dies. PROXIED: it lives, and a proxy has
 * sent it once more, and tells of that. */
enum fate { LIVES, DONE, OVERTAKEN, UNTAKEN, PROXIED };

/* A server with a few objects, of which the first is the test's. */
struct bucket {
	pthread_mutex_t lock; /* guards the rest, while the server is asked */
	struct object object[OBJECTS];
	struct manner manner;
	enum fate fate;    /* OVERTAKEN: another writer puts other bytes after it; UNTAKEN: the same
			      ones instead of it */
	atomic_uint alone; /* requests beside which others did not come */
};

static struct answerer server;
static struct bucket bucket = {.lock = PTHREAD_MUTEX_INITIALIZER};
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
	if (bucket.manner.deletes && !strncmp(head, "DELETE", 6))
		return true;
	if (header(head, "\r\nIf-None-Match", want))
		return !o->there;
	return !header(head, "\r\nIf-Match", want) || (o->there && !strcmp(want, o->etag));
}

static void
put(struct object *o, const char *bytes, size_t size, const char *id)
{
	static unsigned puts;
	o->there = true;
	o->size = size;
	CHECK(size <= BYTES);
	memcpy(o->bytes, bytes, size);
	snprintf(o->id, sizeof o->id, "%s", id);
	if (bucket.manner.md5)
		CHECK_INT(etag_of((struct span){(const uint8_t *)bytes, size}, o->etag), 0);
	else
		snprintf(o->etag, sizeof o->etag, "\"%032x\"", ++puts);
}

/* Does it, and says whether that is answered. */
static bool
change(struct object *o, const char *head)
{
	static const char others[BYTES] = "another writer's";
	const enum fate fate = bucket.fate;
	char length[ETAG] = "0", id[ETAG] = "";
	header(head, "\r\nContent-Length", length);
	if (bucket.manner.ids)
		header(head, "\r\nx-amz-meta-zarrfs-put", id);
	const size_t size = strtoul(length, NULL, 10);
	if (!strncmp(head, "PUT", 3))
		put(o, answer_body(head), size, fate == UNTAKEN ? "" : id);
	else
		o->there = false;
	bucket.fate = LIVES;
	if (fate == OVERTAKEN)
		put(o, others, size ? size : 1, "");
	return fate == LIVES;
}

static bool
tell(const struct object *o, int fd, bool bytes)
{
	char id[2 * ETAG] = "";
	if (*o->id)
		snprintf(id, sizeof id, "X-Amz-Meta-Zarrfs-Put: %s\r\n", o->id);
	return answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nETag: %s\r\n%s\r\n%.*s",
		o->size, o->etag, id, bytes ? (int)o->size : 0, o->bytes);
}

static bool
serve_object(struct object *o, int fd, const char *head)
{
	const char *why = bucket.manner.why ? bucket.manner.why : "";
	const bool reads = !strncmp(head, "GET", 3), looks = reads || !strncmp(head, "HEAD", 4);
	if (looks && !o->there)
		return answer(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	if (looks)
		return tell(o, fd, reads);
	if (bucket.manner.refuses && strstr(head, "\r\nx-amz-meta-"))
		return answer(fd, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s",
			bucket.manner.refuses, strlen(why), why);
	const bool twice = bucket.fate == PROXIED;
	if (twice && holds(o, head))
		change(o, head);
	if (twice || !holds(o, head))
		return answer(fd, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n");
	return change(o, head) &&
	       answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: %s\r\n\r\n", o->etag);
}

/* Those that a mount has under way at once come before one of them is answered. */
static void
wait_for_others(struct answerer *s, unsigned n)
{
	static const unsigned all[] = {2, 2, 5, 5, 5, 7, 7, 9, 9};
	const unsigned vain = bucket.manner.refuses && n >= all[0] ? all[0] : 0;
	for (int i = 0; n - vain < sizeof all / sizeof *all && s->requests < vain + all[n - vain];
		i++) {
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
	if (!strncmp(head, "GET", 3) && strstr(head, "list-type=2"))
		return answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	pthread_mutex_lock(&bucket.lock);
	more = serve_object(object_of(head), fd, head);
	pthread_mutex_unlock(&bucket.lock);
	return more;
}

/* By a connection that is there already. */
static void
expect_put(struct zmap_put p, const char *text, enum fate fate, int want)
{
	struct zmap_stat now = {0};
	const unsigned requests = server.requests;
	bucket.fate = fate;
	p.key = "key";
	p.bytes = (struct span){(const uint8_t *)text, strlen(text)};
	CHECK_INT(zmap_put(store, &p, &now), want);
	CHECK(server.requests > requests + 1);
	CHECK(server.requests <= requests + 4);
	if (want == 0) {
		CHECK_STR(now.version, key->etag);
		CHECK_INT(now.size, strlen(text));
	}
}

static void
expect_del(const char *if_match, enum fate fate, int want)
{
	bucket.fate = fate;
	CHECK_INT(zmap_del(store, &(struct zmap_del){.key = "key", .if_match = if_match}), want);
	CHECK_INT(bucket.fate, LIVES);
}

static const struct zmap_put if_absent = {.if_absent = true};

static void
test(void)
{
	char version[ETAG];
	const struct zmap_put if_match = {.if_match = version};
	expect_put(if_absent, "one", DONE, 0);
	snprintf(version, sizeof version, "%s", key->etag);
	expect_put(if_match, "two", DONE, 0);
	expect_put((struct zmap_put){0}, "three", DONE, 0);
	snprintf(version, sizeof version, "%s", key->etag);
	expect_del(version, DONE, 0);
	CHECK(!key->there);
	expect_put(if_absent, "four", DONE, 0);
	expect_del(NULL, DONE, 0);

	if (bucket.manner.ids) {
		expect_put(if_absent, "proxied", PROXIED, 0);
		snprintf(version, sizeof version, "%s", key->etag);
		expect_put(if_match, "again", PROXIED, 0);
		expect_put(if_match, "other", LIVES, ZMAP_CHANGED);
		snprintf(version, sizeof version, "%s", key->etag);
		expect_del(version, DONE, 0);
	}
	expect_put(if_absent, "five", OVERTAKEN, ZMAP_CHANGED);
	snprintf(version, sizeof version, "%s", key->etag);
	expect_put(if_match, "sixth", OVERTAKEN, ZMAP_CHANGED);
	/* where no ids are kept, it cannot be told from one's own */
	const int want = bucket.manner.ids ? ZMAP_CHANGED : 0;
	snprintf(version, sizeof version, "%s", key->etag);
	expect_put(if_match, "seven", UNTAKEN, want);
	snprintf(version, sizeof version, "%s", key->etag);
	expect_del(version, DONE, 0);
	expect_put(if_absent, "eight", UNTAKEN, want);
	snprintf(version, sizeof version, "%s", key->etag);
	expect_del(version, OVERTAKEN, ZMAP_CHANGED);
	CHECK(key->there);
}

/* By a server that does not delete on a condition. */
static void
test_deletes(void)
{
	expect_put(if_absent, "one", DONE, 0);
	expect_del(NULL, DONE, 0);
	expect_put(if_absent, "two", UNTAKEN, ZMAP_CHANGED);
}

/* One line, if there is anything to say. */
static void
check_said(const struct manner *m, struct buf *said)
{
	static const char line[] = "this server refuses x-amz-meta-zarrfs-put (HTTP status ";
	if (!m->refuses) {
		CHECK_INT(said->len, 0);
		return;
	}
	CHECK_INT(buf_terminate(said), 0);
	const char *text = (const char *)said->data;
	CHECK(!strncmp(text, line, sizeof line - 1));
	CHECK(!strncmp(text + sizeof line - 1, m->refuses, 3));
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
}

static void
test_manner(struct manner m)
{
	char endpoint[64];
	struct url u;
	CLEAN(buf_free) struct buf said = {0};
	memset(bucket.object, 0, sizeof bucket.object);
	strcpy(key->name, "key");
	bucket.manner = m;
	bucket.fate = LIVES;
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
	check_said(&m, &said);
	CHECK_INT(server.requests, m.refuses ? 11 : 9);
	CHECK_INT(bucket.alone, 0);
	CHECK(!bucket.object[1].there && !bucket.object[2].there);
	if (m.deletes)
		test_deletes();
	else
		test();
	store = zmap_close(store);
	answerer_stop(&server);
}

int
main(void)
{
	setenv("AWS_ACCESS_KEY_ID", "id", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	setenv("NCRCENV_IGNORE", "1", 1);
	unsetenv("http_proxy");
	unsetenv("AWS_ENDPOINT_URL_S3");
	test_manner((struct manner){.md5 = true, .ids = true});
	test_manner((struct manner){.md5 = true});
	test_manner((struct manner){.ids = true});
	test_manner((struct manner){0});
	test_manner((struct manner){.ids = true, .deletes = true});
	test_manner((struct manner){.md5 = true, .refuses = "400 Bad Request"});
	test_manner((struct manner){.refuses = "501 Not Implemented"});
	test_manner((struct manner){.refuses = "403 Forbidden",
		.why = "<Error><Code>SignatureDoesNotMatch</Code></Error>"});
	return check_end();
}
