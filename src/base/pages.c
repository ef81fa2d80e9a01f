#include "base/pages.h"

#include "base/check.h"
#include "base/clean.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	BLOCK = PAGES_BLOCK,
	REGION = 16 * BLOCK, /* pieces of at most a quarter are cut from one, so that huge pages
				hold several */
	TRY_AGAIN = 128,     /* blocks until the dearer way is tried once more */
};

/* How long a block took, in nanoseconds of the thread; 0: it was never made. */
static struct {
	atomic_uint small, huge;
	atomic_uint blocks; /* of small pages, since huge ones were found to be dear */
} cost;

/* Pieces are cut from it: from one region those that are made at once, from another those that come
 * page by page as they are written. */
struct region {
	uint8_t *at, *end;
	uint8_t *filled; /* blocks before this are made, or a thread is about to */
};

static struct {
	pthread_mutex_t lock; /* guards both */
	struct region full, bare;
} regions = {.lock = PTHREAD_MUTEX_INITIALIZER};

size_t
pages_size(void)
{
	return (size_t)getpagesize();
}

static uint64_t
thread_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
note(atomic_uint *of, uint64_t ns)
{
	unsigned was = atomic_load_explicit(of, memory_order_relaxed);
	uint64_t now = was ? (was + ns) / 2 : ns;
	atomic_store_explicit(
		of, (unsigned)min_u64(max_u64(now, 1), UINT32_MAX), memory_order_relaxed);
}

static bool
huge_is_cheap(void)
{
	unsigned huge = atomic_load_explicit(&cost.huge, memory_order_relaxed);
	return huge && huge < atomic_load_explicit(&cost.small, memory_order_relaxed);
}

/* Small pages first, for their price hardly changes, then huge ones. */
static bool
huge_is_next(void)
{
	if (!atomic_load_explicit(&cost.small, memory_order_relaxed))
		return false;
	if (!atomic_load_explicit(&cost.huge, memory_order_relaxed) || huge_is_cheap())
		return true;
	return atomic_fetch_add_explicit(&cost.blocks, 1, memory_order_relaxed) % TRY_AGAIN ==
	       TRY_AGAIN - 1;
}

static void
fill_block(uint8_t *p)
{
	bool huge = huge_is_next();
	uint64_t began = thread_ns();
	if (huge)
		(void)madvise(p, BLOCK, MADV_HUGEPAGE);
	if (madvise(p, BLOCK, MADV_POPULATE_WRITE) == 0)
		note(huge ? &cost.huge : &cost.small, thread_ns() - began);
	else /* before Linux 5.14: it comes as it is written */
		(void)madvise(p, BLOCK, MADV_HUGEPAGE);
}

void
pages_fill(void *p, size_t n)
{
	uint8_t *at = p, *end = at + n;
	while (at < end) {
		size_t some = min_u64(BLOCK - (uintptr_t)at % BLOCK, (size_t)(end - at));
		if (some == BLOCK)
			fill_block(at);
		else
			(void)madvise(at, some, MADV_POPULATE_WRITE);
		at += some;
	}
}

static uint8_t *
map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* At a multiple of a block's size. */
static uint8_t *
map_aligned(size_t size)
{
	uint8_t *p = map(size);
	if (!p || (uintptr_t)p % BLOCK == 0)
		return p;
	munmap(p, size);
	p = map(size + BLOCK);
	if (!p)
		return NULL;
	size_t before = -(uintptr_t)p % BLOCK;
	if (before)
		munmap(p, before);
	munmap(p + before + size, BLOCK - before);
	return p + before;
}

void *
pages_block(void)
{
	return map_aligned(BLOCK);
}

/* The pages of the region come as they are written. */
static void
advise(uint8_t *p)
{
	if (!atomic_load_explicit(&cost.huge, memory_order_relaxed))
		pages_fill(p, 2 * BLOCK); /* one of each kind */
	if (huge_is_cheap())
		(void)madvise(p, REGION, MADV_HUGEPAGE);
}

/* The lock is held. */
static uint8_t *
cut(struct region *r, size_t size)
{
	if ((size_t)(r->end - r->at) < size) {
		uint8_t *p = map_aligned(REGION);
		if (!p)
			return NULL;
		if (r->at < r->end)
			munmap(r->at, (size_t)(r->end - r->at));
		r->at = r->filled = p;
		r->end = p + REGION;
		if (r == &regions.bare)
			advise(p);
	}
	uint8_t *p = r->at;
	r->at += size;
	return p;
}

static uint8_t *
get_full(size_t size)
{
	struct region *r = &regions.full;
	uint8_t *p = NULL, *from = NULL, *to = NULL;
	LOCKED(&regions.lock) {
		p = cut(r, size);
		for (from = to = r->filled; p && to < r->at;)
			to += BLOCK;
		r->filled = to;
	}
	if (p)
		pages_fill(from, (size_t)(to - from));
	if (p < from) /* another thread may still be about it */
		(void)madvise(p, min_u64(size, (size_t)(from - p)), MADV_POPULATE_WRITE);
	return p;
}

void *
pages_get(size_t size, size_t full)
{
	uint8_t *p = NULL;
	size = round_up(size, pages_size());
	if (size > REGION / 4) {
		p = map(size);
		if (p && full)
			pages_fill(p, full);
	} else if (full) {
		p = get_full(size);
	} else {
		LOCKED(&regions.lock)
			p = cut(&regions.bare, size);
	}
	return p;
}
