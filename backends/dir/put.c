/* Writing to a directory store: a put is a temporary file, fsync, rename, so that an object is the
 * old or the new one, whatever happens in between; the fsync of the directory comes with zmap_sync,
 * once for all that was put there, and with metadata, before which all that they promise is
 * durable. The thread that asks and replaces holds a lock meanwhile (dir/lock.c).
 *
 * Each file is given the time in nanoseconds, where a file system's own clock may stand still for
 * 10 ms: so no two puts have one version, though the number of a file that is gone is soon another
 * one's. */
#include "backends/dir/dir.h"

#include "base/check.h"
#include "base/err.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	TRIES = 9,  /* of a file that is replaced whenever it is looked at */
	MAKES = 64, /* of a directory that goes whenever it was made: a fifth of a second
		       together */
	MAKES_AT_ONCE = 4,
	PAUSE_FIRST = 50, /* us between two of them, then twice as long, to 64 times */
	PIECE = 16 << 20, /* bytes between two looks at the deadline */
};

/* --- directories --- */

/* The directory that path names, made if it is not there. path is changed meanwhile. */
static int
open_parent(struct dir *d, char *path, int *ret)
{
	int fd = dir_open_below(d, *path ? path : ".", O_RDONLY | O_DIRECTORY);
	char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	if (fd == -ENOENT && *path) {
		CLEAN(dir_clean_fd) int up = -1;
		char empty[1] = "";
		if (slash)
			*slash = 0;
		int r = open_parent(d, slash ? path : empty, &up);
		if (slash)
			*slash = '/';
		if (r < 0)
			return r;
		if (mkdirat(up, name, 0777) != 0 && errno != EEXIST)
			return err_sys(errno, "make directory '%s'", path);
		r = dir_unsynced(d, &up);
		if (r < 0)
			return r;
		fd = dir_open_below(d, path, O_RDONLY | O_DIRECTORY);
	}
	if (fd == -EXDEV)
		return dir_refused(d, path, EXDEV);
	if (fd < 0)
		return err_sys(-fd, "open directory '%s'", path);
	*ret = fd;
	return 0;
}

/* Directories that have become empty go: nothing lies below them. path is changed. */
static void
remove_empty(struct dir *d, char *path)
{
	while (*path) {
		char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
		if (slash)
			*slash = 0;
		CLEAN(dir_clean_fd)
		int up = dir_open_below(d, slash ? path : ".", O_RDONLY | O_DIRECTORY);
		if (up < 0 || unlinkat(up, name, AT_REMOVEDIR) != 0)
			return;
		dir_unsynced(d, &up);
		if (!slash)
			return;
	}
}

/* --- the temporary file --- */

/* A name that no other file has. 0 or -errno. */
static int
temporary_name(char ret[DIR_TEMPORARY_SIZE])
{
	uint64_t id = 0;
	if (getrandom(&id, sizeof id, 0) != sizeof id)
		return err_sys(errno, "getrandom");
	snprintf(ret, DIR_TEMPORARY_SIZE, DIR_TEMPORARY "%016" PRIx64, id);
	return 0;
}

int
dir_temporary(int up, char ret_name[DIR_TEMPORARY_SIZE])
{
	int r = temporary_name(ret_name);
	if (r < 0)
		return r;
	int fd = openat(up, ret_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return fd < 0 ? err_sys(errno, "make a temporary file") : fd;
}

static int
write_all(int fd, const struct zmap_put *p)
{
	for (size_t done = 0; done < p->bytes.len;) {
		size_t left = p->bytes.len - done;
		ssize_t n = write(fd, p->bytes.data + done, left < PIECE ? left : PIECE);
		if (n < 0 && errno != EINTR)
			return err_sys(errno, "write");
		done += n > 0 ? (size_t)n : 0;
		int r = done < p->bytes.len ? zmap_patience(p->deadline, p->cancel) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* The new file has the owner and the mode of the old one. A group that cannot be kept loses its
 * bits: no other group gets them. */
static void
keep_mode(int fd, int up, const char *name)
{
	struct stat old, new;
	if (fstatat(up, name, &old, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(old.st_mode) ||
		fstat(fd, &new) != 0)
		return;
	mode_t mode = old.st_mode & 0777;
	bool other = old.st_uid != new.st_uid || old.st_gid != new.st_gid;
	if (other && fchown(fd, old.st_uid, old.st_gid) != 0 &&
		old.st_gid != new.st_gid &&fchown(fd, (uid_t)-1, old.st_gid) != 0)
		mode &= ~(mode_t)070;
	if (mode != (new.st_mode & 0777))
		fchmod(fd, mode);
}

static int
write_temporary(int up, const char *name, const struct zmap_put *p, int fd)
{
	int64_t now = clock_wall();
	const struct timespec t[2] = {
		{.tv_nsec = UTIME_OMIT}, {.tv_sec = now / SECOND, .tv_nsec = now % SECOND}};
	int r = write_all(fd, p);
	if (r < 0)
		return r;
	keep_mode(fd, up, name);
	if (futimens(fd, t) != 0 || fsync(fd) != 0)
		return err_sys(errno, "fsync");
	return 0;
}

/* --- conditions --- */

/* 0, ZMAP_CHANGED, ZMAP_ABSENT or -errno. By its path, wherever that leads: a file outside the
 * store has another version. */
static int
compare(struct dir *d, const char *key, const char *version)
{
	struct stat s;
	struct zmap_stat now;
	if (fstatat(d->root, key, &s, 0) != 0) {
		int r = dir_refused(d, key, errno);
		return r == DIR_AGAIN ? ZMAP_CHANGED : r;
	}
	if (!S_ISREG(s.st_mode))
		return S_ISDIR(s.st_mode) ? ZMAP_ABSENT : err_set(-EIO, "not a regular file");
	dir_say_stat(&s, &now);
	return strcmp(now.version, version) ? ZMAP_CHANGED : 0;
}

/* Does what the put demands hold? */
static int
allowed(struct dir *d, const struct zmap_put *p)
{
	struct stat s;
	if (p->if_match) {
		int r = compare(d, p->key, p->if_match);
		return r == ZMAP_ABSENT ? ZMAP_CHANGED : r;
	}
	bool there = p->if_absent && fstatat(d->root, p->key, &s, AT_SYMLINK_NOFOLLOW) == 0;
	return there && !S_ISDIR(s.st_mode) ? ZMAP_CHANGED : 0;
}

/* Over NFS the answer to a rename or a link may be lost after it was done, and the second try then
 * fails. */
static bool
is_named(int up, const char *name, int fd)
{
	struct stat a, b;
	return fstatat(up, name, &a, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* A name that a directory has is no key's. */
static int
taken(int up, const char *name)
{
	struct stat s;
	bool prefix = fstatat(up, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(s.st_mode);
	return prefix ? err_sys(EISDIR, "rename") : ZMAP_CHANGED;
}

/* Only if nothing has that name. 0, ZMAP_CHANGED or -errno; -EOPNOTSUPP: this file system cannot
 * say. */
static int
give_new_name(int up, const char *temp, const char *name, int fd)
{
	if (renameat2(up, temp, up, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST)
		return taken(up, name);
	if (errno != EINVAL && errno != ENOSYS)
		return err_sys(errno, "rename");
	if (linkat(up, temp, up, name, 0) == 0 || is_named(up, name, fd)) {
		unlinkat(up, temp, 0);
		return 0;
	}
	if (errno == EEXIST)
		return taken(up, name);
	bool cannot = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK;
	return cannot ? -EOPNOTSUPP : err_sys(errno, "link");
}

static int
give_name(int up, const char *temp, const char *name, int fd)
{
	if (renameat(up, temp, up, name) == 0 || (errno == ENOENT && is_named(up, name, fd)))
		return 0;
	return err_sys(errno, "rename");
}

/* The temporary file gets its name, if the condition holds. */
static int
take_place(struct dir *d, int up, const char *temp, const struct zmap_put *p, int fd)
{
	CLEAN(dir_clean_fd) int lock = -1;
	const char *name = path_name(p->key);
	int r = p->if_absent ? give_new_name(up, temp, name, fd) : -EOPNOTSUPP;
	if (r != -EOPNOTSUPP)
		return r;
	r = d->z.caps & ZMAP_CONDITIONAL ? dir_lock(d, p->key, p->deadline, p->cancel, &lock) : 0;
	if (r == 0)
		r = allowed(d, p);
	return r ? r : give_name(up, temp, name, fd);
}

/* --- put and delete --- */

/* By another machine: a server calls a directory stale then. */
static bool
is_removed(int r)
{
	return r == -ENOENT || r == -ESTALE;
}

/* DIR_AGAIN: the directory was removed meanwhile. */
static int
put_once(struct dir *d, const struct zmap_put *p, char *parent, struct zmap_stat *ret)
{
	CLEAN(dir_clean_fd) int up = -1;
	char temp[DIR_TEMPORARY_SIZE];
	struct stat s;
	int r = open_parent(d, parent, &up);
	if (r < 0)
		return is_removed(r) ? DIR_AGAIN : r;
	CLEAN(dir_clean_fd) int fd = dir_temporary(up, temp);
	if (fd < 0)
		return is_removed(fd) ? DIR_AGAIN : fd;
	r = write_temporary(up, path_name(p->key), p, fd);
	if (r == 0 && dir_is_metadata(p->key))
		r = dir_sync(&d->z);
	if (r == 0)
		r = take_place(d, up, temp, p, fd);
	if (r) {
		unlinkat(up, temp, 0);
		return r;
	}
	if (fstat(fd, &s) != 0)
		return err_sys(errno, "stat");
	dir_say_stat(&s, ret);
	dir_note_own(d, &s);
	r = dir_unsynced(d, &up);
	return r == 0 && dir_is_metadata(p->key) ? dir_sync(&d->z) : r;
}

static int
put(struct dir *d, const struct zmap_put *p, struct zmap_stat *ret)
{
	CLEAN(clean_free) char *parent = path_above(p->key);
	if (!parent)
		return err_set(-ENOMEM, "no memory for a key");
	int r = dir_look(d);
	if (r == 0) /* a put that is in vain need not be written, nor its directory made */
		r = allowed(d, p);
	if (r)
		return r;
	for (unsigned try = 0; try < MAKES; try++) {
		if (try >= MAKES_AT_ONCE) /* the threads that empty it come to an end */
			usleep((useconds_t)PAUSE_FIRST << min_u64(try - MAKES_AT_ONCE, 6));
		r = put_once(d, p, parent, ret);
		if (r < 0) /* a directory that was made for it is of no use */
			remove_empty(d, parent);
		if (r != DIR_AGAIN)
			return r;
	}
	r = dir_look_now(d);
	return r < 0 ? r : err_set(-EIO, "its directory is removed all the time");
}

int
dir_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	struct dir *d = (struct dir *)z;
	int r = put(d, p, ret);
	if (r || dir_is_metadata(p->key))
		dir_base_doubt(d); /* another version is there than was read */
	return r;
}

static int
del_once(struct dir *d, const struct zmap_del *del, const char *parent)
{
	CLEAN(dir_clean_fd) int lock = -1;
	CLEAN(dir_clean_fd)
	int up = dir_open_below(d, *parent ? parent : ".", O_RDONLY | O_DIRECTORY);
	if (up < 0)
		return dir_refused(d, parent, -up);
	int r = d->z.caps & ZMAP_CONDITIONAL
			? dir_lock(d, del->key, del->deadline, del->cancel, &lock)
			: 0;
	if (r == 0 && del->if_match)
		r = compare(d, del->key, del->if_match);
	if (r)
		return r;
	if (unlinkat(up, path_name(del->key), 0) != 0)
		return errno == ENOENT || errno == EISDIR ? ZMAP_ABSENT : err_sys(errno, "unlink");
	return dir_unsynced(d, &up);
}

int
dir_del(struct zmap *z, const struct zmap_del *del)
{
	struct dir *d = (struct dir *)z;
	CLEAN(clean_free) char *parent = path_above(del->key);
	if (!parent)
		return err_set(-ENOMEM, "no memory for a key");
	int r = dir_look(d);
	dir_base_doubt(d);
	for (unsigned try = 0; try < TRIES && r == 0; try++) {
		r = del_once(d, del, parent);
		if (r == 0)
			remove_empty(d, parent);
		if (r != DIR_AGAIN)
			return r;
		r = zmap_patience(del->deadline, del->cancel);
	}
	return r < 0 ? r : err_set(-EIO, "it changes all the time");
}
