/* The thread beside the session: says when the mount is ready, takes signals, answers for processes
 *that are being killed, lets pages age, and sees to it that an end is an end even where requests
 *hang.
 *
 *	SIGTERM SIGINT	unmount and end
 *	SIGHUP		look at the store again
 *	SIGUSR1 SIGUSR2	say more, say
 * less */
#pragma once

#include <signal.h>

struct session_start;
struct server;
struct fuse_session;
struct notifier;

struct keeping {
	const struct session_start *start;
	struct server *server;
	struct fuse_session *se;
	struct notifier *notifier;
};

struct monitor;
/* Called on the thread that is about to run the session's loop. */
int monitor_new(const struct keeping *, struct monitor **ret);
/* Called when the loop has ended. */
struct monitor *monitor_free(struct monitor *);
