/* Numbers of what chunks mean: a name keeps its own while an array has it, and for some time. */
#include "check.h"

#include "data/space.h"

#include <stdio.h>
#include <string.h>

enum { LONG = 4000, MANY = SPACES_IDLE / LONG + 1 };

static struct spaces *spaces;

static struct space *
get(const char *name, uint64_t extent, uint64_t *ret, int64_t *ret_grown)
{
	struct space *e = NULL;
	CHECK_INT(
		spaces_get(spaces, &(struct space_name){name, strlen(name), extent}, &e, ret_grown),
		0);
	*ret = space_number(e);
	return e;
}

static uint64_t
number(const char *name)
{
	uint64_t n = 0;
	int64_t grown;
	spaces_put(spaces, get(name, 1, &n, &grown));
	return n;
}

static void
number_many(void)
{
	char name[LONG];
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "%0*u", LONG - 1, i);
		number(name);
	}
}

int
main(void)
{
	uint64_t used, now;
	int64_t grown;
	CHECK_INT(spaces_new(&spaces), 0);
	struct space *in_use = get("in use", 10, &used, &grown);
	CHECK_INT(grown, 0);
	spaces_put(spaces, get("in use", 11, &now, &grown));
	CHECK_INT(now, used);
	CHECK(grown > 0);

	const uint64_t idle = number("idle"), kept = number("kept");
	CHECK(idle != kept && idle != used);
	CHECK_INT(number("idle"), idle);
	struct space *e = get("kept", 1, &now, &grown);
	spaces_keep(spaces, e);
	spaces_keep(spaces, e);
	spaces_put(spaces, e);

	number_many();
	const uint64_t again = number("idle");
	CHECK(again > kept); /* it was forgotten, and no name has its number */
	CHECK_INT(number("kept"), kept);
	spaces_put(spaces, get("in use", 11, &now, &grown));
	CHECK_INT(now, used);
	spaces_put(spaces, in_use);
	CHECK_INT(number("in use"), used);
	CHECK_INT(number("idle"), again);
	spaces_free(spaces);
	return check_end();
}
