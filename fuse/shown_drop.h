/* Has the kernel drop pages that are remembered (fuse/shown.h): those that are in doubt, and the
 * oldest when they are too many. That waits for what the kernel does with them, and a store that
 * hangs: so it is done on a thread of its own, for which no request waits long. */
#pragma once

struct server;
struct shown_drop;

/* After the notifier, and before the session. */
int shown_drop_new(struct server *, struct shown_drop **ret);
/* After the notifier has stopped; NULL is allowed. */
struct shown_drop *shown_drop_free(struct shown_drop *);
