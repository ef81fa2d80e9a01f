#include "fuse/handle.h"

void
handles_init(struct handles *t)
{
	*t = (struct handles){0};
	pthread_mutex_init(&t->lock, NULL);
}

void
handles_done(struct handles *t)
{
	while (t->first)
		handle_unref(t->first);
	pthread_mutex_destroy(&t->lock);
}

void
handle_open(struct handles *t, struct handle *h, void (*free)(struct handle *))
{
	h->table = t;
	h->refs = 1;
	h->free = free;
	LOCKED(&t->lock) {
		h->slot = &t->first;
		h->after = t->first;
		t->first = h;
		if (h->after)
			h->after->slot = &h->after;
	}
}

struct handle *
handle_ref(struct handle *h)
{
	if (h)
		atomic_fetch_add(&h->refs, 1);
	return h;
}

void
handle_unref(struct handle *h)
{
	if (!h || atomic_fetch_sub(&h->refs, 1) != 1)
		return;
	LOCKED(&h->table->lock) {
		*h->slot = h->after;
		if (h->after)
			h->after->slot = h->slot;
	}
	h->free(h);
}

/* One whose last reference is just going is not held again. */
static bool
try_ref(struct handle *h)
{
	unsigned refs = atomic_load(&h->refs);
	while (refs && !atomic_compare_exchange_weak(&h->refs, &refs, refs + 1))
		;
	return refs;
}

size_t
handles_of(struct handles *t, const struct inode *i, struct handle **ret, size_t max)
{
	size_t n = 0;
	LOCKED(&t->lock) {
		for (struct handle *h = t->first; h && n < max; h = h->after)
			if (h->inode == i && try_ref(h))
				ret[n++] = h;
	}
	return n;
}

uint64_t
handle_number(struct handle *h)
{
	return (uintptr_t)h;
}

struct handle *
handle_of(uint64_t number)
{
	return (struct handle *)(uintptr_t)number;
}
