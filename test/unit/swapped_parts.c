/* Two mounts write different bytes of one element, which is stored in the other byte order: none is
 * lost, and nothing is read for it. */
#include "mounted.h"

#include <fcntl.h>

enum { FIRST = 8 };

static void
put(struct file *f, uint64_t off, const char *bytes, size_t len)
{
	static const struct array_want how;
	CHECK_INT(file_write(f, off, (struct span){(const uint8_t *)bytes, len}, &how, 0), 0);
}

static void
store(struct file *f)
{
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), 0);
}

/* Each writes its bytes before the other's are stored. */
static void
both_write(struct zmap *z, const char *array, const char *dtype)
{
	struct mount_options o = options_new();
	struct mount *m[2];
	struct file *f[2];
	char got[48];
	put_meta(z, array, dtype, "[6]", "[6]", "\"fill_value\": null");
	o.rw = o.zmap.writable = true;
	o.data.ttl = 0;
	for (int i = 0; i < 2; i++) {
		m[i] = mount_new("mem:parts", &o);
		f[i] = open_for(m[i], array, O_RDWR, 0);
	}
	put(f[0], FIRST + 3, "abcdefghijklmnopqr",
		18); /* of three elements, the outer ones in part */
	put(f[1], FIRST, "ABC", 3);
	put(f[1], FIRST + 21, "DEF", 3);
	put(f[1], FIRST + 25, "G", 1); /* in the midst of one */
	store(f[1]);
	put(f[0], FIRST + 24, "h", 1);
	store(f[0]);
	for (int i = 0; i < 2; i++) {
		file_close(f[i]);
		mount_close(m[i]);
	}
	struct mount *now = mount_new("mem:parts", &o);
	struct file *g = open_for(now, array, O_RDONLY, 0);
	CHECK_INT(read_at(g, 0, sizeof got, got), sizeof got);
	CHECK(!memcmp(got + FIRST, "ABCabcdefghijklmnopqrDEFhG", 26));
	file_close(g);
	mount_close(now);
}

int
main(void)
{
	struct zmap *z = store_new("mem:parts");
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	both_write(z, "plain", "\"<f8\"");
	both_write(z, "swapped", "\">f8\"");
	both_write(z, "complex", "\">c8\"");
	zmap_close(z);
	return check_end();
}
