/* Limits what several do at once by what it costs them: memory that loads need besides the pieces they make. What fits beside the
 * others enters; alone, anything does, so that one thing larger than the limit is done by itself. Whoever does not fit keeps no thread
 * waiting: it enters, first come first served, when others leave; what nobody waits for, last. Any thread may call. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gate;

/* Of one that wants to enter; its owner's until it has left. */
struct ticket {
	struct ticket *next;
	size_t cost;
	const atomic_bool *ahead; /* as long as it is true, others enter first; or NULL */
};

int gate_new(size_t limit, struct gate **ret);
struct gate *gate_free(struct gate *);
/* True: it has entered. False: gate_leave will return it, perhaps before this call ends; then it has entered. */
bool gate_enter(struct gate *, struct ticket *);
/* Those that have entered because this one left, linked by next. */
struct ticket *gate_leave(struct gate *, const struct ticket *);
/* The first of those that wait, if nobody has come or gone for `age` ns: those inside may hang. It has entered. NULL: none. */
struct ticket *gate_patrol(struct gate *, int64_t age);
