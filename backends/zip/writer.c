/* A writer of an archive: that it is the only one, and that it can. */
#include "backends/zip/renewed.h"

#include "backends/dir/dir.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES = 8 };

int
zip_writer_folder(const struct zip_writer *w)
{
	const char *slash = strrchr(w->path, '/');
	CLEAN(clean_free)
	char *folder = strndup(w->path, slash == w->path ? 1 : (size_t)(slash - w->path));
	if (!folder)
		return err_set(-ENOMEM, "no memory for a path");
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_sys(errno, "open '%s'", folder) : fd;
}

bool
zip_writer_is_there(const struct zip_writer *w, int fd)
{
	struct stat a, b;
	return stat(w->path, &a) == 0 && fstat(fd, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

int
zip_writer_lock(struct zip_writer *w)
{
	for (unsigned try = 0; try < TRIES; try++) {
		CLEAN(dir_clean_fd) int fd = open(w->path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return err_sys(errno, "open");
		int r = dir_lock_fd(fd, ZIP_LOCK_AT, 1);
		if (r == -EAGAIN || r == -EACCES)
			return err_set(-EBUSY, "another zarrfs writes it; one at a time can");
		if (r < 0)
			return err_sys(-r, "lock");
		if (zip_writer_is_there(w, fd)) {
			w->lock = fd;
			fd = -1;
			return 0;
		}
	}
	return err_set(-EIO, "it is replaced all the time");
}

/* A file in the archive's directory: a new archive is made there. */
static int
try_folder(const struct zip_writer *w)
{
	char temp[DIR_TEMPORARY_SIZE];
	CLEAN(dir_clean_fd) int folder = zip_writer_folder(w);
	if (folder < 0)
		return folder;
	CLEAN(dir_clean_fd) int fd = dir_temporary(folder, temp);
	if (fd == -EACCES || fd == -EROFS || fd == -EPERM)
		return err_add(fd, "the directory of '%s', where a new archive is made", w->path);
	if (fd >= 0)
		unlinkat(folder, temp, 0);
	dir_sweep_one(folder);
	return 0;
}

int
zip_writer_new(const char *path, struct zip_writer **ret)
{
	struct zip_writer *w = calloc(1, sizeof *w);
	if (!w)
		return err_set(-ENOMEM, "no memory for a store");
	w->lock = -1;
	pthread_mutex_init(&w->syncing, NULL);
	w->path = realpath(path, NULL);
	int r = w->path ? zip_writer_lock(w) : err_sys(errno, "find '%s'", path);
	if (r == 0)
		r = try_folder(w);
	if (r == 0 && getrandom(&w->mark, sizeof w->mark, 0) != sizeof w->mark)
		r = err_sys(errno, "getrandom");
	if (r < 0)
		zip_writer_free(w);
	else
		*ret = w;
	return r;
}

struct zip_writer *
zip_writer_free(struct zip_writer *w)
{
	if (!w)
		return NULL;
	zip_layer_free(&w->layer);
	zip_renewed_free(w->renewed);
	zip_spill_unref(w->spill);
	dir_clean_fd(&w->lock);
	pthread_mutex_destroy(&w->syncing);
	free(w->path);
	free(w);
	return NULL;
}
