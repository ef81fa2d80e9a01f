/* A store that takes no more for a while: of a new file that could not be stored nothing is left,
 * and the same one is stored when there is room. */
#include "mounted.h"
#include "store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 1 << 20 };

static const struct array_want how;
static uint8_t file[MOST]; /* a netCDF file of a variable `t` with six bytes, and how long it is */
static size_t len;

static void
read_file(void)
{
	struct zmap *z = store_new("mem:whole");
	struct mount_options o = options_new();
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "t", "\"|i1\"", "[6]", "[6]", "\"fill_value\": null");
	put_text(z, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\"]}");
	put_bytes(z, "t/0", "abcdef", 6);
	struct mount *m = mount_new("mem:whole", &o);
	struct file *f = open_for(m, "t.nc", O_RDONLY, 0);
	len = (size_t)read_at(f, 0, sizeof file, file);
	file_close(f);
	mount_close(m);
	zmap_close(z);
}

static void
check_key(struct zmap *z, const char *key, const char *want)
{
	CLEAN(buf_free) struct buf b = {0};
	const struct zmap_get g = {.key = key, .into = &b, .max = 100};
	CHECK_INT(zmap_get(z, &g, NULL), want ? 0 : ZMAP_ABSENT);
	CHECK_INT(b.len, want ? strlen(want) : 0);
	if (want && b.len == strlen(want))
		CHECK_MEM(b.data, want, b.len);
}

/* As cp does it. want: what close() says. */
static void
copy(struct mount *m, bool there, int want)
{
	struct entry e = {0};
	struct file *f = NULL;
	if (there)
		CHECK_INT(mount_lookup(m, "t.nc", &e), 0);
	else
		CHECK_INT(mount_create(m, "t.nc", &e), 0);
	CHECK_INT(file_open_for(m, &e, O_WRONLY | O_TRUNC, &f), 0);
	entry_free(&e);
	CHECK_INT(file_write(f, 0, (struct span){file, len}, &how, 0), 0);
	CHECK_INT(file_settle(f, SETTLE_FLUSH, 0, NULL), want);
	CHECK_INT(file_settle(f, SETTLE_RELEASE, 0, NULL), 0);
	file_close(f);
}

/* other: what another program has left in the place of the first chunk; or NULL. removed: the file
 * that failed, before it is written anew. */
static void
test_full(const char *other, bool removed)
{
	char full[] = "/tmp/zarrfs-full-XXXXXX", url[200];
	struct zmap *z = store_new("mem:full");
	struct mount_options o = options_new();
	o.rw = true;
	o.chunk = 3;
	o.codec = NEW_NONE;
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	if (other)
		put_bytes(z, "t/0", other, strlen(other));
	const int fd = mkstemp(full);
	CHECK(fd >= 0);
	close(fd);
	snprintf(url, sizeof url,
		"fault+mem:full#fault.kind=enospc&fault.calls=put&fault.match=t/1&fault.file=%s",
		full);
	struct mount *m = mount_new(url, &o);
	copy(m, false, -ENOSPC);
	check_key(z, "t/0", other ? "abc" : NULL);
	check_key(z, "t/1", NULL);
	check_key(z, "t/.zarray", NULL);
	CHECK_INT(unlink(full), 0);
	if (removed) {
		CHECK_INT(mount_unlink(m, "t.nc"), 0);
		CHECK_INT(mount_lost(m, NULL), 0);
	}
	copy(m, !removed, 0);
	check_key(z, "t/0", "abc");
	check_key(z, "t/1", "def");
	CHECK_INT(mount_drain(m, NULL), 0);
	CHECK_INT(mount_lost(m, NULL), 0);
	mount_close(m);
	zmap_close(z);
}

/* A directory that was made for an object goes if that cannot be written. */
static void
test_folder(void)
{
	const struct place p = place_new();
	const struct span some = {(const uint8_t *)"12345678", 8};
	struct rlimit most = {0}, four;
	struct zmap_stat st;
	char url[300], path[300];
	snprintf(url, sizeof url, "file://%s", p.path);
	struct zmap *z = store_new(url);
	put_bytes(z, "w/0", "1", 1);
	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &most), 0);
	four = most;
	four.rlim_cur = 4;
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &four), 0);
	CHECK_INT(zmap_put(z, &(struct zmap_put){"v/c/0", some}, &st), -EFBIG);
	CHECK_INT(zmap_put(z, &(struct zmap_put){"w/c/0", some}, &st), -EFBIG);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &most), 0);
	snprintf(path, sizeof path, "%s/v", p.path);
	CHECK_INT(access(path, F_OK), -1);
	snprintf(path, sizeof path, "%s/w/c", p.path);
	CHECK_INT(access(path, F_OK), -1);
	check_key(z, "w/0", "1");
	CHECK_INT(zmap_put(z, &(struct zmap_put){"v/c/0", some}, &st), 0);
	check_key(z, "v/c/0", "12345678");
	zmap_close(z);
	place_remove(&p);
}

int
main(void)
{
	read_file();
	test_full(NULL, false);
	test_full(NULL, true);
	test_full("old", false);
	test_folder();
	return check_end();
}
