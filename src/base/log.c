#include "base/log.h"

#include "base/clean.h"
#include "base/log_queue.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RECENT = 256, LINE = 1536 };

static void to_stderr(enum log_level level, const char *line);

static _Atomic(enum log_level) level_now = LOG_LEVEL_INFO;
static _Atomic(log_sink_fn *) sink = to_stderr;
static atomic_bool queued;       /* lines go by the queue */
static atomic_bool stderr_waits; /* may do so: it is no plain file */

static struct {
	pthread_mutex_t lock; /* guards all below */
	char *line[RECENT];
	size_t next;
} recent = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const level_name[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

/* Past stdio, whose lock would be held by the thread that is stuck. */
static void
to_stderr(enum log_level level, const char *line)
{
	char text[LINE + 32], *at = text;
	int n = snprintf(text, sizeof text, "zarrfs: %s%s\n",
		level == LOG_LEVEL_WARN ? "warning: " : "", line);
	while (n > 0) {
		ssize_t done = write(STDERR_FILENO, at, (size_t)n);
		if (done < 0 && errno != EINTR)
			return;
		at += done > 0 ? done : 0;
		n -= done > 0 ? (int)done : 0;
	}
}

void
log_start(void)
{
	struct stat st;
	stderr_waits = fstat(STDERR_FILENO, &st) < 0 || !S_ISREG(st.st_mode);
	queued = log_queue_start() == 0;
}

void
log_drain(void)
{
	if (queued)
		log_queue_drain();
}

void
log_stop(void)
{
	if (queued && log_queue_stop())
		queued = false;
}

void
log_set_level(enum log_level level)
{
	level_now = level;
}

enum log_level
log_get_level(void)
{
	return level_now;
}

void
log_set_sink(log_sink_fn *fn)
{
	log_drain();
	sink = fn;
}

static void
keep(enum log_level level, const char *line)
{
	struct tm tm;
	time_t now = time(NULL);
	char stamp[32], *kept;
	strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	if (asprintf(&kept, "%s %s %s\n", stamp, level_name[level], line) < 0)
		return;
	LOCKED(&recent.lock) {
		char **slot = &recent.line[recent.next++ % RECENT];
		free(*slot);
		*slot = kept;
	}
}

void
log_line(enum log_level level, const char *fmt, ...)
{
	char line[LINE];
	va_list ap;
	if (level > level_now)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = '?'; /* names come from stores: no forged lines, no terminal codes */
	if (level <= LOG_LEVEL_WARN)
		keep(level, line);
	log_sink_fn *fn = sink;
	if (queued && (fn != to_stderr || stderr_waits))
		log_queue_put(fn, level, line);
	else
		fn(level, line);
}

int
log_recent(struct buf *ret)
{
	int r = 0;
	LOCKED(&recent.lock) {
		for (size_t i = 0; i < RECENT && r == 0; i++) {
			const char *l = recent.line[(recent.next + i) % RECENT];
			if (l)
				r = buf_add(ret, l, strlen(l));
		}
	}
	return r;
}
