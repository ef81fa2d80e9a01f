/* Another writer makes an array shorter that was written through its netCDF file: the rows that are
 * left are stored, those that are not are lost, which is an error of the file until a refresh. */
#include "cut.h"

#include <endian.h>

enum { ROWS = 8, LEFT = 5 };

static const struct array_want how;
static const uint8_t ones[ROWS] = {1, 1, 1, 1, 1, 1, 1, 1};
static uint64_t at; /* of the elements in the file */

static void
put_rows(struct zmap *store, unsigned rows)
{
	char shape[16];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, "t", "\"|i1\"", shape, "[4]", "\"fill_value\": 9");
}

static struct cut
begin(const char *url)
{
	struct cut c = cut_store("mem:cut", "[\"time\"]");
	put_rows(c.store, ROWS);
	cut_mount(&c, url, "t.nc");
	at = file_size(c.file) - ROWS;
	return c;
}

static int
write_rows(struct cut *c, unsigned from, unsigned to)
{
	return file_write(c->file, at + from, (struct span){ones, to - from}, &how, 0);
}

static void
shorten(struct cut *c, unsigned rows, bool heard)
{
	put_rows(c->store, rows);
	if (heard)
		cut_hear(c);
}

static void
check_chunk(struct cut *c, const char *key, const char *bytes)
{
	cut_check_chunk(c, key, bytes, 4);
}

static void
rows_stay(bool heard)
{
	struct cut c = begin("mem:cut");
	uint8_t got[ROWS];
	CHECK_INT(write_rows(&c, 0, LEFT), 0);
	shorten(&c, LEFT, heard);
	CHECK_INT(cut_settle(&c), 0);
	check_chunk(&c, "t/0", "\1\1\1\1");
	check_chunk(&c, "t/1", "\1\11\11\11");
	CHECK_INT(write_rows(&c, 1, 3), 0); /* and the file goes on */
	CHECK_INT(cut_settle(&c), 0);
	CHECK_INT(read_at(c.file, at, LEFT, got), LEFT);
	CHECK(!memcmp(got, ones, LEFT));
	CHECK_INT(read_at(c.file, at + LEFT, 1, got), -EIO);
	cut_end(&c);
}

/* chunk: the last one, as it is then; NULL: it is not there. */
static void
rows_go(unsigned left, bool heard, const char *chunk)
{
	struct cut c = begin("mem:cut");
	CLEAN(buf_free) struct buf said = {0};
	char lost[32];
	snprintf(lost, sizeof lost, "first %u rows is lost", left);
	CHECK_INT(write_rows(&c, 0, ROWS), 0);
	shorten(&c, left, heard);
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), lost));
	check_chunk(&c, "t/0", "\1\1\1\1");
	check_chunk(&c, "t/1", chunk);
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), lost));
	CHECK_INT(write_rows(&c, 0, 1), -EIO);
	CHECK_INT(mount_refresh(c.mount, &said), 0);
	cut_end(&c);
}

/* It ends at the new end, and what it has brought up to there is stored. */
static void
write_ends(void)
{
	struct cut c = begin("mem:cut");
	shorten(&c, LEFT, true);
	CHECK_INT(write_rows(&c, 3, ROWS), -EIO);
	CHECK(strstr(err_text(), "has 5 rows"));
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), "has 5 rows"));
	check_chunk(&c, "t/0", "\11\11\11\1");
	check_chunk(&c, "t/1", "\1\11\11\11");
	cut_end(&c);
}

/* A record that was appended here is taken away: it is no row that is written on. */
static void
appended_goes(void)
{
	const uint32_t count = htobe32(ROWS + 1);
	struct cut c = begin("mem:cut");
	CHECK_INT(write_rows(&c, ROWS, ROWS + 1), 0);
	CHECK_INT(file_write(c.file, 4, (struct span){(const uint8_t *)&count, 4}, &how, 0), 0);
	CHECK_INT(cut_settle(&c), 0);
	check_chunk(&c, "t/2", "\1\11\11\11");
	shorten(&c, ROWS, true);
	CHECK_INT(file_write(c.file, at + ROWS, (struct span){(const uint8_t *)"\7", 1}, &how, 0),
		-EIO);
	CHECK(strstr(err_text(), "has 8 rows"));
	cut_end(&c);
}

/* A bucket's metadata are looked at when all is stored: a chunk that came too late for the other
 * writer to delete it goes again. */
static void
late_put_goes(void)
{
	struct cut c = begin("fault+mem:cut#fault.kind=none&fault.remote=1");
	CHECK_INT(write_rows(&c, 6, ROWS), 0);
	shorten(&c, 4, false);
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), "first 4 rows is lost"));
	check_chunk(&c, "t/1", NULL);
	cut_end(&c);
}

int
main(void)
{
	rows_stay(true);
	rows_stay(false);
	rows_go(LEFT, true, "\1\11\11\11");
	rows_go(LEFT, false, "\1\11\11\11");
	rows_go(4, true, NULL);
	rows_go(4, false, NULL);
	write_ends();
	appended_goes();
	late_put_goes();
	return check_end();
}
