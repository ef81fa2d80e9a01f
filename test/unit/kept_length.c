/* An array of one dimension, by the length of which a codec stores: this mount makes it neither
 * longer nor shorter, and where another program does, what was written to it is an error. */
#include "cut.h"

#include "codec/codec.h"

enum { ROWS = 9 };

static const char bucket[] = "fault+mem:cut#fault.kind=none&fault.remote=1";
static const struct array_want how;

static bool
is_there(const char *id)
{
	for (const struct codec_ops *const *c = codec_table; *c; c++)
		if (!strcmp((*c)->ids[0], id))
			return true;
	return false;
}

static void
put_rows(struct cut *c, unsigned rows)
{
	put_text(c->store, "t/.zarray",
		"{\"zarr_format\": 2, \"shape\": [%u], \"chunks\": [100], \"dtype\": \"<i2\", "
		"\"compressor\": {\"id\": \"szip\", \"mask\": 141, \"pixels-per-block\": 4}, "
		"\"order\": \"C\", \"fill_value\": 9, \"filters\": null}",
		rows);
}

static struct cut
begin(const char *url)
{
	struct cut c = cut_store("mem:cut", "[\"time\"]");
	put_rows(&c, ROWS);
	put_text(c.store, "x/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	put_meta(c.store, "x", "\"|i1\"", "[9]", "[5]", "\"fill_value\": 9");
	cut_mount(&c, url, "t");
	return c;
}

static int
put(struct file *f, unsigned row, const char *bytes, size_t n)
{
	return file_write(f, row * n, (struct span){(const uint8_t *)bytes, n}, &how, 0);
}

static void
check_rows(struct cut *c, const char *file, unsigned rows, size_t bytes)
{
	struct entry e = {0};
	CHECK_INT(mount_lookup(c->mount, file, &e), 0);
	CHECK_INT(e.size, rows * bytes);
	entry_free(&e);
}

static void
alone(const char *url)
{
	uint8_t got[64] = {0};
	struct cut c = begin(url);
	CHECK_INT(put(c.file, 8, "\7\0", 2), 0);
	CHECK_INT(cut_settle(&c), 0);
	CHECK_INT(file_truncate(c.file, 4, RESIZE_HANDLE, NULL), -EINVAL);
	CHECK(strstr(err_text(), "by how long"));
	CHECK_INT(file_truncate(c.file, 40, RESIZE_HANDLE, NULL), -EFBIG);
	CHECK_INT(put(c.file, ROWS, "\7\0", 2), -EFBIG);
	CHECK(strstr(err_text(), "by how long"));
	CHECK_INT(read_at(c.file, 0, sizeof got, got), ROWS * 2);
	CHECK_INT(got[16], 7);
	CHECK_INT(got[14], 9);
	check_rows(&c, "t", ROWS, 2);
	cut_end(&c);
}

/* An array that shares the dimension is to grow, or to shrink. */
static void
shared(const char *url)
{
	struct cut c = begin(url);
	struct file *x = open_for(c.mount, "x", O_RDWR, 0);
	CHECK_INT(file_truncate(x, 4, RESIZE_HANDLE, NULL), -EINVAL);
	CHECK_INT(put(x, ROWS, "\7", 1), 0);
	CHECK_INT(file_settle(x, SETTLE_FLUSH, 0, NULL), -EFBIG);
	CHECK(strstr(err_text(), "'t', which shares its first dimension"));
	mount_refresh(c.mount, NULL);
	check_rows(&c, "x", ROWS, 1);
	check_rows(&c, "t", ROWS, 2);
	file_close(x);
	cut_end(&c);
}

/* stored: before the other program makes it as long, which a local store does not tell. */
static void
others(const char *url, unsigned rows, bool stored, bool heard)
{
	struct cut c = begin(url);
	CHECK_INT(put(c.file, 8, "\7\0", 2), 0);
	if (stored)
		cut_push(c.mount);
	put_rows(&c, rows);
	if (heard)
		cut_hear(&c);
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), "'t' was rewritten"));
	cut_end(&c);
}

/* It is as good as any other beyond what a line may have. */
static void
long_one(const char *url)
{
	uint8_t got[8] = {0};
	struct cut c = cut_store("mem:cut", "[\"time\"]");
	put_rows(&c, 5000);
	cut_mount(&c, url, "t");
	CHECK_INT(put(c.file, 4999, "\6\0", 2), 0);
	CHECK_INT(put(c.file, 5000, "\7\0", 2), 0);
	cut_push(c.mount);
	CHECK_INT(put(c.file, 5001, "\5\0", 2), 0);
	CHECK_INT(cut_settle(&c), 0);
	check_rows(&c, "t", 5002, 2);
	CHECK_INT(read_at(c.file, 9998, sizeof got, got), 6);
	CHECK(!memcmp(got, "\6\0\7\0\5", 6));
	CHECK_INT(file_truncate(c.file, 4999 * 2, RESIZE_HANDLE, NULL), 0);
	check_rows(&c, "t", 4999, 2);
	CHECK_INT(file_truncate(c.file, 400 * 2, RESIZE_HANDLE, NULL), -EINVAL);
	cut_end(&c);
}

int
main(void)
{
	for (int i = 0; i < 2 && is_there("szip"); i++) {
		const char *url = i ? bucket : "mem:cut";
		alone(url);
		shared(url);
		long_one(url);
		for (int k = 0; k < 8; k++)
			if (i || !(k & 2) || k & 4)
				others(url, k & 1 ? ROWS - 1 : ROWS + 1, k & 2, k & 4);
	}
	return check_end();
}
