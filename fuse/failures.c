#include "fuse/failures.h"

#include "fuse/log_once.h"

#include "base/clean.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* A program that reads in order asks for what was read ahead within this time (ns), mostly. */
static const int64_t HELD_BACK = 3 * SECOND;

struct failure {
	char *path; /* NULL: free */
	char *cause;
	uint64_t off, end;
	int64_t at;
	bool told;
};

static struct {
	atomic_uint count;
	pthread_mutex_t lock; /* guards the rest */
	struct failure of[FAILURES];
} failures = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- with the lock held --- */

static struct failure *
find(const char *path)
{
	for (struct failure *f = failures.of; f < failures.of + FAILURES; f++)
		if (f->path && strcmp(f->path, path) == 0)
			return f;
	return NULL;
}

static void
forget(struct failure *f)
{
	if (f->path)
		atomic_fetch_sub(&failures.count, 1);
	free(f->path);
	free(f->cause);
	*f = (struct failure){0};
}

/* A free one, or that of the file that failed longest ago. */
static struct failure *
room(void)
{
	struct failure *oldest = failures.of;
	for (struct failure *f = failures.of; f < failures.of + FAILURES; f++)
		if (f->at < oldest->at)
			oldest = f;
	forget(oldest);
	return oldest;
}

/* False: there is no memory for it. */
static bool
put(struct failure *f, struct failure new, const char *path, const char *cause)
{
	new.path = strdup(path);
	new.cause = strdup(*cause ? cause : "no reason given");
	new.at = clock_now();
	forget(f);
	if (!new.path || !new.cause) {
		free(new.path);
		free(new.cause);
		return false;
	}
	*f = new;
	atomic_fetch_add(&failures.count, 1);
	return true;
}

/* --- for all --- */

bool
failures_add(const struct failed_read *r, const char *cause)
{
	bool tell = false;
	LOCKED(&failures.lock) {
		struct failure *f = find(r->path);
		struct failure new = {.off = r->off, .end = r->end};
		new.told = !r->paged || (f && r->off < f->end && f->off < r->end);
		if (f && !f->told && !new.told) { /* parts of one reading ahead fail together */
			new.off = f->off < new.off ? f->off : new.off;
			new.end = f->end > new.end ? f->end : new.end;
		}
		tell = !put(f ? f : room(), new, r->path, cause) || new.told;
	}
	return tell;
}

/* The kernel asks for what it did not get in order, page by page. */
void
failures_mend(const char *path, uint64_t off, uint64_t end)
{
	if (!atomic_load_explicit(&failures.count, memory_order_relaxed))
		return;
	LOCKED(&failures.lock) {
		struct failure *f = find(path);
		if (f && off <= f->off && end > f->off)
			f->off = end;
		if (f && f->off >= f->end)
			forget(f);
	}
}

int
failures_find(const char *path, struct buf *ret)
{
	int r = 0;
	LOCKED(&failures.lock) {
		const struct failure *f = find(path);
		if (f)
			r = buf_add(ret, f->cause, strlen(f->cause));
	}
	return r;
}

/* A failure older than that which no line of the log tells of yet; it counts as told now. */
static bool
take_untold(int64_t before, struct buf *path, struct buf *cause)
{
	bool found = false;
	path->len = cause->len = 0;
	LOCKED(&failures.lock) {
		for (struct failure *f = failures.of; f < failures.of + FAILURES; f++) {
			if (!f->path || f->told || f->at >= before)
				continue;
			found = buf_add(path, f->path, strlen(f->path) + 1) == 0 &&
				buf_add(cause, f->cause, strlen(f->cause) + 1) == 0;
			f->told = true;
			break;
		}
	}
	return found;
}

void
failures_tend(bool end)
{
	CLEAN(buf_free) struct buf path = {0};
	CLEAN(buf_free) struct buf cause = {0};
	if (!atomic_load_explicit(&failures.count, memory_order_relaxed))
		return;
	int64_t before = end ? INT64_MAX : clock_now() - HELD_BACK;
	while (take_untold(before, &path, &cause))
		log_once(&(struct log_once_line){
			"read", (char *)path.data, NULL, (char *)cause.data});
}
