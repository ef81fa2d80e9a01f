/* Writers of one store keep out of each other's way between looking at a version and replacing it:
 * by a lock on one byte of the file that describes the array or group, the nearest one beside or
 * above the key; which byte, the rest of the key says. Metadata themselves are replaced under all
 * of the bytes, so that a process which waits for one finds out that the file is another one now.
 * Where no metadata are, or they may not be written, the object itself is locked.
 *
 * The locks are fcntl's of an open file (OFD), which other machines see over NFS, and which another
 * close of that file in this process does not undo, as it does POSIX's own. The bytes lie behind
 * any metadata's end: where locks are mandatory, no reader comes there. */
#include "backends/dir/dir.h"

#include "base/err.h"
#include "base/lookup3.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { LOCK_BASE = 1 << 30, LOCK_BYTES = 1 << 30 };
enum { PAUSE_MIN = 100, PAUSE_MAX = 5000 }; /* us */
enum { TRIES = 16 };                        /* of a file that is replaced again and again */

static const char *const metadata[] = {".zarray", "zarr.json", ".zgroup"};
enum { METADATA = sizeof metadata / sizeof *metadata };

bool
dir_is_metadata(const char *key)
{
	const char *name = path_name(key);
	for (size_t i = 0; i < METADATA; i++)
		if (!strcmp(name, metadata[i]))
			return true;
	return false;
}

/* Is there nothing, or nothing that this process may ever lock? What else keeps it from opening a
 * file passes, and another writer may hold the lock meanwhile. */
static bool
is_unlockable(int r)
{
	switch (-r) {
	case ENOENT:
	case ENOTDIR:
	case ENAMETOOLONG:
	case EISDIR:
	case EACCES:
	case EPERM:
	case EROFS:
	case EXDEV:
	case ELOOP:
	case ENXIO:
	case ENODEV:
	case ENOTSUP: return true;
	default: return false;
	}
}

/* A descriptor, -ENOENT: there are none in this folder ("" or "a/b/"), or -errno. */
static int
open_metadata(struct dir *d, const char *folder, size_t len)
{
	for (size_t i = 0; i < METADATA; i++) {
		CLEAN(clean_free) char *path = NULL;
		if (asprintf(&path, "%.*s%s", (int)len, folder, metadata[i]) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		int fd = dir_open_below(d, path, O_RDWR);
		if (fd != -ENOENT && fd != -ENOTDIR)
			return fd;
	}
	return -ENOENT;
}

/* What is to be locked, and behind how many bytes of the key its folder ends. -ENOENT: nothing is
 * there. */
static int
open_lock(struct dir *d, const char *key, size_t *ret_len)
{
	const char *slash = strrchr(key, '/');
	size_t len = slash ? (size_t)(slash - key) + 1 : 0;
	int fd = open_metadata(d, key, len);
	while (fd == -ENOENT && len) {
		do
			len--;
		while (len && key[len - 1] != '/');
		fd = open_metadata(d, key, len);
	}
	if (fd < 0 && !is_unlockable(fd))
		return fd;
	if (fd < 0)
		fd = dir_open_below(d, key, O_RDWR);
	*ret_len = len;
	return fd;
}

int
dir_lock_fd(int fd, int64_t start, int64_t len)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
	return fcntl(fd, F_OFD_SETLK, &l) == 0 ? 0 : -errno;
}

static int
wait_for(int fd, const char *key, size_t len, int64_t deadline, struct cancel *cancel)
{
	const char *rest = key + len;
	uint32_t h = lookup3((const uint8_t *)rest, strlen(rest), 0) % LOCK_BYTES;
	bool all = dir_is_metadata(key);
	for (useconds_t us = PAUSE_MIN;; us = us < PAUSE_MAX ? 2 * us : us) {
		int r = dir_lock_fd(
			fd, all ? LOCK_BASE : LOCK_BASE + (int64_t)h, all ? LOCK_BYTES : 1);
		if (r == 0)
			return 0;
		if (r != -EAGAIN && r != -EACCES && r != -EINTR)
			return err_sys(-r, "lock");
		r = zmap_patience(deadline, cancel);
		if (r < 0)
			return r;
		usleep(us);
	}
}

/* Is it still there, in the key's own folder, as nearly always? Then no other file is what others
 * would lock. */
static bool
still_near(struct dir *d, const char *key, size_t len, const struct stat *locked)
{
	const char *slash = strrchr(key, '/');
	/* what a network's file system keeps of a name may be old; opening it asks anew */
	if (!atomic_load(&d->is_local) || !locked->st_nlink)
		return false;
	if (len != (slash ? (size_t)(slash - key) + 1 : 0))
		return false;
	for (size_t i = 0; i < METADATA; i++) {
		struct stat s;
		CLEAN(clean_free) char *path = NULL;
		if (asprintf(&path, "%.*s%s", (int)len, key, metadata[i]) < 0) {
			path = NULL;
			return false;
		}
		if (fstatat(d->root, path, &s, 0) == 0)
			return s.st_dev == locked->st_dev && s.st_ino == locked->st_ino;
		if (errno != ENOENT)
			return false;
	}
	return false;
}

/* Is what was locked still what others would lock? */
static bool
still(struct dir *d, const char *key, size_t len, int fd)
{
	struct stat a, b;
	size_t now;
	if (fstat(fd, &a) != 0)
		return false;
	if (still_near(d, key, len, &a))
		return true;
	CLEAN(dir_clean_fd) int other = open_lock(d, key, &now);
	return other >= 0 && now == len && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

int
dir_lock(struct dir *d, const char *key, int64_t deadline, struct cancel *cancel, int *ret)
{
	for (unsigned try = 0; try < TRIES; try++) {
		size_t len = 0;
		CLEAN(dir_clean_fd) int fd = open_lock(d, key, &len);
		if (fd < 0 && fd != -EAGAIN && fd != -ESTALE) {
			*ret = -1;
			return is_unlockable(fd) ? 0 : err_sys(-fd, "open the file that is locked");
		}
		int r = fd < 0 ? 0 : wait_for(fd, key, len, deadline, cancel);
		if (r < 0)
			return r;
		if (fd >= 0 && still(d, key, len, fd)) {
			*ret = fd;
			fd = -1;
			return 0;
		}
	}
	return err_set(-EIO, "what describes it is replaced all the time");
}

/* --- which processes they keep out --- */

/* Is the word in the comma list? */
static bool
has_option(const char *list, size_t len, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = list, *end = list + len; p < end;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		size_t this = (size_t)((comma ? comma : end) - p);
		if (this == n && !memcmp(p, word, n))
			return true;
		p += this + 1;
	}
	return false;
}

/* File systems of networks with locks that end at this machine, and the word among their options
 * that says so; "": always. */
static const struct {
	const char *type, *option;
} local[] = {
	{"nfs", "nolock"},
	{"nfs", "local_lock=all"},
	{"nfs", "local_lock=posix"},
	{"nfs4", "local_lock=all"},
	{"nfs4", "local_lock=posix"},
	{"lustre", "localflock"},
	{"cifs", "nobrl"},
	{"smb3", "nobrl"},
	{"fuse.sshfs", ""},
};

const char *
dir_local_locks(const char *mountinfo, dev_t dev)
{
	char number[32];
	const char *found = NULL;
	snprintf(number, sizeof number, "%u:%u", major(dev), minor(dev));
	for (const char *line = mountinfo, *end; *line; line = *end ? end + 1 : end) {
		char dev_of[32], type[64];
		end = strchrnul(line, '\n');
		const char *dash = memmem(line, (size_t)(end - line), " - ", 3);
		int at = 0;
		if (!dash || sscanf(line, "%*s %*s %31s", dev_of) != 1 || strcmp(dev_of, number) ||
			sscanf(dash + 3, "%63s %*s %n", type, &at) != 1 || !at)
			continue;
		const char *options = dash + 3 + at;
		found = NULL; /* the last one is what is seen */
		for (size_t i = 0; i < sizeof local / sizeof *local && options < end; i++)
			if (!strcmp(type, local[i].type) &&
				(!*local[i].option || has_option(options, (size_t)(end - options),
							      local[i].option)))
				found = local[i].type;
	}
	return found;
}
