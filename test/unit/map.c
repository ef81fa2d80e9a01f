/* Things by a hash, also where there is no memory for a table. */
#include "check.h"

#include "base/hash.h"
#include "base/map.h"

#include <stdlib.h>

enum { MANY = 1000 };

struct thing {
	uint64_t number;
	struct map_entry entry;
	bool seen;
};

static struct thing *
find(const struct map *m, uint64_t number, uint64_t hash)
{
	for (struct map_entry *e = map_first(m, hash); e; e = map_next(e)) {
		struct thing *t = MAP_OF(e, struct thing, entry);
		if (t->number == number)
			return t;
	}
	return NULL;
}

/* few: many numbers have one hash. */
static uint64_t
hash_of(uint64_t number, bool few)
{
	return hash_end(few ? number % 3 : number);
}

/* The newest of a hash first, however often the table grew since. */
static void
check_order(const struct map *m, uint64_t hash)
{
	uint64_t last = MANY;
	for (struct map_entry *e = map_first(m, hash); e; e = map_next(e)) {
		const struct thing *t = MAP_OF(e, struct thing, entry);
		CHECK(t->number < last);
		last = t->number;
	}
	CHECK_INT(last, 0);
}

static void
test_all(bool few)
{
	struct map m = {0};
	struct thing *t = calloc(MANY, sizeof *t);
	CHECK(!map_first(&m, 0) && !map_walk(&m, NULL));
	for (unsigned i = 0; i < MANY; i++) {
		t[i].number = i;
		map_add(&m, &t[i].entry, hash_of(i, few));
	}
	CHECK_INT(m.n, MANY);
	for (unsigned i = 0; i < MANY; i++)
		CHECK(find(&m, i, hash_of(i, few)) == &t[i]);
	CHECK(!find(&m, MANY, hash_of(MANY, few)));
	check_order(&m, hash_of(0, few));
	size_t walked = 0;
	for (struct map_entry *e = map_walk(&m, NULL), *next; e; e = next) {
		struct thing *of = MAP_OF(e, struct thing, entry);
		next = map_walk(&m, e);
		CHECK(!of->seen);
		of->seen = true;
		walked++;
		if (of->number % 2)
			map_remove(&m, e);
	}
	CHECK_INT(walked, MANY);
	for (unsigned i = 0; i < MANY; i++)
		CHECK(!find(&m, i, hash_of(i, few)) == (i % 2 == 1));
	CHECK_INT(m.n, MANY / 2);
	map_done(&m);
	free(t);
}

/* A table that could not be made: all are in one bucket, until one can be. */
static void
test_without_table(void)
{
	struct map m = {0};
	struct thing t[3] = {{.number = 0}, {.number = 1}, {.number = 2}};
	for (unsigned i = 0; i < 2; i++) { /* as map_add does where there is no memory */
		t[i].entry = (struct map_entry){m.only, hash_of(i, false)};
		m.only = &t[i].entry;
		m.n++;
	}
	CHECK(find(&m, 0, hash_of(0, false)) == &t[0]);
	CHECK(map_walk(&m, map_walk(&m, NULL)) == &t[0].entry);
	map_add(&m, &t[2].entry, hash_of(2, false));
	CHECK(m.buckets && !m.only);
	for (unsigned i = 0; i < 3; i++)
		CHECK(find(&m, i, hash_of(i, false)) == &t[i]);
	map_remove(&m, &t[1].entry);
	CHECK(!find(&m, 1, hash_of(1, false)));
	map_done(&m);
}

int
main(void)
{
	test_all(false);
	test_all(true);
	test_without_table();
	return check_end();
}
