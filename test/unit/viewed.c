/* What a handle has seen lately, against an array of bytes with a flag each: nothing but that, and
 * the last bytes for sure. */
#include "check.h"

#include "view/image/viewed.h"

enum { SIZE = 200000, MOST = 30000, STEPS = 2000, LATELY = 12000 };

static uint8_t want[SIZE];
static bool noted[SIZE];
static uint32_t seed = 5;

/* Many handles together take no more than what all may, and a little for each. */
static void
test_all(void)
{
	enum { HANDLES = 20, ALL = 1 << 20, EACH = 3 << 20, PIECE = 300000 };
	struct viewed_all all = {.most = ALL};
	struct viewed s[HANDLES] = {0};
	static uint8_t bytes[PIECE];
	for (int i = 0; i < HANDLES; i++) {
		s[i].most = MOST;
		s[i].all = &all;
		for (uint64_t at = 0; at < EACH; at += PIECE)
			viewed_note(&s[i], at, (struct span){bytes, PIECE});
		CHECK(viewed_has(&s[i], EACH - 1000, EACH));
	}
	CHECK(atomic_load(&all.bytes) < ALL + HANDLES * PIECE * 5 / 2);
	for (int i = 0; i < HANDLES; i++)
		viewed_free(&s[i]);
	CHECK_INT(atomic_load(&all.bytes), 0);
}

int
main(void)
{
	struct viewed s = {.most = MOST};
	test_all();
	for (int i = 0; i < STEPS && !check_failed; i++) {
		uint32_t n = 1 + check_random(&seed) % LATELY,
			 at = check_random(&seed) % (SIZE - n);
		static uint8_t got[SIZE];
		for (uint32_t k = 0; k < n; k++)
			want[at + k] = (uint8_t)check_random(&seed);
		memset(noted + at, true, n);
		viewed_note(&s, at, (struct span){want + at, n});
		CHECK(viewed_has(&s, at, at + n));
		CHECK(held_bytes(&s.young) <= MOST + 2 * LATELY);
		for (uint32_t k = 0; k < SIZE; k++)
			got[k] = want[k] ^ 1;
		viewed_lay(&s, 0, SIZE, got);
		for (uint32_t k = 0; k < SIZE; k++) {
			if (got[k] == want[k] && !noted[k])
				CHECK(noted[k]);
			if (got[k] != want[k] && got[k] != (want[k] ^ 1))
				CHECK_INT(got[k], want[k]);
		}
		CHECK(n < 100 || !memcmp(got + at, want + at, n));
	}
	viewed_of(&s, 1);
	CHECK(!viewed_has(&s, 0, 1) && !s.young.pages && !s.old.pages);
	viewed_free(&s);
	return check_end();
}
