/* Half a row at the end of a growing array: it is a row once it is stored, for others and after the
 * daemon's death; its writer goes on behind what it wrote. */
#include "cut.h"

static const struct array_want how;

static struct cut
begin(const char *type, const char *shape, const char *chunks, const char *left, size_t n)
{
	struct cut c = cut_store("mem:half", "[\"time\", \"x\"]");
	put_meta(c.store, "t", type, shape, chunks, "\"fill_value\": 7");
	put_bytes(c.store, "t/0.0", left, n);
	cut_mount(&c, "mem:half", "t");
	return c;
}

static void
write_with(struct file *f, uint64_t off, const char *bytes, size_t n, unsigned flags)
{
	CHECK_INT(file_write(f, off, (struct span){(const uint8_t *)bytes, n}, &how, flags), 0);
}

static uint64_t
size_of(const struct cut *c)
{
	struct entry e;
	CHECK_INT(mount_lookup(c->mount, "t", &e), 0);
	const uint64_t size = e.size;
	entry_free(&e);
	return size;
}

/* What a mount has that begins now. */
static void
remounted(const char *bytes, size_t n)
{
	struct mount_options o = options_new();
	struct mount *m = mount_new("mem:half", &o);
	struct file *f = NULL;
	char got[64] = {0};
	CHECK_INT(open_path(m, "t", &f), 0);
	CHECK_INT(read_at(f, 0, sizeof got, got), n);
	CHECK(!memcmp(got, bytes, n));
	file_close(f);
	mount_close(m);
}

/* The same of one that begins when the last handle has gone. */
static void
end(struct cut *c, const char *bytes, size_t n)
{
	CHECK_INT(file_settle(c->file, SETTLE_RELEASE, 0, NULL), 0);
	CHECK_INT(size_of(c), n);
	remounted(bytes, n);
	cut_end(c);
}

static void
test_stored(enum settle_why why)
{
	struct cut c = begin("\"|i1\"", "[1, 4]", "[4, 4]", "1234\7\7\7\7\7\7\7\7\7\7\7\7", 16);
	write_with(c.file, 4, "ab", 2, 0);
	CHECK_INT(file_settle(c.file, why, 0, NULL), 0);
	remounted("1234ab\7\7", 8);
	CHECK_INT(size_of(&c), 6);
	write_with(c.file, 6, "c", 1, 0);
	CHECK_INT(file_settle(c.file, why, 0, NULL), 0);
	remounted("1234abc\7", 8);
	write_with(c.file, 99, "de", 2, FILE_APPEND); /* it is behind what it wrote */
	CHECK_INT(size_of(&c), 9);
	CHECK_INT(file_settle(c.file, why, 0, NULL), 0);
	remounted("1234abcde\7\7\7", 12);
	CHECK_INT(file_truncate(c.file, 9, RESIZE_LONGER, NULL), 0); /* it is so long */
	end(&c, "1234abcde\7\7\7", 12);
}

/* Half an element. */
static void
test_element(void)
{
	struct cut c = begin("\"<i2\"", "[1, 2]", "[3, 2]", "1234\7\0\7\0\7\0\7\0", 12);
	write_with(c.file, 4, "abc", 3, 0);
	CHECK_INT(cut_settle(&c), 0);
	remounted("1234abc\0", 8);
	write_with(c.file, 7, "def", 3, 0);
	CHECK_INT(cut_settle(&c), 0);
	remounted("1234abcdef\7\0", 12);
	end(&c, "1234abcdef\7\0", 12);
}

/* A hole that begins or ends within an element: what has just been left there may be another
 * writer's. */
static void
test_hole(void)
{
	static const char left[] = "1234\7\0\7Z\7\0\7\0";
	struct cut c = begin("\"<i2\"", "[1, 2]", "[3, 2]", left, 12);
	write_with(c.file, 4, "abc", 3, 0);
	write_with(c.file, 10, "d", 1, 0);
	CHECK_INT(cut_settle(&c), 0);
	remounted("1234abcZ\7\0d\0", 12);
	end(&c, "1234abcZ\7\0d\0", 12);
	c = begin("\"<i2\"", "[1, 2]", "[3, 2]", left, 12);
	write_with(c.file, 4, "abc", 3, 0);
	CHECK_INT(file_truncate(c.file, 12, RESIZE_LONGER, NULL), 0);
	CHECK_INT(cut_settle(&c), 0);
	end(&c, "1234abcZ\7\0\7\0", 12);
	c = begin("\"<i2\"", "[1, 2]", "[3, 2]", left, 12);
	write_with(c.file, 5, "a", 1, 0);
	CHECK_INT(cut_settle(&c), 0);
	end(&c, "1234\7a\7Z", 8);
	c = begin("\"<i2\"", "[1, 2]", "[3, 2]", "1234\7\0\7\0\7\0\7\0", 12); /* it was its own */
	write_with(c.file, 4, "mnop", 4, 0);
	CHECK_INT(file_truncate(c.file, 4, RESIZE_NAMED, NULL), 0);
	write_with(c.file, 4, "abc", 3, 0);
	CHECK_INT(cut_settle(&c), 0);
	end(&c, "1234abc\0", 8);
	c = begin("\"<i2\"", "[1, 2]", "[3, 2]", "1234\7\0\7\0\7\0\7\0", 12);
	write_with(c.file, 4, "mnop", 4, 0);
	CHECK_INT(cut_settle(&c), 0);
	CHECK_INT(file_truncate(c.file, 4, RESIZE_NAMED, NULL), 0);
	write_with(c.file, 4, "abc", 3, 0);
	CHECK_INT(cut_settle(&c), 0);
	end(&c, "1234abc\0", 8);
}

/* Another writer has written the other half since; the first one goes on behind it. */
static void
test_others(void)
{
	struct cut c = begin("\"|i1\"", "[1, 4]", "[4, 4]", "1234\7\7\7\7\7\7\7\7\7\7\7\7", 16);
	write_with(c.file, 4, "ab", 2, 0);
	CHECK_INT(cut_settle(&c), 0);
	put_bytes(c.store, "t/0.0", "1234abcd\7\7\7\7\7\7\7\7", 16);
	write_with(c.file, 8, "ef", 2, 0);
	CHECK_INT(cut_settle(&c), 0);
	remounted("1234abcdef\7\7", 12);
	CHECK_INT(size_of(&c), 10);
	end(&c, "1234abcdef\7\7", 12);
}

/* Half an element, and a hole that begins within one, where another writer has put a row since.
 * counted: its metadata have the row, which this mount has not heard. */
static void
test_others_element(bool counted, bool hole, bool flush)
{
	const size_t n = hole ? 12 : 8;
	struct cut c = begin("\"<i2\"", "[1, 2]", "[3, 2]", "1234\7\0\7\0\7\0\7\0", 12);
	write_with(c.file, 4, "abc", 3, 0);
	put_bytes(c.store, "t/0.0", "1234mnop\7\0\7\0", 12);
	if (hole)
		write_with(c.file, 8, "d", 1, 0);
	if (counted)
		put_meta(c.store, "t", "\"<i2\"", "[2, 2]", "[3, 2]", "\"fill_value\": 7");
	if (flush)
		CHECK_INT(file_settle(c.file, SETTLE_FLUSH, 0, NULL), 0);
	if (flush)
		remounted("1234abcpd\0\7\0", n);
	end(&c, "1234abcpd\0\7\0", n);
}

/* Another writer appends rows behind it. */
static void
test_longer(void)
{
	struct cut c = begin("\"|i1\"", "[1, 4]", "[4, 4]", "1234\7\7\7\7\7\7\7\7\7\7\7\7", 16);
	write_with(c.file, 4, "ab", 2, 0);
	CHECK_INT(cut_settle(&c), 0);
	put_bytes(c.store, "t/0.0", "1234abcdefgh\7\7\7\7", 16);
	put_meta(c.store, "t", "\"|i1\"", "[3, 4]", "[4, 4]", "\"fill_value\": 7");
	cut_hear(&c);
	CHECK_INT(size_of(&c), 12);
	write_with(c.file, 0, "ij", 2, FILE_APPEND);
	CHECK_INT(cut_settle(&c), 0);
	remounted("1234abcdefghij\7\7", 16);
	end(&c, "1234abcdefghij\7\7", 16);
}

int
main(void)
{
	test_stored(SETTLE_FLUSH);
	test_stored(SETTLE_FSYNC);
	test_element();
	test_hole();
	test_others();
	for (unsigned i = 0; i < 8; i++)
		test_others_element(i & 1, i & 2, i & 4);
	test_longer();
	return check_end();
}
