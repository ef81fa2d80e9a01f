/* Where a reader's next points are sought: of all that the kernel can show of one that goes on by
 * whole indices, in pages or as it asks. And which readers are in file order. */
#include "check.h"

#include "data/scan.h"

enum { PAGE = 4096, STEPS = 90, SEEN = 6, AHEAD = 8 };

/* From byte `first` on, `by` bytes at a time. Returns how many of the requests to come were sought
 * elsewhere. */
static unsigned
read_along(struct array *a, uint64_t first, int64_t by, uint64_t page, size_t len)
{
	struct scan s = {0};
	unsigned wrong = 0;
	for (int i = 0; i < STEPS; i++) {
		const uint64_t at = first + (uint64_t)(i * by);
		scan_note(&s, a, at - at % page, len);
		CHECK(s.mode == (i < 2 ? SCAN_RANDOM : SCAN_STRIDE));
		for (unsigned n = 1; i >= SEEN && n <= AHEAD; n++) {
			const uint64_t next = at + n * (uint64_t)by;
			wrong += scan_point(&s, n) != next - next % page;
		}
	}
	return wrong;
}

/* In what mode are two requests of libhdf5, and one that follows the second? */
static void
check_two(
	struct array *a, uint64_t first, uint64_t second, enum scan_mode two, enum scan_mode three)
{
	enum { SIEVE = 64 << 10 };
	struct scan s = {0};
	scan_note(&s, a, first, SIEVE);
	scan_note(&s, a, second, SIEVE);
	CHECK(s.mode == two);
	scan_note(&s, a, second + SIEVE, SIEVE);
	CHECK(s.mode == three);
	scan_end(&s, a);
}

static void
check_order(struct array *a)
{
	enum { AT = 40 << 20 };
	check_two(a, AT, AT + (64 << 10), SCAN_ORDER, SCAN_ORDER);
	check_two(a, AT, AT - (64 << 10), SCAN_ORDER, SCAN_ORDER); /* was overtaken */
	for (uint64_t back = 1 << 20; back <= 20 << 20; back += 1 << 20)
		check_two(a, AT, AT - back, SCAN_RANDOM, SCAN_ORDER);
}

/* One that reads at two places by turns, too far from each other to be one run. */
static void
check_turns(struct array *a)
{
	enum { AT = 40 << 20, APART = 8 << 20, SIEVE = 64 << 10 };
	struct scan s = {0};
	for (uint64_t off = 0; off < 4 * SIEVE; off += SIEVE) {
		scan_note(&s, a, AT + off, SIEVE);
		scan_note(&s, a, AT + APART + off, SIEVE);
	}
	CHECK(s.mode == SCAN_ORDER);
	scan_end(&s, a);
}

int
main(void)
{
	struct data data = {0};
	struct array a = {.raw = true, .data = &data};
	const uint64_t shape[] = {2 * STEPS, 721, 1440}, chunk[] = {1, 721, 1440};
	uint32_t seed = 3;
	unsigned wrong = 0, all = 0;
	CHECK_INT(grid_init(&a.grid, 3, shape, chunk, 4), 0);
	const int64_t step = (int64_t)a.grid.file_step[0], row = (int64_t)a.grid.file_step[1];
	for (int i = 0; i < 100; i++) {
		const uint64_t first = STEPS * (uint64_t)step + 4 * (check_random(&seed) % 1000000);
		wrong += read_along(&a, first, step, PAGE, 17 * PAGE);
		wrong += read_along(&a, first, -step, PAGE, PAGE);
		wrong += read_along(&a, first, 7 * row, PAGE, PAGE);
		all += 3 * (STEPS - SEEN) * AHEAD;
		CHECK_INT(read_along(&a, first, step, 1, 4), 0);
		/* from plane to plane, and a row and an element on */
		CHECK_INT(read_along(&a, first, -step / 2 - row - 4, 1, 4), 0);
	}
	check_order(&a);
	check_turns(&a);
	printf("%u of %u are sought in another page\n", wrong, all);
	CHECK(wrong < all / 20);
	return check_end();
}
