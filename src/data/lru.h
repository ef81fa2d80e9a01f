/* A list of extents, oldest first, that knows how much they take. Under the cache's lock. */
#pragma once

#include "data/cache.h"

struct lru {
	struct extent *head, *tail;
	size_t bytes;
};

static inline void
lru_remove(struct lru *l, struct extent *p)
{
	*(p->lru_prev ? &p->lru_prev->lru_next : &l->head) = p->lru_next;
	*(p->lru_next ? &p->lru_next->lru_prev : &l->tail) = p->lru_prev;
	p->lru_prev = p->lru_next = NULL;
	l->bytes -= p->charge;
}

static inline void
lru_append(struct lru *l, struct extent *p)
{
	p->lru_prev = l->tail;
	p->lru_next = NULL;
	*(l->tail ? &l->tail->lru_next : &l->head) = p;
	l->tail = p;
	l->bytes += p->charge;
}
