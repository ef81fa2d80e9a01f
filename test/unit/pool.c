#include "base/pool.h"
#include "check.h"

#include "base/clean.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MANY = 4000, PUSHERS = 3 };

struct job {
	struct task task;
	unsigned number;
};

static struct pool *pool;
static atomic_uint runs[MANY * PUSHERS];
static atomic_uint inside, most; /* tasks at work, and the most that ever were */
static atomic_bool gate;
static unsigned order[16];
static atomic_uint ordered;

static void
enter(void)
{
	unsigned n = atomic_fetch_add(&inside, 1) + 1, m = most;
	while (n > m && !atomic_compare_exchange_weak(&most, &m, n))
		;
}

static void
leave(void)
{
	atomic_fetch_sub(&inside, 1);
}

static void
wait_gate(void)
{
	while (!gate)
		usleep(200);
}

static void
start(unsigned workers, unsigned blocked)
{
	pool = NULL;
	gate = false;
	inside = most = ordered = 0;
	CHECK_INT(pool_new(workers, blocked, &pool), 0);
}

static void
push(struct job *j, void (*run)(struct task *), bool urgent)
{
	j->task.run = run;
	pool_push(pool, &j->task, urgent);
}

static void
run_count(struct task *t)
{
	struct job *j = (struct job *)t;
	enter();
	atomic_fetch_add(&runs[j->number], 1);
	leave();
	free(j);
}

static void *
pusher(void *arg)
{
	unsigned first = *(unsigned *)arg;
	for (unsigned i = first; i < first + MANY; i++) {
		struct job *j = calloc(1, sizeof *j);
		if (!j)
			abort();
		j->number = i;
		push(j, run_count, i % 3 == 0);
	}
	return NULL;
}

static void
each_runs_once(void)
{
	pthread_t t[PUSHERS];
	unsigned first[PUSHERS];
	start(4, 2);
	for (unsigned i = 0; i < PUSHERS; i++) {
		first[i] = i * MANY;
		pthread_create(&t[i], NULL, pusher, &first[i]);
	}
	for (unsigned i = 0; i < PUSHERS; i++)
		pthread_join(t[i], NULL);
	pool_free(pool);
	for (unsigned i = 0; i < PUSHERS * MANY; i++)
		CHECK_INT(runs[i], 1);
	CHECK(most <= 4);
}

static void
run_hold(struct task *t)
{
	enter();
	wait_gate();
	leave();
}

static void
run_order(struct task *t)
{
	order[ordered++] = ((struct job *)t)->number;
}

/* A pool of one thread, which does the job until the gate opens. */
static void
start_held(struct job *hold)
{
	start(1, 0);
	push(hold, run_hold, false);
	while (!inside)
		usleep(200);
}

/* The n jobs that wait are done in this order. */
static void
end_in_order(const unsigned *want, unsigned n)
{
	CHECK_INT(pool_queued(pool), n);
	gate = true;
	pool_free(pool);
	for (unsigned i = 0; i < n; i++)
		CHECK_INT(order[i], want[i]);
}

static void
urgent_first_then_in_order(void)
{
	struct job hold = {0}, j[6] = {0};
	static const unsigned want[] = {3, 4, 5, 0, 1, 2};
	start_held(&hold);
	for (unsigned i = 0; i < 6; i++) {
		j[i].number = i;
		push(&j[i], run_order, i >= 3);
	}
	end_in_order(want, 6);
}

static void
some_are_moved_up(void)
{
	struct job hold = {0}, j[6] = {0};
	static const unsigned want[] = {5, 3, 4, 2, 0, 1};
	start_held(&hold);
	for (unsigned i = 0; i < 5; i++) {
		j[i].number = i;
		push(&j[i], run_order, i >= 3);
	}
	pool_hurry(pool, &j[2].task);
	pool_hurry(pool, &j[2].task);
	pool_hurry(pool, &hold.task);
	j[5] = (struct job){.task.run = run_order, .number = 5};
	pool_push_first(pool, &j[5].task);
	end_in_order(want, 6);
}

static void
as_many_as_places(void)
{
	struct job j[8] = {0};
	start(3, 5);
	for (unsigned i = 0; i < 8; i++)
		push(&j[i], run_hold, false);
	while (inside < 3)
		usleep(200);
	usleep(20000);
	CHECK_INT(pool_queued(pool), 5);
	gate = true;
	pool_free(pool);
	CHECK_INT(most, 3);
}

static void
run_block(struct task *t)
{
	pool_blocking();
	enter();
	wait_gate();
	leave();
	pool_unblocking();
}

/* Both that wait are there before they may go on. */
static void
run_open(struct task *t)
{
	while (inside < 2)
		usleep(200);
	gate = true;
}

static void
others_run_while_one_waits(void)
{
	struct job j[2] = {0}, open = {0};
	start(1, 2);
	push(&j[0], run_block, false);
	push(&j[1], run_block, false);
	push(&open, run_open, false);
	pool_free(pool);
	CHECK_INT(most, 2);
}

static void
bounded_waiting(void)
{
	struct job j[8] = {0};
	start(1, 2);
	for (unsigned i = 0; i < 8; i++)
		push(&j[i], run_block, false);
	while (inside < 3)
		usleep(200);
	usleep(20000);
	CHECK_INT(pool_queued(pool), 5); /* two gave their place away, one may not */
	gate = true;
	pool_free(pool);
	CHECK_INT(most, 3);
}

/* After waiting, a task needs a place again. */
static void
run_block_then_work(struct task *t)
{
	pool_blocking();
	wait_gate();
	pool_unblocking();
	enter();
	usleep(500);
	leave();
}

static void
back_to_a_place(void)
{
	struct job j[20] = {0};
	start(2, 18);
	for (unsigned i = 0; i < 20; i++)
		push(&j[i], run_block_then_work, false);
	while (pool_queued(pool))
		usleep(200);
	gate = true;
	pool_free(pool);
	CHECK(most <= 2);
	CHECK(most > 0);
}

/* All wait for the first, more than may: it gets a place all the same. */
static void
run_waited_for(struct task *t)
{
	pool_blocking();
	while (inside < 3)
		usleep(200);
	pool_unblocking();
	gate = true;
}

static void
the_one_that_all_wait_for(void)
{
	struct job first = {0}, j[6] = {0};
	start(2, 2);
	push(&first, run_waited_for, false);
	for (unsigned i = 0; i < 6; i++)
		push(&j[i], run_block, false);
	pool_free(pool);
	CHECK(most >= 3);
}

static pthread_t runner;

static void
run_note(struct task *t)
{
	runner = pthread_self();
}

/* Pushes another one and waits for it, for which it needs the only place. */
static void
run_needs_another(struct task *t)
{
	static struct job other;
	push(&other, run_order, false);
	pool_blocking();
	while (!ordered)
		usleep(200);
	pool_unblocking();
}

static void
guest_in_a_free_place(void)
{
	struct job j = {.task.run = run_note}, needs = {.task.run = run_needs_another}, hold = {0};
	start(1, 2);
	CHECK(pool_run_here(pool, &j.task));
	CHECK(pthread_equal(runner, pthread_self()));
	CHECK(pool_run_here(pool, &needs.task));
	CHECK_INT(ordered, 1);
	push(&hold, run_hold, false);
	while (!inside)
		usleep(200);
	CHECK(!pool_run_here(pool, &j.task));
	gate = true;
	pool_free(pool);
}

static void *
guest(void *arg)
{
	struct job hold = {.task.run = run_hold};
	CHECK(pool_run_here(pool, &hold.task));
	return NULL;
}

/* The place of a guest that hangs goes to another, as a worker's does; what came meanwhile is run
 * when it ends. */
static void
guest_that_hangs(void)
{
	pthread_t t;
	struct job a = {0}, b = {0};
	start(1, 1);
	pthread_create(&t, NULL, guest, NULL);
	while (!inside)
		usleep(200);
	push(&a, run_order, false);
	while (!ordered)
		pool_rescue(pool, 0);
	gate = true;
	pthread_join(t, NULL);
	push(&b, run_order, false);
	pool_free(pool);
	CHECK_INT(ordered, 2);
}

static void
run_forget(struct task *t)
{
	pool_blocking();
	pool_blocking();
}

static void
run_family(struct task *t)
{
	struct job *j = (struct job *)t;
	if (j->number--)
		push(j, run_family, j->number % 2);
}

static void
the_end(void)
{
	struct job j = {.number = 100}, f[4] = {0};
	start(2, 1);
	push(&j, run_family, false); /* pushes itself again while the pool ends */
	for (unsigned i = 0; i < 4; i++)
		push(&f[i], run_forget, false);
	CHECK(!pool_free(pool));
	CHECK_INT(j.number, -1u);
	CHECK(!pool_free(NULL));
	pool_blocking();
	pool_unblocking();
	start(1, 0);
	pool_free(pool); /* nothing was ever pushed */
}

int
main(void)
{
	each_runs_once();
	urgent_first_then_in_order();
	some_are_moved_up();
	as_many_as_places();
	others_run_while_one_waits();
	bounded_waiting();
	back_to_a_place();
	the_one_that_all_wait_for();
	guest_in_a_free_place();
	guest_that_hangs();
	the_end();
	return check_end();
}
