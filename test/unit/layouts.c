/* Layouts are made once: how many are, and that none outlives what it was made of. */
#include "mounted.h"

#include "view/state.h"

#include <string.h>

static uint64_t
stat_of(struct mount *m, const char *name)
{
	const char *found = strstr(text_of(m, ".zarrfs/stats"), name);
	CHECK(found);
	return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

static uint64_t
made(struct mount *m)
{
	return stat_of(m, "zarrfs_layouts_made_total ");
}

/* Nothing is looked at again because of its age, however slow the machine is. */
static struct mount_options
options_ageless(void)
{
	struct mount_options o = options_new();
	o.model.ttl = o.data.ttl = INT64_MAX;
	return o;
}

static struct entry
look(struct mount *m, const char *path)
{
	struct entry e = {0};
	CHECK_INT(mount_lookup(m, path, &e), 0);
	return e;
}

static uint64_t
version_of(struct mount *m, const char *path)
{
	struct entry e = look(m, path);
	uint64_t version = e.version;
	entry_free(&e);
	return version;
}

static int64_t
mtime_of(struct mount *m, const char *path)
{
	struct entry e = look(m, path);
	int64_t mtime = e.mtime;
	entry_free(&e);
	return mtime;
}

static void
put_variable(struct zmap *z, const char *name)
{
	char attrs[200];
	put_meta(z, name, "\"<i2\"", "[2, 3]", "[2, 3]", "\"fill_value\": 9");
	snprintf(attrs, sizeof attrs, "%s/.zattrs", name);
	put_text(z, attrs, "{\"_ARRAY_DIMENSIONS\": [\"y\", \"x\"], \"units\": \"K\"}");
}

static void
put_coordinate(struct zmap *z, const char *units)
{
	put_meta(z, "x", "\"<i4\"", "[3]", "[3]", "\"fill_value\": null");
	put_text(z, "x/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"x\"], \"units\": \"%s\"}", units);
}

static void
put_store(struct zmap *z)
{
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	put_variable(z, "a");
	put_variable(z, "b");
	put_coordinate(z, "m");
}

/* Looking at a file, opening it, and all that again. */
static void
test_once(void)
{
	static const char *const files[] = {"a.nc", "a.cdf5.nc", "b.nc", "dataset.nc", NULL};
	const struct mount_options o = options_ageless();
	struct mount *m = mount_new("mem:layouts", &o);
	uint64_t expected = 0;
	for (const char *const *f = files; *f; f++) {
		expected++;
		for (int i = 0; i < 3; i++) {
			version_of(m, *f);
			CHECK(text_of(m, *f)[0] == 'C');
		}
		CHECK_INT(made(m), expected);
	}
	text_of(m, "a");
	text_of(m, "a.npy");
	CHECK_INT(made(m), expected);
	CHECK(stat_of(m, "zarrfs_layouts_reused_total ") > 0);
	CHECK(stat_of(m, "zarrfs_layouts_bytes ") > 0);
	mount_close(m);
}

/* What it was made of has changed: a coordinate's metadata, or a chunk. */
static void
test_changes(struct zmap *z)
{
	const struct mount_options o = options_ageless();
	struct mount *m = mount_new("mem:layouts", &o);
	uint64_t before = version_of(m, "a.nc");
	put_coordinate(z, "km");
	CHECK_INT(mount_refresh(m, NULL), 0);
	uint64_t after = version_of(m, "a.nc");
	CHECK(before != after);
	CHECK(version_of(m, "a.nc") ==
		after); /* the first look after that has seen the change itself */
	uint64_t so_far = made(m);
	CHECK(version_of(m, "a.nc") == after);
	CHECK_INT(made(m), so_far);
	mount_close(m);
	put_coordinate(z, "m");
}

/* Metadata are looked at again after the TTL, also those that only the layout is made of. */
static void
test_age(struct zmap *z)
{
	struct mount_options o = options_new();
	o.model.ttl = o.data.ttl = 1;
	struct mount *m = mount_new("mem:layouts", &o);
	uint64_t before = version_of(m, "b.nc");
	put_coordinate(z, "mm");
	CHECK(version_of(m, "b.nc") != before);
	mount_close(m);
	put_coordinate(z, "m");
}

/* A coordinate that was not there, and one that is gone. */
static void
test_comes_and_goes(struct zmap *z)
{
	struct mount_options o = options_new();
	o.model.ttl = o.data.ttl = 1;
	struct mount *m = mount_new("mem:layouts", &o);
	uint64_t without = version_of(m, "a.nc");
	put_meta(z, "y", "\"<i4\"", "[2]", "[2]", "\"fill_value\": null");
	put_text(z, "y/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"y\"]}");
	CHECK(version_of(m, "a.nc") != without);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"y/.zarray"}), 0);
	CHECK_INT(zmap_del(z, &(struct zmap_del){"y/.zattrs"}), 0);
	CHECK(version_of(m, "a.nc") == without);
	mount_close(m);
}

/* The moment of the newest chunk is found anew for a layout that is kept. */
static void
test_chunk(void)
{
	const struct mount_options o = options_ageless();
	struct mount *m = mount_new("mem:layouts", &o);
	int64_t before = mtime_of(m, "a.nc"), now = clock_wall();
	CHECK(before < now);
	uint64_t so_far = made(m);
	facts_changed(&m->facts, "a", now);
	CHECK_INT(mtime_of(m, "a.nc"), now);
	CHECK_INT(made(m), so_far);
	mount_close(m);
}

/* What is kept is bounded: of the oldest ones only what `ls -l` needs, then nothing. */
static void
test_bounds(struct zmap *z)
{
	enum { VARIABLES = 750 };
	char name[40];
	struct mount_options o = options_ageless();
	o.data.memory = 64 << 20;
	for (unsigned i = 0; i < VARIABLES; i++) {
		snprintf(name, sizeof name, "g/v%u", i);
		put_variable(z, name);
	}
	struct mount *m = mount_new("mem:layouts", &o);
	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned i = 0; i < VARIABLES; i++) {
			snprintf(name, sizeof name, "g/v%u.nc", i);
			version_of(m, name);
		}
	CHECK_INT(made(m), VARIABLES);
	CHECK(stat_of(m, "zarrfs_layouts_bytes ") <= o.data.memory / 32);
	CHECK(text_of(m, "g/v0.nc")[0] == 'C');
	CHECK_INT(made(m), VARIABLES + 1);
	mount_close(m);
}

static struct zmap *
new_consolidated(const char *name, unsigned variables)
{
	static const char coordinate[] =
		"\"x/.zarray\": {\"zarr_format\": 2, \"shape\": [3], \"chunks\": [3], \"dtype\": "
		"\"<i4\", "
		"\"compressor\": null, \"fill_value\": null, \"order\": \"C\"}, "
		"\"x/.zattrs\": {\"_ARRAY_DIMENSIONS\": [\"x\"]}";
	CLEAN(buf_free) struct buf all = {0};
	struct zmap *z = store_new(name);
	put_text(z, ".zgroup", "{\"zarr_format\": 2}");
	CHECK_INT(buf_addf(&all,
			  "{\"zarr_consolidated_format\": 1, \"metadata\": {"
			  "\".zgroup\": {\"zarr_format\": 2}, %s",
			  coordinate),
		0);
	for (unsigned i = 0; i < variables; i++)
		CHECK_INT(buf_addf(&all,
				  ", \"v%u/.zarray\": {\"zarr_format\": 2, \"shape\": [3], "
				  "\"chunks\": [3], "
				  "\"dtype\": \"<f4\", \"compressor\": null, \"fill_value\": "
				  "\"NaN\", "
				  "\"order\": \"C\"}, \"v%u/.zattrs\": {\"_ARRAY_DIMENSIONS\": "
				  "[\"x\"], "
				  "\"coordinates\": \"x\", \"units\": \"K\"}",
				  i, i),
			0);
	CHECK_INT(buf_addf(&all, "}}"), 0);
	put_bytes(z, ".zmetadata", all.data, all.len);
	return z;
}

/* What opening the first file takes is the same in a small group and in a large one, where metadata
 * are consolidated. */
static size_t
bytes_of_first(unsigned variables)
{
	char name[40];
	struct mount_options o = options_ageless();
	o.model.consolidated = CONSOLIDATED_TRUST;
	snprintf(name, sizeof name, "mem:first%u", variables);
	struct zmap *z = new_consolidated(name, variables);
	struct mount *m = mount_new(name, &o);
	size_t before = model_bytes(m->model);
	CHECK(text_of(m, "v3.nc")[0] == 'C');
	size_t after = model_bytes(m->model);
	mount_close(m);
	zmap_close(z);
	return after - before;
}

/* A layout too large to be kept is made once for all that have it open together. */
static void
test_lent(void)
{
	enum { VARIABLES = 4000, MOST = 2 << 20 };
	struct mount_options o = options_ageless();
	o.model.consolidated = CONSOLIDATED_TRUST;
	o.data.memory = 64 << 20;
	struct zmap *z = new_consolidated("mem:lent", VARIABLES);
	struct mount *m = mount_new("mem:lent", &o);
	struct file *first = NULL, *second = NULL;
	struct entry e = look(m, "dataset.nc4");
	CHECK(e.size > MOST);
	CHECK_INT(file_open(m, &e, &first), 0);
	const uint64_t so_far = made(m);
	for (int i = 0; i < 3; i++) {
		version_of(m, "dataset.nc4");
		file_look(m, &e);
		layouts_drop(m);
		CHECK_INT(file_open(m, &e, &second), 0);
		second = file_close(second);
	}
	CHECK_INT(made(m), so_far);
	CHECK(stat_of(m, "zarrfs_layouts_bytes ") < MOST);
	file_close(first);
	CHECK_INT(file_open(m, &e, &first), 0);
	CHECK_INT(made(m), so_far + 1);
	file_close(first);
	entry_free(&e);
	mount_close(m);
	zmap_close(z);
}

/* What is said of several such files finds room where no other layout is left to make it. */
static void
test_large(void)
{
	enum { VARIABLES = 4000, OTHERS = 900 };
	static const char *const large[] = {"dataset.nc4", "dataset.nc", "dataset.cdf5.nc", NULL};
	char name[40];
	struct mount_options o = options_ageless();
	o.model.consolidated = CONSOLIDATED_TRUST;
	o.data.memory = 64 << 20;
	struct zmap *z = new_consolidated("mem:large", VARIABLES);
	struct mount *m = mount_new("mem:large", &o);
	for (unsigned i = 0; i < OTHERS; i++) {
		snprintf(name, sizeof name, "v%u.nc", i);
		version_of(m, name);
	}
	for (const char *const *f = large; *f; f++)
		version_of(m, *f);
	CHECK(stat_of(m, "zarrfs_layouts_bytes ") <= o.data.memory / 32);
	mount_close(m);
	zmap_close(z);
}

static void
test_first(void)
{
	size_t small = bytes_of_first(10);
	CHECK(small > 0);
	CHECK_INT(bytes_of_first(1000), small);
}

int
main(void)
{
	struct zmap *z = store_new("mem:layouts");
	put_store(z);
	test_once();
	test_changes(z);
	test_age(z);
	test_comes_and_goes(z);
	test_chunk();
	test_bounds(z);
	test_lent();
	test_large();
	test_first();
	zmap_close(z);
	return check_end();
}
