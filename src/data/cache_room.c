/* Memory: which extents get it, which requests wait for it, what is evicted for it. */
#include "data/cache_impl.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>

bool
room_evict(struct cache *c, struct lru *l)
{
	struct extent *p = l->head;
	while (p && (atomic_load(&p->pins) || p == c->beside))
		p = p->lru_next;
	if (!p)
		return false;
	table_drop(c, p);
	c->evicted++;
	return true;
}

bool
room_make(struct cache *c, size_t n, enum cache_hurry hurry)
{
	if (hurry == CACHE_PREFETCH) { /* what loads will borrow must not cost what is needed */
		n += c->lend > c->lent ? c->lend - c->lent : 0;
	}
	while (c->used + n > c->budget) {
		if (room_evict(c, &c->cold) || room_evict(c, &c->victim))
			continue;
		if (hurry == CACHE_PREFETCH)
			return false;
		if (!room_evict(c, &c->active) && !room_evict(c, &c->unread))
			return false;
	}
	return true;
}

static void
start_waiting(struct cache *c, struct waiter *w)
{
	struct waiter **last = &c->waiting;
	while (*last)
		last = &(*last)->next;
	*last = w;
	w->next = NULL;
	w->queued = true;
	atomic_store(&c->awaited, true);
}

void
room_stop_waiting(struct cache *c, struct waiter *w)
{
	struct waiter **at = &c->waiting;
	if (!w->queued)
		return;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	w->queued = false;
	atomic_store(&c->awaited, c->waiting != NULL);
	if (c->waiting)
		pthread_cond_broadcast(&c->freed);
}

int
room_wait(struct cache *c, const struct cache_request *a, struct waiter *w, bool in_turn)
{
	if (a->hurry != CACHE_WAIT)
		return -EAGAIN;
	if (in_turn && !w->queued) {
		start_waiting(c, w);
		return 0; /* pins that went before this was to be seen may have made room */
	}
	if (!in_turn)
		room_stop_waiting(c, w);
	int r = wait_moment(&c->freed, &c->lock, a->deadline, a->cancel);
	return r < 0 ? err_add(r, "no room in memory (see -o memory=)") : 0;
}

bool
room_share(const struct cache *c, const struct cache_request *a, size_t n)
{
	return !a->loading || !*a->loading || *a->loading + n <= c->budget / 4 * 3;
}

bool
room_for(struct cache *c, size_t n, enum cache_hurry hurry)
{
	return room_make(c, n, hurry) || (c->used == c->other && n + c->other > c->budget);
}

bool
room_beside(struct cache *c, struct extent *prev)
{
	struct extent *p = c->beside;
	if (!p || p == prev)
		return true;
	if (atomic_load(&p->pins))
		return false;
	table_drop(c, p);
	return true;
}

void
room_put_beside(struct cache *c, struct extent *p)
{
	struct extent *former = c->beside; /* that p is made from, if there is one */
	if (former) {
		former->charge = extent_charge(former->cap);
		c->used += former->charge;
	}
	c->used -= p->charge;
	p->list->bytes -= p->charge;
	p->charge = 0;
	c->beside = p;
}

void
cache_borrow(struct cache *c, size_t bytes)
{
	if (!bytes)
		return;
	pthread_mutex_lock(&c->lock);
	c->used += bytes;
	c->lent += bytes;
	if (bytes <= c->budget / 2)
		c->lend = max_u64(c->lend, bytes);
	room_make(c, 0, CACHE_TRY);
	cache_unlock(c);
}

void
cache_give_back(struct cache *c, size_t bytes)
{
	if (!bytes)
		return;
	LOCKED(&c->lock) {
		c->used -= bytes;
		c->lent -= bytes;
		if (c->waiting)
			pthread_cond_broadcast(&c->freed);
	}
}

void
cache_set_other(struct cache *c, size_t bytes)
{
	/* What is staged is handed out by it. No lock: it may give memory back to the system. */
	mem_limit(bytes < c->budget ? c->budget - bytes : 0);
	pthread_mutex_lock(&c->lock);
	bytes += c->staged;
	c->used += bytes - c->other;
	c->other = bytes;
	room_make(c, 0, CACHE_TRY);
	cache_unlock(c);
}

void
cache_add_staged(struct cache *c, int64_t bytes)
{
	if (!bytes)
		return;
	pthread_mutex_lock(&c->lock);
	c->staged += (size_t)bytes;
	c->other += (size_t)bytes;
	c->used += (size_t)bytes;
	room_make(c, 0, CACHE_TRY);
	if (bytes < 0 && c->waiting)
		pthread_cond_broadcast(&c->freed);
	cache_unlock(c);
}
