/* netCDF files of a writable mount, written as programs do it. */
#include "mounted.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static const char STORE[] = "mem:images";

enum { X = 6, ROWS = 4, MOST = 1 << 20 };

static const struct array_want how;

static void
put_store(struct zmap *z)
{
	uint8_t t[ROWS * X], x[X];
	for (unsigned i = 0; i < ROWS * X; i++)
		t[i] = (uint8_t)(100 + i);
	for (unsigned i = 0; i < X; i++)
		x[i] = (uint8_t)i;
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "t", "\"|u1\"", "[4, 6]", "[4, 6]", "\"fill_value\": null");
	put_meta(z, "x", "\"|i1\"", "[6]", "[6]", "\"fill_value\": null");
	put_meta(z, "s", "\"|i1\"", "[6]", "[6]", "\"fill_value\": null");
	put_text(z, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\", \"x\"], \"units\": \"K\"}");
	put_text(z, "s/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\"]}");
	put_text(z, "x/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\"]}");
	put_bytes(z, "t/0.0", t, sizeof t);
	put_bytes(z, "x/0", x, sizeof x);
}

static void
close_file(struct file *f, int want)
{
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), want);
	file_settle(f, SETTLE_RELEASE, 0, NULL);
	file_close(f);
}

/* All of a file; its length. */
static size_t
read_all(struct mount *m, const char *path, uint8_t *to)
{
	struct file *f = open_for(m, path, O_RDONLY, 0);
	struct reply r = {0};
	struct array_want w = {.len = MOST};
	CHECK_INT(file_read(f, &w, &r), 0);
	size_t n = r.len;
	reply_copy(&r, to);
	reply_done(&r);
	file_close(f);
	return n;
}

static int
put(struct file *f, uint64_t off, const void *bytes, size_t n)
{
	return file_write(f, off, (struct span){bytes, n}, &how, 0);
}

static void
check_units(struct mount *m, const char *want)
{
	struct entry e = {0};
	struct buf b = {0};
	CHECK_INT(mount_lookup(m, "t", &e), 0);
	CHECK_INT(mount_getxattr(m, &e, "units", &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, want);
	buf_free(&b);
	entry_free(&e);
}

static uint8_t
element(struct mount *m, size_t i)
{
	uint8_t t[MOST / 1024];
	CHECK_INT(read_all(m, "t", t), ROWS * X);
	return t[i];
}

/* Where the data of t begin: its last bytes are the file's. */
static size_t
begin_of(size_t size)
{
	return size - 2 * ROWS * X;
}

static int
lines_of(const struct buf *text)
{
	int n = 0;
	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n';
	return n;
}

static void
test_values(struct mount *m)
{
	uint8_t *all = malloc(MOST);
	size_t n = read_all(m, "t.nc", all), at = begin_of(n);
	struct file *f = open_for(m, "t.nc", O_RDWR, 0);
	all[at + 2 * 7 + 1] = 9;
	CHECK_INT(put(f, at - 100, all + at - 100, n - at + 100), 0);
	CHECK_INT(element(m, 7), 9);
	close_file(f, 0);
	CHECK_INT(element(m, 7), 9);
	CHECK_INT(element(m, 8), 108);
	/* Refused, until a program has looked. */
	f = open_for(m, "t.nc", O_RDWR, 0);
	CHECK_INT(put(f, at, "\1\1", 2), -ERANGE);
	close_file(f, -ERANGE);
	f = open_for(m, "t.nc", O_RDWR, -ERANGE);
	CHECK(!f);
	CHECK_INT(mount_settle(m, "", SETTLE_FSYNC, NULL), -ERANGE);
	CHECK(strstr(err_text(), "'t.nc': "));
	CHECK_INT(mount_settle(m, "other", SETTLE_FSYNC, NULL), 0);
	CHECK_INT(mount_refresh(m, NULL), 0);
	CHECK_INT(element(m, 0), 100);
	free(all);
}

/* x is another variable's, too: t.nc does not change it. */
static void
test_companion(struct mount *m)
{
	uint8_t *all = malloc(MOST);
	size_t n = read_all(m, "t.nc", all), at = 0;
	while (at < n && memcmp(all + at, "\0\1\2\3\4\5", 6) != 0)
		at++;
	CHECK(at < n);
	struct file *f = open_for(m, "t.nc", O_RDWR, 0);
	CHECK_INT(put(f, at, "\0\1\2", 3), 0);
	CHECK_INT(put(f, at, "\0\1\3", 3), -EINVAL);
	close_file(f, -EINVAL);
	CHECK_INT(mount_refresh(m, NULL), 0);
	free(all);
}

/* One letter of the header. */
static void
test_attribute(struct mount *m)
{
	uint8_t *all = malloc(MOST);
	size_t n = read_all(m, "t.nc", all), at = 0;
	CHECK(n > 4096);
	while (at < 4096 && memcmp(all + at, "units\0\0\0\0\0\0\2\0\0\0\1K", 17) != 0)
		at++;
	CHECK(at < 4096);
	struct file *f = open_for(m, "t.nc", O_RDWR, 0);
	all[at + 16] = 'C';
	CHECK_INT(put(f, 0, all, 4096), 0);
	check_units(m, "K");
	close_file(f, 0);
	check_units(m, "C");
	all[at + 16] = 'K';
	f = open_for(m, "t.nc", O_RDWR | O_TRUNC, 0);
	CHECK_INT(file_size(f), 0);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), 0);
	CHECK_INT(put(f, 0, all, 100), 0);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), -EINVAL);
	CHECK_INT(put(f, 100, all + 100, n - 100), 0);
	close_file(f, 0);
	check_units(m, "K");
	free(all);
}

/* A new name, renamed; an old one, removed and made anew. */
static void
test_names(struct mount *m)
{
	uint8_t *all = malloc(MOST);
	struct entry e = {0};
	size_t n = read_all(m, "t.nc", all);
	CHECK_INT(mount_create(m, "t.nc.tmp", &e), 0);
	entry_free(&e);
	struct file *f = open_for(m, "t.nc.tmp", O_RDWR, 0);
	all[n - 1] = 77;
	CHECK_INT(put(f, 0, all, n), 0);
	close_file(f, 0);
	CHECK_INT(element(m, ROWS * X - 1), 100 + ROWS * X - 1);
	CHECK_INT(mount_rename(m, "t.nc.tmp", "t.nc", 0), 0);
	CHECK_INT(element(m, ROWS * X - 1), 77);
	CHECK_INT(mount_lookup(m, "t.nc.tmp", &e), ZMAP_ABSENT);

	CHECK_INT(mount_unlink(m, "t.nc"), 0);
	CHECK_INT(mount_lookup(m, "t.nc", &e), ZMAP_ABSENT);
	CHECK_INT(mount_create(m, "t.nc", &e), 0);
	entry_free(&e);
	f = open_for(m, "t.nc", O_WRONLY, 0);
	all[n - 1] = 78;
	CHECK_INT(put(f, 0, all, n), 0);
	close_file(f, 0);
	CHECK_INT(element(m, ROWS * X - 1), 78);
	CHECK_INT(read_all(m, "t.nc", all), n);
	free(all);
}

/* One that goes on being written after it was taken in, one that is refused, and bytes alone. */
static void
test_taken_in(struct mount *m)
{
	uint8_t *all = malloc(MOST);
	struct entry e = {0};
	size_t n = read_all(m, "t.nc", all);
	CHECK_INT(mount_create(m, "t.cdf5.nc.x", &e), 0);
	entry_free(&e);
	struct file *f = open_for(m, "t.cdf5.nc.x", O_WRONLY, 0);
	CHECK_INT(put(f, 0, all, n), 0);
	CHECK_INT(mount_rename(m, "t.cdf5.nc.x", "t.nc", 0), 0);
	CHECK_INT(put(f, n - 1, "\117", 1), 0);
	close_file(f, 0);
	CHECK_INT(element(m, ROWS * X - 1), 79);
	CHECK_INT(mount_create(m, "new.nc", &e), 0);
	entry_free(&e);
	f = open_for(m, "new.nc", O_WRONLY, 0);
	CHECK_INT(put(f, 0, "\x89HDF\r\n\x1a\n........", 16), 0);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), -EINVAL);
	CHECK(strstr(err_text(), "netCDF-4"));
	file_close(f);
	CHECK_INT(mount_unlink(m, "new.nc"), 0);

	uint8_t flat[ROWS * X];
	memset(flat, 5, sizeof flat);
	CHECK_INT(mount_create(m, "new", &e), 0);
	entry_free(&e);
	f = open_for(m, "new", O_WRONLY, 0);
	CHECK_INT(put(f, 0, flat, sizeof flat), 0);
	close_file(f, 0);
	CHECK_INT(mount_rename(m, "new", "t", 0), 0);
	CHECK_INT(element(m, 3), 5);
	free(all);
}

/* Many files of one variable, written and read at once. */
static void *
write_much(void *arg)
{
	struct mount *m = arg;
	uint8_t *all = malloc(MOST);
	size_t n = read_all(m, "t.nc", all), at = begin_of(n);
	for (int i = 0; i < 20; i++) {
		struct file *f = open_for(m, "t.nc", O_RDWR, 0);
		CHECK_INT(put(f, at + 2 * (size_t)(i % (ROWS * X)), "\0\7", 2), 0);
		close_file(f, 0);
		element(m, 0);
	}
	free(all);
	return NULL;
}

static void
test_many(struct mount *m)
{
	pthread_t thread[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, write_much, m);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	CHECK_INT(element(m, 19), 7);
	CHECK_INT(element(m, 20), 5);
}

/* What was refused and never looked at is a loss at the end, and named once, with what is still
 * open. */
static void
test_lost(struct mount *m)
{
	struct buf said = {0};
	struct file *f = open_for(m, "t.nc", O_RDWR | O_TRUNC, 0), *other;
	CHECK_INT(put(f, 0, "CDF\1", 4), 0);
	close_file(f, -EINVAL);
	other = open_for(m, "s.nc", O_RDWR | O_TRUNC, 0);
	CHECK_INT(put(other, 0, "CDF\1", 4), 0);
	CHECK(mount_drain(m, &said) < 0);
	CHECK_INT(buf_terminate(&said), 0);
	CHECK(strstr((char *)said.data, "'t.nc': "));
	CHECK(strstr((char *)said.data, "'s.nc': "));
	CHECK_INT(lines_of(&said), 2);
	file_close(other);
	CHECK_INT(mount_refresh(m, NULL), 0);
	said.len = 0;
	CHECK_INT(mount_drain(m, &said), 0);
	CHECK_INT(said.len, 0);
	buf_free(&said);
}

/* A refresh stores what failed once more, and gives up what fails again, though its writer is still
 * there. */
static void
test_given_up(struct mount *m)
{
	uint8_t *all = malloc(MOST);
	size_t n = read_all(m, "t.nc", all), at = begin_of(n);
	struct file *f = open_for(m, "t.nc", O_RDWR, 0), *other;
	CHECK_INT(put(f, at, "\1\1", 2), -ERANGE);
	CHECK_INT(put(f, at, "\0\3", 2), -ERANGE);
	CHECK_INT(mount_refresh(m, NULL), 0);
	CHECK_INT(put(f, at, "\0\3", 2), 0);
	close_file(f, 0);
	CHECK_INT(element(m, 0), 3);
	f = open_for(m, "t.nc", O_RDWR, 0);
	CHECK_INT(put(f, 0, "1234", 4), 0);
	CHECK_INT(file_settle(f, SETTLE_RELEASE, 0, NULL), -EINVAL);
	CHECK_INT(mount_refresh(m, NULL), 0);
	CHECK_INT(put(f, 0, "1234", 4), -ESTALE);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), -ESTALE);
	other = open_for(m, "t.nc", O_RDWR, 0);
	CHECK_INT(put(other, at, "\0\4", 2), 0);
	close_file(f, -ESTALE);
	close_file(other, 0);
	CHECK_INT(element(m, 0), 4);
	CHECK_INT(read_all(m, "t.nc", all), n);
	free(all);
}

/* What the file says that missing elements are becomes another value. */
static void
set_fill(struct mount *m, int8_t was, int8_t to)
{
	static const char name[] = "_FillValue\0\0\0\0\0\1\0\0\0\1";
	uint8_t *all = malloc(MOST);
	size_t n = read_all(m, "u.nc", all);
	uint8_t *at = memmem(all, n, name, sizeof name - 1);
	struct file *f = open_for(m, "u.nc", O_RDWR, 0);
	CHECK(at);
	if (at) {
		at += sizeof name - 1;
		CHECK_INT((int8_t)*at, was);
		*at = (uint8_t)to;
		CHECK_INT(put(f, 0, all, (size_t)(at + 4 - all)), 0);
	}
	int r = file_settle(f, SETTLE_FLUSH, 0, NULL);
	CHECK(r == 0 || r == -EINVAL); /* a chunk went first */
	file_settle(f, SETTLE_RELEASE, 0, NULL);
	file_close(f);
	free(all);
}

static void *
change_fill(void *arg)
{
	set_fill(arg, -5, -7);
	return NULL;
}

/* Chunks of nothing but fill are deleted, but for what was fill only until the fill value became
 * another one: while that is on its way, too. */
static void
test_fill(void)
{
	enum { HALF_MS = 100 };
	static const char url[] = "fault+mem:filled#fault.kind=delay&fault.calls=put&fault.match=."
				  "zarray&fault.ms=200";
	const struct timespec half = {.tv_nsec = HALF_MS * 1000000};
	struct zmap *z = store_new("mem:filled");
	struct mount_options o = options_new();
	int8_t u[X] = {1, 2, 3, 4, 5, 6}, now[X];
	pthread_t thread;
	o.rw = true;
	o.empty_chunks = EMPTY_DELETE;
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "u", "\"|i1\"", "[6]", "[3]", "\"fill_value\": -5");
	put_text(z, "u/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\"]}");
	put_bytes(z, "u/0", u, X / 2);
	put_bytes(z, "u/1", u + X / 2, X / 2);
	struct mount *m = mount_new(url, &o);
	struct file *f = open_for(m, "u", O_WRONLY, 0);
	pthread_create(&thread, NULL, change_fill, m);
	nanosleep(&half, NULL);
	memset(u, -5, X / 2);
	bool stored = put(f, 0, u, X / 2) == 0; /* else the array was another one by then */
	stored &= file_settle(f, SETTLE_FLUSH, 0, NULL) == 0;
	file_settle(f, SETTLE_RELEASE, 0, NULL);
	file_close(f);
	pthread_join(thread, NULL);
	CHECK_INT(mount_refresh(m, NULL), 0);
	CHECK_INT(read_all(m, "u", (uint8_t *)now), X);
	CHECK(now[0] == -5 || (!stored && now[0] == 1));
	CHECK_INT(now[X / 2], X / 2 + 1);
	mount_close(m);
	zmap_close(z);
}

/* Elements that cannot be stored are lost with the file that brought them, and hold up no other. */
static void
test_dropped(void)
{
	static const char url[] = "fault+mem:dropped#fault.kind=eio&fault.calls=put&fault.match=t/";
	struct zmap *z = store_new("mem:dropped");
	struct mount_options o = options_new();
	uint8_t *all = malloc(MOST);
	o.rw = true;
	put_store(z);
	struct mount *m = mount_new(url, &o);
	size_t n = read_all(m, "t.nc", all), at = begin_of(n);
	struct file *f = open_for(m, "t.nc", O_RDWR, 0), *flat;
	all[at + 1] = 9;
	CHECK_INT(put(f, at, all + at, n - at), 0);
	CHECK_INT(file_settle(f, SETTLE_FSYNC, 0, NULL), -EIO);
	CHECK_INT(mount_refresh(m, NULL), 0);
	CHECK_INT(element(m, 0), 100);
	flat = open_for(m, "t", O_WRONLY, 0);
	file_close(flat);
	close_file(f, 0);
	CHECK_INT(mount_drain(m, NULL), 0);
	mount_close(m);
	zmap_close(z);
	free(all);
}

/* A refresh gives up an image that cannot be stored, though the store cannot make elements durable
 * at that time. */
static void
test_unsynced(void)
{
	char broken[] = "/tmp/zarrfs-images-XXXXXX", url[200];
	struct zmap *z = store_new("mem:unsynced");
	struct mount_options o = options_new();
	CLEAN(buf_free) struct buf said = {0};
	const int fd = mkstemp(broken);
	CHECK(fd >= 0);
	snprintf(url, sizeof url,
		"fault+mem:unsynced#fault.kind=eio&fault.calls=sync&fault.file=%s", broken);
	unlink(broken);
	o.rw = true;
	put_store(z);
	struct mount *m = mount_new(url, &o);
	struct file *f = open_for(m, "t", O_RDWR, 0);
	CHECK_INT(put(f, 0, "\3", 1), 0);
	close_file(f, 0);
	f = open_for(m, "t.nc", O_RDWR, 0);
	CHECK_INT(put(f, 0, "1234", 4), 0);
	CHECK_INT(file_settle(f, SETTLE_RELEASE, 0, NULL), -EINVAL);
	close(open(broken, O_CREAT | O_WRONLY, 0600));
	CHECK_INT(mount_refresh(m, &said), 0);
	CHECK_INT(buf_terminate(&said), 0);
	CHECK(strstr((char *)said.data, "not stored: "));
	CHECK(strstr((char *)said.data, "'t.nc': "));
	unlink(broken);
	CHECK_INT(put(f, 0, "1234", 4), -ESTALE);
	close_file(f, -ESTALE);
	CHECK_INT(mount_refresh(m, NULL), 0);
	CHECK_INT(mount_drain(m, NULL), 0);
	CHECK_INT(element(m, 0), 3);
	close(fd);
	mount_close(m);
	zmap_close(z);
}

int
main(void)
{
	struct zmap *z = store_new(STORE);
	struct mount_options o = options_new();
	struct buf said = {0};
	o.rw = true;
	put_store(z);
	struct mount *m = mount_new(STORE, &o);
	test_values(m);
	test_companion(m);
	test_attribute(m);
	test_names(m);
	test_taken_in(m);
	test_many(m);
	test_given_up(m);
	CHECK_INT(mount_drain(m, &said), 0);
	CHECK_INT(said.len, 0);
	buf_free(&said);
	test_lost(m);
	mount_close(m);
	zmap_close(z);
	test_fill();
	test_dropped();
	test_unsynced();
	return check_end();
}
