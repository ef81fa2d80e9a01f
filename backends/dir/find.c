/* Where a directory store is, opening what lies in it, and nothing outside, and saying in which
 * version it is. */
#include "backends/dir/dir.h"

#include "base/err.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LOOK_EVERY = 100 * 1000 * 1000 /* ns */ };

/* Fixed width, so that no two different files can give one text: 4 × 13 digits of 5 bits. */
static void
put_number(char **to, uint64_t v)
{
	for (int shift = 60; shift >= 0; shift -= 5)
		*(*to)++ = "0123456789abcdefghijklmnopqrstuv"[v >> shift & 31];
}

void
dir_say_stat(const struct stat *s, struct zmap_stat *ret)
{
	char *v = ret->version;
	put_number(&v, s->st_ino);
	put_number(&v, (uint64_t)s->st_size);
	put_number(&v, (uint64_t)dir_ns(s->st_mtim));
	put_number(&v, (uint64_t)dir_ns(s->st_ctim));
	*v = 0;
	ret->size = (uint64_t)s->st_size;
	ret->mtime = dir_ns(s->st_mtim);
}

void
dir_clean_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* --- where the store is --- */

/* A read of a chunk below the new root finds the time, too; a look at metadata that began before it
 * may have found the old root's. */
static int
put_root(struct dir *d, int fd)
{
	d->moved = clock_wall() + DIR_SETTLE;
	int r = dup3(fd, d->root, O_CLOEXEC);
	d->moved = clock_wall() + DIR_SETTLE;
	return r;
}

static bool
is_local_fs(const struct statfs *fs)
{
	switch (fs->f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case OVERLAYFS_SUPER_MAGIC: return true;
	default: return false;
	}
}

/* Every other file system may be a server's. Lustre numbers inodes by their FIDs, which are never
 * given twice (lustre_idl.h, struct lu_fid). */
static void
look_at_system(struct dir *d, int fd)
{
	static const unsigned LUSTRE = 0x0bd00bd0;
	struct statfs fs;
	const bool known = fstatfs(fd, &fs) == 0;
	d->is_local = known && is_local_fs(&fs);
	d->unique = known && (unsigned)fs.f_type == LUSTRE;
}

int
dir_take_root(struct dir *d)
{
	struct stat s;
	CLEAN(dir_clean_fd) int fd = open(d->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &s) != 0)
		return -errno;
	if (d->root < 0)
		d->root = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	else if (put_root(d, fd) < 0)
		return -errno;
	if (d->root < 0)
		return -errno;
	look_at_system(d, fd);
	d->dev = s.st_dev;
	d->ino = s.st_ino;
	return 0;
}

static int
say_gone(struct dir *d)
{
	return err_set(-EIO, "store '%s' is gone or was moved", d->path);
}

int
dir_look_now(struct dir *d)
{
	struct stat s;
	int r = stat(d->path, &s) == 0 ? 0 : -errno;
	bool moved = r == 0 && (s.st_dev != d->dev || s.st_ino != d->ino);
	if (moved)
		r = dir_take_root(d);
	d->gone = r < 0;
	if (r == -ENOENT || r == -ENOTDIR)
		return say_gone(d);
	if (r < 0) {
		err_sys(-r, "store '%s' is lost", d->path);
		return -EIO;
	}
	return moved ? DIR_AGAIN : 0;
}

int
dir_look(struct dir *d)
{
	long long now = clock_now(),
		  due = atomic_load_explicit(&d->next_look, memory_order_relaxed);
	if (now < due || !atomic_compare_exchange_strong(&d->next_look, &due, now + LOOK_EVERY))
		return d->gone ? say_gone(d) : 0;
	int r = dir_look_now(d);
	return r < 0 ? r : 0;
}

/* --- opening what is below it: fd, or -errno without a text --- */

static bool
fd_path(int fd, char path[PATH_MAX])
{
	char link[32];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, PATH_MAX);
	if (n <= 0 || n >= PATH_MAX)
		return false;
	path[n] = 0;
	return true;
}

/* Where the kernel will not say it itself: opens what the path leads to without touching it, and
 * looks where that is. */
static int
open_and_see(struct dir *d, const char *path, int flags)
{
	char root[PATH_MAX], here[PATH_MAX], link[32];
	CLEAN(dir_clean_fd)
	int fd = openat(d->root, path, O_PATH | O_CLOEXEC | (flags & O_DIRECTORY));
	if (fd < 0)
		return -errno;
	if (!fd_path(d->root, root) || !fd_path(fd, here))
		return -ENOTSUP;
	size_t n = strlen(root);
	if (n > 1 && (strncmp(root, here, n) || (here[n] && here[n] != '/')))
		return -EXDEV;
	if (flags & O_PATH) {
		int out = fd;
		fd = -1;
		return out;
	}
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	int out = open(link, flags);
	return out < 0 ? -errno : out;
}

/* A FIFO must not hold us up. */
enum { CAREFUL = O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

/* Of what lies below that directory, as the kernel sees to. A descriptor or -errno. */
static int
open_beneath(int folder, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags & O_PATH ? flags & ~(O_NONBLOCK | O_NOCTTY) : flags),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
	return fd < 0 ? -errno : fd;
}

int
dir_open_below(struct dir *d, const char *path, int flags)
{
	flags |= CAREFUL;
	if (d->follow) {
		int fd = openat(d->root, path, flags);
		return fd < 0 ? -errno : fd;
	}
	if (d->has_openat2) {
		int fd = open_beneath(d->root, path, flags);
		if (fd != -EXDEV)
			return fd;
		/* perhaps only an absolute link to another place in the store */
	}
	return open_and_see(d, path, flags);
}

/* Nothing was found at path. DIR_AGAIN: look there again. */
static int
absent(struct dir *d, const char *path)
{
	struct stat s;
	int r = dir_look_now(d);
	if (r)
		return r;
	if (fstatat(d->root, path, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(s.st_mode))
		return err_set(-EIO, "a symbolic link that leads nowhere");
	return ZMAP_ABSENT;
}

int
dir_refused(struct dir *d, const char *path, int e)
{
	switch (e) {
	case ENOENT:
	case ENOTDIR:
	case ENAMETOOLONG: return absent(d, path);
	case EAGAIN:
	case ESTALE: return DIR_AGAIN;
	case EXDEV:
		return err_set(-EACCES,
			"a symbolic link leads out of the store (option 'follow' allows it)");
	case ENXIO:
	case ENODEV: return err_set(-EIO, "not a regular file");
	default: return err_sys(e, "open");
	}
}

static int
check_kind(const struct stat *s)
{
	if (S_ISDIR(s->st_mode))
		return ZMAP_ABSENT;
	return S_ISREG(s->st_mode) ? 0 : err_set(-EIO, "not a regular file");
}

/* To open a device or a FIFO can do something (rewind a tape, wake a writer that then has no
 * reader), so it is looked at first, where that costs nothing: the look at what was opened is
 * saved. Where it would cost a round trip an open that waits for nothing must do. */
int
dir_open_file(struct dir *d, const char *key, int flags, int *ret, struct stat *ret_stat)
{
	bool looked = d->is_local && !(flags & O_PATH),
	     first = looked && fstatat(d->root, key, ret_stat, 0) == 0;
	if (looked && !first && errno == ENOENT)
		return dir_refused(d, key, ENOENT);
	bool odd = first && !S_ISREG(ret_stat->st_mode);
	CLEAN(dir_clean_fd) int fd = dir_open_below(d, key, odd ? O_PATH : flags);
	if (fd < 0)
		return dir_refused(d, key, -fd);
	if ((odd || !first) && fstat(fd, ret_stat) != 0)
		return errno == ESTALE ? DIR_AGAIN : err_sys(errno, "stat");
	int r = check_kind(ret_stat);
	if (r == 0 && odd)
		return DIR_AGAIN; /* it is not what it was a moment ago */
	if (r == 0) {
		*ret = fd;
		fd = -1;
	}
	return r;
}

int
dir_open_in(struct dir *d, int folder, const char *key, struct stat *ret_stat)
{
	const char *name = path_name(key);
	if (fstatat(d->root, key, ret_stat, 0) != 0)
		return -errno;
	if (!S_ISREG(ret_stat->st_mode))
		return -EINVAL;
	if (!d->follow)
		return open_beneath(folder, name, O_RDONLY | CAREFUL);
	int fd = openat(folder, name, O_RDONLY | CAREFUL);
	return fd < 0 ? -errno : fd;
}
