/* Random arrays over a mem store, read at random, in order and along strides by several readers, against the naive answer. */
#include "check.h"
#include "data/array.h"
#include "base/url.h"

#include <errno.h>
#include <pthread.h>

enum { RANK = 4 };

struct setup {
	struct zmap *zmap;
	struct data *data;
	struct array *array;
	struct array_meta meta;
	uint64_t shape[RANK_MAX], chunk[RANK_MAX];
	uint8_t *flat; /* what the file must hold */
	size_t bytes;
	uint8_t fill[16];
};

static uint32_t seed = 1;

static uint64_t
pick(uint64_t from, uint64_t to)
{
	return from + check_random(&seed) % (to - from + 1);
}

/* Stores chunk `index` cut out of the flat array; edges padded with 0xee. */
static void
put_chunk(struct setup *s, const uint64_t *index, uint64_t chunk_items)
{
	size_t item = s->meta.dtype.size;
	uint8_t *c = malloc(chunk_items * item);
	memset(c, 0xee, chunk_items * item);
	for (uint64_t n = 0; n < chunk_items; n++) {
		uint64_t rest = n, at = 0, step = 1;
		bool in = true;
		for (unsigned d = s->meta.rank; d-- > 0;) {
			uint64_t i = rest % s->chunk[d] + index[d] * s->chunk[d];
			rest /= s->chunk[d];
			in &= i < s->shape[d];
			at += i * step;
			step *= s->shape[d];
		}
		if (in)
			memcpy(c + n * item, s->flat + at * item, item);
	}
	char key[256];
	int k = snprintf(key, sizeof key, "v/");
	for (unsigned d = 0; d < s->meta.rank; d++)
		k += snprintf(key + k, sizeof key - (size_t)k, "%s%d", d ? "." : "", (int)index[d]);
	if (!s->meta.rank)
		strcat(key, "0");
	CHECK_INT(zmap_put(s->zmap, key, (struct span){c, chunk_items * item}, NULL), 0);
	free(c);
}

/* Chunk numbers that are left out read as the fill value. */
static void
blank_chunk(struct setup *s, const uint64_t *index, uint64_t chunk_items)
{
	size_t item = s->meta.dtype.size;
	for (uint64_t n = 0; n < chunk_items; n++) {
		uint64_t rest = n, at = 0, step = 1;
		bool in = true;
		for (unsigned d = s->meta.rank; d-- > 0;) {
			uint64_t i = rest % s->chunk[d] + index[d] * s->chunk[d];
			rest /= s->chunk[d];
			in &= i < s->shape[d];
			at += i * step;
			step *= s->shape[d];
		}
		if (in)
			memcpy(s->flat + at * item, s->fill, item);
	}
}

static void
make_chunks(struct setup *s)
{
	uint64_t chunks = 1, items = 1, index[RANK_MAX], n[RANK_MAX];
	for (unsigned d = 0; d < s->meta.rank; d++) {
		n[d] = (s->shape[d] + s->chunk[d] - 1) / s->chunk[d];
		chunks *= n[d];
		items *= s->chunk[d];
	}
	for (uint64_t c = 0; c < chunks; c++) {
		uint64_t rest = c;
		for (unsigned d = s->meta.rank; d-- > 0;) {
			index[d] = rest % n[d];
			rest /= n[d];
		}
		if (pick(0, 9) == 0)
			blank_chunk(s, index, items);
		else
			put_chunk(s, index, items);
	}
}

static void
setup_begin(struct setup *s, size_t memory, unsigned rank, uint64_t longest)
{
	static int number;
	static const uint32_t sizes[] = {1, 2, 4, 8, 16, 3};
	char name[64];
	struct url url;
	snprintf(name, sizeof name, "mem:array%d", number++);
	CHECK_INT(url_parse(name, &url), 0);
	CHECK_INT(zmap_open(&url, &(struct zmap_options){.writable = true}, &s->zmap), 0);
	url_free(&url);
	s->meta = (struct array_meta){.rank = rank,
		.shape = s->shape,
		.chunk = s->chunk,
		.separator = '.',
		.key_form = '2',
		.fill = s->fill};
	s->meta.dtype = (struct dtype){.kind = DTYPE_RAW, .size = sizes[pick(0, 5)]};
	uint64_t items = 1;
	for (unsigned d = 0; d < rank; d++) {
		s->shape[d] = pick(1, longest);
		s->chunk[d] = pick(0, 2) ? pick(1, s->shape[d] + 2) : pick(0, 1) ? s->shape[d] : 1;
		items *= s->shape[d];
	}
	for (size_t i = 0; i < sizeof s->fill; i++)
		s->fill[i] = (uint8_t)(0xf0 + i);
	s->bytes = items * s->meta.dtype.size;
	s->flat = malloc(s->bytes);
	for (size_t i = 0; i < s->bytes; i++)
		s->flat[i] = (uint8_t)check_random(&seed);
	make_chunks(s);
	CHECK_INT(data_new(&(struct data_options){.memory = memory, .workers = 2, .ttl = INT64_MAX},
			  &s->data),
		0);
	CHECK_INT(array_open(s->data, s->zmap, "v", &s->meta, 0, &s->array), 0);
	CHECK_INT(array_bytes(s->array), s->bytes);
}

static void
setup_end(struct setup *s)
{
	array_unref(s->array);
	data_free(s->data);
	zmap_close(s->zmap);
	free(s->flat);
}

static void
check_read(struct setup *s, struct stream *st, uint64_t off, size_t len)
{
	struct reply r = {0};
	uint8_t *got = malloc(len ? len : 1);
	int e = stream_read(st,
		&(struct array_want){.off = off, .len = len, .deadline = when_now() + 30 * SECOND},
		&r);
	CHECK_INT(e, 0);
	CHECK_INT(r.len, len);
	if (e == 0 && r.len == len) {
		reply_copy(&r, got);
		if (memcmp(got, s->flat + off, len)) {
			check_failed++;
			fprintf(stderr,
				"bytes [%ju, +%zu) differ: rank %u, item %u:", (uintmax_t)off, len,
				s->meta.rank, s->meta.dtype.size);
			for (unsigned d = 0; d < s->meta.rank; d++)
				fprintf(stderr, " %ju/%ju", (uintmax_t)s->shape[d],
					(uintmax_t)s->chunk[d]);
			fprintf(stderr, "\n");
		}
	}
	reply_done(&r);
	free(got);
}

static void *
read_all_ways(void *arg)
{
	struct setup *s = arg;
	uint32_t mine = 7;
	struct stream *st;
	CHECK_INT(stream_new(s->array, &st), 0);
	for (int i = 0; i < 40; i++) {
		uint64_t off = check_random(&mine) % s->bytes;
		size_t len = check_random(&mine) % (s->bytes - off) + 1;
		check_read(s, st, off, i % 2 && len > 50 ? 50 : len);
	}
	size_t step = s->bytes / 13 + 1;
	for (uint64_t off = 0; off < s->bytes; off += step)
		check_read(s, st, off, s->bytes - off < step ? s->bytes - off : step);
	for (uint64_t off = 3; off + 4 <= s->bytes; off += step)
		check_read(s, st, off, 4);
	stream_free(st);
	return NULL;
}

static void
run(size_t memory, unsigned rank, uint64_t longest)
{
	struct setup s = {0};
	setup_begin(&s, memory, rank, longest);
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, read_all_ways, &s);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	setup_end(&s);
}

/* A chunk of the wrong length is an error that names it, never data. */
static void
test_bad_chunk(void)
{
	struct setup s = {0};
	setup_begin(&s, 1 << 20, 1, 1000);
	struct buf long_chunk = {0};
	buf_reserve(&long_chunk, (s.chunk[0] + 1) * s.meta.dtype.size);
	memset(long_chunk.data, 1, long_chunk.cap);
	struct stream *st;
	struct reply r = {0};
	CHECK_INT(stream_new(s.array, &st), 0);
	const size_t lengths[] = {
		s.chunk[0] * s.meta.dtype.size - 1, s.chunk[0] * s.meta.dtype.size + 1, 0};
	for (size_t i = 0; i < 3; i++) {
		zmap_put(s.zmap, "v/0", (struct span){long_chunk.data, lengths[i]}, NULL);
		CHECK_INT(stream_read(st, &(struct array_want){.off = 0, .len = 1}, &r), -EIO);
		CHECK(strstr(err_text(), "chunk 'v/0'"));
	}
	stream_free(st);
	buf_free(&long_chunk);
	setup_end(&s);
}

/* A fill value of several bytes, in pieces that begin in the midst of an element. */
static void
test_fill(void)
{
	struct setup s = {0};
	struct stream *st;
	setup_begin(&s, 64 << 20, 1, 10);
	array_unref(s.array);
	free(s.flat);
	s.meta.dtype.size = 7;
	s.shape[0] = s.chunk[0] = 200000;
	s.bytes = s.shape[0] * s.meta.dtype.size;
	s.flat = malloc(s.bytes);
	for (size_t i = 0; i < s.bytes; i++)
		s.flat[i] = s.fill[i % s.meta.dtype.size];
	CHECK_INT(array_open(s.data, s.zmap, "absent", &s.meta, 0, &s.array), 0);
	CHECK_INT(stream_new(s.array, &st), 0);
	for (int i = 0; i < 100; i++) {
		uint64_t off = pick(0, s.bytes - 1);
		check_read(&s, st, off,
			pick(1, i % 2                 ? s.bytes - off
				: s.bytes - off < 100 ? s.bytes - off
						      : 100));
	}
	stream_free(st);
	setup_end(&s);
}

/* Far from where any memory lies. */
static void
test_far(void)
{
	const uint64_t row = 1 << 20, rows = 1 << 30, item = 7;
	struct setup s = {0};
	struct stream *st;
	struct reply r = {0};
	uint8_t got[5000];
	setup_begin(&s, 64 << 20, 2, 10);
	array_unref(s.array);
	s.meta.dtype.size = (uint32_t)item;
	s.shape[0] = rows, s.shape[1] = row;
	s.chunk[0] = 16, s.chunk[1] = 100;
	CHECK_INT(array_open(s.data, s.zmap, "absent", &s.meta, 0, &s.array), 0);
	CHECK_INT(stream_new(s.array, &st), 0);
	for (int i = 0; i < 20; i++) {
		uint64_t off = pick(rows * row / 2, rows * row) * item - pick(5000, 9000);
		CHECK_INT(stream_read(st, &(struct array_want){.off = off, .len = 5000}, &r), 0);
		reply_copy(&r, got);
		for (uint64_t k = 0; k < sizeof got; k++)
			CHECK(got[k] == s.fill[(off + k) % item]);
		reply_done(&r);
	}
	stream_free(st);
	setup_end(&s);
}

static unsigned long long
budget_of(size_t memory)
{
	CLEAN(buf_free) struct buf b = {0};
	struct data *d = NULL;
	unsigned long long n = 0;
	CHECK_INT(data_new(&(struct data_options){.memory = memory, .workers = 1}, &d), 0);
	CHECK_INT(data_stats(d, &b), 0);
	CHECK_INT(sscanf((char *)b.data, "zarrfs_memory_budget_bytes %llu", &n), 1);
	data_free(d);
	return n;
}

/* More memory never gives less to chunks. */
static void
test_budget(void)
{
	unsigned long long last = 0;
	for (size_t mib = 16; mib <= 1024; mib += mib < 200 ? 3 : 100) {
		unsigned long long now = budget_of(mib << 20);
		CHECK(now >= last && now <= mib << 20);
		last = now;
	}
}

int
main(void)
{
	for (int i = 0; i < 10; i++) {
		run(64 << 20, (unsigned)pick(0, RANK), 14);
		run(64 << 20, 1, 200000);
		run(64 << 20, 2, 700);
		run(16 << 20, 3, 90); /* the least budget there is */
	}
	test_bad_chunk();
	test_fill();
	test_far();
	test_budget();
	return check_end();
}
