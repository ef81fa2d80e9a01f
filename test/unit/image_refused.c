/* A header of which one change cannot be stored: none is. */
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

int
main(void)
{
	struct zmap *z = store_new(STORE);
	struct mount_options o = options_new();
	uint8_t *all = calloc(1, MOST);
	o.rw = true;
	put_store(z);
	struct mount *m = mount_new(STORE, &o);
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
	mount_close(m);
	zmap_close(z);
	free(all);
	return check_end();
}
