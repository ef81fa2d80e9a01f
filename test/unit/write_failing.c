/* A fixed load of writes to a mount over a store whose n-th call fails, for every n: values, rows,
 * an attribute, the header of a netCDF file. What is left is right, or an error was told; then
 * nothing is there that was not written, and after a refresh the same load leaves what is right. */
#include "mounted.h"

#include <fcntl.h>
#include <stdlib.h>

enum { CALLS = 60, MOST = 1 << 20, HEADER = 4096, ROWS = 3, MORE = 2, X = 4 };

static const struct array_want how;

static void
put_store(struct zmap *z)
{
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "a", "\"|i1\"", "[3, 4]", "[2, 3]", "\"fill_value\": 7");
	put_text(z, "a/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"t\", \"x\"], \"units\": \"K\"}");
	put_meta(z, "b", "\"|i1\"", "[3]", "[2]", "\"fill_value\": 9");
	put_text(z, "b/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"t\"], \"note\": \"old\"}");
	put_bytes(z, "a/0.0", "\1\1\1\1\1\1", 6);
	put_bytes(z, "b/0", "\3\3", 2);
}

static void
consolidate(struct zmap *z)
{
	static const char *const key[] = {
		".zgroup", "a/.zarray", "a/.zattrs", "b/.zarray", "b/.zattrs"};
	CLEAN(buf_free) struct buf all = {0};
	CHECK_INT(buf_addf(&all, "{\"zarr_consolidated_format\": 1, \"metadata\": {"), 0);
	for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
		CLEAN(buf_free) struct buf doc = {0};
		struct zmap_stat s;
		CHECK_INT(zmap_get(z, &(struct zmap_get){.key = key[i], .into = &doc, .max = 4096},
				  &s),
			0);
		CHECK_INT(buf_addf(&all, "%s\"%s\": %.*s", i ? ", " : "", key[i], (int)doc.len,
				  (char *)doc.data),
			0);
	}
	CHECK_INT(buf_addf(&all, "}}"), 0);
	put_bytes(z, ".zmetadata", all.data, all.len);
}

/* What of the load was refused. */
struct load {
	struct mount *mount;
	bool told;
};

static void
did(struct load *l, int r)
{
	CHECK(r <= 0);
	l->told |= r < 0;
}

static struct file *
open_file(struct load *l, const char *path)
{
	struct entry e = {0};
	struct file *f = NULL;
	for (unsigned try = 0; try < 3; try++) {
		int r = mount_lookup(l->mount, path, &e);
		if (r == 0)
			r = file_open_for(l->mount, &e, O_RDWR, &f);
		entry_free(&e);
		if (r == -ESTALE)
			continue;
		did(l, r == ZMAP_ABSENT ? -ENOENT : r);
		break;
	}
	return f;
}

static void
close_file(struct load *l, struct file *f)
{
	if (!f)
		return;
	did(l, file_settle(f, SETTLE_FLUSH, 0, NULL));
	did(l, file_settle(f, SETTLE_RELEASE, 0, NULL));
	file_close(f);
}

static void
write_flat(struct load *l, uint64_t off, const char *bytes, size_t n)
{
	struct file *f = open_file(l, "a");
	if (f)
		did(l, file_write(f, off, (struct span){(const uint8_t *)bytes, n}, &how, 0));
	close_file(l, f);
}

static void
set_note(struct load *l)
{
	struct entry e = {0};
	int r = mount_lookup(l->mount, "b", &e);
	did(l, r == 0 ? mount_setxattr(
				l->mount, &e, "note", (struct span){(const uint8_t *)"new", 3}, 0)
		      : -ENOENT);
	entry_free(&e);
}

/* The letter of units, in the header of a.nc. */
static void
write_header(struct load *l)
{
	static const char units[] = "units\0\0\0\0\0\0\2\0\0\0\1";
	CLEAN(clean_free) uint8_t *all = malloc(MOST);
	struct file *f = open_file(l, "a.nc");
	int64_t n = f ? read_at(f, 0, HEADER, all) : 0;
	const uint8_t *at = n > 0 ? memmem(all, (size_t)n, units, sizeof units - 1) : NULL;
	did(l, n < 0 ? (int)n : 0);
	CHECK(at || l->told);
	if (at) {
		all[at - all + (ptrdiff_t)sizeof units - 1] = 'C';
		did(l, file_write(f, 0, (struct span){all, (size_t)n}, &how, 0));
	}
	close_file(l, f);
}

static bool
load(struct mount *m)
{
	struct load l = {.mount = m};
	write_flat(&l, 5, "\2\2\2", 3);
	write_flat(&l, X * ROWS, "\4\4\4\4\4\4\4\4", X * MORE);
	set_note(&l);
	write_header(&l);
	did(&l, mount_settle(m, "", SETTLE_FSYNC, NULL));
	return l.told;
}

static const uint8_t before[X * ROWS] = {1, 1, 1, 7, 1, 1, 1, 7, 7, 7, 7, 7};
static const uint8_t after[X * (ROWS + MORE)] = {
	1, 1, 1, 7, 1, 2, 2, 2, 7, 7, 7, 7, 4, 4, 4, 4, 4, 4, 4, 4};

static void
check_text(struct mount *m, const char *path, const char *name, const char *old, const char *new,
	bool done)
{
	struct entry e = {0};
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(mount_lookup(m, path, &e), 0);
	CHECK_INT(mount_getxattr(m, &e, name, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK(!strcmp((char *)b.data, new) || (!done && !strcmp((char *)b.data, old)));
	entry_free(&e);
}

/* What another mount sees. done: all of it; else each byte may be as it was, or as it was
 * written. */
static void
check_stored(const char *name, bool done)
{
	struct mount_options o = options_new();
	struct mount *m = mount_new(name, &o);
	struct file *f = NULL;
	uint8_t a[2 * sizeof after], b[2 * (ROWS + MORE)];
	CHECK_INT(open_path(m, "a", &f), 0);
	int64_t n = read_at(f, 0, sizeof a, a);
	f = file_close(f);
	CHECK(n == sizeof after || (!done && n == sizeof before));
	for (int64_t i = 0; i < n; i++)
		CHECK(a[i] == after[i] ||
			(!done && a[i] == (i < (int64_t)sizeof before ? before[i] : 7)));
	CHECK_INT(open_path(m, "b", &f), 0);
	n = read_at(f, 0, sizeof b, b);
	f = file_close(f);
	CHECK(n == ROWS + MORE || (!done && n == ROWS));
	for (int64_t i = 0; i < n; i++)
		CHECK_INT(b[i], i < 2 ? 3 : 9);
	check_text(m, "b", "note", "old", "new", done);
	check_text(m, "a", "units", "K", "C", done);
	mount_close(m);
}

/* True: no call failed, as there are fewer. */
static bool
try(const char *calls, unsigned n, bool consolidated)
{
	char name[64], url[200];
	struct mount_options o = options_new();
	struct mount *m = NULL;
	snprintf(name, sizeof name, "mem:%s-%u%s", calls, n, consolidated ? "-whole" : "");
	snprintf(url, sizeof url, "fault+%s#fault.kind=eio&fault.calls=%s&fault.nth=%u", name,
		calls, n);
	struct zmap *z = store_new(name);
	put_store(z);
	if (consolidated)
		consolidate(z);
	o.rw = true;
	o.unlimited = "t";
	bool told = mount_open(url, &o, &m) < 0;
	if (m) {
		told = load(m);
		check_stored(name, !told);
		CHECK_INT(mount_refresh(m, NULL), 0);
		if (told)
			CHECK(!load(m));
		check_stored(name, true);
		CHECK_INT(mount_drain(m, NULL), 0);
	}
	mount_close(m);
	zmap_close(z);
	return !told;
}

/* A store that has lost what was put tells that once, to a program that makes a directory: it may
 * be what others have written. */
static void
lost(void)
{
	struct mount_options o = options_new();
	struct zmap *z = store_new("mem:lost");
	struct entry e = {0};
	put_store(z);
	o.rw = true;
	o.zarr_format = 2;
	struct mount *m = mount_new(
		"fault+mem:lost#fault.kind=eio&fault.calls=sync&fault.nth=1&fault.late=1", &o);
	struct file *f = open_for(m, "a", O_RDWR, 0);
	CHECK_INT(file_write(f, 0, (struct span){(const uint8_t *)"\5", 1}, &how, 0), 0);
	CHECK_INT(mount_mkdir(m, "g", &e), -EIO);
	open_for(m, "b", O_RDWR, -EIO);
	CHECK_INT(mount_refresh(m, NULL), 0);
	CHECK_INT(mount_mkdir(m, "h", &e), 0);
	entry_free(&e);
	file_close(open_for(m, "b", O_RDWR, 0));
	CHECK_INT(file_settle(f, SETTLE_FSYNC, 0, NULL), -EIO); /* it has not heard of it before */
	CHECK_INT(mount_refresh(m, NULL), 0);
	CHECK_INT(file_settle(f, SETTLE_FSYNC, 0, NULL), 0);
	file_close(f);
	file_close(open_for(m, "a", O_RDWR, 0));
	mount_close(m);
	zmap_close(z);
}

/* An array goes with all its chunks, though that takes longer than one operation may. */
static void
removed(void)
{
	enum { CHUNKS = 20 };
	struct mount_options o = options_new();
	struct zmap *z = store_new("mem:removed");
	struct zmap_stat s;
	char key[16];
	put_store(z);
	put_meta(z, "c", "\"|i1\"", "[20]", "[1]", "\"fill_value\": 0");
	for (int i = 0; i < CHUNKS; i++) {
		snprintf(key, sizeof key, "c/%d", i);
		put_bytes(z, key, "\1", 1);
	}
	o.rw = o.allow_delete = true;
	o.data.timeout = SECOND;
	struct mount *m = mount_new(
		"fault+mem:removed#fault.kind=delay&fault.calls=del&fault.ms=60&fault.match=c/",
		&o);
	CHECK_INT(mount_unlink(m, "c"), 0);
	for (int i = 0; i < CHUNKS; i++) {
		snprintf(key, sizeof key, "c/%d", i);
		CHECK_INT(zmap_stat(z, key, &s), ZMAP_ABSENT);
	}
	mount_close(m);
	zmap_close(z);
}

int
main(void)
{
	unsigned passed = 0;
	for (unsigned n = 1; n <= 2 * CALLS; n++) {
		passed += try("put", (n + 1) / 2, n % 2);
		passed += try("get", (n + 1) / 2, n % 2);
		passed += try("list", (n + 1) / 2, n % 2);
		passed += try("stat", (n + 1) / 2, n % 2);
	}
	CHECK(passed > 0 && passed < 2 * 4 * CALLS);
	lost();
	removed();
	return check_end();
}
