/* A directory on a file system that keeps whole seconds, or each second one: two changes within a
 * second have one time. */
#include "check.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

static struct place here; /* c */
static struct zmap *z;

/* --- a clock that goes when a thread sleeps, and times of files by it --- */

static const int64_t BEGIN = 1000000 * SECOND;
static int64_t wall, changed; /* clock_wall(); of when the file was written last */
static int64_t kept;          /* seconds of which one is kept */
static long kind;             /* of file system: statfs.f_type; 0: as it is */

int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);
int __wrap_usleep(useconds_t);

int
__wrap_clock_gettime(clockid_t which, struct timespec *ret)
{
	if (which != CLOCK_REALTIME)
		return __real_clock_gettime(which, ret);
	*ret = (struct timespec){wall / SECOND, wall % SECOND};
	return 0;
}

static struct cancel cancel;
static bool tires; /* the reader, while a thread sleeps */

int
__wrap_usleep(useconds_t us)
{
	if (tires)
		atomic_store(&cancel.wanted_no_more, true);
	wall += (int64_t)us * 1000;
	return 0;
}

static void
cut_times(struct stat *s)
{
	const bool directory = S_ISDIR(s->st_mode);
	s->st_mtim = s->st_ctim =
		(struct timespec){.tv_sec = directory ? 1 : changed / SECOND / kept * kept};
}

int
fstatat(int folder, const char *restrict path, struct stat *restrict ret, int flags)
{
	int r = (int)syscall(SYS_newfstatat, folder, path, ret, flags);
	cut_times(ret);
	return r;
}

int
fstat(int fd, struct stat *ret)
{
	int r = (int)syscall(SYS_newfstatat, fd, "", ret, AT_EMPTY_PATH);
	cut_times(ret);
	return r;
}

int
fstatfs(int fd, struct statfs *ret)
{
	int r = (int)syscall(SYS_fstatfs, fd, ret);
	if (kind)
		ret->f_type = kind;
	return r;
}

/* In place. */
static void
change(char to)
{
	char path[sizeof here.path + 2];
	snprintf(path, sizeof path, "%s/c", here.path);
	int fd = open(path, O_CREAT | O_WRONLY, 0644);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, &to, 1), 1);
	close(fd);
	changed = wall;
}

/* What it is now, if it is another version than the one in `known`, which it becomes. */
static char
look(char known[ZMAP_VERSION], int64_t *ret_placed)
{
	CLEAN(buf_free) struct buf b = {0};
	struct zmap_stat s = {0};
	const struct zmap_get g = {.key = "c",
		.of_array = true,
		.if_none_match = *known ? known : NULL,
		.into = &b,
		.max = 1};
	int r = zmap_get(z, &g, &s);
	memcpy(known, s.version, sizeof s.version);
	*ret_placed = s.placed;
	return r == ZMAP_SAME ? '=' : r == 0 ? (char)b.data[0] : 0;
}

/* --- */

/* FAT keeps every other second. */
static void
twice_in_two_seconds(void)
{
	char version[ZMAP_VERSION] = "";
	int64_t placed;
	kept = 2;
	wall = BEGIN + SECOND / 5;
	change('1');
	wall += SECOND + SECOND / 10;
	CHECK_INT(look(version, &placed), '1');
	wall += SECOND / 10;
	change('2');
	wall += 5 * SECOND;
	CHECK_INT(look(version, &placed), '2');
}

static void
put_and_look(char version[ZMAP_VERSION])
{
	int64_t placed;
	const struct zmap_put p = {.key = "c", .bytes = {(const uint8_t *)"1", 1}};
	wall = changed = BEGIN + SECOND / 5;
	CHECK_INT(zmap_put(z, &p, NULL), 0);
	CHECK_INT(look(version, &placed), '1');
}

/* Nor does it hide a change that the file was put here before, in the same second. */
static void
put_here(void)
{
	char version[ZMAP_VERSION] = "";
	int64_t placed;
	put_and_look(version);
	wall += SECOND / 10;
	change('2');
	wall += 5 * SECOND;
	CHECK_INT(look(version, &placed), '2');
}

/* Lustre gives no number twice: what was put here is known again, and not waited for. */
static void
put_on_lustre(void)
{
	char version[ZMAP_VERSION] = "";
	put_and_look(version);
	CHECK_INT(wall, changed);
}

/* What is written later in the second in which a file was read is another version. */
static void
twice_in_a_second(void)
{
	char version[ZMAP_VERSION] = "";
	int64_t placed;
	wall = BEGIN + SECOND / 5;
	change('1');
	wall += SECOND / 10;
	CHECK_INT(look(version, &placed), '1');
	wall += SECOND / 10;
	change('2');
	wall += 5 * SECOND;
	CHECK_INT(look(version, &placed), '2');
	CHECK_INT(look(version, &placed), '=');
}

/* Metadata that were looked at in the second in which a chunk came were perhaps looked at before.
 */
static void
came_late_in_a_second(void)
{
	char version[ZMAP_VERSION] = "";
	int64_t placed, came;
	wall = came = BEGIN + SECOND * 4 / 5;
	change('1');
	wall += 5 * SECOND;
	CHECK_INT(look(version, &placed), '1');
	CHECK(placed > came);
}

/* A young one is not waited for longer than a reader waits. */
static void
not_wanted(void)
{
	CLEAN(buf_free) struct buf b = {0};
	const struct zmap_get g = {
		.key = "c", .of_array = true, .into = &b, .max = 1, .cancel = &cancel};
	wall = BEGIN;
	change('1');
	tires = true;
	CHECK_INT(zmap_get(z, &g, NULL), -EINTR);
	CHECK(wall > BEGIN && wall < BEGIN + SECOND / 2);
	tires = false;
}

/* An old file is not waited for. */
static void
old(void)
{
	char version[ZMAP_VERSION] = "";
	int64_t placed;
	wall = BEGIN;
	change('1');
	wall += 3 * SECOND;
	CHECK_INT(look(version, &placed), '1');
	CHECK_INT(wall, BEGIN + 3 * SECOND);
}

int
main(void)
{
	static void (*const row[])(void) = {twice_in_a_second, twice_in_two_seconds,
		came_late_in_a_second, put_here, not_wanted, old, put_on_lustre};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		kind = row[i] == put_on_lustre ? 0x0bd00bd0 : 0;
		here = place_new();
		z = store_open("", "dir", here.path, true);
		kept = 1;
		if (z)
			row[i]();
		zmap_close(z);
		place_remove(&here);
	}
	return check_end();
}
