/* A local archive that is written, and that another program replaces. */
#include "check.h"
#include "store.h"
#include "zip_make.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static struct place here;
static char path[300], beside[300];
static struct zmap *z;

/* From the next rename of a file on no more files can be opened. */
static bool full_then;
static struct rlimit before_full;

int __real_renameat(int from_up, const char *from, int up, const char *name);
int __wrap_renameat(int from_up, const char *from, int up, const char *name);

int
__wrap_renameat(int from_up, const char *from, int up, const char *name)
{
	int r = __real_renameat(from_up, from, up, name);
	if (full_then) {
		struct rlimit few = before_full;
		few.rlim_cur = 0;
		CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
	}
	full_then = false;
	return r;
}

/* As programs do that pack an archive anew: beside the old one, and renamed. */
static void
replace(const char *text)
{
	struct zip_maker m = {0};
	zip_add(&m, (struct zip_file){.name = "v/.zarray", .text = text});
	zip_end(&m, false, "");
	int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, m.out.data, m.out.len), m.out.len);
	close(fd);
	CHECK_INT(rename(beside, path), 0);
	zip_made(&m);
}

static void
begin(void)
{
	here = place_new();
	snprintf(path, sizeof path, "%s/x.zip", here.path);
	snprintf(beside, sizeof beside, "%s/new", here.path);
	replace("old");
	z = store_open_url(path, true);
}

static void
end(void)
{
	zmap_close(z);
	place_remove(&here);
}

static int
put_text(const char *key, const char *text, struct zmap_stat *ret)
{
	const struct zmap_put p = {.key = key, .bytes = {(const uint8_t *)text, strlen(text)}};
	return zmap_put(z, &p, ret);
}

static int
put(const char *key)
{
	return put_text(key, "x", NULL);
}

static void
expect(const char *key, int want, const char *text)
{
	store_expect(z, (struct zmap_get){.key = key}, want, text);
}

/* What is put after the other archive was seen goes there; no other writer may have it. */
static void
before(void)
{
	begin();
	replace("other");
	CHECK_INT(zmap_alive(z), 0);
	expect("v/.zarray", 0, "other");
	CHECK_INT(put("v/0"), 0);
	CHECK_INT(zmap_sync(z), 0);
	struct zmap *second = store_open_url(path, true);
	struct buf said = {0};
	CHECK_INT(zmap_try_writing(second, &said), -EBUSY);
	zmap_close(second);
	zmap_close(z);
	z = store_open_url(path, true);
	expect("v/.zarray", 0, "other");
	expect("v/0", 0, "x");
	end();
}

/* What was put over the old one is lost, and nothing is overwritten. */
static void
meanwhile(bool seen)
{
	begin();
	CHECK_INT(put("v/0"), 0);
	replace("other");
	if (seen)
		CHECK_INT(zmap_alive(z), 0);
	CHECK_INT(zmap_sync(z), -EIO);
	CHECK(strstr(err_text(), "changed by another program"));
	expect("v/.zarray", 0, "other");
	expect("v/0", ZMAP_ABSENT, "");
	CHECK_INT(put("v/1"), 0);
	CHECK_INT(zmap_sync(z), 0);
	zmap_close(z);
	z = store_open_url(path, true);
	expect("v/.zarray", 0, "other");
	expect("v/1", 0, "x");
	end();
}

/* Another mount has taken the new archive. */
static void
taken(void)
{
	begin();
	replace("other");
	struct zmap *second = store_open_url(path, true);
	CHECK_INT(zmap_alive(z), 0);
	CHECK_INT(put("v/0"), 0);
	CHECK_INT(zmap_sync(z), -EBUSY);
	zmap_close(second);
	CHECK_INT(zmap_sync(z), 0);
	expect("v/0", 0, "x");
	end();
}

/* v/0 is stored, but the archive that it is in cannot be read yet. */
static void
begin_unread(struct zmap_stat *ret)
{
	begin();
	CHECK_INT(put_text("v/0", "x", ret), 0);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &before_full), 0);
	full_then = true;
	CHECK_INT(zmap_sync(z), 0);
	CHECK(!full_then);
}

static void
files_again(void)
{
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &before_full), 0);
}

static void
open_again(void)
{
	zmap_close(z);
	z = store_open_url(path, true);
}

/* What was put has the version that it had, and nothing is left to be written. */
static void
read_later(void)
{
	struct zmap_stat was, now;
	begin_unread(&was);
	CHECK_INT(zmap_sync(z), 0);
	files_again();
	CHECK_INT(zmap_alive(z), 0);
	expect("v/.zarray", 0, "old");
	expect("v/0", 0, "x");
	CHECK_INT(zmap_stat(z, "v/0", &now), 0);
	CHECK_STR(now.version, was.version);
	CHECK_INT(put("v/1"), 0);
	CHECK_INT(zmap_sync(z), 0);
	open_again();
	expect("v/.zarray", 0, "old");
	expect("v/0", 0, "x");
	expect("v/1", 0, "x");
	end();
}

/* What is put before the archive is read goes into the next one: over one that was stored, and a
 * new one. */
static void
put_before_read(void)
{
	struct zmap_stat s;
	begin_unread(&s);
	const struct zmap_put p = {
		.key = "v/0", .bytes = {(const uint8_t *)"y", 1}, .if_match = s.version};
	CHECK_INT(zmap_put(z, &p, NULL), 0);
	CHECK_INT(put("v/1"), 0);
	CHECK_INT(zmap_sync(z), -EMFILE);
	files_again();
	CHECK_INT(zmap_sync(z), 0);
	open_again();
	expect("v/.zarray", 0, "old");
	expect("v/0", 0, "y");
	expect("v/1", 0, "x");
	end();
}

/* Another program puts its archive over the one that was not read. late: something was put since,
 * and is lost. */
static void
replaced_unread(bool late)
{
	struct zmap_stat s;
	begin_unread(&s);
	if (late)
		CHECK_INT(put("v/1"), 0);
	files_again();
	replace("other");
	CHECK_INT(zmap_sync(z), late ? -EIO : 0);
	expect("v/.zarray", 0, "other");
	expect("v/0", ZMAP_ABSENT, "");
	expect("v/1", ZMAP_ABSENT, "");
	CHECK_INT(put("v/2"), 0);
	CHECK_INT(zmap_sync(z), 0);
	open_again();
	expect("v/.zarray", 0, "other");
	expect("v/2", 0, "x");
	end();
}

struct names {
	char all[100];
	bool synced;
};

static int
sync_and_note(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	(void)s;
	struct names *n = arg;
	if (!n->synced)
		CHECK_INT(zmap_sync(z), 0);
	n->synced = true;
	snprintf(n->all + strlen(n->all), sizeof n->all - strlen(n->all), "%s%s ", name,
		prefix ? "/" : "");
	return 0;
}

/* What is put or deleted is stored while names are listed. */
static void
listed_meanwhile(void)
{
	struct names n = {0};
	begin();
	CHECK_INT(put("v/1"), 0);
	CHECK_INT(zmap_sync(z), 0);
	CHECK_INT(put("v/2"), 0);
	CHECK_INT(put("v/c/0"), 0);
	CHECK_INT(put("w/0"), 0);
	CHECK_INT(zmap_del(z, &(struct zmap_del){.key = "v/1"}), 0);
	CHECK_INT(zmap_list(z, "v/", sync_and_note, &n), 0);
	CHECK(n.synced);
	CHECK_STR(n.all, ".zarray 2 c/ ");
	end();
}

/* Members that stay are as they were, whatever else is stored. */
static void
stays(void)
{
	static const char *const keys[] = {"v/.zarray", "v/1"};
	struct zmap_stat was[2], now;
	begin();
	CHECK_INT(put("v/1"), 0);
	for (unsigned i = 0; i < 2; i++)
		CHECK_INT(zmap_stat(z, keys[i], &was[i]), 0);
	for (unsigned n = 0; n < 2; n++) {
		usleep(2000);
		CHECK_INT(put("v/2"), 0);
		CHECK_INT(zmap_sync(z), 0);
		for (unsigned i = 0; i < 2; i++) {
			CHECK_INT(zmap_stat(z, keys[i], &now), 0);
			CHECK_STR(now.version, was[i].version);
			CHECK_INT(now.mtime, was[i].mtime);
		}
	}
	end();
}

int
main(void)
{
	stays();
	listed_meanwhile();
	read_later();
	put_before_read();
	replaced_unread(false);
	replaced_unread(true);
	before();
	meanwhile(false);
	meanwhile(true);
	taken();
	return check_end();
}
