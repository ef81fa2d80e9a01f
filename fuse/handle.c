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
