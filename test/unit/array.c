/* Random arrays over a mem store, read at random, in order and along strides by several readers,
 * against the naive answer. */
#include "array_setup.h"

#include "data/grid.h"

#include <errno.h>
#include <pthread.h>

enum { RANK = 4 };

/* Every so manyth element of the last two dimensions, of one chunk. */
static void
check_sift(struct setup *s, struct stream *st, uint32_t *mine)
{
	struct grid g;
	CHECK_INT(grid_init(&g, s->meta.rank, s->shape, s->chunk, s->meta.dtype.size), 0);
	uint64_t index[RANK_MAX], number = check_random(mine) % g.chunks, in_file = 0,
				  rest[2] = {1, 1};
	uint64_t step[2] = {0, 0}, n[2] = {1, 1}, file_step[2] = {0, 0};
	struct sieve v = {.chunk = number, .bytes = g.item, .to_column = g.item};
	grid_index(&g, number, index);
	for (unsigned d = 0; d < g.rank; d++) {
		uint64_t here = s->shape[d] - index[d] * s->chunk[d], from;
		here = here < s->chunk[d] ? here : s->chunk[d];
		from = check_random(mine) % here;
		v.first += from * g.chunk_step[d];
		in_file += (index[d] * s->chunk[d] + from) * g.file_step[d];
		if (d + 2 < g.rank)
			continue;
		unsigned i = d + 2 - g.rank;
		uint64_t stride = 1 + check_random(mine) % 4;
		rest[i] = here - from;
		step[i] = stride * g.chunk_step[d];
		file_step[i] = stride * g.file_step[d];
		n[i] = 1 + check_random(mine) % ((rest[i] + stride - 1) / stride);
	}
	v.rows = n[0];
	v.row_step = step[0];
	v.columns = n[1];
	v.column_step = step[1];
	v.to_step = n[1] * g.item + 3;
	v.to = calloc(n[0], v.to_step);
	CHECK_INT(
		stream_sift(st, &(struct array_want){.deadline = clock_now() + 30 * SECOND}, &v, 1),
		0);
	for (uint64_t y = 0; y < n[0]; y++)
		for (uint64_t x = 0; x < n[1]; x++)
			CHECK(!memcmp(v.to + y * v.to_step + x * g.item,
				s->flat + in_file + y * file_step[0] + x * file_step[1], g.item));
	free(v.to);
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
	for (int i = 0; i < 10 && s->meta.rank; i++)
		check_sift(s, st, &mine);
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
		zmap_put(s.zmap, &(struct zmap_put){"v/0", {long_chunk.data, lengths[i]}}, NULL);
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
	return check_end();
}
