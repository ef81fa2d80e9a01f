/* What was written where, against an array of bytes with a flag each. */
#include "check.h"

#include "view/image/held.h"

enum { SIZE = 40000, STEPS = 4000 };

static uint8_t want[SIZE];
static bool written[SIZE];
static uint32_t seed = 9;

static void
check_all(const struct held *o)
{
	static uint8_t got[SIZE];
	uint64_t at = 0, from, to;
	memset(got, 0, SIZE);
	held_lay(o, 0, SIZE, got);
	CHECK_MEM(got, want, SIZE);
	size_t last = 0;
	while (held_run(o, at, SIZE, &from, &to)) {
		CHECK(from < to && to <= SIZE);
		for (uint64_t i = at; i < to; i++)
			if (written[i] != (i >= from))
				CHECK(written[i] == (i >= from));
		CHECK(held_has(o, from, to));
		CHECK(to == SIZE || !held_has(o, from, to + 1));
		last = to;
		at = to;
	}
	for (uint64_t i = at; i < SIZE; i++)
		if (written[i])
			CHECK(!written[i]);
	CHECK_INT(held_end(o), last);
}

int
main(void)
{
	struct held o = {0};
	for (int i = 0; i < STEPS && !check_failed; i++) {
		static uint8_t bytes[SIZE];
		uint32_t most = check_random(&seed) % 5 ? 300 : 9000;
		uint32_t at = check_random(&seed) % SIZE, n = check_random(&seed) % most;
		n = n > SIZE - at ? SIZE - at : n;
		if (check_random(&seed) % 3) {
			for (uint32_t k = 0; k < n; k++)
				want[at + k] = bytes[k] = (uint8_t)check_random(&seed);
			memset(written + at, true, n);
			CHECK_INT(held_put(&o, at, (struct span){bytes, n}, NULL), 0);
		} else {
			n = i % 50 ? n : SIZE - at;
			memset(want + at, 0, n);
			memset(written + at, false, n);
			held_drop(&o, at, at + n);
		}
		if (i % 8 == 0)
			check_all(&o);
		static uint8_t part[SIZE];
		memset(part, 0, n);
		held_lay(&o, at, n, part);
		CHECK_MEM(part, want + at, n);
	}
	held_drop(&o, 0, SIZE);
	CHECK_INT(o.pages, 0);
	held_free(&o);
	return check_end();
}
