/* A shard that another mount stores again and again while its chunks are read. */
#include "staging.h"

#include <pthread.h>

enum { CELLS = 8, SOON_MS = 100 };

static const struct written_kind kind = {"shard", {.kind = DTYPE_UINT, .size = 4},
	{{"sharding_indexed",
		"\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}], "
		"\"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": "
		"\"little\"}}, {\"name\": \"crc32c\"}]"}},
	true};

/* The same in chunks of which parts are loaded. */
static const struct written_kind parted = {"parted", {.kind = DTYPE_UINT, .size = 4},
	{{"sharding_indexed",
		"\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, "
		"{\"name\": \"blosc\", \"configuration\": {\"typesize\": 4, \"cname\": \"lz4\", "
		"\"clevel\": 1, \"shuffle\": \"noshuffle\", \"blocksize\": 65536}}], "
		"\"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": "
		"\"little\"}}, {\"name\": \"crc32c\"}]"}},
	true};

/* A store that stops in the midst of some gets. */
struct gated {
	struct zmap zmap;
	struct zmap *inner;
	pthread_mutex_t lock; /* guards what is below */
	pthread_cond_t moved;
	unsigned gets, opened, /* how many there were, and the number of the last that may go on */
		asked;         /* how many have their answer */
	unsigned before;       /* this one stops before it asks the store, others behind it */
};

static void
wait_open(struct gated *g, unsigned number)
{
	while (number > g->opened)
		pthread_cond_wait(&g->moved, &g->lock);
}

static int
gated_get(struct zmap *z, const struct zmap_get *get, struct zmap_stat *ret)
{
	struct gated *g = (struct gated *)z;
	unsigned number = 0;
	LOCKED(&g->lock) {
		number = ++g->gets;
		pthread_cond_broadcast(&g->moved);
		if (number == g->before)
			wait_open(g, number);
	}
	int r = zmap_get(g->inner, get, ret);
	LOCKED(&g->lock) {
		g->asked++;
		pthread_cond_broadcast(&g->moved);
		wait_open(g, number);
	}
	return r;
}

static const struct zmap_ops gated_ops = {.name = "gated", .get = gated_get};

static void
wait_for(struct gated *g, const unsigned *count, unsigned n)
{
	LOCKED(&g->lock)
		while (*count < n)
			pthread_cond_wait(&g->moved, &g->lock);
}

static void
open_to(struct gated *g, unsigned number)
{
	LOCKED(&g->lock)
		g->opened = number;
	pthread_cond_broadcast(&g->moved);
}

/* What a thread reads: one number of the array. */
struct reader {
	struct written side;
	struct written_array *array;
	unsigned number;
	uint32_t got;
	int result;
	pthread_t thread;
};

static void *
read_number(void *arg)
{
	struct reader *r = arg;
	struct reply reply = {0};
	struct array_want want = written_want(r->number * 4, 4);
	struct stream *s = NULL;
	CHECK_INT(stream_new(r->side.array, &s), 0);
	r->result = stream_read(s, &want, &reply);
	if (r->result == 0)
		reply_copy(&reply, &r->got);
	reply_done(&reply);
	stream_free(s);
	return NULL;
}

static void
begin(struct reader *r)
{
	CHECK_INT(pthread_create(&r->thread, NULL, read_number, r), 0);
}

/* Each number of the array becomes this one. */
static void
store_all(struct written *other, uint32_t value)
{
	uint32_t all[CELLS];
	for (unsigned i = 0; i < CELLS; i++)
		all[i] = value;
	struct array_want want = written_want(0, sizeof all);
	CHECK_INT(array_write(other->array, &want, all), 0);
	CHECK_INT(array_flush(other->array, NULL), 0);
}

/* A reader that found the shard changed asks for its index again, and gets the one that another
 * reader asked for before the change. */
static void
test_older_index(struct written_array *w, struct zmap *z)
{
	struct gated g = {.inner = z,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.moved = PTHREAD_COND_INITIALIZER,
		.opened = 1,
		.before = 2};
	const struct data_options options = {.memory = 16 << 20, .workers = 4};
	struct written mine = {0}, other = {0};
	g.zmap = (struct zmap){.ops = &gated_ops, .caps = ZMAP_REMOTE};
	written_open(w, &g.zmap, &options, &mine);
	written_open(w, z, &options, &other);
	store_all(&other, 1);

	struct reader first = {mine, w, 0, 0, 0, 0}, second = {mine, w, CELLS / 2, 0, 0, 0};
	begin(&first);
	wait_for(&g, &g.gets, 2); /* the index is there, the chunk is about to be asked for */
	begin(&second);
	wait_for(&g, &g.asked, 2); /* the index is the same as before … */
	store_all(&other, 2);      /* … and no longer */
	open_to(&g, 2);
	usleep(SOON_MS * 1000);
	open_to(&g, UINT32_MAX);
	pthread_join(first.thread, NULL);
	pthread_join(second.thread, NULL);
	CHECK_INT(first.result, 0);
	CHECK_INT(first.got, 2);
	CHECK_INT(second.result, 0);
	CHECK_INT(second.got, 2);
	written_close(&mine);
	written_close(&other);
}

static uint32_t
number_at(const struct written *side, uint64_t number)
{
	struct reader r = {.side = *side, .number = (unsigned)number};
	read_number(&r);
	CHECK_INT(r.result, 0);
	return r.got;
}

/* A part of a chunk, whose index is remembered from before. */
static void
test_parts(void)
{
	enum { NUMBERS = 1 << 20, CHUNK = NUMBERS / 4 };
	static uint32_t all[NUMBERS];
	const struct data_options options = {.memory = 64 << 20, .workers = 2, .ttl = 60 * SECOND};
	struct written_array w = {0};
	struct written mine = {0}, other = {0};
	struct zmap *z = store_open("", "mem", "parts", true);
	written_begin_as(&w, &parted, &(struct written_shape){1, {NUMBERS}, {CHUNK}, {NUMBERS}});
	written_open(&w, z, &options, &mine);
	written_open(&w, z, &options, &other);
	for (uint32_t value = 1; value <= 2; value++) {
		struct array_want want = written_want(0, sizeof all);
		for (unsigned i = 0; i < NUMBERS; i++) /* not so much smaller */
			all[i] = i % 2 ? check_random(&w.seed) : value;
		CHECK_INT(array_write(other.array, &want, all), 0);
		CHECK_INT(array_flush(other.array, NULL), 0);
		CHECK_INT(number_at(&mine, (4 - value) * CHUNK - CHUNK), value);
	}
	written_close(&mine);
	written_close(&other);
	written_end(&w);
	zmap_close(z);
}

int
main(void)
{
	struct written_array w = {0};
	struct zmap *z = store_open("", "mem", "busy", true);
	written_begin_as(&w, &kind, &(struct written_shape){1, {CELLS}, {CELLS / 2}, {CELLS}});
	test_older_index(&w, z);
	written_end(&w);
	zmap_close(z);
	test_parts();
	return check_end();
}
