#include "data/cache.h"

#include "base/check.h"
#include "base/mem.h"
#include "data/lru.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
	BUCKETS = 1 << 14,
	CONDS = 32,
	PIECE_COST = sizeof(struct piece) + 64, /* with what malloc adds */
};

/* Least recently used is known to this much (ns): moving every piece at each look would cost more than it gains. */
static const int64_t TOUCH_EVERY = SECOND / 20;

/* Somebody who waits for memory. First come, first served: what needs much would wait for ever behind what needs little. */
struct waiter {
	struct waiter *next;
	bool queued;
};

struct cache {
	size_t budget, cold_max;
	pthread_mutex_t lock; /* guards all below */
	struct piece *bucket[BUCKETS];
	struct lru hot, cold;
	size_t used, pieces;
	struct piece *dead; /* to be freed once the lock is open */
	uint64_t hits, waits, evicted;
	size_t other, lent, lend;     /* lend: what prefetching leaves free for loads to borrow */
	struct waiter *waiting;       /* for memory */
	pthread_cond_t loaded[CONDS]; /* a piece left LOADING: by hash */
	pthread_cond_t freed; /* memory came back, or the next one that waits for it may look */
};

static uint64_t
hash(uint64_t space, uint64_t chunk)
{
	uint64_t h = (space * 0x9e3779b97f4a7c15u) ^ chunk;
	h *= 0xff51afd7ed558ccdu;
	return h ^ h >> 32;
}

static struct piece **
bucket_of(struct cache *c, const struct piece_id *id)
{
	return &c->bucket[hash(id->space, id->chunk) % BUCKETS];
}

static pthread_cond_t *
cond_of(struct cache *c, const struct piece *p)
{
	return &c->loaded[hash(p->id.space, p->id.chunk) % CONDS];
}

static void
cond_init(pthread_cond_t *c)
{
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(c, &a);
	pthread_condattr_destroy(&a);
}

int
cache_new(size_t budget, struct cache **ret)
{
	struct cache *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "no memory for the chunk cache");
	c->budget = budget;
	c->lend = budget / CACHE_LEND;
	/* What a reader in file order has passed stays for a moment, for requests that overtake each other, and
	 * so that memory is used again while it is still in the processor's caches. */
	c->cold_max = min_u64(budget / 8, 8 << 20);
	pthread_mutex_init(&c->lock, NULL);
	for (int i = 0; i < CONDS; i++)
		cond_init(&c->loaded[i]);
	cond_init(&c->freed);
	*ret = c;
	return 0;
}

/* --- lists, all under the lock --- */

static void
list_remove(struct cache *c, struct piece *p)
{
	lru_remove(p->cold ? &c->cold : &c->hot, p);
}

static void
list_append(struct cache *c, struct piece *p)
{
	lru_append(p->cold ? &c->cold : &c->hot, p);
}

/* A cold piece stays cold: requests that overtake each other must not bring a scan's leavings back. */
static void
touch(struct cache *c, struct piece *p, int64_t now)
{
	if (now - p->touched < TOUCH_EVERY)
		return;
	p->touched = now;
	list_remove(c, p);
	list_append(c, p);
}

/* Takes a piece out of the table; its memory stays until the last pin goes. */
static void
drop(struct cache *c, struct piece *p)
{
	if (p->dropped)
		return;
	struct piece **at = bucket_of(c, &p->id);
	while (*at != p)
		at = &(*at)->hash_next;
	*at = p->hash_next;
	list_remove(c, p);
	p->cold = false;
	p->dropped = true;
}

/* Nobody holds it and it is in no table: its memory goes when the lock is open, see close_lock. */
static void
destroy(struct cache *c, struct piece *p)
{
	c->used -= p->charge;
	c->pieces--;
	p->hash_next = c->dead;
	c->dead = p;
	if (c->waiting)
		pthread_cond_broadcast(&c->freed);
}

/* Opens the lock and frees what was destroyed under it. */
static void
close_lock(struct cache *c)
{
	struct piece *dead = MOVE(c->dead);
	pthread_mutex_unlock(&c->lock);
	while (dead) {
		struct piece *p = dead;
		dead = p->hash_next;
		mem_put(p->data, p->cap);
		free(p->failure);
		free(p);
	}
}

static void
unpin(struct cache *c, struct piece *p)
{
	if (--p->pins == 0) {
		if (p->dropped)
			destroy(c, p);
		else if (c->waiting)
			pthread_cond_broadcast(&c->freed);
	}
}

static bool
evict_from(struct cache *c, struct lru *l, bool unused)
{
	struct piece *p = l->head;
	while (p && (p->pins || !(p->used || unused)))
		p = p->lru_next;
	if (!p)
		return false;
	drop(c, p);
	destroy(c, p);
	c->evicted++;
	return true;
}

/* Room for n more bytes: free, cold or (unless prefetching) least recently used. */
static bool
make_room(struct cache *c, size_t n, enum cache_hurry hurry)
{
	if (hurry == CACHE_PREFETCH) { /* what loads will borrow must not cost what is needed */
		n += c->lend > c->lent ? c->lend - c->lent : 0;
	}
	while (c->used + n > c->budget) {
		if (evict_from(c, &c->cold, true))
			continue;
		if (hurry == CACHE_PREFETCH)
			return false;
		if (!evict_from(c, &c->hot, false) && !evict_from(c, &c->hot, true))
			return false;
	}
	return true;
}

static int
timed_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline, struct cancel *cancel)
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

static struct piece *
find(struct cache *c, const struct cache_ask *a)
{
	bool encoded = a->id.off == PIECE_ENCODED;
	for (struct piece *p = *bucket_of(c, &a->id); p; p = p->hash_next) {
		if (p->id.space != a->id.space || p->id.chunk != a->id.chunk)
			continue;
		if (encoded || p->id.off == PIECE_ENCODED) {
			if (encoded && p->id.off == PIECE_ENCODED)
				return p;
			continue;
		}
		if (a->at - p->id.off < p->id.len)
			return p;
	}
	return NULL;
}

static struct piece *
insert(struct cache *c, const struct piece_id *id, struct piece *prev, size_t *loading)
{
	struct piece *p = calloc(1, sizeof *p), **b = bucket_of(c, id);
	if (!p)
		return NULL;
	p->id = *id;
	p->charge = id->len + PIECE_COST;
	p->pins = 1;
	p->prev = prev;
	p->loading = loading;
	if (loading)
		*loading += p->charge;
	p->hash_next = *b;
	*b = p;
	c->used += p->charge;
	c->pieces++;
	list_append(c, p);
	return p;
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

static void
stop_waiting(struct cache *c, struct waiter *w)
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

/* Waits for somebody to let go of memory; the lock is open meanwhile. in_turn: others that wait come after it. */
static int
wait_for_room(struct cache *c, const struct cache_ask *a, struct waiter *w, bool in_turn)
{
	if (a->hurry != CACHE_WAIT)
		return -EAGAIN;
	if (in_turn)
		start_waiting(c, w);
	else
		stop_waiting(c, w);
	int r = timed_wait(&c->freed, &c->lock, a->deadline, a->cancel);
	return r < 0 ? err_add(r, "no room in memory (see -o memory=)") : 0;
}

/* The loads of one array leave a quarter of the memory to others. */
static bool
has_share(const struct cache *c, const struct cache_ask *a, size_t n)
{
	return !a->loading || !*a->loading || *a->loading + n <= c->budget / 4 * 3;
}

/* What is larger than the whole budget goes alone. */
static bool
room_for(struct cache *c, size_t n, enum cache_hurry hurry)
{
	return make_room(c, n, hurry) || (c->used == c->other && n + c->other > c->budget);
}

/* Are more pieces of the chunk cached than are worth having one by one? */
static bool
crowded(struct cache *c, const struct cache_ask *a)
{
	unsigned n = 0;
	if (!a->larger.len)
		return false;
	for (struct piece *p = *bucket_of(c, &a->id); p; p = p->hash_next)
		n += p->id.space == a->id.space && p->id.chunk == a->id.chunk;
	return n >= a->crowd;
}

/* Makes the piece that a asks for. *prev, pinned, is what was there before, or NULL; the new piece or the caller keeps it.
 * 0: the lock was open for a while, look again. */
static int
create(struct cache *c, const struct cache_ask *a, struct waiter *w, struct piece **prev,
	struct piece **ret)
{
	struct piece_id id = *prev && a->id.off != PIECE_ENCODED ? (*prev)->id : a->id;
	if (!*prev && crowded(c, a))
		id = a->larger;
	bool others_first = c->waiting && c->waiting != w,
	     share = has_share(c, a, id.len + PIECE_COST);
	if (others_first || !share || !room_for(c, id.len + PIECE_COST, a->hurry)) {
		if (!*prev)
			return wait_for_room(c, a, w, share);
		unpin(c, *prev); /* whoever waits for memory holds none */
		*prev = NULL;
		return 0;
	}
	struct piece *p = insert(c, &id, *prev, a->loading);
	if (!p)
		return err_set(-ENOMEM, "no memory for a cached chunk");
	p->used = a->hurry != CACHE_PREFETCH;
	p->touched = a->now;
	p->pins += a->keep;
	*prev = NULL;
	*ret = p;
	return CACHE_CREATED;
}

/* Does a piece answer as it is? */
static bool
usable(const struct piece *p, const struct cache_ask *a)
{
	return p->state == PIECE_LOADING || p->checked >= a->fresh;
}

static int
take_found(struct cache *c, const struct cache_ask *a, struct piece *p, struct piece **ret)
{
	int r = p->state == PIECE_READY ? CACHE_READY : CACHE_BUSY;
	if (a->only_new)
		return r;
	p->pins++;
	p->used |= a->hurry != CACHE_PREFETCH;
	touch(c, p, a->now);
	c->hits += r == CACHE_READY;
	*ret = p;
	return r;
}

static int
get_locked(struct cache *c, const struct cache_ask *a, struct piece **ret)
{
	struct piece *prev = NULL;
	struct waiter w = {0};
	int r = 0;
	while (r == 0) {
		struct piece *p = find(c, a);
		if (p && usable(p, a)) {
			r = take_found(c, a, p, ret);
			break;
		}
		if (p) { /* too long unseen: the loader compares it with the store */
			p->pins++;
			drop(c, p);
			if (prev)
				unpin(c, prev);
			prev = p;
		}
		r = create(c, a, &w, &prev, ret);
	}
	if (prev)
		unpin(c, prev);
	stop_waiting(c, &w);
	return r;
}

/* Opens the lock. What is kept for later is inside the budget too. */
static void
close_after_get(struct cache *c)
{
	size_t free_bytes = c->used < c->budget ? c->budget - c->used : 0;
	close_lock(c);
	mem_trim(free_bytes);
}

int
cache_get(struct cache *c, const struct cache_ask *a, struct piece **ret)
{
	pthread_mutex_lock(&c->lock);
	int r = get_locked(c, a, ret);
	close_after_get(c);
	return r;
}

size_t
cache_get_many(struct cache *c, const struct cache_ask *a, size_t n, struct piece **ret, int *found)
{
	size_t i = 0;
	pthread_mutex_lock(&c->lock);
	for (; i < n; i++) {
		assert(a[i].hurry != CACHE_WAIT);
		found[i] = get_locked(c, &a[i], &ret[i]);
		if (found[i] < 0)
			break;
	}
	close_after_get(c);
	return i;
}

int
cache_wait(struct cache *c, struct piece *p, int64_t deadline, struct cancel *cancel)
{
	int r = 0;
	struct err failure;
	pthread_mutex_lock(&c->lock);
	if (p->state == PIECE_LOADING)
		c->waits++;
	while (p->state == PIECE_LOADING && r == 0)
		r = timed_wait(cond_of(c, p), &c->lock, deadline, cancel);
	if (p->state == PIECE_READY)
		r = 0;
	bool failed = p->state == PIECE_FAILED;
	if (failed)
		failure = p->failure ? *p->failure : (struct err){-ENOMEM, "no memory"};
	pthread_mutex_unlock(&c->lock);
	if (failed)
		return err_restore(&failure);
	return r == -ETIMEDOUT ? CACHE_PATIENCE : r;
}

void
piece_fail(struct piece *p, int code)
{
	p->failed = true;
	p->failure = malloc(sizeof *p->failure);
	if (p->failure)
		err_save(code, p->failure);
}

static void
recharge(struct cache *c, struct piece *p)
{
	size_t charge = (p->id.off == PIECE_ENCODED ? p->encoded_len : p->id.len) + PIECE_COST;
	if (!p->data)
		charge = PIECE_COST;
	(p->cold ? &c->cold : &c->hot)->bytes -= p->charge - charge;
	c->used -= p->charge - charge;
	p->charge = charge;
}

static void
finish(struct cache *c, struct piece *p, int64_t now)
{
	if (p->prev)
		unpin(c, p->prev);
	p->prev = NULL;
	p->checked = now;
	p->state = p->failed ? PIECE_FAILED : PIECE_READY;
	if (p->loading)
		*p->loading -= p->charge;
	p->loading = NULL;
	recharge(c, p);
	if (p->failed)
		drop(c, p);
	pthread_cond_broadcast(cond_of(c, p));
	if (c->waiting)
		pthread_cond_broadcast(&c->freed); /* it may take less than was thought */
	unpin(c, p);
}

void
cache_finish(struct cache *c, struct piece *const *p, size_t n)
{
	int64_t now = when_now();
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < n; i++)
		finish(c, p[i], now);
	close_lock(c);
}

void
cache_unpin(struct cache *c, struct piece *const *p, size_t n)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < n; i++)
		unpin(c, p[i]);
	close_lock(c);
}

static void
cool(struct cache *c, const struct piece_id *which)
{
	bool all = which->len == SIZE_MAX, stored = which->off == PIECE_ENCODED;
	for (struct piece *p = *bucket_of(c, which); p; p = p->hash_next) {
		if (p->id.space != which->space || p->id.chunk != which->chunk || p->cold)
			continue;
		bool in = p->id.off == PIECE_ENCODED
				  ? stored
				  : !stored && p->id.off - which->off < which->len;
		if (!all && !in)
			continue;
		list_remove(c, p);
		p->cold = true;
		list_append(c, p);
	}
}

void
cache_cool(struct cache *c, const struct piece_id *which, size_t n)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < n; i++)
		cool(c, &which[i]);
	while (c->cold.bytes > c->cold_max && evict_from(c, &c->cold, true))
		;
	close_lock(c);
}

bool
cache_drop_other(struct cache *c, const struct piece *keep)
{
	bool any = false;
	struct piece *next;
	pthread_mutex_lock(&c->lock);
	for (struct piece *p = *bucket_of(c, &keep->id); p; p = next) {
		next = p->hash_next;
		if (p == keep || p->id.space != keep->id.space || p->id.chunk != keep->id.chunk)
			continue;
		if (p->state != PIECE_READY || !strcmp(p->version, keep->version))
			continue;
		any = true;
		p->pins++;
		drop(c, p);
		unpin(c, p);
	}
	close_lock(c);
	return any;
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
	make_room(c, 0, CACHE_TRY);
	close_after_get(c);
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
	make_room(c, 0, CACHE_TRY);
	close_lock(c);
}

void
cache_count(struct cache *c, struct cache_counts *ret)
{
	LOCKED(&c->lock)
		*ret = (struct cache_counts){c->budget, c->used, c->cold.bytes, c->pieces, c->hits,
			c->waits, c->evicted};
}

size_t
cache_budget(const struct cache *c)
{
	return c->budget;
}

struct cache *
cache_free(struct cache *c)
{
	if (!c)
		return NULL;
	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < BUCKETS; i++)
		while (c->bucket[i]) {
			struct piece *p = c->bucket[i];
			drop(c, p);
			destroy(c, p);
		}
	close_lock(c);
	for (int i = 0; i < CONDS; i++)
		pthread_cond_destroy(&c->loaded[i]);
	pthread_cond_destroy(&c->freed);
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}
