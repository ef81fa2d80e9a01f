#include "backends/net/userfile.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20 };

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int
userfile_read(const char *path, struct buf *ret)
{
	CLEAN(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return USERFILE_NONE;
	if (fd < 0)
		return err_sys(errno, "cannot open '%s'", path);
	int r = buf_reserve(ret, FILE_MAX + 1);
	ssize_t n = 1;
	while (r == 0 && n > 0 && ret->len <= FILE_MAX) {
		n = read(fd, ret->data + ret->len, FILE_MAX + 1 - ret->len);
		if (n > 0)
			ret->len += (size_t)n;
		if (n < 0 && errno == EINTR)
			n = 1;
	}
	if (r == 0 && n < 0)
		return err_sys(errno, "cannot read '%s'", path);
	if (r == 0 && ret->len > FILE_MAX)
		return err_set(-EFBIG, "'%s' is larger than 1 MiB", path);
	return r;
}

char *
userfile_at_home(const char *variable, const char *name)
{
	char *path;
	const char *home = variable ? getenv(variable) : NULL;
	if (!home)
		home = getenv("HOME");
	if (!home || !*home) {
		const struct passwd *p = getpwuid(getuid());
		home = p ? p->pw_dir : "/";
	}
	return asprintf(&path, "%s/%s", home, name) < 0 ? NULL : path;
}
