#include "fuse/userns.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	int why = errno;
	if (fd >= 0)
		close(fd);
	return n < 0 ? err_sys(why, "cannot write '%s'", path) : 0;
}

/* The caller's own id, called the same inside. */
static int
map_own(const char *path, unsigned id)
{
	char line[64];
	snprintf(line, sizeof line, "%u %u 1\n", id, id);
	return write_file(path, line);
}

int
userns_enter(void)
{
	const unsigned uid = geteuid(), gid = getegid();
	int r = unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0
			? err_sys(errno, "cannot make a user namespace")
			: 0;
	if (r == 0)
		r = write_file("/proc/self/setgroups", "deny"); /* else gid_map is refused */
	if (r == 0)
		r = map_own("/proc/self/uid_map", uid);
	if (r == 0)
		r = map_own("/proc/self/gid_map", gid);
	return r < 0 ? err_add(r, "option 'userns': this system may forbid it") : 0;
}
