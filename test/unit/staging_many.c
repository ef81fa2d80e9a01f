/* Several at once: two mounts that write to one chunk lose nothing, and readers beside writers
 * never see an older value after a newer. */
#include "staging.h"

#include <errno.h>
#include <pthread.h>

enum {
	CELLS = 64, /* numbers of 32 bits in the array */
	TIMES = 1500,
	SIDES = 2,
	READERS = 2,
	TRIES = 20,
};

static const struct written_kind kinds[] = {
	{"chunk", {.kind = DTYPE_UINT, .size = 4}, {{"zlib", "{\"level\": 1}"}}, false},
	{"shard", {.kind = DTYPE_UINT, .size = 4},
		{{"sharding_indexed",
			"\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": "
			"\"little\"}}], \"index_codecs\": [{\"name\": \"bytes\", "
			"\"configuration\": {\"endian\": \"little\"}}, {\"name\": \"crc32c\"}]"}},
		true},
};

/* One dimension, all of it in one stored object. */
static void
make(struct written_array *w, const struct written_kind *k)
{
	uint64_t chunk = k->sharded ? CELLS / 4 : CELLS;
	written_begin_as(w, k, &(struct written_shape){1, {CELLS}, {chunk}, {CELLS}});
	memset(w->fill, 0, sizeof w->fill);
	written_fill(w, w->flat, w->bytes);
}

struct worker {
	struct written *side;
	unsigned number, writers;
	atomic_bool *done;
	atomic_int *failed;
	pthread_barrier_t *begin;
};

/* The numbers that are its own count up. */
static void *
count_up(void *arg)
{
	const struct worker *k = arg;
	pthread_barrier_wait(k->begin);
	for (uint32_t i = 1; i <= TIMES; i++) {
		for (unsigned c = k->number; c < CELLS; c += k->writers) {
			struct array_want want = written_want(c * 4, 4);
			*k->failed += array_write(k->side->array, &want, &i) != 0;
		}
		if (i % 3 == 0 || i == TIMES)
			*k->failed += array_flush(k->side->array, NULL) != 0;
	}
	return NULL;
}

static bool
read_cells(const struct worker *k, struct stream *s, uint32_t *ret)
{
	struct reply r = {0};
	struct array_want want = written_want(0, CELLS * 4);
	want.since = 0;
	bool good = stream_read(s, &want, &r) == 0;
	if (good)
		reply_copy(&r, ret);
	reply_done(&r);
	return good;
}

static void *
watch(void *arg)
{
	const struct worker *k = arg;
	uint32_t before[CELLS] = {0}, now[CELLS];
	struct stream *s;
	*k->failed += stream_new(k->side->array, &s) != 0;
	while (!*k->done) {
		if (!read_cells(k, s, now)) {
			fprintf(stderr, "reading: %s\n", err_text());
			++*k->failed;
			break;
		}
		for (unsigned c = 0; c < CELLS; c++) {
			*k->failed += now[c] < before[c];
			before[c] = now[c];
		}
	}
	stream_free(s);
	return NULL;
}

static void
check_last(struct written_array *w, struct zmap *z, const struct data_options *o)
{
	struct written other;
	const uint32_t last = TIMES;
	for (unsigned c = 0; c < CELLS; c++)
		memcpy(w->flat + c * 4, &last, 4);
	written_open(w, z, o, &other);
	written_same(w, &other, 0, w->bytes);
	written_close(&other);
}

/* Two mounts of one store, each with its numbers. How often did one find that the other had been
 * faster? */
static uint64_t
test_mounts(const struct written_kind *k)
{
	struct written_array w;
	struct written side[SIDES];
	struct worker worker[SIDES];
	pthread_t thread[SIDES];
	atomic_int failed = 0;
	pthread_barrier_t begin;
	pthread_barrier_init(&begin, NULL, SIDES);
	const struct data_options o = {.memory = 16 << 20, .workers = 2, .ttl = INT64_MAX};
	struct zmap *z = store_open("", "mem", "two", true);
	make(&w, k);
	for (unsigned i = 0; i < SIDES; i++) {
		written_open(&w, z, &o, &side[i]);
		worker[i] = (struct worker){&side[i], i, SIDES, NULL, &failed, &begin};
		pthread_create(&thread[i], NULL, count_up, &worker[i]);
	}
	for (unsigned i = 0; i < SIDES; i++)
		pthread_join(thread[i], NULL);
	CHECK_INT(failed, 0);
	uint64_t conflicts = written_stat(&side[0], "zarrfs_store_conflicts_total ") +
			     written_stat(&side[1], "zarrfs_store_conflicts_total ");
	check_last(&w, z, &o);
	for (unsigned i = 0; i < SIDES; i++)
		written_close(&side[i]);
	written_end(&w);
	zmap_close(z);
	return conflicts;
}

/* One mount with writers and readers. */
static void
test_readers(const struct written_kind *k)
{
	struct written_array w;
	struct written side;
	struct worker worker[SIDES + READERS];
	pthread_t thread[SIDES + READERS];
	atomic_int failed = 0;
	pthread_barrier_t begin;
	pthread_barrier_init(&begin, NULL, SIDES);
	atomic_bool done = false;
	const struct data_options o = {.memory = 16 << 20, .workers = 2, .ttl = INT64_MAX};
	struct zmap *z = store_open("", "mem", "beside", true);
	make(&w, k);
	written_open(&w, z, &o, &side);
	for (unsigned i = 0; i < SIDES + READERS; i++) {
		worker[i] = (struct worker){&side, i, SIDES, &done, &failed, &begin};
		pthread_create(&thread[i], NULL, i < SIDES ? count_up : watch, &worker[i]);
	}
	for (unsigned i = 0; i < SIDES; i++)
		pthread_join(thread[i], NULL);
	done = true;
	for (unsigned i = SIDES; i < SIDES + READERS; i++)
		pthread_join(thread[i], NULL);
	CHECK_INT(failed, 0);
	check_last(&w, z, &o);
	written_close(&side);
	written_end(&w);
	zmap_close(z);
}

int
main(void)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		uint64_t conflicts = 0;
		for (int t = 0; t < TRIES && (!t || !conflicts); t++)
			conflicts += test_mounts(&kinds[i]);
		CHECK(conflicts > 0);
		test_readers(&kinds[i]);
	}
	return check_failed != 0;
}
