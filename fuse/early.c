#include "fuse/early.h"

#include "fuse/session.h"

#include "base/clean.h"
#include "base/err.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

enum { STOP = SIGURG, BY_SIGNAL = 128 };

struct early {
	pthread_t thread;
	sigset_t set;
};

static void *
wait_for_end(void *arg)
{
	struct early *e = arg;
	int sig;
	while (sigwait(&e->set, &sig) != 0 || sig != STOP)
		if (sig == SIGTERM || sig == SIGINT || sig == SIGHUP)
			_exit(BY_SIGNAL + sig);
	return NULL;
}

int
early_new(struct early **ret)
{
	struct early *e = calloc(1, sizeof *e);
	if (!e)
		return err_set(-ENOMEM, "no memory for a mount");
	session_signals(&e->set);
	int r = pthread_create(&e->thread, NULL, wait_for_end, e);
	if (r) {
		free(e);
		return err_sys(r, "cannot start a thread");
	}
	*ret = e;
	return 0;
}

struct early *
early_free(struct early *e)
{
	if (!e)
		return NULL;
	pthread_kill(e->thread, STOP);
	pthread_join(e->thread, NULL);
	free(e);
	return NULL;
}
