/* The time between mount and unmount: threads (fuse/loop.h) answer requests, one thread of ours
 * takes signals and looks after requests that no program waits for any more. */
#pragma once

#include "fuse/opts.h"

#include <signal.h>

/* Mounts and serves until it is unmounted or a signal ends it: 0, or -errno. ready(arg) is called
 * on another thread once the kernel answers for the mount. To be called on the first thread of the
 * process, with the signals of session_signals blocked since before any thread was made. */
struct session_start {
	struct mount *mount;
	const struct opts *opts;
	const char *mountpoint; /* absolute */
	void (*ready)(void *arg);
	void *arg;
};
int session_run(const struct session_start *);
/* Blocks the signals that session_run waits for, and says which. */
void session_signals(sigset_t *ret);
/* Logs what was not stored, a line for each of mount_drain's. */
void session_say_lost(const struct buf *said);
