#include "base/mem.h"

#include "base/clean.h"
#include "base/when.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

/* Below LARGE, malloc recycles well by itself. Above, sizes are rounded to quarters of a power of two,
 * so that chunks of one array (and chunks of nearly one size) use each other's pages. */
enum {
	LARGE = 128 << 10,
	TOUCHED = 16 << 20, /* bytes of a new piece whose pages are there at once */
	KEPT = 64,
	REST = 16,
};

struct kept {
	void *p;
	size_t size;
};

static struct {
	pthread_mutex_t lock; /* guards all below */
	struct kept kept[KEPT];
	size_t count, bytes;
} mem = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Bytes of all small pieces, now and at most since malloc was told to give back what it does not use: it keeps the pages of those
 * that were freed below one that is in use. */
static atomic_size_t small, small_most;
static atomic_llong
	small_next; /* when_now() from which on it may be told again: most of the time goes to something else */

static size_t
round_size(size_t n)
{
	size_t step = (size_t)1 << (63 - __builtin_clzll(n));
	step = step / 4 < 4096 ? 4096 : step / 4;
	return (n + step - 1) / step * step;
}

static void *
take_kept(size_t size)
{
	void *p = NULL;
	LOCKED(&mem.lock) {
		for (size_t i = mem.count; i-- > 0 && !p;) {
			if (mem.kept[i].size != size)
				continue;
			p = mem.kept[i].p;
			mem.bytes -= size;
			mem.kept[i] = mem.kept[--mem.count];
		}
	}
	return p;
}

static void *
get_small(size_t *size)
{
	*size = *size < 64 ? 64 : *size;
	void *p = malloc(*size);
	size_t now = p ? atomic_fetch_add_explicit(&small, *size, memory_order_relaxed) + *size : 0;
	if (now > atomic_load_explicit(&small_most, memory_order_relaxed))
		atomic_store_explicit(&small_most, now, memory_order_relaxed); /* more or less */
	return p;
}

void *
mem_get(size_t *size)
{
	if (*size > SIZE_MAX / 2)
		return NULL;
	if (*size < LARGE)
		return get_small(size);
	size_t need = *size;
	*size = round_size(need);
	void *p = take_kept(*size);
	if (p)
		return p;
	p = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	/* All of it will be written: one call costs two thirds of a page fault for each page. But what is very large may only be said to
	 * be so, by damaged metadata: the rest comes as it is written. */
	(void)madvise(p, need < TOUCHED ? need : TOUCHED, MADV_POPULATE_WRITE);
	return p;
}

void
mem_put(void *p, size_t size)
{
	if (!p)
		return;
	if (size < LARGE) {
		free(p);
		atomic_fetch_sub_explicit(&small, size, memory_order_relaxed);
		return;
	}
	bool kept = false;
	LOCKED(&mem.lock) {
		kept = mem.count < KEPT;
		if (kept) {
			mem.kept[mem.count++] = (struct kept){p, size};
			mem.bytes += size;
		}
	}
	if (!kept)
		munmap(p, size);
}

size_t
mem_idle(void)
{
	size_t n = 0;
	LOCKED(&mem.lock)
		n = mem.bytes;
	return n;
}

static void
trim_small(size_t holes)
{
	size_t now = atomic_load_explicit(&small, memory_order_relaxed),
	       most = atomic_load_explicit(&small_most, memory_order_relaxed);
	if (most <= now + holes)
		return;
	int64_t began = when_now();
	if (began < atomic_load_explicit(&small_next, memory_order_relaxed))
		return;
	if (!atomic_compare_exchange_strong(&small_most, &most, now))
		return;
	malloc_trim(0);
	int64_t end = when_now();
	atomic_store_explicit(&small_next, end + REST * (end - began), memory_order_relaxed);
}

void
mem_trim(size_t keep, size_t holes)
{
	trim_small(holes);
	for (;;) {
		struct kept out = {0};
		LOCKED(&mem.lock) {
			if (mem.count && mem.bytes > keep) {
				out = mem.kept[0]; /* the one that lay longest, roughly */
				mem.kept[0] = mem.kept[--mem.count];
				mem.bytes -= out.size;
			}
		}
		if (!out.p)
			return;
		munmap(out.p, out.size);
	}
}
