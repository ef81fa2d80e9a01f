/* Limits what several do at once by what it costs them: memory that loads need besides the extents
 * they make. What fits beside the others enters; alone, anything does, so that one thing larger
 * than the limit is done by itself. A load that does not fit keeps no thread waiting: it enters,
 * first come first served, when others leave; loads that no reader waits for, last. Any thread may
 * call. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct semaphore;

/* Of one that wants to enter; its owner's until it has left. */
struct semaphore_waiter {
	struct semaphore_waiter *next;
	size_t cost;
	const atomic_bool *ahead; /* as long as it is true, others enter first; or NULL */
};

int semaphore_new(size_t limit, struct semaphore **ret);
struct semaphore *semaphore_free(struct semaphore *);
/* True: it has entered. False: semaphore_leave will return it, perhaps before this call ends; then
 * it has entered. */
bool semaphore_enter(struct semaphore *, struct semaphore_waiter *);
/* More fits from now on; never less. Those that have entered thereby, linked by next. */
struct semaphore_waiter *semaphore_widen(struct semaphore *, size_t limit);
/* Those that have entered because this one left, linked by next. */
struct semaphore_waiter *semaphore_leave(struct semaphore *, const struct semaphore_waiter *);
/* The first of those that wait, if none has come or gone for `age` ns: those inside may hang. It
 * has entered. NULL: none. */
struct semaphore_waiter *semaphore_rescue(struct semaphore *, int64_t age);
