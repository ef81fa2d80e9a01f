#include "model/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

struct parallel_job {
	size_t n;
	void (*fn)(void *arg, size_t i);
	void *arg;
	atomic_size_t next;
};

static void *
work(void *arg)
{
	struct parallel_job *j = arg;
	for (size_t i; (i = atomic_fetch_add(&j->next, 1)) < j->n;)
		j->fn(j->arg, i);
	return NULL;
}

enum { THREADS_MAX = 32 };

void
in_parallel(size_t n, bool remote, void (*fn)(void *arg, size_t i), void *arg)
{
	struct parallel_job j = {.n = n, .fn = fn, .arg = arg};
	pthread_t thread[THREADS_MAX];
	size_t wanted = remote && n ? n - 1 : 0, started = 0;
	while (started < wanted && started < THREADS_MAX &&
		pthread_create(&thread[started], NULL, work, &j) == 0)
		started++;
	work(&j);
	while (started)
		pthread_join(thread[--started], NULL);
}
