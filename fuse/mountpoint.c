#include "fuse/mountpoint.h"

#include "base/err.h"
#include "base/log.h"
#include "base/url.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int
mountpoint_fd(const char *path)
{
	int fd = -1, len = 0;
	return sscanf(path, "/dev/fd/%d%n", &fd, &len) == 1 && !path[len] ? fd : -1;
}

static bool
is_device(int fd)
{
	enum { MISC = 10, FUSE = 229 }; /* for ever, as the kernel's list of devices has it */
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(MISC, FUSE);
}

void
mountpoint_let_go(const char *path)
{
	int fd = mountpoint_fd(path);
	if (fd >= 0 && is_device(fd))
		close(fd);
}

/* What another program has mounted. No other program that is started from here is to hold it. */
static int
prepare_descriptor(const char *path, char **ret)
{
	int fd = mountpoint_fd(path);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	if (!is_device(fd))
		return err_set(
			-EINVAL, "mount point '%s' is no open descriptor of /dev/fuse", path);
	if (poll(&p, 1, 0) == 1 && p.revents & POLLERR)
		return err_set(-EINVAL,
			"mount point '%s' is a descriptor of /dev/fuse that is not mounted", path);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return err_sys(errno, "mount point '%s'", path);
	*ret = strdup(path);
	return *ret ? 0 : err_set(-ENOMEM, "no memory for a path");
}

/* Of a directory that need not answer: only the way to it is looked at. */
static int
absolute(const char *path, char **ret)
{
	CLEAN(clean_free) char *copy = strdup(path);
	if (!copy)
		return err_set(-ENOMEM, "no memory for a path");
	size_t len = strlen(copy);
	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = 0;
	char *slash = strrchr(copy, '/');
	const char *name = slash ? slash + 1 : copy;
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
		*ret = realpath(copy, NULL);
		return *ret ? 0 : err_sys(errno, "mount point '%s'", path);
	}
	CLEAN(clean_free) char *parent = NULL;
	if (slash)
		*slash = 0;
	parent = realpath(!slash ? "." : slash == copy ? "/" : copy, NULL);
	if (!parent)
		return err_sys(errno, "mount point '%s'", path);
	if (asprintf(ret, "%s%s%s", parent, strcmp(parent, "/") ? "/" : "", name) < 0)
		return err_set(-ENOMEM, "no memory for a path");
	return 0;
}

/* The type of the file system mounted there last; "" if none is. */
static void
type_there(const char *path, char *ret, size_t size)
{
	char text[8192];
	struct mntent m;
	FILE *f = setmntent("/proc/self/mounts", "re");
	*ret = 0;
	if (!f)
		return;
	while (getmntent_r(f, &m, text, sizeof text))
		if (!strcmp(m.mnt_dir, path))
			snprintf(ret, size, "%s", m.mnt_type);
	endmntent(f);
}

static int
fusermount(const char *path)
{
	char program[] = "fusermount3", options[] = "-uzq", end[] = "--";
	CLEAN(clean_free) char *where = strdup(path);
	char *const argv[] = {program, options, end, where, NULL};
	pid_t pid;
	int status, r = where ? posix_spawnp(&pid, program, NULL, NULL, argv, environ) : ENOMEM;
	if (r)
		return err_sys(r, "cannot run fusermount3");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(errno, "cannot wait for fusermount3");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(-EPERM, "fusermount3 refuses");
	return 0;
}

void
mountpoint_abort(const char *path, dev_t dev)
{
	char name[64];
	snprintf(name, sizeof name, "/sys/fs/fuse/connections/%u/abort", minor(dev));
	FILE *f = dev ? fopen(name, "we") : NULL;
	if (f) { /* this one, whatever is mounted over it */
		fputs("1", f);
		if (fclose(f) == 0)
			return;
	}
	if (mountpoint_fd(path) < 0 && umount2(path, MNT_FORCE | UMOUNT_NOFOLLOW) < 0)
		log_debug("cannot unmount '%s' by force: %s", path, strerror(errno));
}

int
mountpoint_detach(const char *path)
{
	if (mountpoint_fd(path) >= 0)
		return 0;
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return 0;
	if (errno != EPERM)
		return err_sys(errno, "cannot unmount '%s'", path);
	int r = fusermount(path);
	return r < 0 ? err_add(r, "cannot unmount '%s'", path) : 0;
}

/* A mount whose daemon died. What its kernel side remembers may still look alive, so ask what is
 * never remembered. */
static bool
dead(const char *path)
{
	struct stat st;
	struct statfs fs;
	return (stat(path, &st) < 0 && errno == ENOTCONN) ||
	       (statfs(path, &fs) < 0 && errno == ENOTCONN);
}

static int
clear_dead(const char *path)
{
	char type[64];
	while (type_there(path, type, sizeof type), !strncmp(type, "fuse", 4) && dead(path)) {
		int r = mountpoint_detach(path);
		if (r < 0)
			return err_add(r,
				"the mount at '%s' is dead (transport endpoint is not connected)",
				path);
		log_warn("replacing the dead mount at '%s' (transport endpoint was not connected)",
			path);
	}
	return 0;
}

static int
check_directory(const char *path)
{
	struct stat st;
	char type[64];
	if (stat(path, &st) < 0)
		return errno == ENOENT ? err_set(-ENOENT, "mount point '%s' does not exist", path)
				       : err_sys(errno, "mount point '%s'", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(-ENOTDIR, "mount point '%s' is not a directory", path);
	type_there(path, type, sizeof type);
	if (!strcmp(type, "fuse.zarrfs"))
		return err_set(-EBUSY, "'%s' has a zarrfs mount already", path);
	return 0;
}

/* A daemon that reads its own mount waits for itself, and not even SIGKILL ends it. */
static int
check_apart(const char *store, const char *path)
{
	struct url u = {0};
	int r = url_parse(store, &u);
	if (r < 0)
		return r;
	bool local = !*u.scheme || !strcmp(u.scheme, "file");
	CLEAN(clean_free) char *top = local ? realpath(u.path, NULL) : NULL;
	size_t n = top ? strlen(top) : 0;
	url_free(&u);
	if (!n || strncmp(path, top, n) || (n > 1 && path[n] && path[n] != '/'))
		return 0;
	return err_set(-EINVAL, "mount point '%s' lies in the store '%s'", path, top);
}

/* libfuse's setuid helper lets other users in only where root agreed. */
static int
check_others(const struct opts *o)
{
	char line[256], word[256];
	bool agreed = false;
	if (!geteuid() || !(o->allow_other || o->allow_root))
		return 0;
	FILE *f = fopen("/etc/fuse.conf", "re");
	if (!f)
		return 0; /* fusermount3 will say */
	while (!agreed && fgets(line, sizeof line, f))
		agreed = sscanf(line, "%255s", word) == 1 && !strcmp(word, "user_allow_other");
	fclose(f);
	return agreed ? 0
		      : err_set(-EPERM,
				"option '%s': only root may, unless /etc/fuse.conf has a line "
				"user_allow_other",
				o->allow_other ? "allow_other" : "allow_root");
}

static int
check_device(void)
{
	if (access("/dev/fuse", R_OK | W_OK) == 0)
		return 0;
	return err_sys(errno, "cannot use the fuse device /dev/fuse");
}

/* As with every mount, what is there already is hidden. */
static void
say_if_full(const char *path)
{
	const struct dirent *e;
	unsigned names = 0;
	DIR *d = opendir(path);
	while (d && names < 3 && (e = readdir(d)))
		names++;
	if (d)
		closedir(d);
	if (names > 2)
		log_warn("'%s' is not empty: what is in it is hidden by the mount", path);
}

int
mountpoint_prepare(const struct opts *o, char **ret)
{
	CLEAN(clean_free) char *path = NULL;
	if (mountpoint_fd(o->mountpoint) >= 0)
		return prepare_descriptor(o->mountpoint, ret);
	int r = absolute(o->mountpoint, &path);
	if (r == 0)
		r = clear_dead(path);
	if (r == 0)
		r = check_directory(path);
	if (r == 0)
		r = check_others(o);
	if (r == 0)
		r = check_device();
	if (r == 0) {
		*ret = realpath(path, NULL);
		r = *ret ? 0 : err_sys(errno, "mount point '%s'", path);
	}
	if (r == 0)
		r = check_apart(o->store, *ret);
	if (r == 0)
		say_if_full(*ret);
	return r;
}
