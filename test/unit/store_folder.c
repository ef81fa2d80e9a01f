/* The folder that chunks of a directory store are read from: looked at rarely, and yet never mixed
 * with another one's metadata. */
#include "check.h"
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { MS = 1000 };

static struct place here; /* store/v/, store/w/ */
static struct zmap *z;

/* --- looks are counted --- */

static atomic_uint looks;

int
fstatat(int folder, const char *restrict path, struct stat *restrict ret, int flags)
{
	atomic_fetch_add(&looks, 1);
	return (int)syscall(SYS_newfstatat, folder, path, ret, flags);
}

int
fstat(int fd, struct stat *ret)
{
	atomic_fetch_add(&looks, 1);
	return (int)syscall(SYS_newfstatat, fd, "", ret, AT_EMPTY_PATH);
}

static const char *
at(const char *name)
{
	static _Thread_local char path[4][512];
	static _Thread_local unsigned next;
	char *p = path[next++ % 4];
	snprintf(p, sizeof path[0], "%s/store/%s", here.path, name);
	return p;
}

static void
file(const char *name, const char *text)
{
	int fd = open(at(name), O_CREAT | O_TRUNC | O_WRONLY, 0644);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* The one letter that the object has; 0: it cannot be read, as *ret_outcome says. */
static char
letter(const char *key, bool chunk, int64_t *ret_placed, int *ret_outcome)
{
	CLEAN(buf_free) struct buf b = {0};
	struct zmap_stat s = {0};
	const struct zmap_get g = {.key = key, .of_array = chunk, .into = &b, .max = 9};
	*ret_outcome = zmap_get(z, &g, &s);
	*ret_placed = s.placed;
	return *ret_outcome == 0 ? (char)b.data[0] : 0;
}

static void
expect(const char *key, bool chunk, int want, char text)
{
	int64_t placed;
	int r;
	CHECK_INT(letter(key, chunk, &placed, &r), text);
	CHECK_INT(r, want);
}

static void
exchange(void)
{
	CHECK_INT(syscall(SYS_renameat2, AT_FDCWD, at("v"), AT_FDCWD, at("w"), 2), 0);
}

/* Before it is opened and when it was read: a chunk is looked at twice, its folder and the store
 * are not. */
static void
few_looks(void)
{
	unsigned least = 100;
	for (int i = 0; i < 20; i++) {
		atomic_store(&looks, 0);
		expect("v/0.0", true, 0, '1');
		least = looks < least ? looks : least;
	}
	CHECK_INT(least, 2);
}

static void
follows(void)
{
	int64_t before, placed, began;
	int r;
	CHECK_INT(letter("v/0.0", true, &before, &r), '1');
	usleep(20 * MS);
	began = clock_wall();
	exchange();
	expect("v/.zarray", false, 0, '2');
	CHECK_INT(letter("v/0.0", true, &placed, &r), '2');
	CHECK(before < began && placed >= began);
	exchange();
	expect("v/0.0", true, 0, '1'); /* at once, too */
	CHECK_INT(rename(at("v"), at("gone")), 0);
	expect("v/0.0", true, ZMAP_ABSENT, 0);
	CHECK_INT(rename(at("gone"), at("v")), 0);
	expect("v/0.0", true, 0, '1');
	expect("v/0.1", true, ZMAP_ABSENT, 0);
	expect("top", true, 0, '3'); /* in the root itself */
}

static void
guards(void)
{
	char event[4096];
	expect("v/0.0", true, 0, '1');
	CHECK_INT(mkfifo(at("v/fifo"), 0644), 0);
	CHECK_INT(symlink("../w/0.0", at("v/inside")), 0);
	CHECK_INT(symlink("../../secret", at("v/outside")), 0);
	int watch = inotify_init1(IN_NONBLOCK);
	CHECK(inotify_add_watch(watch, at("v/fifo"), IN_OPEN) >= 0);
	expect("v/fifo", true, -EIO, 0);
	CHECK(read(watch, event, sizeof event) < 0);
	close(watch);
	expect("v/inside", true, 0, '2');
	expect("v/outside", true, -EACCES, 0);
}

/* Folders beyond those that are kept open, and back. */
static void
many_folders(void)
{
	char name[40];
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < 40; i++) {
			snprintf(name, sizeof name, "d%d", i);
			if (turn == 0)
				CHECK_INT(mkdir(at(name), 0755), 0);
			snprintf(name, sizeof name, "d%d/0", i);
			if (turn == 0)
				file(name, (char[]){(char)('A' + i), 0});
			expect(name, true, 0, (char)('A' + i));
		}
}

static atomic_bool over;

/* A chunk that is not of the folder whose metadata were read came to be there after that began, and
 * its answer says so. */
static void *
read_both(void *arg)
{
	unsigned mixed = 0;
	while (!over) {
		int64_t began = clock_wall(), placed;
		int r, r2;
		char of = letter("v/.zarray", false, &placed, &r);
		char chunk = letter("v/0.0", true, &placed, &r2);
		if (r != 0 || r2 != 0)
			continue;
		mixed += chunk != of;
		CHECK(chunk == of || placed > began);
	}
	*(unsigned *)arg = mixed;
	return NULL;
}

static void
while_exchanged(void)
{
	pthread_t t[3];
	unsigned mixed[3];
	atomic_store(&over, false);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, read_both, &mixed[i]);
	for (int i = 0; i < 400; i++) {
		exchange();
		usleep(i % 7 * 300);
	}
	atomic_store(&over, true);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

int
main(void)
{
	static void (*const row[])(void) = {
		few_looks, follows, guards, many_folders, while_exchanged};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		here = place_new();
		CHECK_INT(mkdir(at(""), 0755), 0);
		CHECK_INT(mkdir(at("v"), 0755), 0);
		CHECK_INT(mkdir(at("w"), 0755), 0);
		file("../secret", "x");
		file("top", "3");
		file("v/.zarray", "1");
		file("v/0.0", "1");
		file("w/.zarray", "2");
		file("w/0.0", "2");
		usleep(20 * MS); /* old enough to be whole */
		z = store_open("", "dir", at(""), false);
		if (z)
			row[i]();
		zmap_close(z);
		place_remove(&here);
	}
	return check_end();
}
