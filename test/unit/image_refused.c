/* A header of which one change cannot be stored: none is; and one that changes nothing. */
#include "mounted.h"

#include <fcntl.h>
#include <stdlib.h>

static const char STORE[] = "mem:refused";

enum { X = 6, ROOM = 1024, MOST = 1 << 20 };

static const char GROUP[] =
	"{\"title\": \"A\", \"_nczarr_superblock\": {\"version\": \"2.0.0\"}, "
	"\"_nczarr_group\": {\"dimensions\": {\"x\": 6}, \"arrays\": [\"t\"], \"groups\": []}, "
	"\"_nczarr_attr\": {\"types\": {\"title\": \">S1\"}}}";

static void
put_store(struct zmap *z)
{
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_text(z, ".zattrs", "%s", GROUP);
	put_meta(z, "t", "\"|i1\"", "[6]", "[6]", "\"fill_value\": null");
	put_text(z, "t/.zattrs",
		"{\"level\": 7, \"_nczarr_array\": {\"dimension_references\": [\"/x\"], "
		"\"storage\": \"chunked\"}, \"_nczarr_attr\": {\"types\": {\"level\": \"<i4\"}}}");
	put_bytes(z, "t/0", "\1\2\3\4\5\6", X);
}

static size_t
read_all(struct mount *m, const char *path, uint8_t *to)
{
	struct file *f = open_for(m, path, O_RDONLY, 0);
	struct reply r = {0};
	struct array_want w = {.len = MOST};
	CHECK_INT(file_read(f, &w, &r), 0);
	const size_t n = r.len;
	reply_copy(&r, to);
	reply_done(&r);
	file_close(f);
	return n;
}

/* The title becomes another one, and an attribute of one value one of none, which metadata of
 * NCZarr cannot say: what follows its value moves up. */
static void
change(uint8_t *all, size_t n)
{
	static const char title[] = "title\0\0\0\0\0\0\2\0\0\0\1A",
			  level[] = "level\0\0\0\0\0\0\4\0\0\0\1\0\0\0\7";
	uint8_t *text = memmem(all, n, title, sizeof title - 1);
	uint8_t *number = memmem(all, n, level, sizeof level - 1);
	CHECK(text && number);
	if (!text || !number)
		return;
	text[sizeof title - 2] = 'B';
	uint8_t *value = number + sizeof level - 1 - 4;
	value[-1] = 0;
	memmove(value, value + 4, (size_t)(all + ROOM - value));
}

static void
check_title(struct zmap *z)
{
	CLEAN(buf_free) struct buf now = {0};
	const struct zmap_get g = {.key = ".zattrs", .into = &now, .max = MOST};
	CHECK_INT(zmap_get(z, &g, NULL), 0);
	CHECK_INT(buf_terminate(&now), 0);
	CHECK_STR((char *)now.data, GROUP);
}

static void
test_no_values(struct mount *m, struct zmap *z, uint8_t *all)
{
	change(all, read_all(m, "dataset.nc", all));
	struct file *f = open_for(m, "dataset.nc", O_RDWR, 0);
	CHECK_INT(file_write(f, 0, (struct span){all, ROOM}, &(struct array_want){0}, 0), 0);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), -EINVAL);
	CHECK(strstr(err_text(), "attribute 'level'"));
	check_title(z);
	file_settle(f, SETTLE_RELEASE, 0, NULL);
	file_close(f);
	CHECK_INT(mount_refresh(m, NULL), 0);
	check_title(z);
}

/* NaN as the fill value of whole numbers that the file has as doubles: it says that none is
 * missing, and what else the header changes is stored. It comes as another name of an attribute;
 * without recorded types that is pure Zarr, whose fill value stays. */
static void
test_nan(const char *path, bool recorded)
{
	static const char was[] = "xFillValue\0\0\0\0\0\6\0\0\0\1";
	struct zmap *z = store_new(path);
	struct mount_options o = options_new();
	uint8_t *all = calloc(1, MOST);
	o.rw = true;
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "t", "\"<i8\"", "[1]", "[1]", "\"fill_value\": 5");
	put_text(z, "t/.zattrs", "{\"xFillValue\": NaN, \"_ARRAY_DIMENSIONS\": [\"t\"]%s}",
		recorded ? ", \"_nczarr_array\": {\"dimension_references\": [\"/t\"], \"storage\": "
			   "\"chunked\"}, \"_nczarr_attr\": {\"types\": {\"xFillValue\": \"<f8\"}}"
			 : "");
	if (recorded)
		put_text(z, ".zattrs",
			"{\"_nczarr_superblock\": {\"version\": \"2.0.0\"}, \"_nczarr_group\": "
			"{\"dimensions\": {\"t\": 1}, \"arrays\": [\"t\"], \"groups\": []}}");
	put_bytes(z, "t/0", "\7\0\0\0\0\0\0\0", 8);
	struct mount *m = mount_new(path, &o);
	const size_t n = read_all(m, "t.nc", all);
	uint8_t *at = memmem(all, n, was, sizeof was - 1);
	CHECK(at);
	struct file *f = open_for(m, "t.nc", O_RDWR, 0);
	for (int i = 0; at && i < 2; i++) { /* it is told so, and no more */
		memcpy(at, i ? "yFillValue" : "_FillValue", strlen("_FillValue"));
		CHECK_INT(
			file_write(f, 0, (struct span){all, ROOM}, &(struct array_want){0}, 0), 0);
		CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), 0);
		const struct zmap_get g = {
			.key = "t/.zattrs", .into = &(struct buf){0}, .max = MOST};
		CHECK_INT(zmap_get(z, &g, NULL), 0);
		CHECK(!memmem(g.into->data, g.into->len, "xFill", 5));
		CHECK(!memmem(g.into->data, g.into->len, "_Fill", 5));
		buf_free(g.into);
	}
	file_settle(f, SETTLE_RELEASE, 0, NULL);
	file_close(f);
	CHECK_INT(mount_drain(m, NULL), 0);
	mount_close(m);
	zmap_close(z);
	free(all);
}

int
main(void)
{
	struct zmap *z = store_new(STORE);
	struct mount_options o = options_new();
	uint8_t *all = calloc(1, MOST);
	o.rw = true;
	put_store(z);
	struct mount *m = mount_new(STORE, &o);
	test_no_values(m, z, all);
	mount_close(m);
	zmap_close(z);
	free(all);
	test_nan("mem:nan", false);
	test_nan("mem:nan_recorded", true);
	return check_end();
}
