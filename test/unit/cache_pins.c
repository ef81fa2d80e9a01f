/* Pins of the chunk cache, which are given back without its lock: what is dropped goes with its
 * last pin, and no extent goes before. */
#include "check.h"
#include "data/cache_impl.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { BUDGET = 1 << 20, SIZE = 64 << 10, CHUNKS = 24, READERS = 6, ROUNDS = 3000 };

static struct cache *cache;

static struct cache_request
ask_for(uint64_t chunk, int64_t fresh)
{
	return (struct cache_request){
		.id = {1, chunk, 0, SIZE, chunk},
		.hurry = CACHE_WAIT,
		.keep = true,
		.now = clock_now(),
		.fresh = fresh,
		.deadline = clock_now() + 100 * SECOND,
	};
}

/* Pinned; made, full of its number, if it is not there. */
static struct extent *
take(const struct cache_request *a)
{
	struct extent *p = NULL;
	int r = cache_get(cache, a, &p);
	if (r == CACHE_CREATED) {
		p->cap = p->id.len;
		p->data = mem_get(&p->cap);
		memset(p->data, (int)p->id.chunk + 1, p->id.len);
		strcpy(p->version, "1");
		p->begun = clock_now();
		cache_found(cache, p);
		cache_finish(cache, &p, 1);
	} else if (r == CACHE_BUSY) {
		r = cache_wait(cache, p, 0, 0, NULL);
	}
	CHECK(r >= 0);
	return p;
}

static size_t
extents(void)
{
	struct cache_counts n;
	cache_count(cache, &n);
	return n.extents;
}

/* With the lock held by this very thread. */
static void
needs_no_lock(void)
{
	alarm(60);
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	struct cache_request a = ask_for(0, 0);
	struct extent *p[2] = {take(&a), take(&a)};
	CHECK(p[0] == p[1]);
	LOCKED(&cache->lock)
		cache_unpin(cache, p, 2);
	CHECK_INT(extents(), 1);
	cache = cache_free(cache);
	alarm(0);
}

static void
dropped(void)
{
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	struct cache_request a = ask_for(0, 0);
	struct extent *old[2] = {take(&a), take(&a)}, *other;
	a.fresh = a.now = clock_now();
	struct extent *newer = take(&a);
	CHECK(newer != old[0]);
	CHECK_INT(extents(), 2);
	cache_unpin(cache, old, 1);
	CHECK_INT(extents(), 2);
	CHECK_INT(old[1]->data[SIZE - 1], 1);
	cache_unpin(cache, old + 1, 1);
	CHECK_INT(extents(), 1);
	cache_unpin(cache, &newer, 1);
	CHECK_INT(extents(), 1);
	other = take(&a);
	CHECK(other == newer);
	cache_reject(cache, other);
	CHECK_INT(extents(), 0);
	cache = cache_free(cache);
}

static bool
is_whole(const struct extent *p)
{
	for (size_t i = 0; i < SIZE; i += 1000)
		if (p->data[i] != (uint8_t)(p->id.chunk + 1))
			return false;
	return true;
}

/* Of more chunks than there is room for; now and then one that is to be compared again. */
static void *
reader(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg;
	for (unsigned i = 0; i < ROUNDS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		struct cache_request a = ask_for((seed >> 40) % CHUNKS, 0);
		if (seed >> 60 == 0)
			a.fresh = a.now;
		struct extent *p = take(&a);
		CHECK(p && is_whole(p));
		cache_unpin(cache, &p, 1);
	}
	return NULL;
}

static void
many(void)
{
	pthread_t t[READERS];
	struct cache_counts n;
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	for (uintptr_t i = 0; i < READERS; i++)
		pthread_create(&t[i], NULL, reader, (void *)(i + 1));
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(t[i], NULL);
	cache_count(cache, &n);
	CHECK(n.used <= BUDGET);
	cache_borrow(cache, BUDGET); /* none is pinned any more: all go */
	CHECK_INT(extents(), 0);
	cache_give_back(cache, BUDGET);
	cache = cache_free(cache);
}

int
main(void)
{
	needs_no_lock();
	dropped();
	many();
	return check_end();
}
