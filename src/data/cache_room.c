/* Memory: who gets it, who waits for it, what goes for it. */
#include "data/cache_impl.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>

/* What malloc may keep of small pieces that are gone: others take it, or it goes back to the system now and then. */
enum { HOLES_PART = 16, HOLES_MOST = 64 << 20 };

bool
room_evict(struct cache *c, struct lru *l, bool unused)
{
	struct piece *p = l->head;
	while (p && (p->pins || !(p->used || unused)))
		p = p->lru_next;
	if (!p)
		return false;
	table_drop(c, p);
	table_destroy(c, p);
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
		if (room_evict(c, &c->cold, true) || room_evict(c, &c->spare, true))
			continue;
		if (hurry == CACHE_PREFETCH)
			return false;
		if (!room_evict(c, &c->hot, false) && !room_evict(c, &c->hot, true))
			return false;
	}
	return true;
}

int
cache_timed_wait(
	pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline, struct cancel *cancel)
{
	int64_t until = when_now() + SECOND / 10; /* how often cancellation is looked at */
	if (deadline && deadline < until)
		until = deadline;
	struct timespec t = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND};
	pthread_cond_timedwait(cond, lock, &t);
	if (cancelled(cancel))
		return err_set(-EINTR, "interrupted");
	if (when_over(deadline))
		return err_set(-ETIMEDOUT, "timed out");
	return 0;
}

static void
start_waiting(struct cache *c, struct waiter *w)
{
	struct waiter **last = &c->waiting;
	if (w->queued)
		return;
	while (*last)
		last = &(*last)->next;
	*last = w;
	w->next = NULL;
	w->queued = true;
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
	if (c->waiting)
		pthread_cond_broadcast(&c->freed);
}

int
room_wait(struct cache *c, const struct cache_ask *a, struct waiter *w, bool in_turn)
{
	if (a->hurry != CACHE_WAIT)
		return -EAGAIN;
	if (in_turn)
		start_waiting(c, w);
	else
		room_stop_waiting(c, w);
	int r = cache_timed_wait(&c->freed, &c->lock, a->deadline, a->cancel);
	return r < 0 ? err_add(r, "no room in memory (see -o memory=)") : 0;
}

bool
room_share(const struct cache *c, const struct cache_ask *a, size_t n)
{
	return !a->loading || !*a->loading || *a->loading + n <= c->budget / 4 * 3;
}

bool
room_for(struct cache *c, size_t n, enum cache_hurry hurry)
{
	return room_make(c, n, hurry) || (c->used == c->other && n + c->other > c->budget);
}

void
cache_unlock_trim(struct cache *c)
{
	size_t free_bytes = c->used < c->budget ? c->budget - c->used : 0;
	cache_unlock(c);
	mem_trim(free_bytes, max_u64(free_bytes, min_u64(c->budget / HOLES_PART, HOLES_MOST)));
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
	cache_unlock_trim(c);
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
	pthread_mutex_lock(&c->lock);
	c->used += bytes - c->other;
	c->other = bytes;
	room_make(c, 0, CACHE_TRY);
	cache_unlock(c);
}
