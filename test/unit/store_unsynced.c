/* A directory store whose file system refuses what it is asked for, now and then: to sync a
 * directory, to make one, to open one more file. What was put is not said to be there for good, and
 * no lock is passed by. */
#include "check.h"
#include "store.h"
#include "zip_make.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct place here;
static struct zmap *z;

enum { MANY = 100 }; /* directories: more than are noted */

/* Of the directory with that number fsync fails; 0: of none. */
static ino_t failing;
static int with;
static void (*meanwhile)(void); /* called once, before it fails */
static unsigned stale;          /* so many directories cannot be made */

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_mkdirat(int up, const char *name, mode_t mode);
int __wrap_mkdirat(int up, const char *name, mode_t mode);

int
__wrap_fsync(int fd)
{
	struct stat s;
	if (!failing || fstat(fd, &s) != 0 || s.st_ino != failing)
		return __real_fsync(fd);
	if (meanwhile) {
		void (*fn)(void) = meanwhile;
		meanwhile = NULL;
		fn();
	}
	errno = with;
	return with ? -1 : __real_fsync(fd);
}

int
__wrap_mkdirat(int up, const char *name, mode_t mode)
{
	if (!stale)
		return __real_mkdirat(up, name, mode);
	stale--;
	errno = ESTALE;
	return -1;
}

static void
begin(void)
{
	here = place_new();
	z = store_open("", "dir", here.path, true);
}

static void
end(void)
{
	failing = 0;
	stale = 0;
	z = zmap_close(z);
	place_remove(&here);
}

static void
fail_in(const char *folder, int e)
{
	char path[512];
	struct stat s = {0};
	snprintf(path, sizeof path, "%s/%s", here.path, folder);
	CHECK_INT(stat(path, &s), 0);
	failing = s.st_ino;
	with = e;
}

static int
put(const char *key)
{
	return zmap_put(
		z, &(struct zmap_put){.key = key, .bytes = {(const uint8_t *)"x", 1}}, NULL);
}

/* Each caller that asks hears of it, not only the first one. */
static void
all_are_told(void)
{
	begin();
	CHECK_INT(put("v/0"), 0);
	fail_in("v", EIO);
	CHECK_INT(zmap_sync(z), -EIO);
	CHECK_INT(zmap_sync(z), -EIO);
	CHECK_INT(put("w/.zarray"), -EIO);
	CHECK_INT(zmap_sync(z), -EIO);
	failing = 0;
	CHECK_INT(zmap_sync(z), 0);
	end();
}

/* A directory that was made is there for good only if the one above it is synced. */
static void
new_directory(void)
{
	begin();
	fail_in(".", EIO);
	CHECK_INT(put("v/c/0"), 0);
	CHECK_INT(zmap_sync(z), -EIO);
	failing = 0;
	CHECK_INT(zmap_sync(z), 0);
	end();
}

static void
put_many(void)
{
	char key[32];
	for (int i = 0; i < MANY; i++) {
		snprintf(key, sizeof key, "v/%d/0", i);
		CHECK_INT(put(key), 0);
	}
}

/* More directories than are noted. */
static void
many(void)
{
	int r = 0;
	begin();
	CHECK_INT(put("last/0"), 0);
	CHECK_INT(zmap_sync(z), 0);
	fail_in("last", EIO);
	put_many();
	r = put("last/1");
	CHECK_INT(r < 0 ? r : zmap_sync(z), -EIO);
	failing = 0;
	CHECK_INT(put("last/1"), 0);
	CHECK_INT(zmap_sync(z), 0);
	end();
}

/* The same while one fails: that one is not forgotten for them. */
static void
many_meanwhile(void)
{
	begin();
	CHECK_INT(put("last/0"), 0);
	fail_in("last", EIO);
	meanwhile = put_many;
	CHECK_INT(zmap_sync(z), -EIO);
	CHECK(!meanwhile);
	CHECK_INT(zmap_sync(z), -EIO);
	failing = 0;
	CHECK_INT(zmap_sync(z), 0);
	end();
}

static void
put_last(void)
{
	CHECK_INT(put("last/1"), 0);
}

static int synced;

static void
count_synced(void)
{
	synced++;
}

/* A directory that gets a name while it is synced is synced again. */
static void
named_meanwhile(void)
{
	begin();
	CHECK_INT(put("last/0"), 0);
	fail_in("last", 0);
	meanwhile = put_last;
	CHECK_INT(zmap_sync(z), 0);
	synced = 0;
	meanwhile = count_synced;
	CHECK_INT(zmap_sync(z), 0);
	CHECK_INT(synced, 1);
	meanwhile = count_synced;
	CHECK_INT(zmap_sync(z), 0);
	CHECK_INT(synced, 1);
	meanwhile = NULL;
	end();
}

/* File systems that do not sync directories say so. */
static void
cannot(int e)
{
	begin();
	CHECK_INT(put("v/0"), 0);
	fail_in("v", e);
	CHECK_INT(zmap_sync(z), 0);
	CHECK_INT(put("v/.zarray"), 0);
	end();
}

/* Another machine has removed the directory that was just opened to make one in it. */
static void
removed(void)
{
	begin();
	stale = 2;
	CHECK_INT(put("v/0"), 0);
	CHECK_INT(stale, 0);
	end();
}

/* As many files more may be opened as the directory and the temporary file. */
static void
leave_two(struct rlimit *ret_before)
{
	const int a = open("/dev/null", O_RDONLY | O_CLOEXEC),
		  b = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(a >= 0 && b > a);
	close(a);
	close(b);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, ret_before), 0);
	struct rlimit few = *ret_before;
	few.rlim_cur = (rlim_t)b + 1;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
}

/* What is compared is locked, or not replaced: there is no descriptor for the lock. */
static void
no_descriptor(void)
{
	struct rlimit before;
	struct zmap_stat s;
	begin();
	CHECK_INT(put("v/.zarray"), 0);
	CHECK_INT(put("v/0"), 0);
	CHECK_INT(zmap_sync(z), 0);
	CHECK_INT(zmap_stat(z, "v/0", &s), 0);
	leave_two(&before);
	const struct zmap_put p = {
		.key = "v/0", .bytes = {(const uint8_t *)"y", 1}, .if_match = s.version};
	int r = zmap_put(z, &p, NULL);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_INT(r, -EMFILE);
	store_expect(z, (struct zmap_get){.key = "v/0"}, 0, "x");
	CHECK_INT(zmap_put(z, &p, NULL), 0);
	end();
}

static char archive_path[512];

static void
begin_archive(void)
{
	struct zip_maker m = {0};
	begin();
	zip_add(&m, (struct zip_file){.name = "v/.zarray", .text = "{}"});
	zip_end(&m, false, "");
	CHECK_INT(zmap_put(z, &(struct zmap_put){"x.zip", buf_span(&m.out)}, NULL), 0);
	zip_made(&m);
	CHECK_INT(zmap_sync(z), 0);
	zmap_close(z);
	snprintf(archive_path, sizeof archive_path, "%s/x.zip", here.path);
	z = store_open_url(archive_path, true);
}

static void
end_archive(const char *const keys[])
{
	zmap_close(z);
	z = store_open_url(archive_path, true);
	for (; *keys; keys++)
		store_expect(z, (struct zmap_get){.key = *keys}, 0, "x");
	end();
}

/* A new archive that has its name, which a crash may undo, is the archive all the same. */
static void
archive(int e, int want)
{
	begin_archive();
	CHECK_INT(put("v/0"), 0);
	fail_in(".", e);
	CHECK_INT(zmap_sync(z), want);
	CHECK_INT(zmap_sync(z), want); /* each caller is told */
	failing = 0;
	CHECK_INT(zmap_sync(z), 0);
	store_expect(z, (struct zmap_get){.key = "v/0"}, 0, "x");
	CHECK_INT(put("v/1"), 0);
	CHECK_INT(zmap_sync(z), 0);
	end_archive((const char *const[]){"v/0", "v/1", NULL});
}

/* What is put later is stored all the same, as far as such a file system does. */
static void
archive_never_synced(void)
{
	begin_archive();
	fail_in(".", EIO);
	CHECK_INT(put("v/0"), 0);
	CHECK_INT(zmap_sync(z), -EIO);
	CHECK_INT(put("v/1"), 0);
	CHECK_INT(zmap_sync(z), -EIO);
	end_archive((const char *const[]){"v/0", "v/1", NULL});
}

static pthread_t second;
static atomic_int told; /* what the second caller was told; 1: nothing yet */

static void *
sync_too(void *arg)
{
	atomic_store(&told, zmap_sync(z));
	return arg;
}

/* The archive has been read. The second caller waits: is not told anything for a while. */
static void
begin_second(void)
{
	CHECK_INT(zmap_alive(z), 0);
	CHECK_INT(pthread_create(&second, NULL, sync_too, NULL), 0);
	for (int i = 0; i < 50 && atomic_load(&told) == 1; i++)
		usleep(10000);
}

/* Nor is a sync that begins while another one syncs the directory told that all is there. */
static void
archive_meanwhile(void)
{
	begin_archive();
	CHECK_INT(put("v/0"), 0);
	fail_in(".", EIO);
	atomic_store(&told, 1);
	meanwhile = begin_second;
	CHECK_INT(zmap_sync(z), -EIO);
	CHECK(!meanwhile);
	CHECK_INT(pthread_join(second, NULL), 0);
	CHECK_INT(atomic_load(&told), -EIO);
	failing = 0;
	end_archive((const char *const[]){"v/0", NULL});
}

int
main(void)
{
	all_are_told();
	new_directory();
	many();
	many_meanwhile();
	named_meanwhile();
	cannot(EINVAL);
	cannot(ENOTSUP);
	cannot(ENOSYS);
	removed();
	no_descriptor();
	archive(EIO, -EIO);
	archive(EINVAL, 0);
	archive(ENOTSUP, 0);
	archive(ENOSYS, 0);
	archive_never_synced();
	archive_meanwhile();
	return check_end();
}
