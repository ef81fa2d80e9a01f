#include "base/mem.h"
#include "base/buf.h"
#include "check.h"
#include "data/limits.h"
#include "store.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void
sizes(void)
{
	static const size_t asked[] = {0, 1, 63, 64, 65, 4096, 131071, 131072, 131073, 1 << 20,
		(1 << 20) + 1, 4152960, 33554433};
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		size_t size = asked[i];
		char *p = mem_get(&size);
		CHECK(p);
		CHECK(size >= asked[i]);
		CHECK(size <= asked[i] + asked[i] / 4 + 64);
		if (p)
			memset(p, 0xa5, size);
		mem_put(p, size);
	}
	size_t all = SIZE_MAX, most = (size_t)1 << 62;
	CHECK(!mem_get(&all));
	CHECK(!mem_get(&most));
	mem_put(NULL, 0);
}

static void
used_again(void)
{
	mem_trim();
	CHECK_INT(mem_idle(), 0);
	size_t a = 3 << 20, b = 3 << 20, c = (3 << 20) - 100;
	void *p = mem_get(&a), *q = mem_get(&b);
	CHECK_INT(mem_idle(), 0);
	mem_put(p, a);
	CHECK_INT(mem_idle(), a);
	CHECK(mem_get(&c) == p); /* nearly the same size */
	CHECK_INT(c, a);
	CHECK_INT(mem_idle(), 0);
	mem_put(p, c);
	mem_put(q, b);
	mem_limit(b);
	CHECK_INT(mem_idle(), b);
	mem_limit(b - 1);
	CHECK_INT(mem_idle(), 0);
	mem_hold(); /* nothing is given back for now */
	b = 3 << 20;
	mem_put(mem_get(&b), b);
	mem_put(NULL, 0);
	CHECK_INT(mem_idle(), b);
	mem_release();
	CHECK_INT(mem_idle(), 0);
	mem_limit(SIZE_MAX);
	for (int i = 0; i < 100; i++) {
		size_t n = (size_t)(i + 1) << 17;
		p = mem_get(&n);
		mem_put(p, n);
	}
	mem_trim();
	CHECK_INT(mem_idle(), 0);
}

static size_t
resident(void)
{
	size_t all = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	CHECK(f && fscanf(f, "%zu %zu", &all, &pages) == 2);
	if (f)
		fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* What is said to be very large takes memory as it is written. */
static void
untouched(void)
{
	size_t size = (size_t)1 << 30, before = resident();
	uint8_t *p = mem_get(&size);
	CHECK(p);
	size_t after = resident();
	CHECK(after < before + (100 << 20));
	if (p)
		p[size - 1] = 1;
	mem_put(p, size);
	mem_trim();
}

/* What may be written in part only takes memory as it is written, and is kept as all else is. */
static void
bare(void)
{
	size_t size = (size_t)8 << 20, before = resident();
	uint8_t *p = mem_get_bare(&size);
	CHECK(p);
	CHECK(resident() < before + (4 << 20));
	if (p)
		memset(p, 1, size);
	mem_put(p, size);
	CHECK_INT(mem_idle(), size);
	CHECK(mem_get(&size) == p);
	mem_put(p, size);
	mem_trim();
}

/* Is memory counted as it is without a sanitizer? They have a malloc of their own, and memory
 * beside the program's. */
static bool
counted(void)
{
	enum { BYTES = 100 << 10 };
	char *volatile p = malloc(BYTES); /* volatile: else neither call is made */
	bool ret = mallinfo2().uordblks >= BYTES;
	free(p);
	return ret;
}

/* What lies behind the part that is needed goes, the part stays where it is. */
static void
cut(void)
{
	size_t size = (size_t)8 << 20, small = 5000, before = resident();
	uint8_t *p = mem_get(&size), *q = mem_get(&small);
	CHECK(p && q);
	memset(p, 7, size);
	CHECK(mem_cut(p, size, size) == size);
	CHECK(mem_cut(q, small, 10) == small);
	size = mem_cut(p, size, 3000000);
	CHECK_INT(size, mem_size(3000000));
	CHECK(!counted() || resident() < before + (4 << 20));
	CHECK_INT(p[0], 7);
	CHECK_INT(p[2999999], 7);
	mem_put(q, small);
	mem_put(p, size);
	mem_trim();
	struct buf b = {0};
	CHECK_INT(buf_reserve(&b, 4 << 20), 0);
	CHECK_INT(buf_add(&b, "text", 4), 0);
	buf_fit(&b); /* it is little */
	CHECK_INT(b.cap, mem_size(4 << 20));
	b.len = 1 << 20;
	buf_fit(&b);
	CHECK_INT(b.cap, mem_size(1 << 20));
	CHECK(!memcmp(b.data, "text", 4));
	buf_free(&b);
	buf_fit(&b);
	CHECK_INT(b.cap, 0);
}

/* Small pieces lie in pages that are there already. */
static void *
make_many(void *arg)
{
	enum { MANY = 512 };
	static void *piece[MANY];
	struct rusage now;
	size_t *faults = arg;
	for (size_t i = 0; i < MANY; i++) {
		mem_ahead(i);
		getrusage(RUSAGE_THREAD, &now);
		size_t before = (size_t)now.ru_minflt;
		piece[i] = malloc(3000);
		memset(piece[i], 1, 3000);
		getrusage(RUSAGE_THREAD, &now);
		*faults += i < 64 ? 0 : (size_t)now.ru_minflt - before;
	}
	for (size_t i = 0; i < MANY; i++)
		free(piece[i]);
	return NULL;
}

static void
ahead(void)
{
	pthread_t thread;
	size_t faults = 0;
	CHECK_INT(pthread_create(&thread, NULL, make_many, &faults), 0);
	pthread_join(thread, NULL);
	CHECK(faults < 20); /* of 330 */
}

/* Small ones that are freed below others that are not: what is handed out and kept stays below the
 * limit, whatever lies in between. */
static void
holes(void)
{
	enum { PIECES = 4000, BYTES = 10000, LEFT = PIECES / 8 };
	static struct {
		uint8_t *p;
		size_t size;
	} piece[PIECES];
	mem_trim();
	size_t before = resident();
	for (int i = 0; i < PIECES; i++) {
		piece[i].size = BYTES;
		piece[i].p = mem_get(&piece[i].size);
		memset(piece[i].p, i & 0xff, BYTES);
	}
	mem_limit((size_t)PIECES * mem_size(BYTES)); /* there is room for them */
	for (int i = 0; i < PIECES; i++)
		if (i % 8)
			mem_put(piece[i].p, piece[i].size);
	size_t left = (size_t)LEFT * mem_size(BYTES);
	bool arenas = counted();
	if (arenas) {
		CHECK(mem_idle() >= (size_t)(PIECES - LEFT) * BYTES);
		CHECK(resident() >= before + (size_t)PIECES * BYTES);
	}
	mem_limit(left + (1 << 20));
	CHECK(mem_idle() <= (1 << 20) + LEFT * 8192); /* pages that they share with what is gone */
	if (arenas)
		CHECK(resident() <= before + left + (6 << 20));
	for (int i = 0; i < PIECES; i += 8) {
		CHECK_INT(piece[i].p[0], i & 0xff);
		CHECK_INT(piece[i].p[BYTES - 1], i & 0xff);
	}
	mem_limit(SIZE_MAX);
	for (int i = 0; i < PIECES; i += 8)
		mem_put(piece[i].p, piece[i].size);
	mem_trim();
	CHECK_INT(mem_idle(), 0);
	if (arenas)
		CHECK(resident() <= before + (2 << 20));
}

/* Pieces of so many octaves of sizes, held and freed at random: none lies in another. */
static void
mixed(int times, unsigned octaves)
{
	enum { HELD = 300 };
	static struct {
		uint8_t *p;
		size_t size;
	} held[HELD];
	uint32_t seed = 7;
	for (int i = 0; i < times; i++) {
		unsigned at = check_random(&seed) % HELD;
		uint8_t mark = (uint8_t)at;
		if (held[at].p) {
			CHECK_INT(held[at].p[0], mark);
			CHECK_INT(held[at].p[held[at].size / 2], mark);
			CHECK_INT(held[at].p[held[at].size - 1], mark);
			mem_put(held[at].p, held[at].size);
		}
		size_t n = check_random(&seed) % (1 << (10 + check_random(&seed) % octaves));
		held[at].size = n;
		held[at].p = (i % 3 ? mem_get : mem_get_bare)(&held[at].size);
		CHECK(held[at].p && held[at].size == mem_size(n) && held[at].size >= n);
		memset(held[at].p, mark, held[at].size);
		if (i % 1000 == 0)
			mem_limit(check_random(&seed) % (32 << 20));
	}
	for (int i = 0; i < HELD; i++) {
		mem_put(held[i].p, held[i].size);
		held[i].p = NULL;
	}
	mem_limit(SIZE_MAX);
	mem_trim();
	CHECK_INT(mem_idle(), 0);
}

static void *
exchange(void *arg)
{
	uint32_t seed = *(uint32_t *)arg;
	for (int i = 0; i < 400; i++) {
		size_t n = i % 2 ? check_random(&seed) % (1 << 20) + 100000
				 : check_random(&seed) % 50000 + 600;
		uint8_t *p = mem_get(&n), mark = (uint8_t)seed;
		if (!p)
			abort();
		p[0] = p[n - 1] = mark;
		if (i % 7 == 0)
			mem_limit(i % 2 ? 1 << 20 : SIZE_MAX);
		CHECK_INT(p[0], mark);
		CHECK_INT(p[n - 1], mark);
		mem_put(p, n);
	}
	return NULL;
}

static void
threads(void)
{
	pthread_t t[3];
	uint32_t seed[3] = {1, 2, 3};
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, exchange, &seed[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	mem_limit(SIZE_MAX);
	mem_trim();
	CHECK_INT(mem_idle(), 0);
}

static void
bufs(void)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(buf_add(&b, NULL, 0), 0);
	CHECK_INT(buf_add(&b, "abc", 3), 0);
	CHECK_INT(buf_addf(&b, "%d-%s", 42, "x"), 0);
	CHECK_INT(b.len, 7);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, "abc42-x");
	CHECK_INT(b.len, 7);
	CHECK_INT(buf_reserve(&b, 5 << 20), 0); /* from malloc to pages */
	CHECK(b.cap >= 5 << 20);
	CHECK_MEM(b.data, "abc42-x", 7);
	CHECK_INT(buf_reserve(&b, SIZE_MAX), -ENOMEM);
	CHECK_MEM(b.data, "abc42-x", 7);
	struct span s = buf_span(&b);
	CHECK(s.data == b.data);
	CHECK_INT(s.len, 7);

	for (unsigned i = 0; i < 100000; i++)
		CHECK_INT(buf_add(&b, &i, sizeof i), 0);
	CHECK_INT(b.len, 7 + 400000);
	for (unsigned i = 0, got; i < 100000; i++) {
		memcpy(&got, b.data + 7 + 4 * i, 4);
		CHECK_INT(got, i);
	}
	buf_free(&b);
	CHECK(!b.data && !b.len && !b.cap);
	char *text = malloc(100001);
	if (!text)
		abort();
	memset(text, 't', 100000);
	text[100000] = 0;
	CHECK_INT(buf_addf(&b, "%s!", text), 0);
	CHECK_INT(b.len, 100001);
	CHECK_INT(b.data[100000], '!');
	free(text);
	struct buf broken = {b.data, SIZE_MAX - 1, b.cap}; /* a length that no buffer can have */
	CHECK_INT(buf_add(&broken, "abc", 3), -ENOMEM);
}

static void
say_limit(const struct place *p, const char *file, const char *text)
{
	char path[sizeof p->path + 64];
	snprintf(path, sizeof path, "%s%s", p->path, file);
	FILE *f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0);
	if (f)
		fclose(f);
}

/* The least limit of a group and of those above it, by either version of cgroups. */
static void
cgroups(void)
{
	struct place p = place_new();
	char path[sizeof p.path + 64];
	snprintf(path, sizeof path, "%s/a", p.path);
	CHECK_INT(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/a/b", p.path);
	CHECK_INT(mkdir(path, 0700), 0);
	CHECK(limits_cgroup_memory(p.path, "/a/b") == SIZE_MAX);
	say_limit(&p, "/a/b/memory.max", "max\n");
	CHECK(limits_cgroup_memory(p.path, "/a/b") == SIZE_MAX);
	say_limit(&p, "/a/memory.max", "3000000\n");
	CHECK_INT(limits_cgroup_memory(p.path, "/a/b"), 3000000);
	say_limit(&p, "/a/b/memory.limit_in_bytes", "2000000\n");
	CHECK_INT(limits_cgroup_memory(p.path, "/a/b"), 2000000);
	CHECK_INT(limits_cgroup_memory(p.path, "/a"), 3000000);
	say_limit(&p, "/memory.max", "1000000\n");
	CHECK_INT(limits_cgroup_memory(p.path, "/a/b"), 1000000);
	CHECK_INT(limits_cgroup_memory(p.path, "/none"), 1000000);
	CHECK(limits_cgroup_processors(p.path, "/a/b") == SIZE_MAX);
	say_limit(&p, "/a/b/cpu.max", "max 100000\n");
	CHECK(limits_cgroup_processors(p.path, "/a/b") == SIZE_MAX);
	say_limit(&p, "/a/cpu.max", "250000 100000\n");
	CHECK_INT(limits_cgroup_processors(p.path, "/a/b"), 3);
	say_limit(&p, "/a/b/cpu.max", "5000 100000\n");
	CHECK_INT(limits_cgroup_processors(p.path, "/a/b"), 1);
	say_limit(&p, "/cpu.cfs_quota_us", "-1\n");
	say_limit(&p, "/cpu.cfs_period_us", "100000\n");
	CHECK(limits_cgroup_processors(p.path, "/none") == SIZE_MAX);
	say_limit(&p, "/cpu.cfs_quota_us", "200000\n");
	CHECK_INT(limits_cgroup_processors(p.path, "/none"), 2);
	CHECK(limits_processors() >= 1 &&
		limits_processors() <= (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	CHECK(limits_memory() > 0 && limits_memory() <= (size_t)4 << 30);
	place_remove(&p);
}

int
main(void)
{
	cgroups();
	sizes();
	used_again();
	untouched();
	bare();
	cut();
	if (counted())
		ahead();
	holes();
	mixed(20000, 9);
	mixed(1500, 14); /* regions, and what is too large for one */
	threads();
	bufs();
	return check_end();
}
