/* Which threads wait at the device. A program that writes little pieces has one request under way at a time. The kernel wakes a second
 * thread that sleeps at the device for each of them, mostly in vain, which takes longer than the request. So while such writes come one
 * after the other, one thread takes and answers them, and one that came back from such a write stays away for as long. It comes when a
 * request of another sort was taken, and at the latest after a moment, as a write may wait for what is stored. */
#pragma once

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

struct turns {
	atomic_uint at, away; /* threads at the device, and those that stay away */
	atomic_uint taken;    /* requests */
	sem_t come;           /* for one of those that stay away */
};

void turns_init(struct turns *);
void turns_done(struct turns *);

/* Before a thread waits at the device. little: it comes back from a little write that it answered at once. */
void turns_begin(struct turns *, bool little);
/* It has taken a request. little: again a little write. */
void turns_end(struct turns *, bool little);
