/* What a mapping's page that comes back undoes of what was written past it meanwhile: nothing. */
#include "kernel.h"

enum { PAGE = 4096, AT = 100, N = 8, MANY = 300, FILL = 46 };

/* A byte of the page is changed through a mapping. */
static void
dirty(uint8_t *page, size_t at)
{
	page[at] = 'm';
}

/* The kernel's page, filled now. */
static void
fill(struct kernel *k, const struct kernel_file *f, uint64_t page, uint8_t *ret)
{
	int64_t n = kernel_read(k, f, KERNEL_PAGES, page * PAGE, PAGE);
	CHECK(n > 0);
	memset(ret, 0, PAGE);
	if (n > 0)
		memcpy(ret, k->bytes, (size_t)n);
}

/* What was written past the page, and through the mapping, is there. */
static bool
both(struct kernel *k, const struct kernel_file *f, uint64_t page, const char *past, size_t at)
{
	int64_t n = kernel_read(k, f, KERNEL_PAST, page * PAGE, PAGE);
	return n >= AT + N && !memcmp(k->bytes + AT, past, N) && k->bytes[at] == 'm';
}

/* A page of the kernel's that a program maps; others write past it. */
static void
written(struct kernel *k, const struct kernel_file *f)
{
	static uint8_t page[PAGE], other[PAGE];
	fill(k, f, 0, page); /* it is there, or comes, when a program writes past it … */
	kernel_write(k, f, KERNEL_PAST, AT, "12345678", N);
	dirty(page, 0); /* … and is changed before the kernel drops it */
	kernel_write(k, f, KERNEL_PAGES, 0, page, PAGE);
	CHECK(both(k, f, 0, "12345678", 0));

	fill(k, f, 1, page);
	for (unsigned i = 2; i < MANY; i++) /* so many that this one is not known any more */
		fill(k, f, i, other);
	kernel_write(k, f, KERNEL_PAST, PAGE + AT, "12345678", N);
	dirty(page, 0);
	kernel_write(k, f, KERNEL_PAGES, PAGE, page, PAGE);
	CHECK(both(k, f, 1, "12345678", 0));
	fill(k, f, 1, page);
	dirty(page, AT); /* what was shown after that may be changed */
	for (unsigned i = 2; i < MANY; i++)
		fill(k, f, i, other);
	kernel_write(k, f, KERNEL_PAGES, PAGE, page, PAGE);
	CHECK(both(k, f, 1, "m2345678", 0));
}

static void
past_pages(struct kernel *k)
{
	kernel_begin(k, 45);
	struct kernel_file f = kernel_open(k, "a", O_RDWR);
	CHECK(f.flags & FOPEN_DIRECT_IO);
	written(k, &f);
	kernel_close(k, &f);
}

/* Only what a program writes with O_DIRECT goes past them. */
static void
through_pages(struct kernel *k)
{
	kernel_begin(k, 45);
	struct kernel_file f = kernel_open(k, "a", O_RDWR | O_DIRECT);
	CHECK(!(f.flags & FOPEN_DIRECT_IO));
	written(k, &f);
	kernel_close(k, &f);
}

/* Behind the end of the file the kernel's page has zeros, which it keeps when the file grows. */
static void
growing(struct kernel *k)
{
	static uint8_t page[PAGE];
	kernel_begin(k, 45);
	struct kernel_file f = kernel_open(k, "t", O_RDWR);
	fill(k, &f, 0, page);
	kernel_write(k, &f, KERNEL_PAST, AT, "12345678", N);
	dirty(page, 0);
	kernel_write(k, &f, KERNEL_PAGES, 0, page, AT + N);
	CHECK(both(k, &f, 0, "12345678", 0));

	fill(k, &f, 0, page);
	kernel_write(k, &f, KERNEL_PAST, PAGE + AT, "12345678", N);
	dirty(page, 1);
	kernel_write(k, &f, KERNEL_PAGES, 0, page, PAGE);
	CHECK(both(k, &f, 0, "12345678", 1));
	CHECK_INT(k->bytes[AT + N], FILL);
	kernel_close(k, &f);
}

int
main(void)
{
	char store[] = "mem:pages", rw[] = "rw,unlimited=t", no[] = "rw,direct_io=no";
	struct zmap *z = store_new(store);
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "a", "\"|u1\"", "[2000000]", "[1000000]", "\"fill_value\": 46");
	put_meta(z, "t", "\"|u1\"", "[100]", "[1000]", "\"fill_value\": 46");
	put_text(z, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"t\"]}");
	kernel_mount(store, rw, past_pages);
	kernel_mount(store, no, through_pages);
	kernel_mount(store, rw, growing);
	zmap_close(z);
	return check_end();
}
