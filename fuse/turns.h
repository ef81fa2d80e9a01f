/* Which threads wait at the device. A program that asks for little pieces, or brings them, has one
 * request under way at a time. The kernel wakes a second thread that sleeps at the device for each
 * of them, mostly in vain, which takes longer than the request. So while brief requests of one
 * asker come one after the other, one thread takes and answers them, and one that came back from
 * such a request stays away for as long. It comes when a request of another sort was taken, and at
 * the latest after a moment, as a request may wait for the store. */
#pragma once

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct turns {
	atomic_uint at, away; /* threads at the device, and those that stay away */
	atomic_uint taken;    /* requests */
	atomic_uint asker;    /* of the last one that was brief */
	sem_t come;           /* for one of those that stay away */
};

void turns_init(struct turns *);
void turns_done(struct turns *);

/* Before a thread waits at the device. again: it comes back from a brief request that it answered
 * at once, and turns_end said so of it. */
void turns_begin(struct turns *, bool again);
/* It has taken a request. brief_of: the asker of a brief one, or 0. true: the one before was such a
 * one of the same asker. */
bool turns_end(struct turns *, uint32_t brief_of);
