/* Memory of the chunk cache for many: a thread that needs much gets it although others always need
 * little, and one that waits holds none. */
#include "check.h"
#include "data/cache.h"

#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { BUDGET = 16 << 20, SMALL = 1 << 20, LARGE = 12 << 20, GREEDY = 6 };

static struct cache *cache;
static atomic_bool over;
static atomic_uint begun;

static struct cache_request
ask_for(uint64_t space, uint64_t chunk, size_t len, int64_t fresh)
{
	return (struct cache_request){
		.id = {space, chunk, 0, len, chunk},
		.hurry = CACHE_WAIT,
		.keep = true,
		.now = clock_now(),
		.fresh = fresh,
		.deadline = clock_now() + 20 * SECOND,
	};
}

/* Makes the extent if it is not there, as if it had been loaded. Pinned. */
static int
take(const struct cache_request *a, struct extent **ret)
{
	int r = cache_get(cache, a, ret);
	if (r != CACHE_CREATED)
		return r;
	struct extent *p = *ret;
	p->cap = p->id.len;
	p->data = mem_get(&p->cap);
	strcpy(p->version, "1");
	cache_finish(cache, &p, 1);
	return r;
}

static void *
greedy(void *arg)
{
	uint64_t space = 2 + (uint64_t)(uintptr_t)arg;
	begun++;
	for (uint64_t n = 0; !over; n++) {
		struct extent *p[2];
		for (unsigned i = 0; i < 2; i++) {
			struct cache_request a = ask_for(space, 2 * n + i, SMALL, 0);
			if (i)
				a.hurry = CACHE_TRY;
			if (take(&a, &p[i]) < 0) {
				CHECK(i);
				p[1] = NULL;
			}
		}
		usleep(300);
		cache_unpin(cache, p, p[1] ? 2 : 1);
	}
	return NULL;
}

static void
much_beside_little(void)
{
	pthread_t t[GREEDY];
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	over = false;
	for (uintptr_t i = 0; i < GREEDY; i++)
		pthread_create(&t[i], NULL, greedy, (void *)i);
	int64_t longest = 0;
	while (begun < GREEDY)
		usleep(200);
	for (uint64_t n = 0; n < 30; n++) {
		struct extent *p;
		struct cache_request a = ask_for(1, n, LARGE, 0);
		int64_t before = clock_now();
		CHECK_INT(take(&a, &p), CACHE_CREATED);
		longest = clock_now() - before > longest ? clock_now() - before : longest;
		cache_unpin(cache, &p, 1);
	}
	CHECK(longest < 15 * SECOND);
	over = true;
	for (unsigned i = 0; i < GREEDY; i++)
		pthread_join(t[i], NULL);
	cache = cache_free(cache);
}

/* Extents that are to be compared with the store again need a second one beside them for a
 * while. */
static void *
renew(void *arg)
{
	uint64_t chunk = (uint64_t)(uintptr_t)arg;
	for (unsigned n = 0; n < 20; n++) {
		struct extent *p;
		struct cache_request a = ask_for(1, chunk, 7 << 20, clock_now());
		int r = take(&a, &p);
		CHECK(r > 0);
		if (r > 0)
			cache_unpin(cache, &p, 1);
	}
	return NULL;
}

static void
all_renew_at_once(void)
{
	pthread_t t[4];
	int64_t before = clock_now();
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, renew, (void *)i);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK(clock_now() - before < 60 * SECOND);
	cache = cache_free(cache);
}

static void
borrowed(void)
{
	struct cache_counts n;
	struct extent *p[2];
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct cache_request a = ask_for(1, i, 6 << 20, 0);
		CHECK_INT(take(&a, &p[i]), CACHE_CREATED);
	}
	cache_unpin(cache, p, 1);
	cache_borrow(cache, 8 << 20);
	cache_count(cache, &n);
	CHECK(n.used <= BUDGET);
	CHECK_INT(n.extents, 1);
	struct cache_request more = ask_for(1, 2, 6 << 20, 0);
	more.hurry = CACHE_TRY;
	CHECK_INT(cache_get(cache, &more, &p[0]), -EAGAIN);
	cache_give_back(cache, 8 << 20);
	CHECK_INT(take(&more, &p[0]), CACHE_CREATED);
	cache_unpin(cache, p, 2);
	cache = cache_free(cache);
}

static struct cache_request
ask_chunk(uint64_t chunk, uint64_t off, int64_t fresh, int64_t since)
{
	struct cache_request a = ask_for(9, chunk, 1000, fresh);
	a.id.object = 1;
	a.id.off = a.at = off;
	a.since = since;
	return a;
}

static const char *
version_by(const struct cache_request *a, const char *version)
{
	static char got[ZMAP_VERSION];
	struct extent *p;
	int r = cache_get(cache, a, &p);
	if (r < 0)
		return r == -ESTALE ? "gone" : "failed";
	if (r == CACHE_CREATED) {
		p->cap = p->id.len;
		p->data = mem_get(&p->cap);
		if (!p->superseded)
			strcpy(p->version, version);
		p->begun = clock_now();
		cache_found(cache, p);
		cache_finish(cache, &p, 1);
		if (cache_wait(cache, p, a->since, 0, NULL) == CACHE_OTHER) {
			cache_unpin(cache, &p, 1);
			return "other";
		}
	}
	strcpy(got, p->version);
	cache_unpin(cache, &p, 1);
	return got;
}

/* An extent at off of chunk 1, loaded in `version` if it is not there; a reader since `since` asks,
 * for which what was checked before `fresh` must be compared. Its version, or the code. */
static const char *
version_of(uint64_t off, int64_t fresh, int64_t since, const char *version)
{
	const struct cache_request a = ask_chunk(1, off, fresh, since);
	return version_by(&a, version);
}

/* The same of a chunk of object 1. */
static const char *
version_of_chunk(uint64_t chunk, int64_t fresh, int64_t since, const char *version)
{
	const struct cache_request a = ask_chunk(chunk, 0, fresh, since);
	return version_by(&a, version);
}

static int64_t
moment(void)
{
	usleep(10);
	return clock_now();
}

/* A reader that has some of a version gets the rest of it, for as long as there is any; one that
 * begins later gets what the store has. */
static void
versions(void)
{
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	int64_t early = moment(), late;
	CHECK_STR(version_of(0, 0, early, "one"), "one");
	late = moment();
	CHECK_STR(version_of(0, late, early, "two"), "other");
	CHECK_STR(version_of(0, late, early, "?"), "one");
	CHECK_STR(version_of(1000, late, early, "?"), "one");
	CHECK_STR(version_of(0, late, late, "?"), "two");
	CHECK_STR(version_of(1000, late, late, "two"), "two");

	int64_t third = moment();
	CHECK_STR(version_of(2000, third, third, "three"), "three");
	CHECK_STR(version_of(1000, third, late, "?"), "two");
	CHECK_STR(version_of(2000, third, late, "?"), "two");
	CHECK_STR(version_of(2000, third, early, "?"), "one");
	CHECK_STR(version_of(0, third, third, "three"), "three");

	struct extent *p;
	struct cache_request a = ask_for(8, 1, BUDGET, 0); /* all others have to go */
	CHECK_INT(take(&a, &p), CACHE_CREATED);
	cache_unpin(cache, &p, 1);
	CHECK_STR(version_of(0, third, early, "?"), "one");
	for (unsigned i = 0; i < 70; i++) { /* not all of them are remembered */
		char name[8];
		int64_t next = moment();
		snprintf(name, sizeof name, "%u", i);
		CHECK_STR(version_of(0, next, next, name), name);
	}
	CHECK_STR(version_of(0, third, early, "?"), "gone");
	cache = cache_free(cache);
}

/* Where very many old versions are remembered, only the last one of an object that changes is. */
static void
versions_of_many_objects(void)
{
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	const int64_t early = moment();
	CHECK_STR(version_of(0, 0, early, "one"), "one");
	for (unsigned i = 0; i < 256 * 65; i++) {
		struct cache_request a = ask_chunk(2 + i / 65, 0, clock_now(), clock_now());
		char name[16];
		a.id.object = a.id.chunk;
		snprintf(name, sizeof name, "%u", i);
		CHECK_STR(version_by(&a, name), name);
	}
	CHECK_STR(version_of(0, early, early, "one"), "one");
	const int64_t late = moment();
	CHECK_STR(version_of(0, late, late, "two"), "two");
	CHECK_STR(version_of(0, moment(), clock_now(), "three"), "three");
	CHECK_STR(version_of(0, late, early, "?"), "gone");
	cache = cache_free(cache);
}

static void
evict_all(void)
{
	struct extent *p;
	struct cache_request a = ask_for(8, 1, BUDGET, 0);
	CHECK_INT(take(&a, &p), CACHE_CREATED);
	cache_unpin(cache, &p, 1);
}

/* Of a shard a reader gets the rest of each chunk that it may have some of, evicted or not; the
 * other chunks are what the store has. `many` such chunks: there is a range of them. */
static void
versions_of_chunks(uint64_t many, bool evicted, bool forgotten)
{
	const char *last = forgotten ? "69" : "two";
	const struct extent_id some = {9, 100, 0, 1000, 1}, none = {9, 200, 0, 1000, 1};
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	int64_t early = moment();
	for (uint64_t i = 0; i < many; i++)
		CHECK_STR(version_of_chunk(100 - 2 * i, early, early, "one"), "one");
	if (evicted)
		evict_all();
	int64_t late = moment();
	CHECK_STR(version_of_chunk(7, late, early, "two"), "two");
	for (unsigned i = 0; i < forgotten * 70; i++) {
		char name[16];
		int64_t next = moment();
		snprintf(name, sizeof name, "%u", i);
		CHECK_STR(version_of_chunk(7, next, next, name), name);
	}
	for (uint64_t i = 0; i < many; i++)
		CHECK_STR(version_of_chunk(100 - 2 * i, late, early, "?"),
			forgotten ? "gone" : "one");
	CHECK_STR(version_of_chunk(7, 0, early, "?"), forgotten ? "gone" : "two");
	CHECK_STR(version_of_chunk(200, late, early, last), last);
	CHECK_STR(version_of_chunk(100, late, moment(), last), last);

	late = moment();
	CHECK(!cache_keep(cache, &some, early, late)); /* it has another version now */
	CHECK(cache_keep(cache, &none, early, late));
	if (evicted)
		evict_all();
	CHECK_STR(version_of_chunk(7, moment(), late, "three"), "three");
	CHECK_STR(version_of_chunk(200, 0, late, "?"), last);
	CHECK_STR(version_of_chunk(100, 0, late, "three"), "three");
	cache = cache_free(cache);
}

/* An extent at off of chunk 1 whose load begins: no reader waits for it yet. */
static struct extent *
begin_load(uint64_t off, int64_t since)
{
	struct extent *p = NULL;
	struct cache_request a = ask_for(9, 1, 1000, 0);
	a.id.off = a.at = off;
	a.since = since;
	CHECK_INT(cache_get(cache, &a, &p), CACHE_CREATED);
	p->begun = clock_now();
	return p;
}

static void
found_load(struct extent *p, const char *version)
{
	p->cap = p->id.len;
	p->data = mem_get(&p->cap);
	strcpy(p->version, version);
	cache_found(cache, p);
}

/* The loads of a batch end together, and the chunk of the first may have been replaced by then:
 * what another load found counts. */
static void
replaced_before_the_end(void)
{
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	int64_t since = moment();
	struct extent *p = begin_load(0, since);
	found_load(p, "one");
	int64_t late = moment();
	CHECK_STR(version_of(1000, 0, late, "two"), "two");
	cache_finish(cache, &p, 1);
	CHECK_INT(cache_wait(cache, p, since, 0, NULL), 0);
	CHECK_STR(version_of(1000, 0, since, "?"), "one");
	CHECK_STR(version_of(0, 0, late, "two"), "two");
	cache_unpin(cache, &p, 1);

	p = begin_load(2000, since = moment());
	found_load(p, "two");
	CHECK_STR(version_of(1000, since, since, "three"), "three");
	cache_finish(cache, &p, 1);
	CHECK_INT(cache_wait(cache, p, since, 0, NULL), CACHE_OTHER);
	CHECK_STR(version_of(2000, 0, since, "three"), "three");
	cache_unpin(cache, &p, 1);
	cache = cache_free(cache);
}

/* What a load found held when it asked the store, not when it ended. */
static void
slow_load(void)
{
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	int64_t since = moment();
	struct extent *p = begin_load(0, since);
	int64_t fresh = moment();
	found_load(p, "one");
	cache_finish(cache, &p, 1);
	CHECK_STR(version_of(0, fresh, fresh, "two"), "two");
	cache_unpin(cache, &p, 1);
	cache = cache_free(cache);
}

/* A reader that comes after a refresh is not given what was asked for before it. */
static void
refreshed(void)
{
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	int64_t early = moment();
	struct extent *p = begin_load(0, early);
	cache_expire(cache);
	int64_t late = moment();
	CHECK_STR(version_of(0, 0, late, "two"), "two");
	found_load(p, "one");
	cache_finish(cache, &p, 1);
	CHECK_INT(cache_wait(cache, p, early, 0, NULL), CACHE_OTHER);
	CHECK_STR(version_of(0, 0, early, "?"), "two");
	cache_unpin(cache, &p, 1);

	cache_expire(cache);
	p = begin_load(0, early = moment());
	cache_expire(cache);
	struct extent *q = begin_load(0, moment());
	found_load(p, "two");
	cache_finish(cache, &p, 1);
	CHECK_INT(cache_wait(cache, p, early, 0, NULL), 0); /* it may have some of it now */
	late = moment();
	found_load(q, "three");
	cache_finish(cache, &q, 1);
	CHECK_STR(version_of(0, 0, late, "?"), "three");
	CHECK_STR(version_of(1000, 0, early, "?"), "two");
	cache_unpin(cache, &p, 1);
	cache_unpin(cache, &q, 1);
	cache = cache_free(cache);
}

/* A reader that began before waits for a version that is the store's no more, while this mount puts
 * another: it has all of that version, as if it had been quicker. No reader has it after that. */
static void
put_meanwhile(void)
{
	const struct extent_id id = {9, 1, 0, 1000, 1};
	struct object *o = NULL;
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	int64_t early = moment();
	CHECK_STR(version_of(0, early, early, "one"), "one");
	int64_t late = moment();
	CHECK_STR(version_of(0, late, late, "two"), "two");
	struct extent *p = begin_load(1000, early);
	CHECK(p->superseded);
	CHECK_INT(cache_put_begin(cache, &id, &o), 0);
	cache_put_end(cache, o, "three");
	CHECK_STR(version_of(1000, 0, early, "?"), "gone");
	CHECK_STR(version_of(1000, 0, moment(), "three"), "three");
	p->cap = p->id.len;
	p->data = mem_get(&p->cap);
	cache_found(cache, p);
	cache_finish(cache, &p, 1);
	CHECK_INT(cache_wait(cache, p, early, 0, NULL), 0);
	CHECK_STR(p->version, "one");
	CHECK_STR(version_of(1000, 0, early, "?"), "gone");
	CHECK_STR(version_of(1000, 0, moment(), "?"), "three");
	cache_unpin(cache, &p, 1);
	cache = cache_free(cache);
}

/* What is wanted at once, and does not fit: one such extent is beside the budget, until the next
 * takes its place. */
static void
beside(void)
{
	struct cache_counts n;
	struct extent *small, *one, *two, *newer;
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	struct cache_request full = ask_for(1, 0, LARGE, 0);
	CHECK_INT(take(&full, &small), CACHE_CREATED);
	struct cache_request a = ask_for(2, 0, LARGE, 0), b = ask_for(2, 1, LARGE, 0);
	a.hurry = b.hurry = CACHE_TRY;
	CHECK_INT(take(&a, &one), -EAGAIN);
	a.beside = b.beside = true;
	CHECK_INT(take(&a, &one), CACHE_CREATED);
	cache_count(cache, &n);
	CHECK(n.used <= BUDGET);
	CHECK_INT(n.extents, 2);
	CHECK_INT(take(&b, &two), -EAGAIN); /* the other is in use */
	cache_unpin(cache, &one, 1);
	cache_borrow(cache, LARGE); /* nothing is gained by evicting it */
	cache_give_back(cache, LARGE);
	a.now = a.fresh = clock_now();
	CHECK_INT(take(&a, &newer), CACHE_CREATED);
	cache_unpin(cache, &newer, 1);
	CHECK_INT(take(&b, &two), CACHE_CREATED);
	cache_count(cache, &n);
	CHECK(n.used <= BUDGET);
	CHECK_INT(n.extents, 2);
	a.fresh = 0;
	a.only_there = true;
	CHECK_INT(cache_get(cache, &a, &one), -ENOENT);
	cache_unpin(cache, &two, 1);
	cache_unpin(cache, &small, 1);
	CHECK_INT(take(&full, &small), CACHE_READY);
	cache_unpin(cache, &small, 1);
	cache = cache_free(cache);
}

int
main(void)
{
	much_beside_little();
	beside();
	all_renew_at_once();
	borrowed();
	versions();
	versions_of_many_objects();
	for (unsigned how = 0; how < 8; how++)
		versions_of_chunks(how & 4 ? 40 : 2, how & 1, how & 2);
	replaced_before_the_end();
	slow_load();
	refreshed();
	put_meanwhile();
	return check_end();
}
