/* Whose turn it is among the requests of the kernel.
 *
 * All threads of the session take requests, and each runs its request to the end. If all were stuck
 * on a dead server, no thread would be left to say that a process was killed, or to answer what
 * needs no store. So only so many run at once; the others wait here, first come first served,
 * without a thread. A request that is stuck gives its place away after a while: another thread is
 * begun for the one that waits longest. A request that waited for all of its time fails when its
 * turn comes; that is in time, since those that ran before it came earlier and have ended by
 * then. */
#pragma once

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct inode;
struct request;

struct queue;
/* How many may run at once; writable: there are some that store, too. */
int queue_new(unsigned threads, bool writable, struct queue **ret);
struct queue *queue_free(struct queue *);
/* Takes over the request: runs it now on this thread, or when its turn comes on another. aside: at
 * once. */
void queue_start(struct queue *, struct request *, bool aside);
/* All running requests are told to stop, all waiting ones fail. */
void queue_cancel(struct queue *);
/* Answers requests of processes that are being killed or have ended, and those whose time is long
 * over, whatever they wait for. true: there are requests under way. */
bool queue_tend(struct queue *);
/* The session's threads have ended: waits for all others that run requests. */
void queue_end(struct queue *);
/* Questions about names and attributes have to wait. */
bool queue_full(struct queue *);
void queue_count(struct queue *, unsigned *ret_running, unsigned *ret_waiting);
/* ns: the kernel is not told to drop pages that a read which takes so long waits for. */
static const int64_t HANGING = SECOND;

/* Is a read of this inode under way that has taken ns or longer? */
bool queue_reads(struct queue *, const struct inode *, int64_t ns);
/* The same of any other request about this very path, or a name in it. */
bool queue_asks_in(struct queue *, const char *path, int64_t ns);
/* Has a file that a program closed before that time not been released yet? */
bool queue_releases(struct queue *, int64_t before);
