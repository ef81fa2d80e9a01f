/* A directory store that is written: whether it can be, what is yet to be synced, and what a killed
 * writer left. */
#include "backends/dir/dir.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- directories to be synced --- */

int
dir_sync_fd(int fd)
{
	const int e = fsync(fd) == 0 ? 0 : errno;
	return e == EINVAL || e == ENOTSUP || e == ENOSYS ? 0 : -e;
}

int
dir_unsynced(struct dir *d, int *fd)
{
	struct stat s;
	bool noted = false;
	if (fstat(*fd, &s) != 0)
		return err_sys(errno, "look at the directory");
	LOCKED(&d->unsynced_lock) {
		for (unsigned i = 0; i < d->unsynced_count && !noted; i++) {
			struct dir_unsynced *u = &d->unsynced[i];
			noted = u->dev == s.st_dev && u->ino == s.st_ino;
			u->again |= noted;
		}
		if (!noted && d->unsynced_count < DIR_UNSYNCED) {
			d->unsynced[d->unsynced_count++] =
				(struct dir_unsynced){*fd, s.st_dev, s.st_ino, true};
			*fd = -1;
			noted = true;
		}
	}
	int r = noted ? 0 : dir_sync_fd(*fd);
	return r < 0 ? err_sys(-r, "fsync of the directory") : 0;
}

static unsigned
begin_sync(struct dir *d, struct dir_unsynced ret[DIR_UNSYNCED])
{
	unsigned n = 0;
	LOCKED(&d->unsynced_lock) {
		n = d->unsynced_count;
		for (unsigned i = 0; i < n; i++)
			d->unsynced[i].again = false;
		memcpy(ret, d->unsynced, n * sizeof *ret);
	}
	return n;
}

/* Of the first n those stay that have got another name meanwhile, or are marked in `of`. */
static void
end_sync(struct dir *d, const struct dir_unsynced *of, unsigned n)
{
	unsigned kept = 0, done = 0;
	int fd[DIR_UNSYNCED];
	LOCKED(&d->unsynced_lock) {
		for (unsigned i = 0; i < d->unsynced_count; i++) {
			const struct dir_unsynced *u = &d->unsynced[i];
			if (i >= n || of[i].again || u->again)
				d->unsynced[kept++] = *u;
			else
				fd[done++] = u->fd;
		}
		d->unsynced_count = kept;
	}
	for (unsigned i = 0; i < done; i++)
		close(fd[i]);
}

/* What could not be synced stays noted, and is tried again by the next caller: its names may be in
 * there. (A directory that was removed is not.) */
int
dir_sync(struct zmap *z)
{
	struct dir *d = (struct dir *)z;
	struct dir_unsynced all[DIR_UNSYNCED];
	int failed = 0;
	LOCKED(&d->syncing) { /* a second thread waits for what the first one syncs */
		const unsigned n = begin_sync(d, all);
		for (unsigned i = 0; i < n; i++) {
			int r = dir_sync_fd(all[i].fd);
			failed = r < 0 ? r : failed;
			all[i].again = r < 0 && r != -ENOENT && r != -ESTALE;
		}
		end_sync(d, all, n);
	}
	return failed ? err_sys(-failed, "fsync of the directory") : 0;
}

/* --- what a killed writer left --- */

static const int64_t DAY = 86400;
enum { DEPTH = 64, BETWEEN = 256 /* entries between two pauses */ };

struct sweep {
	struct dir *d;
	dev_t dev;
	unsigned seen;
	int64_t since; /* clock_now() after the last pause */
};

static bool
is_leftover(const char *name)
{
	const size_t n = sizeof DIR_TEMPORARY - 1;
	return !strncmp(name, DIR_TEMPORARY, n) &&
	       strspn(name + n, "0123456789abcdef") == DIR_TEMPORARY_SIZE - 1 - n &&
	       strlen(name) == DIR_TEMPORARY_SIZE - 1;
}

static void
remove_old(int up, const char *name)
{
	struct stat s;
	if (fstatat(up, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode) &&
		s.st_mtim.tv_sec < clock_wall() / SECOND - DAY)
		unlinkat(up, name, 0);
}

void
dir_sweep_one(int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	for (const struct dirent *e; dir && (e = readdir(dir));)
		if (is_leftover(e->d_name))
			remove_old(fd, e->d_name);
	if (dir)
		closedir(dir);
	else
		dir_clean_fd(&own);
}

/* Three times as long as was worked: others read meanwhile. False: the store is closed. */
static bool
pause_a_while(struct sweep *w)
{
	struct dir *d = w->d;
	int64_t now = clock_now(), until = now + 3 * (now - w->since);
	const struct timespec t = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND};
	bool over = false;
	LOCKED(&d->unsynced_lock) {
		while (!d->closing && !over)
			over = pthread_cond_timedwait(&d->closed, &d->unsynced_lock, &t) != 0;
		over = !d->closing;
	}
	w->since = clock_now();
	return over;
}

static bool sweep(struct sweep *, int fd, unsigned depth);

/* False: the store is closed. */
static bool
sweep_one(struct sweep *w, int up, const struct dirent *e, unsigned depth)
{
	if (is_leftover(e->d_name)) {
		remove_old(up, e->d_name);
	} else if ((e->d_type == DT_DIR || e->d_type == DT_UNKNOWN) && *e->d_name != '.' &&
		   depth < DEPTH) {
		int fd = openat(up, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && !sweep(w, fd, depth + 1))
			return false;
	}
	return ++w->seen % BETWEEN || pause_a_while(w);
}

/* Takes over fd. */
static bool
sweep(struct sweep *w, int fd, unsigned depth)
{
	struct stat s;
	bool go_on = true;
	DIR *dir = fstat(fd, &s) == 0 && s.st_dev == w->dev ? fdopendir(fd) : NULL;
	if (!dir) {
		close(fd);
		return true;
	}
	for (const struct dirent *e; go_on && (e = readdir(dir));)
		go_on = sweep_one(w, fd, e, depth);
	closedir(dir);
	return go_on;
}

static void *
sweep_all(void *arg)
{
	struct dir *d = arg;
	struct stat s;
	int fd = dir_open_below(d, ".", O_RDONLY | O_DIRECTORY);
	if (fd < 0 || fstat(fd, &s) != 0) {
		dir_clean_fd(&fd);
		return NULL;
	}
	struct sweep w = {.d = d, .dev = s.st_dev, .since = clock_now()};
	sweep(&w, fd, 0);
	return NULL;
}

void
dir_write_end(struct dir *d)
{
	LOCKED(&d->unsynced_lock) {
		d->closing = true;
		pthread_cond_broadcast(&d->closed);
	}
	if (d->sweeping)
		pthread_join(d->sweeper, NULL);
	dir_sync(&d->z);
	for (unsigned i = 0; i < d->unsynced_count; i++)
		close(d->unsynced[i].fd);
}

/* --- trying --- */

/* Does metadata lie in the root itself, or is it only a place above stores? */
static bool
is_store(struct dir *d)
{
	static const char *const name[] = {".zgroup", ".zarray", "zarr.json", ".zmetadata"};
	struct stat s;
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		if (fstatat(d->root, name[i], &s, 0) == 0)
			return true;
	return false;
}

static int
say_local(struct buf *said, dev_t dev)
{
	CLEAN(buf_free) struct buf all = {0};
	CLEAN(dir_clean_fd) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char piece[4096];
	ssize_t n;
	int r = 0;
	while (r == 0 && fd >= 0 && (n = read(fd, piece, sizeof piece)) > 0)
		r = buf_add(&all, piece, (size_t)n);
	if (r == 0)
		r = buf_terminate(&all);
	const char *type = r == 0 ? dir_local_locks((char *)all.data, dev) : NULL;
	return !type ? r
		     : buf_addf(said,
			       "locks of this mount (%s) end at this machine: what zarrfs on other "
			       "machines writes into the same chunks at the same time can be "
			       "lost\n",
			       type);
}

static int
try_lock(struct dir *d, int fd, struct buf *said)
{
	struct stat s;
	int r = dir_lock_fd(fd, 0, 1);
	if (r == 0)
		return fstat(fd, &s) == 0 ? say_local(said, s.st_dev) : 0;
	d->z.caps &= ~(unsigned)ZMAP_CONDITIONAL;
	err_sys(-r, "files cannot be locked");
	return zmap_say_unconditional(said, err_text());
}

int
dir_try_writing(struct zmap *z, struct buf *said)
{
	struct dir *d = (struct dir *)z;
	char temp[DIR_TEMPORARY_SIZE];
	if (!(z->caps & ZMAP_WRITE))
		return err_set(-EROFS, "the store is open read-only");
	CLEAN(dir_clean_fd) int up = dir_open_below(d, ".", O_RDONLY | O_DIRECTORY);
	if (up < 0)
		return err_sys(-up, "open '%s'", d->path);
	CLEAN(dir_clean_fd) int fd = dir_temporary(up, temp);
	bool refused = fd == -EROFS || fd == -EACCES || fd == -EPERM;
	if (refused && (fd == -EROFS || is_store(d)))
		return err_add(fd, "'%s' cannot be written", d->path);
	int r = 0;
	if (fd >= 0) {
		unlinkat(up, temp, 0);
		r = try_lock(d, fd, said);
	}
	if (r == 0)
		d->sweeping = pthread_create(&d->sweeper, NULL, sweep_all, d) == 0;
	return r;
}
