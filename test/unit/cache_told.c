/* A change of an object is noted by all that have it open before any load hands out what is new. */
#include "check.h"
#include "data/cache_impl.h"

#include <string.h>

enum { SIZE = 4096, BUDGET = 1 << 20, LOADS = 6 };

static struct cache *cache;

/* An extent of one object that is loaded now. */
static struct extent *
found_in(uint64_t chunk, const char *version, uint64_t *ret_changes)
{
	const struct cache_request a = {
		.id = {1, chunk, 0, SIZE, 1}, .hurry = CACHE_TRY, .now = clock_now()};
	struct extent *p = NULL;
	CHECK_INT(cache_get(cache, &a, &p), CACHE_CREATED);
	strcpy(p->version, version);
	p->begun = clock_now();
	*ret_changes = cache_found(cache, p);
	return p;
}

int
main(void)
{
	struct extent *p[LOADS];
	uint64_t changes[LOADS];
	CHECK_INT(cache_new(BUDGET, false, &cache), 0);
	p[0] = found_in(0, "one", &changes[0]);
	p[1] = found_in(1, "two", &changes[1]);
	p[2] = found_in(2, "two", &changes[2]);
	p[3] = found_in(3, "three", &changes[3]);
	cache_told(cache, p[1], changes[1]); /* of the second, not of the third */
	p[4] = found_in(4, "three", &changes[4]);
	cache_told(cache, p[4], changes[4]);
	p[5] = found_in(5, "three", &changes[5]);
	CHECK_INT(changes[0], 0);
	CHECK(changes[1] && changes[2] == changes[1]);
	CHECK(changes[3] > changes[1] && changes[4] == changes[3]);
	CHECK_INT(changes[5], 0);
	cache_finish(cache, p, LOADS);
	cache = cache_free(cache);
	return check_end();
}
