#include "base/mem.h"
#include "base/buf.h"
#include "check.h"
#include "data/limits.h"
#include "store.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
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
	mem_trim(0, 0);
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
	mem_trim(b, 0);
	CHECK_INT(mem_idle(), b);
	mem_trim(b - 1, 0);
	CHECK_INT(mem_idle(), 0);
	for (int i = 0; i < 100; i++) {
		size_t n = (size_t)(i + 1) << 17;
		mem_put(mem_get(&n), n);
	}
	mem_trim(0, 0);
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
	mem_trim(0, 0);
}

/* Small ones that are freed below one that is not: their pages go back as well. */
static void
holes(void)
{
	enum { PIECES = 400, BYTES = 100 << 10 };
	struct {
		void *p;
		size_t size;
	} piece[PIECES];
	mem_trim(0, 0);
	size_t before = resident();
	for (int i = 0; i < PIECES; i++) {
		piece[i].size = BYTES;
		piece[i].p = mem_get(&piece[i].size);
		memset(piece[i].p, 1, BYTES);
	}
	mem_trim(0, 0);
	CHECK(resident() >= before + PIECES / 2 * BYTES);
	/* sanitizers have a malloc of their own, which keeps what it likes */
	bool counted = mallinfo2().uordblks >= (size_t)PIECES / 2 * BYTES;
	for (int i = 0; i < PIECES - 1; i++)
		mem_put(piece[i].p, piece[i].size);
	mem_trim(0, (size_t)PIECES * BYTES); /* there is room for them */
	if (counted)
		CHECK(resident() >= before + PIECES / 2 * BYTES);
	for (int i = 0; counted && resident() > before + PIECES / 4 * BYTES && i < 100; i++) {
		usleep(50000); /* it is not done all the time */
		mem_trim(0, 1 << 20);
	}
	if (counted)
		CHECK(resident() <= before + PIECES / 4 * BYTES);
	mem_put(piece[PIECES - 1].p, piece[PIECES - 1].size);
}

static void *
exchange(void *arg)
{
	uint32_t seed = *(uint32_t *)arg;
	for (int i = 0; i < 400; i++) {
		size_t n = check_random(&seed) % (1 << 20) + 100000;
		uint8_t *p = mem_get(&n), mark = (uint8_t)seed;
		if (!p)
			abort();
		p[0] = p[n - 1] = mark;
		if (i % 7 == 0)
			mem_trim(1 << 20, 0);
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
	struct buf broken = {b.data, SIZE_MAX - 1, b.cap}; /* a length nobody can have */
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
	holes();
	threads();
	bufs();
	return check_end();
}
