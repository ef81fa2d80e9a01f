#include "data/cache_impl.h"

#include "base/check.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Bytes of the one extent beside the budget. */
enum { BESIDE_MOST = 32 << 20 };

/* There is room for extents of so many bytes from the beginning: a table that grows stops readers.
 */
enum { SMALL_CHUNK = 16 << 10 };

int
cache_new(size_t budget, bool remote, struct cache **ret)
{
	struct cache *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(-ENOMEM, "no memory for the chunk cache");
	c->budget = budget;
	mem_limit(budget);
	c->lend = budget / CACHE_LEND;
	map_reserve(&c->by_chunk, budget / SMALL_CHUNK);
	/* What a reader in file order has passed stays for a moment, for requests that overtake
	 * each other, and so that memory is used again while it is still in the processor's
	 * caches. */
	c->cold_max = min_u64(budget / 8, 8 << 20);
	c->victim_max = remote ? budget / 4 : c->cold_max;
	pthread_mutex_init(&c->lock, NULL);
	for (int i = 0; i < CACHE_CONDS; i++)
		clock_cond_init(&c->loaded[i]);
	clock_cond_init(&c->freed);
	clock_cond_init(&c->put);
	*ret = c;
	return 0;
}

/* Does an extent hold what is asked for? */
static bool
holds(const struct extent *p, const struct cache_request *a)
{
	if (a->id.off == EXTENT_ENCODED || p->id.off == EXTENT_ENCODED)
		return a->id.off == p->id.off;
	return a->at - p->id.off < p->id.len;
}

/* An extent of the version that was the store's until then. */
static struct extent *
find(struct cache *c, const struct cache_request *a, int64_t until)
{
	struct extent *p = table_next(c, &a->id, NULL);
	while (p && (p->until != until || !holds(p, a)))
		p = table_next(c, &a->id, p);
	return p;
}

/* Are more extents of the chunk cached than are worth having one by one? */
static bool
crowded(struct cache *c, const struct cache_request *a)
{
	unsigned n = 0;
	if (!a->larger.len)
		return false;
	for (struct extent *p = NULL; (p = table_next(c, &a->id, p));)
		n++;
	return n >= a->crowd;
}

/* What was there before: of the store's version, to be compared with it, pinned; of which other
 * version the extent must be. */
struct before {
	struct extent *prev;
	const struct old_version *old;
};

/* Makes the extent that a asks for; it or the caller keeps prev. 0: the lock was open for a while,
 * look again. */
static int
create(struct cache *c, const struct cache_request *a, struct waiter *w, struct before *before,
	struct extent **ret)
{
	struct extent **prev = &before->prev;
	struct extent_id id = *prev && a->id.off != EXTENT_ENCODED ? (*prev)->id : a->id;
	if (!*prev && crowded(c, a))
		id = a->larger;
	bool others_first = c->waiting && c->waiting != w,
	     share = room_share(c, a, extent_charge(id.len));
	bool room = !others_first && share && room_for(c, extent_charge(id.len), a->hurry),
	     beside = !room && a->beside && id.len <= BESIDE_MOST && room_beside(c, *prev);
	if (!room && !beside) {
		if (!*prev)
			return room_wait(c, a, w, share);
		table_unpin(c, *prev); /* a request that waits for memory holds none */
		*prev = NULL;
		return 0;
	}
	struct extent *p = table_insert(c, &id, *prev, a->loading);
	if (!p)
		return err_set(-ENOMEM, "no memory for a cached chunk");
	if (beside)
		room_put_beside(c, p);
	if (a->hurry != CACHE_PREFETCH)
		table_use(c, p);
	p->touched = p->asked = a->now;
	if (a->keep)
		extent_pin(p);
	p->given = p->used && !a->of ? a->now : 0;
	version_begin(p, before->old);
	*prev = NULL;
	*ret = p;
	return CACHE_CREATED;
}

/* Does an extent answer as it is? */
static bool
usable(const struct cache *c, const struct extent *p, const struct cache_request *a)
{
	if (p->until != EXTENT_CURRENT)
		return true;
	if (p->state == EXTENT_LOADING)
		return p->asked >= c->expired && p->asked >= a->begun;
	return p->checked >= a->fresh && p->checked >= c->expired;
}

static int
take_found(struct cache *c, const struct cache_request *a, struct extent *p, struct extent **ret)
{
	int r = p->state == EXTENT_READY ? CACHE_READY : CACHE_BUSY;
	if (r == CACHE_BUSY && atomic_load(&p->left))
		atomic_store(&p->left, false);
	if (a->only_new)
		return r;
	extent_pin(p);
	if (a->hurry != CACHE_PREFETCH)
		table_use(c, p);
	bool given = a->hurry != CACHE_PREFETCH && !a->of;
	if (p->until == EXTENT_CURRENT && given && a->now > p->given)
		p->given = a->now;
	table_touch(p, a->now);
	c->hits += r == CACHE_READY;
	*ret = p;
	return r;
}

/* In which version the extent must be; p: what there is of the store's, or NULL. */
static int
choose(struct cache *c, const struct cache_request *a, const struct extent *p,
	const struct old_version **ret)
{
	*ret = NULL;
	if (a->of)
		return version_of(a->of, ret);
	if (p && (!p->former || p->former < a->since))
		return 0;
	int r = version_for(c, &a->id, a->since, ret);
	if (r == 0 && !*ret && p)
		r = err_set(-ESTALE, "a version of a chunk is forgotten");
	return r;
}

static int
get_locked(struct cache *c, const struct cache_request *a, struct extent **ret)
{
	struct before before = {.prev = NULL};
	struct waiter w = {0};
	int r = 0;
	while (r == 0) {
		struct extent *p = find(c, a, EXTENT_CURRENT);
		r = choose(c, a, p, &before.old);
		if (r < 0)
			break;
		if (before.old)
			p = find(c, a, before.old->until);
		if (p && usable(c, p, a)) {
			r = take_found(c, a, p, ret);
			break;
		}
		if (a->only_there) {
			r = -ENOENT;
			break;
		}
		if (p && p->state == EXTENT_READY) { /* the loader compares it with the store */
			extent_pin(p);
			if (before.prev)
				table_unpin(c, before.prev);
			before.prev = p;
		}
		if (p)
			table_drop(c, p);
		r = create(c, a, &w, &before, ret);
	}
	if (before.prev)
		table_unpin(c, before.prev);
	room_stop_waiting(c, &w);
	return r;
}

int
cache_get(struct cache *c, const struct cache_request *a, struct extent **ret)
{
	pthread_mutex_lock(&c->lock);
	int r = get_locked(c, a, ret);
	cache_unlock(c);
	return r;
}

/* Calls for what later looks of many will be at: a bucket, then the extent that it leads to. */
static void
look_soon(struct cache *c, const struct cache_request *a, size_t left)
{
	enum { SOON = 4 };
	if (left > 2 * SOON)
		__builtin_prefetch(map_bucket(&c->by_chunk, table_hash(&a[2 * SOON].id)));
	if (left <= SOON)
		return;
	struct map_entry *e = *map_bucket(&c->by_chunk, table_hash(&a[SOON].id));
	if (!e)
		return;
	const struct extent *p = MAP_OF(e, struct extent, by_chunk);
	__builtin_prefetch(p);
	__builtin_prefetch(&p->state, 1);
}

size_t
cache_get_many(
	struct cache *c, const struct cache_request *a, size_t n, struct extent **ret, int *found)
{
	size_t i = 0;
	pthread_mutex_lock(&c->lock);
	for (; i < n; i++) {
		assert(a[i].hurry != CACHE_WAIT);
		look_soon(c, &a[i], n - i);
		found[i] = get_locked(c, &a[i], &ret[i]);
		if (found[i] < 0)
			break;
	}
	cache_unlock(c);
	return i;
}

int
cache_wait(
	struct cache *c, struct extent *p, int64_t since, int64_t deadline, struct cancel *cancel)
{
	int r = 0;
	struct err failure;
	pthread_mutex_lock(&c->lock);
	if (p->state == EXTENT_LOADING)
		c->waits++;
	while (p->state == EXTENT_LOADING && r == 0)
		r = wait_moment(table_cond(c, p), &c->lock, deadline, cancel);
	if (p->state == EXTENT_READY)
		r = version_suits(c, p, since) ? 0 : CACHE_OTHER;
	bool failed = p->state == EXTENT_FAILED;
	if (failed)
		failure = p->failure ? *p->failure : (struct err){-ENOMEM, "no memory"};
	pthread_mutex_unlock(&c->lock);
	if (failed)
		return err_restore(&failure);
	return r == -ETIMEDOUT ? CACHE_PATIENCE : r;
}

void
extent_fail(struct extent *p, int code)
{
	p->failed = true;
	p->failure = malloc(sizeof *p->failure);
	if (p->failure)
		err_save(code, p->failure);
}

static void
recharge(struct cache *c, struct extent *p)
{
	size_t charge = (p->data ? p->cap : 0) + EXTENT_COST;
	if (p == c->beside)
		return;
	if (!extent_dropped(p))
		p->list->bytes -= p->charge - charge;
	c->used -= p->charge - charge;
	p->charge = charge;
}

static void
finish(struct cache *c, struct extent *p)
{
	if (p->prev)
		table_unpin(c, p->prev);
	p->prev = NULL;
	p->checked = p->begun;
	p->state = p->failed ? EXTENT_FAILED : EXTENT_READY;
	version_ready(p);
	if (p->loading)
		*p->loading -= p->charge;
	p->loading = NULL;
	recharge(c, p);
	if (p->failed)
		table_drop(c, p);
	pthread_cond_broadcast(table_cond(c, p));
	if (c->waiting)
		pthread_cond_broadcast(&c->freed); /* it may take less than was thought */
	table_unpin(c, p);
}

void
cache_finish(struct cache *c, struct extent *const *p, size_t n)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < n; i++)
		finish(c, p[i]);
	room_make(c, 0, CACHE_TRY); /* some may have taken more than was thought */
	cache_unlock(c);
}

void
cache_unpin(struct cache *c, struct extent *const *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned left = extent_unpin(p[i]);
		if (left != EXTENT_DROPPED && (left || !atomic_load(&c->awaited)))
			continue;
		pthread_mutex_lock(&c->lock);
		table_unpinned(c, p[i], left);
		cache_unlock(c);
	}
}

void
cache_reject(struct cache *c, struct extent *p)
{
	pthread_mutex_lock(&c->lock);
	table_drop(c, p);
	table_unpin(c, p);
	cache_unlock(c);
}

static void
make_cold(struct cache *c, const struct extent_id *which, enum cold how)
{
	bool all = which->len == SIZE_MAX, stored = which->off == EXTENT_ENCODED;
	for (struct extent *p = NULL; (p = table_next(c, which, p));) {
		if (p->list == &c->cold || p->list == &c->victim)
			continue;
		bool in = p->id.off == EXTENT_ENCODED
				  ? stored
				  : !stored && p->id.off - which->off < which->len;
		if ((!all && !in) || (how & COLD_UNREAD && p->used))
			continue;
		if (how & COLD_LEFT)
			atomic_store(&p->left, true);
		table_make_cold(c, p, p->id.off == EXTENT_ENCODED || how & COLD_RAW);
	}
}

void
cache_make_cold(struct cache *c, const struct extent_id *which, size_t n, enum cold how)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < n; i++)
		make_cold(c, &which[i], how);
	while (c->cold.bytes > c->cold_max && room_evict(c, &c->cold))
		;
	while (c->victim.bytes > c->victim_max && room_evict(c, &c->victim))
		;
	cache_unlock(c);
}

void
cache_count(struct cache *c, struct cache_counts *ret)
{
	LOCKED(&c->lock)
		*ret = (struct cache_counts){c->budget, c->used, c->cold.bytes + c->victim.bytes,
			c->extents, c->hits, c->waits, c->evicted};
}

size_t
cache_budget(const struct cache *c)
{
	return c->budget;
}

void
cache_expire(struct cache *c)
{
	LOCKED(&c->lock)
		c->expired = clock_now();
}

struct cache *
cache_free(struct cache *c)
{
	if (!c)
		return NULL;
	pthread_mutex_lock(&c->lock);
	for (struct map_entry *e = map_walk(&c->by_chunk, NULL), *next; e; e = next) {
		struct extent *p = MAP_OF(e, struct extent, by_chunk);
		next = map_walk(&c->by_chunk, e);
		atomic_store(&p->pins, 0);
		table_drop(c, p);
	}
	cache_unlock(c);
	map_done(&c->by_chunk);
	for (int i = 0; i < CACHE_CONDS; i++)
		pthread_cond_destroy(&c->loaded[i]);
	pthread_cond_destroy(&c->freed);
	pthread_cond_destroy(&c->put);
	objects_free(c);
	pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}
