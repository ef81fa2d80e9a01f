/* A store refuses what was written; what another program is told of that, or a refresh names, each
 * handle that was open for writing then hears by one call of its own, and by closes before it: not
 * one that is opened after it, and not what a refresh has stored after all. */
#include "mounted.h"
#include "store.h"

#include "view/state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { X = 6, MOST = 1 << 20 };

static const char VALUES[] = "\1\0\1\1\0\1";
static const struct array_want how;

struct heard {
	struct place place;
	char file[300]; /* while it is there, the store refuses puts */
	struct zmap *store;
	struct mount *mount;
};

/* calls, more: of the faults. */
static struct heard
begin(const char *calls, const char *more)
{
	struct heard h = {.place = place_new(), .store = store_new("mem:heard")};
	struct mount_options o = options_new();
	char url[700];
	o.rw = true;
	o.zarr_format = 2;
	o.unlimited = "time";
	put_text(h.store, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(h.store, "t", "\"|b1\"", "[6]", "[2]", "\"fill_value\": false");
	put_text(h.store, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	for (unsigned i = 0; i < X / 2; i++)
		put_bytes(h.store, (const char *[]){"t/0", "t/1", "t/2"}[i], VALUES + 2 * i, 2);
	snprintf(h.file, sizeof h.file, "%s/broken", h.place.path);
	snprintf(url, sizeof url, "fault+mem:heard#fault.calls=%s&fault.file=%s&%s", calls, h.file,
		more);
	h.mount = mount_new(url, &o);
	return h;
}

static struct heard
begin_refusing(void)
{
	return begin("put", "fault.kind=eacces");
}

static void
breaks(const struct heard *h)
{
	fclose(fopen(h->file, "w"));
}

static void
works(const struct heard *h)
{
	CHECK_INT(unlink(h->file), 0);
}

static void
end(struct heard *h)
{
	mount_close(h->mount);
	zmap_close(h->store);
	place_remove(&h->place);
}

static int
fsync_of(struct file *f)
{
	return file_settle(f, SETTLE_FSYNC, 0, NULL);
}

static int
close_of(struct file *f)
{
	return file_settle(f, SETTLE_FLUSH, 0, NULL);
}

static int
fsync_of_directory(struct heard *h)
{
	return mount_settle(h->mount, "", SETTLE_FSYNC, NULL);
}

static void
refresh(struct heard *h)
{
	CHECK_INT(mount_refresh(h->mount, NULL), 0);
}

static struct file *
writer(struct heard *h, const char *path)
{
	return open_for(h->mount, path, O_RDWR, 0);
}

static void
close_writer(struct file *f)
{
	CHECK_INT(close_of(f), 0);
	CHECK_INT(file_settle(f, SETTLE_RELEASE, 0, NULL), 0);
	file_close(f);
}

/* Where the values lie in a file. */
static uint64_t
place_of(struct heard *h, const char *path)
{
	struct file *f = open_for(h->mount, path, O_RDONLY, 0);
	CLEAN(clean_free) uint8_t *all = malloc(MOST);
	const int64_t n = read_at(f, 0, MOST, all);
	const uint8_t *at = n > 0 ? memmem(all, (size_t)n, VALUES, X) : NULL;
	CHECK(at);
	file_close(f);
	return at ? (uint64_t)(at - all) : 0;
}

static int
put_value(struct file *f, uint64_t off, uint8_t value)
{
	return file_write(f, off, (struct span){&value, 1}, &how, 0);
}

/* The handle hears, and once; then it writes as any other. Meanwhile the store works again. */
static void
check_hears(struct file *f, uint64_t off, int what)
{
	CHECK_INT(fsync_of(f), what);
	CHECK_INT(fsync_of(f), 0);
	CHECK_INT(put_value(f, off, 1), 0);
	CHECK_INT(fsync_of(f), 0);
	close_writer(f);
}

static void
check_hears_not(struct heard *h, const char *path)
{
	struct file *f = writer(h, path);
	CHECK_INT(fsync_of(f), 0);
	close_writer(f);
}

/* The directory's fsync is told. */
static void
test_directory(const char *path)
{
	struct heard h = begin_refusing();
	const uint64_t off = place_of(&h, path);
	struct file *a = writer(&h, path);
	CHECK_INT(put_value(a, off, 0), 0);
	breaks(&h);
	CHECK_INT(fsync_of_directory(&h), -EACCES);
	refresh(&h);
	works(&h);
	CHECK_INT(fsync_of_directory(&h), 0);
	check_hears_not(&h, path);
	check_hears(a, off, -EACCES);
	check_hears_not(&h, path);
	end(&h);
}

/* Another handle is told, of the same file or of another one that shows the array. */
static void
test_other_handle(const char *path, const char *other)
{
	struct heard h = begin_refusing();
	const uint64_t off = place_of(&h, path);
	struct file *a = writer(&h, path), *b = writer(&h, other);
	CHECK_INT(put_value(a, off, 0), 0);
	breaks(&h);
	CHECK_INT(fsync_of(b), -EACCES);
	refresh(&h);
	works(&h);
	CHECK_INT(fsync_of(b), 0);
	check_hears_not(&h, path);
	check_hears(a, off, -EACCES);
	close_writer(b);
	end(&h);
}

/* No program is told, before a refresh drops it: all handles hear, whichever comes first. */
static void
test_no_program(const char *path)
{
	struct heard h = begin_refusing();
	const uint64_t off = place_of(&h, path);
	struct file *a = writer(&h, path), *b = writer(&h, path);
	CHECK_INT(put_value(a, off, 0), 0);
	breaks(&h);
	CHECK_INT(data_flush(h.mount->data, NULL), -EACCES);
	refresh(&h);
	works(&h);
	CHECK_INT(fsync_of(b), -EACCES);
	check_hears_not(&h, path);
	check_hears(a, off, -EACCES);
	CHECK_INT(fsync_of(b), 0);
	close_writer(b);
	end(&h);
}

/* No handle is left: the first program that comes is told. */
static void
test_no_handle(void)
{
	struct heard h = begin_refusing();
	struct file *a = writer(&h, "t");
	CHECK_INT(put_value(a, 0, 0), 0);
	breaks(&h);
	CHECK_INT(data_flush(h.mount->data, NULL), -EACCES);
	file_close(a);
	refresh(&h);
	works(&h);
	check_hears(writer(&h, "t"), 0, -EACCES);
	check_hears_not(&h, "t");
	end(&h);
}

/* A refresh stores it after all. */
static void
test_stored_after_all(const char *path)
{
	struct heard h = begin_refusing();
	const uint64_t off = place_of(&h, path);
	struct file *a = writer(&h, path);
	CHECK_INT(put_value(a, off, 0), 0);
	breaks(&h);
	CHECK_INT(fsync_of_directory(&h), -EACCES);
	works(&h);
	refresh(&h);
	close_writer(a);
	end(&h);
}

/* A write that was refused is told; what came before it is refused when a refresh stores it. */
static void
test_refresh(const char *path)
{
	struct heard h = begin_refusing();
	const uint64_t off = place_of(&h, path);
	struct file *a = writer(&h, path), *b = writer(&h, path);
	CHECK_INT(put_value(a, off, 0), 0);
	CHECK_INT(put_value(b, off + 1, 2), -ERANGE);
	breaks(&h);
	refresh(&h);
	CHECK(fsync_of(a) < 0);
	CHECK(fsync_of(b) < 0);
	file_close(a);
	file_close(b);
	works(&h);
	refresh(&h);
	check_hears_not(&h, path);
	end(&h);
}

/* A close that is told may be that of a duplicate, which another program was started with: the
 * handle hears again, until an fsync was told. */
static void
test_duplicate(const char *path, bool again)
{
	struct heard h = begin_refusing();
	const uint64_t off = place_of(&h, path);
	struct file *a = writer(&h, path);
	CHECK_INT(put_value(a, off, 0), 0);
	breaks(&h);
	CHECK_INT(close_of(a), -EACCES);
	refresh(&h);
	works(&h);
	check_hears_not(&h, path);
	if (again)
		CHECK_INT(close_of(a), -EACCES);
	check_hears(a, off, -EACCES);
	check_hears_not(&h, path);
	end(&h);
}

/* Both closes come after the refresh; when the handle is released nothing is left to say. */
static void
test_close(const char *path)
{
	struct heard h = begin_refusing();
	const uint64_t off = place_of(&h, path);
	struct file *a = writer(&h, path);
	CHECK_INT(put_value(a, off, 0), 0);
	breaks(&h);
	CHECK_INT(fsync_of_directory(&h), -EACCES);
	refresh(&h);
	works(&h);
	CHECK_INT(close_of(a), -EACCES);
	CHECK_INT(close_of(a), -EACCES);
	CHECK_INT(file_settle(a, SETTLE_RELEASE, 0, NULL), 0);
	file_close(a);
	check_hears_not(&h, path);
	end(&h);
}

/* A write that fails with the error tells of it; not that of a page, of which no program hears. */
static void
test_write(const char *path, unsigned flags)
{
	struct heard h = begin_refusing();
	const uint64_t off = place_of(&h, path);
	struct file *a = writer(&h, path);
	CHECK_INT(put_value(a, off, 0), 0);
	breaks(&h);
	CHECK_INT(close_of(a), -EACCES);
	CHECK_INT(file_write(a, off + 1, (struct span){(const uint8_t[]){1}, 1}, &how, flags),
		-EACCES);
	refresh(&h);
	works(&h);
	check_hears(a, off, flags ? -EACCES : 0);
	end(&h);
}

/* Rows that are never counted. */
static void
test_rows(void)
{
	struct heard h = begin("put", "fault.kind=eacces&fault.match=.zarray");
	struct file *a = writer(&h, "t"), *b = writer(&h, "t");
	CHECK_INT(put_value(a, X, 1), 0);
	breaks(&h);
	CHECK_INT(fsync_of(b), -EACCES);
	refresh(&h);
	works(&h);
	CHECK_INT(fsync_of(b), 0);
	check_hears_not(&h, "t");
	check_hears(a, 0, -EACCES);
	close_writer(b);
	end(&h);
}

/* What was put is lost, which the store tells once: to a program that makes a directory. */
static void
test_lost(const char *path)
{
	struct heard h = begin("sync", "fault.kind=eio&fault.nth=1&fault.late=1");
	struct entry e = {0};
	const uint64_t off = place_of(&h, path);
	struct file *a = writer(&h, path), *b = writer(&h, path);
	CHECK_INT(put_value(a, off, 0), 0);
	breaks(&h);
	CHECK_INT(mount_mkdir(h.mount, "g", &e), -EIO);
	works(&h);
	refresh(&h);
	CHECK_INT(close_of(a), -EIO);
	check_hears(a, off, -EIO);
	close_writer(b);
	check_hears_not(&h, path);
	end(&h);
}

int
main(void)
{
	static const char *const paths[] = {"t", "t.nc"};
	for (size_t i = 0; i < 2; i++) {
		test_directory(paths[i]);
		test_other_handle(paths[i], paths[i]);
		test_no_program(paths[i]);
		test_stored_after_all(paths[i]);
		test_refresh(paths[i]);
		test_lost(paths[i]);
		test_duplicate(paths[i], false);
		test_duplicate(paths[i], true);
		test_close(paths[i]);
		test_write(paths[i], 0);
		test_write(paths[i], FILE_MAPPED);
	}
	test_other_handle("t", "t.nc");
	test_no_handle();
	test_rows();
	return check_end();
}
