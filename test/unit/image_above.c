/* Records are appended to the netCDF file of a variable that has its coordinate from the group
 * above: in pure Zarr, where groups share no dimension, each of both arrays gets longer. */
#include "mounted.h"

#include <fcntl.h>

static const char STORE[] = "mem:above";

static const struct array_want how;

/* Of so many rows, all in one chunk. */
static void
put_rows(struct zmap *z, const char *path)
{
	char key[32];
	put_meta(z, path, "\"|i1\"", "[3]", "[8]", "\"fill_value\": 9");
	snprintf(key, sizeof key, "%s/.zattrs", path);
	put_text(z, key, "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
	snprintf(key, sizeof key, "%s/0", path);
	put_bytes(z, key, "\1\2\3\11\11\11\11\11", 8);
}

static void
check_rows(struct mount *m, const char *path, const char *want)
{
	char got[8] = {0};
	struct file *f = open_for(m, path, O_RDONLY, 0);
	CHECK_INT(read_at(f, 0, sizeof got, got), 4);
	CHECK_MEM(got, want, 4);
	file_close(f);
}

/* The netCDF file has records of both variables, 4 bytes of each; that of the group is the first in
 * its file, the last in its own. */
static void
test_append(struct mount *m, const char *path, const char *record)
{
	struct file *f = open_for(m, path, O_RDWR, 0);
	const uint64_t end = file_size(f);
	char last[8] = {0};
	CHECK_INT(read_at(f, end - 8, 8, last), 8);
	CHECK(last[0] == 3 && last[4] == 3);
	CHECK_INT(file_write(f, end, (struct span){(const uint8_t *)record, 8}, &how, 0), 0);
	CHECK_INT(file_write(f, 4, (struct span){(const uint8_t *)"\0\0\0\4", 4}, &how, 0), 0);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), 0);
	CHECK_INT(file_settle(f, SETTLE_RELEASE, 0, NULL), 0);
	file_close(f);
	check_rows(m, "time", "\1\2\3\7");
	check_rows(m, "child/t", "\1\2\3\5");
	CHECK(strstr(text_of(m, ".store/time/.zarray"), "[4]"));
	CHECK(strstr(text_of(m, ".store/child/t/.zarray"), "[4]"));
}

int
main(void)
{
	for (int whole = 0; whole < 2; whole++) {
		struct zmap *z = store_new(STORE);
		struct mount_options o = options_new();
		o.rw = true;
		o.unlimited = "time";
		put_text(z, ".zgroup", "{\"zarr_format\": 2}");
		put_text(z, "child/.zgroup", "{\"zarr_format\": 2}");
		put_rows(z, "time");
		put_rows(z, "child/t");
		struct mount *m = mount_new(STORE, &o);
		if (whole)
			test_append(m, "child/dataset.nc", "\5\0\0\0\7\0\0\0");
		else
			test_append(m, "child/t.nc", "\7\0\0\0\5\0\0\0");
		CHECK_INT(mount_drain(m, NULL), 0);
		mount_close(m);
		zmap_close(z);
	}
	return check_end();
}
