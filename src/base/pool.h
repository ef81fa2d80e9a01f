/* Worker threads and their queue. A task runs once, on some worker, without any lock held; it
 * cannot fail and may push further tasks. Urgent tasks go before the others; within each kind,
 * first come first served. A worker that is about to wait for something slow says so with
 * pool_blocking, and another takes its place, so that a dead server never stops work that needs
 * only the processor. Any thread may push. The owner of a task's memory is the task. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pool;

struct task {
	struct task *next; /* the pool's while queued */
	void (*run)(struct task *);
};

/* workers: how many run at once (the processors to use); blocked_max: how many more may wait. */
int pool_new(unsigned workers, unsigned blocked_max, struct pool **ret);
/* Runs what is queued, then ends the workers. NULL is allowed. */
struct pool *pool_free(struct pool *);

/* Before and after the slow part of a task, on the worker's thread. Elsewhere they do nothing. */
void pool_blocking(void);
void pool_unblocking(void);

/* Places of workers that have been in one task for longer than `age` ns go to others: for tasks
 * that were not expected to wait (a local disk that hangs). Costs nothing until a thread that waits
 * calls it. */
void pool_rescue(struct pool *, int64_t age);
/* Has this worker's place gone to another while it was in its task? Then there are more workers
 * than places, and it should let go of what each keeps for itself. */
bool pool_slot_stolen(void);

void pool_push(struct pool *, struct task *, bool urgent);
/* For callers that hold a lock, under which no thread is to be begun: not urgent. Once the lock is
 * open, pool_fill. */
void pool_push_only(struct pool *, struct task *);
/* Begins a worker, if tasks lack one. */
void pool_fill(struct pool *);
/* Before all that wait: for a task that has begun already, and holds something that others wait
 * for. */
void pool_push_first(struct pool *, struct task *);
/* Runs a task on this thread in a worker's place, where one is free and nothing urgent waits for
 * it: no worker has to be woken. False: it was not run. */
bool pool_run_here(struct pool *, struct task *);
/* If this task is queued, it is urgent from now on. The task may be gone: it is only compared. */
void pool_hurry(struct pool *, const struct task *);
/* Tasks that wait for a worker. */
unsigned pool_queued(struct pool *);
