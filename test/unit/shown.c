/* What is known of pages that were written through mappings. */
#include "check.h"

#include "fuse/inode.h"
#include "fuse/shown.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = SHOWN_PAGE };

static struct span
filled(uint8_t *to, size_t n, int with)
{
	memset(to, with, n);
	return (struct span){to, n};
}

/* What of the first two pages may be from before a write(): [from, to), or nothing. */
static void
past(const struct inode *i, uint64_t from, uint64_t to)
{
	uint64_t a, b;
	CHECK_INT(shown_is_past(i, 0, 2 * PAGE, &a, &b), from < to);
	CHECK(from == to || (a == from && b == to));
}

static void
passes(struct inode *i)
{
	past(i, 0, 0);
	const uint64_t one = shown_pass(i, PAGE - 10, 20), two = shown_pass(i, 3 * PAGE, 10);
	CHECK(one != two);
	past(i, PAGE - 10, PAGE + 10);
	shown_filled(i, 0, PAGE, clock_now()); /* it is under way */
	past(i, PAGE - 10, PAGE + 10);
	int64_t before = clock_now() - 1;
	shown_passed(i, one, true);
	shown_filled(i, 0, PAGE, before);
	past(i, PAGE - 10, PAGE + 10);
	shown_filled(i, 0, PAGE, clock_now());
	past(i, PAGE, PAGE + 10);
	shown_filled(i, PAGE, PAGE, clock_now());
	past(i, 0, 0);

	shown_passed(i, shown_pass(i, 0, 2 * PAGE), true); /* its midst is filled */
	shown_filled(i, 100, 100, clock_now());
	past(i, 0, 100);
	shown_filled(i, 0, 100, clock_now());
	past(i, 200, 2 * PAGE);
	for (unsigned n = 0; n < 1000; n++) /* those that have ended make room */
		shown_passed(i, shown_pass(i, 9 * PAGE, 1), true);
	past(i, 0, 0);
	uint64_t a, b;
	CHECK(shown_is_past(i, 2 * PAGE, 2 * PAGE, &a, &b) && a == 3 * PAGE);
	shown_passed(i, two, true);

	shown_passed(i, shown_pass(i, 0, 2 * PAGE), true); /* the oldest where there is no room */
	for (unsigned n = 0; n < 63; n++)
		shown_passed(i, shown_pass(i, 9 * PAGE, 1), true);
	shown_filled(i, 100, 100, clock_now());
	CHECK(shown_is_past(i, 0, 2 * PAGE, &a, &b) && a == 0 && b >= 100);
	for (unsigned n = 0; n < 64; n++)
		shown_passed(i, shown_pass(i, 9 * PAGE, 1), true);
	shown_passed(i, shown_pass(i, 0, 2 * PAGE), false); /* it failed */
	past(i, 0, 0);
}

int
main(void)
{
	static uint8_t b[3 * PAGE], got[PAGE];
	struct inode *i = calloc(1, sizeof *i + 1);
	CHECK(!shown_find(i, 0, 10, got));
	shown_lay(i, 0, filled(b, 10, 1), 0);
	CHECK(!shown_find(i, 0, 10, got));

	shown_begin(i);
	shown_note(i, PAGE, filled(b, 2 * PAGE + 100, 2)); /* the last one is the end of the file */
	CHECK(!shown_find(i, 0, 1, got));
	CHECK(shown_find(i, 2 * PAGE, PAGE, got) && got[PAGE - 1] == 2);
	CHECK(shown_find(i, 3 * PAGE, PAGE, got) && got[99] == 2 && !got[100]);

	shown_lay(i, 2 * PAGE - 1, filled(b, 2, 3), 0); /* over a boundary */
	CHECK(shown_find(i, PAGE, PAGE, got) && got[PAGE - 1] == 3 && got[PAGE - 2] == 2);
	CHECK(shown_find(i, 2 * PAGE, PAGE, got) && got[0] == 3 && got[1] == 2);
	shown_lay(i, 3 * PAGE + 90, filled(b, 20, 4), 0); /* the file became longer */
	CHECK(shown_find(i, 3 * PAGE, PAGE, got) && got[89] == 2 && got[109] == 4 && !got[110]);

	shown_forget(i, 2 * PAGE - 1, 1);
	CHECK(!shown_find(i, PAGE, 1, got) && shown_find(i, 2 * PAGE, 1, got));
	shown_forget(i, 0, UINT64_MAX);
	CHECK(!shown_find(i, 2 * PAGE, 1, got));
	passes(i);
	shown_free(i->shown);
	free(i);
	return check_end();
}
