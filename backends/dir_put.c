/* Writing to a directory store: a put is a temporary file, fsync, rename, fsync of the directory, so that an object is the
 * old or the new one, whatever happens in between. */
#include "backends/dir.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

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
		fsync(up);
		fd = dir_open_below(d, path, O_RDONLY | O_DIRECTORY);
	}
	if (fd == -EXDEV)
		return dir_refused(d, path, EXDEV);
	if (fd < 0)
		return err_sys(-fd, "open directory '%s'", path);
	*ret = fd;
	return 0;
}

static int
write_temporary(int up, const char *name, struct span bytes)
{
	CLEAN(dir_clean_fd)
	int fd = openat(up, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_sys(errno, "make a temporary file");
	for (size_t done = 0; done < bytes.len;) {
		ssize_t n = write(fd, bytes.data + done, bytes.len - done);
		if (n < 0 && errno != EINTR)
			return err_sys(errno, "write");
		done += n > 0 ? (size_t)n : 0;
	}
	return fsync(fd) == 0 ? 0 : err_sys(errno, "fsync");
}

/* Between processes of one machine, and of several where the file system can. */
static int
lock_dir(struct dir *d, int up)
{
	int64_t deadline = d->z.timeout ? when_now() + d->z.timeout : 0;
	while (flock(up, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(errno, "lock");
		int r = zmap_patience(deadline, NULL);
		if (r < 0)
			return r;
		usleep(1000);
	}
	return 0;
}

static int
compare(struct dir *d, const char *key, const char *version)
{
	struct stat s;
	struct zmap_stat now;
	CLEAN(dir_clean_fd) int fd = -1;
	int r = dir_open_file(d, key, O_PATH, &fd, &s);
	if (r < 0)
		return r;
	if (r == 0)
		dir_say_stat(&s, &now);
	return r == 0 && !strcmp(now.version, version) ? 0 : ZMAP_CHANGED;
}

/* The temporary file gets its name, if the condition holds. */
static int
give_name(struct dir *d, int up, const char *temp, const char *key, const char *if_version)
{
	const char *slash = strrchr(key, '/'), *name = slash ? slash + 1 : key;
	if (if_version && !*if_version) {
		if (linkat(up, temp, up, name, 0) != 0)
			return errno == EEXIST ? ZMAP_CHANGED : err_sys(errno, "link");
		unlinkat(up, temp, 0);
		return 0;
	}
	int r = if_version ? lock_dir(d, up) : 0;
	if (r == 0 && if_version)
		r = compare(d, key, if_version);
	if (r == 0 && renameat(up, temp, up, name) != 0)
		r = err_sys(errno, "rename");
	return r;
}

int
dir_put(struct zmap *z, const char *key, struct span bytes, const char *if_version)
{
	struct dir *d = (struct dir *)z;
	CLEAN(dir_clean_fd) int up = -1;
	CLEAN(clean_free) char *parent = strdup(key);
	if (!parent)
		return err_set(-ENOMEM, "no memory for a key");
	char *slash = strrchr(parent, '/');
	*(slash ? slash : parent) = 0;
	uint64_t id = 0;
	char temp[sizeof DIR_TEMPORARY + 16];
	if (getrandom(&id, sizeof id, 0) != sizeof id)
		return err_sys(errno, "getrandom");
	snprintf(temp, sizeof temp, DIR_TEMPORARY "%016" PRIx64, id);

	int r = dir_look(d);
	if (r == 0)
		r = open_parent(d, parent, &up);
	if (r < 0)
		return r;
	r = write_temporary(up, temp, bytes);
	if (r == 0)
		r = give_name(d, up, temp, key, if_version);
	if (r)
		unlinkat(up, temp, 0);
	else if (fsync(up) != 0)
		r = err_sys(errno, "fsync of the directory");
	return r;
}

int
dir_del(struct zmap *z, const char *key)
{
	struct dir *d = (struct dir *)z;
	CLEAN(dir_clean_fd) int up = -1;
	CLEAN(clean_free) char *parent = strdup(key);
	if (!parent)
		return err_set(-ENOMEM, "no memory for a key");
	char *slash = strrchr(parent, '/');
	*(slash ? slash : parent) = 0;
	int r = dir_look(d);
	if (r < 0)
		return r;
	up = dir_open_below(d, *parent ? parent : ".", O_RDONLY | O_DIRECTORY);
	if (up < 0) {
		r = dir_refused(d, parent, -up);
		return r == DIR_AGAIN ? ZMAP_ABSENT : r;
	}
	if (unlinkat(up, slash ? slash + 1 : key, 0) != 0)
		return errno == ENOENT || errno == EISDIR ? ZMAP_ABSENT : err_sys(errno, "unlink");
	return fsync(up) == 0 ? 0 : err_sys(errno, "fsync of the directory");
}
