/* What arrays load: on which thread, how many chunks at once, what of an array that has grown, and
 * in how much memory. */
#include "array_setup.h"

#include <dirent.h>
#include <pthread.h>

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

/* A missing chunk of a store that answers at once is loaded by the thread that asks for it, one of
 * any other store by a worker. */
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

/* An array that has grown along its leading dimension: what is cached counts as long as the store
 * says that it is the same, and the chunk that was cut by the former end is seen as it is now. */
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

enum { CHUNKS = 40, CHUNK = 1 << 20, PIECE = 128 << 10 };

/* An array of bytes: planes of 1 MiB, so many of them in a chunk, and a row of `wide` chunks. */
static void
begin_planes(struct setup *s, size_t memory, uint64_t planes, uint64_t wide)
{
	*s = (struct setup){0};
	setup_begin(s, memory, 2, 10);
	array_unref(s->array);
	free(s->flat);
	s->meta.dtype.size = 1;
	s->shape[0] = CHUNKS, s->shape[1] = CHUNK;
	s->chunk[0] = planes, s->chunk[1] = CHUNK / wide;
	s->bytes = (size_t)CHUNKS * CHUNK;
	s->flat = malloc(s->bytes);
	for (size_t i = 0; i < s->bytes; i++)
		s->flat[i] = (uint8_t)(i >> 12);
	for (uint64_t i = 0; i < CHUNKS / planes * wide; i++)
		put_chunk(s, (uint64_t[]){i / wide, i % wide}, planes * CHUNK / wide);
	CHECK_INT(array_open(s->data, s->zmap, "v", &s->meta, 0, &s->array), 0);
}

static void
check_pieces(struct setup *s, struct stream *st, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at += PIECE)
		check_read(s, st, at, PIECE);
}

/* With what was begun ahead: until no more comes. */
static unsigned long long
loaded(struct setup *s, const char *what)
{
	unsigned long long now = stat_of(s->data, what), before;
	do {
		before = now;
		nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
		now = stat_of(s->data, what);
	} while (now != before);
	return now;
}

/* So much, and no more. */
static void
check_loaded(struct setup *s, const char *what, unsigned long long want)
{
	for (int i = 0; i < 600 && stat_of(s->data, what) < want; i++)
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	CHECK_INT(loaded(s, what), want);
}

/* Two readers, of the second half and of the first: nothing is loaded twice because one reads ahead
 * beyond the place where the other began, even if that one has closed the file since. */
static void
test_halves(bool closes)
{
	struct setup s;
	struct stream *of[2];
	begin_planes(&s, 16 << 20, 1, 1);
	for (int half = 0; half < 2; half++) {
		CHECK_INT(stream_new(s.array, &of[half]), 0);
		check_pieces(&s, of[half], half * s.bytes / 2, half * s.bytes / 2 + 2 * PIECE);
	}
	check_pieces(&s, of[1], s.bytes / 2 + 2 * PIECE, s.bytes);
	if (closes)
		of[1] = stream_free(of[1]);
	check_pieces(&s, of[0], 2 * PIECE, s.bytes / 2);
	check_loaded(&s, "zarrfs_chunk_fetches_total", CHUNKS);
	stream_free(of[0]);
	stream_free(of[1]);
	setup_end(&s);
}

/* Two readers, of the second planes of a row of chunks and of the first: the one that has passed
 * the row leaves its chunks to the other. */
static void
test_one_row(void)
{
	enum { PLANES = 8, WIDE = 4 };
	struct setup s;
	struct stream *ahead, *behind;
	begin_planes(&s, 32 << 20, PLANES, WIDE);
	CHECK_INT(stream_new(s.array, &ahead), 0);
	CHECK_INT(stream_new(s.array, &behind), 0);
	check_pieces(&s, behind, 0, 2 * PIECE);
	check_pieces(&s, ahead, PLANES / 2 * CHUNK, 2 * PLANES * CHUNK);
	const unsigned long long before = loaded(&s, "zarrfs_chunk_fetches_total");
	check_pieces(&s, behind, 2 * PIECE, PLANES / 2 * CHUNK);
	CHECK_INT(loaded(&s, "zarrfs_chunk_fetches_total"), before);
	stream_free(ahead);
	stream_free(behind);
	setup_end(&s);
}

/* A reader in order that begins at the end of a chunk has only that loaded of it. */
static void
test_tail(void)
{
	enum { PAGE = 4 << 10, RAW_GRAIN = 64 << 10 };
	struct setup s;
	struct stream *st;
	begin_planes(&s, 16 << 20, 1, 1);
	CHECK_INT(stream_new(s.array, &st), 0);
	check_read(&s, st, 3 * CHUNK - PAGE, PIECE);
	check_loaded(&s, "zarrfs_chunk_fetched_bytes_total", RAW_GRAIN + CHUNK);
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
	test_own_thread();
	test_slow_store();
	test_grown();
	test_halves(false);
	test_halves(true);
	test_one_row();
	test_tail();
	test_budget();
	return check_end();
}
