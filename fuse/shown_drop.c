#include "fuse/shown_drop.h"

#include "fuse/notify.h"
#include "fuse/server.h"
#include "fuse/shown.h"

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* ns. When it is tried again for want of memory. */
static const int64_t AGAIN = SECOND / 100;

/* Pages that are dropped at once, at most: the end of the mount waits for it. */
enum { RUN_MOST = 1024 };

struct shown_drop {
	struct server *server;
	pthread_t thread;
};

static int
order(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Pages that follow each other go at once. false: the session is ending. */
static bool
drop(struct notifier *n, const struct shown_due *o)
{
	bool on = true;
	qsort(o->number, o->count, sizeof *o->number, order);
	for (size_t at = 0, count; at < o->count && on; at += count) {
		const uint64_t first = o->number[at];
		for (count = 1; count < RUN_MOST && at + count < o->count &&
				o->number[at + count] == first + count;)
			count++;
		on = notifier_drop_run(
			n, o->inode, first * SHOWN_PAGE, count * SHOWN_PAGE, o->stamp);
	}
	return on;
}

static void *
run(void *arg)
{
	struct shown_drop *d = arg;
	struct server *s = d->server;
	for (bool on = true; on && shown_pages_wait(s->shown);) {
		struct shown_due o;
		if (shown_pages_due(s->shown, s->inodes, &o)) {
			on = drop(s->notifier, &o);
			inodes_put(s->inodes, o.inode);
		} else {
			nanosleep(&(struct timespec){.tv_nsec = AGAIN}, NULL);
		}
		free(o.number);
	}
	return NULL;
}

int
shown_drop_new(struct server *s, struct shown_drop **ret)
{
	struct shown_drop *d = calloc(1, sizeof *d);
	if (!d)
		return err_set(-ENOMEM, "no memory for a mount");
	d->server = s;
	int e = pthread_create(&d->thread, NULL, run, d);
	if (e) {
		free(d);
		return err_sys(e, "cannot start a thread");
	}
	*ret = d;
	return 0;
}

struct shown_drop *
shown_drop_free(struct shown_drop *d)
{
	if (!d)
		return NULL;
	shown_pages_end(d->server->shown);
	pthread_join(d->thread, NULL);
	free(d);
	return NULL;
}
