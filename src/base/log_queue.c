#include "base/log_queue.h"

#include "base/clean.h"
#include "base/err.h"
#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_MOST = 512 << 10 };
static const int64_t STUCK = SECOND;

struct log_line {
	struct log_line *next;
	log_sink_fn *sink;
	enum log_level level;
	char text[];
};

static struct {
	pthread_once_t once;
	pthread_t thread;
	pthread_mutex_t lock;  /* guards all below */
	pthread_cond_t work;   /* there is a line, or the end has come */
	pthread_cond_t handed; /* a line was handed over */
	struct log_line *first, **last;
	size_t bytes;         /* of the lines that wait */
	unsigned dropped;     /* since the last line that waits */
	log_sink_fn *refused; /* the sink that did not take them */
	uint64_t count;       /* lines handed over, ever */
	bool busy;            /* the thread is in a sink */
	bool ending;
} queue = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER, .last = &queue.first};

static void
init(void)
{
	clock_cond_init(&queue.work);
	clock_cond_init(&queue.handed);
}

/* The lock is held. False: there is no room or no memory. */
static bool
add(log_sink_fn *sink, enum log_level level, const char *text)
{
	size_t size = strlen(text) + 1;
	if (queue.bytes + size > BYTES_MOST)
		return false;
	struct log_line *l = malloc(sizeof *l + size);
	if (!l)
		return false;
	*l = (struct log_line){.sink = sink, .level = level};
	memcpy(l->text, text, size);
	*queue.last = l;
	queue.last = &l->next;
	queue.bytes += size;
	return true;
}

/* The lock is held. False: lines were dropped, and there is no room to say so. */
static bool
add_count(void)
{
	char text[64];
	if (!queue.dropped)
		return true;
	snprintf(text, sizeof text, "%u lines were dropped here: no program took them",
		queue.dropped);
	if (!add(queue.refused, LOG_LEVEL_WARN, text))
		return false;
	queue.dropped = 0;
	return true;
}

/* The lock is held. */
static struct log_line *
take(void)
{
	if (!queue.first)
		add_count();
	struct log_line *l = queue.first;
	if (!l)
		return NULL;
	queue.first = l->next;
	if (!queue.first)
		queue.last = &queue.first;
	queue.bytes -= strlen(l->text) + 1;
	return l;
}

static struct log_line *
next(void)
{
	struct log_line *l = NULL;
	LOCKED(&queue.lock) {
		while (!(l = take()) && !queue.ending)
			pthread_cond_wait(&queue.work, &queue.lock);
		queue.busy = l;
	}
	return l;
}

static void *
hand_over(void *arg)
{
	(void)arg;
	for (struct log_line *l; (l = next());) {
		l->sink(l->level, l->text);
		free(l);
		LOCKED(&queue.lock) {
			queue.count++;
			queue.busy = false;
			pthread_cond_broadcast(&queue.handed);
		}
	}
	return NULL;
}

int
log_queue_start(void)
{
	sigset_t all, old;
	pthread_once(&queue.once, init);
	LOCKED(&queue.lock)
		queue.ending = false;
	sigfillset(&all); /* signals go to the threads that expect them */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int e = pthread_create(&queue.thread, NULL, hand_over, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return e ? err_sys(e, "cannot start a thread for messages") : 0;
}

void
log_queue_put(log_sink_fn *sink, enum log_level level, const char *text)
{
	LOCKED(&queue.lock) {
		if (!add_count() || !add(sink, level, text)) {
			queue.dropped++;
			queue.refused = sink;
		}
		pthread_cond_signal(&queue.work);
	}
}

/* Waits for the next line to be handed over. False: too long, or none is left. The lock is held. */
static bool
wait_for_one(void)
{
	int64_t end = clock_now() + STUCK;
	struct timespec until = {end / SECOND, end % SECOND};
	uint64_t before = queue.count;
	int r = 0;
	if (!queue.first && !queue.busy)
		return false;
	while (queue.count == before && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&queue.handed, &queue.lock, &until);
	return queue.count != before;
}

void
log_queue_drain(void)
{
	LOCKED(&queue.lock) {
		while (wait_for_one())
			;
	}
}

bool
log_queue_stop(void)
{
	bool done = false;
	log_queue_drain();
	LOCKED(&queue.lock) {
		done = !queue.first && !queue.busy;
		queue.ending = done;
		pthread_cond_signal(&queue.work);
	}
	if (done)
		pthread_join(queue.thread, NULL);
	return done;
}
