/* What a mapping's page that comes back undoes of what was written past it meanwhile: nothing. */
#include "kernel.h"

#include "base/clean.h"

#include <dlfcn.h>

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

/* A byte of the page is changed through a mapping, and n bytes of it come back: what was written
 * past it stays. */
static void
come_back(struct kernel *k, const struct kernel_file *f, uint64_t number, uint8_t *page, uint32_t n,
	const char *past, size_t at)
{
	dirty(page, at);
	kernel_write(k, f, KERNEL_PAGES, number * PAGE, page, n);
	CHECK_INT(both(k, f, number, past, at) ? (int64_t)number : -1, number);
}

/* It is told to drop pages, once more than before. */
static void
wait_told(struct kernel *k, const struct kernel_file *f, uint64_t before)
{
	struct fuse_getattr_in look = {0};
	for (int i = 0; i < 2000 && k->told == before; i++) { /* it may have come already */
		usleep(10000);
		kernel_ask(k, FUSE_GETATTR, f->inode, &look, sizeof look, NULL, 0);
	}
	CHECK(k->told > before);
}

/* A page of the kernel's that a program maps; others write past it. */
static void
written(struct kernel *k, const struct kernel_file *f)
{
	static uint8_t page[PAGE], other[PAGE];
	fill(k, f, 0, page); /* it is there, or comes, when a program writes past it … */
	kernel_write(k, f, KERNEL_PAST, AT, "12345678", N);
	come_back(k, f, 0, page, PAGE, "12345678", 0); /* … and is changed before it is dropped */

	fill(k, f, 1, page);
	for (unsigned i = 2; i < MANY; i++) /* so many that this one is not known any more */
		fill(k, f, i, other);
	kernel_write(k, f, KERNEL_PAST, PAGE + AT, "12345678", N);
	come_back(k, f, 1, page, PAGE, "12345678", 0);
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

/* What one program wrote past the pages another wrote over through them, and then through a
 * mapping: the kernel has that page without having asked for it. */
static void
over_pages(struct kernel *k)
{
	static uint8_t page[PAGE];
	kernel_begin(k, 45);
	struct kernel_file past = kernel_open(k, "a", O_RDWR | O_DIRECT),
			   f = kernel_open(k, "a", O_RDWR);
	CHECK(!(f.flags & FOPEN_DIRECT_IO));
	memset(page, 'p', PAGE);
	kernel_write(k, &past, KERNEL_PAST, 0, page, PAGE);
	memset(page, 'q', PAGE);
	kernel_write(k, &f, KERNEL_PAST, 0, page, PAGE);
	come_back(k, &f, 0, page, PAGE, "qqqqqqqq", 0);
	kernel_close(k, &f);
	kernel_close(k, &past);
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
	come_back(k, &f, 0, page, AT + N, "12345678", 0);

	fill(k, &f, 0, page);
	kernel_write(k, &f, KERNEL_PAST, PAGE + AT, "12345678", N);
	come_back(k, &f, 0, page, PAGE, "12345678", 1);
	CHECK_INT(k->bytes[AT + N], FILL);
	kernel_resize(k, &f, 3 * PAGE);
	fill(k, &f, 2, page);
	kernel_resize(k, &f, PAGE);
	kernel_close(k, &f);
}

/* The same of pages that lie behind the end, with others that do not. */
static void
behind(struct kernel *k)
{
	kernel_begin(k, 45);
	struct kernel_file f = kernel_open(k, "t", O_RDWR);
	kernel_resize(k, &f, 100);
	CHECK_INT(kernel_read(k, &f, KERNEL_PAGES, 0, 2 * PAGE), 100);
	static uint8_t page[PAGE];
	kernel_write(k, &f, KERNEL_PAST, PAGE + AT, "12345678", N);
	come_back(k, &f, 1, page, AT + N, "12345678", 0);
	CHECK_INT(k->bytes[1], FILL);
	kernel_resize(k, &f, PAGE);
	kernel_close(k, &f);
}

/* Of pages from before the file is first opened to be written nothing is known: the kernel drops
 * them, at each open() until it is known that it has. */
static void
both_first(struct kernel *k)
{
	static uint8_t page[PAGE];
	kernel_begin(k, 44);
	struct kernel_file f = kernel_open(k, "a", O_RDONLY), g = kernel_open(k, "a", O_RDONLY);
	CHECK(g.flags & FOPEN_KEEP_CACHE);
	kernel_close(k, &g);
	g = kernel_open(k, "a", O_RDWR);
	CHECK(!(g.flags & (FOPEN_KEEP_CACHE | FOPEN_DIRECT_IO)));
	struct kernel_file h = kernel_open(k, "a", O_RDWR);
	CHECK(!(h.flags & FOPEN_KEEP_CACHE));
	fill(k, &g, 0, page);
	fill(k, &h, 1, page);
	struct kernel_file third = kernel_open(k, "a", O_RDWR);
	CHECK(third.flags & FOPEN_KEEP_CACHE);
	kernel_close(k, &third);
	kernel_close(k, &h);
	kernel_close(k, &g);
	kernel_close(k, &f);
}

/* The page of a netCDF file where the elements begin that the flat file begins with. */
static uint64_t
first_page(struct kernel *k, const struct kernel_file *nc, const struct kernel_file *flat)
{
	enum { LAST = 32 };
	uint64_t at = 1;
	kernel_write(k, flat, KERNEL_PAST, 0, "the first", N);
	while (at < LAST && kernel_read(k, nc, KERNEL_PAST, at * PAGE, PAGE) > 0 &&
		memcmp(k->bytes, "the first", N) != 0)
		at++;
	CHECK(at < LAST);
	return at;
}

/* A flat file, and the netCDF file with the same elements. */
struct two {
	struct kernel_file flat, nc;
	uint64_t first; /* the page of nc that flat begins with */
};

static struct two
open_two(struct kernel *k, uint32_t minor)
{
	kernel_begin(k, minor);
	struct two o = {.flat = kernel_open(k, "b", O_RDWR), .nc = kernel_open(k, "b.nc", O_RDWR)};
	o.first = first_page(k, &o.nc, &o.flat);
	return o;
}

static void
close_two(struct kernel *k, const struct two *o)
{
	kernel_close(k, &o->nc);
	kernel_close(k, &o->flat);
}

/* Of a netCDF file a page comes back by any handle, and others write the same elements by theirs,
 * or to the flat file. */
static void
netcdf(struct kernel *k)
{
	static uint8_t page[PAGE];
	kernel_begin(k, 45);
	struct kernel_file flat = kernel_open(k, "b", O_RDWR), one = kernel_open(k, "b.nc", O_RDWR),
			   two = kernel_open(k, "b.nc", O_RDWR);
	CHECK(one.flags & FOPEN_DIRECT_IO);
	const uint64_t first = first_page(k, &one, &flat);
	const struct kernel_file *const by[] = {&one, &two};
	static uint8_t pages[6][PAGE];
	for (unsigned i = 0; i < 6; i++)
		fill(k, &one, first + 1 + i, pages[i]);
	for (unsigned i = 6; i < MANY; i++)
		fill(k, &one, first + 1 + i, page);
	for (unsigned i = 0; i < 6; i++) {
		const uint64_t number = first + 1 + i;
		memcpy(page, pages[i], PAGE);
		if (i < 2)
			kernel_write(k, &flat, KERNEL_PAST, (1 + i) * PAGE + AT, "12345678", N);
		else
			kernel_write(
				k, by[i / 2 - 1], KERNEL_PAST, number * PAGE + AT, "12345678", N);
		come_back(k, by[i % 2], number, page, PAGE, "12345678", i);
	}
	kernel_close(k, &flat);
	kernel_close(k, &two);
	kernel_close(k, &one);
}

/* A page that the kernel has of what a program wrote, not of what it asked for. */
static void
written_whole(struct kernel *k)
{
	static uint8_t page[PAGE];
	const struct two o = open_two(k, 44);
	CHECK(!(o.flat.flags & FOPEN_DIRECT_IO));
	memset(page, 'q', PAGE);
	kernel_write(k, &o.flat, KERNEL_PAST, PAGE, page, PAGE);
	kernel_write(k, &o.nc, KERNEL_PAST, (o.first + 1) * PAGE + AT, "12345678", N);
	come_back(k, &o.flat, 1, page, PAGE, "12345678", 0);
	close_two(k, &o);
}

/* A change of the size that is refused: the kernel has its pages as before. */
static void
refused_size(struct kernel *k)
{
	static uint8_t page[PAGE];
	const struct two o = open_two(k, 44);
	fill(k, &o.flat, 1, page);
	kernel_write(k, &o.nc, KERNEL_PAST, (o.first + 1) * PAGE + AT, "12345678", N);
	struct fuse_setattr_in in = {
		.valid = FATTR_SIZE | FATTR_FH, .fh = o.flat.handle, .size = 77};
	CHECK(kernel_ask(k, FUSE_SETATTR, o.flat.inode, &in, sizeof in, NULL, 0) < 0);
	come_back(k, &o.flat, 1, page, PAGE, "12345678", 0);
	close_two(k, &o);
}

/* A page of a mapping that is refused: the kernel is to drop it, for it shows what is not so. */
static void
refused_page(struct kernel *k)
{
	static uint8_t page[PAGE];
	kernel_begin(k, 44);
	struct kernel_file flat = kernel_open(k, "b", O_RDWR);
	fill(k, &flat, 1, page);
	struct fuse_write_in in = {
		.fh = flat.handle, .offset = 2000000, .size = 1, .flags = flat.opened};
	CHECK(kernel_ask(k, FUSE_WRITE, flat.inode, &in, sizeof in, "x", 1) < 0); /* it sticks */
	dirty(page, 0);
	const uint64_t before = k->told;
	in.offset = PAGE;
	in.size = PAGE;
	in.write_flags = FUSE_WRITE_CACHE;
	CHECK(kernel_ask(k, FUSE_WRITE, flat.inode, &in, sizeof in, page, PAGE) < 0);
	wait_told(k, &flat, before);
}

/* The file becomes longer, and the kernel drops its pages by writing the dirty ones back. */
static void
longer(struct kernel *k)
{
	static uint8_t page[PAGE];
	kernel_begin(k, 45);
	struct kernel_file f = kernel_open(k, "u", O_RDWR),
			   past = kernel_open(k, "u", O_RDWR | O_DIRECT);
	fill(k, &f, 0, page);
	kernel_write(k, &past, KERNEL_PAST, AT, "12345678", N);
	for (unsigned n = 0; n < 70; n++) /* so many that the one before is not known any more */
		kernel_write(k, &past, KERNEL_PAST, 3 * PAGE, "x", 1);
	kernel_resize(k, &f, 8 * PAGE);
	come_back(k, &f, 0, page, PAGE, "12345678", 0);
	kernel_close(k, &past);
	kernel_close(k, &f);
}

/* More pages than are remembered: the kernel is told to drop the oldest ones, many at once, and no
 * request waits for that. */
static void
too_many(struct kernel *k)
{
	enum { PAGES = 2500, LATE = 50, READ = 10 };
	static uint8_t late[PAGE];
	kernel_begin(k, 45);
	struct kernel_file f = kernel_open(k, "m", O_RDWR);
	for (unsigned i = 0; i < PAGES; i += READ)
		CHECK_INT(kernel_read(k, &f, KERNEL_PAGES, (uint64_t)i * PAGE, READ * PAGE),
			READ * PAGE);
	fill(k, &f, PAGES - LATE, late);
	while (!k->drops && kernel_read(k, &f, KERNEL_PAGES, PAGES * PAGE, PAGE) > 0)
		;
	CHECK(k->dropped_from == 0 && k->dropped_to <= (PAGES - LATE) * PAGE);
	CHECK(k->dropped_to / PAGE / k->drops > READ);
	fill(k, &f, PAGES - LATE, late); /* what was not dropped is known */
	kernel_write(k, &f, KERNEL_PAST, (PAGES - LATE) * PAGE + AT, "12345678", N);
	come_back(k, &f, PAGES - LATE, late, PAGE, "12345678", 0);
	kernel_close(k, &f);
}

/* Held while the kernel writes back what it has been told to drop. */
static pthread_mutex_t written_back = PTHREAD_MUTEX_INITIALIZER;

struct fuse_session;
typedef int tell_fn(struct fuse_session *, uint64_t inode, off_t off, off_t len);
tell_fn fuse_lowlevel_notify_inval_inode;

/* As libfuse's, which comes back when that is done. */
int
fuse_lowlevel_notify_inval_inode(struct fuse_session *se, uint64_t ino, off_t off, off_t len)
{
	tell_fn *tell = NULL;
	*(void **)&tell = dlsym(RTLD_NEXT, "fuse_lowlevel_notify_inval_inode");
	const int r = tell(se, ino, off, len);
	if (off >= 0)
		LOCKED(&written_back)
			;
	return r;
}

/* A write() has copied its bytes into two pages of the kernel's, which drops them and fills them
 * again before the daemon has the write(): they show what was there before, and one comes back. The
 * other is dropped once more; then it has them, and what was before is a change. */
static void
fall_behind(struct kernel *k, const struct kernel_file *f, uint64_t number)
{
	static uint8_t page[PAGE], next[PAGE], bytes[PAGE + N];
	const uint64_t off = number * PAGE, before = k->told;
	memset(bytes, 'w', sizeof bytes);
	LOCKED(&written_back) {
		fill(k, f, number, page);
		fill(k, f, number + 1, next);
		kernel_write(k, f, KERNEL_PAST, off + AT, bytes, sizeof bytes);
		come_back(k, f, number, page, PAGE, "wwwwwwww", 0);
	}
	wait_told(k, f, before);
	fill(k, f, number + 1, page);
	memcpy(page + AT, next + AT, N);
	come_back(k, f, number + 1, page, PAGE, (const char *)next + AT, 0);
}

/* The same without a drop: what a write() has changed a mapping changes back at once. */
static void
changed_back(struct kernel *k)
{
	static uint8_t page[PAGE], was[PAGE];
	kernel_begin(k, 44);
	struct kernel_file f = kernel_open(k, "a", O_RDWR);
	fill(k, &f, 8, page);
	kernel_write(k, &f, KERNEL_PAST, 0, "x", 1);
	for (unsigned i = 9; i < 20; i++) {
		fill(k, &f, i, was);
		kernel_write(k, &f, KERNEL_PAST, i * PAGE + AT, "12345678", N);
		memcpy(page, was, PAGE);
		come_back(k, &f, i, page, PAGE, (const char *)was + AT, 0);
	}
	CHECK_INT(k->told, 0);
	kernel_close(k, &f);
}

static uint64_t
changed_at(struct kernel *k, const struct kernel_file *f)
{
	struct fuse_getattr_in look = {0};
	CHECK(kernel_ask(k, FUSE_GETATTR, f->inode, &look, sizeof look, NULL, 0) > 0);
	const struct fuse_attr *a = &((const struct fuse_attr_out *)k->bytes)->attr;
	return a->mtime * 1000000000 + a->mtimensec;
}

/* Another view is written, the file has another time, and so the kernel drops its pages. */
static void
another_time(struct kernel *k)
{
	static uint8_t page[PAGE];
	kernel_begin(k, 44);
	struct kernel_file flat = kernel_open(k, "b", O_RDWR), nc = kernel_open(k, "b.nc", O_RDWR);
	CHECK(!(flat.flags & FOPEN_DIRECT_IO));
	const uint64_t first = first_page(k, &nc, &flat), was = changed_at(k, &flat);
	fill(k, &flat, 9, page);
	kernel_write(k, &nc, KERNEL_PAST, (first + 5) * PAGE, "x", 1);
	struct fuse_flush_in flush = {.fh = nc.handle};
	CHECK_INT(kernel_ask(k, FUSE_FLUSH, nc.inode, &flush, sizeof flush, NULL, 0), 0);
	CHECK(changed_at(k, &flat) != was);
	fall_behind(k, &flat, 9);
	kernel_close(k, &nc);
	kernel_close(k, &flat);
}

/* They are too old for a program that opens the file. */
static void
opened(struct kernel *k)
{
	static uint8_t page[PAGE];
	kernel_begin(k, 44);
	struct kernel_file f = kernel_open(k, "a", O_RDWR);
	fill(k, &f, 9, page);
	struct kernel_file g = kernel_open(k, "a", O_RDONLY);
	CHECK(!(g.flags & (FOPEN_KEEP_CACHE | FOPEN_DIRECT_IO)));
	fall_behind(k, &f, 9);
	kernel_close(k, &g);
	kernel_close(k, &f);
}

/* There are too many of them. */
static void
dropped(struct kernel *k)
{
	enum { PAGES = 2500, READ = 10 };
	kernel_begin(k, 44);
	struct kernel_file f = kernel_open(k, "m", O_RDWR);
	CHECK(!(f.flags & FOPEN_DIRECT_IO));
	for (unsigned i = 0; i < PAGES; i += READ)
		CHECK_INT(kernel_read(k, &f, KERNEL_PAGES, (uint64_t)i * PAGE, READ * PAGE),
			READ * PAGE);
	wait_told(k, &f, 0);
	CHECK(k->dropped_from == 0);
	fall_behind(k, &f, 0);
	kernel_close(k, &f);
}

int
main(void)
{
	char store[] = "mem:pages", rw[] = "rw,unlimited=t", no[] = "rw,direct_io=no,unlimited=u",
	     little[] = "rw,memory=16M", little_no[] = "rw,memory=16M,direct_io=no",
	     brief[] = "rw,direct_io=no,metadata_ttl=0";
	struct zmap *z = store_new(store);
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "a", "\"|u1\"", "[2000000]", "[1000000]", "\"fill_value\": 46");
	put_meta(z, "t", "\"|u1\"", "[100]", "[1000]", "\"fill_value\": 46");
	put_text(z, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"t\"]}");
	put_meta(z, "u", "\"|u1\"", "[20000]", "[100000]", "\"fill_value\": 46");
	put_text(z, "u/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"u\"]}");
	put_meta(z, "m", "\"|u1\"", "[20000000]", "[1000000]", "\"fill_value\": 46");
	put_meta(z, "b", "\"|i1\"", "[2000000]", "[100000]", "\"fill_value\": 46");
	put_text(z, "b/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\"]}");
	kernel_mount(store, rw, past_pages);
	kernel_mount(store, no, through_pages);
	kernel_mount(store, no, over_pages);
	kernel_mount(store, rw, growing);
	kernel_mount(store, rw, behind);
	kernel_mount(store, no, both_first);
	kernel_mount(store, rw, netcdf);
	kernel_mount(store, no, written_whole);
	kernel_mount(store, no, refused_size);
	kernel_mount(store, no, refused_page);
	kernel_mount(store, no, longer);
	kernel_mount(store, little, too_many);
	kernel_mount(store, no, changed_back);
	kernel_mount(store, no, another_time);
	kernel_mount(store, brief, opened);
	kernel_mount(store, little_no, dropped);
	zmap_close(z);
	return check_end();
}
