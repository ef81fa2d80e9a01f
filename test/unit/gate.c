/* The gate: what fits goes in, what does not waits without a thread, first come first served. */
#include "check.h"

#include "base/when.h"
#include "data/gate.h"

static void
served_in_turn(void)
{
	struct gate *g = NULL;
	struct ticket a = {.cost = 6}, b = {.cost = 4}, large = {.cost = 100}, c = {.cost = 1},
		      d = {.cost = 9};
	CHECK_INT(gate_new(10, &g), 0);
	CHECK(gate_enter(g, &a));
	CHECK(gate_enter(g, &b));
	CHECK(!gate_enter(g, &large));
	CHECK(!gate_enter(g, &c)); /* it would fit soon, and large would wait for ever */
	CHECK(!gate_enter(g, &d));
	CHECK(!gate_leave(g, &b));
	CHECK(gate_leave(g, &a) == &large); /* alone, anything fits */
	CHECK(!large.next);
	struct ticket *in = gate_leave(g, &large);
	CHECK(in == &c);
	CHECK(in && in->next == &d);
	CHECK(!d.next);
	CHECK(!gate_leave(g, &c));
	CHECK(!gate_leave(g, &d));
	CHECK(gate_enter(g, &large));
	CHECK(!gate_free(g));
	CHECK(!gate_free(NULL));
}

static void
those_nobody_waits_for(void)
{
	struct gate *g = NULL;
	atomic_bool yes = true, once = true;
	struct ticket in = {.cost = 2}, a = {.cost = 1, .ahead = &yes},
		      b = {.cost = 1, .ahead = &once}, c = {.cost = 1},
		      d = {.cost = 1, .ahead = &yes};
	CHECK_INT(gate_new(2, &g), 0);
	CHECK(gate_enter(g, &in));
	CHECK(!gate_enter(g, &a));
	CHECK(!gate_enter(g, &b));
	CHECK(!gate_enter(g, &c));
	CHECK(!gate_enter(g, &d));
	once = false;
	CHECK(gate_leave(g, &in) == &b);
	CHECK(b.next == &c && !c.next);
	CHECK(gate_leave(g, &b) == &a);
	CHECK(gate_leave(g, &c) == &d);
	CHECK(!gate_leave(g, &a));
	CHECK(!gate_leave(g, &d));
	gate_free(g);
}

static void
some_never_leave(void)
{
	struct gate *g = NULL;
	struct ticket stuck = {.cost = 10}, a = {.cost = 3}, b = {.cost = 3};
	CHECK_INT(gate_new(10, &g), 0);
	CHECK(gate_enter(g, &stuck));
	CHECK(!gate_enter(g, &a));
	CHECK(!gate_enter(g, &b));
	CHECK(!gate_patrol(g, 3600 * SECOND));
	CHECK(gate_patrol(g, 0) == &a);
	CHECK(!gate_patrol(g, 3600 * SECOND));
	CHECK(gate_patrol(g, 0) == &b);
	CHECK(!gate_patrol(g, 0));
	CHECK(!gate_leave(g, &a));
	CHECK(!gate_leave(g, &stuck));
	CHECK(!gate_leave(g, &b));
	gate_free(g);
}

int
main(void)
{
	served_in_turn();
	those_nobody_waits_for();
	some_never_leave();
	return check_end();
}
