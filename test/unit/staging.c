/* Random writes, reads, flushes and growth of arrays of many kinds, against a plain buffer. */
#include "staging.h"

#include <errno.h>

enum { ROUNDS = 16, STEPS = 60, LONGEST = 14 };

#define BYTES "\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}"
#define INDEX                                                                                      \
	", \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": "              \
	"\"little\"}}, "                                                                           \
	"{\"name\": \"crc32c\"}]"

static const struct written_kind kinds[] = {
	{"plain", {.kind = DTYPE_FLOAT, .size = 4}, {{NULL}}, false},
	{"bytes", {.kind = DTYPE_RAW, .size = 3}, {{NULL}}, false},
	{"zlib", {.kind = DTYPE_INT, .size = 2}, {{"zlib", "{\"level\": 1}"}}, false},
	{"blosc", {.kind = DTYPE_FLOAT, .size = 8},
		{{"blosc", "{\"cname\": \"lz4\", \"clevel\": 5, \"shuffle\": 1}"}}, false},
	{"blosc in blocks", {.kind = DTYPE_INT, .size = 4},
		{{"blosc", "{\"cname\": \"zstd\", \"clevel\": 1, \"shuffle\": 1, \"blocksize\": "
			   "256}"}},
		false},
	{"shuffle, zstd", {.kind = DTYPE_INT, .size = 4, .big = true},
		{{"shuffle", "{\"elementsize\": 4}"}, {"zstd", "{\"level\": 1}"}}, false},
	{"delta, crc32", {.kind = DTYPE_INT, .size = 4},
		{{"delta", "{\"dtype\": \"<i4\"}"}, {"crc32", NULL}}, false},
	{"booleans", {.kind = DTYPE_BOOL, .size = 1}, {{"packbits", NULL}}, false},
	{"texts", {.kind = DTYPE_VLEN_TEXT, .size = 7}, {{"vlen-utf8", NULL}, {"lz4", NULL}},
		false},
	{"shards", {.kind = DTYPE_FLOAT, .size = 4}, {{"sharding_indexed", BYTES "]" INDEX}}, true},
	{"shards, zstd", {.kind = DTYPE_INT, .size = 2},
		{{"sharding_indexed",
			BYTES ", {\"name\": \"zstd\", \"configuration\": {\"level\": 1}}]" INDEX
			      ", \"index_location\": \"start\""}},
		true},
};

/* A reader that knows nothing of this mount sees all that was flushed. */
static void
check_store(struct written_array *w, struct zmap *z)
{
	struct written other;
	const struct data_options o = {.memory = 64 << 20, .workers = 1, .ttl = INT64_MAX};
	written_open(w, z, &o, &other);
	written_same(w, &other, 0, w->bytes);
	written_close(&other);
}

/* One more index, or some, along the leading dimension. */
static void
grow(struct written_array *w, struct written *side)
{
	size_t before = w->bytes;
	w->shape[0] += written_pick(w, 1, 3);
	w->bytes = written_count(w) * w->meta.dtype.size;
	w->flat = realloc(w->flat, w->bytes);
	written_fill(w, w->flat + before, w->bytes - before);
	written_array_open(w, side);
}

/* It waits some moments. */
struct impatient {
	struct cancel cancel;
	unsigned looks;
};

static bool
look(struct cancel *c)
{
	return ++((struct impatient *)(void *)c)->looks > 8;
}

/* Fewer of them; at least one. */
static void
shrink(struct written_array *w, struct written *side)
{
	uint64_t before = w->shape[0];
	struct array_behind *behind = NULL;
	const uint64_t rows = written_pick(w, 1, before);
	CHECK_INT(array_look_behind(side->array, rows, before, NULL, &behind), 0);
	w->shape[0] = rows;
	w->bytes = written_count(w) * w->meta.dtype.size;
	written_array_open(w, side);
	CHECK_INT(array_trim(side->array, behind, NULL), 0);
	CHECK_INT(array_store_trimmed(behind, NULL), 0);
	array_behind_free(behind);
}

/* Two truncates have an array at once, and each has others: while one trims it, it does not wait
 * for the other one to end. */
static void
test_shrink_together(void)
{
	enum { ROWS = 8, LEFT = 5 };
	struct written_array w;
	struct written side;
	struct array_behind *behind[2];
	struct impatient i = {.cancel.look = look};
	const struct data_options o = {.memory = 16 << 20, .workers = 2, .ttl = INT64_MAX};
	struct zmap *z = store_open("", "mem", "together", true);
	written_begin_as(&w, &kinds[0], &(struct written_shape){1, {ROWS}, {4}, {0}});
	written_open(&w, z, &o, &side);
	CHECK_INT(written_write(&w, &side, 0, w.bytes), 0);
	CHECK_INT(array_flush(side.array, NULL), 0);
	for (size_t n = 0; n < 2; n++)
		CHECK_INT(array_look_behind(side.array, LEFT, ROWS, NULL, &behind[n]), 0);
	w.shape[0] = LEFT;
	w.bytes = written_count(&w) * w.meta.dtype.size;
	written_array_open(&w, &side);
	for (size_t n = 0; n < 2; n++)
		CHECK_INT(array_trim(side.array, behind[n], &i.cancel), 0);
	for (size_t n = 0; n < 2; n++) {
		CHECK_INT(array_store_trimmed(behind[n], NULL), 0);
		array_behind_free(behind[n]);
	}
	check_store(&w, z);
	written_close(&side);
	written_end(&w);
	zmap_close(z);
}

static void
step(struct written_array *w, struct written *side)
{
	uint64_t off = written_pick(w, 0, w->bytes - 1);
	size_t len = written_pick(w, 1, w->bytes - off);
	if (written_pick(w, 0, 2))
		len = len > 20 ? 20 : len;
	switch (written_pick(w, 0, 10)) {
	case 0: CHECK_INT(array_flush(side->array, NULL), 0); break;
	case 1: CHECK_INT(data_flush(side->data, NULL), 0); break;
	case 2:
		CHECK_INT(array_flush(side->array, NULL), 0);
		check_store(w, side->zmap);
		break;
	case 3: grow(w, side); break;
	case 4: shrink(w, side); break;
	case 5: written_same(w, side, off, len); break;
	case 6: CHECK_INT(written_write(w, side, 0, w->bytes), 0); break;
	default: CHECK_INT(written_write(w, side, off, len), 0);
	}
	if (written_pick(w, 0, 3) == 0)
		written_same(w, side, 0, w->bytes);
}

static void
run(const struct written_kind *k, uint32_t seed, bool delete_empty)
{
	struct written_array w;
	struct written side;
	const struct data_options o = {
		.memory = 16 << 20, .workers = 2, .ttl = INT64_MAX, .delete_empty = delete_empty};
	struct zmap *z = store_open("", "mem", "staging", true);
	written_begin(&w, k, seed, LONGEST);
	written_open(&w, z, &o, &side);
	int failed = check_failed;
	for (int i = 0; i < STEPS && check_failed == failed; i++)
		step(&w, &side);
	CHECK_INT(array_flush(side.array, NULL), 0);
	CHECK(!array_is_staged(side.array));
	CHECK_INT(written_stat(&side, "zarrfs_staged_bytes "), 0);
	check_store(&w, z);
	if (check_failed != failed) {
		fprintf(stderr, "%s, seed %u, rank %u:", k->name, seed, w.meta.rank);
		for (unsigned d = 0; d < w.meta.rank; d++)
			fprintf(stderr, " %ju/%ju", (uintmax_t)w.shape[d], (uintmax_t)w.chunk[d]);
		fprintf(stderr, "\n");
	}
	written_close(&side);
	written_end(&w);
	zmap_close(z);
}

/* More than there is memory for, row by row: chunks are pushed out before they are whole, and read
 * again when more of them comes. */
static void
test_large(const struct written_kind *k)
{
	enum { MEMORY = 16 << 20, BLOCK = 96 << 10 };
	struct written_array w;
	struct written side;
	const struct data_options o = {.memory = MEMORY, .workers = 2, .ttl = INT64_MAX};
	struct zmap *z = store_open("", "mem", "large", true);
	written_begin_as(
		&w, k, &(struct written_shape){3, {23, 300, 700}, {9, 50, 60}, {18, 100, 120}});
	written_open(&w, z, &o, &side);
	for (uint64_t off = 0; off < w.bytes; off += BLOCK) {
		size_t len = w.bytes - off < BLOCK ? w.bytes - off : BLOCK;
		CHECK_INT(written_write(&w, &side, off, len), 0);
		CHECK(written_stat(&side, "zarrfs_staged_bytes ") < MEMORY / 2 + 4 * BLOCK);
		if (off % (16 * BLOCK) == 0)
			written_same(&w, &side, off / 2, len);
	}
	CHECK(written_stat(&side, "zarrfs_store_merges_total ") > 0);
	written_same(&w, &side, 0, w.bytes);
	CHECK_INT(array_flush(side.array, NULL), 0);
	check_store(&w, z);
	written_close(&side);
	written_end(&w);
	zmap_close(z);
}

/* Chunks that one step of the leading dimension goes through have no room together: each is stored
 * some times, not for each step. */
static void
test_low_memory(void)
{
	enum { STEPS_IN_CHUNK = 24, SIDE = 512, CHUNK = 64, CHUNKS = 64, TIMES_MOST = 8 };
	struct written_array w;
	struct written side;
	const struct data_options o = {.memory = 16 << 20, .workers = 2, .ttl = INT64_MAX};
	struct zmap *z = store_open("", "mem", "low", true);
	written_begin_as(&w, &kinds[0],
		&(struct written_shape){
			3, {STEPS_IN_CHUNK, SIDE, SIDE}, {STEPS_IN_CHUNK, CHUNK, CHUNK}, {0}});
	written_open(&w, z, &o, &side);
	size_t block = w.bytes / STEPS_IN_CHUNK / 2;
	for (uint64_t off = 0; off < w.bytes; off += block)
		CHECK_INT(written_write(&w, &side, off, block), 0);
	CHECK_INT(array_flush(side.array, NULL), 0);
	CHECK(written_stat(&side, "zarrfs_stores_total ") >= CHUNKS);
	CHECK(written_stat(&side, "zarrfs_stores_total ") <= CHUNKS * TIMES_MOST);
	check_store(&w, z);
	written_close(&side);
	written_end(&w);
	zmap_close(z);
}

/* What is forgotten was never written. */
static void
test_forget(void)
{
	struct written_array w;
	struct written side;
	const struct data_options o = {.memory = 16 << 20, .workers = 2, .ttl = INT64_MAX};
	struct zmap *z = store_open("", "mem", "forget", true);
	written_begin(&w, &kinds[0], 2, LONGEST);
	written_open(&w, z, &o, &side);
	CHECK_INT(written_write(&w, &side, 0, w.bytes), 0);
	CHECK(data_is_staged(side.data));
	CHECK_INT(array_forget(side.array, NULL), 0);
	written_fill(&w, w.flat, w.bytes);
	if (written_stat(&side, "zarrfs_stores_total ") == 0)
		written_same(&w, &side, 0, w.bytes);
	CHECK(!data_is_staged(side.data));
	written_close(&side);
	written_end(&w);
	zmap_close(z);
}

/* Rows of chunks that have nothing but fill become what lies under; others stay, whichever mount
 * wrote them first, and whatever is written over them. */
static void
test_under(const struct written_kind *k)
{
	enum { ROWS = 5, COLUMNS = 5, IN_CHUNK = 3 };
	struct written_array w;
	struct written side, other;
	const struct data_options o = {.memory = 16 << 20, .workers = 2, .ttl = INT64_MAX};
	struct zmap *z = store_open("", "mem", "under", true);
	written_begin_as(
		&w, k, &(struct written_shape){2, {ROWS + 1, COLUMNS}, {4, IN_CHUNK}, {4, 6}});
	written_open(&w, z, &o, &side);
	written_open(&w, z, &o, &other);
	const size_t item = k->dtype.size, row = COLUMNS * item;
	uint8_t under[ROWS * COLUMNS * 8];
	struct array_want want = written_want(0, ROWS * row);
	want.under = true;
	written_values(&w, 0, under, sizeof under);
	CHECK_INT(array_write(side.array, &want, under), 0);
	CHECK(array_touched(side.array, 4 * row, 1) && !array_touched(side.array, 5 * row, row));
	CHECK(!array_touched(other.array, 0, w.bytes));
	CHECK_INT(written_write(&w, &other, row, row + item), 0);
	CHECK_INT(array_flush(other.array, NULL), 0);
	memcpy(w.flat, under, row);
	memcpy(w.flat + 2 * row + IN_CHUNK * item, under + 2 * row + IN_CHUNK * item,
		(COLUMNS - IN_CHUNK) * item);
	memcpy(w.flat + 3 * row, under + 3 * row, 2 * row);
	CHECK_INT(written_write(&w, &side, 3 * row + item, item), 0);
	written_same(&w, &side, 0, w.bytes);
	CHECK_INT(array_flush(side.array, NULL), 0);
	CHECK_INT(written_stat(&side, "zarrfs_staged_bytes "), 0);
	check_store(&w, z);
	written_close(&side);
	written_close(&other);
	written_end(&w);
	zmap_close(z);
}

int
main(void)
{
	test_under(&kinds[0]);
	test_under(&kinds[3]);
	test_under(&kinds[9]);
	test_large(&kinds[0]);
	test_large(&kinds[9]);
	test_low_memory();
	test_forget();
	test_shrink_together();
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		for (uint32_t seed = 1; seed <= ROUNDS; seed++)
			run(&kinds[i], seed * 7919, seed % 2);
	return check_failed != 0;
}
