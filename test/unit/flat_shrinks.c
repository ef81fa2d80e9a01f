/* A row of a variable is stored, and before metadata count it another variable that shares its
 * dimension is made shorter, or another program makes this one shorter: the row stays, or the array
 * got shorter after it had come, or it is an error; it does not become fill. And rows that were not
 * counted when the array got shorter do not come back, and arrays that share it stay as long. */
#include "mounted.h"

#include "view/state.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { ROWS = 8, LEFT = 2 };

static struct zmap_ops ops;
static const struct zmap_ops *under;
static struct zmap *store;
static struct mount *mount;
static struct file *file[2];
static void *(*_Atomic meanwhile)(void *); /* what another thread does, once */
static pthread_t thread;
static atomic_bool done;

/* The row is stored, and not counted yet. The other thread is through, or waits. */
static int
play_sync(struct zmap *z)
{
	void *(*fn)(void *) = atomic_exchange(&meanwhile, NULL);
	if (fn)
		pthread_create(&thread, NULL, fn, NULL);
	for (int i = 0; fn && i < 50 && !atomic_load(&done); i++)
		usleep(10000);
	return zmap_sync(store);
}

static void
put_rows(const char *name, unsigned rows)
{
	char shape[16];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, name, "\"|i1\"", shape, "[3]", "\"fill_value\": 9");
}

static void
put_variable(const char *name)
{
	char key[16];
	snprintf(key, sizeof key, "%s/.zattrs", name);
	put_text(store, key, "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	put_rows(name, ROWS);
	for (unsigned c = 0; c < 3; c++) {
		snprintf(key, sizeof key, "%s/%u", name, c);
		put_bytes(store, key, "\1\1\1", 3);
	}
}

static void
begin(bool shared, void *(*fn)(void *))
{
	struct mount_options o = options_new();
	store = store_new("mem:flats");
	o.rw = o.zmap.writable = true;
	o.unlimited = "time";
	put_text(store, ".zgroup", "{\"zarr_format\": 2}");
	if (shared)
		put_variable("a");
	put_variable("b");
	mount = mount_new("mem:flats", &o);
	for (size_t i = 0; i < 2; i++)
		file[i] = open_for(mount, i || !shared ? "b" : "a", O_RDWR, 0);
	under = mount->zmap->ops;
	ops = *under;
	ops.submit = NULL;
	ops.sync = play_sync;
	mount->zmap->ops = &ops;
	atomic_store(&meanwhile, fn);
	atomic_store(&done, false);
}

static void
end(void)
{
	for (size_t i = 0; i < 2; i++)
		file_close(file[i]);
	mount_close(mount);
	zmap_close(store);
}

/* The other thread is joined. */
static int
append(void)
{
	const struct array_want how = {0};
	const uint8_t row[] = {7};
	CHECK_INT(file_write(file[1], ROWS, (struct span){row, 1}, &how, 0), 0);
	int r = file_settle(file[1], SETTLE_FSYNC, 0, NULL);
	CHECK(!atomic_load(&meanwhile));
	pthread_join(thread, NULL);
	return r;
}

static void *
make_shorter(void *arg)
{
	CHECK_INT(file_truncate(file[0], LEFT, RESIZE_HANDLE, NULL), 0);
	atomic_store(&done, true);
	return arg;
}

static void
test_shrinks(void)
{
	uint8_t got[ROWS + 1] = {0};
	begin(true, make_shorter);
	CHECK_INT(append(), 0);
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), 0);
	const int n = read_at(file[1], 0, sizeof got, got);
	CHECK(n == LEFT || n == ROWS + 1);
	if (n > LEFT) {
		CHECK_INT(got[LEFT], 9);
		CHECK_INT(got[ROWS], 7);
	}
	end();
}

/* Another program leaves two rows. */
static void *
cut(void *arg)
{
	put_rows("b", LEFT);
	put_bytes(store, "b/0", "\1\1\11", 3);
	CHECK_INT(zmap_del(store, &(struct zmap_del){.key = "b/1"}), 0);
	CHECK_INT(zmap_del(store, &(struct zmap_del){.key = "b/2"}), 0);
	atomic_store(&done, true);
	return arg;
}

static void
test_is_cut(void)
{
	CLEAN(buf_free) struct buf said = {0};
	uint8_t got[ROWS + 1];
	begin(false, cut);
	CHECK_INT(append(), -EIO);
	CHECK(strstr(err_text(), "shorter meanwhile"));
	CHECK_INT(mount_refresh(mount, &said), 0);
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), 0);
	CHECK_INT(read_at(file[1], 0, sizeof got, got), LEFT);
	end();
}

enum { MORE = 4 };

/* Rows that are stored for want of memory, long before they are counted. */
static void
push(void)
{
	const struct array_want how = {0};
	const uint8_t rows[MORE] = {7, 7, 7, 7};
	CHECK_INT(file_write(file[1], ROWS, (struct span){rows, MORE}, &how, 0), 0);
	CHECK_INT(data_flush(mount->data, NULL), 0);
}

/* The array has none of them when it grows again. */
static void
check_gone(void)
{
	uint8_t got[ROWS + MORE] = {0};
	CHECK_INT(read_at(file[1], 0, sizeof got, got), LEFT);
	CHECK_INT(file_truncate(file[1], ROWS + MORE, RESIZE_HANDLE, NULL), 0);
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), 0);
	CHECK_INT(read_at(file[1], 0, sizeof got, got), sizeof got);
	for (size_t i = LEFT; i < sizeof got; i++)
		CHECK_INT(got[i], 9);
	end();
}

static void
test_pushed(void)
{
	begin(true, NULL);
	push();
	CHECK_INT(file_truncate(file[0], LEFT, RESIZE_HANDLE, NULL), 0);
	check_gone();
}

static void
test_pushed_is_cut(void)
{
	CLEAN(buf_free) struct buf said = {0};
	begin(false, NULL);
	push();
	cut(NULL);
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), -EIO);
	CHECK(strstr(err_text(), "shorter meanwhile"));
	CHECK_INT(mount_refresh(mount, &said), 0);
	check_gone();
}

/* Another program has appended rows since this mount looked at either array: they go, too, and
 * with them the rows that wait here behind them. */
static void
test_grown_meanwhile(bool waits)
{
	const struct array_want how = {0};
	begin(true, NULL);
	if (waits)
		CHECK_INT(file_write(file[1], ROWS + 3, (struct span){(const uint8_t *)"\7", 1},
				  &how, 0),
			0);
	for (size_t i = 0; i < 2; i++) {
		put_rows(i ? "b" : "a", ROWS + 3);
		put_bytes(store, i ? "b/2" : "a/2", "\7\7\7", 3);
		put_bytes(store, i ? "b/3" : "a/3", "\7\7\11", 3);
	}
	CHECK_INT(file_truncate(file[0], LEFT, RESIZE_HANDLE, NULL), 0);
	CHECK_INT(zmap_stat(store, "a/3", &(struct zmap_stat){0}), ZMAP_ABSENT);
	CHECK_INT(zmap_stat(store, "b/3", &(struct zmap_stat){0}), ZMAP_ABSENT);
	check_gone();
}

/* Another program has made it shorter than that. */
static void
test_shorter_meanwhile(void)
{
	uint8_t got[ROWS];
	begin(false, NULL);
	cut(NULL);
	CHECK_INT(file_truncate(file[0], LEFT + 2, RESIZE_HANDLE, NULL), 0);
	CHECK_INT(file_settle(file[0], SETTLE_FSYNC, 0, NULL), 0);
	CHECK_INT(read_at(file[0], 0, ROWS, got), LEFT + 2);
	CHECK_INT(got[LEFT - 1], 1);
	CHECK_INT(got[LEFT], 9);
	CHECK_INT(got[LEFT + 1], 9);
	end();
}

/* Another program has stored the length of "b", and stores that of "a" when it is looked at again.
 */
static int
play_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *st)
{
	static unsigned looked;
	const int r = under->get(z, g, st);
	if (atomic_load(&done) && !strcmp(g->key, "b/.zarray") && ++looked == 2)
		put_rows("a", ROWS + 3);
	return r;
}

/* Its rows are being counted: those of both variables go. */
static void
test_growing_meanwhile(void)
{
	uint8_t got[ROWS + 3];
	begin(true, NULL);
	put_rows("b", ROWS + 3);
	ops.get = play_get;
	atomic_store(&done, true);
	CHECK_INT(file_truncate(file[0], LEFT, RESIZE_HANDLE, NULL), 0);
	CHECK_INT(read_at(file[0], 0, sizeof got, got), LEFT);
	CHECK_INT(read_at(file[1], 0, sizeof got, got), LEFT);
	end();
}

/* What another program stores just before this mount stores the length of a variable, once. */
static struct {
	const char *key, *other;
	unsigned rows;
	const char *counts; /* one of which it counts three rows more; or NULL */
	const char *again;  /* and just before that is stored next, of a row less; or NULL */
} before_put;

static int
play_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *st)
{
	const char *other = before_put.other;
	if (other && !strcmp(p->key, before_put.key)) {
		before_put.other = before_put.again ? other : NULL;
		before_put.key = MOVE(before_put.again);
		if (before_put.counts)
			put_rows(before_put.counts, ROWS + 3);
		put_rows(other, before_put.rows--);
	}
	return under->put(z, p, st);
}

static unsigned
rows_of(const char *key)
{
	CLEAN(buf_free) struct buf text = {0};
	const struct zmap_get g = {.key = key, .into = &text, .max = 4096};
	unsigned rows = 0;
	CHECK_INT(zmap_get(store, &g, &(struct zmap_stat){0}), 0);
	CHECK_INT(buf_add(&text, "", 1), 0);
	const char *shape = strstr((const char *)text.data, "\"shape\"");
	CHECK(shape && sscanf(shape, "\"shape\"%*[^0-9]%u", &rows) == 1);
	return rows;
}

/* Growth has stored the length of "a" and meets a cut at that of "b": it takes "a" back. both: the
 * cut had come to "a" before. */
static void
test_growth_meets_cut(bool both)
{
	const struct array_want how = {0};
	begin(true, NULL);
	ops.put = play_put;
	CHECK_INT(file_truncate(file[1], ROWS + 1, RESIZE_HANDLE, NULL), 0);
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), 0);
	CHECK_INT(rows_of("a/.zarray"), ROWS + 1);
	CHECK_INT(
		file_write(file[1], ROWS + 1, (struct span){(const uint8_t *)"\7", 1}, &how, 0), 0);
	if (both)
		put_rows("a", LEFT);
	before_put.key = "b/.zarray";
	before_put.other = "b";
	before_put.rows = LEFT;
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), -EIO);
	CHECK(!before_put.other);
	CHECK_INT(rows_of("b/.zarray"), LEFT);
	CHECK_INT(rows_of("a/.zarray"), both ? LEFT : ROWS + 1);
	end();
}

/* Another program has counted rows of "a" since this one stored that length: they stay. */
static void
test_counted_by_others(void)
{
	const struct array_want how = {0};
	begin(true, NULL);
	ops.put = play_put;
	CHECK_INT(file_write(file[1], ROWS, (struct span){(const uint8_t *)"\7", 1}, &how, 0), 0);
	before_put.key = "b/.zarray";
	before_put.other = "b";
	before_put.rows = LEFT;
	before_put.counts = "a";
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), -EIO);
	CHECK_INT(rows_of("b/.zarray"), LEFT);
	CHECK_INT(rows_of("a/.zarray"), ROWS + 3);
	before_put.counts = NULL;
	end();
}

/* While "a" is taken back "b" is made shorter once more: the row is not counted for that. */
static void
test_growth_meets_cuts(void)
{
	const struct array_want how = {0};
	begin(true, NULL);
	ops.put = play_put;
	CHECK_INT(file_write(file[1], ROWS, (struct span){(const uint8_t *)"\7", 1}, &how, 0), 0);
	before_put.key = "b/.zarray";
	before_put.other = "b";
	before_put.rows = LEFT;
	before_put.again = "a/.zarray";
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), -EIO);
	CHECK(!before_put.other);
	CHECK_INT(rows_of("b/.zarray"), LEFT - 1);
	CHECK_INT(rows_of("a/.zarray"), ROWS);
	end();
}

/* Growth finds "b" as long as it is to be, and stores the length of "a", while a cut that has
 * stored that of "a" stores that of "b". */
static void
test_growth_is_passed(void)
{
	const struct array_want how = {0};
	begin(true, NULL);
	ops.put = play_put;
	CHECK_INT(file_truncate(file[1], ROWS + 1, RESIZE_HANDLE, NULL), 0);
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), 0);
	CHECK_INT(
		file_write(file[1], ROWS + 1, (struct span){(const uint8_t *)"\7", 1}, &how, 0), 0);
	put_rows("a", LEFT);
	put_rows("b", ROWS + 2);
	before_put.key = "a/.zarray";
	before_put.other = "b";
	before_put.rows = LEFT;
	file_settle(file[1], SETTLE_FSYNC, 0, NULL);
	CHECK(!before_put.other);
	CHECK_INT(rows_of("b/.zarray"), rows_of("a/.zarray"));
	end();
}

/* A cut has stored the length of "b" and meets growth at that of "a": it takes what has grown. */
static void
test_cut_meets_growth(void)
{
	begin(true, NULL);
	ops.put = play_put;
	before_put.key = "a/.zarray";
	before_put.other = "a";
	before_put.rows = ROWS + 3;
	put_bytes(store, "a/3", "\7\7\7", 3);
	CHECK_INT(file_truncate(file[0], LEFT, RESIZE_HANDLE, NULL), 0);
	CHECK(!before_put.other);
	CHECK_INT(rows_of("a/.zarray"), LEFT);
	CHECK_INT(rows_of("b/.zarray"), LEFT);
	CHECK_INT(zmap_stat(store, "a/3", &(struct zmap_stat){0}), ZMAP_ABSENT);
	check_gone();
}

static int
play_list(struct zmap *z, const char *prefix, zmap_list_fn *fn, void *arg)
{
	return before_put.other ? under->list(z, prefix, fn, arg) : err_set(-EIO, "no list");
}

static int
play_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	return before_put.other ? under->stat(z, key, cancel, ret) : err_set(-EIO, "no stat");
}

/* A cut has stored the length of "b" and meets growth at that of "a", and then the store does not
 * say what lies behind the end: the handle of "b" hears that a row is lost. */
static void
test_cut_is_blind(unsigned row, bool pushed)
{
	const struct array_want how = {0};
	begin(true, NULL);
	ops.put = play_put;
	ops.list = play_list;
	ops.stat = play_stat;
	before_put.key = "a/.zarray";
	before_put.other = "a";
	before_put.rows = ROWS + 3;
	CHECK_INT(file_write(file[1], row, (struct span){(const uint8_t *)"\7", 1}, &how, 0), 0);
	if (pushed)
		CHECK_INT(data_flush(mount->data, NULL), 0);
	CHECK_INT(file_truncate(file[0], LEFT, RESIZE_HANDLE, NULL), -EIO);
	CHECK(!before_put.other);
	ops.list = under->list;
	ops.stat = under->stat;
	CHECK_INT(rows_of("b/.zarray"), LEFT);
	CHECK_INT(file_settle(file[1], SETTLE_FSYNC, 0, NULL), -EIO);
	end();
}

int
main(void)
{
	test_growing_meanwhile();
	test_grown_meanwhile(false);
	test_grown_meanwhile(true);
	test_shorter_meanwhile();
	test_shrinks();
	test_is_cut();
	test_pushed();
	test_pushed_is_cut();
	test_growth_meets_cut(false);
	test_growth_meets_cut(true);
	test_counted_by_others();
	test_growth_meets_cuts();
	test_cut_meets_growth();
	test_cut_is_blind(ROWS - 1, false);
	test_cut_is_blind(ROWS, false);
	test_cut_is_blind(ROWS, true);
	test_growth_is_passed();
	return check_end();
}
