/* A variable is made shorter, and some call of the store fails: what waits of rows of others that
 * share its dimension stays, or their handles hear that it is gone. */
#include "mounted.h"

#include "view/state.h"

#include <fcntl.h>

enum { ROWS = 8, MOST_ROWS = 10, LEFT = 4, CHUNK = 3, FILES = 3, MOST = 100 };

static const char *const name[FILES] = {"b", "a", "c"}; /* the second one is made shorter */
static struct zmap_ops ops;
static const struct zmap_ops *under;
static struct zmap *store;
static struct mount *mount;
static struct file *file[FILES];
static bool failing, forever, late; /* late: the store has done what it says it could not */
static unsigned calls, nth;
static const struct array_want how;

static int
fault(void)
{
	if (!failing)
		return 0;
	const unsigned n = ++calls;
	return n == nth || (forever && n > nth) ? err_set(-EIO, "call %u fails", n) : 0;
}

static int
play_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	const int r = fault();
	if (r && late)
		under->put(z, p, NULL);
	return r ? r : under->put(z, p, ret);
}

static int
play_del(struct zmap *z, const struct zmap_del *d)
{
	const int r = fault();
	if (r && late)
		under->del(z, d);
	return r ? r : under->del(z, d);
}

static int
play_sync(struct zmap *z)
{
	const int r = fault();
	return r ? r : zmap_sync(store);
}

static void
put_variable(const char *of)
{
	char key[16];
	snprintf(key, sizeof key, "%s/.zattrs", of);
	put_text(store, key, "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	put_meta(store, of, "\"|i1\"", "[8]", "[3]", "\"fill_value\": 9");
	for (unsigned c = 0; c < CHUNK; c++) {
		snprintf(key, sizeof key, "%s/%u", of, c);
		put_bytes(store, key, "\1\1\1", CHUNK);
	}
}

static void
begin(void)
{
	struct mount_options o = options_new();
	store = store_new("mem:truncated");
	o.rw = o.zmap.writable = true;
	o.unlimited = "time";
	put_text(store, ".zgroup", "{\"zarr_format\": 2}");
	for (size_t i = 0; i < FILES; i++)
		put_variable(name[i]);
	mount = mount_new("mem:truncated", &o);
	for (size_t i = 0; i < FILES; i++)
		file[i] = open_for(mount, name[i], O_RDWR, 0);
	under = mount->zmap->ops;
	ops = *under;
	ops.submit = NULL;
	ops.put = play_put;
	ops.del = play_del;
	ops.sync = play_sync;
	mount->zmap->ops = &ops;
	failing = false;
}

static void
end(void)
{
	for (size_t i = 0; i < FILES; i++)
		file_close(file[i]);
	mount->zmap->ops = under;
	mount_close(mount);
	zmap_close(store);
}

static void
fail(unsigned n, bool always)
{
	failing = true;
	calls = 0;
	nth = n;
	forever = always;
}

static void
write_row(size_t i, unsigned row)
{
	CHECK_INT(file_write(file[i], row, (struct span){(const uint8_t *)"\7", 1}, &how, 0), 0);
}

/* By another mount. */
static bool
is_stored(size_t i, unsigned row)
{
	struct mount_options o = options_new();
	struct mount *m = mount_new("mem:truncated", &o);
	struct file *f = open_for(m, name[i], O_RDONLY, 0);
	uint8_t got[MOST_ROWS] = {0};
	const int64_t n = read_at(f, 0, sizeof got, got);
	file_close(f);
	mount_close(m);
	return n > row && got[row] == 7;
}

/* What each of the others wrote is stored, or it hears. */
static void
check_told(unsigned row)
{
	for (size_t i = 0; i < FILES; i++) {
		if (i == 1)
			continue;
		const int r = file_settle(file[i], SETTLE_FSYNC, 0, NULL);
		const bool right = r == 0 ? is_stored(i, row) : r == -EIO;
		CHECK(right);
		if (!right)
			fprintf(stderr, "'%s', row %u, call %u%s: fsync says %d\n", name[i], row,
				nth, forever ? " and on" : "", r);
	}
}

/* False: no call was the n-th. */
static bool
test_nth(unsigned n, bool always, unsigned row, bool pushed)
{
	begin();
	write_row(0, row);
	write_row(2, row);
	if (pushed)
		CHECK_INT(data_flush(mount->data, NULL), 0);
	fail(n, always);
	const int r = file_truncate(file[1], LEFT, RESIZE_HANDLE, NULL);
	const bool failed = calls >= n;
	failing = false;
	CHECK(r == 0 || (failed && r == -EIO));
	mount->options.data.timeout = SECOND / 20; /* so long a length of others is waited for */
	if (r < 0)
		check_told(row);
	end();
	return failed;
}

static void
test_each(bool always, unsigned row, bool pushed)
{
	unsigned n = 1;
	while (n < MOST && test_nth(n, always, row, pushed))
		n++;
	CHECK(n > 4 && n < MOST);
}

/* What sticks to one of them fails it before anything has changed. */
static void
test_stuck(void)
{
	begin();
	write_row(0, ROWS - 1);
	fail(1, true);
	CHECK_INT(file_settle(file[0], SETTLE_FSYNC, 0, NULL), -EIO);
	failing = false;
	write_row(2, ROWS - 1);
	CHECK_INT(file_truncate(file[1], LEFT, RESIZE_HANDLE, NULL), -EIO);
	CHECK_INT(file_settle(file[2], SETTLE_FSYNC, 0, NULL), 0);
	CHECK(is_stored(2, ROWS - 1));
	end();
}

int
main(void)
{
	test_stuck();
	for (unsigned kind = 0; kind < 4; kind++) {
		late = kind & 2;
		for (unsigned row = LEFT + 1; row < MOST_ROWS; row += 2)
			test_each(kind & 1, row, false);
		test_each(kind & 1, MOST_ROWS - 1, true);
	}
	return check_end();
}
