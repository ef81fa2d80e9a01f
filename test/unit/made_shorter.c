/* Another writer makes an array shorter, and this mount finds that out by a read that fills the
 * kernel's pages: no program sees zeros where the rows were. */
#include "kernel.h"

enum { PAGE = 4096, ROW = 10, ROWS = 5, LEFT = 4, AGAIN = 1000 };

static const char store[] = "mem:shorter";

static void
put_rows(struct zmap *z, unsigned rows, int value)
{
	char shape[16];
	uint8_t chunk[ROWS * ROW];
	snprintf(shape, sizeof shape, "[%u, %d]", rows, ROW);
	memset(chunk, 9, sizeof chunk);
	memset(chunk, value, (size_t)rows * ROW);
	put_meta(z, "b", "\"|u1\"", shape, "[5, 10]", "\"fill_value\": 9");
	put_bytes(z, "b/0.0", chunk, sizeof chunk);
}

static void
cut(int value)
{
	struct zmap *other = store_new(store);
	put_rows(other, LEFT, value);
	zmap_close(other);
}

static uint64_t
size_of(struct kernel *k, const struct kernel_file *f)
{
	struct fuse_getattr_in look = {0};
	CHECK(kernel_ask(k, FUSE_GETATTR, f->inode, &look, sizeof look, NULL, 0) > 0);
	return ((const struct fuse_attr_out *)k->bytes)->attr.size;
}

static int64_t
read_page(struct kernel *k, const struct kernel_file *f)
{
	return kernel_read(k, f, KERNEL_PAGES, 0, PAGE);
}

/* Of a read that is refused Linux asks for the page once more, and believes what it is told then,
 * when what was being told meanwhile has come to its end. */
static void
check_left(struct kernel *k, const struct kernel_file *f)
{
	int64_t n = -ESTALE;
	for (int i = 0; i < AGAIN && n == -ESTALE; i++)
		n = read_page(k, f);
	CHECK_INT(n, LEFT * ROW);
	CHECK_INT(k->bytes[0], 2);
	CHECK_INT(k->bytes[LEFT * ROW - 1], 2);
}

/* The end is not taken from the answer that finds it: by then Linux was told of stale pages. */
static void
found(struct kernel *k)
{
	kernel_begin(k, 44);
	struct kernel_file f = kernel_open(k, "b", O_RDWR);
	CHECK(!(f.flags & FOPEN_DIRECT_IO));
	cut(2);
	CHECK_INT(read_page(k, &f), -ESTALE);
	check_left(k, &f);
	CHECK_INT(size_of(k, &f), LEFT * ROW);
	CHECK_INT(read_page(k, &f), LEFT * ROW); /* which it knows by now */
	kernel_close(k, &f);
}

/* It has been told attributes since the read that was refused. */
static void
told_meanwhile(struct kernel *k)
{
	kernel_begin(k, 44);
	struct kernel_file f = kernel_open(k, "b", O_RDWR);
	cut(2);
	CHECK_INT(read_page(k, &f), -ESTALE);
	CHECK_INT(kernel_look_up(k, "b"), f.inode);
	CHECK_INT(read_page(k, &f), LEFT * ROW);
	kernel_close(k, &f);
}

/* Past its pages a program is given what there is. */
static void
past(struct kernel *k)
{
	kernel_begin(k, 44);
	struct kernel_file f = kernel_open(k, "b", O_RDWR);
	cut(2);
	CHECK_INT(kernel_read(k, &f, KERNEL_PAST, 0, PAGE), LEFT * ROW);
	CHECK_INT(kernel_read(k, &f, KERNEL_PAST, LEFT * ROW, PAGE), 0);
	CHECK_INT(read_page(k, &f), -ESTALE);
	check_left(k, &f);
	kernel_close(k, &f);
}

int
main(void)
{
	char url[] = "mem:shorter", options[] = "rw,unlimited=t,direct_io=no";
	struct zmap *z = store_new(store);
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_text(z, "b/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"t\", \"x\"]}");
	put_rows(z, ROWS, 1);
	kernel_mount(url, options, found);
	kernel_mount(url, options, told_meanwhile);
	kernel_mount(url, options, past);
	zmap_close(z);
	return check_end();
}
