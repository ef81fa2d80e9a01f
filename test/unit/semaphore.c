/* The semaphore: what fits goes in, what does not waits without a thread, first come first
 * served. */
#include "check.h"

#include "base/clock.h"
#include "data/semaphore.h"

static void
served_in_turn(void)
{
	struct semaphore *g = NULL;
	struct semaphore_waiter a = {.cost = 6}, b = {.cost = 4}, large = {.cost = 100},
				c = {.cost = 1}, d = {.cost = 9};
	CHECK_INT(semaphore_new(10, &g), 0);
	CHECK(semaphore_enter(g, &a));
	CHECK(semaphore_enter(g, &b));
	CHECK(!semaphore_enter(g, &large));
	CHECK(!semaphore_enter(g, &c)); /* it would fit soon, and large would wait for ever */
	CHECK(!semaphore_enter(g, &d));
	CHECK(!semaphore_leave(g, &b));
	CHECK(semaphore_leave(g, &a) == &large); /* alone, anything fits */
	CHECK(!large.next);
	struct semaphore_waiter *in = semaphore_leave(g, &large);
	CHECK(in == &c);
	CHECK(in && in->next == &d);
	CHECK(!d.next);
	CHECK(!semaphore_leave(g, &c));
	CHECK(!semaphore_leave(g, &d));
	CHECK(semaphore_enter(g, &large));
	CHECK(!semaphore_free(g));
	CHECK(!semaphore_free(NULL));
}

static void
those_nobody_waits_for(void)
{
	struct semaphore *g = NULL;
	atomic_bool yes = true, once = true;
	struct semaphore_waiter in = {.cost = 2}, a = {.cost = 1, .ahead = &yes},
				b = {.cost = 1, .ahead = &once}, c = {.cost = 1},
				d = {.cost = 1, .ahead = &yes};
	CHECK_INT(semaphore_new(2, &g), 0);
	CHECK(semaphore_enter(g, &in));
	CHECK(!semaphore_enter(g, &a));
	CHECK(!semaphore_enter(g, &b));
	CHECK(!semaphore_enter(g, &c));
	CHECK(!semaphore_enter(g, &d));
	once = false;
	CHECK(semaphore_leave(g, &in) == &b);
	CHECK(b.next == &c && !c.next);
	CHECK(semaphore_leave(g, &b) == &a);
	CHECK(semaphore_leave(g, &c) == &d);
	CHECK(!semaphore_leave(g, &a));
	CHECK(!semaphore_leave(g, &d));
	semaphore_free(g);
}

static void
more_fits(void)
{
	struct semaphore *g = NULL;
	struct semaphore_waiter t[4] = {{.cost = 1}, {.cost = 1}, {.cost = 1}, {.cost = 1}};
	CHECK_INT(semaphore_new(1, &g), 0);
	CHECK(semaphore_enter(g, &t[0]));
	for (int i = 1; i < 4; i++)
		CHECK(!semaphore_enter(g, &t[i]));
	CHECK(semaphore_widen(g, 3) == &t[1]);
	CHECK(t[1].next == &t[2] && !t[2].next);
	CHECK(!semaphore_widen(g, 2)); /* never less */
	CHECK(semaphore_leave(g, &t[0]) == &t[3]);
	for (int i = 1; i < 4; i++)
		CHECK(!semaphore_leave(g, &t[i]));
	semaphore_free(g);
}

static void
some_never_leave(void)
{
	struct semaphore *g = NULL;
	struct semaphore_waiter stuck = {.cost = 10}, a = {.cost = 3}, b = {.cost = 3};
	CHECK_INT(semaphore_new(10, &g), 0);
	CHECK(semaphore_enter(g, &stuck));
	CHECK(!semaphore_enter(g, &a));
	CHECK(!semaphore_enter(g, &b));
	CHECK(!semaphore_rescue(g, 3600 * SECOND));
	CHECK(semaphore_rescue(g, 0) == &a);
	CHECK(!semaphore_rescue(g, 3600 * SECOND));
	CHECK(semaphore_rescue(g, 0) == &b);
	CHECK(!semaphore_rescue(g, 0));
	CHECK(!semaphore_leave(g, &a));
	CHECK(!semaphore_leave(g, &stuck));
	CHECK(!semaphore_leave(g, &b));
	semaphore_free(g);
}

int
main(void)
{
	served_in_turn();
	those_nobody_waits_for();
	more_fits();
	some_never_leave();
	return check_end();
}
