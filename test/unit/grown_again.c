/* Rows are appended and stored; before metadata count them another program makes the array shorter,
 * which removes chunks, and as long again. Rows that are gone are an error, those that are still
 * there are none, and where no other program has stored the metadata nothing is looked at. */
#include "cut.h"

enum { ROWS = 8 };

static const char bucket[] = "fault+mem:cut#fault.kind=none&fault.remote=1";
static bool sharded; /* the array; else each object is a chunk */
static enum empty_chunks empty;
static bool shared;     /* its dimension, by an array x */
static const char *key; /* of the object that holds row 8, too */
static const struct zmap_ops *under;
static struct zmap_ops ops;
static const struct array_want how;
static unsigned looks; /* at the last chunk, while metadata are about to count it */

static void
put_rows(struct zmap *store, unsigned rows)
{
	char shape[16];
	snprintf(shape, sizeof shape, "[%u]", rows);
	if (!sharded) {
		put_meta(store, "t", "\"|i1\"", shape, "[5]", "\"fill_value\": 9");
		return;
	}
	put_text(store, "t/zarr.json",
		"{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": %s, \"data_type\": "
		"\"int8\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": "
		"{\"chunk_shape\": [6]}}, \"chunk_key_encoding\": {\"name\": \"default\"}, "
		"\"fill_value\": 9, \"codecs\": [{\"name\": \"sharding_indexed\", "
		"\"configuration\": {\"chunk_shape\": [2], \"codecs\": [{\"name\": \"bytes\"}], "
		"\"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": "
		"\"little\"}}]}}], \"attributes\": {}, \"dimension_names\": [\"time\"]}",
		shape);
}

static int
play_stat(struct zmap *z, const char *at, struct cancel *cancel, struct zmap_stat *ret)
{
	looks += !strcmp(at, key);
	return under->stat(z, at, cancel, ret);
}

static struct cut
begin(const char *url)
{
	struct cut c = sharded ? (struct cut){.store = store_new("mem:cut")}
			       : cut_store("mem:cut", "[\"time\"]");
	if (sharded)
		put_text(c.store, "zarr.json",
			"{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {}}");
	put_rows(c.store, ROWS);
	if (shared) {
		put_text(c.store, "x/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"]}");
		put_meta(c.store, "x", "\"|i1\"", "[8]", "[5]", "\"fill_value\": 9");
	}
	cut_mount_with(&c, url, "t", empty);
	under = c.mount->zmap->ops;
	ops = *under;
	ops.submit = NULL;
	ops.stat = play_stat;
	c.mount->zmap->ops = &ops;
	return c;
}

static void
end(struct cut *c)
{
	c->mount->zmap->ops = under;
	cut_end(c);
}

/* Bytes from `at` on are these, stored and not counted. */
static void
put_at(struct cut *c, uint64_t at, const char *bytes)
{
	const struct span b = {(const uint8_t *)bytes, strlen(bytes)};
	CHECK_INT(file_write(c->file, at, b, &how, 0), 0);
	cut_push(c->mount);
	looks = 0;
}

static int64_t
size_now(struct cut *c)
{
	uint8_t got[100];
	return read_at(c->file, 0, sizeof got, got);
}

/* Rows behind those that there are. */
static void
append(struct cut *c, const char *rows)
{
	put_at(c, (uint64_t)size_now(c), rows);
}

/* As zarr-python does it: what lies behind the new end goes. */
static void
shrink_and_grow_to(struct cut *c, bool deletes, unsigned rows)
{
	put_rows(c->store, 2);
	if (deletes)
		CHECK(zmap_del(c->store, &(struct zmap_del){.key = key}) >= 0);
	put_rows(c->store, rows);
}

static void
shrink_and_grow(struct cut *c, bool deletes)
{
	shrink_and_grow_to(c, deletes, ROWS);
}

static void
check_counted(struct cut *c, uint8_t row)
{
	uint8_t got[ROWS + 3] = {0};
	CHECK_INT(cut_settle(c), 0);
	const int64_t n = read_at(c->file, 0, sizeof got, got);
	CHECK(n > ROWS);
	CHECK_INT(n > ROWS ? got[n - 1] : 0, row);
}

/* It sticks until a refresh, which gives up what is not counted; then the next row can come. */
static void
check_lost_of(struct cut *c, unsigned row, unsigned rows)
{
	CLEAN(buf_free) struct buf said = {0};
	char text[64];
	snprintf(text, sizeof text, "row %u that was written to 't' is lost", row);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(cut_settle(c), -EIO);
		CHECK(strstr(err_text(), text));
	}
	mount_refresh(c->mount, &said);
	buf_terminate(&said);
	CHECK(said.data && strstr((char *)said.data, text));
	CHECK_INT(size_now(c), rows);
	append(c, "\6");
	check_counted(c, 6);
}

static void
check_lost(struct cut *c, unsigned row)
{
	check_lost_of(c, row, ROWS);
}

static void
get(struct cut *c, struct buf *ret)
{
	const struct zmap_get g = {.key = key, .into = ret, .max = 256};
	CHECK_INT(zmap_get(c->store, &g, NULL), 0);
}

/* rows: that the other program counts then. heard: the mount has looked at the metadata since. */
static void
row_goes(const char *url, unsigned rows, bool heard)
{
	struct cut c = begin(url);
	append(&c, "\7");
	shrink_and_grow_to(&c, true, rows);
	if (heard)
		cut_hear(&c);
	check_lost_of(&c, 8, rows);
	end(&c);
}

/* The object is there again, as another program without the row has it. */
static void
chunk_comes_again(const char *url)
{
	CLEAN(buf_free) struct buf was = {0};
	struct cut c = begin(url);
	put_at(&c, 6, "\3\3");
	get(&c, &was);
	append(&c, "\7");
	shrink_and_grow(&c, true);
	put_bytes(c.store, key, was.data, was.len);
	check_lost(&c, 8);
	end(&c);
}

/* The mount itself has stored other rows of the chunk since, upon the other program's. */
static void
chunk_is_stored_again(const char *url)
{
	struct cut c = begin(url);
	append(&c, "\7");
	shrink_and_grow(&c, true);
	put_at(&c, 6, "\5");
	check_lost(&c, 8);
	end(&c);
}

/* Of two rows in one object the mount has stored one again since, upon the other program's: the
 * object is not there, or (comes) is that with row 8 alone. */
static void
one_is_stored_again(const char *url, unsigned row, bool comes, bool heard)
{
	CLEAN(buf_free) struct buf was = {0};
	struct cut c = begin(url);
	append(&c, "\7");
	get(&c, &was);
	append(&c, "\7");
	shrink_and_grow(&c, true);
	if (comes)
		put_bytes(c.store, key, was.data, was.len);
	if (heard)
		cut_hear(&c);
	put_at(&c, row, "\5");
	check_lost(&c, 17 - row);
	end(&c);
}

/* The same of rows that were written as one. */
static void
one_of_both_is_stored_again(const char *url, unsigned row)
{
	struct cut c = begin(url);
	append(&c, "\7\7");
	shrink_and_grow(&c, true);
	put_at(&c, row, "\5");
	check_lost(&c, 17 - row);
	end(&c);
}

/* Nothing is lost of what is written once more. */
static void
both_are_stored_again(const char *url)
{
	struct cut c = begin(url);
	append(&c, "\7\7");
	shrink_and_grow(&c, true);
	put_at(&c, 9, "\5");
	put_at(&c, 8, "\5");
	check_counted(&c, 5);
	end(&c);
}

/* One row becomes fill before the other one goes. */
static void
filled_before(const char *url, unsigned row)
{
	struct cut c = begin(url);
	append(&c, "\7\7");
	put_at(&c, row, "\11");
	shrink_and_grow(&c, true);
	check_lost(&c, 17 - row);
	end(&c);
}

/* A row that is gone becomes fill: then there is nothing to lose. */
static void
filled_after(const char *url)
{
	struct cut c = begin(url);
	append(&c, "\7");
	shrink_and_grow(&c, true);
	put_at(&c, 8, "\11");
	check_counted(&c, 9);
	end(&c);
}

/* The object is there, without the last row. */
static void
last_row_goes(const char *url)
{
	CLEAN(buf_free) struct buf was = {0};
	struct cut c = begin(url);
	append(&c, "\7");
	get(&c, &was);
	append(&c, "\7");
	shrink_and_grow(&c, false);
	put_bytes(c.store, key, was.data, was.len);
	check_lost(&c, 9);
	end(&c);
}

/* The other program removes nothing, and may have stored the object with the row in it. */
static void
row_stays(const char *url, bool merged)
{
	CLEAN(buf_free) struct buf was = {0};
	struct cut c = begin(url);
	append(&c, "\7");
	get(&c, &was);
	shrink_and_grow(&c, false);
	if (merged)
		put_bytes(c.store, key, was.data, was.len);
	check_counted(&c, 7);
	CHECK(looks > 0);
	end(&c);
}

/* Another writer has stored the object with the row in it, and counts more rows than this mount has
 * heard of. */
static void
others_append(const char *url)
{
	CLEAN(buf_free) struct buf was = {0};
	uint8_t got[ROWS + 2] = {0};
	struct cut c = begin(url);
	append(&c, "\7");
	get(&c, &was);
	put_bytes(c.store, key, was.data, was.len);
	put_rows(c.store, ROWS + 2);
	CHECK_INT(cut_settle(&c), 0);
	CHECK_INT(read_at(c.file, 0, sizeof got, got), ROWS + 2);
	CHECK_INT(got[ROWS], 7);
	end(&c);
}

/* A row of fill is as good without its chunk. */
static void
fill_goes(const char *url)
{
	struct cut c = begin(url);
	append(&c, "\11");
	shrink_and_grow(&c, true);
	check_counted(&c, 9);
	end(&c);
}

/* This mount is alone: nothing is looked at for it. */
static void
none_came(const char *url)
{
	struct cut c = begin(url);
	for (int i = 0; i < 2; i++) {
		append(&c, "\7");
		check_counted(&c, 7);
		CHECK_INT(looks, 0);
	}
	end(&c);
}

/* This mount makes the array shorter: its own rows are not missed. */
static void
own_cut(const char *url)
{
	struct cut c = begin(url);
	append(&c, "\7");
	CHECK_INT(file_truncate(c.file, 2, RESIZE_HANDLE, NULL), 0);
	CHECK_INT(file_truncate(c.file, ROWS, RESIZE_LONGER, NULL), 0);
	CHECK_INT(cut_settle(&c), 0);
	append(&c, "\6");
	put_rows(c.store, ROWS);
	check_counted(&c, 6);
	end(&c);
}

static void
put_one(struct cut *c, const char *shape, const char *chunks)
{
	put_meta(c->store, "t", "\"|i1\"", shape, chunks, "\"fill_value\": 9");
}

/* Of the row's elements the first and the last one become fill before it goes. */
static void
part_is_filled(void)
{
	struct cut c = cut_store("mem:cut", "[\"time\", \"x\"]");
	put_one(&c, "[1, 3]", "[4, 3]");
	cut_mount(&c, "mem:cut", "t");
	append(&c, "\7\7\7");
	put_at(&c, 3, "\11");
	put_at(&c, 5, "\11");
	put_one(&c, "[0, 3]", "[4, 3]");
	CHECK_INT(zmap_del(c.store, &(struct zmap_del){.key = "t/0.0"}), 0);
	put_one(&c, "[1, 3]", "[4, 3]");
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), "row 1 that was written to 't' is lost"));
	cut_end(&c);
}

/* Of many rows in one object, the last ones of which are fill, another writer stores all but one:
 * the first, or the last that is none. */
static void
many_rows(size_t step, unsigned lost)
{
	static const char rows[] =
		"\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\7\11\11\11\11\11\11";
	CLEAN(buf_free) struct buf object = {0};
	struct cut c = cut_store("mem:cut", "[\"time\"]");
	char text[64] = "";
	put_one(&c, "[8]", "[99]");
	cut_mount(&c, "mem:cut", "t");
	for (size_t at = 0; at < sizeof rows - 1; at += step) {
		snprintf(text, step + 1, "%s", rows + at);
		append(&c, text);
	}
	key = "t/0";
	get(&c, &object);
	object.data[lost] = 9;
	put_one(&c, "[2]", "[99]");
	put_bytes(c.store, key, object.data, object.len);
	put_one(&c, "[8]", "[99]");
	snprintf(text, sizeof text, "row %u that was written to 't' is lost", lost);
	CHECK_INT(cut_settle(&c), -EIO);
	CHECK(strstr(err_text(), text));
	cut_end(&c);
}

/* Another variable of this mount counts the row: nothing is looked at for that. */
static void
counted_by_other(const char *url)
{
	key = "x/1";
	sharded = false;
	shared = true;
	struct cut c = begin(url);
	struct file *x = open_for(c.mount, "x", O_RDWR, 0);
	CHECK_INT(file_write(x, ROWS, (struct span){(const uint8_t *)"\7", 1}, &how, 0), 0);
	cut_push_to(c.mount, "x");
	append(&c, "\7");
	check_counted(&c, 7);
	CHECK_INT(file_settle(x, SETTLE_FLUSH, 0, NULL), 0);
	CHECK_INT(looks, 0);
	file_close(x);
	end(&c);
	shared = false;
}

static int
refuse(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	return strcmp(g->key, "t/0") == 0 ? err_set(-EACCES, "refused") : under->get(z, g, ret);
}

/* How long texts are is asked of the store, which refuses it: whether the row is there is not known
 * then. */
static void
texts_are_refused(void)
{
	static const uint8_t texts[] = "\2\0\0\0\1\0\0\0a\1\0\0\0b";
	static const char *const meta =
		"\"fill_value\": \"\", \"filters\": [{\"id\": \"vlen-utf8\"}]";
	struct cut c = cut_store("mem:cut", "[\"time\"]");
	put_meta(c.store, "t", "\"|O\"", "[2]", "[2]", meta);
	put_bytes(c.store, "t/0", texts, sizeof texts - 1);
	cut_mount(&c, "mem:cut", "t");
	append(&c, "c");
	put_meta(c.store, "t", "\"|O\"", "[0]", "[2]", meta);
	CHECK_INT(zmap_del(c.store, &(struct zmap_del){.key = "t/1"}), 0);
	put_meta(c.store, "t", "\"|O\"", "[3]", "[2]", meta);
	cut_hear(&c);
	under = c.mount->zmap->ops;
	ops = *under;
	ops.submit = NULL;
	ops.get = refuse;
	c.mount->zmap->ops = &ops;
	CHECK_INT(cut_settle(&c), -EACCES);
	end(&c);
}

int
main(void)
{
	for (int i = 0; i < 8; i++) {
		const char *url = i & 1 ? bucket : "mem:cut";
		sharded = i & 2;
		empty = i & 4 ? EMPTY_DELETE : EMPTY_KEEP;
		key = sharded ? "t/c/1" : "t/1";
		for (unsigned rows = ROWS; rows <= ROWS + 1; rows++) {
			row_goes(url, rows, false);
			row_goes(url, rows, true);
		}
		chunk_comes_again(url);
		chunk_is_stored_again(url);
		for (unsigned row = 8; row <= 9; row++) {
			one_is_stored_again(url, row, false, false);
			one_is_stored_again(url, row, false, true);
			one_of_both_is_stored_again(url, row);
			filled_before(url, row);
		}
		one_is_stored_again(url, 8, true, false);
		both_are_stored_again(url);
		filled_after(url);
		last_row_goes(url);
		row_stays(url, false);
		row_stays(url, true);
		others_append(url);
		fill_goes(url);
		none_came(url);
		own_cut(url);
	}
	part_is_filled();
	many_rows(1, 8);
	many_rows(1, 31);
	many_rows(30, 8);
	many_rows(30, 31);
	counted_by_other("mem:cut");
	counted_by_other(bucket);
	texts_are_refused();
	return check_end();
}
