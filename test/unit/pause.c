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
	/* what was dropped is asked for again, and the request behind overtakes it */
	CHECK_INT(ask(&p, 14, 5), 0);
	const struct array_want rest = {
		.off = 8 * STEP, .len = 6 * STEP, .since = 5, .dropped = dropped};
	CHECK_INT(pause_begin(&p, &rest, now), 0);
	pause_end(&p, now);
	CHECK(p.steady && !p.again && !p.gap_to);
	dropped++;
	CHECK_INT(ask(&p, 10, 5), 0);
	CHECK(p.steady && !p.again);
	/* it goes on, and the inode begins anew meanwhile */
	dropped++;
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

/* A reader that begins again where it began, or elsewhere, wants what there is now; so does one
 * that has read here and there. */
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

/* What the kernel asks for again at once is no new run, nor is a beginning that was overtaken; a
 * reader that has looked since begins anew. */
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
	/* a program that reads the same place again and again, as its pages are dropped */
	p = (struct pause){0};
	ask(&p, 0, 5);
	change = ++now;
	for (unsigned i = 0; i < 8; i++) {
		dropped = now += SECOND / 4;
		now += SECOND / 8;
		ask(&p, 0, 5);
	}
	CHECK(p.again && !goes_on(&p, now, change));
	/* a reader whose answer comes before its next read() has not paused */
	p = (struct pause){0};
	steps(&p, 0, 2, 5);
	now += 2 * READS_ON;
	CHECK(!goes_on(&p, now, now));
	looked = now;
	CHECK(goes_on(&p, now, now));
	looked = dropped = 0;
}

/* --- as the kernel asks --- */

/* A reader in order, a page at a time; the kernel has all that lies between it and `asked`, or has
 * asked for it. */
struct kernel {
	struct pause pause;
	uint64_t at, asked;
	struct array_want waits; /* to be overtaken by the request behind it; len 0: none */
};

enum { PAGE = 4096, WINDOW = 1 << 20 };

static uint64_t seed;

static uint64_t
under(uint64_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (seed >> 33) % n;
}

static void
send(struct kernel *k, const struct array_want *w)
{
	pause_begin(&k->pause, w, now);
	pause_end(&k->pause, now++);
}

static void
send_waiting(struct kernel *k)
{
	if (k->waits.len)
		send(k, &k->waits);
	k->waits.len = 0;
}

static void
ask_ahead(struct kernel *k)
{
	struct array_want w = {.off = k->asked,
		.len = PAGE * (1 + under(WINDOW / PAGE)),
		.since = 5,
		.dropped = dropped,
		.looked = looked};
	k->asked += w.len;
	if (!k->waits.len && !under(3)) {
		k->waits = w;
		return;
	}
	send(k, &w);
	send_waiting(k);
}

static void
drop(struct kernel *k)
{
	send_waiting(k); /* the kernel waits for it */
	k->asked = k->at;
	dropped = ++now;
	now++;
}

static void
take(struct kernel *k)
{
	uint64_t most = k->asked - k->at;
	send_waiting(k); /* or the reader would wait */
	k->at += PAGE * under(most / PAGE + 1);
	if (!under(8))
		looked = now++;
}

/* However the kernel drops pages and asks for them again, it is one reader in order. */
static void
test_kernel(void)
{
	unsigned mixed = 0;
	for (unsigned run = 0; run < 20000; run++) {
		struct kernel k = {0};
		seed = run;
		now = 10 * SECOND;
		dropped = looked = 0;
		for (uint64_t n = 2 + under(30); n; n--) {
			uint64_t what = under(5);
			if (what < 2 && k.asked < k.at + 2 * WINDOW)
				ask_ahead(&k);
			else if (what < 4)
				take(&k);
			else
				drop(&k);
		}
		send_waiting(&k);
		if (!k.at || !k.pause.high)
			continue;
		now += READS_ON;
		const struct array_want w = {.off = k.at, .len = PAGE, .since = 6, .dropped = now};
		mixed += pause_begin(&k.pause, &w, now) != 5;
	}
	CHECK_INT(mixed, 0);
	dropped = looked = 0;
}

int
main(void)
{
	test_kernel();
	test_beginning();
	test_order();
	test_pause();
	test_elsewhere();
	return check_end();
}
