#include "base/arena.h"

#include "base/check.h"
#include "base/clean.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum {
	ARENA = ARENA_BYTES, /* also what its address is a multiple of */
	STEP = 64,           /* sizes up to STEPS of these are multiples of it */
	STEPS = 16,          /* sizes in each octave above */
	OCTAVE = 10,         /* log2(STEP * STEPS) */
	SIZES = STEPS + (17 - OCTAVE) * STEPS + 1,
	PAGES = ARENA / 4096, /* at most: a system's pages have that size or a multiple of it */
};

/* At the head of each arena: its slots lie behind. */
struct arena {
	struct arena *next, *prev; /* of those of its size that have a free slot */
	struct size *of;
	unsigned slots, free;
	unsigned from; /* no slot before this is free */
	bool dry;      /* no whole page of it is there for no piece */
	uint64_t used[ARENA / STEP / 64];
	uint64_t gone[PAGES / 64]; /* a bit a page that holds nothing and takes no memory */
};

enum { HEAD = (sizeof(struct arena) + STEP - 1) / STEP * STEP };

struct size {
	size_t bytes;
	struct arena *first, *last; /* of those with a free slot; wholly free ones are last */
	size_t idle, arenas;
};

static struct {
	pthread_mutex_t lock; /* guards all but idle, which may be read without it */
	struct size size[SIZES];
	atomic_size_t idle;
} arenas = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Which of the sizes n bytes have; they are rounded up to it. */
static unsigned
size_number(size_t *n)
{
	size_t steps = *n ? ceil_div(*n, STEP) : 1;
	*n = steps * STEP;
	if (steps <= STEPS)
		return (unsigned)steps - 1;
	unsigned octave = 63 - (unsigned)__builtin_clzll(*n);
	size_t step = ((size_t)1 << octave) / STEPS;
	steps = ceil_div(*n, step);
	*n = steps * step;
	return (octave - OCTAVE) * STEPS + (unsigned)steps - 1;
}

static bool
bit(const uint64_t *map, unsigned i)
{
	return map[i / 64] >> i % 64 & 1;
}

static void
mark(uint64_t *map, unsigned i, bool set)
{
	uint64_t b = (uint64_t)1 << i % 64;
	map[i / 64] = set ? map[i / 64] | b : map[i / 64] & ~b;
}

/* The first slot from i on that is used, or is free; a->slots: there is none. */
static unsigned
next_slot(const struct arena *a, unsigned i, bool used)
{
	uint64_t flip = used ? 0 : ~(uint64_t)0;
	while (i < a->slots) {
		uint64_t w = (a->used[i / 64] ^ flip) >> i % 64;
		if (w)
			return (unsigned)min_u64(i + (unsigned)__builtin_ctzll(w), a->slots);
		i = (i / 64 + 1) * 64;
	}
	return a->slots;
}

static void
take_out(struct arena *a)
{
	*(a->prev ? &a->prev->next : &a->of->first) = a->next;
	*(a->next ? &a->next->prev : &a->of->last) = a->prev;
}

static void
put_first(struct arena *a)
{
	a->prev = NULL;
	a->next = a->of->first;
	*(a->next ? &a->next->prev : &a->of->last) = a;
	a->of->first = a;
}

static void
put_last(struct arena *a)
{
	a->next = NULL;
	a->prev = a->of->last;
	*(a->prev ? &a->prev->next : &a->of->first) = a;
	a->of->last = a;
}

static void
add_idle(struct size *s, size_t bytes)
{
	s->idle += bytes;
	atomic_fetch_add_explicit(&arenas.idle, bytes, memory_order_relaxed);
}

static void
sub_idle(struct size *s, size_t bytes)
{
	s->idle -= bytes;
	atomic_fetch_sub_explicit(&arenas.idle, bytes, memory_order_relaxed);
}

/* The lock is held. a has a free slot. */
static void *
take_slot(struct arena *a)
{
	unsigned i = next_slot(a, a->from, false);
	size_t bytes = a->of->bytes, at = HEAD + i * bytes, page = pages_size();
	for (size_t p = at / page; p <= (at + bytes - 1) / page; p++)
		if (bit(a->gone, (unsigned)p)) { /* it is there from now on */
			mark(a->gone, (unsigned)p, false);
			add_idle(a->of, page);
		}
	mark(a->used, i, true);
	a->from = i + 1;
	if (--a->free == 0)
		take_out(a);
	sub_idle(a->of, bytes);
	return (uint8_t *)a + at;
}

/* Bytes of its pages that are there for no piece, where none is. */
static size_t
empty_bytes(const struct arena *a)
{
	size_t gone = 0;
	for (unsigned i = 0; i < PAGES / 64; i++)
		gone += (size_t)__builtin_popcountll(a->gone[i]);
	return ARENA - HEAD - gone * pages_size();
}

static struct arena *
make(size_t bytes, bool filled)
{
	uint8_t *p = pages_block();
	struct arena *a = (struct arena *)(void *)p;
	if (!p)
		return NULL;
	a->slots = a->free = (unsigned)((ARENA - HEAD) / bytes);
	size_t page = pages_size(), pages = ceil_div(HEAD + a->slots * bytes, page);
	if (filled)
		pages_fill(p, ARENA);
	for (size_t i = filled ? pages : ceil_div(HEAD, page); i < ARENA / page; i++)
		mark(a->gone, (unsigned)i, true);
	return a;
}

size_t
arena_size(size_t n)
{
	size_number(&n);
	return n;
}

void *
arena_get(size_t n, bool filled)
{
	struct size *s = &arenas.size[size_number(&n)];
	void *p = NULL;
	LOCKED(&arenas.lock) {
		p = s->first ? take_slot(s->first) : NULL;
		filled &= s->arenas > 0; /* many sizes are rare */
	}
	if (p)
		return p;
	struct arena *a = make(n, filled);
	if (!a)
		return NULL;
	LOCKED(&arenas.lock) {
		s->arenas++;
		s->bytes = n;
		a->of = s;
		put_first(a);
		add_idle(s, empty_bytes(a));
		p = take_slot(a);
	}
	return p;
}

void
arena_put(void *p, size_t n)
{
	struct arena *a = (struct arena *)((uintptr_t)p & ~((uintptr_t)ARENA - 1));
	size_number(&n);
	unsigned i = (unsigned)(((size_t)((uint8_t *)p - (uint8_t *)a) - HEAD) / n);
	LOCKED(&arenas.lock) {
		mark(a->used, i, false);
		a->from = i < a->from ? i : a->from;
		a->dry = false;
		add_idle(a->of, n);
		if (a->free++ == 0) {
			put_first(a);
		} else if (a->free == a->slots) {
			take_out(a);
			put_last(a);
		}
	}
}

size_t
arena_idle(void)
{
	return atomic_load_explicit(&arenas.idle, memory_order_relaxed);
}

/* Free slots [from, to) with the whole pages in them that are there. */
struct arena_stretch {
	struct arena *a;
	unsigned from, to;
	size_t page, pages; /* pages 0: all of the arena */
};

static bool
find_pages(struct arena_stretch *s)
{
	const struct arena *a = s->a;
	for (s->from = next_slot(a, a->from, false); s->from < a->slots;
		s->from = next_slot(a, s->to, false)) {
		s->to = next_slot(a, s->from, true);
		size_t size = pages_size(), page = ceil_div(HEAD + s->from * a->of->bytes, size),
		       end = (HEAD + s->to * a->of->bytes) / size;
		while (page < end && bit(a->gone, (unsigned)page))
			page++;
		s->page = page;
		while (page < end && !bit(a->gone, (unsigned)page))
			page++;
		s->pages = page - s->page;
		if (s->pages)
			return true;
	}
	return false;
}

/* The lock is held. A wholly free arena of that size, or pages of one. */
static bool
find_stretch(struct size *size, struct arena_stretch *ret)
{
	for (struct arena *a = size->last; a; a = a->prev) {
		*ret = (struct arena_stretch){.a = a};
		if (a->free == a->slots)
			return true;
		if (!a->dry && find_pages(ret))
			return true;
		a->dry = true;
	}
	return false;
}

/* The lock is held. Of the size with the most that can go, so that those that are in use keep
 * theirs. */
static bool
choose(struct arena_stretch *ret)
{
	bool seen[SIZES] = {false};
	for (;;) {
		unsigned most = SIZES;
		for (unsigned i = 0; i < SIZES; i++)
			if (!seen[i] && arenas.size[i].idle &&
				(most == SIZES || arenas.size[i].idle > arenas.size[most].idle))
				most = i;
		if (most == SIZES)
			return false;
		if (find_stretch(&arenas.size[most], ret))
			return true;
		seen[most] = true;
	}
}

/* The lock is held. No slot of it is taken from now on. */
static void
hold(const struct arena_stretch *s)
{
	struct arena *a = s->a;
	sub_idle(a->of, s->pages ? s->pages * pages_size() : empty_bytes(a));
	a->of->arenas -= !s->pages;
	for (unsigned i = s->from; i < s->to; i++)
		mark(a->used, i, true);
	a->free -= s->to - s->from;
	if (!s->pages || !a->free)
		take_out(a);
}

/* The lock is held. Its pages are gone. */
static void
release(const struct arena_stretch *s)
{
	struct arena *a = s->a;
	for (size_t p = s->page; p < s->page + s->pages; p++)
		mark(a->gone, (unsigned)p, true);
	for (unsigned i = s->from; i < s->to; i++)
		mark(a->used, i, false);
	a->from = s->from < a->from ? s->from : a->from;
	if (!a->free)
		put_first(a);
	a->free += s->to - s->from;
	if (a->free == a->slots) {
		take_out(a);
		put_last(a);
	}
}

bool
arena_trim(void)
{
	struct arena_stretch s;
	bool found = false;
	LOCKED(&arenas.lock) {
		found = choose(&s);
		if (found)
			hold(&s);
	}
	if (!found)
		return false;
	if (!s.pages) {
		munmap(s.a, ARENA);
		return true;
	}
	madvise((uint8_t *)s.a + s.page * pages_size(), s.pages * pages_size(), MADV_DONTNEED);
	LOCKED(&arenas.lock)
		release(&s);
	return true;
}
