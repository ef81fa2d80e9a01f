/* One reader's way through a file: does it go on in order, and did it pause in the midst of a
 * chunk?
 *
 * While a reader reads on in order, the file's inode does not begin anew (stream_move); a reader
 * that has asked for nothing for READS_ON counts as gone. One that then goes on all the same, where
 * it stopped, has a part of a chunk in one version, and must not be given the rest in another: the
 * inode may show a newer one by now.
 *
 * The kernel asks for more than the reader has taken, and asks again for what it was told to drop;
 * readers that share its pages each ask for what the others lack. So a run in order is: nothing
 * from before the place where the last gap or repetition was. That is good enough to put off what
 * can wait. A reader that is refused something is a steady one, without any gap or repetition since
 * its first request, or since it began again at that place: others may read the same place twice,
 * and mean to see what is new. Not locked: its stream does that, but for pause_end. */
#pragma once

#include "base/clock.h"
#include "data/array.h"

static const int64_t READS_ON = 2 * SECOND;

struct pause {
	uint64_t start,
		high;   /* of the run: first byte, end of what was asked for; high 0: none yet */
	uint64_t floor; /* the reader has taken all before it */
	uint64_t next;  /* where it goes on, if nothing is left out or repeated */
	uint64_t floor_before, next_before; /* the same before the last skip */
	uint64_t gap_from, gap_to; /* left out in a steady run, perhaps because another request
				      overtook it; to 0: none */
	bool steady;
	int64_t dropped;    /* array_want.dropped of its last repetition */
	bool again;         /* it is not the first run */
	bool late;          /* its first request was repeated long after its answer */
	unsigned repeats;   /* how often that was repeated since the run began */
	int64_t began;      /* clock_now() */
	int64_t since;      /* array_want.since of it */
	atomic_llong ended; /* clock_now() of the end of the last request */
	atomic_uint active; /* requests under way; falls after that is said */
	/* The same of before the last pause, if the reader may go on there; until: clock_now(), 0:
	 * it has not yet. */
	uint64_t left_from, left_to;
	int64_t left_since, left_until;
	unsigned left_asked; /* requests there since then */
};

/* A request begins. since: of what the reader has of the chunk in whose midst it goes on after a
 * pause, during which the inode began anew; 0: it does no such thing. */
int64_t pause_begin(struct pause *, const struct array_want *, int64_t now);
/* Safe from every thread. */
void pause_end(struct pause *, int64_t now);
/* Does a steady reader count as gone, though it may have a part of a chunk and come for the
 * rest? */
bool pause_stopped(const struct pause *, int64_t now);
/* Does the reader go on in order at m->to, as it did at m->noticed? */
bool pause_goes_on(const struct pause *, const struct array_move *m);
