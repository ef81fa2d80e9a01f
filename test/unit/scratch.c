/* New names of a writable mount, before anything is taken in. */
#include "mounted.h"

#include "view/image/scratch.h"
#include "view/stale.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char STORE[] = "mem:scratch";

enum { MOST = 1 << 20, LONG = 1200000 /* bytes of the variable `l` */ };

static const struct array_want how;

static struct file *
open_file(struct mount *m, const char *path)
{
	return open_for(m, path, O_RDWR, 0);
}

static void
close_file(struct file *f)
{
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), 0);
	CHECK_INT(file_settle(f, SETTLE_RELEASE, 0, NULL), 0);
	file_close(f);
}

/* A page of a mapping comes back with what it showed but for one byte; another handle has written
 * since. shown: it is known what the page showed. */
static void
test_page(struct mount *m, bool shown)
{
	static const uint8_t was[] = "abcdefgh";
	enum { N = sizeof was - 1 };
	const struct array_want mapped = {.shown = shown ? was : NULL}, all = {.len = N};
	uint8_t page[] = "mbcdefgh", to[N] = {0};
	struct entry e = {0};
	struct reply r = {0};
	CHECK_INT(mount_create(m, "page", &e), 0);
	entry_free(&e);
	struct file *one = open_file(m, "page"), *two = open_file(m, "page");
	CHECK_INT(file_write(one, 0, (struct span){was, N}, &how, 0), 0);
	CHECK_INT(file_write(two, 2, (struct span){(const uint8_t *)"two", 3}, &how, 0), 0);
	CHECK_INT(file_write(one, 0, (struct span){page, N}, &mapped, FILE_MAPPED), 0);
	CHECK_INT(file_read(two, &all, &r), 0);
	CHECK_INT(r.len, N);
	reply_copy(&r, to);
	reply_done(&r);
	CHECK_MEM(to, shown ? "mbtwofgh" : "mbcdefgh", N);
	close_file(one);
	close_file(two);
	CHECK_INT(mount_unlink(m, "page"), 0);
}

/* A write that was refused is told by each call after it, until the file begins anew. */
static void
test_refused(struct mount *m, const char *path)
{
	const struct span some = {(const uint8_t *)"some", 4};
	struct entry e = {0};
	CHECK_INT(mount_create(m, path, &e), 0);
	entry_free(&e);
	struct file *f = open_file(m, path);
	CHECK_INT(file_write(f, INT64_MAX, some, &how, 0), -EFBIG);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), -EFBIG);
	CHECK_INT(file_write(f, 0, some, &how, 0), -EFBIG);
	CHECK_INT(file_settle(f, SETTLE_FSYNC, 0, NULL), -EFBIG);
	CHECK_INT(mount_rename(m, path, "other", 0), -EFBIG);
	CHECK(!open_for(m, path, O_RDWR, -EFBIG));
	file_close(open_for(m, path, O_RDONLY, 0));
	file_close(open_for(m, path, O_WRONLY | O_TRUNC, 0));
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), 0);
	CHECK_INT(file_write(f, 0, some, &how, 0), 0);
	file_close(f);
	CHECK_INT(mount_unlink(m, path), 0);
}

/* A value of t.nc is refused; its file. */
static struct file *
fail(struct mount *m, uint8_t *all, size_t *ret_n)
{
	struct file *f = open_file(m, "t.nc");
	*ret_n = (size_t)read_at(f, 0, MOST, all);
	CHECK_INT(file_write(f, *ret_n - 2, (struct span){(const uint8_t *)"\1\1", 2}, &how, 0),
		-ERANGE);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), -ERANGE);
	return f;
}

static void
make_file(struct mount *m, const char *path, const uint8_t *all, size_t n)
{
	struct entry e = {0};
	struct file *f = NULL;
	CHECK_INT(mount_create(m, path, &e), 0);
	CHECK_INT(file_open_for(m, &e, O_WRONLY, &f), 0);
	entry_free(&e);
	CHECK_INT(file_write(f, 0, (struct span){all, n}, &how, 0), 0);
	close_file(f);
}

/* A file of which a write was refused is removed, or another one is renamed over it: the new one
 * has nothing of that error. */
static void
test_replaced(struct mount *m, bool renamed)
{
	static uint8_t all[MOST];
	size_t n;
	file_close(fail(m, all, &n));
	CHECK(!open_for(m, "t.nc", O_RDWR, -ERANGE));
	if (!renamed)
		CHECK_INT(mount_unlink(m, "t.nc"), 0);
	make_file(m, renamed ? "t.nc.new" : "t.nc", all, n);
	if (renamed)
		CHECK_INT(mount_rename(m, "t.nc.new", "t.nc", 0), 0);
	CHECK_INT(mount_settle(m, "", SETTLE_FSYNC, NULL), 0);
	close_file(open_file(m, "t.nc"));
}

/* The program that was refused still has it open, and hears of it. */
static void
test_replaced_open(struct mount *m)
{
	static uint8_t all[MOST];
	size_t n;
	struct file *f = fail(m, all, &n);
	CHECK_INT(mount_unlink(m, "t.nc"), 0);
	make_file(m, "t.nc", all, n);
	CHECK_INT(file_settle(f, SETTLE_FSYNC, 0, NULL), -ERANGE);
	file_close(f);
	CHECK_INT(mount_refresh(m, NULL), 0);
}

static void
check_bytes(struct mount *m, const char *path, const char *want)
{
	char got[16] = {0};
	struct file *f = open_for(m, path, O_RDONLY, 0);
	CHECK_INT(read_at(f, 0, sizeof got - 1, got), strlen(want));
	CHECK_STR(got, want);
	file_close(f);
}

/* What is written through a handle after its file has become a flat one is that one's too: a
 * program has mapped it, and its pages come late. */
static void
test_became_flat(struct mount *m)
{
	static const uint8_t was[] = "abcdef", page[] = "abcdyz";
	const struct array_want mapped = {.shown = was};
	struct entry e = {0};
	CHECK_INT(mount_create(m, "t.new", &e), 0);
	entry_free(&e);
	struct file *f = open_file(m, "t.new");
	CHECK_INT(file_write(f, 0, (struct span){was, 6}, &how, 0), 0);
	CHECK_INT(mount_rename(m, "t.new", "t", 0), 0);
	check_bytes(m, "t", "abcdef");
	CHECK_INT(file_write(f, 0, (struct span){page, 6}, &mapped, FILE_MAPPED), 0);
	CHECK_INT(file_write(f, 1, (struct span){(const uint8_t *)"x", 1}, &how, 0), 0);
	check_bytes(m, "t", "axcdyz");
	CHECK_INT(mount_lost(m, NULL), 0);
	close_file(f);
	check_bytes(m, ".store/t/0", "axcdyz");
}

/* What that file cannot have is refused, and told at each close. */
static void
test_became_flat_refused(struct mount *m)
{
	const struct span some = {(const uint8_t *)"uvwxyz", 6};
	struct entry e = {0};
	CHECK_INT(mount_create(m, "t.new", &e), 0);
	entry_free(&e);
	struct file *f = open_file(m, "t.new");
	CHECK_INT(file_write(f, 0, some, &how, 0), 0);
	CHECK_INT(mount_rename(m, "t.new", "t", 0), 0);
	CHECK_INT(file_truncate(f, 3, RESIZE_HANDLE, NULL), -EINVAL);
	CHECK_INT(file_write(f, 0, some, &how, 0), -EINVAL);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), -EINVAL);
	CHECK_INT(file_settle(f, SETTLE_RELEASE, 0, NULL), -EINVAL);
	file_close(f);
	check_bytes(m, "t", "uvwxyz");
}

/* A file that is too short or too long takes the place of no flat one, of which nothing changes;
 * another one does. */
static void
test_other_size(struct mount *m)
{
	static uint8_t longer[2 << 20];
	struct file *l = open_for(m, "l", O_RDONLY, 0);
	make_file(m, "t.new", (const uint8_t *)"abcdef", 6);
	CHECK_INT(mount_rename(m, "t.new", "t", 0), 0);
	make_file(m, "t.new", (const uint8_t *)"rst", 3);
	CHECK_INT(mount_rename(m, "t.new", "t", 0), -EINVAL);
	check_bytes(m, "t", "abcdef");
	CHECK_INT(mount_unlink(m, "t.new"), 0);
	make_file(m, "l.new", longer, sizeof longer);
	CHECK_INT(mount_rename(m, "l.new", "l", 0), -EFBIG);
	CHECK_INT(read_at(l, 0, sizeof longer, longer), LONG);
	CHECK_INT(longer[0], 7);
	file_close(l);
	CHECK_INT(mount_unlink(m, "l.new"), 0);
	make_file(m, "t.new", (const uint8_t *)"uvwxyz", 6);
	CHECK_INT(mount_rename(m, "t.new", "t", 0), 0);
	check_bytes(m, "t", "uvwxyz");
}

static struct meanwhile {
	void (*fn)(struct mount *);
	struct mount *mount;
	unsigned turn; /* before which it is called; 0: it was */
} meanwhile;
static int64_t longest; /* ns that the kernel was waited for */

/* The linker makes them turn_take() and stale_flush(). */
int __real_turn_take(struct turn *, int64_t deadline);
int __wrap_turn_take(struct turn *, int64_t deadline);
bool __real_stale_flush(struct stale *, int64_t until);
bool __wrap_stale_flush(struct stale *, int64_t until);

int
__wrap_turn_take(struct turn *t, int64_t deadline)
{
	if (meanwhile.turn && --meanwhile.turn == 0)
		meanwhile.fn(meanwhile.mount);
	return __real_turn_take(t, deadline);
}

bool
__wrap_stale_flush(struct stale *s, int64_t until)
{
	const int64_t wait = until - clock_now();
	longest = wait > longest ? wait : longest;
	return __real_stale_flush(s, until);
}

static void
rename_t(struct mount *m)
{
	CHECK_INT(mount_rename(m, "t.new", "t", 0), 0);
}

/* A new file is renamed over a flat one while a program opens it: what that writes is the flat
 * file's, as of a program that had it open before. */
static void
test_renamed_meanwhile(struct mount *m, int flags)
{
	struct entry e = {0};
	struct file *f = NULL;
	make_file(m, "t.new", (const uint8_t *)"abcdef", 6);
	CHECK_INT(mount_lookup(m, "t.new", &e), 0);
	meanwhile = (struct meanwhile){rename_t, m, 1};
	CHECK_INT(file_open_for(m, &e, flags, &f), 0);
	CHECK_INT(meanwhile.turn, 0);
	entry_free(&e);
	check_bytes(m, "t", flags & O_TRUNC ? "" : "abcdef");
	CHECK_INT(file_write(f, 0, (struct span){(const uint8_t *)"uvwxyz", 6}, &how, 0), 0);
	close_file(f);
	check_bytes(m, "t", "uvwxyz");
	check_bytes(m, ".store/t/0", "uvwxyz");
}

/* It has looked up the name before, and comes after: it looks it up again, for what it wrote would
 * be seen by none. */
static void
test_renamed_before(struct mount *m, bool truncates)
{
	make_file(m, "t.new", (const uint8_t *)"abcdef", 6);
	struct scratch *s = scratches_hold(m, "t.new");
	rename_t(m);
	CHECK_INT(scratch_add_writer(m, s, "t.new", truncates), -ESTALE);
	CHECK_INT(s->writers, 0);
	scratches_put(m, s);
	check_bytes(m, "t", "abcdef");
}

static void
rename_nc(struct mount *m)
{
	CHECK_INT(mount_rename(m, "new.nc", "new.bytes", 0), 0);
}

/* A new file NAME.nc gets another name right before the mount looks at what it holds: nothing is
 * taken in, and it keeps the new name. */
static void
test_renamed_before_close(struct mount *m)
{
	struct entry e = {0};
	CHECK_INT(mount_create(m, "new.nc", &e), 0);
	entry_free(&e);
	struct file *f = open_file(m, "new.nc");
	CHECK_INT(file_write(f, 0, (struct span){(const uint8_t *)"bytes", 5}, &how, 0), 0);
	meanwhile = (struct meanwhile){rename_nc, m, 1};
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), 0);
	CHECK_INT(meanwhile.turn, 0);
	close_file(f);
	check_bytes(m, "new.bytes", "bytes");
	CHECK_INT(mount_unlink(m, "new.bytes"), 0);
}

static struct file *refuses;

static void
refuse(struct mount *m)
{
	CHECK_INT(file_write(refuses, INT64_MAX, (struct span){(const uint8_t *)"x", 1}, &how, 0),
		-EFBIG);
}

static void
release(struct mount *m)
{
	file_settle(refuses, SETTLE_RELEASE, 0, NULL);
	file_close(refuses);
}

/* A handle is refused that came while the last one was released: the flat file is let go of. */
static void
test_refused_before(struct mount *m)
{
	struct entry e = {0};
	CHECK_INT(mount_create(m, "t.new", &e), 0);
	entry_free(&e);
	struct file *f = open_file(m, "t.new");
	struct scratch *s = scratches_hold(m, "t.new");
	CHECK_INT(file_write(f, 0, (struct span){(const uint8_t *)"abcdef", 6}, &how, 0), 0);
	rename_t(m);
	CHECK(s->flat != NULL);
	CHECK_INT(file_write(f, 0, (struct span){(const uint8_t *)"ABCDEF", 6}, &how, 0), 0);
	refuses = f;
	refuse(m);
	meanwhile = (struct meanwhile){release, m, 1};
	CHECK_INT(scratch_add_writer(m, s, "t.new", false), -EFBIG);
	CHECK_INT(s->writers, 0);
	CHECK(!s->flat);
	scratches_put(m, s);
	CHECK_INT(mount_refresh(m, NULL), 0);
	check_bytes(m, "t", "ABCDEF");
}

/* A write is refused while the file is renamed, before it takes that turn: such a file takes the
 * place of no other. */
static void
test_refused_meanwhile(struct mount *m, unsigned turn)
{
	struct entry e = {0};
	CHECK_INT(mount_create(m, "t.new", &e), 0);
	entry_free(&e);
	refuses = open_file(m, "t.new");
	CHECK_INT(file_write(refuses, 0, (struct span){(const uint8_t *)"ghijkl", 6}, &how, 0), 0);
	meanwhile = (struct meanwhile){refuse, m, turn};
	int r = mount_rename(m, "t.new", "t", 0);
	CHECK_INT(r, meanwhile.turn ? 0 : -EFBIG);
	meanwhile.turn = 0;
	file_close(refuses);
	if (r < 0)
		CHECK_INT(mount_unlink(m, "t.new"), 0);
}

/* A handle of the flat file has truncated it, and written as much as is renamed over it next. */
static void
test_truncated_by_other(struct mount *m)
{
	struct file *other = open_for(m, "t", O_WRONLY | O_TRUNC, 0);
	make_file(m, "t.new", (const uint8_t *)"mnopqr", 6);
	rename_t(m);
	check_bytes(m, "t", "mnopqr");
	CHECK_INT(file_truncate(other, 0, RESIZE_HANDLE, NULL), 0);
	CHECK_INT(file_write(other, 0, (struct span){(const uint8_t *)"rst", 3}, &how, 0), 0);
	make_file(m, "t.new", (const uint8_t *)"uvw", 3);
	CHECK_INT(mount_rename(m, "t.new", "t", 0), -EINVAL);
	CHECK_INT(mount_unlink(m, "t.new"), 0);
	check_bytes(m, "t", "rst");
	CHECK_INT(file_write(other, 3, (struct span){(const uint8_t *)"uvw", 3}, &how, 0), 0);
	close_file(other);
	check_bytes(m, "t", "rstuvw");
}

static void
ignore(void *arg, const char *path, enum stale_what what, int64_t pushed)
{
}

/* A file that is longer is renamed over a flat one, by which names of the directory are stale: the
 * kernel takes none of them before that is answered, so it is not waited for. */
static void
test_longer(struct mount *m)
{
	mount_on_stale(m, ignore, NULL);
	make_file(m, "t.new", (const uint8_t *)"abcdefgh", 8);
	longest = 0;
	rename_t(m);
	CHECK(longest > 0 && longest <= SECOND / 10);
	check_bytes(m, "t", "abcdefgh");
	mount_on_stale(m, NULL, NULL);
}

/* A handle of a file that has become a flat one appends behind what there is of that by now, and
 * reads it. */
static void
test_appends(struct mount *m)
{
	struct entry e = {0};
	char got[16] = {0};
	CHECK_INT(mount_create(m, "t.new", &e), 0);
	entry_free(&e);
	struct file *f = open_file(m, "t.new");
	CHECK_INT(file_write(f, 0, (struct span){(const uint8_t *)"abcdefgh", 8}, &how, 0), 0);
	rename_t(m);
	struct file *other = open_for(m, "t", O_WRONLY, 0);
	CHECK_INT(file_write(other, 8, (struct span){(const uint8_t *)"ij", 2}, &how, FILE_APPEND),
		0);
	CHECK_INT(file_write(f, 8, (struct span){(const uint8_t *)"kl", 2}, &how, FILE_APPEND), 0);
	check_bytes(m, "t", "abcdefghijkl");
	CHECK_INT(read_at(f, 0, sizeof got, got), 12);
	CHECK_STR(got, "abcdefghijkl");
	CHECK_INT(file_write(other, 12, (struct span){(const uint8_t *)"m", 1}, &how, 0), 0);
	CHECK_INT(file_truncate(f, 14, RESIZE_LONGER, NULL), 0);
	CHECK_INT(read_at(f, 11, sizeof got, got), 3);
	CHECK_MEM(got, "lm\7", 3);
	close_file(other);
	close_file(f);
	check_bytes(m, "t", "abcdefghijklm\7");
}

static int
count_name(void *arg, const char *name, uint64_t ino, unsigned char type)
{
	*(unsigned *)arg += strcmp(name, "l.nc") == 0;
	return 0;
}

static unsigned
count_listed(struct mount *m)
{
	unsigned n = 0;
	CHECK_INT(mount_list(m, "", count_name, &n), 0);
	return n;
}

/* A file that was removed is not listed as long as it is not found, and a new one of that name is
 * listed once. */
static void
test_removed(struct mount *m)
{
	struct entry e = {0};
	CHECK_INT(count_listed(m), 1);
	CHECK_INT(mount_unlink(m, "l.nc"), 0);
	CHECK_INT(mount_lookup(m, "l.nc", &e), ZMAP_ABSENT);
	CHECK_INT(count_listed(m), 0);
	CHECK_INT(mount_create(m, "l.nc", &e), 0);
	entry_free(&e);
	CHECK_INT(count_listed(m), 1);
	CHECK_INT(mount_unlink(m, "l.nc"), 0);
	CHECK_INT(count_listed(m), 0);
}

/* A group that has a new file is not empty, and goes with none. */
static void
test_group(struct mount *m)
{
	struct entry e = {0};
	CHECK_INT(mount_mkdir(m, "g", &e), 0);
	entry_free(&e);
	make_file(m, "g/some", (const uint8_t *)"some", 4);
	CHECK_INT(mount_rmdir(m, "g"), -ENOTEMPTY);
	check_bytes(m, "g/some", "some");
	CHECK_INT(mount_unlink(m, "g/some"), 0);
	CHECK_INT(mount_rmdir(m, "g"), 0);
}

/* As rsync --delay-updates does: a netCDF file in that directory is no variable there, and moves on
 * to its own name. */
static void
test_delayed(struct mount *m)
{
	static uint8_t all[MOST];
	struct entry e = {0};
	struct file *f = open_file(m, "t.nc");
	const size_t n = (size_t)read_at(f, 0, MOST, all);
	close_file(f);
	all[n - 1] = 77;
	CHECK_INT(mount_mkdir(m, ".~tmp~", &e), 0);
	entry_free(&e);
	make_file(m, ".t.nc.new", all, n);
	CHECK_INT(mount_rename(m, ".t.nc.new", ".~tmp~/t.nc", 0), 0);
	CHECK_INT(mount_lookup(m, ".~tmp~/t", &e), ZMAP_ABSENT);
	CHECK_INT(mount_rename(m, ".~tmp~/t.nc", "t.nc", 0), 0);
	CHECK_INT(mount_rmdir(m, ".~tmp~"), 0);
	f = open_file(m, "t.nc");
	CHECK_INT(read_at(f, 0, MOST, all), n);
	CHECK_INT(all[n - 1], 77);
	close_file(f);
}

static void
test_unlimited(void)
{
	struct zmap *z = store_new("mem:longer");
	struct mount_options o = options_new();
	o.rw = true;
	o.unlimited = "x";
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "t", "\"|u1\"", "[6]", "[6]", "\"fill_value\": 7");
	put_text(z, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\"]}");
	struct mount *m = mount_new("mem:longer", &o);
	test_longer(m);
	test_appends(m);
	mount_close(m);
	zmap_close(z);
}

int
main(void)
{
	struct zmap *z = store_new(STORE);
	struct mount_options o = options_new();
	o.rw = true;
	o.zarr_format = 2;
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "t", "\"|u1\"", "[6]", "[6]", "\"fill_value\": null");
	put_text(z, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\"]}");
	put_bytes(z, "t/0", "\1\2\3\4\5\6", 6);
	put_meta(z, "l", "\"|u1\"", "[1200000]", "[600000]", "\"fill_value\": 7");
	struct mount *m = mount_new(STORE, &o);
	test_replaced(m, false);
	test_replaced(m, true);
	test_replaced_open(m);
	test_page(m, true);
	test_page(m, false);
	test_refused(m, "bytes");
	test_refused(m, "new.nc");
	test_became_flat(m);
	test_other_size(m);
	test_became_flat_refused(m);
	for (unsigned turn = 1; turn < 5; turn++)
		test_refused_meanwhile(m, turn);
	test_renamed_meanwhile(m, O_RDWR);
	test_renamed_meanwhile(m, O_WRONLY | O_TRUNC);
	test_renamed_before(m, false);
	test_renamed_before(m, true);
	test_refused_before(m);
	test_renamed_before_close(m);
	test_truncated_by_other(m);
	test_group(m);
	test_delayed(m);
	test_removed(m);
	CHECK_INT(mount_drain(m, NULL), 0);
	mount_close(m);
	zmap_close(z);
	test_unlimited();
	return check_end();
}
