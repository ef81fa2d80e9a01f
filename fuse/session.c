#include "fuse/session.h"

#include "fuse/loop.h"
#include "fuse/monitor.h"
#include "fuse/mountpoint.h"
#include "fuse/notify.h"
#include "fuse/serve.h"
#include "fuse/server.h"
#include "fuse/shown_drop.h"
#include "fuse/fuse_abi.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* What libfuse said last: the reason when it only returns "no". */
static _Thread_local char fuse_said[256];

static void
hear_fuse(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char text[sizeof fuse_said];
	vsnprintf(text, sizeof text, fmt, ap);
	text[strcspn(text, "\n")] = 0;
	if (level > FUSE_LOG_WARNING)
		log_debug("%s", text);
	else
		memcpy(fuse_said, text, sizeof text);
}

static const char *
what_fuse_said(void)
{
	return strncmp(fuse_said, "fuse: ", 6) ? fuse_said : fuse_said + 6;
}

/* A name in a comma list of mount options. */
static int
add_escaped(struct buf *to, const char *name)
{
	int r = 0;
	for (; *name && r == 0; name++)
		r = buf_addf(to, *name == ',' || *name == '\\' ? "\\%c" : "%c", *name);
	return r;
}

static int
mount_arguments(const struct session_start *s, struct buf *ret)
{
	const struct opts *o = s->opts;
	int r = buf_addf(ret,
		"%s,default_permissions,nosuid,nodev,noatime,subtype=zarrfs%s%s%s,fsname=",
		o->rw ? "rw" : "ro", o->allow_other ? ",allow_other" : "",
		o->allow_root ? ",allow_root" : "", o->noexec ? ",noexec" : "");
	if (r == 0)
		r = add_escaped(ret, mount_shown(s->mount));
	return r < 0 ? r : buf_terminate(ret);
}

static int
fuse_open(const struct session_start *s, struct server *server, struct fuse_session **ret)
{
	CLEAN(buf_free) struct buf list = {0};
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_lowlevel_ops ops = server_ops;
	int r = mount_arguments(s, &list);
	if (r < 0)
		return r;
	if (s->opts->rw) {
		server_take_writing(&ops);
		server_take_names(&ops);
	}
	fuse_set_log_func(hear_fuse);
	struct fuse_session *se = NULL;
	if (fuse_opt_add_arg(&args, "zarrfs") == 0 && fuse_opt_add_arg(&args, "-o") == 0 &&
		fuse_opt_add_arg(&args, (char *)list.data) == 0)
		se = fuse_session_new(&args, &ops, sizeof ops, server);
	fuse_opt_free_args(&args);
	if (!se)
		return err_set(-EIO, "libfuse refuses: %s", what_fuse_said());
	if (fuse_session_mount(se, s->mountpoint) != 0) {
		fuse_session_destroy(se);
		return err_set(-EIO, "cannot mount on '%s': %s", s->mountpoint,
			*fuse_said ? what_fuse_said() : "fusermount3 refuses");
	}
	*ret = se;
	return 0;
}

/* Programs like ls ask one short question after the other. Waking a sleeping thread for each takes
 * longer than the answer, so for this long (ns) after one a thread looks for the next, one thread
 * at a time. */
static const int64_t WATCH = 50 * 1000;

static void
watch(int fd)
{
	static atomic_flag watched = ATOMIC_FLAG_INIT;
	if (atomic_flag_test_and_set(&watched))
		return;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	for (int64_t until = clock_now() + WATCH; poll(&p, 1, 0) == 0 && clock_now() < until;)
		;
	atomic_flag_clear(&watched);
}

static ssize_t
device_read(int fd, void *buf, size_t len, void *arg)
{
	static _Thread_local struct {
		bool brief, again;
		int64_t at;
	} last; /* what this thread took */
	struct server *s = arg;
	turns_begin(&s->turns, last.again && clock_now() - last.at < WATCH);
	if (last.brief)
		watch(fd);
	ssize_t n = read(fd, buf, len);
	last.brief = fuse_abi_is_brief(buf, n);
	last.again = turns_end(&s->turns, last.brief ? fuse_abi_asker(buf, n) : 0);
	last.at = last.again ? clock_now() : 0;
	if (fuse_abi_offers_direct_mappings(buf, n))
		s->direct_mappings = true;
	if (fuse_abi_offers_no_capabilities(buf, n))
		s->no_capabilities = s->rw;
	return n;
}

static ssize_t
device_write(int fd, struct iovec *iov, int count, void *arg)
{
	struct server *s = arg;
	if (s->init_answer_next) {
		s->init_answer_next = false;
		if (s->parallel_lookups)
			fuse_abi_allow_parallel_lookups(iov, count);
		if (s->direct_mappings)
			fuse_abi_take_direct_mappings(iov, count);
		if (s->no_capabilities)
			fuse_abi_take_no_capabilities(iov, count);
	}
	return writev(fd, iov, count);
}

static int
fuse_connect(struct fuse_session *se)
{
	static const struct fuse_custom_io io = {.writev = device_write, .read = device_read};
	int r = fuse_session_custom_io(se, &io, fuse_session_fd(se));
	return r < 0 ? err_set(r, "libfuse refuses: %s", what_fuse_said()) : 0;
}

static volatile sig_atomic_t status_then;

static void
enough(int sig)
{
	(void)sig;
	_exit(status_then);
}

/* The mount is gone and nothing is to be saved: a store that hangs now keeps no program waiting. */
static void
limit_the_rest(int status)
{
	enum { LIMIT = 3 /* s */ };
	status_then = status;
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = enough}, NULL);
	alarm(LIMIT);
}

void
session_say_lost(const struct buf *said)
{
	for (size_t at = 0, len; at < said->len; at += len + 1) {
		const char *line = (const char *)said->data + at,
			   *stop = memchr(line, '\n', said->len - at);
		len = stop ? (size_t)(stop - line) : said->len - at;
		log_error("not stored: %.*s", (int)len, line);
	}
}

/* What no program waits for any more is stored all the same, for as long as the store takes bytes.
 * 0, or -EIO where something is lost. */
static int
drain(const struct session_start *start)
{
	CLEAN(buf_free) struct buf said = {0};
	struct mount *m = start->mount;
	if (!start->opts->rw)
		return 0;
	if (mount_unstored(m))
		log_info("'%s': storing what was written", mount_shown(m));
	int r = mount_drain(m, &said);
	session_say_lost(&said);
	if (r < 0 && !said.len)
		log_error("not all was stored: %s", err_text());
	return r < 0 ? err_set(-EIO, "not all that was written was stored") : 0;
}

int
session_run(const struct session_start *start)
{
	struct server *server = NULL;
	struct fuse_session *se = NULL;
	struct notifier *notifier = NULL;
	struct monitor *monitor = NULL;
	struct shown_drop *drop = NULL;
	int r = server_new(start->mount, start->opts, &server);
	if (r < 0)
		return r;
	r = fuse_open(start, server, &se);
	if (r == 0)
		r = fuse_connect(se);
	if (r == 0)
		r = notifier_new(server, se, &notifier);
	if (r == 0)
		r = invalidator_new(server, &server->invalidator);
	if (r == 0)
		r = shown_drop_new(server, &drop);
	if (r == 0)
		r = monitor_new(&(struct keeping){start, server, se, notifier}, &monitor);
	if (r == 0)
		r = loop_run(se, (unsigned)start->opts->max_threads);
	queue_end(server->queue);
	invalidator_end(server->invalidator);
	if (notifier)
		notifier_stop(notifier);
	shown_drop_free(drop);
	if (se)
		fuse_session_unmount(se);
	int lost = drain(start);
	r = r < 0 ? r : lost;
	limit_the_rest(r < 0 ? EXIT_STORE : EXIT_SUCCESS);
	monitor_free(monitor);
	mount_on_stats(start->mount, NULL, NULL);
	mount_on_stale(start->mount, NULL, NULL);
	if (se)
		fuse_session_destroy(se);
	notifier_free(notifier);
	server_free(server);
	return r;
}
