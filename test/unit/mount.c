/* What a mount shows: names, sizes, attributes, what happens when the store changes. */
#include "mounted.h"

#include <dirent.h>
#include <sys/stat.h>

static const char STORE[] = "mem:mount";

static char listed[4096];
static struct mount *listed_of;
static const char *listed_path;

/* "name/ name …" in order; inodes and types are those of lookup. */
static int
list_name(void *arg, const char *name, uint64_t ino, unsigned char type)
{
	size_t n = strlen(listed);
	char path[600];
	struct entry e = {0};
	type &= (unsigned char)~MOUNT_NO_NODE;
	snprintf(listed + n, sizeof listed - n, "%s%s ", name,
		type == DT_DIR   ? "/"
		: type == DT_REG ? ""
				 : "?");
	snprintf(path, sizeof path, "%s%s%s", listed_path, *listed_path ? "/" : "", name);
	CHECK_INT(mount_lookup(listed_of, path, &e), 0);
	CHECK(e.ino == ino);
	if (type != DT_UNKNOWN)
		CHECK_INT(e.kind, type == DT_DIR ? ENTRY_DIR : ENTRY_FILE);
	entry_free(&e);
	return 0;
}

static const char *
list_of(struct mount *m, const char *path)
{
	listed[0] = 0;
	listed_of = m;
	listed_path = path;
	CHECK_INT(mount_list(m, path, list_name, NULL), 0);
	return listed;
}

static const char *
xattr_of(struct mount *m, const char *path, const char *name)
{
	static char text[8192];
	struct entry e = {0};
	struct buf b = {0};
	CHECK_INT(mount_lookup(m, path, &e), 0);
	int r = mount_getxattr(m, &e, name, &b);
	if (r)
		snprintf(text, sizeof text, "(%d)", r);
	else
		snprintf(text, sizeof text, "%.*s", (int)b.len, b.data ? (char *)b.data : "");
	buf_free(&b);
	entry_free(&e);
	return text;
}

/* The names of all attributes, each with a blank behind it. */
static const char *
xattrs_of(struct mount *m, const char *path)
{
	static char text[8192];
	struct entry e = {0};
	struct buf b = {0};
	CHECK_INT(mount_lookup(m, path, &e), 0);
	CHECK_INT(mount_listxattr(m, &e, &b), 0);
	for (size_t i = 0; i < b.len; i++)
		text[i] = b.data[i] ? (char)b.data[i] : ' ';
	text[b.len] = 0;
	buf_free(&b);
	entry_free(&e);
	return text;
}

static int64_t
size_of(struct mount *m, const char *path)
{
	struct entry e = {0};
	int r = mount_lookup(m, path, &e);
	int64_t size = r ? -1 : (int64_t)e.size;
	entry_free(&e);
	return size;
}

static void
put_store(struct zmap *z)
{
	static const int16_t row[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_text(z, ".zattrs", "{\"title\": \"by hand\"}");
	put_meta(z, "a", "\"<i2\"", "[3, 4]", "[1, 4]", "\"fill_value\": 9");
	put_text(z, "a/.zattrs",
		"{\"units\": \"K\", \"scale\": 0.5, \"_ARRAY_DIMENSIONS\": [\"y\", \"x\"]}");
	put_bytes(z, "a/0.0", row[0], sizeof row[0]);
	put_bytes(z, "a/1.0", row[1], sizeof row[1]);
	put_meta(z, "g/b", "\"|S2\"", "[2]", "[2]", "\"fill_value\": null");
	put_bytes(z, "g/b/0", "abcd", 4);
	put_text(z, "g/.zgroup", "{\"zarr_format\": 2}");
	put_text(z, "g/.zattrs", "{\"about\": \"g\"}");
	put_text(z, "odd/.zarray",
		"{\"zarr_format\": 2, \"shape\": [4], \"chunks\": [4], \"dtype\": \"<i4\", "
		"\"order\": \"C\", "
		"\"fill_value\": 0, \"filters\": null, \"compressor\": {\"id\": \"no_such\"}}");
	put_text(z, "broken/.zarray", "{\"zarr_format\": 2, ");
	put_meta(z, "a.nc", "\"|u1\"", "[3]", "[3]", "\"fill_value\": 65");
	put_meta(z, "none", "\"<f8\"", "[0, 5]", "[1, 5]", "\"fill_value\": 0");
	put_meta(z, "one", "\"|u1\"", "[]", "[]", "\"fill_value\": 66");
}

static void
test_names(struct mount *m)
{
	const char *names = list_of(m, "");
	for (const char *const *n =
			(const char *const[]){"a ", "a.nc ", "g/ ", "none ", "odd ", "one ", NULL};
		*n; n++)
		CHECK(strstr(names, *n) && "listed");
	CHECK(!strstr(names, ".z") && !strstr(names, ".store"));
	CHECK_STR(list_of(m, "g"), "b.nc b ");
	struct entry e = {0};
	CHECK_INT(mount_lookup(m, "", &e), 0);
	CHECK_INT(e.ino, 1);
	CHECK_INT(e.mode, S_IFDIR | 0555);
	entry_free(&e);
	CHECK_INT(mount_lookup(m, "a", &e), 0);
	CHECK_INT(e.kind, ENTRY_FILE);
	CHECK_INT(e.mode, S_IFREG | 0444);
	CHECK_INT(e.size, 24);
	CHECK(e.view == view_table[0]);
	entry_free(&e);
	static const char *const absent[] = {"b", "a/0.0", "a/.zarray", ".zgroup", "g/c", "x/y",
		"g/..", ".zarrfs/x", ".store/x", ".store/../a"};
	for (unsigned i = 0; i < sizeof absent / sizeof absent[0]; i++) {
		int r = mount_lookup(m, absent[i], &e);
		if (r != ZMAP_ABSENT)
			fprintf(stderr, "'%s':\n", absent[i]);
		CHECK_INT(r, ZMAP_ABSENT);
	}
	CHECK_INT(size_of(m, "none"), 0);
	CHECK_STR(text_of(m, "none"), "");
	CHECK_STR(text_of(m, "one"), "B");
	CHECK_STR(text_of(m, "a.nc"), "AAA");
	CHECK_STR(text_of(m, "g/b"), "abcd");
}

static void
test_bytes(struct mount *m)
{
	static const uint8_t want[24] = {
		1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 9, 0, 9, 0, 9, 0};
	struct file *f = NULL;
	CHECK_INT(open_path(m, "a", &f), 0);
	CHECK_INT(file_size(f), 24);
	for (uint64_t off = 0; off <= 30; off++)
		for (size_t len = 0; len <= 30; len++) {
			uint8_t got[30];
			int64_t n = off >= 24 ? 0 : (int64_t)(len < 24 - off ? len : 24 - off);
			CHECK_INT(read_at(f, off, len, got), n);
			CHECK_MEM(got, want + (n ? off : 0), (size_t)n);
		}
	f = file_close(f);
	CHECK(!f);
}

/* A chunk that no memory holds costs nothing where it is absent. */
static void
test_hole(struct mount *m, struct zmap *z)
{
	char got[8];
	struct file *f = NULL;
	put_text(z, "hole/.zarray",
		"{\"zarr_format\": 2, \"shape\": [4, 1099511627776], \"chunks\": [2, "
		"1099511627776], "
		"\"dtype\": \"|i1\", \"compressor\": {\"id\": \"zlib\", \"level\": 1}, "
		"\"filters\": null, \"order\": \"C\", \"fill_value\": 7}");
	CHECK_INT(open_path(m, "hole", &f), 0);
	CHECK_INT(read_at(f, 2199023255552 - 4, 8, got), 8);
	CHECK_MEM(got, "\7\7\7\7\7\7\7\7", 8);
	f = file_close(f);
}

/* Names as long as a store likes. */
static void
test_long(struct mount *m, struct zmap *z)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(
		buf_addf(&b,
			"{\"zarr_format\": 2, \"shape\": [4], \"chunks\": [4], \"dtype\": \"<i4\", "
			"\"order\": \"C\", \"fill_value\": 0, \"filters\": null, "
			"\"compressor\": {\"id\": \"long%*s\"}}",
			200000, "x"),
		0);
	put_bytes(z, "long/.zarray", b.data, b.len);
	CHECK_INT(strncmp(xattr_of(m, "long", "zarrfs.codecs"), "long ", 5), 0);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"long/.zarray"}), 0);
}

static void
test_errors(struct mount *m)
{
	struct file *f = NULL;
	CHECK_INT(size_of(m, "odd"), 16);
	CHECK_INT(open_path(m, "odd", &f), -EIO);
	CHECK(strstr(err_text(), "no_such"));
	CHECK(strstr(xattr_of(m, "odd", "zarrfs.error"), "no_such"));
	CHECK_STR(xattr_of(m, "a", "zarrfs.error"), "(1)");
	int r = open_path(m, "broken", &f);
	CHECK(r == -EIO || r == ZMAP_ABSENT || r == -EISDIR);
	CHECK_INT(open_path(m, "g", &f), -EISDIR);
	CHECK_INT(open_path(m, "", &f), -EISDIR);
}

static void
test_attributes(struct mount *m)
{
	CHECK_STR(xattr_of(m, "a", "units"), "K");
	CHECK_STR(xattr_of(m, "a", "none"), "(1)");
	CHECK_STR(xattr_of(m, "a", "_ARRAY_DIMENSIONS"), "(1)");
	CHECK_STR(xattr_of(m, "", "title"), "by hand");
	CHECK_STR(xattr_of(m, "g", "about"), "g");
	CHECK_STR(xattr_of(m, "a", "zarrfs.shape"), "3, 4");
	CHECK_STR(xattr_of(m, "a", "zarrfs.chunks"), "1, 4");
	CHECK_STR(xattr_of(m, "a", "zarrfs.dims"), "y, x");
	CHECK_STR(xattr_of(m, "g/b", "zarrfs.dims"), "_Anonymous_Dim_2");
	CHECK_STR(xattr_of(m, "a", "zarrfs.dtype"), "<i2");
	CHECK_STR(xattr_of(m, "a", "zarrfs.codecs"), "");
	CHECK_STR(xattr_of(m, "odd", "zarrfs.codecs"), "no_such");
	CHECK_STR(xattr_of(m, "a", "zarrfs.fill_value"), "9s");
	CHECK_STR(xattr_of(m, "g/b", "zarrfs.fill_value"), "null");
	CHECK_STR(xattr_of(m, "a", "zarrfs.format"), "Zarr V2");
	CHECK_STR(xattr_of(m, "g/b", "zarrfs.key"), "g/b");
	CHECK_STR(xattr_of(m, "", "zarrfs.shape"), "(1)");
	CHECK_STR(xattrs_of(m, ""), "user.title ");
	CHECK_STR(xattrs_of(m, "a"),
		"user.zarrfs.shape user.zarrfs.dims user.zarrfs.dtype user.zarrfs.chunks "
		"user.zarrfs.codecs "
		"user.zarrfs.fill_value user.zarrfs.format user.zarrfs.cost user.zarrfs.key "
		"user.units user.scale ");
	CHECK_STR(xattrs_of(m, ".zarrfs"), "");
	CHECK_STR(xattrs_of(m, ".store/a"), "");
}

static int
more_stats(void *arg, struct buf *ret)
{
	return buf_addf(ret, "zarrfs_more 1\n");
}

static int
config(struct buf *ret)
{
	return buf_addf(ret, "endian=little\n");
}

static void
test_special(struct mount *m)
{
	CHECK_STR(list_of(m, ".zarrfs"), "config log refresh stats ");
	struct entry e = {0};
	CHECK_INT(mount_lookup(m, ".zarrfs", &e), 0);
	CHECK_INT(e.mode, S_IFDIR | 0500);
	entry_free(&e);
	CHECK_INT(mount_lookup(m, ".zarrfs/stats", &e), 0);
	CHECK_INT(e.mode, S_IFREG | 0400);
	CHECK(e.unknown_length);
	entry_free(&e);
	mount_on_stats(m, more_stats, NULL);
	const char *stats = text_of(m, ".zarrfs/stats");
	CHECK(strstr(stats, "zarrfs_more 1\n"));
	CHECK(strstr(stats, "zarrfs_store_requests_total{kind=\"get\"} "));
	CHECK(strstr(stats, "zarrfs_store_bytes_read_total "));
	CHECK_STR(text_of(m, ".zarrfs/config"), "store=mem:mount\nendian=little\n");
}

static void
test_store_keys(struct mount *m, struct zmap *z)
{
	CHECK_STR(list_of(m, ".store/g"), ".zattrs .zgroup b/ ");
	CHECK_STR(list_of(m, ".store/g/b"), ".zarray 0 ");
	CHECK(strstr(list_of(m, ".store"), ".zgroup a/ a.nc/ "));
	CHECK_STR(text_of(m, ".store/g/b/0"), "abcd");
	CHECK_STR(text_of(m, ".store/broken/.zarray"), "{\"zarr_format\": 2, ");
	struct entry e = {0};
	CHECK_INT(mount_lookup(m, ".store", &e), 0);
	CHECK_INT(e.mode, S_IFDIR | 0500);
	entry_free(&e);
	CHECK_INT(mount_lookup(m, ".store/g/b/0", &e), 0);
	CHECK_INT(e.mode, S_IFREG | 0400);
	CHECK_INT(e.size, 4);
	struct file *f = NULL;
	char got[4];
	CHECK_INT(file_open(m, &e, &f), 0);
	CHECK_INT(read_at(f, 1, 2, got), 2);
	CHECK_MEM(got, "bc", 2);
	CHECK(file_keep_cache(f));
	put_bytes(z, "g/b/0", "wxyz", 4); /* never a mixture */
	CHECK_INT(read_at(f, 1, 2, got), -EIO);
	f = file_close(f);
	CHECK_INT(file_open(m, &e, &f), -ESTALE);
	entry_free(&e);
	CHECK_STR(text_of(m, ".store/g/b/0"), "wxyz");
	put_bytes(z, "g/b/0", "abcd", 4);
}

/* Metadata that are broken, or of an unknown version, are refused, rather than shown as an empty
 * directory. */
static void
test_broken(const struct mount_options *o)
{
	static const char *const names[] = {"mem:v4group", "mem:v3array", "mem:broken"};
	static const char *const key[] = {"zarr.json", "zarr.json", ".zarray"};
	static const char *const text[] = {"{\"zarr_format\": 4, \"node_type\": \"group\"}",
		"{\"zarr_format\": 3, \"node_type\": \"array\"}", "{\"zarr_format\": 2, "};
	static const char *const why[] = {"'zarr_format' is not 3", "no 'shape'", "bad .zarray"};
	for (unsigned i = 0; i < 3; i++) {
		struct zmap *z = store_new(names[i]);
		struct mount *m = NULL;
		put_text(z, key[i], "%s", text[i]);
		CHECK_INT(mount_open(names[i], o, &m), -EINVAL);
		CHECK(strstr(err_text(), why[i]));
		mount_close(m);
		zmap_close(z);
	}
	struct zmap *z = store_new("mem:above");
	put_text(z, "new/zarr.json", "%s", text[0]);
	struct mount *m = mount_new("mem:above", o);
	CHECK_STR(list_of(m, ""), "new? ");
	CHECK_INT(mount_list(m, "new", list_name, NULL), -EIO);
	CHECK(strstr(err_text(), why[0]));
	mount_close(m);
	zmap_close(z);
}

/* Shards are for a store that can hold them, or one that has no version yet. */
static void
test_shards(struct mount_options o)
{
	static const struct {
		const char *key, *text;
		int want;
	} row[] = {
		{".zgroup", "{\"zarr_format\": 2}", -EINVAL},
		{".zarray",
			"{\"zarr_format\": 2, \"shape\": [1], \"chunks\": [1], \"dtype\": \"|u1\", "
			"\"compressor\": null, \"fill_value\": 0, \"order\": \"C\", \"filters\": "
			"null}",
			-EINVAL},
		{"zarr.json", "{\"zarr_format\": 3, \"node_type\": \"group\"}", 0},
		{"below/.zgroup", "{\"zarr_format\": 2}", 0},
	};
	o.shard = 1 << 20;
	o.zarr_format = 2;
	for (unsigned i = 0; i < 2 * sizeof row / sizeof *row; i++) {
		struct zmap *z = store_new("mem:shards");
		struct mount *m = NULL;
		put_text(z, row[i / 2].key, "%s", row[i / 2].text);
		o.rw = i % 2;
		const int want = o.rw ? row[i / 2].want : 0;
		CHECK_INT(mount_open("mem:shards", &o, &m), want);
		CHECK(!want || strstr(err_text(), "'shard'"));
		mount_close(m);
		zmap_close(z);
	}
}

int
main(void)
{
	struct zmap *z = store_new(STORE);
	struct mount_options o = options_new();
	o.config = config;
	put_store(z);
	struct mount *m = mount_new(STORE, &o);
	CHECK_STR(mount_shown(m), "mem:mount");
	test_names(m);
	test_bytes(m);
	test_errors(m);
	test_attributes(m);
	test_special(m);
	test_store_keys(m, z);
	test_hole(m, z);
	test_long(m, z);
	m = mount_close(m);
	CHECK(!m);
	zmap_close(z);
	test_broken(&o);
	test_shards(o);
	return check_end();
}
