#include "fuse/monitor.h"

#include "fuse/failures.h"
#include "fuse/mountpoint.h"
#include "fuse/notify.h"
#include "fuse/serve.h"
#include "fuse/server.h"
#include "fuse/session.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* How often requests are looked after (ms), while there are any and while there are none. */
enum { BUSY = 200, QUIET = 500 };
/* How long an ending session may go on before its requests are cancelled, before the kernel is to
 * drop them, and before it is left (s). */
enum { PATIENCE = 1, DROPPED = 2, LAST = 3 };

/* Wakes the loop, and this thread, from their waits. */
enum { WAKE = SIGURG };

struct monitor {
	struct keeping with;
	pthread_t thread, main, refresher;
	bool refreshing_ever;   /* refresher is to be joined */
	atomic_bool refreshing; /* it runs */
	atomic_bool left;       /* the loop has ended */
	int64_t ending;         /* since when; 0: not */
	bool over;              /* the loop is to end, or has, and is told so no more */
	dev_t dev;              /* of the mount; 0: not known */
};

static void
signal_set(sigset_t *ret)
{
	static const int ours[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, WAKE};
	sigemptyset(ret);
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		sigaddset(ret, ours[i]);
}

void
session_signals(sigset_t *ret)
{
	signal_set(ret);
	pthread_sigmask(SIG_BLOCK, ret, NULL);
	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
}

static void
woken(int sig)
{
	(void)sig;
}

/* The kernel sets it to its own default when it hears of the session, so it is written after that.
 * Only root may. */
static void
raise_read_ahead(dev_t dev, int64_t kb)
{
	char path[64];
	snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", major(dev), minor(dev));
	FILE *f = kb ? fopen(path, "we") : NULL;
	if (!f)
		return;
	fprintf(f, "%lld\n", (long long)kb);
	if (fclose(f) != 0)
		log_debug("cannot write '%s'", path);
}

/* The first access waits until the kernel and libfuse have agreed on how to talk; where another
 * program has mounted, that is its own. */
static void
get_ready(struct monitor *k)
{
	const struct session_start *start = k->with.start;
	struct stat st;
	if (mountpoint_fd(start->mountpoint) < 0 && stat(start->mountpoint, &st) == 0) {
		k->dev = st.st_dev;
		raise_read_ahead(st.st_dev, start->opts->read_ahead_kb);
	}
	start->ready(start->arg);
	log_info("'%s' is mounted on '%s'", mount_shown(start->mount), start->mountpoint);
}

static void
say_changes(const struct buf *text)
{
	const char *line = (const char *)text->data, *end = line + text->len;
	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		stop = stop ? stop : end;
		log_info("looked at the store again: %.*s", (int)(stop - line), line);
		line = stop + 1;
	}
}

static void *
refresh(void *arg)
{
	struct monitor *k = arg;
	CLEAN(buf_free) struct buf changes = {0};
	if (mount_refresh(k->with.start->mount, &changes) < 0)
		log_error("cannot look at the store again: %s", err_text());
	else
		say_changes(&changes);
	atomic_store(&k->refreshing, false);
	return NULL;
}

static void
join_refresher(struct monitor *k)
{
	if (k->refreshing_ever)
		pthread_join(k->refresher, NULL);
	k->refreshing_ever = false;
}

/* On a thread of its own, because the store may take its time. */
static void
start_refresh(struct monitor *k)
{
	if (atomic_load(&k->refreshing))
		return;
	join_refresher(k);
	atomic_store(&k->refreshing, true);
	k->refreshing_ever = pthread_create(&k->refresher, NULL, refresh, k) == 0;
	if (!k->refreshing_ever)
		atomic_store(&k->refreshing, false);
}

static void
change_level(int by)
{
	static const char *const word[] = {"error", "warning", "info", "debug"};
	int level = (int)log_get_level() + by;
	if (level < LOG_LEVEL_ERROR || level > LOG_LEVEL_DEBUG)
		return;
	log_set_level((enum log_level)level);
	log_info("log level is now %s", word[level]);
}

/* Notices go first: the kernel can take them only while requests are still answered. But pages that
 * it drops then it may want to have stored before, by a store that hangs. */
static void
end_session(struct monitor *k)
{
	const int64_t now = clock_now(), ms = SECOND / 1000;
	if (!k->ending) {
		log_info("ending the mount on '%s'", k->with.start->mountpoint);
		k->ending = now;
	}
	const bool told = notifier_end(k->with.notifier, now + BUSY * ms);
	if (!told && now - k->ending >= PATIENCE * SECOND)
		queue_cancel(k->with.server->queue);
	if (!told && now - k->ending < DROPPED * SECOND)
		return;
	if (!told)
		mountpoint_abort(k->with.start->mountpoint, k->dev);
	k->over = true;
	fuse_session_exit(k->with.se);
}

static void
take_signal(struct monitor *k, int sig)
{
	switch (sig) {
	case SIGTERM:
	case SIGINT:
		if (!k->ending)
			end_session(k);
		break;
	case SIGHUP: start_refresh(k); break;
	case SIGUSR1: change_level(1); break;
	case SIGUSR2: change_level(-1); break;
	default: break;
	}
}

/* Has the kernel let go of the mount already? */
static bool
unmounted(struct monitor *k)
{
	struct pollfd fd = {.fd = fuse_session_fd(k->with.se)};
	return poll(&fd, 1, 0) == 1 && fd.revents & POLLERR;
}

/* Requests that hang (name lookups cannot be cancelled) do not keep the mount or the process. */
static void
leave(struct monitor *k)
{
	CLEAN(buf_free) struct buf said = {0};
	int lost = mount_lost(k->with.start->mount, &said);
	log_warn("requests still hang: leaving them");
	session_say_lost(&said);
	if (!unmounted(k))
		mountpoint_detach(k->with.start->mountpoint);
	log_drain();
	_exit(lost < 0 ? EXIT_STORE : EXIT_SUCCESS);
}

static void
see_to_the_end(struct monitor *k)
{
	int64_t now = clock_now();
	if (!k->ending)
		k->ending = now;
	k->over = true;
	pthread_kill(k->main, WAKE); /* it looks for the end only when woken */
	if (now - k->ending >= PATIENCE * SECOND || unmounted(k))
		queue_cancel(k->with.server->queue);
	if (now - k->ending >= LAST * SECOND && !mount_unstored(k->with.start->mount))
		leave(k);
}

static void *
keep(void *arg)
{
	struct monitor *k = arg;
	sigset_t set;
	signal_set(&set);
	get_ready(k);
	while (!atomic_load(&k->left)) {
		bool busy = queue_tend(k->with.server->queue) || k->ending;
		long ms = busy ? BUSY : QUIET;
		mount_age(k->with.start->mount);
		failures_tend(false);
		struct timespec wait = {ms / 1000, ms % 1000 * 1000000};
		int sig = sigtimedwait(&set, NULL, &wait);
		if (sig > 0)
			take_signal(k, sig);
		if (k->ending && !k->over && !fuse_session_exited(k->with.se))
			end_session(k);
		if (fuse_session_exited(k->with.se) && !atomic_load(&k->left))
			see_to_the_end(k);
	}
	failures_tend(true);
	return NULL;
}

int
monitor_new(const struct keeping *with, struct monitor **ret)
{
	sigset_t wake;
	struct monitor *k = calloc(1, sizeof *k);
	if (!k)
		return err_set(-ENOMEM, "no memory for a mount");
	k->with = *with;
	k->main = pthread_self();
	int r = pthread_create(&k->thread, NULL, keep, k);
	if (r) {
		free(k);
		return err_sys(r, "cannot start a thread");
	}
	/* Without SA_RESTART: the loop's wait is to end. Only this thread takes it; others
	 * inherited the block. */
	sigaction(WAKE, &(struct sigaction){.sa_handler = woken}, NULL);
	sigemptyset(&wake);
	sigaddset(&wake, WAKE);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	*ret = k;
	return 0;
}

struct monitor *
monitor_free(struct monitor *k)
{
	if (!k)
		return NULL;
	atomic_store(&k->left, true);
	pthread_kill(k->thread, WAKE);
	pthread_join(k->thread, NULL);
	join_refresher(k);
	free(k);
	return NULL;
}
