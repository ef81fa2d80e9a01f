/* A store whose n-th call fails, for every n: what is shown then is right or an error, and after a
 * refresh all is right. */
#include "mounted.h"
#include "store.h"

#include <dirent.h>

static const char STORE[] = "mem:failing";

enum { CALLS = 60 };

static const struct {
	const char *path, *bytes;
} file_table[] = {
	{"a", "abcdef"},
	{"g/b", "xyxyxy"},
	{"g/s", "one\0\0three\0\0\0\0\0"},
};

static const size_t size_table[] = {6, 6, 15};

static void
put_store(struct zmap *z)
{
	static const uint8_t strings[] = "\3\0\0\0\3\0\0\0one\5\0\0\0three\0\0\0\0";
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_text(z, ".zattrs", "{\"title\": \"t\"}");
	put_meta(z, "a", "\"|S1\"", "[6]", "[2]", "\"fill_value\": null");
	put_bytes(z, "a/0", "ab", 2);
	put_bytes(z, "a/1", "cd", 2);
	put_bytes(z, "a/2", "ef", 2);
	put_text(z, "a/.zattrs", "{\"units\": \"K\"}");
	put_text(z, "g/.zgroup", "{\"zarr_format\": 2}");
	put_meta(z, "g/b", "\"|S2\"", "[3]", "[3]", "\"fill_value\": \"eHk=\"");
	put_meta(z, "g/s", "\"|O\"", "[3]", "[3]",
		"\"fill_value\": \"\", \"filters\": [{\"id\": \"vlen-utf8\"}]");
	put_bytes(z, "g/s/0", strings, sizeof strings - 1);
}

struct path_walk {
	struct mount *mount;
	const char *path;
	bool strict;
	unsigned seen;
};

static int
see(void *arg, const char *name, uint64_t ino, unsigned char type)
{
	struct path_walk *w = arg;
	struct entry e = {0};
	struct buf b = {0};
	char path[300];
	snprintf(path, sizeof path, "%s%s%s", w->path, *w->path ? "/" : "", name);
	int r = mount_lookup(w->mount, path, &e);
	CHECK(r == 0 || !w->strict);
	if (r == 0) {
		r = mount_listxattr(w->mount, &e, &b);
		CHECK(r == 0 || !w->strict);
		b.len = 0;
		r = mount_getxattr(w->mount, &e, "zarrfs.error", &b);
		CHECK(r == ZMAP_ABSENT || !w->strict);
	}
	buf_free(&b);
	entry_free(&e);
	w->seen++;
	return 0;
}

static void
walk(struct mount *m, bool strict)
{
	static const char *const dirs[] = {"", "g", ".zarrfs", ".store", ".store/g"};
	static const unsigned counts[] = {3, 4, 4, 4, 3};
	for (unsigned i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
		struct path_walk w = {m, dirs[i], strict, 0};
		int r = mount_list(m, dirs[i], see, &w);
		CHECK(!strict || (r == 0 && w.seen == counts[i]));
	}
	mount_preload(m, "g");
}

static void
read_all(struct mount *m, bool strict, const char *what)
{
	for (unsigned i = 0; i < sizeof file_table / sizeof file_table[0]; i++) {
		struct file *f = NULL;
		char got[64];
		int64_t r = open_path(m, file_table[i].path, &f);
		if (r == 0)
			r = read_at(f, 0, sizeof got, got);
		bool right = r == (int64_t)size_table[i] &&
			     !memcmp(got, file_table[i].bytes, size_table[i]);
		if (f && (strict || r >= 0) && !right && file_size(f) == size_table[i])
			fprintf(stderr, "%s: '%s' is %lld (%s), '%.*s'\n", what, file_table[i].path,
				(long long)r, err_text(), (int)size_table[i], r > 0 ? got : "");
		CHECK(right || (!strict && (r != 0 || f)));
		/* Of a width that could not be measured the file is wider, but never of other
		 * content. */
		CHECK(right || r <= 0 || file_size(f) > size_table[i]);
		file_close(f);
	}
}

/* False: refused at once. */
static bool
try(const struct place *p, const char *kind, const char *calls, unsigned nth)
{
	char url[600], broken[300];
	struct mount_options o = options_new();
	struct mount *m = NULL;
	snprintf(broken, sizeof broken, "%s/broken", p->path);
	snprintf(url, sizeof url,
		"fault+%s#fault.kind=%s&fault.calls=%s&fault.nth=%u&fault.file=%s", STORE, kind,
		calls, nth, broken);
	fclose(fopen(broken, "w"));
	if (mount_open(url, &o, &m) < 0)
		return false;
	walk(m, false);
	read_all(m, false, url);
	CHECK_INT(unlink(broken), 0);
	CHECK_INT(mount_refresh(m, NULL), 0);
	walk(m, true);
	read_all(m, true, url);
	m = mount_close(m);
	return true;
}

/* One read of `ms` patience; how long it took, in ms. */
static int64_t
late_read(struct file *f, uint64_t off, int64_t ms)
{
	struct reply r = {0};
	int64_t start = clock_now();
	struct array_want w = {.off = off, .len = 1, .deadline = start + ms * 1000000};
	CHECK_INT(file_read(f, &w, &r), -EIO);
	return (clock_now() - start) / 1000000;
}

/* What is asked for again at once, as the kernel does, is not waited for again. */
static void
test_late(void)
{
	struct mount_options o = options_new();
	struct mount *m =
		mount_new("fault+mem:failing#fault.kind=hang&fault.match=a/1&fault.calls=get", &o);
	struct file *f = NULL;
	char got[2];
	CHECK_INT(open_path(m, "a", &f), 0);
	CHECK(late_read(f, 2, 400) >= 400);
	CHECK(late_read(f, 2, 20000) < 20000);
	CHECK_INT(read_at(f, 4, 2, got), 2);
	CHECK_MEM(got, "ef", 2);
	f = file_close(f);
	m = mount_close(m);
}

int
main(void)
{
	struct place p = place_new();
	struct zmap *z = store_new(STORE);
	put_store(z);
	for (unsigned n = 1; n <= CALLS; n++) {
		CHECK(try(&p, "eio", "get,stat,list", n) || n < 10);
		CHECK(try(&p, "eacces", "get,stat,list", n) || n < 10);
		try(&p, "truncate", "get", n);
	}
	test_late();
	z = zmap_close(z);
	place_remove(&p);
	return check_end();
}
