/* A directory: keys are paths below it.
 *
 * - Nothing outside is read: a symbolic link that leads out of the store is -EACCES, unless
 *   options.follow. One that leads nowhere is an error and not absence: the data were meant to
 *   be there (a disk that is not mounted, git-annex).
 * - A read gives one version of a file: it is looked at before and after, and read again from
 *   the start if it changed. A file that is read in parts is still found by its version when
 *   another one was renamed over it (dir/held.c).
 * - The path of the store is looked at again ten times a second, and before anything is called
 *   absent: a store that is moved away gives -EIO, and where another directory is put in its
 *   place (rename, a flipped link) that one is used from then on.
 * - The folder that an array's chunks are read from stays open, and its path is looked at again
 *   as often (dir/base.c).
 * - Finding what is there is in dir/find.c, writing in dir/put.c, dir/lock.c and dir/write.c. */
#include "backends/dir/dir.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	TRIES = 9,             /* of a file that changes: an eighth of a second together */
	PIECE = 64 << 20,      /* bytes between two looks at the deadline */
	PATIENCE_EVERY = 1024, /* directory entries, likewise */
};

/* Waits before the n-th try: not at all, then 1, 2, 4 … ms. */
static int
pause_before(unsigned try, int64_t deadline, struct cancel *cancel)
{
	if (try > 1)
		usleep(500u << (try - 1));
	return try ? zmap_patience(deadline, cancel) : 0;
}

/* --- reading --- */

static int
read_bytes(int fd, const struct zmap_get *g, uint64_t off, size_t len)
{
	uint8_t *to = len ? g->into->data + g->into->len : NULL;
	for (size_t done = 0; done < len;) {
		size_t n = len - done < PIECE ? len - done : PIECE;
		ssize_t got = pread(fd, to + done, n, (off_t)(off + done));
		if (got == 0)
			return DIR_AGAIN; /* it shrank */
		if (got < 0 && errno != EINTR)
			return errno == ESTALE ? DIR_AGAIN : err_sys(errno, "read");
		done += got > 0 ? (size_t)got : 0;
		int r = done < len ? zmap_patience(g->deadline, g->cancel) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* A file that another one was renamed over, or that lost another name, has a new ctime but its old
 * bytes. */
static bool
same_bytes(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       dir_ns(a->st_mtim) == dir_ns(b->st_mtim) &&
	       (dir_ns(a->st_ctim) == dir_ns(b->st_ctim) || a->st_nlink != b->st_nlink);
}

/* How long (ns) a file may still be half old, or become another one of the same version: a write in
 * place shows in its times only when it begins, and of two within one tick the second does not. A
 * file without a name is not written any more. */
static int64_t
unsettled(struct dir *d, const struct stat *s)
{
	int64_t age = clock_wall() - dir_ns(s->st_mtim), tick = dir_tick(s->st_mtim);
	bool settled = age < 0 || age >= tick || !s->st_nlink || dir_is_own(d, s);
	return settled ? 0 : tick - age;
}

static int
wait_while_wanted(const struct zmap_get *g, int64_t ns)
{
	const int64_t look_every = SECOND / 10;
	int r = 0;
	for (; ns > 0 && r == 0; ns -= look_every) {
		usleep((useconds_t)((ns < look_every ? ns : look_every) / 1000 + 1));
		r = zmap_patience(g->deadline, g->cancel);
	}
	return r;
}

/* Waits until it cannot. */
static int
settle(struct dir *d, const struct zmap_get *g, int fd, struct stat *s)
{
	for (unsigned try = 0; try < TRIES; try++) {
		int64_t left = unsettled(d, s);
		if (!left)
			return 0;
		int r = wait_while_wanted(g, left);
		if (r < 0)
			return r;
		if (fstat(fd, s) != 0)
			return DIR_AGAIN;
	}
	return err_set(-EIO, "it changes all the time");
}

/* The file of a chunk, in the folder that its array's files are read from. *ret_placed: what is
 * known of that folder; 0: the file is found by its path, and the folder is still to be looked at.
 * Outcomes as dir_open_file. */
static int
open_chunk(struct dir *d, const struct zmap_get *g, int *ret, struct stat *ret_stat,
	int64_t *ret_placed)
{
	struct dir_base *base = dir_base_take(d, g->key);
	if (base) {
		*ret = dir_open_in(d, base->fd, g->key, ret_stat);
		*ret_placed = *ret >= 0 ? base->placed : 0;
		dir_base_leave(d, base);
	}
	return *ret_placed ? 0 : dir_open_file(d, g->key, O_RDONLY, ret, ret_stat);
}

/* Is the file the one that the caller has? One look tells, where it costs no round trip. */
static bool
is_same(struct dir *d, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct zmap_stat now;
	struct stat s;
	if (!d->is_local || g->of_array || !g->if_none_match ||
		fstatat(d->root, g->key, &s, 0) != 0 || !S_ISREG(s.st_mode) || unsettled(d, &s))
		return false;
	now = *ret;
	dir_say_stat(&s, &now);
	if (zmap_condition(g, now.version) != ZMAP_SAME)
		return false;
	now.placed = g->unplaced ? 0 : dir_placed(d, g->key, &s, 0);
	*ret = now;
	return true;
}

static int
read_once(struct dir *d, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct stat before, after;
	uint64_t off = 0;
	size_t len = 0;
	int64_t base = 0;
	int r = 0;
	CLEAN(dir_clean_fd)
	int fd = g->if_match ? dir_held(d, g->key, g->if_match, &before) : -1;
	bool held = fd >= 0;
	if (!held && g->of_array && !g->unplaced)
		r = open_chunk(d, g, &fd, &before, &base);
	else if (!held)
		r = dir_open_file(d, g->key, O_RDONLY, &fd, &before);
	if (r == 0 && !held)
		r = settle(d, g, fd, &before);
	if (r)
		return r;
	dir_say_stat(&before, ret);
	ret->placed = g->unplaced ? 0 : dir_placed(d, g->key, &before, base);
	r = zmap_condition(g, ret->version);
	if (r == 0)
		r = zmap_range(g, ret->size, &off, &len);
	if (r == 0)
		r = buf_reserve(g->into, g->into->len + len);
	if (r == 0)
		r = read_bytes(fd, g, off, len);
	if (r)
		return r;
	if (fstat(fd, &after) != 0 || !same_bytes(&before, &after)) {
		if (base)
			dir_base_doubt(d);
		return held ? ZMAP_CHANGED : DIR_AGAIN;
	}
	g->into->len += len;
	if (g->pin_version)
		dir_hold(d, g->key, &fd, &before);
	return 0;
}

static int
get(struct dir *d, const struct zmap_get *g, struct zmap_stat *ret)
{
	int r = dir_look(d);
	if (r == 0 && is_same(d, g, ret))
		return ZMAP_SAME;
	for (unsigned try = 0; try < TRIES && r == 0; try++) {
		r = read_once(d, g, ret);
		if (r != DIR_AGAIN)
			return r;
		r = pause_before(try + 1, g->deadline, g->cancel);
	}
	return r < 0 ? r : err_set(-EIO, "it changes all the time");
}

static int
dir_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	struct dir *d = (struct dir *)z;
	int r = get(d, g, ret);
	if (!g->of_array)
		dir_base_doubt(d);
	return r;
}

static int
look_at(struct dir *d, const char *key, struct zmap_stat *ret)
{
	int64_t deadline = d->z.timeout ? clock_now() + d->z.timeout : 0;
	int r = dir_look(d);
	for (unsigned try = 0; try < TRIES && r == 0; try++) {
		struct stat s;
		CLEAN(dir_clean_fd) int fd = -1;
		r = dir_open_file(d, key, O_PATH, &fd, &s);
		if (r == 0)
			dir_say_stat(&s, ret);
		if (r != DIR_AGAIN)
			return r;
		r = pause_before(try + 1, deadline, NULL);
	}
	return r < 0 ? r : err_set(-EIO, "it changes all the time");
}

static int
dir_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	(void)cancel;
	int r = look_at((struct dir *)z, key, ret);
	dir_base_doubt((struct dir *)z);
	return r;
}

static void
clean_dir(DIR **p)
{
	if (*p)
		closedir(*p);
}

static int
open_dir(struct dir *d, const char *prefix, DIR **ret)
{
	/* without its '/', so that what is found there may be a link */
	CLEAN(clean_free) char *path = *prefix ? strndup(prefix, strlen(prefix) - 1) : strdup(".");
	if (!path)
		return err_set(-ENOMEM, "no memory for a path");
	for (unsigned try = 0; try < TRIES; try++) {
		int fd = dir_open_below(d, path, O_RDONLY | O_DIRECTORY);
		if (fd >= 0) {
			*ret = fdopendir(fd);
			if (*ret)
				return 0;
			int e = errno;
			close(fd);
			return err_sys(e, "open");
		}
		int r = dir_refused(d, path, -fd);
		if (r != DIR_AGAIN)
			return r;
		pause_before(try + 1, 0, NULL);
	}
	return err_set(-EIO, "it changes all the time");
}

/* DT_REG: a key; DT_DIR: a prefix; else neither. A link is what it leads to. One that leads nowhere
 * is a key, and reading that key says so. */
static unsigned char
entry_type(DIR *dir, const struct dirent *e)
{
	struct stat s;
	if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		!strncmp(e->d_name, DIR_TEMPORARY, sizeof DIR_TEMPORARY - 1))
		return DT_UNKNOWN;
	if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN)
		return e->d_type;
	if (fstatat(dirfd(dir), e->d_name, &s, 0) == 0)
		return S_ISDIR(s.st_mode) ? DT_DIR : S_ISREG(s.st_mode) ? DT_REG : DT_UNKNOWN;
	return DT_REG;
}

static int
dir_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	struct dir *d = (struct dir *)z;
	int64_t deadline = z->timeout ? clock_now() + z->timeout : 0;
	CLEAN(clean_dir) DIR *dir = NULL;
	int r = dir_look(d);
	if (r == 0)
		r = open_dir(d, prefix, &dir);
	for (size_t n = 1; r == 0; n++) {
		errno = 0;
		const struct dirent *e = readdir(dir);
		if (!e)
			return errno ? err_sys(errno, "list") : 0;
		unsigned char type = entry_type(dir, e);
		if (type == DT_DIR || type == DT_REG)
			r = fn(arg, e->d_name, type == DT_DIR, NULL);
		if (r == 0 && n % PATIENCE_EVERY == 0)
			r = zmap_patience(deadline, NULL);
	}
	return r;
}

/* --- opening the store --- */

static int
dir_alive(struct zmap *z)
{
	int r = dir_look_now((struct dir *)z);
	return r < 0 ? r : 0;
}

static void
dir_close(struct zmap *z)
{
	struct dir *d = (struct dir *)z;
	dir_write_end(d);
	if (d->root >= 0)
		close(d->root);
	dir_let_go(d);
	dir_base_end(d);
	pthread_mutex_destroy(&d->held_lock);
	pthread_mutex_destroy(&d->folder_lock);
	pthread_mutex_destroy(&d->syncing);
	pthread_mutex_destroy(&d->unsynced_lock);
	pthread_cond_destroy(&d->closed);
	free(d->path);
	free(d);
}

extern const struct zmap_ops backend_dir;

static int
dir_open(const struct url *url, const struct zmap_options *options, struct zmap **ret)
{
	struct dir *d = calloc(1, sizeof *d);
	if (!d)
		return err_set(-ENOMEM, "no memory for a store");
	d->z.ops = &backend_dir;
	pthread_mutex_init(&d->held_lock, NULL);
	pthread_mutex_init(&d->folder_lock, NULL);
	pthread_mutex_init(&d->syncing, NULL);
	pthread_mutex_init(&d->unsynced_lock, NULL);
	clock_cond_init(&d->closed);
	d->z.caps = ZMAP_LIST | (options->writable ? ZMAP_WRITE | ZMAP_CONDITIONAL : 0);
	d->follow = options->follow;
	d->root = -1;
	d->path = strdup(url->path);
	int r = d->path ? dir_take_root(d) : -ENOMEM;
	if (r == 0) {
		struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
		CLEAN(dir_clean_fd)
		int fd = (int)syscall(SYS_openat2, d->root, ".", &how, sizeof how);
		d->has_openat2 = fd >= 0;
	}
	/* also tells whether it may be looked into at all */
	CLEAN(dir_clean_fd) int fd = r == 0 ? dir_open_below(d, ".", O_PATH | O_DIRECTORY) : -1;
	if (r == 0 && fd < 0)
		r = fd;
	d->z.caps |= d->is_local ? ZMAP_PROMPT : 0;
	if (r < 0) {
		dir_close(&d->z);
		return err_set(r, "%s", strerrordesc_np(-r));
	}
	*ret = &d->z;
	return 0;
}

const struct zmap_ops backend_dir = {
	.name = "dir",
	.open = dir_open,
	.close = dir_close,
	.stat = dir_stat,
	.get = dir_get,
	.list = dir_list,
	.put = dir_put,
	.del = dir_del,
	.sync = dir_sync,
	.try_writing = dir_try_writing,
	.alive = dir_alive,
};
