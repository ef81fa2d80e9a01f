/* References in parquet: every form of page that writers have, files of fastparquet, damaged
 * ones. */
#include "backends/kerchunk/parquet.h"
#include "check.h"

#include <errno.h>
#include "parquet_make.h"

enum { MOST = 1 << 20, ROWS = 7 };

static const struct made_row rows[ROWS] = {
	{.path = "s3://b/a", .off = 5, .size = 6},
	{.raw = "base64:YWJj", .off = -1, .size = -1},
	{.off = -1, .size = -1},
	{.path = "s3://b/aaaa", .off = 0, .size = 0},
	{.path = "s3://b/a", .off = INT64_MAX, .size = 1},
	{.raw = "", .off = -1, .size = -1},
	{.path = "s3://b/c", .off = 3, .size = 4},
};

static const char want[] = "R s3://b/a 5 6\nB abc\n-\nW s3://b/aaaa\nR s3://b/a "
			   "9223372036854775807 1\nB \nR s3://b/c 3 4\n";
static const char want_paths[] = "R s3://b/a 5 6\n-\n-\nW s3://b/aaaa\nR s3://b/a "
				 "9223372036854775807 1\n-\nR s3://b/c 3 4\n";
static const char want_raw[] = "-\nB abc\n-\n-\n-\nB \n-\n";

static void
show(const struct kerchunk_table *t, struct buf *b)
{
	for (uint64_t i = 0; i < kerchunk_table_count(t); i++) {
		struct kerchunk_ref f;
		if (kerchunk_table_row(t, i, &f) == ZMAP_ABSENT)
			buf_addf(b, "-\n");
		else if (f.kind == KERCHUNK_BYTES)
			buf_addf(b, "B %.*s\n", (int)f.bytes.len, (const char *)f.bytes.data);
		else if (f.kind == KERCHUNK_RANGE)
			buf_addf(b, "R %s %" PRIu64 " %" PRIu64 "\n", f.url, f.off, f.len);
		else
			buf_addf(b, "%s %s\n", f.kind == KERCHUNK_WHOLE ? "W" : "!",
				f.kind == KERCHUNK_WHOLE ? f.url : f.why);
	}
	buf_terminate(b);
}

static void
check_file(struct span file, const char *text)
{
	CLEAN(buf_free) struct buf b = {0};
	struct kerchunk_table *t = NULL;
	CHECK_INT(kerchunk_parquet_read(file, MOST, &t), 0);
	if (t) {
		show(t, &b);
		CHECK_STR((char *)b.data, text);
		CHECK_INT(kerchunk_table_row(t, kerchunk_table_count(t), &(struct kerchunk_ref){0}),
			ZMAP_ABSENT);
	}
	kerchunk_table_free(t);
}

static void
test_forms(void)
{
	static const int codecs[] = {0, 1, 2, 6};
	for (int i = 0; i < 4 * 2 * 2 * 2 * 2; i++) {
		struct parquet_maker m = {.codec = codecs[i & 3],
			.page = 1 + (i >> 2 & 1),
			.dictionary = i >> 3 & 1,
			.nulls = true,
			.group = i >> 4 & 1 ? 3 : 0,
			.columns = 0xf,
			.row = rows,
			.nrows = ROWS};
		bool paths = i >> 5 & 1;
		m.columns = paths ? 0xd : 0xf;
		make_parquet(&m);
		check_file(buf_span(&m.out), paths ? want_paths : want);
		m.columns = 2;
		make_parquet(&m);
		check_file(buf_span(&m.out), want_raw);
		maker_free(&m);
	}
}

/* Offsets that are not optional, without the rows whose offset is null. */
static void
test_required(void)
{
	static const struct made_row negative[] = {{.path = "u", .off = -1, .size = 1},
		{.path = "v", .off = 1, .size = -5}, {.path = "w", .size = 0}};
	struct parquet_maker m = {.page = 1, .columns = 0xd, .row = negative, .nrows = 3};
	make_parquet(&m);
	check_file(buf_span(&m.out), "! a reference with a negative offset or length\n"
				     "! a reference with a negative offset or length\nW w\n");
	maker_free(&m);
}

/* Whatever is cut off or changed: an error or a table, and no more. */
static void
test_damaged(void)
{
	for (int codec = 0; codec < 2; codec++) {
		struct parquet_maker m = {.codec = codec,
			.page = 1 + codec,
			.dictionary = codec,
			.nulls = true,
			.columns = 0xf,
			.row = rows,
			.nrows = ROWS};
		make_parquet(&m);
		for (size_t i = 0; i < m.out.len; i++) {
			struct kerchunk_table *t = NULL;
			int r = kerchunk_parquet_read((struct span){m.out.data, i}, MOST, &t);
			CHECK(r < 0 && !t);
			for (int bit = 0; bit < 8; bit++) {
				m.out.data[i] ^= (uint8_t)(1 << bit);
				r = kerchunk_parquet_read(buf_span(&m.out), MOST, &t);
				CHECK(r == 0 || *err_text());
				t = kerchunk_table_free(t);
				m.out.data[i] ^= (uint8_t)(1 << bit);
			}
		}
		maker_free(&m);
	}
}

static void
test_too_much(void)
{
	struct kerchunk_table *t = NULL;
	struct parquet_maker m = {
		.page = 1, .nulls = true, .columns = 0xf, .row = rows, .nrows = ROWS};
	make_parquet(&m);
	CHECK_INT(kerchunk_parquet_read(buf_span(&m.out), 100, &t), -EFBIG);
	CHECK(!t);
	maker_free(&m);
}

/* Files that fastparquet wrote. */
static void
test_sample(const char *name, const char *begins)
{
	const char *data = getenv("ZARRFS_TEST_DATA");
	char path[1000], room[1 << 14];
	CLEAN(buf_free) struct buf b = {0};
	struct kerchunk_table *t = NULL;
	snprintf(path, sizeof path, "%s/fuzz/kerchunk_parquet/%s", data ? data : "test/data", name);
	FILE *f = fopen(path, "rb");
	CHECK(f);
	if (!f)
		return;
	size_t n = fread(room, 1, sizeof room, f);
	fclose(f);
	CHECK_INT(kerchunk_parquet_read((struct span){(uint8_t *)room, n}, MOST, &t), 0);
	if (t) {
		show(t, &b);
		b.data[strlen(begins) < b.len ? strlen(begins) : b.len] = 0;
		CHECK_STR((char *)b.data, begins);
	}
	kerchunk_table_free(t);
}

int
main(void)
{
	test_forms();
	test_required();
	test_damaged();
	test_too_much();
	test_sample("fastparquet-zstd.parq", "R /tmp/zarrfs-virtual/ocean.nc 13850 977\nR "
					     "/tmp/zarrfs-virtual/ocean.nc 12882 968\n");
	test_sample("fastparquet-categorical.parq",
		"R /tmp/zarrfs-virtual/classic.nc 0 1\nR /tmp/zarrfs-virtual/raw.bin 5 1\n");
	test_sample("fastparquet-raw.parq", "-\nB \30\n-\n");
	return check_end();
}
