/* Readers that go on in order, that pause in the midst of a chunk, and that read here and there. */
#include "data/pause.h"

#include "test/check.h"

enum { STEP = 128 << 10 };

static int64_t now, dropped, looked;

/* A request, and its answer at once. */
static int64_t
ask(struct pause *p, uint64_t step, int64_t since)
{
	const struct array_want w = {.off = step * STEP,
		.len = STEP,
		.since = since,
		.dropped = dropped,
		.looked = looked};
	int64_t left = pause_begin(p, &w, now);
	pause_end(p, now);
	return left;
}

static void
steps(struct pause *p, unsigned from, unsigned to, int64_t since)
{
	for (unsigned i = from; i < to; i++)
		CHECK_INT(ask(p, i, since), 0);
}

static bool
goes_on(const struct pause *p, int64_t to, int64_t noticed)
{
	return pause_goes_on(
		p, &(struct array_move){.to = to, .noticed = noticed, .looked = looked});
}

/* In order, though neighbours overtake each other and the kernel drops what it had asked for. */
static void
test_order(void)
{
	struct pause p = {0};
	now = 10 * SECOND;
	steps(&p, 0, 4, 5);
	CHECK_INT(ask(&p, 5, 5), 0);
	CHECK_INT(ask(&p, 4, 5), 0);
	steps(&p, 6, 9, 5);
	CHECK(goes_on(&p, now, now - 1));
	dropped = now;
	steps(&p, 7, 12, 5);
	CHECK(p.steady && !p.again);
	CHECK(goes_on(&p, now + READS_ON - 1, now));
	CHECK(!goes_on(&p, now + READS_ON, now));
	/* it goes on, and the inode begins anew meanwhile */
	dropped = now + 1;
	CHECK_INT(ask(&p, 10, 6), 0);
	CHECK(p.steady);
}

/* After a pause in which the inode began anew. */
static void
test_pause(void)
{
	struct pause p = {0};
	now = 10 * SECOND;
	steps(&p, 1, 9, 5);
	now += READS_ON;
	CHECK_INT(ask(&p, 7, 6), 5);
	CHECK_INT(ask(&p, 8, 6), 5);
	CHECK_INT(ask(&p, 9, 6), 5);
	CHECK_INT(ask(&p, 10, 6), 0);
	CHECK_INT(ask(&p, 7, 6), 5); /* the kernel asks again for what was refused */
	now += SECOND + 1;
	CHECK_INT(ask(&p, 7, 6), 0); /* a program, later */
}

/* A reader that begins again where it began, or elsewhere, wants what there is now; so does one that has read here and there. */
static void
test_elsewhere(void)
{
	struct pause p = {0};
	now = 10 * SECOND;
	steps(&p, 1, 9, 5);
	now += READS_ON;
	CHECK_INT(ask(&p, 1, 6), 0);
	CHECK_INT(ask(&p, 2, 6), 0);
	now += READS_ON;
	CHECK_INT(ask(&p, 300, 7), 0);
	p = (struct pause){0};
	steps(&p, 1, 9, 5);
	steps(&p, 4, 6, 5); /* what the kernel had for it was dropped */
	CHECK(p.steady);
	steps(&p, 4, 5, 5); /* the same place twice, and nothing was dropped */
	CHECK(!p.steady);
	now += READS_ON;
	CHECK_INT(ask(&p, 6, 6), 0);
	p = (struct pause){0};
	steps(&p, 40, 50, 5);
	steps(&p, 8, 20, 5);
	CHECK(p.again);
	CHECK(goes_on(&p, now, now + 1) && !goes_on(&p, now, now));
	p = (struct pause){0}; /* it begins again where it began, and pauses then */
	steps(&p, 0, 1, 5);
	steps(&p, 0, 9, 5);
	now += READS_ON;
	CHECK_INT(ask(&p, 9, 6), 5);
}

/* What the kernel asks for again at once is no new run, nor is a beginning that was overtaken; a reader that has looked since begins anew. */
static void
test_beginning(void)
{
	struct pause p = {0};
	now = 10 * SECOND;
	const struct array_want second = {.off = STEP, .len = STEP, .since = 5},
				first = {.off = 0, .len = STEP, .since = 5};
	pause_begin(&p, &second, now);
	pause_begin(&p, &first, now);
	CHECK(!p.again && p.steady && !p.start);
	p = (struct pause){0};
	steps(&p, 0, 2, 5);
	int64_t change = ++now;
	dropped = now++;
	steps(&p, 0, 6, 5);
	CHECK(!p.again && goes_on(&p, now, change));
	dropped = ++now;
	looked = ++now;
	steps(&p, 0, 2, 5);
	CHECK(p.again && !goes_on(&p, now, change));
	/* a mapping whose pages are dropped now and then */
	p = (struct pause){0};
	looked = 0;
	steps(&p, 0, 2, 5);
	change = ++now;
	dropped = now += READS_ON / 2;
	steps(&p, 0, 2, 5);
	CHECK(p.steady && !p.again &&
		goes_on(&p, now, change)); /* or a reader that did not get to run */
	change = ++now;
	dropped = now += READS_ON / 2;
	steps(&p, 0, 2, 5);
	CHECK(p.again && goes_on(&p, now, now + 1) && !goes_on(&p, now, change));
	/* a reader whose answer comes before its next read() has not paused */
	p = (struct pause){0};
	steps(&p, 0, 2, 5);
	now += 2 * READS_ON;
	CHECK(!goes_on(&p, now, now));
	looked = now;
	CHECK(goes_on(&p, now, now));
	looked = dropped = 0;
}

int
main(void)
{
	test_beginning();
	test_order();
	test_pause();
	test_elsewhere();
	return check_end();
}
