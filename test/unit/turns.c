/* Threads at a device, played: which of them wait there, and that none stays away when it is
 * needed. */
#include "fuse/turns.h"
#include "check.h"

#include "base/clock.h"

#include <pthread.h>
#include <unistd.h>

static struct turns turns;
static atomic_bool came;

static void *
come_back(void *arg)
{
	turns_begin(&turns, true);
	came = true;
	return arg;
}

static pthread_t
send_back(void)
{
	pthread_t t;
	came = false;
	CHECK_INT(pthread_create(&t, NULL, come_back, NULL), 0);
	return t;
}

/* No thread is at the device: this one is needed there. */
static void
alone(void)
{
	turns_init(&turns);
	turns_begin(&turns, true);
	CHECK_INT(turns.at, 1);
	turns_end(&turns, 1);
	CHECK_INT(turns.at, 0);
	turns_done(&turns);
}

/* Another one is there, to which nothing comes: both wait there in the end. */
static void
idle(void)
{
	turns_init(&turns);
	turns_begin(&turns, false);
	pthread_join(send_back(), NULL);
	CHECK_INT(turns.at, 2);
	CHECK_INT(turns.away, 0);
	turns_done(&turns);
}

/* Another one takes a request that may last. */
static void
called(void)
{
	turns_init(&turns);
	turns_begin(&turns, false);
	pthread_t t = send_back();
	while (!turns.away && !came) /* on a slow machine it may have come by itself */
		usleep(100);
	turns_end(&turns, 0);
	pthread_join(t, NULL);
	CHECK_INT(turns.at, 1);
	CHECK_INT(turns.away, 0);
	turns_done(&turns);
}

/* Another one takes a brief request, and does not come back. */
static void
stuck(void)
{
	turns_init(&turns);
	turns.asker = 1;
	turns_begin(&turns, false);
	pthread_t t = send_back();
	while (!turns.away && !came)
		usleep(100);
	turns_end(&turns, 1);
	pthread_join(t, NULL);
	CHECK_INT(turns.at, 1);
	turns_done(&turns);
}

/* While brief requests of one asker come the thread stays away, and comes after the last one. */
static void
stream(void)
{
	turns_init(&turns);
	turns.asker = 1;
	turns_begin(&turns, false);
	pthread_t t = send_back();
	for (int64_t end = clock_now() + SECOND / 20; clock_now() < end && !came;) {
		turns_end(&turns, 1);
		turns_begin(&turns, false);
	}
	pthread_join(t, NULL);
	CHECK_INT(turns.at, 2);
	turns_done(&turns);
}

/* Brief requests count as one after the other where they are of one asker, and nothing comes
 * between them. */
static void
askers(void)
{
	static const struct {
		uint32_t brief_of;
		bool again;
	} ends[] = {{1, false}, {1, true}, {2, false}, {1, false}, {1, true}, {0, false},
		{0, false}, {1, false}};
	turns_init(&turns);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		turns_begin(&turns, false);
		CHECK_INT(turns_end(&turns, ends[i].brief_of), ends[i].again);
	}
	turns_done(&turns);
}

/* The session ends: a thread is cancelled at the device only. */
static void
cancel(void)
{
	turns_init(&turns);
	turns_begin(&turns, false);
	pthread_t t = send_back();
	pthread_cancel(t);
	pthread_join(t, NULL);
	CHECK_INT(turns.at, 2);
	CHECK_INT(turns.away, 0);
	turns_done(&turns);
}

int
main(void)
{
	alone();
	idle();
	called();
	stuck();
	stream();
	askers();
	cancel();
	return check_end();
}
