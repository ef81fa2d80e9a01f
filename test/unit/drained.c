/* A mount that is told to end while rows have no length yet: their metadata are waited for, though
 * no chunk waits to be stored by then and the store takes longer than requests that hang are given.
 */
#include "kernel.h"
#include "store.h"

enum { ROWS = 8, MORE = 16, SLOW = 4500 /* ms */ };

static bool closes;

static void
grow(struct kernel *k)
{
	kernel_begin(k, 45);
	struct kernel_file f = kernel_open(k, "t", O_RDWR);
	kernel_write(k, &f, KERNEL_PAST, ROWS, "12345678", MORE - ROWS);
	if (closes) { /* and no program waits for the answer */
		struct fuse_flush_in flush = {.fh = f.handle};
		struct fuse_in_header head = {.len = sizeof head + sizeof flush,
			.opcode = FUSE_FLUSH,
			.unique = ++k->unique,
			.nodeid = f.inode,
			.pid = 1};
		struct iovec iov[] = {{&head, sizeof head}, {&flush, sizeof flush}};
		CHECK(writev(k->device, iov, 2) > 0);
		usleep(300000); /* it has begun */
	}
}

static void
drained(bool by_close)
{
	char url[400], slow[500], o[] = "rw,unlimited=t";
	struct place p = place_new();
	snprintf(url, sizeof url, "file://%s", p.path);
	snprintf(slow, sizeof slow,
		"fault+file://%s#fault.kind=delay&fault.calls=put&fault.match=.zarray&fault.ms=%d",
		p.path, SLOW);
	struct zmap *z = store_new(url);
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "t", "\"|u1\"", "[8]", "[8]", "\"fill_value\": 0");
	put_text(z, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"t\"]}");
	closes = by_close;
	kernel_mount(slow, o, grow);
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(zmap_get(z, &(struct zmap_get){.key = "t/.zarray", .into = &b, .max = 1 << 12},
			  NULL),
		0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK(b.data && strstr((char *)b.data, "\"shape\": [16]"));
	zmap_close(z);
	place_remove(&p);
}

int
main(void)
{
	drained(false);
	drained(true);
	return check_end();
}
