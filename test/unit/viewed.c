/* What a handle has seen lately, against an array of bytes with a flag each: nothing but that, and
 * the last bytes for sure. */
#include "check.h"

#include "view/image/viewed.h"

enum { SIZE = 200000, MOST = 30000, STEPS = 2000, LATELY = 12000 };

static uint8_t want[SIZE];
static bool noted[SIZE];
static uint32_t seed = 5;

int
main(void)
{
	struct viewed s = {.most = MOST};
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
