#include "base/mem.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/clean.h"
#include "base/pages.h"

#include <malloc.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum {
	TOUCHED = 16 << 20, /* bytes of a new piece whose pages are there at once */
	STEPS = 16, /* sizes of large pieces in an octave, so that chunks of nearly one size use
		       each other's pages */
	CLASSES = (64 - 17) * STEPS,
};

/* At the head of a large piece that is kept. */
struct kept {
	struct kept *next, *prev;   /* of its size */
	struct kept *newer, *older; /* of all sizes */
	size_t size;
};

static struct {
	pthread_mutex_t lock; /* guards the lists */
	struct kept *of_size[CLASSES], *newest, *oldest;
	atomic_size_t large; /* bytes of all that are kept here */
	atomic_size_t out;   /* bytes handed out, in pieces of all sizes */
	atomic_size_t limit;
} mem = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = SIZE_MAX};

/* The size of large pieces in which n bytes fit. */
static size_t
class_size(size_t n, size_t *ret_class)
{
	unsigned octave = 63 - (unsigned)__builtin_clzll(n);
	size_t step = ((size_t)1 << octave) / STEPS, steps = ceil_div(n, step);
	*ret_class = (octave - 17) * (size_t)STEPS + steps -
		     STEPS; /* twice STEPS: the next octave's first */
	return steps * step;
}

static void
unlink_kept(struct kept *k, size_t class)
{
	*(k->prev ? &k->prev->next : &mem.of_size[class]) = k->next;
	if (k->next)
		k->next->prev = k->prev;
	*(k->newer ? &k->newer->older : &mem.newest) = k->older;
	*(k->older ? &k->older->newer : &mem.oldest) = k->newer;
	atomic_fetch_sub_explicit(&mem.large, k->size, memory_order_relaxed);
}

static void *
take_kept(size_t class)
{
	struct kept *k = NULL;
	LOCKED(&mem.lock) {
		k = mem.of_size[class];
		if (k)
			unlink_kept(k, class);
	}
	return k;
}

static void
keep(void *p, size_t size, size_t class)
{
	struct kept *k = p;
	LOCKED(&mem.lock) {
		*k = (struct kept){.next = mem.of_size[class], .older = mem.newest, .size = size};
		if (k->next)
			k->next->prev = k;
		*(k->older ? &k->older->newer : &mem.oldest) = k;
		mem.of_size[class] = mem.newest = k;
		atomic_fetch_add_explicit(&mem.large, size, memory_order_relaxed);
	}
}

/* Gives the large piece that was kept longest back to the system. */
static bool
drop_oldest(void)
{
	struct kept *k = NULL;
	size_t class = 0, size = 0;
	LOCKED(&mem.lock) {
		k = mem.oldest;
		if (k) {
			size = class_size(k->size, &class);
			unlink_kept(k, class);
		}
	}
	if (k)
		munmap(k, size);
	return k;
}

static size_t
now_out(void)
{
	return atomic_load_explicit(&mem.out, memory_order_relaxed);
}

size_t
mem_idle(void)
{
	return atomic_load_explicit(&mem.large, memory_order_relaxed) + arena_idle();
}

/* May so many bytes be kept besides what there is? */
static bool
room(size_t limit, size_t bytes)
{
	size_t now = now_out() + mem_idle();
	return now <= limit && bytes <= limit - now;
}

static _Thread_local unsigned holding;

/* Gives back what is kept until it and `out` are not above the limit. */
static void
trim(size_t limit)
{
	while (!holding) {
		size_t idle = mem_idle();
		if (!idle || room(limit, 0))
			return;
		bool small = arena_idle() > idle / 2;
		if (small ? !arena_trim() && !drop_oldest() : !drop_oldest() && !arena_trim())
			return;
	}
}

/* `full` bytes of it are there at once. */
static void *
get_large(size_t full, size_t size)
{
	size_t class;
	class_size(size, &class);
	void *p = take_kept(class);
	if (p)
		return p;
	/* All of it will be written. But what is very large may only be said to be so, by damaged
	 * metadata: the rest comes as it is written. */
	return pages_get(size, min_u64(full, TOUCHED));
}

size_t
mem_size(size_t n)
{
	size_t class;
	if (n <= ARENA_TO)
		return arena_size(n);
	return n > SIZE_MAX / 2 ? n : class_size(n, &class);
}

static void *
get(size_t *size, bool full)
{
	size_t need = *size;
	if (need > SIZE_MAX / 2)
		return NULL;
	*size = mem_size(need);
	size_t limit = atomic_load_explicit(&mem.limit, memory_order_relaxed);
	bool fill = room(limit, ARENA_BYTES);
	atomic_fetch_add_explicit(&mem.out, *size, memory_order_relaxed);
	void *p = need <= ARENA_TO ? arena_get(need, fill) : get_large(full ? need : 0, *size);
	if (!p)
		atomic_fetch_sub_explicit(&mem.out, *size, memory_order_relaxed);
	trim(limit);
	return p;
}

void *
mem_get(size_t *size)
{
	return get(size, true);
}

void *
mem_get_bare(size_t *size)
{
	return get(size, false);
}

void *
mem_get_quickly(size_t size)
{
	void *p = arena_get(size, false);
	if (p)
		atomic_fetch_add_explicit(&mem.out, size, memory_order_relaxed);
	return p;
}

void
mem_put(void *p, size_t size)
{
	size_t class;
	if (!p)
		return;
	if (size <= ARENA_TO) {
		arena_put(p, size);
	} else {
		class_size(size, &class);
		keep(p, size, class);
	}
	atomic_fetch_sub_explicit(&mem.out, size, memory_order_relaxed);
	trim(atomic_load_explicit(&mem.limit, memory_order_relaxed));
}

size_t
mem_cut(void *p, size_t size, size_t n)
{
	const size_t fit = mem_size(n);
	if (n <= ARENA_TO || fit >= size || munmap((uint8_t *)p + fit, size - fit) < 0)
		return size;
	atomic_fetch_sub_explicit(&mem.out, size - fit, memory_order_relaxed);
	return fit;
}

void
mem_limit(size_t bytes)
{
	atomic_store_explicit(&mem.limit, bytes, memory_order_relaxed);
	trim(bytes);
}

void
mem_trim(void)
{
	trim(0);
}

void
mem_ahead(size_t i)
{
	enum { PAGE = 4096, EACH = 32, AHEAD = 120 << 10 }; /* not so many that malloc maps them */
	uint8_t *p = i % EACH == EACH - 1 ? malloc(AHEAD) : NULL;
	if (p)
		(void)madvise(p + -(uintptr_t)p % PAGE, AHEAD - PAGE, MADV_POPULATE_WRITE);
	free(p);
}

void
mem_hold(void)
{
	holding++;
}

void
mem_release(void)
{
	if (--holding == 0)
		trim(atomic_load_explicit(&mem.limit, memory_order_relaxed));
}

void
mem_trim_holes(void)
{
	malloc_trim(0);
}
