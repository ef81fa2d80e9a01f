/* The HTTP client, against a server that answers as it is told. */
#include "net_client.h"

#include "store/zmap.h"

#include <errno.h>

static void
ranges(void)
{
	begin(usual, NULL, 0);
	expect((struct client_ask){.off = 0}, 0, 0, BIG);
	expect((struct client_ask){.off = 5}, 0, 5, BIG - 5);
	expect((struct client_ask){.off = 5, .len = 7}, 0, 5, 7);
	expect((struct client_ask){.off = BIG - 2, .len = 7}, 0, BIG - 2, 2);
	expect((struct client_ask){.off = BIG, .len = 7}, 0, 0, 0);
	expect((struct client_ask){.off = UINT64_MAX, .len = 7}, 0, 0, 0);
	expect((struct client_ask){.len = 7, .from_end = true}, 0, BIG - 7, 7);
	expect((struct client_ask){.from_end = true}, 0, 0, BIG);
	expect((struct client_ask){.off = 5, .len = 7, .max = 6}, -EFBIG, 0, 0);
	expect((struct client_ask){.max = BIG - 1}, -EFBIG, 0, 0);
	expect((struct client_ask){.max = BIG}, 0, 0, BIG);
	expect((struct client_ask){.off = 1, .max = BIG - 1}, 0, 1, BIG - 1);
	CHECK_INT(server.connections <= 4, 1); /* those that answered too much are closed */
	end();
}

/* Sends all, whatever is asked; without a length if arg is set. */
static bool
whole(struct answerer *s, int fd, const char *head, unsigned n)
{
	if (!s->arg)
		return answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: %d\r\n\r\n", BIG) &&
		       answer_send(fd, big, BIG);
	answer(fd, "HTTP/1.1 200 ok\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (size_t at = 0; at < BIG; at += 65536)
		if (!answer(fd, "10000\r\n") || !answer_send(fd, big + at, 65536) ||
			!answer(fd, "\r\n"))
			return false;
	return answer(fd, "0\r\n\r\n");
}

static void
range_ignored(void)
{
	for (size_t chunked = 0; chunked < 2; chunked++) {
		begin(whole, chunked ? &server : NULL, 0);
		expect((struct client_ask){.off = 0}, 0, 0, BIG);
		expect((struct client_ask){.off = 5}, 0, 5, BIG - 5);
		expect((struct client_ask){.off = 5, .len = 7}, 0, 5, 7);
		expect((struct client_ask){.off = BIG - 2, .len = 7}, 0, BIG - 2, 2);
		expect((struct client_ask){.off = BIG, .len = 7}, 0, 0, 0);
		expect((struct client_ask){.len = 7, .from_end = true}, 0, BIG - 7, 7);
		expect((struct client_ask){.len = 2 * BIG, .from_end = true}, 0, 0, BIG);
		bool all = !chunked; /* else it is not known beforehand how much it is */
		expect((struct client_ask){.len = 7, .from_end = true, .whole = BIG}, 0,
			all ? 0 : BIG - 7, all ? BIG : 7);
		expect((struct client_ask){.len = 7, .from_end = true, .whole = BIG - 1}, 0,
			BIG - 7, 7);
		expect((struct client_ask){.len = 7, .from_end = true, .max = 6}, -EFBIG, 0, 0);
		expect((struct client_ask){.off = 5, .len = 7, .max = 7}, 0, 5, 7);
		expect((struct client_ask){.off = 5, .len = 7, .max = 6}, -EFBIG, 0, 0);
		end();
	}
}

/* Another range than the one asked for, in several ways. */
static bool
wrong_range(struct answerer *s, int fd, const char *head, unsigned n)
{
	static const char *const line[] = {"", "Content-Range: bytes 4-10/1048576\r\n",
		"Content-Range: bytes 5-12/1048576\r\n", "Content-Range: bytes 5-3/7\r\n",
		"Content-Range: bytes 5-11/7\r\n", "Content-Range: rows 5-11/20\r\n",
		"Content-Range: bytes 5-99999999999999999999/*\r\n"};
	return answer(fd,
		       "HTTP/1.1 206 part\r\n%sContent-Length: 7\r\nConnection: "
		       "close\r\n\r\n1234567",
		       line[*(unsigned *)s->arg]) &&
	       false;
}

static void
range_wrong(void)
{
	for (unsigned i = 0; i < 7; i++) {
		begin(wrong_range, &i, 0);
		expect((struct client_ask){.off = 5, .len = 7, .tries = 1}, -EIO, 0, 0);
		end();
	}
}

/* Says what s->arg points to, always. */
static bool
say(struct answerer *s, int fd, const char *head, unsigned n)
{
	return answer(fd, "HTTP/1.1 %s\r\nContent-Length: 4\r\nx-amz-request-id: tx7\r\n\r\nbody",
		(const char *)s->arg);
}

static void
outcomes(void)
{
	static const struct {
		const char *status;
		int want;
		unsigned attempts;
	} row[] = {
		{"404 no", ZMAP_ABSENT, 1},
		{"410 gone", ZMAP_ABSENT, 1},
		{"412 other", ZMAP_CHANGED, 1},
		{"401 who", -EACCES, 1},
		{"403 no", -EACCES, 1},
		{"301 there", -EIO, 1},
		{"400 bad", -EIO, 1},
		{"501 what", -EIO, 1},
		{"416 no", -EIO, 1},
		{"999 hm", -EIO, 1},
		{"503 slow", -EIO, 5},
		{"429 slow", -EIO, 5},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct plan p = {0};
		begin(say, (void *)row[i].status, 0);
		expect((struct client_ask){.arg = &p}, row[i].want, 0, 0);
		CHECK_INT(p.prepared, row[i].attempts);
		if (row[i].want < 0) {
			CHECK(strstr(err_text(), "tx7"));
			CHECK(!strncmp(strstr(err_text(), "HTTP ") + 5, row[i].status, 3));
		}
		end();
	}
}

static void
verdicts(void)
{
	struct plan again = {.verdict = CLIENT_AGAIN}, done = {.verdict = CLIENT_DONE, .result = 7},
		    later = {.verdict = CLIENT_LATER};
	begin(usual, NULL, 0);
	expect((struct client_ask){.arg = &again}, 0, 0, BIG); /* and then by the rules */
	CHECK_INT(again.prepared, 4);
	expect((struct client_ask){.arg = &done}, 7, 0, 0);
	CHECK_INT(done.prepared, 1);
	expect((struct client_ask){.arg = &later, .tries = 5}, -EIO, 0, 0);
	CHECK_INT(later.prepared, 5);
	CHECK_INT(server.requests, 10);
	end();
}

/* What was sent comes back in a header. */
static bool
echo(struct answerer *s, int fd, const char *head, unsigned n)
{
	const char *length = strstr(head, "Content-Length: ");
	int len = length ? (int)strtoul(length + 16, NULL, 10) : 0;
	CHECK(!strstr(head, "Expect:"));
	CHECK(!strstr(head, "Content-Type:"));
	return answer(fd, "HTTP/1.1 %s\r\nContent-Length: 0\r\nETag: \"%.*s%.*s\"\r\n\r\n",
		*(const char **)s->arg, (int)strcspn(head, " "), head, len, answer_body(head));
}

static void
sending(void)
{
	const char *status = "200 ok";
	static const struct {
		struct client_ask ask;
		const char *want;
	} row[] = {
		{{.kind = CLIENT_PUT, .send = {(const uint8_t *)"data", 4}}, "\"PUTdata\""},
		{{.kind = CLIENT_PUT}, "\"PUT\""},
		{{.kind = CLIENT_DELETE}, "\"DELETE\""},
		{{.kind = CLIENT_HEAD}, "\"HEAD\""},
		{{.kind = CLIENT_OTHER, .method = "POST", .send = {(const uint8_t *)"x", 1}},
			"\"POSTx\""},
		{{.kind = CLIENT_LIST}, "\"GET\""},
	};
	begin(echo, &status, 0);
	for (size_t i = 0; i < 2 * sizeof row / sizeof *row; i++) {
		struct plan p = {0};
		struct client_reply reply = {0};
		struct client_ask a = row[i / 2].ask;
		status = i % 2 && a.kind == CLIENT_DELETE ? "204 gone" : "200 ok";
		a.hooks = &hooks;
		a.arg = &p;
		a.deadline = clock_now() + 10 * SECOND;
		CHECK_INT(client_call(client, &a, &reply), 0);
		CHECK_STR(reply.etag, row[i / 2].want);
		client_reply_free(&reply);
	}
	CHECK_INT(server.connections, 1);
	end();
}

/* Many at once. */
enum { MANY = 300 };

static bool
slow(struct answerer *s, int fd, const char *head, unsigned n)
{
	atomic_uint *most = s->arg;
	if (s->connections > *most)
		*most = s->connections;
	answer_pause(s, 20);
	return n % 50 == 7 ? answer(fd, "HTTP/1.1 503 slow\r\nContent-Length: 0\r\n\r\n")
			   : answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: 4\r\n\r\n0123");
}

struct sum {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned done, good;
};

static void
count_done(void *arg, int r, const struct client_reply *reply)
{
	struct sum *s = arg;
	pthread_mutex_lock(&s->lock);
	s->done++;
	s->good += r == 0 && reply->status == 200;
	pthread_cond_signal(&s->cond);
	pthread_mutex_unlock(&s->lock);
}

static void
many(void)
{
	static struct buf into[MANY];
	static struct plan plan[MANY];
	atomic_uint most = 0;
	struct sum sum = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
	CLEAN(buf_free) struct buf stats = {0};
	begin(slow, &most, 16);
	for (size_t i = 0; i < MANY; i++) {
		struct client_ask a = {.hooks = &hooks,
			.arg = &plan[i],
			.into = &into[i],
			.max = 100,
			.deadline = clock_now() + 60 * SECOND};
		client_submit(client, &a, count_done, &sum);
	}
	pthread_mutex_lock(&sum.lock);
	while (sum.done < MANY)
		pthread_cond_wait(&sum.cond, &sum.lock);
	pthread_mutex_unlock(&sum.lock);
	CHECK_INT(sum.good, MANY);
	CHECK_INT(most, 16);
	CHECK_INT(client_stats(client, &stats), 0);
	CHECK_INT(buf_terminate(&stats), 0);
	CHECK(strstr((char *)stats.data, "zarrfs_http_running 0\n"));
	CHECK(strstr((char *)stats.data, "zarrfs_http_waiting 0\n"));
	CHECK(!strstr((char *)stats.data, "zarrfs_http_retries_total 0\n"));
	CHECK(!strstr((char *)stats.data, "zarrfs_http_slowed_total 0\n"));
	for (size_t i = 0; i < MANY; i++) {
		CHECK_INT(into[i].len, 4);
		buf_free(&into[i]);
	}
	end();
}

/* What a reader waits for goes before what is asked for ahead, however late it comes. */
enum { LINE = 6 };
static atomic_bool all_came;

static bool
note_order(struct answerer *s, int fd, const char *head, unsigned n)
{
	char *order = s->arg;
	while (n == 0 && !s->over && !all_came)
		answer_pause(s, 10);
	if (n == 0)
		answer_pause(s, 500); /* the loop takes the others in */
	order[n] = head[5];           /* "GET /x HTTP/1.1" */
	return answer(fd, "HTTP/1.1 200 ok\r\nContent-Length: 0\r\n\r\n");
}

static void
needed_first(void)
{
	static const char *const path[LINE] = {"0", "1", "2", "3", "4", "5"};
	static struct plan plan[LINE];
	char order[LINE + 1] = "";
	atomic_bool yes = true, no_more = true;
	const atomic_bool *ahead[LINE] = {NULL, &yes, &yes, &no_more, &yes, NULL};
	struct sum sum = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};
	begin(note_order, order, 1);
	for (size_t i = 0; i < LINE; i++) {
		plan[i].path = path[i];
		client_submit(client,
			&(struct client_ask){.hooks = &hooks, .arg = &plan[i], .ahead = ahead[i]},
			count_done, &sum);
		while (i == 0 && !server.requests)
			usleep(1000);
	}
	no_more = false; /* a reader has come for it */
	all_came = true;
	pthread_mutex_lock(&sum.lock);
	while (sum.done < LINE)
		pthread_cond_wait(&sum.cond, &sum.lock);
	pthread_mutex_unlock(&sum.lock);
	CHECK_STR(order, "035124");
	end();
}

static void
bad_bundle(void)
{
	struct client_options o = {.ca_bundle = "/nowhere/at/all"};
	CHECK_INT(client_new(&o, &client), -ENOENT);
	CHECK(strstr(err_text(), "/nowhere/at/all"));
}

static void
encoding(void)
{
	CLEAN(buf_free) struct buf b = {0};
	static const char odd[] = "a/b c+%~-._\xc3\xa9=&?#\n";
	CHECK_INT(client_encode(&b, odd, strlen(odd), true), 0);
	CHECK_INT(client_encode(&b, "/", 1, false), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, "a/b%20c%2B%25~-._%C3%A9%3D%26%3F%23%0A%2F");
}

int
main(void)
{
	fill_big();
	encoding();
	bad_bundle();
	ranges();
	range_ignored();
	range_wrong();
	outcomes();
	verdicts();
	sending();
	many();
	needed_first();
	return check_end();
}
