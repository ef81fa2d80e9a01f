/* The folders that chunks are read from. Each stays open for a while, and its path is looked at
 * again ten times a second, as that of the store is, and whenever metadata were read since: what
 * says how to read a chunk is never newer than the look at the folder that the chunk comes from. So
 * a chunk costs no look at its folder. (A chunk is looked at by its path before it is opened, and
 * is the same file then: another folder there shows at once.) Only folders on the store's own mount
 * are kept open: another one could not be unmounted meanwhile. */
#include "backends/dir/dir.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/path.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOOK_EVERY = 100 * 1000 * 1000 /* ns */ };

/* How long a folder stays open that is not asked for (ns). Closed when others are asked for. */
static const int64_t HELD_FOR = 30 * SECOND;

/* --- when files came to be where they are --- */

static int64_t
later(int64_t t, const struct stat *s)
{
	int64_t end = dir_ns(s->st_ctim) + dir_tick(s->st_ctim);
	return end > t ? end : t;
}

/* Since when that directory is the one at its path, as far as it was another one when it was met
 * before: what is mounted over it may be older. */
static int64_t
folder_since(struct dir *d, const char *path, const struct stat *s)
{
	const uint64_t hash = hash_end(hash_text(HASH_START, path)) | 1;
	int64_t since = 0;
	LOCKED(&d->folder_lock) {
		struct dir_folder *f = &d->folder[hash / 2 % DIR_FOLDERS];
		bool met = f->path == hash, same = f->dev == s->st_dev && f->ino == s->st_ino;
		since = !met ? 0 : same ? f->since : clock_wall() + DIR_SETTLE;
		*f = (struct dir_folder){hash, s->st_dev, s->st_ino, since};
	}
	return since;
}

/* When the folder, or one of the directories and links that lead to it, came to be there. ret,
 * which may be NULL: what is there now. */
static int64_t
folder_placed(struct dir *d, const char *folder, struct stat *ret)
{
	CLEAN(clean_free) char *path = strdup(folder);
	struct stat s;
	int64_t last = 0, other = 0;
	for (char *end = path; end && *path;) {
		if (fstatat(d->root, path, &s, AT_SYMLINK_NOFOLLOW) == 0) {
			last = later(last, &s);
			if (S_ISLNK(s.st_mode) && fstatat(d->root, path, &s, 0) == 0)
				last = later(last, &s);
			int64_t since = folder_since(d, path, &s);
			other = since > other ? since : other;
			if (ret)
				*ret = s;
		}
		ret = NULL;
		end = strrchr(path, '/');
		*(end ? end : path) = 0;
	}
	if (!path || fstat(d->root, &s) != 0)
		return INT64_MAX;
	if (ret)
		*ret = s;
	last = later(last, &s);
	return last > other ? last : other;
}

int64_t
dir_placed(struct dir *d, const char *key, const struct stat *file, int64_t base)
{
	CLEAN(clean_free) char *folder = base ? NULL : path_above(key);
	if (!base)
		base = folder ? folder_placed(d, folder, NULL) : INT64_MAX;
	int64_t last = later(base, file);
	return last > d->moved ? last : d->moved;
}

/* --- folders that stay open --- */

static void
close_base(struct dir_base *b)
{
	if (!b)
		return;
	close(b->fd);
	free(b->path);
	free(b);
}

/* The lock is held. */
static struct dir_base *
find(struct dir *d, const char *path, size_t len)
{
	for (unsigned i = 0; i < DIR_BASES; i++) {
		struct dir_base *b = d->base[i];
		if (b && !strncmp(b->path, path, len) && !b->path[len])
			return b;
	}
	return NULL;
}

/* The lock is held. Not found any more; what is returned is to be closed, with no lock held. */
static struct dir_base *
drop(struct dir *d, unsigned i)
{
	struct dir_base *b = MOVE(d->base[i]);
	if (!b || !b->users)
		return b;
	b->dropped = true; /* its last user closes it */
	return NULL;
}

/* The lock is held. Takes the place of the one of its path, or of the one that was not asked for
 * the longest. */
static void
add(struct dir *d, struct dir_base *new, int64_t now, struct dir_base *old[DIR_BASES])
{
	unsigned best = 0;
	for (unsigned i = 0; i < DIR_BASES; i++) {
		struct dir_base *b = d->base[i];
		if (b && (now - b->used > HELD_FOR || !strcmp(b->path, new->path)))
			old[i] = drop(d, i);
		if (!d->base[i] || (d->base[best] && d->base[i]->used < d->base[best]->used))
			best = i;
	}
	if (d->base[best])
		old[best] = drop(d, best);
	d->base[best] = new;
}

static int
open_folder(const struct dir *d, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve =
			RESOLVE_NO_XDEV | (d->follow ? 0 : RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS),
	};
	return (int)syscall(SYS_openat2, d->root, *path ? path : ".", &how, sizeof how);
}

/* The folder as it is now. NULL: it cannot be kept. */
static struct dir_base *
look(struct dir *d, const char *path, size_t len, int64_t now)
{
	struct dir_base *b = calloc(1, sizeof *b);
	struct stat opened, there = {0};
	if (!b)
		return NULL;
	b->doubts = d->doubts; /* before it is looked at */
	b->used = b->looked = now;
	b->users = 1;
	b->path = strndup(path, len);
	b->fd = b->path ? open_folder(d, b->path) : -1;
	if (b->fd < 0 || fstat(b->fd, &opened) != 0) {
		if (b->fd >= 0)
			close(b->fd);
		free(b->path);
		free(b);
		return NULL;
	}
	b->placed = folder_placed(d, b->path, &there);
	if (opened.st_dev == there.st_dev && opened.st_ino == there.st_ino)
		return b;
	close_base(b); /* it was exchanged between the two */
	return NULL;
}

struct dir_base *
dir_base_take(struct dir *d, const char *key)
{
	if (!d->is_local || !d->has_openat2)
		return NULL;
	int64_t now = clock_now();
	const char *name = path_name(key);
	size_t len = name > key ? (size_t)(name - key) - 1 : 0;
	struct dir_base *b = NULL, *old[DIR_BASES] = {NULL};
	LOCKED(&d->folder_lock) {
		b = find(d, key, len);
		if (b && (b->doubts != d->doubts || now - b->looked >= LOOK_EVERY))
			b = NULL;
		if (b) {
			b->users++;
			b->used = now;
		}
	}
	if (b)
		return b;
	b = look(d, key, len, now);
	if (b)
		LOCKED(&d->folder_lock)
			add(d, b, now, old);
	for (unsigned i = 0; i < DIR_BASES; i++)
		close_base(old[i]);
	return b;
}

void
dir_base_leave(struct dir *d, struct dir_base *b)
{
	bool last = false;
	LOCKED(&d->folder_lock)
		last = --b->users == 0 && b->dropped;
	if (last)
		close_base(b);
}

void
dir_base_doubt(struct dir *d)
{
	atomic_fetch_add(&d->doubts, 1);
}

void
dir_base_end(struct dir *d)
{
	for (unsigned i = 0; i < DIR_BASES; i++)
		close_base(d->base[i]);
}
