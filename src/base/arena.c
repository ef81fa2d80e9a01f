#include "base/arena.h"

#include "base/clean.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

enum {
	ARENA = 2 << 20, /* a huge page, and aligned to its size */
	HEAD = 4096,     /* of an arena: struct arena */
	STEPS = 8,       /* sizes are rounded to an eighth of a power of two */
	OCTAVES = 5,     /* powers of two from ARENA_FROM to ARENA_TO */
	CLASSES = STEPS * OCTAVES + 1,
	SLOTS = ARENA / ARENA_FROM,
	MALLOC_BYTES = ARENA, /* of a size that malloc serves before arenas do */
	SPARE = 4,            /* empty arenas that are kept */
};

/* At the head of each arena. */
struct arena {
	struct arena *next, *prev; /* those of its class with free slots */
	unsigned class, slots, used;
	uint16_t free[SLOTS]; /* slots - used of them: numbers of free slots */
};

_Static_assert(sizeof(struct arena) <= HEAD, "the head of an arena holds it");

static struct {
	pthread_mutex_t lock; /* guards all below */
	struct arena *open[CLASSES];
	size_t plain[CLASSES]; /* bytes that malloc serves */
	struct arena *spare[SPARE];
	unsigned spares;
} arenas = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Rounds *size up to its class. */
static unsigned
class_of(size_t *size)
{
	size_t n = *size < ARENA_FROM ? ARENA_FROM : *size;
	unsigned octave = 63 - (unsigned)__builtin_clzll(n - 1 > ARENA_FROM ? n - 1 : ARENA_FROM);
	size_t step = ((size_t)1 << octave) / STEPS, steps = (n + step - 1) / step;
	*size = steps * step;
	return (octave - 12) * STEPS + (unsigned)steps - STEPS;
}

/* A fresh or spare arena's memory. NULL: none. */
static struct arena *
map_arena(void)
{
	uint8_t *p =
		mmap(NULL, 2 * ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)p % ARENA;
	if (before)
		munmap(p, before);
	if (ARENA - before)
		munmap(p + before + ARENA, ARENA - before);
	madvise(p + before, ARENA, MADV_HUGEPAGE);
	return (struct arena *)(void *)(p + before);
}

static void
link_open(struct arena *a)
{
	struct arena **head = &arenas.open[a->class];
	a->prev = NULL;
	a->next = *head;
	if (a->next)
		a->next->prev = a;
	*head = a;
}

static void
unlink_open(struct arena *a)
{
	if (a->prev)
		a->prev->next = a->next;
	else
		arenas.open[a->class] = a->next;
	if (a->next)
		a->next->prev = a->prev;
}

static void
cut(struct arena *a, unsigned class, size_t size)
{
	a->class = class;
	a->slots = (unsigned)((ARENA - HEAD) / size);
	a->used = 0;
	for (unsigned i = 0; i < a->slots; i++)
		a->free[i] = (uint16_t)(a->slots - 1 - i);
	link_open(a);
}

static void *
take_slot(struct arena *a, size_t size)
{
	unsigned slot = a->free[a->slots - ++a->used];
	if (a->used == a->slots)
		unlink_open(a);
	return (uint8_t *)a + HEAD + slot * size;
}

/* The lock is held. plain: malloc's turn. */
static void *
get(unsigned class, size_t size, bool *ret_plain)
{
	*ret_plain = !arenas.open[class] && arenas.plain[class] + size <= MALLOC_BYTES;
	if (*ret_plain) {
		arenas.plain[class] += size;
		return NULL;
	}
	if (!arenas.open[class] && arenas.spares)
		cut(arenas.spare[--arenas.spares], class, size);
	return arenas.open[class] ? take_slot(arenas.open[class], size) : NULL;
}

/* A slot of an arena that did not exist when the lock was held. */
static void *
get_from_new(unsigned class, size_t size)
{
	struct arena *a = map_arena();
	void *p = NULL;
	if (!a)
		return NULL;
	LOCKED(&arenas.lock) {
		cut(a, class, size);
		p = take_slot(a, size);
	}
	return p;
}

/* Sizes of classes are even; what malloc serves has an odd size, by which arena_put tells the two apart. */
void *
arena_get(size_t *size)
{
	bool plain = false;
	void *p = NULL;
	unsigned class = class_of(size);
	LOCKED(&arenas.lock)
		p = get(class, *size, &plain);
	if (plain)
		return malloc(++*size);
	return p ? p : get_from_new(class, *size);
}

/* The lock is held. Returns an arena to unmap, or NULL. */
static struct arena *
give_back(struct arena *a, void *p, size_t size)
{
	unsigned slot = (unsigned)(((uintptr_t)p - (uintptr_t)a - HEAD) / size);
	if (a->used == a->slots)
		link_open(a);
	a->free[a->slots - a->used--] = (uint16_t)slot;
	if (a->used)
		return NULL;
	unlink_open(a);
	if (arenas.spares == SPARE)
		return a;
	arenas.spare[arenas.spares++] = a;
	return NULL;
}

void
arena_put(void *p, size_t size)
{
	struct arena *out = NULL;
	bool plain = size & 1;
	size -= plain;
	unsigned class = class_of(&size);
	LOCKED(&arenas.lock) {
		if (plain)
			arenas.plain[class] -= size;
		else
			out = give_back(
				(struct arena *)((uintptr_t)p & ~((uintptr_t)ARENA - 1)), p, size);
	}
	if (plain)
		free(p);
	if (out)
		munmap(out, ARENA);
}
