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

/* A write() into pages. */
static void
lay(struct inode *i, uint64_t off, struct span b)
{
	struct shown_write w;
	shown_write_came(i, &w);
	shown_lay(i, off, b, &w);
}

/* What a page that begins there shows. */
static bool
find(const struct inode *i, uint64_t off, size_t n, uint8_t *ret)
{
	static const uint8_t others[PAGE];
	return shown_find(i, off, (struct span){others, n}, ret);
}

static void
fill(struct inode *i, uint64_t off, struct span b)
{
	CHECK(shown_fill(i, off, b, b.len, clock_now() + 1));
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

static void
pages(struct inode *i, struct shown_pages *t)
{
	static uint8_t b[3 * PAGE], got[PAGE];
	bool first = false;
	CHECK(!find(i, 0, 10, got) && !shown_begun(i));
	lay(i, 0, filled(b, 10, 1));
	CHECK(!find(i, 0, 10, got));

	CHECK(shown_begin(t, i, &first) == 0 && first && shown_begun(i));
	fill(i, PAGE, filled(b, 2 * PAGE + 100, 2)); /* the last one is the end of the file */
	CHECK(!find(i, 0, 1, got));
	CHECK(find(i, 2 * PAGE, PAGE, got) && got[PAGE - 1] == 2);
	CHECK(find(i, 3 * PAGE, PAGE, got) && got[99] == 2 && !got[100]);

	lay(i, 2 * PAGE - 1, filled(b, 2, 3)); /* over a boundary */
	CHECK(find(i, PAGE, PAGE, got) && got[PAGE - 1] == 3 && got[PAGE - 2] == 2);
	CHECK(find(i, 2 * PAGE, PAGE, got) && got[0] == 3 && got[1] == 2);
	lay(i, 3 * PAGE + 90, filled(b, 20, 4)); /* the file became longer */
	CHECK(find(i, 3 * PAGE, PAGE, got) && got[89] == 2 && got[109] == 4 && !got[110]);
	lay(i, 8 * PAGE - 1, filled(b, PAGE + 2, 5)); /* the whole page is there now */
	CHECK(find(i, 8 * PAGE, PAGE, got) && got[0] == 5 && got[PAGE - 1] == 5);
	CHECK(!find(i, 7 * PAGE, 1, got) && !find(i, 9 * PAGE, 1, got));

	shown_forget(i, 2 * PAGE - 1, 1);
	CHECK(!find(i, PAGE, 1, got) && find(i, 2 * PAGE, 1, got));
	shown_forget(i, 0, UINT64_MAX);
	CHECK(!find(i, 2 * PAGE, 1, got));

	CHECK(shown_begin(t, i, &first) == 0 && !first);
	fill(i, 0, filled(b, PAGE, 1));
	shown_end(i);
	CHECK(find(i, 0, 1, got));
	shown_end(i);
	CHECK(!find(i, 0, 1, got) && !shown_begun(i));
	fill(i, 0, filled(b, PAGE, 1)); /* a read that was under way */
	CHECK(!find(i, 0, 1, got));
}

/* What was filled, or came back, since the kernel dropped pages. */
static void
dropped(struct inode *i, struct shown_pages *t)
{
	static uint8_t b[4 * PAGE], got[PAGE];
	bool first = false;
	CHECK_INT(shown_begin(t, i, &first), 0);
	fill(i, 0, filled(b, 4 * PAGE, 1));
	const uint64_t stamp = shown_stamp(i);
	shown_note(i, 0, filled(b, PAGE, 2));
	shown_forget(i, PAGE, PAGE);
	fill(i, PAGE, filled(b, PAGE, 3));
	shown_dropped(i, 0, 3 * PAGE, stamp);
	CHECK(!find(i, 0, 1, got));
	CHECK(find(i, PAGE, 1, got) && *got == 3);
	CHECK(!find(i, 2 * PAGE, 1, got) && find(i, 3 * PAGE, 1, got));
	shown_dropped(i, PAGE, UINT64_MAX, shown_stamp(i));
	CHECK(!find(i, PAGE, 1, got) && !find(i, 3 * PAGE, 1, got));
	shown_end(i);
}

/* Dropped, and then written whole by a write(): the kernel has that page again. */
static void
laid_since(struct inode *i, struct shown_pages *t)
{
	static uint8_t b[2 * PAGE], got[PAGE];
	bool first = false;
	CHECK_INT(shown_begin(t, i, &first), 0);
	fill(i, 0, filled(b, 2 * PAGE, 1));
	const uint64_t stamp = shown_stamp(i);
	/* the kernel drops page 0, and then waits for one behind it */
	lay(i, 0, filled(b, PAGE, 2));
	shown_dropped(i, 0, 2 * PAGE, stamp);
	CHECK(find(i, 0, 1, got) && *got == 2);
	CHECK(!find(i, PAGE, 1, got));
	shown_end(i);
}

/* A write() into pages that may have been dropped and filled before it came. */
static void
doubts(struct inode *i, struct shown_pages *t)
{
	static uint8_t b[4 * PAGE], now[PAGE], got[PAGE];
	struct shown_write w;
	bool first = false;
	CHECK_INT(shown_begin(t, i, &first), 0);
	fill(i, 0, filled(b, 4 * PAGE, 1));
	lay(i, 4 * PAGE, filled(b, 1, 1));
	CHECK(shown_drop_begin(i, 0, 3 * PAGE));
	shown_dropped(i, 0, 2 * PAGE, shown_stamp(i));
	shown_drop_end(i);
	fill(i, 0, filled(b, PAGE, 1));
	fill(i, 3 * PAGE, filled(b, PAGE, 1));
	shown_write_came(i, &w);
	fill(i, PAGE, filled(b, PAGE, 1));
	CHECK(shown_lay(i, 0, filled(b, 4 * PAGE - 1, 2), &w));
	memset(now, 3, PAGE);
	now[1] = 1;
	now[2] = 2;
	for (unsigned p = 0; p < 4; p++) { /* in doubt; filled since; not dropped or not filled */
		CHECK(shown_find(i, (uint64_t)p * PAGE, (struct span){now, PAGE}, got));
		CHECK(got[2] == (p == 1 ? 1 : 2) && got[1] == (p < 2 ? 1 : 2));
		CHECK_INT(got[0], p == 1 ? 1 : 2);
	}
	lay(i, 0, filled(b, 2, 3)); /* that the page has */
	CHECK(find(i, 0, 3, got) && got[0] == 3 && got[1] == 3 && got[2] == 2);
	lay(i, 0, filled(b, 2, 4));
	CHECK(shown_find(i, 0, (struct span){now, 3}, got) && got[0] == 4 && got[1] == 4);
	shown_note(i, 0, filled(b, PAGE, 5)); /* then it is known what it shows */
	CHECK(shown_find(i, 0, (struct span){now, 3}, got) && got[0] == 5 && got[1] == 5);
	CHECK(shown_pages_wait(t)); /* and it is to be dropped all the same */
	shown_dropped(i, 0, 2 * PAGE, shown_stamp(i));
	shown_settle(i, 0, 4 * PAGE);
	CHECK(!find(i, 0, 1, got) && find(i, 2 * PAGE, 1, got));
	shown_end(i);
}

/* What was read before a write() ended, and is to fill a page after it. */
static void
old(struct inode *i, struct shown_pages *t)
{
	enum { FAR = 100 * PAGE };
	static uint8_t b[PAGE], got[PAGE];
	const struct span one = filled(b, PAGE, 1);
	bool first = false;
	CHECK_INT(shown_begin(t, i, &first), 0);
	const int64_t begun = clock_now();
	lay(i, FAR, one);
	lay(i, PAGE + 1, (struct span){b, 1});
	CHECK(!shown_fill(i, PAGE, one, PAGE, begun) && !find(i, PAGE, 1, got));
	for (unsigned n = 0; n < 20; n++)
		lay(i, (uint64_t)(4 + n) * PAGE, one);
	CHECK(!shown_fill(i, PAGE, one, PAGE, begun) &&
		!shown_fill(i, 23 * PAGE, one, PAGE, begun));
	CHECK(shown_fill(i, FAR + PAGE, one, PAGE, begun));
	CHECK(shown_fill(i, PAGE, one, PAGE, clock_now() + 1));
	shown_end(i);
}

static size_t held;

static void
hold(void *arg, size_t bytes)
{
	(void)arg;
	held = bytes;
}

/* Of two files: the oldest ones are to go when there are too many. */
static void
too_many(void)
{
	enum { LIMIT = 16 << 20, MANY = LIMIT / PAGE };
	static uint8_t b[PAGE], got[PAGE];
	struct shown_pages *t = NULL;
	struct inodes *all = NULL;
	struct shown_due o;
	char root[] = "", a[] = "a", b2[] = "b";
	const struct entry names[] = {{.path = root}, {.path = a}, {.path = b2}};
	struct inode *i[2];
	uint64_t id[2];
	bool first = false;
	CHECK_INT(shown_pages_new(LIMIT, hold, NULL, &t), 0);
	CHECK_INT(inodes_new(&names[0], &all), 0);
	for (unsigned k = 0; k < 2; k++) {
		CHECK_INT(inodes_look_up(all, &names[k + 1], &id[k]), 0);
		i[k] = inodes_get(all, id[k]);
		CHECK_INT(shown_begin(t, i[k], &first), 0);
	}
	for (unsigned n = 0; n < MANY; n++)
		fill(i[n % 8 == 0], n * UINT64_C(3) * PAGE, filled(b, PAGE, (int)n));
	CHECK(held >= LIMIT);
	shown_note(i[1], 0, filled(b, PAGE, 99)); /* it is not that old now */
	CHECK(shown_pages_wait(t));
	size_t gone = 0;
	while (shown_pages_due(t, all, &o)) {
		for (size_t n = 0; n < o.count; n++)
			shown_dropped(o.inode, o.number[n] * PAGE, PAGE, o.stamp);
		gone += o.count;
		inodes_put(all, o.inode);
		free(o.number);
	}
	CHECK(gone >= MANY / 8 && gone < MANY / 4);
	for (unsigned n = 1; n < MANY; n++)
		CHECK(find(i[n % 8 == 0], n * UINT64_C(3) * PAGE, PAGE, got) == (n > gone));
	CHECK(find(i[1], 0, 1, got) && *got == 99);
	shown_pages_end(t);
	CHECK(!shown_pages_wait(t));
	for (unsigned k = 0; k < 2; k++) {
		shown_end(i[k]);
		inodes_put(all, i[k]);
	}
	CHECK_INT(held, 0);
	inodes_free(all);
	shown_pages_free(t);
}

int
main(void)
{
	struct inode *i = calloc(1, sizeof *i + 1);
	struct shown_pages *t = NULL;
	CHECK_INT(shown_pages_new(1 << 20, NULL, NULL, &t), 0);
	pages(i, t);
	dropped(i, t);
	laid_since(i, t);
	doubts(i, t);
	old(i, t);
	passes(i);
	shown_free(i->shown);
	free(i);
	shown_pages_free(t);
	too_many();
	return check_end();
}
