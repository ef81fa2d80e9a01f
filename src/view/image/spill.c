#include "view/image/spill.h"

#include "base/check.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
spill_free(struct spill *s)
{
	buf_free(&s->kept);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct spill){.fd = -1};
}

static const char *
where(void)
{
	const char *dir = getenv("TMPDIR");
	return dir && *dir ? dir : "/tmp";
}

static int
temporary(int *ret)
{
	const char *dir = where();
	CLEAN(clean_free) char *name = NULL;
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0) { /* where there are no files without a name */
		if (asprintf(&name, "%s/zarrfs.XXXXXX", dir) < 0)
			name = NULL;
		fd = name ? mkostemp(name, O_CLOEXEC) : -1;
		if (fd >= 0)
			unlink(name);
	}
	if (fd < 0)
		return err_sys(errno, "cannot make a temporary file in '%s'", dir);
	*ret = fd;
	return 0;
}

static int
put(int fd, uint64_t off, struct span b)
{
	while (b.len) {
		ssize_t n = pwrite(fd, b.data, b.len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(n ? errno : ENOSPC, "cannot write a temporary file");
		off += (uint64_t)n;
		b.data += n;
		b.len -= (size_t)n;
	}
	return 0;
}

/* Out of memory, into a file. */
static int
move_out(struct spill *s)
{
	int fd = -1;
	int r = temporary(&fd);
	if (r < 0)
		return r;
	r = put(fd, 0, buf_span(&s->kept));
	if (r < 0) {
		close(fd);
		return r;
	}
	buf_free(&s->kept);
	s->kept = (struct buf){0};
	s->fd = fd;
	return 0;
}

/* Room for so many bytes in memory, those that are new zeros. */
static int
lengthen(struct spill *s, uint64_t size)
{
	if (size <= s->kept.len)
		return 0;
	int r = 0;
	if (size > s->kept.cap)
		r = buf_reserve(&s->kept, max_u64(size, 2 * s->kept.cap));
	if (r == 0) {
		memset(s->kept.data + s->kept.len, 0, size - s->kept.len);
		s->kept.len = size;
	}
	return r;
}

int
spill_write(struct spill *s, uint64_t off, struct span b, size_t most)
{
	uint64_t end;
	if (add_over(off, b.len, &end) || end > INT64_MAX)
		return err_set(-EFBIG, "no file is that long");
	int r = s->fd < 0 && end > most ? move_out(s) : 0;
	if (r == 0 && s->fd >= 0)
		r = put(s->fd, off, b);
	else if (r == 0 && (r = lengthen(s, end)) == 0 && b.len)
		memcpy(s->kept.data + off, b.data, b.len);
	if (r == 0 && b.len)
		s->size = max_u64(s->size, end);
	return r;
}

int
spill_truncate(struct spill *s, uint64_t size, size_t most)
{
	int r = s->fd < 0 && size > most ? move_out(s) : 0;
	if (r < 0)
		return r;
	if (s->fd < 0 && size < s->kept.len)
		s->kept.len = size;
	else if (s->fd < 0)
		r = lengthen(s, size);
	else if (ftruncate(s->fd, (off_t)size) < 0)
		r = err_sys(errno, "cannot write a temporary file");
	if (r == 0)
		s->size = size;
	return r;
}

int
spill_read(const struct spill *s, uint64_t off, size_t len, uint8_t *to)
{
	if (s->fd < 0) {
		size_t n = off < s->kept.len ? (size_t)min_u64(len, s->kept.len - off) : 0;
		if (n)
			memcpy(to, s->kept.data + off, n);
		memset(to + n, 0, len - n);
		return 0;
	}
	while (len) {
		ssize_t n = pread(s->fd, to, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(errno, "cannot read a temporary file");
		if (n == 0) {
			memset(to, 0, len);
			break;
		}
		off += (uint64_t)n;
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

/* --- a name for a while --- */

static const char FILE_NAME[] = "/file";

static int
copy_to(const struct spill *s, const char *path)
{
	enum { PIECE = 1 << 20 };
	CLEAN(clean_free) uint8_t *bytes = malloc(PIECE);
	int fd =
		bytes ? open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR) : -1;
	if (fd < 0)
		return bytes ? err_sys(errno, "cannot make a temporary file")
			     : err_set(-ENOMEM, "no memory for a file");
	int r = 0;
	for (uint64_t at = 0, n; at < s->size && r == 0; at += n) {
		n = min_u64(s->size - at, PIECE);
		r = spill_read(s, at, (size_t)n, bytes);
		if (r == 0)
			r = put(fd, at, (struct span){bytes, (size_t)n});
	}
	close(fd);
	return r;
}

void
spill_unname(char *path)
{
	if (!path)
		return;
	unlink(path);
	path[strlen(path) - strlen(FILE_NAME)] = '\0';
	rmdir(path);
	free(path);
}

int
spill_name(const struct spill *s, char **ret)
{
	CLEAN(clean_free) char *dir = NULL;
	char *path = NULL, own[64];
	if (asprintf(&dir, "%s/zarrfs.XXXXXX", where()) < 0)
		dir = NULL;
	if (!dir || !mkdtemp(dir))
		return dir ? err_sys(errno, "cannot make a temporary file")
			   : err_set(-ENOMEM, "no memory for a name");
	if (asprintf(&path, "%s%s", dir, FILE_NAME) < 0) {
		rmdir(dir);
		return err_set(-ENOMEM, "no memory for a name");
	}
	snprintf(own, sizeof own, "/proc/self/fd/%d", s->fd);
	bool linked = s->fd >= 0 && linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
	int r = linked ? 0 : copy_to(s, path);
	if (r < 0)
		spill_unname(path);
	else
		*ret = path;
	return r;
}
