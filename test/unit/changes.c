/* What a mount shows when the store changes under it, and of stores of other kinds. */
#include "mounted.h"
#include "store.h"

#include "view/stale.h"
#include "view/state.h"

#include <dirent.h>

static const char STORE[] = "mem:changes";

static char told[4096];

static void
hear(void *arg, const char *path, enum stale_what what, int64_t pushed)
{
	size_t n = strlen(told);
	snprintf(told + n, sizeof told - n, "%s:%d ", path, what);
}

static bool
was_told(struct mount *m, const char *what)
{
	stale_flush(atomic_load(&m->stale), INT64_MAX);
	return strstr(told, what);
}

static void
forget_told(struct mount *m)
{
	stale_flush(atomic_load(&m->stale), INT64_MAX);
	told[0] = 0;
}

static void
put_rows(struct zmap *z, int from, int to, int16_t value)
{
	for (int i = from; i < to; i++) {
		char key[32];
		int16_t row[4] = {value, value, value, value};
		snprintf(key, sizeof key, "a/%d.0", i);
		put_bytes(z, key, row, sizeof row);
	}
}

static const char *
refreshed(struct mount *m)
{
	static char text[1024];
	struct buf b = {0};
	CHECK_INT(mount_refresh(m, &b), 0);
	snprintf(text, sizeof text, "%.*s", (int)b.len, (char *)b.data);
	buf_free(&b);
	return text;
}

static int
first_of(struct file *f)
{
	int16_t v = -1;
	int64_t n = read_at(f, 0, 2, &v);
	return n == 2 ? v : (int)n;
}

/* A file that was open lives on while its array only grows, and no longer. */
static void
test_rewritten(struct mount *m, struct zmap *z)
{
	struct entry e = {0}, now = {0};
	struct file *old = NULL, *f = NULL;
	CHECK_INT(mount_lookup(m, "a", &e), 0);
	CHECK_INT(file_open(m, &e, &old), 0);
	CHECK_INT(first_of(old), 1);
	CHECK_STR(refreshed(m), "nothing changed\n");

	put_meta(z, "a", "\"<i2\"", "[5, 4]", "[1, 4]", "\"fill_value\": 9");
	put_rows(z, 3, 5, 2);
	CHECK(strstr(refreshed(m), "a"));
	CHECK_INT(mount_lookup(m, "a", &now), 0);
	CHECK_INT(now.size, 40);
	CHECK(now.version != e.version && now.ino == e.ino);
	CHECK_INT(file_open(m, &e, &f), -ESTALE);
	CHECK_INT(first_of(old), 1);
	CHECK_INT(file_size(old), 24);
	CHECK_INT(file_open(m, &now, &f), 0);
	CHECK_INT(first_of(f), 1);
	entry_free(&e);

	put_meta(z, "a", "\"<f2\"", "[5, 4]", "[1, 4]", "\"fill_value\": 9");
	forget_told(m);
	CHECK(strstr(refreshed(m), "a"));
	CHECK(was_told(m, "a:1 "));
	CHECK_INT(first_of(old), -EIO);
	CHECK_INT(first_of(f), -EIO);
	CHECK(strstr(err_text(), "rewritten"));
	old = file_close(old);
	f = file_close(f);
	CHECK_INT(file_open(m, &now, &f), -ESTALE);
	entry_free(&now);

	put_meta(z, "a", "\"<i2\"", "[5, 4]", "[1, 4]", "\"fill_value\": 9");
	refreshed(m);
	CHECK_INT(open_path(m, "a", &f), 0);
	CHECK_INT(first_of(f), 1);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"a/.zarray"}), 0);
	refreshed(m);
	CHECK_INT(first_of(f), -EIO);
	CHECK_INT(
		open_path(m, "a", &old), -EISDIR); /* keys that belong to no array lie there now */
	f = file_close(f);
	put_meta(z, "a", "\"<i2\"", "[3, 4]", "[1, 4]", "\"fill_value\": 9");
	refreshed(m);
}

static void
test_chunk(struct mount *m, struct zmap *z)
{
	struct file *f = NULL, *again = NULL;
	CHECK_INT(open_path(m, "a", &f), 0);
	CHECK(!file_keep_cache(f));
	CHECK_INT(first_of(f), 1);
	CHECK_INT(open_path(m, "a", &again), 0);
	CHECK(file_keep_cache(again));
	again = file_close(again);

	put_rows(z, 0, 1, 7);
	forget_told(m);
	refreshed(m);
	CHECK(was_told(m, "a:1 "));
	forget_told(m);
	CHECK_INT(first_of(f), 7);
	CHECK(was_told(m, "a:2 "));
	CHECK_INT(open_path(m, "a", &again), 0);
	CHECK(!file_keep_cache(again));
	again = file_close(again);
	f = file_close(f);
}

/* The part that spoke to the kernel has gone, and loads still find changes. */
static void
test_end(struct mount *m, struct zmap *z)
{
	struct file *f = NULL;
	CHECK_INT(open_path(m, "a", &f), 0);
	int was = first_of(f);
	mount_on_stale(m, NULL, NULL);
	told[0] = 0;
	put_rows(z, 0, 1, (int16_t)(was + 1));
	refreshed(m);
	CHECK_INT(first_of(f), was + 1);
	usleep(1000);
	CHECK_STR(told, "");
	f = file_close(f);
}

static void
put_strings(struct zmap *z, const char *key, const char *a, const char *b)
{
	struct buf v = {0};
	const char *s[] = {a, b};
	buf_add(&v, &(uint32_t){2}, 4);
	for (unsigned i = 0; i < 2; i++) {
		buf_add(&v, &(uint32_t){(uint32_t)strlen(s[i])}, 4);
		buf_add(&v, s[i], strlen(s[i]));
	}
	put_bytes(z, key, v.data, v.len);
	buf_free(&v);
}

static void
test_strings(struct mount *m, struct zmap *z)
{
	char got[64];
	struct file *f = NULL;
	put_meta(z, "s", "\"|O\"", "[4]", "[2]",
		"\"fill_value\": \"\", \"filters\": [{\"id\": \"vlen-utf8\"}]");
	put_strings(z, "s/0", "one", "three");
	put_strings(z, "s/1", "", "x");
	refreshed(m);
	CHECK_INT(open_path(m, "s", &f), 0);
	CHECK_INT(file_size(f), 20);
	CHECK_INT(read_at(f, 0, 64, got), 20);
	CHECK_MEM(got, "one\0\0three\0\0\0\0\0x\0\0\0\0", 20);

	put_strings(z, "s/1", "longer than before", "x");
	refreshed(m);
	CHECK_INT(read_at(f, 10, 10, got), -EIO); /* never cut off */
	f = file_close(f);
	CHECK_INT(open_path(m, "s", &f), 0);
	CHECK_INT(file_size(f), 72);
	CHECK_INT(read_at(f, 36, 18, got), 18);
	CHECK_MEM(got, "longer than before", 18);
	f = file_close(f);
}

static void
test_single(void)
{
	struct zmap *z = store_new("mem:single");
	struct mount_options o = options_new();
	struct entry e = {0};
	put_meta(z, "", "\"|S1\"", "[3]", "[3]", "\"fill_value\": null");
	put_text(z, ".zattrs", "{\"units\": \"1\"}");
	put_bytes(z, "0", "xyz", 3);
	struct mount *m = mount_new("mem:single", &o);
	CHECK_STR(text_of(m, "single"), "xyz");
	CHECK_INT(mount_lookup(m, "", &e), 0);
	CHECK_INT(e.kind, ENTRY_DIR);
	entry_free(&e);
	CHECK_INT(mount_lookup(m, "0", &e), ZMAP_ABSENT);
	CHECK_INT(mount_lookup(m, "single", &e), 0);
	CHECK_INT(e.kind, ENTRY_FILE);
	struct buf b = {0};
	CHECK_INT(mount_getxattr(m, &e, "units", &b), 0);
	CHECK_INT(b.len, 1);
	buf_free(&b);
	entry_free(&e);
	CHECK_STR(text_of(m, ".store/0"), "xyz");
	m = mount_close(m);
	z = zmap_close(z);
}

static void
write_file(const struct place *p, const char *name, const char *text)
{
	char path[600];
	snprintf(path, sizeof path, "%s/%s", p->path, name);
	FILE *f = fopen(path, "w");
	CHECK(f);
	fputs(text, f);
	fclose(f);
}

/* A directory that holds stores and other things; it is no store itself. */
static void
test_above(void)
{
	struct place p = place_new();
	struct mount_options o = options_new();
	char path[600];
	write_file(&p, "readme.txt", "hello");
	static const char *const dirs[] = {"x.zarr", "x.zarr/v", "deep", "deep/y.zarr", "empty"};
	for (unsigned i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", p.path, dirs[i]);
		CHECK_INT(mkdir(path, 0700), 0);
	}
	static const char v[] = "{\"zarr_format\": 2, \"shape\": [2], \"chunks\": [2], \"dtype\": "
				"\"|S1\", \"compressor\": null, "
				"\"order\": \"C\", \"fill_value\": null, \"filters\": null}";
	write_file(&p, "x.zarr/.zgroup", "{\"zarr_format\": 2}");
	write_file(&p, "x.zarr/v/.zarray", v);
	write_file(&p, "x.zarr/v/0", "hi");
	write_file(&p, "deep/y.zarr/.zarray", v);
	write_file(&p, "deep/y.zarr/0", "yo");
	struct mount *m = mount_new(p.path, &o);
	CHECK_STR(text_of(m, "readme.txt"), "hello");
	CHECK_STR(text_of(m, "x.zarr/v"), "hi");
	CHECK_STR(text_of(m, "deep/y.zarr"), "yo");
	CHECK_STR(text_of(m, "empty"), "(-21)"); /* EISDIR */
	CHECK_STR(text_of(m, "x.zarr/v/0"), "(1)");
	m = mount_close(m);

	snprintf(path, sizeof path, "%s/empty", p.path);
	m = mount_new(path, &o);
	m = mount_close(m);
	snprintf(path, sizeof path, "%s/not-there", p.path);
	CHECK(mount_open(path, &o, &m) < 0);
	CHECK(strstr(err_text(), "not-there"));
	snprintf(path, sizeof path, "%s/readme.txt", p.path);
	CHECK(mount_open(path, &o, &m) < 0);
	CHECK(mount_open("nosuch://x", &o, &m) < 0);
	place_remove(&p);
}

/* Consolidated metadata of before: what an open would find is found without one, and then it opens
 * at once. */
static void
test_looked(void)
{
	static const char meta[] =
		"{\"zarr_format\": 2, \"shape\": [2], \"chunks\": [2], \"dtype\": \"<i2\", "
		"\"compressor\": null, \"order\": \"C\", \"fill_value\": 0, \"filters\": null}";
	struct zmap *z = store_new("mem:looked");
	struct mount_options o = options_new();
	struct entry before = {0}, after = {0};
	struct file *f = NULL;
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_text(z, ".zmetadata",
		"{\"zarr_consolidated_format\": 1, \"metadata\": {\".zgroup\": "
		"{\"zarr_format\": 2}, \"a/.zarray\": %s, \"b/.zarray\": %s}}",
		meta, meta);
	put_meta(z, "a", "\"<i2\"", "[2]", "[2]", "\"fill_value\": 0");
	put_meta(z, "b", "\"<f8\"", "[2]", "[1]", "\"fill_value\": 0");
	struct mount *m = mount_new("mem:looked", &o);
	CHECK_INT(mount_lookup(m, "dataset.nc", &before), 0);
	CHECK_INT(file_open(m, &before, &f), -ESTALE);
	m = mount_close(m);
	m = mount_new("mem:looked", &o);
	file_look(m, &before);
	CHECK_INT(mount_lookup(m, "dataset.nc", &after), 0);
	CHECK(after.version != before.version);
	CHECK_INT(file_open(m, &after, &f), 0);
	file_close(f);
	entry_free(&before);
	entry_free(&after);
	m = mount_close(m);
	z = zmap_close(z);
}

static void
nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 250 * 1000000}, NULL);
}

/* A store that is moved away, or loses the array, gives errors and never fill values; one that
 * comes back is read again. */
static void
test_moved(bool array_only)
{
	struct place p = place_new();
	struct mount_options o = options_new();
	struct file *f = NULL;
	char dir[300], from[600], to[600];
	o.model.ttl = o.data.ttl = SECOND / 10;
	snprintf(dir, sizeof dir, "%s/s.zarr", p.path);
	snprintf(from, sizeof from, "%s%s", dir, array_only ? "/v" : "");
	snprintf(to, sizeof to, "%s/away", p.path);
	CHECK_INT(mkdir(dir, 0700), 0);
	struct zmap *z = store_open("", "dir", dir, true);
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "v", "\"<i2\"", "[4]", "[2]", "\"fill_value\": 9");
	put_bytes(z, "v/0", "\1\0\2", 4);
	z = zmap_close(z);
	struct mount *m = mount_new(dir, &o);
	int16_t v[4];
	CHECK_INT(open_path(m, "v", &f), 0);
	CHECK_INT(read_at(f, 0, 8, v), 8);
	CHECK(v[0] == 1 && v[2] == 9);
	CHECK_INT(rename(from, to), 0);
	nap();
	CHECK_INT(read_at(f, 4, 4, v), -EIO);
	CHECK_INT(read_at(f, 0, 4, v), -EIO);
	struct entry e = {0};
	CHECK_INT(mount_lookup(m, "", &e), 0); /* the way to .zarrfs */
	entry_free(&e);
	CHECK(strstr(text_of(m, ".zarrfs/stats"), "zarrfs_"));
	struct file *again = NULL;
	int r = open_path(m, "v", &again);
	CHECK(r == -EIO || (array_only && r == ZMAP_ABSENT));
	f = file_close(f);
	CHECK_INT(rename(to, from), 0);
	nap();
	CHECK_INT(open_path(m, "v", &f), 0);
	CHECK_INT(read_at(f, 0, 8, v), 8);
	CHECK(v[0] == 1 && v[2] == 9);
	f = file_close(f);
	m = mount_close(m);
	place_remove(&p);
}

int
main(void)
{
	struct zmap *z = store_new(STORE);
	struct mount_options o = options_new();
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "a", "\"<i2\"", "[3, 4]", "[1, 4]", "\"fill_value\": 9");
	put_rows(z, 0, 3, 1);
	struct mount *m = mount_new(STORE, &o);
	mount_on_stale(m, hear, NULL);
	test_rewritten(m, z);
	test_chunk(m, z);
	test_strings(m, z);
	test_end(m, z);
	m = mount_close(m);
	z = zmap_close(z);
	test_single();
	test_above();
	test_looked();
	test_moved(false);
	test_moved(true);
	return check_end();
}
