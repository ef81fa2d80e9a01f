/* Variables and dimensions of a netCDF file that get other names while it is written, and what the
 * store has then: as much as a plain file would. */
#include "mounted.h"

#include <fcntl.h>
#include <stdlib.h>

enum { MOST = 1 << 20, X = 2, NAMES = 3, COUNT = 4 /* place of the number of records */ };

static const char STORE[] = "mem:renamed";
static const char *const was[NAMES] = {"aaa", "bbb", "ccc"};
static const uint8_t holds[NAMES][2 * X] = {{1, 2}, {3, 4}, {5, 0, 6, 0}};

static void
put_array(struct zmap *z, const char *name, const char *type, const char *shape, const char *chunks,
	const char *dims)
{
	char key[40];
	put_meta(z, name, type, shape, chunks, "\"fill_value\": 0");
	snprintf(key, sizeof key, "%s/.zattrs", name);
	put_text(z, key,
		"{\"was\": \"%s\", \"_nczarr_array\": {\"dimension_references\": [%s], "
		"\"storage\": \"chunked\"}, \"_nczarr_attr\": {\"types\": {\"was\": \">S1\"}}}",
		name, dims);
}

/* byte aaa(x), bbb(x), rec(time, x); short ccc(x). */
static struct zmap *
store_make(void)
{
	struct zmap *z = store_new(STORE);
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_text(z, ".zattrs",
		"{\"_nczarr_superblock\": {\"version\": \"2.0.0\"}, \"_nczarr_group\": "
		"{\"dimensions\": {\"x\": 2, \"time\": {\"size\": 2, \"unlimited\": 1}}, "
		"\"arrays\": [\"aaa\", \"bbb\", \"ccc\", \"rec\"], \"groups\": []}}");
	for (int i = 0; i < NAMES; i++) {
		char key[40];
		put_array(z, was[i], i == 2 ? "\"<i2\"" : "\"|i1\"", "[2]", "[2]", "\"/x\"");
		snprintf(key, sizeof key, "%s/0", was[i]);
		put_bytes(z, key, holds[i], i == 2 ? 2 * X : X);
	}
	put_array(z, "rec", "\"|i1\"", "[2, 2]", "[1, 2]", "\"/time\", \"/x\"");
	put_bytes(z, "rec/0.0", "\7\10", X);
	put_bytes(z, "rec/1.0", "\11\12", X);
	return z;
}

static struct mount *
mount_make(void)
{
	struct mount_options o = options_new();
	o.rw = true;
	return mount_new(STORE, &o);
}

static void
end(struct mount *m, struct zmap *z)
{
	CHECK_INT(mount_drain(m, NULL), 0);
	mount_close(m);
	zmap_close(z);
}

struct writing {
	struct file *f;
	uint8_t *all; /* its bytes */
	size_t n;
};

static struct writing
write_begin(struct mount *m, const char *path)
{
	struct writing w = {.f = open_for(m, path, O_RDWR, 0), .all = calloc(1, MOST)};
	const int64_t n = read_at(w.f, 0, MOST, w.all);
	CHECK(n > 0);
	w.n = n > 0 ? (size_t)n : 0;
	return w;
}

static void
name_is(struct writing *w, const char *from, const char *to)
{
	uint8_t *at = memmem(w->all, w->n, from, strlen(from));
	CHECK(at);
	if (at)
		memcpy(at, to, strlen(to));
}

/* The first page, as libraries write it. */
static int
write_header(struct writing *w)
{
	const size_t page = w->n < 8192 ? w->n : 8192;
	return file_write(w->f, 0, (struct span){w->all, page}, &(struct array_want){0}, 0);
}

static int
write_end(struct writing *w)
{
	int r = file_settle(w->f, SETTLE_FLUSH, 0, NULL);
	file_settle(w->f, SETTLE_RELEASE, 0, NULL);
	file_close(w->f);
	free(w->all);
	return r;
}

/* One record behind the last one, of which there are two. */
static void
append(struct writing *w)
{
	w->all[COUNT + 3] = 3;
	CHECK_INT(file_write(w->f, w->n, (struct span){(const uint8_t *)"\13\14", X},
			  &(struct array_want){0}, 0),
		0);
	CHECK_INT(write_header(w), 0);
}

static bool
is_there(struct mount *m, const char *path)
{
	struct entry e = {0};
	const int r = mount_lookup(m, path, &e);
	entry_free(&e);
	return r == 0;
}

static void
array_is(struct mount *m, const char *name, const uint8_t *bytes, size_t n)
{
	uint8_t is[64] = {0};
	struct file *f = open_for(m, name, O_RDONLY, 0);
	CHECK_INT(f ? read_at(f, 0, sizeof is, is) : -1, (int64_t)n);
	CHECK(!memcmp(is, bytes, n));
	if (f)
		file_close(f);
}

static bool
key_has(struct zmap *z, const char *key, const char *text)
{
	CLEAN(buf_free) struct buf now = {0};
	const struct zmap_get g = {.key = key, .revalidate = true, .into = &now, .max = MOST};
	return zmap_get(z, &g, NULL) == 0 && memmem(now.data, now.len, text, strlen(text));
}

/* Each has what it had, under its new name, in the store too, and nothing else is there. */
static void
test_names(const char *const to[NAMES])
{
	struct zmap *z = store_make();
	struct mount *m = mount_make();
	struct writing w = write_begin(m, "dataset.nc");
	const char *const between[NAMES] = {"!!1", "!!2", "!!3"};
	char key[40], said[40];
	for (int i = 0; i < NAMES; i++)
		name_is(&w, was[i], between[i]);
	for (int i = 0; i < NAMES; i++)
		name_is(&w, between[i], to[i]);
	CHECK_INT(write_header(&w), 0);
	CHECK_INT(write_end(&w), 0);
	for (int i = 0; i < NAMES; i++) {
		bool kept = false;
		for (int k = 0; k < NAMES; k++)
			kept |= !strcmp(to[k], was[i]);
		CHECK_INT(is_there(m, was[i]), kept);
		array_is(m, to[i], holds[i], i == 2 ? 2 * X : X);
		snprintf(key, sizeof key, "%s/.zattrs", to[i]);
		snprintf(said, sizeof said, "\"was\": \"%s\"", was[i]);
		CHECK(key_has(z, key, said));
	}
	CHECK(!key_has(z, ".zattrs", "renamed"));
	end(m, z);
}

/* Other names, and a record more, in a file of all variables and in one of its own. */
static void
test_grows(const char *path, const char *from, const char *to, const char *name)
{
	struct zmap *z = store_make();
	struct mount *m = mount_make();
	struct writing w = write_begin(m, path);
	name_is(&w, from, to);
	append(&w);
	CHECK_INT(write_end(&w), 0);
	array_is(m, name, (const uint8_t *)"\7\10\11\12\13\14", 3 * X);
	CHECK_INT(is_there(m, "rec"), !strcmp(name, "rec"));
	if (!strcmp(name, "rec"))
		CHECK(key_has(z, "rec/.zattrs", "/tyme"));
	w = write_begin(m, "dataset.rec.nc"); /* and its dimension grows on */
	CHECK_INT(w.all[COUNT + 3], 3);
	CHECK_INT(write_end(&w), 0);
	end(m, z);
}

static void
test_values(void)
{
	struct zmap *z = store_make();
	struct mount *m = mount_make();
	struct writing w = write_begin(m, "rec.rec.nc");
	name_is(&w, "rec", "REC");
	CHECK_INT(write_header(&w), 0);
	CHECK_INT(file_write(w.f, w.n - 3, (struct span){(const uint8_t *)"\77", 1},
			  &(struct array_want){0}, 0),
		0);
	CHECK_INT(file_settle(w.f, SETTLE_FLUSH, 0, NULL), 0);
	/* Once more while the file is open. */
	name_is(&w, "REC", "Rec");
	CHECK_INT(write_header(&w), 0);
	CHECK_INT(write_end(&w), 0);
	array_is(m, "Rec", (const uint8_t *)"\7\77\11\12", 2 * X);
	CHECK(!is_there(m, "rec") && !is_there(m, "REC"));
	end(m, z);
}

/* What a program lays there that has not read the file is another variable, if its values are
 * others. */
static void
test_other(void)
{
	struct zmap *z = store_make();
	struct mount *m = mount_make();
	struct writing w = write_begin(m, "rec.nc"), to;
	name_is(&w, "rec", "REC");
	w.all[w.n - 1] = 99;
	to = (struct writing){.f = open_for(m, "rec.nc", O_RDWR, 0), .all = calloc(1, 1)};
	CHECK_INT(file_write(to.f, 0, (struct span){w.all, w.n}, &(struct array_want){0}, 0), 0);
	CHECK_INT(write_end(&w), -EINVAL); /* it is not the file's */
	write_end(&to);
	CHECK_INT(mount_refresh(m, NULL) >= 0, 1);
	array_is(m, "rec", (const uint8_t *)"\7\10\11\12", 2 * X);
	CHECK(!is_there(m, "REC"));
	end(m, z);
}

/* What another program has made meanwhile stays as it is. */
static void
test_changed(const char *key, const char *type, int want)
{
	struct zmap *z = store_make();
	struct mount *m = mount_make();
	struct writing w = write_begin(m, "dataset.nc");
	CHECK(!is_there(m, "ddd"));
	name_is(&w, "aaa", "ddd");
	CHECK_INT(write_header(&w), 0);
	const bool taken = !strcmp(key, "ddd");
	if (taken)
		put_bytes(z, "ddd/0", "\42\42", X);
	put_meta(z, key, type, "[2]", "[2]", "\"fill_value\": 0");
	CHECK_INT(write_end(&w), want);
	CHECK_INT(key_has(z, "ddd/0", "\42\42"), taken);
	CHECK(key_has(z, "aaa/0", "\1\2"));
	CHECK(key_has(z, "aaa/.zarray", "shape"));
	CHECK_INT(key_has(z, "ddd/.zarray", "shape"), taken);
	mount_refresh(m, NULL);
	end(m, z);
}

int
main(void)
{
	static const char *const to[][NAMES] = {
		{"bbb", "aaa", "ccc"},
		{"ccc", "bbb", "aaa"}, /* of other types */
		{"bbb", "ccc", "aaa"},
		{"ccc", "aaa", "bbb"},
		{"bbb", "ccc", "ddd"},
		{"ddd", "aaa", "bbb"},
		{"ddd", "bbb", "aaa"},
		{"ddd", "eee", "fff"},
	};
	for (size_t i = 0; i < sizeof to / sizeof *to; i++)
		test_names(to[i]);
	test_grows("dataset.rec.nc", "rec", "REC", "REC");
	test_grows("rec.rec.nc", "rec", "REC", "REC");
	test_grows("rec.rec.nc", "time", "tyme", "rec");
	test_values();
	test_other();
	test_changed("ddd", "\"|i1\"", -EINVAL);
	test_changed("aaa", "\"<i2\"", -EIO);
	return check_end();
}
