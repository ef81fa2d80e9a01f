/* Looks at what lies behind the end of a bucket's array, which does not answer: they go on as long
 * as a program waits for them. */
#include "mounted.h"

#include <fcntl.h>
#include <unistd.h>

enum { HANGS = 5, MORE = 8 };

/* A program that is killed while the store is asked. */
struct killed {
	struct cancel cancel;
	atomic_uint looks;
};

static bool
look(struct cancel *c)
{
	return atomic_fetch_add(&((struct killed *)(void *)c)->looks, 1) >= 12;
}

/* The one that does not answer is all that there is to look at. */
static void
test_shorter(struct file *f, const char *broken)
{
	struct killed k = {.cancel.look = look};
	CHECK_INT(file_truncate(f, HANGS + 1, RESIZE_HANDLE, NULL), 0);
	const int fd = open(broken, O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0);
	close(fd);
	CHECK_INT(file_truncate(f, HANGS, RESIZE_HANDLE, &k.cancel), -EINTR);
	CHECK_INT(unlink(broken), 0);
	CHECK_INT(file_truncate(f, HANGS, RESIZE_HANDLE, NULL), 0);
}

static void
test_longer(struct file *f, const char *broken)
{
	static const struct array_want patient;
	static const uint8_t row[] = {1};
	const struct span one = {row, sizeof row};
	struct killed k = {.cancel.look = look};
	CHECK_INT(file_truncate(f, MORE, RESIZE_LONGER, &k.cancel), -EINTR);
	atomic_store(&k.looks, 0);
	const struct array_want how = {.cancel = &k.cancel};
	CHECK_INT(file_write(f, MORE - 1, one, &how, 0), -EINTR);
	CHECK_INT(unlink(broken), 0);
	CHECK_INT(file_truncate(f, MORE, RESIZE_LONGER, NULL), 0);
	CHECK_INT(file_write(f, MORE, one, &patient, 0), 0);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), 0);
}

int
main(void)
{
	char broken[] = "/tmp/zarrfs-behind-XXXXXX", url[200];
	struct zmap *store = store_new("mem:behind");
	struct mount_options o = options_new();
	struct file *f = NULL;
	const int fd = mkstemp(broken);
	CHECK(fd >= 0);
	close(fd);
	put_text(store, ".zgroup", "{\"zarr_format\": 2}");
	put_text(store, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	put_meta(store, "t", "\"|u1\"", "[3]", "[1]", "\"fill_value\": 0");
	put_bytes(store, "t/5", "x", 1);
	o.rw = o.zmap.writable = true;
	o.unlimited = "time";
	snprintf(url, sizeof url,
		"fault+mem:behind#fault.kind=hang&fault.calls=stat&fault.match=t/5&fault.remote=1&"
		"fault.file=%s",
		broken);
	struct mount *m = mount_new(url, &o);
	f = open_for(m, "t", O_RDWR, 0);
	test_longer(f, broken);
	test_shorter(f, broken);
	file_close(f);
	mount_close(m);
	zmap_close(store);
	return check_end();
}
