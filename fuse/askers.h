/* The threads that have asked for bytes of an inode lately: may one of them be in the midst of a
 * read()? A thread that waits for a processor asks for nothing, for as long as others are busy.
 * Linux says of each thread in /proc whether it waits for something else, and how long it has run;
 * of threads that are not seen there nothing is known. Safe from every thread, but for a look. */
#pragma once

#include "base/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ASKERS = 32 /* of more threads the last ones are known */ };

struct askers {
	_Atomic pid_t thread[ASKERS]; /* 0: none; negative: it is in no read() */
	atomic_uint next;             /* the place of the next one, when all are taken */
};

/* This thread has asked; 0: it is not known. */
void askers_note(struct askers *, pid_t);
/* What they asked for is past. */
void askers_forget(struct askers *);

/* Does this thread wait for a page of a mapping? Then it is in no read(), until it begins one.
 * False, too, where Linux does not say: of threads that this process may not trace. */
bool askers_faults(struct askers *, pid_t);
/* From now on threads that were in no read() may be in one. */
void askers_doubt(struct askers *);

/* What was seen of the threads since a moment. */
struct askers_look {
	pid_t thread[ASKERS]; /* those that may be in the midst of a read() that began before */
	int64_t ran[ASKERS];  /* ticks, until that moment */
	unsigned count;
};
/* The moment is now: there are no pages, and no read is under way. */
void askers_look(const struct askers *, struct askers_look *ret);
/* No read() that began before that moment goes on, if none has asked for anything since. */
bool askers_are_out(const struct askers *, struct askers_look *);

/* ns. A thread that is not known is in the midst of no read() if it has asked for nothing for so
 * long; longer where threads wait for a processor: so many times as each processor has to do. */
int64_t askers_quiet(void);
/* The least, and how many times that is the most. */
static const int64_t ASKERS_QUIET = SECOND / 10;
enum { ASKERS_BUSIEST = 10 };
