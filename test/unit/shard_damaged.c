/* A shard with a damaged chunk that is written to: the damage stays where it is, and no other chunk
 * suffers from it. */
#include "staging.h"

#include <errno.h>

enum { CELLS = 8, CHUNK = 2, CHUNKS = CELLS / CHUNK, STORED = 12, ENTRY = 16, DAMAGED = 1 };

static const struct written_kind kind = {"damaged", {.kind = DTYPE_UINT, .size = 4},
	{{"sharding_indexed",
		"\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, "
		"{\"name\": \"crc32c\"}], \"index_codecs\": [{\"name\": \"bytes\", "
		"\"configuration\": {\"endian\": \"little\"}}]"}},
	true};

static const struct data_options options = {.memory = 16 << 20, .workers = 2};

struct shelf {
	struct written_array array;
	struct zmap *zmap;
};

static const char KEY[] = "v/0";

/* Numbers [first, first + n) become `value`; what storing them came to. */
static int
store(struct shelf *s, unsigned first, unsigned n, uint32_t value)
{
	struct written side = {0};
	uint32_t all[CELLS];
	for (unsigned i = 0; i < n; i++)
		all[i] = value;
	const struct array_want want = written_want(first * 4, n * 4);
	written_open(&s->array, s->zmap, &options, &side);
	CHECK_INT(array_write(side.array, &want, all), 0);
	int r = array_flush(side.array, NULL);
	if (r < 0)
		data_retry(side.data, NULL);
	written_close(&side);
	return r;
}

/* A number of the array, or -errno. */
static int64_t
load(struct shelf *s, unsigned number)
{
	struct written side = {0};
	struct reply reply = {0};
	const struct array_want want = written_want(number * 4, 4);
	uint32_t got = 0;
	written_open(&s->array, s->zmap, &options, &side);
	int r = stream_read(side.stream, &want, &reply);
	if (r == 0)
		reply_copy(&reply, &got);
	reply_done(&reply);
	written_close(&side);
	return r < 0 ? r : (int64_t)got;
}

/* All is 1; then bytes of the shard become others. at < 0: from its end on. */
static void
damage(struct shelf *s, int at, const void *bytes, size_t n)
{
	CLEAN(buf_free) struct buf b = {0};
	struct zmap_stat st;
	CHECK_INT(store(s, 0, CELLS, 1), 0);
	CHECK_INT(
		zmap_get(s->zmap, &(struct zmap_get){.key = KEY, .into = &b, .max = 4096}, &st), 0);
	CHECK_INT(b.len, CHUNKS * (STORED + ENTRY));
	memcpy(b.data + (at < 0 ? (int)b.len : 0) + at, bytes, n);
	CHECK_INT(zmap_put(s->zmap, &(struct zmap_put){KEY, buf_span(&b)}, NULL), 0);
	CHECK_INT(load(s, DAMAGED * CHUNK), -EIO);
}

static void
check(struct shelf *s)
{
	CHECK_INT(store(s, 0, 1, 5), 0);             /* a part of another chunk … */
	CHECK_INT(store(s, 2 * CHUNK, CHUNK, 6), 0); /* … and all of one */
	CHECK_INT(load(s, 0), 5);
	CHECK_INT(load(s, 1), 1);
	CHECK_INT(load(s, 2 * CHUNK), 6);
	CHECK_INT(load(s, CELLS - 1), 1);
	CHECK_INT(load(s, DAMAGED * CHUNK), -EIO);
	CHECK_INT(store(s, DAMAGED * CHUNK, 1, 7), -EIO); /* a part of it */
	CHECK_INT(load(s, DAMAGED * CHUNK), -EIO);
	CHECK_INT(load(s, 0), 5);
	CHECK_INT(store(s, DAMAGED * CHUNK, CHUNK, 8), 0); /* all of it */
	CHECK_INT(load(s, DAMAGED * CHUNK), 8);
	CHECK_INT(load(s, DAMAGED * CHUNK + 1), 8);
	CHECK_INT(load(s, 0), 5);
}

int
main(void)
{
	struct shelf s = {0};
	/* beyond the end, and in the index; and bytes that are others */
	static const uint64_t places[][2] = {{1 << 20, STORED}, {CHUNKS * STORED, STORED}};
	const int entry = -(CHUNKS - DAMAGED) * ENTRY;
	s.zmap = store_open("", "mem", "damaged", true);
	written_begin_as(&s.array, &kind, &(struct written_shape){1, {CELLS}, {CHUNK}, {CELLS}});
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		damage(&s, entry, places[i], ENTRY);
		check(&s);
	}
	damage(&s, DAMAGED * STORED, "damage", 6);
	check(&s);
	written_end(&s.array);
	zmap_close(s.zmap);
	return check_end();
}
