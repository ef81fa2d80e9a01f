/* A local archive that is written, and that another program replaces. */
#include "check.h"
#include "store.h"
#include "zip_make.h"

#include <errno.h>
#include <fcntl.h>

static struct place here;
static char path[300], beside[300];
static struct zmap *z;

/* As programs do that pack an archive anew: beside the old one, and renamed. */
static void
replace(const char *text)
{
	struct zip_maker m = {0};
	zip_add(&m, (struct zip_file){.name = "v/.zarray", .text = text});
	zip_end(&m, false, "");
	int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, m.out.data, m.out.len), m.out.len);
	close(fd);
	CHECK_INT(rename(beside, path), 0);
	zip_made(&m);
}

static void
begin(void)
{
	here = place_new();
	snprintf(path, sizeof path, "%s/x.zip", here.path);
	snprintf(beside, sizeof beside, "%s/new", here.path);
	replace("old");
	z = store_open_url(path, true);
}

static void
end(void)
{
	zmap_close(z);
	place_remove(&here);
}

static int
put(const char *key)
{
	return zmap_put(
		z, &(struct zmap_put){.key = key, .bytes = {(const uint8_t *)"x", 1}}, NULL);
}

static void
expect(const char *key, int want, const char *text)
{
	store_expect(z, (struct zmap_get){.key = key}, want, text);
}

/* What is put after the other archive was seen goes there; no other writer may have it. */
static void
before(void)
{
	begin();
	replace("other");
	CHECK_INT(zmap_alive(z), 0);
	expect("v/.zarray", 0, "other");
	CHECK_INT(put("v/0"), 0);
	CHECK_INT(zmap_sync(z), 0);
	struct zmap *second = store_open_url(path, true);
	struct buf said = {0};
	CHECK_INT(zmap_try_writing(second, &said), -EBUSY);
	zmap_close(second);
	zmap_close(z);
	z = store_open_url(path, true);
	expect("v/.zarray", 0, "other");
	expect("v/0", 0, "x");
	end();
}

/* What was put over the old one is lost, and nothing is overwritten. */
static void
meanwhile(bool seen)
{
	begin();
	CHECK_INT(put("v/0"), 0);
	replace("other");
	if (seen)
		CHECK_INT(zmap_alive(z), 0);
	CHECK_INT(zmap_sync(z), -EIO);
	CHECK(strstr(err_text(), "changed by another program"));
	expect("v/.zarray", 0, "other");
	expect("v/0", ZMAP_ABSENT, "");
	CHECK_INT(put("v/1"), 0);
	CHECK_INT(zmap_sync(z), 0);
	zmap_close(z);
	z = store_open_url(path, true);
	expect("v/.zarray", 0, "other");
	expect("v/1", 0, "x");
	end();
}

/* Another mount has taken the new archive. */
static void
taken(void)
{
	begin();
	replace("other");
	struct zmap *second = store_open_url(path, true);
	CHECK_INT(zmap_alive(z), 0);
	CHECK_INT(put("v/0"), 0);
	CHECK_INT(zmap_sync(z), -EBUSY);
	zmap_close(second);
	CHECK_INT(zmap_sync(z), 0);
	expect("v/0", 0, "x");
	end();
}

int
main(void)
{
	before();
	meanwhile(false);
	meanwhile(true);
	taken();
	return check_end();
}
