/* Files that are read in parts: each stays open for a while, so that its further parts are those of
 * the same version though another file is renamed over it meanwhile. (Its space on disk comes back
 * when it is closed: few, and not for long.) */
#include "backends/dir/dir.h"

#include "base/err.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* How long a file is held that is not asked for (ns). Closed when others are asked for. */
static const int64_t HELD_FOR = 30 * SECOND;

static void
let_go(struct dir_held *h)
{
	if (h->key)
		close(h->fd);
	free(h->key);
	*h = (struct dir_held){0};
}

void
dir_let_go(struct dir *d)
{
	for (unsigned i = 0; i < DIR_HELD; i++)
		let_go(&d->held[i]);
}

static struct dir_held *
find(struct dir *d, const char *key, const char *version)
{
	for (unsigned i = 0; i < DIR_HELD; i++) {
		struct dir_held *h = &d->held[i];
		if (h->key && !strcmp(h->version, version) && !strcmp(h->key, key))
			return h;
	}
	return NULL;
}

/* A place for one more: free, or that of the file that was not asked for the longest. */
static struct dir_held *
place(struct dir *d, int64_t now)
{
	struct dir_held *best = &d->held[0];
	for (unsigned i = 0; i < DIR_HELD; i++) {
		struct dir_held *h = &d->held[i];
		if (h->key && now - h->used > HELD_FOR)
			let_go(h);
		best = h->used < best->used ? h : best;
	}
	let_go(best);
	return best;
}

void
dir_hold(struct dir *d, const char *key, int *fd, const struct stat *s)
{
	struct zmap_stat st;
	int64_t now = clock_now();
	dir_say_stat(s, &st);
	LOCKED(&d->held_lock) {
		struct dir_held *h = find(d, key, st.version);
		char *name = h ? NULL : strdup(key);
		if (name) {
			h = place(d, now);
			*h = (struct dir_held){.key = name, .fd = *fd, .stat = *s};
			memcpy(h->version, st.version, sizeof h->version);
			*fd = -1;
		}
		if (h)
			h->used = now;
	}
}

int
dir_held(struct dir *d, const char *key, const char *version, struct stat *ret)
{
	int fd = -1;
	LOCKED(&d->held_lock) {
		struct dir_held *h = find(d, key, version);
		if (h) {
			fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
			*ret = h->stat;
			h->used = clock_now();
		}
	}
	return fd;
}

/* --- what was put here --- */

static bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

void
dir_note_own(struct dir *d, const struct stat *s)
{
	if (!s->st_mtim.tv_nsec && !d->unique)
		return;
	LOCKED(&d->held_lock)
		d->own[d->next_own++ % DIR_OWN] =
			(struct dir_own){s->st_dev, s->st_ino, s->st_mtim, s->st_ctim};
}

bool
dir_is_own(struct dir *d, const struct stat *s)
{
	bool own = false;
	LOCKED(&d->held_lock)
		for (unsigned i = 0; i < DIR_OWN && !own; i++) {
			const struct dir_own *o = &d->own[i];
			own = o->ino == s->st_ino && o->dev == s->st_dev &&
			      same_time(&o->mtime, &s->st_mtim) &&
			      same_time(&o->ctime, &s->st_ctim);
		}
	return own;
}
