/* A thread that has waited until its inode began anew is known from then on. */
#include "fuse/page_coherence.c"
#include "check.h"

#include <unistd.h>

static struct server server;
static struct invalidator renewer;
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

int
main(void)
{
	struct request r = {.server = &server, .inode = &inode, .pid = 1 << 24};
	pthread_t asks;
	server.renewer = &renewer;
	renewer.server = &server;
	pthread_mutex_init(&renewer.lock, NULL);
	clock_cond_init(&renewer.unparked);
	atomic_store(&inode.pages, &pages);
	pages.inode = &inode;
	park(&renewer, &pages, true);
	CHECK_INT(pthread_create(&asks, NULL, ask, &r), 0);
	while (!is_known(r.pid))
		usleep(1000);
	askers_forget(&pages.askers); /* as the inode begins anew */
	atomic_store(&pages.since, 1);
	park(&renewer, &pages, false);
	pthread_join(asks, NULL);
	CHECK(is_known(r.pid));
	return check_end();
}
