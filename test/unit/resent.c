/* Chunks of a remote store that come damaged or change while they are read, at the level of arrays:
 * what is sent again, and which readers are told. */
#include "check.h"
#include "store.h"

#include "data/array.h"

#include <errno.h>
#include <pthread.h>

enum {
	CHUNKS = 20,
	CHUNK = 1 << 20,
	BLOCK = 64 << 10,
	HEAD = 16,
	BLOCKS = CHUNK / BLOCK,
	SOON_MS = 100,
	TIGHT = 16 << 20,
	ROOMY = 64 << 20
};

/* Nothing grows old by itself, however slow the machine is. */
static const int64_t TTL = 1000 * SECOND;

static int64_t timeout;             /* of what is opened next; 0: none */
static unsigned caps = ZMAP_REMOTE; /* the same */

/* A store before another, which spoils what comes from it. */
struct spoiler {
	struct zmap zmap;
	struct zmap *inner;
	atomic_int cut;   /* so many answers are cut in half */
	atomic_bool deaf; /* what is asked for now is never answered */
	int ms;           /* how long each takes */
	int64_t mtime;    /* what is said of each, as by a web server; 0: as the store has it */
	bool nameless;    /* no version is said of any */
	int replaced;     /* before answer number so many there is another chunk 3; 0: not */
};

static void
nap(int ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static int
never(const struct zmap_get *g)
{
	int r = 0;
	while (r == 0) {
		nap(SOON_MS / 10);
		r = zmap_patience(g->deadline, g->cancel);
	}
	return r;
}

static void put_loose(struct zmap *, unsigned number, uint8_t value);

static int
spoiler_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct spoiler *s = (struct spoiler *)z;
	size_t before = g->into->len;
	if (s->deaf)
		return never(g);
	nap(s->ms);
	if (s->replaced && !--s->replaced)
		put_loose(s->inner, 3, 99);
	int r = zmap_get(s->inner, g, ret);
	if (s->nameless)
		*ret->version = 0;
	if (r == 0 && s->mtime) {
		ret->mtime = s->mtime;
		ret->placed = 0;
	}
	if (r == 0 && atomic_fetch_sub(&s->cut, 1) > 0)
		g->into->len -= (g->into->len - before) / 2;
	return r;
}

static const struct zmap_ops spoiler_ops = {.name = "spoiler", .get = spoiler_get};

struct setup {
	struct spoiler spoiler;
	struct data *data;
	struct array *array;
	atomic_int told, looks; /* looks: at the metadata */
	int64_t looked;         /* the last one, clock_wall() */
};

/* As Blosc stores what it could not make smaller. */
static void
put_chunk(struct setup *s, unsigned number, uint8_t value)
{
	uint8_t *c = malloc(HEAD + CHUNK);
	const uint32_t length[] = {CHUNK, BLOCK, HEAD + CHUNK};
	char key[16];
	memcpy(c, "\2\1\2\1", 4);
	memcpy(c + 4, length, sizeof length);
	memset(c + HEAD, value, CHUNK);
	snprintf(key, sizeof key, "v/%u", number);
	CHECK_INT(zmap_put(s->spoiler.inner, &(struct zmap_put){key, {c, HEAD + CHUNK}}, NULL), 0);
	free(c);
}

/* The same size in blocks, each behind its length and begun where a table says. */
static void
put_loose(struct zmap *z, unsigned number, uint8_t value)
{
	enum {
		TABLE = BLOCKS * sizeof(uint32_t),
		ALL = HEAD + TABLE + BLOCKS * sizeof(uint32_t) + CHUNK
	};
	uint8_t *c = malloc(ALL), *at = c + HEAD + TABLE;
	const uint32_t length[] = {CHUNK, BLOCK, ALL}, block = BLOCK;
	char key[16];
	memcpy(c, "\2\1\x30\1", 4);
	memcpy(c + 4, length, sizeof length);
	for (unsigned i = 0; i < BLOCKS; i++, at += BLOCK) {
		const uint32_t start = (uint32_t)(at - c);
		memcpy(c + HEAD + i * sizeof start, &start, sizeof start);
		memcpy(at, &block, sizeof block);
		at += sizeof block;
		memset(at, value, BLOCK);
	}
	snprintf(key, sizeof key, "v/%u", number);
	CHECK_INT(zmap_put(z, &(struct zmap_put){key, {c, ALL}}, NULL), 0);
	free(c);
}

static int
check(void *arg)
{
	struct setup *s = arg;
	s->looks++;
	s->looked = clock_wall();
	return 0;
}

static int64_t
seen(void *arg, int64_t wanted)
{
	const struct setup *s = arg;
	return s->looked;
}

static void
changed(void *arg, int64_t mtime)
{
	struct setup *s = arg;
	s->told++;
}

static void
begin(struct setup *s, size_t memory)
{
	static const char config[] = "{\"cname\": \"lz4\", \"clevel\": 5, \"shuffle\": 0}";
	static uint64_t shape = (uint64_t)CHUNKS * CHUNK, chunk = CHUNK;
	static char blosc[] = "blosc";
	struct codec_spec codec = {.id = blosc};
	*s = (struct setup){
		.looked = INT64_MAX, .spoiler.zmap = {.ops = &spoiler_ops, .caps = caps}};
	s->spoiler.inner = store_open("", "mem", "resent", true);
	for (unsigned i = 0; i < CHUNKS; i++)
		put_chunk(s, i, (uint8_t)(1 + i));
	const struct data_options o = {
		.memory = memory, .workers = 2, .ttl = TTL, .timeout = timeout, .remote = true};
	CHECK_INT(data_new(&o, &s->data), 0);
	CHECK_INT(json_parse(config, strlen(config), &codec.config), 0);
	const struct array_meta m = {.rank = 1,
		.shape = &shape,
		.chunk = &chunk,
		.separator = '.',
		.key_form = '2',
		.codec = &codec,
		.ncodecs = 1,
		.dtype = {.kind = DTYPE_UINT, .size = 1}};
	CHECK_INT(array_open(s->data, &s->spoiler.zmap, "v", &m, 0, &s->array), 0);
	json_free(codec.config);
	array_set_hooks(s->array,
		&(struct array_hooks){.arg = s, .check = check, .seen = seen, .changed = changed});
}

static void
end(struct setup *s)
{
	array_unref(s->array);
	data_free(s->data);
	zmap_close(s->spoiler.inner);
}

static uint64_t
stat_of(struct setup *s, const char *name)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(data_stats(s->data, &b), 0);
	CHECK_INT(buf_add(&b, "", 1), 0);
	const char *line = strstr((char *)b.data, name);
	CHECK(line);
	return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

/* One read through a stream, NULL: a new one. The value that all bytes have, 0 where they differ,
 * or -errno. */
static int
value_at(struct setup *s, struct stream *st, uint64_t off, size_t len, int64_t since)
{
	struct stream *own = NULL;
	struct reply r = {0};
	if (!st)
		CHECK_INT(stream_new(s->array, &own), 0);
	int e = stream_read(st ? st : own,
		&(struct array_want){.off = off,
			.len = len,
			.since = since,
			.deadline = clock_now() + 10 * SECOND},
		&r);
	CLEAN(clean_free) uint8_t *got = malloc(len);
	if (e == 0) {
		CHECK_INT(r.len, len);
		reply_copy(&r, got);
		e = got[0];
		for (size_t i = 1; i < len; i++)
			e = got[i] == got[0] ? e : 0;
	}
	reply_done(&r);
	stream_free(own);
	return e;
}

static uint64_t
chunk_at(unsigned number)
{
	return (uint64_t)number * CHUNK;
}

static void *
read_early_part(void *arg)
{
	struct setup *s = arg;
	CHECK_INT(value_at(s, NULL, chunk_at(3) + BLOCK, 4, 0), 4);
	return NULL;
}

/* Two want parts of one chunk, which comes damaged to the first of them: it is asked for again by
 * both. */
static void
test_damaged(void)
{
	struct setup s;
	pthread_t t;
	begin(&s, ROOMY);
	s.spoiler.cut = 1;
	s.spoiler.ms = 2 * SOON_MS;
	pthread_create(&t, NULL, read_early_part, &s);
	nap(SOON_MS);
	CHECK_INT(value_at(&s, NULL, chunk_at(4) - 4, 4, 0), 4);
	pthread_join(t, NULL);
	s.spoiler.cut = 2; /* both times */
	CHECK_INT(value_at(&s, NULL, chunk_at(5) + 4, 4, 0), -EIO);
	CHECK(strstr(err_text(), "'v/5'"));
	CHECK_INT(value_at(&s, NULL, chunk_at(5) + 4, 4, 0), 6);
	end(&s);
}

static void *
read_in_vain(void *arg)
{
	struct setup *s = arg;
	CHECK_INT(value_at(s, NULL, chunk_at(3) + 4, 4, 0), -EIO);
	return NULL;
}

/* A server that comes back: a request of then does not fail with those of before. */
static void
test_back(void)
{
	struct setup s;
	pthread_t t;
	timeout = 2 * SECOND;
	begin(&s, ROOMY);
	timeout = 0;
	s.spoiler.deaf = true;
	pthread_create(&t, NULL, read_in_vain, &s);
	nap(8 * SOON_MS);
	s.spoiler.deaf = false;
	CHECK_INT(value_at(&s, NULL, chunk_at(3) + 4, 4, 0), 4);
	pthread_join(t, NULL);
	end(&s);
}

/* The kernel's pages go when a chunk is another, whether or not that can be read. */
static void
test_told(void)
{
	struct setup s;
	begin(&s, ROOMY);
	CHECK_INT(value_at(&s, NULL, chunk_at(3) + 4, 4, 0), 4);
	CHECK_INT(zmap_put(s.spoiler.inner, &(struct zmap_put){"v/3", {(uint8_t *)"nothing", 7}},
			  NULL),
		0);
	data_expire(s.data);
	CHECK_INT(s.told, 0);
	CHECK_INT(value_at(&s, NULL, chunk_at(3) + 4, 4, 0), -EIO);
	CHECK(s.told > 0);
	end(&s);
}

/* A store that says no more than "too large" has damaged nothing: what is kept stays, and no part
 * is asked for twice. */
static void
test_other_failures(void)
{
	struct setup s;
	begin(&s, ROOMY);
	uint8_t *large = calloc(1, 3 * CHUNK);
	CHECK_INT(
		zmap_put(s.spoiler.inner, &(struct zmap_put){"v/7", {large, 3 * CHUNK}}, NULL), 0);
	free(large);
	CHECK_INT(value_at(&s, NULL, chunk_at(7) + 4, 4, 0), -EIO);
	CHECK_INT(stat_of(&s, "chunk_fetches_total"), 1);
	end(&s);
}

/* Where only a decoded part is left of what was cached, the store is asked whether that is still
 * right. */
static void
test_conditions(void)
{
	struct setup s;
	begin(&s, TIGHT);
	CHECK_INT(value_at(&s, NULL, chunk_at(1) + 4, 4, 0), 2);
	nap(SOON_MS / 4 * 3); /* uses are told apart by this much */
	CHECK_INT(value_at(&s, NULL, chunk_at(1) + 4, 4, 0), 2);
	CHECK_INT(stat_of(&s, "chunk_fetches_total"), 1);
	for (unsigned i = 2; i < CHUNKS && !stat_of(&s, "cache_evicted_total"); i++)
		CHECK_INT(value_at(&s, NULL, chunk_at(i) + 4, 4, 0), i + 1);
	data_expire(s.data);
	uint64_t bytes = stat_of(&s, "chunk_fetched_bytes_total"),
		 again = stat_of(&s, "chunk_revalidated_total");
	CHECK_INT(value_at(&s, NULL, chunk_at(1) + 4, 4, 0), 2);
	CHECK_INT(stat_of(&s, "chunk_fetched_bytes_total"), bytes);
	CHECK_INT(stat_of(&s, "chunk_revalidated_total"), again + 1);
	end(&s);
}

/* A reader that goes with another, and lags, is in the midst of a chunk that is replaced: it stays
 * with what it began. */
static void
test_follower(void)
{
	enum { STEP = 256 << 10 };
	struct setup s;
	struct stream *lead, *behind;
	begin(&s, ROOMY);
	int64_t since = clock_now();
	CHECK_INT(stream_new(s.array, &lead), 0);
	CHECK_INT(stream_new(s.array, &behind), 0);
	for (uint64_t at = 0; at < chunk_at(9); at += STEP)
		CHECK(value_at(&s, lead, at, STEP, since) > 0);
	CHECK_INT(value_at(&s, behind, chunk_at(5), STEP, since), 6);
	CHECK_INT(value_at(&s, behind, chunk_at(5) + STEP, STEP, since), 6);
	put_chunk(&s, 5, 99);
	data_expire(s.data);
	CHECK_INT(value_at(&s, NULL, chunk_at(5), STEP, 0), 99);
	int64_t now = clock_now();
	struct array_move move = {.since = since, .to = now, .noticed = now};
	CHECK(!stream_move(behind, &move));
	CHECK(stream_move(lead, &move));
	CHECK_INT(value_at(&s, behind, chunk_at(5) + 2 * STEP, STEP, since), 6);
	stream_free(behind);
	stream_free(lead);
	end(&s);
}

/* Where a part of an answer cannot be had, what the loads of the others come to is not what is
 * said. */
static void
test_reason(void)
{
	enum { VERSIONS = 70 }; /* more than are remembered */
	struct setup s;
	begin(&s, ROOMY);
	int64_t since = clock_now();
	for (int i = 0; i < VERSIONS; i++) {
		put_chunk(&s, 9, (uint8_t)(100 + i));
		data_expire(s.data);
		CHECK_INT(value_at(&s, NULL, chunk_at(9), 4, 0), 100 + i);
	}
	s.spoiler.cut = 2;
	CHECK_INT(value_at(&s, NULL, chunk_at(8), 2 * CHUNK, since), -EIO);
	CHECK(strstr(err_text(), "replaced"));
	end(&s);
}

/* Behind a web server: a chunk that comes in the place of another, and is older than that was seen
 * there, is of another store, whose metadata are to be looked at. One that was written since then
 * is not, whenever the metadata were seen. */
static void
test_exchanged(void)
{
	struct setup s;
	begin(&s, ROOMY);
	s.looked = clock_wall();
	s.spoiler.mtime = s.looked - 3600 * SECOND;
	CHECK_INT(value_at(&s, NULL, chunk_at(3) + 4, 4, 0), 4);
	data_expire(s.data);
	CHECK_INT(value_at(&s, NULL, chunk_at(3) + 4, 4, 0), 4);
	CHECK_INT(s.looks, 0);
	put_chunk(&s, 3, 99);
	data_expire(s.data);
	CHECK_INT(value_at(&s, NULL, chunk_at(3) + 4, 4, 0), 99);
	CHECK_INT(s.looks, 1);
	put_chunk(&s, 3, 98);
	data_expire(s.data);
	s.spoiler.mtime = clock_wall();
	s.looked = s.spoiler.mtime + 2 * SECOND;
	CHECK_INT(value_at(&s, NULL, chunk_at(3) + 4, 4, 0), 98);
	CHECK_INT(s.looks, 1);
	end(&s);
}

/* Where no versions are said, the parts of a chunk are of objects of one size at least. */
static void
test_nameless(void)
{
	struct setup s;
	caps = 0;
	begin(&s, ROOMY);
	caps = ZMAP_REMOTE;
	s.spoiler.nameless = true;
	s.spoiler.replaced = 2;
	CHECK_INT(value_at(&s, NULL, chunk_at(3) + BLOCK, BLOCK, 0), 99);
	CHECK_INT(value_at(&s, NULL, chunk_at(4) + BLOCK, BLOCK, 0), 5);
	end(&s);
}

int
main(void)
{
	test_damaged();
	test_back();
	test_told();
	test_other_failures();
	test_conditions();
	test_follower();
	test_reason();
	test_exchanged();
	test_nameless();
	return check_end();
}
