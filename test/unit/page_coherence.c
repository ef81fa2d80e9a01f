/* When an inode may begin anew, and which threads are known then. */
#include "fuse/page_coherence.c"
#include "check.h"

#include <unistd.h>

static struct server server;
static struct invalidator invalidator;
static struct page_coherence pages;
static struct inode inode;

static void *
ask(void *arg)
{
	page_coherence_wait(arg);
	return NULL;
}

static bool
is_known(pid_t thread)
{
	for (unsigned i = 0; i < ASKERS; i++)
		if (atomic_load(&pages.askers.thread[i]) == thread)
			return true;
	return false;
}

/* A thread that has waited until its inode began anew is known from then on. */
static void
waited(void)
{
	struct request r = {.server = &server, .inode = &inode, .pid = 1 << 24};
	pthread_t asks;
	park(&invalidator, &pages, true);
	CHECK_INT(pthread_create(&asks, NULL, ask, &r), 0);
	while (!is_known(r.pid))
		usleep(1000);
	askers_forget(&pages.askers); /* as the inode begins anew */
	atomic_store(&pages.since, 1);
	park(&invalidator, &pages, false);
	pthread_join(asks, NULL);
	CHECK(is_known(r.pid));
}

static atomic_bool over;

/* Reads past the pages all the time, in one request each. */
static void *
poll_it(void *arg)
{
	while (!over) {
		page_coherence_read(&inode, 1 << 24, true);
		usleep(100);
	}
	return NULL;
}

/* An inode begins anew between such reads. */
static void
polled(void)
{
	pthread_t polls;
	bool quiet = false;
	CHECK_INT(pthread_create(&polls, NULL, poll_it, NULL), 0);
	for (int i = 0; i < TRIES && !quiet; i++)
		quiet = wait_for_quiet(&invalidator, &pages);
	CHECK(quiet);
	CHECK_INT(atomic_load(&pages.read), 0);
	atomic_store(&over, true);
	pthread_join(polls, NULL);
	page_coherence_read(&inode, 1 << 24, false); /* one that may go on */
	CHECK(atomic_load(&pages.read));
}

/* Threads that wait for a page of a mapping. */
enum { MAPS = 1 << 24 };
bool __wrap_askers_faults(struct askers *, pid_t);
bool
__wrap_askers_faults(struct askers *a, pid_t thread)
{
	(void)a;
	return thread == MAPS;
}

/* An inode begins anew though a mapping is read all the time, once the kernel asks before each
 * read(). */
static void
mapped(void)
{
	atomic_store(&pages.read, 0);
	page_coherence_read(&inode, MAPS, false);
	CHECK(atomic_load(&pages.read) != 0);
	CHECK(is_known(MAPS));
	park(&invalidator, &pages, true);
	atomic_store(&pages.read, 0);
	page_coherence_read(&inode, MAPS, false); /* before it may have begun a read() */
	CHECK(atomic_load(&pages.read) != 0);
	atomic_store(&pages.asking, true);
	atomic_store(&pages.read, 0);
	page_coherence_read(&inode, MAPS, false);
	CHECK_INT(atomic_load(&pages.read), 0);
	page_coherence_read(&inode, MAPS + 1, false);
	CHECK(atomic_load(&pages.read) != 0);
	park(&invalidator, &pages, false);
	CHECK(!atomic_load(&pages.asking));
}

int
main(void)
{
	server.invalidator = &invalidator;
	invalidator.server = &server;
	pthread_mutex_init(&invalidator.lock, NULL);
	clock_cond_init(&invalidator.unparked);
	atomic_store(&inode.pages, &pages);
	pages.inode = &inode;
	CHECK_INT(queue_new(1, false, &server.queue), 0);
	waited();
	polled();
	mapped();
	queue_free(server.queue);
	return check_end();
}
