/* Loads that were begun ahead of a reader which has gone elsewhere: their transfer ends, and a
 * reader that comes for such a chunk meanwhile gets it. And what is loaded ahead of a reader of
 * large chunks that goes on. */
#include "staging.h"

#include <errno.h>
#include <pthread.h>

enum { CHUNK = 1 << 20, CHUNKS = 24, PIECE = 128 << 10, SOON_MS = 100 };

static const struct written_kind kind = {
	"raw", {.kind = DTYPE_UINT, .size = 1}, {{NULL, NULL}}, false};

/* A store whose first answer for chunk 1 does not come before the load is cancelled. */
struct slow {
	struct zmap zmap;
	struct zmap *inner;
	atomic_bool asked, cancelled, go_on;
};

static void
wait_for(const atomic_bool *what)
{
	while (!atomic_load(what))
		usleep(1000);
}

static int
slow_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct slow *s = (struct slow *)z;
	if (strcmp(g->key, "v/1") != 0 || atomic_load(&s->go_on))
		return zmap_get(s->inner, g, ret);
	atomic_store(&s->asked, true);
	while (!cancelled(g->cancel) && !atomic_load(&s->go_on))
		usleep(1000);
	atomic_store(&s->cancelled, true);
	wait_for(&s->go_on);
	return err_set(-EINTR, "no reader waits for it any more");
}

static const struct zmap_ops slow_ops = {.name = "slow", .get = slow_get};

static int
read_at(struct stream *s, uint64_t off, size_t len)
{
	struct reply r = {0};
	struct array_want want = written_want(off, len);
	int e = stream_read(s, &want, &r);
	reply_done(&r);
	return e;
}

static void *
come(void *arg)
{
	struct stream *s = NULL;
	CHECK_INT(stream_new(((struct written *)arg)->array, &s), 0);
	CHECK_INT(read_at(s, CHUNK, 4096), 0);
	stream_free(s);
	return NULL;
}

static void
test_left(void)
{
	struct written_array w = {0};
	struct written mine = {0};
	struct slow s = {.zmap = {.ops = &slow_ops, .caps = ZMAP_REMOTE}};
	const struct data_options o = {.memory = 256 << 20, .workers = 2, .timeout = 60 * SECOND};
	pthread_t other;
	s.inner = store_open("", "mem", "left", true);
	written_begin_as(&w, &kind, &(struct written_shape){1, {CHUNKS * CHUNK}, {CHUNK}, {CHUNK}});
	written_open(&w, &s.zmap, &o, &mine);
	for (uint64_t at = 0; at < CHUNK; at += PIECE)
		CHECK_INT(read_at(mine.stream, at, PIECE), 0);
	wait_for(&s.asked);
	CHECK_INT(read_at(mine.stream, 20 * CHUNK, 4096), 0);
	wait_for(&s.cancelled);
	CHECK_INT(pthread_create(&other, NULL, come, &mine), 0);
	usleep(SOON_MS * 1000);
	atomic_store(&s.go_on, true);
	pthread_join(other, NULL);
	CHECK_INT(written_stat(&mine, "chunk_failed_total"), 0);
	written_close(&mine);
	written_end(&w);
	zmap_close(s.inner);
}

static const struct written_kind packed = {"packed", {.kind = DTYPE_UINT, .size = 1},
	{{"blosc",
		"{\"typesize\": 1, \"cname\": \"lz4\", \"clevel\": 1, \"shuffle\": \"noshuffle\", "
		"\"blocksize\": 262144}"}},
	false};

/* A store that counts. */
struct counted {
	struct zmap zmap;
	struct zmap *inner;
	atomic_uint gets;
	atomic_ullong bytes;
};

static int
counted_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct counted *c = (struct counted *)z;
	const size_t before = g->into->len;
	int r = zmap_get(c->inner, g, ret);
	atomic_fetch_add(&c->gets, 1);
	atomic_fetch_add(&c->bytes, g->into->len - before);
	return r;
}

static const struct zmap_ops counted_ops = {.name = "counted", .get = counted_get};

/* It begins with the second of four large chunks, in little memory. */
static void
test_large(void)
{
	enum { LARGE = 16 << 20, ALL = 4 * LARGE, BEGINNING = 3 << 20 };
	struct written_array w = {0};
	struct written mine = {0};
	struct counted c = {.zmap = {.ops = &counted_ops, .caps = ZMAP_REMOTE}};
	const struct data_options o = {.memory = 64 << 20, .workers = 2, .remote = true};
	c.inner = store_open("", "mem", "large", true);
	written_begin_as(&w, &packed, &(struct written_shape){1, {ALL}, {LARGE}, {LARGE}});
	written_open(&w, c.inner, &o, &mine);
	for (size_t i = 0; i < ALL; i++)
		w.flat[i] = (uint8_t)check_random(&w.seed);
	struct array_want all = written_want(0, ALL);
	CHECK_INT(array_write(mine.array, &all, w.flat), 0);
	CHECK_INT(array_flush(mine.array, NULL), 0);
	written_close(&mine);

	written_open(&w, &c.zmap, &o, &mine);
	for (uint64_t at = LARGE; at < ALL; at += PIECE)
		written_same(&w, &mine, at, PIECE);
	if (c.gets > 3 + 3 || c.bytes > ALL - LARGE + BEGINNING + (1 << 20))
		fprintf(stderr, "%u requests, %llu bytes\n", c.gets, c.bytes);
	CHECK(c.gets <= 3 + 3);
	CHECK(c.bytes <= ALL - LARGE + BEGINNING + (1 << 20));
	written_close(&mine);
	written_end(&w);
	zmap_close(c.inner);
}

int
main(void)
{
	test_left();
	test_large();
	return check_end();
}
