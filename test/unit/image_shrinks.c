/* Records are appended to a netCDF file while the array gets shorter, through its flat file or by
 * another program: none is lost without an error, and what came before the array got shorter goes
 * with what was behind its end. */
#include "mounted.h"

#include "model/node_cache.h"
#include "view/image/images.h"
#include "view/state.h"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { ROWS = 8, LEFT = 2 };

static const struct array_want how;
static struct zmap *store;
static struct mount *mount;
static struct file *flat, *image;
static uint64_t first; /* where the rows begin in its file */
static struct zmap_ops ops;
static const struct zmap_ops *under;
static void *(*meanwhile)(void *); /* what another thread does, once */
static const char *when;           /* at the first call that has this key */
static pthread_t thread;
static atomic_bool began, done;

/* Of a variable that has three rows in each chunk. */
static void
put_rows(unsigned rows)
{
	char shape[16];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, "t", "\"|i1\"", shape, "[3]", "\"fill_value\": 9");
}

static struct file *
open_file(const char *path)
{
	return open_for(mount, path, O_RDWR, 0);
}

/* The other thread is through, or waits. */
static void
play(const char *key)
{
	void *(*fn)(void *) = meanwhile;
	if (!fn || strcmp(key, when) != 0)
		return;
	meanwhile = NULL;
	pthread_create(&thread, NULL, fn, NULL);
	atomic_store(&began, true);
	for (int i = 0; i < 50 && !atomic_load(&done); i++)
		usleep(10000);
}

static int
play_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	play(key);
	return under->stat(z, key, cancel, ret);
}

static int
play_sync(struct zmap *z)
{
	play("sync");
	return zmap_sync(store);
}

static void
begin(const char *key, void *(*fn)(void *))
{
	struct mount_options o = options_new();
	store = store_new("mem:shrinks");
	o.rw = o.zmap.writable = true;
	o.unlimited = "time";
	put_text(store, ".zgroup", "{\"zarr_format\": 2}");
	put_text(store, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	put_rows(ROWS);
	for (unsigned c = 0; c < 3; c++)
		put_bytes(store, (const char *[]){"t/0", "t/1", "t/2"}[c], "\1\1\1", 3);
	mount = mount_new("mem:shrinks", &o);
	under = mount->zmap->ops;
	ops = *under;
	ops.submit = NULL;
	ops.stat = play_stat;
	ops.sync = play_sync;
	mount->zmap->ops = &ops;
	when = key;
	meanwhile = fn;
	atomic_store(&began, false);
	atomic_store(&done, false);
	flat = open_file("t");
	image = open_file("t.nc");
	first = file_size(image) - ROWS;
}

static void
end(void)
{
	CHECK(atomic_load(&began));
	if (atomic_load(&began))
		pthread_join(thread, NULL);
}

static void
close_all(void)
{
	file_close(flat);
	file_close(image);
	mount->zmap->ops = under;
	mount_close(mount);
	zmap_close(store);
}

/* One record behind those that there were, then the count that announces it. */
static int
append(void)
{
	const uint32_t count = htobe32(ROWS + 1);
	int r = file_write(
		image, file_size(image), (struct span){(const uint8_t *)"\7", 1}, &how, 0);
	if (r == 0)
		r = file_write(image, 4, (struct span){(const uint8_t *)&count, 4}, &how, 0);
	return r < 0 ? r : file_settle(image, SETTLE_FSYNC, 0, NULL);
}

static void *
append_record(void *arg)
{
	CHECK_INT(append(), 0);
	atomic_store(&done, true);
	return arg;
}

static void *
make_shorter(void *arg)
{
	CHECK_INT(file_truncate(flat, LEFT, RESIZE_HANDLE, NULL), 0);
	atomic_store(&done, true);
	return arg;
}

/* Without an error: the record is there, or the array got shorter after it had come. */
static void
check_rows(unsigned want)
{
	uint8_t got[ROWS + 1] = {0};
	CHECK_INT(read_at(flat, 0, sizeof got, got), want);
	CHECK_INT(got[LEFT - 1], 1);
	if (want == LEFT)
		return;
	CHECK_INT(got[LEFT], 9);
	CHECK_INT(got[ROWS], 7);
}

/* The record is stored, and its count is not. */
static void
test_shrinks_meanwhile(void)
{
	begin("sync", make_shorter);
	CHECK_INT(append(), 0);
	end();
	check_rows(LEFT);
	close_all();
}

/* What is behind the end is looked at. */
static void
test_appends_meanwhile(void)
{
	begin("t/2", append_record);
	CHECK_INT(file_truncate(flat, LEFT, RESIZE_HANDLE, NULL), 0);
	end();
	check_rows(ROWS + 1);
	close_all();
}

static int
write_rows(const void *rows, size_t n)
{
	return file_write(image, first, (struct span){rows, n}, &how, 0);
}

static void (*tell)(void *, struct node *, struct node *);
static atomic_bool told;

/* Metadata are shorter, and what lies behind the end is not removed yet. */
static void
write_meanwhile(void *arg, struct node *old, struct node *now)
{
	tell(arg, old, now);
	if (!atomic_exchange(&told, true))
		CHECK_INT(write_rows("\2", 1), 0);
}

/* A row that stays is written meanwhile; what waited of the others goes without an error. */
static void
test_writes_meanwhile(void)
{
	uint8_t got[ROWS] = {0};
	begin(NULL, NULL);
	CHECK_INT(write_rows("\3\3\3\3\3\3\3\3", ROWS), 0);
	tell = mount->model->changed;
	model_on_change(mount->model, write_meanwhile, mount);
	CHECK_INT(file_truncate(flat, LEFT, RESIZE_HANDLE, NULL), 0);
	CHECK(atomic_load(&told));
	CHECK_INT(file_settle(image, SETTLE_FSYNC, 0, NULL), 0);
	CHECK_INT(read_at(flat, 0, ROWS, got), LEFT);
	CHECK_INT(got[0], 2);
	CHECK_INT(got[1], 3);
	close_all();
}

/* Another program leaves two rows. */
static void *
cut(void *arg)
{
	put_rows(LEFT);
	put_bytes(store, "t/0", "\1\1\11", 3);
	CHECK_INT(zmap_del(store, &(struct zmap_del){.key = "t/1"}), 0);
	CHECK_INT(zmap_del(store, &(struct zmap_del){.key = "t/2"}), 0);
	atomic_store(&done, true);
	return arg;
}

/* It takes the record with them, which is an error, and after a refresh none. */
static void
test_is_cut_meanwhile(void)
{
	CLEAN(buf_free) struct buf said = {0};
	begin("sync", cut);
	CHECK_INT(append(), -EIO);
	CHECK(strstr(err_text(), "shorter meanwhile"));
	end();
	CHECK_INT(mount_refresh(mount, &said), 0);
	CHECK_INT(file_settle(image, SETTLE_FSYNC, 0, NULL), 0);
	check_rows(ROWS + 1);
	close_all();
}

/* Another program removes the record with others, and the array is as long again before its count
 * comes. */
static void *
cut_and_grow(void *arg)
{
	cut(NULL);
	put_rows(ROWS);
	return arg;
}

/* The record is lost; a refresh stores it once more. */
static void
test_grows_again_meanwhile(void)
{
	CLEAN(buf_free) struct buf said = {0};
	begin("sync", cut_and_grow);
	CHECK_INT(append(), -EIO);
	CHECK(strstr(err_text(), "row 8 that was written to 't' is lost"));
	end();
	CHECK_INT(mount_refresh(mount, &said), 0);
	CHECK_INT(file_settle(image, SETTLE_FSYNC, 0, NULL), 0);
	check_rows(ROWS + 1);
	close_all();
}

/* It is longer by then than the record makes it, and the mount has heard of that. */
static void *
cut_and_grow_more(void *arg)
{
	struct node *now = NULL;
	cut(NULL);
	put_rows(ROWS + 2);
	CHECK_INT(model_look_again(mount->model, "t", &now), 0);
	node_unref(now);
	return arg;
}

static void
test_grows_more_meanwhile(void)
{
	CLEAN(buf_free) struct buf said = {0};
	begin("sync", cut_and_grow_more);
	CHECK_INT(append(), -EIO);
	CHECK(strstr(err_text(), "row 8 that was written to 't' is lost"));
	end();
	CHECK_INT(mount_refresh(mount, &said), 0);
	close_all();
}

/* Another program takes the record away as soon as it is counted. */
static void *
take_record(void *arg)
{
	struct node *now = NULL;
	put_rows(ROWS);
	put_bytes(store, "t/2", "\1\1\11", 3);
	CHECK_INT(model_look_again(mount->model, "t", &now), 0);
	node_unref(now);
	return arg;
}

static void
take_when_counted(void *arg, struct node *old, struct node *now)
{
	tell(arg, old, now);
	if (!now || !now->array || now->array->shape[0] != ROWS + 1 || atomic_exchange(&told, true))
		return;
	pthread_create(&thread, NULL, take_record, NULL);
	pthread_join(thread, NULL);
}

/* What is written to it from then on is an error. */
static void
test_taken_when_counted(void)
{
	CLEAN(buf_free) struct buf said = {0};
	begin(NULL, NULL);
	atomic_store(&told, false);
	tell = mount->model->changed;
	model_on_change(mount->model, take_when_counted, mount);
	CHECK_INT(append(), 0);
	CHECK(atomic_load(&told));
	CHECK_INT(write_rows("\2\2\2\2\2\2\2\2\2", ROWS + 1), -EIO);
	CHECK_INT(file_settle(image, SETTLE_FSYNC, 0, NULL), -EIO);
	CHECK_INT(mount_refresh(mount, &said), 0);
	close_all();
}

int
main(void)
{
	test_shrinks_meanwhile();
	test_is_cut_meanwhile();
	test_grows_again_meanwhile();
	test_grows_more_meanwhile();
	test_appends_meanwhile();
	test_writes_meanwhile();
	test_taken_when_counted();
	return check_end();
}
