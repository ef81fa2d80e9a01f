/* Random arrays over a mem store, read at random, in order and along strides by several readers, against the naive answer. */
#include "check.h"
#include "data/array.h"
#include "data/grid.h"
#include "base/url.h"

#include <dirent.h>
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
	CHECK_INT(zmap_put(s->zmap, &(struct zmap_put){key, {c, chunk_items * item}}, NULL), 0);
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
		&(struct array_want){.off = off, .len = len, .deadline = clock_now() + 30 * SECOND},
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

static int
note_thread(void *arg)
{
	*(pthread_t *)arg = pthread_self();
	return 0;
}

/* Which thread loads the one absent chunk of an array. */
static pthread_t
loader_of(struct setup *s, struct zmap *z)
{
	struct stream *st;
	struct reply r = {0};
	pthread_t loader = 0;
	array_unref(s->array);
	CHECK_INT(array_open(s->data, z, "absent", &s->meta, 0, &s->array), 0);
	array_set_hooks(s->array, &(struct array_hooks){.arg = &loader, .check = note_thread});
	CHECK_INT(stream_new(s->array, &st), 0);
	CHECK_INT(stream_read(st, &(struct array_want){.off = 0, .len = 1}, &r), 0);
	reply_done(&r);
	stream_free(st);
	return loader;
}

/* A missing chunk of a store that answers at once is loaded by the thread that asks for it, one of any other store by a worker. */
static void
test_own_thread(void)
{
	struct setup s = {0};
	struct zmap *slow = NULL;
	struct url url;
	setup_begin(&s, 64 << 20, 1, 10);
	CHECK_INT(url_parse("fault+mem:own", &url), 0);
	CHECK_INT(zmap_open(&url, &(struct zmap_options){0}, &slow), 0);
	url_free(&url);
	CHECK(pthread_equal(loader_of(&s, s.zmap), pthread_self()));
	CHECK(!pthread_equal(loader_of(&s, slow), pthread_self()));
	setup_end(&s);
	zmap_close(slow);
}

static unsigned
threads(void)
{
	unsigned n = 0;
	DIR *d = opendir("/proc/self/task");
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2;
}

/* A store that is no remote one, but takes its time, is asked for many chunks at once. */
static void
test_slow_store(void)
{
	enum { WORKERS = 2, MANY = 3 * WORKERS };
	struct setup s = {0};
	struct zmap *slow = NULL;
	struct url url;
	struct stream *st;
	setup_begin(&s, 64 << 20, 1, 10);
	free(s.flat);
	array_unref(s.array);
	s.meta.dtype.size = 1;
	s.shape[0] = s.bytes = 64 * 10;
	s.chunk[0] = 10;
	s.flat = malloc(s.bytes);
	for (size_t i = 0; i < s.bytes; i++)
		s.flat[i] = (uint8_t)i;
	CHECK_INT(url_parse("fault+mem:slow#fault.kind=delay&fault.ms=20", &url), 0);
	CHECK_INT(zmap_open(&url, &(struct zmap_options){.writable = true}, &slow), 0);
	url_free(&url);
	struct zmap *quick = s.zmap;
	s.zmap = slow;
	make_chunks(&s);
	unsigned before = threads();
	CHECK_INT(array_open(s.data, slow, "v", &s.meta, 0, &s.array), 0);
	CHECK_INT(stream_new(s.array, &st), 0);
	check_read(&s, st, 0, s.bytes);
	CHECK(threads() >= before + MANY);
	stream_free(st);
	setup_end(&s);
	zmap_close(quick);
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
stat_of(struct data *d, const char *name)
{
	CLEAN(buf_free) struct buf b = {0};
	unsigned long long n = 0;
	CHECK_INT(data_stats(d, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	const char *at = strstr((char *)b.data, name);
	CHECK(at && sscanf(at + strlen(name), " %llu", &n) == 1);
	return n;
}

/* An array that has grown along its leading dimension: what is cached counts as long as the store says that it is the same, and the
 * chunk that was cut by the former end is seen as it is now. */
static void
test_grown(void)
{
	struct setup s = {0};
	struct stream *st;
	setup_begin(&s, 64 << 20, 2, 10);
	array_unref(s.array);
	free(s.flat);
	s.meta.dtype.size = 4;
	s.shape[0] = 6, s.shape[1] = 8;
	s.chunk[0] = 4, s.chunk[1] = 8;
	s.bytes = 8 * 8 * 4;
	s.flat = calloc(1, s.bytes);
	for (size_t i = 0; i < 6 * 8 * 4; i++)
		s.flat[i] = (uint8_t)check_random(&seed);
	put_chunk(&s, (uint64_t[]){0, 0}, 32);
	put_chunk(&s, (uint64_t[]){1, 0}, 32);
	CHECK_INT(array_open(s.data, s.zmap, "v", &s.meta, 0, &s.array), 0);
	CHECK_INT(stream_new(s.array, &st), 0);
	check_read(&s, st, 0, 6 * 8 * 4);
	stream_free(st);
	array_unref(s.array);

	s.shape[0] = 8;
	for (size_t i = 6 * 8 * 4; i < s.bytes; i++)
		s.flat[i] = (uint8_t)check_random(&seed);
	put_chunk(&s, (uint64_t[]){1, 0}, 32);
	unsigned long long before = stat_of(s.data, "zarrfs_chunk_fetched_bytes_total");
	CHECK_INT(array_open(s.data, s.zmap, "v", &s.meta, 0, &s.array), 0);
	CHECK_INT(stream_new(s.array, &st), 0);
	check_read(&s, st, 0, s.bytes);
	CHECK_INT(stat_of(s.data, "zarrfs_chunk_fetched_bytes_total") - before, 4 * 8 * 4);
	CHECK_INT(stat_of(s.data, "zarrfs_chunk_revalidated_total"), 1);
	stream_free(st);
	setup_end(&s);
}

static unsigned long long
budget_of(size_t memory)
{
	struct data *d = NULL;
	CHECK_INT(data_new(&(struct data_options){.memory = memory, .workers = 1}, &d), 0);
	unsigned long long n = stat_of(d, "zarrfs_memory_budget_bytes");
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
	test_own_thread();
	test_slow_store();
	test_far();
	test_grown();
	test_budget();
	return check_end();
}
