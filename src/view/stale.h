/* A thread that tells the kernel's side which pages are stale: never from the thread that found
 * out, which may be answering a read of those very pages. */
#pragma once

#include "base/clean.h"

#include <stdbool.h>
#include <stdint.h>

enum stale_what {
	STALE_ATTRIBUTES,
	STALE_PAGES, /* what the kernel has of the file's bytes must be asked for again: too old, or
			of another layout */
	STALE_CHUNK, /* a chunk has changed: pages of both versions must not meet */
	STALE_RETIRED, /* whatever its layout, the name is to lead to another inode from now on, and
			  those that were known then may not be opened any more */
	STALE_NAME,    /* it leads to another layout now, beside which the old one lives on;
			  attributes, too */
	STALE_WRITTEN, /* the file was written: of its inodes those that no handle writes through
			  have old pages */
};

/* pushed: clock_now() then. */
typedef void stale_fn(void *arg, const char *path, enum stale_what, int64_t pushed);

struct stale;
int stale_new(stale_fn *, void *arg, struct stale **ret);
/* Waits for the call that is under way; what is queued or pushed after is not told. NULL
 * allowed. */
void stale_stop(struct stale *);
/* Stops first. NULL allowed; returns NULL. */
struct stale *stale_free(struct stale *);
/* Any thread, no lock held. Without memory it is forgotten: kernel timeouts and versions still
 * hold. */
void stale_push(struct stale *, const char *path, enum stale_what);
/* Waits until all that was pushed before has been told, or until then by clock_now: the kernel
 * takes it later where it waits for the caller's own answer. Has it been told? */
bool stale_flush(struct stale *, int64_t until);
