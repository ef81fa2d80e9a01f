/* Rows are appended and stored; before metadata count them another program makes the array shorter,
 * which removes chunks, and as long again. Rows that are gone are an error, those that are still
 * there are none, and where no other program has stored the metadata nothing is looked at. */
#include "cut.h"

enum { ROWS = 8 };

static const char bucket[] = "fault+mem:cut#fault.kind=none&fault.remote=1";
static bool sharded;    /* the array; else each object is a chunk */
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
	cut_mount(&c, url, "t");
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

/* One row behind those that there are, stored and not counted. */
static void
append(struct cut *c, const char *row)
{
	CHECK_INT(file_write(c->file, file_size(c->file), (struct span){(const uint8_t *)row, 1},
			  &how, 0),
		0);
	cut_push(c->mount);
	looks = 0;
}

/* As zarr-python does it: what lies behind the new end goes. */
static void
shrink_and_grow(struct cut *c, bool deletes)
{
	put_rows(c->store, 2);
	if (deletes)
		CHECK_INT(zmap_del(c->store, &(struct zmap_del){.key = key}), 0);
	put_rows(c->store, ROWS);
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

/* It sticks until a refresh, which gives up the row; then the next one can come. */
static void
check_lost(struct cut *c)
{
	CLEAN(buf_free) struct buf said = {0};
	for (int i = 0; i < 2; i++) {
		CHECK_INT(cut_settle(c), -EIO);
		CHECK(strstr(err_text(), "row 8 that was written to 't' is lost"));
	}
	mount_refresh(c->mount, &said);
	buf_terminate(&said);
	CHECK(said.data && strstr((char *)said.data, "row 8"));
	CHECK_INT(file_size(c->file), ROWS);
	append(c, "\6");
	check_counted(c, 6);
}

static void
get(struct cut *c, struct buf *ret)
{
	const struct zmap_get g = {.key = key, .into = ret, .max = 256};
	CHECK_INT(zmap_get(c->store, &g, NULL), 0);
}

/* heard: the mount has looked at the metadata since. */
static void
row_goes(const char *url, bool heard)
{
	struct cut c = begin(url);
	append(&c, "\7");
	shrink_and_grow(&c, true);
	if (heard)
		cut_hear(&c);
	check_lost(&c);
	end(&c);
}

/* The object is there again, as another program without the row has it. */
static void
chunk_comes_again(const char *url)
{
	CLEAN(buf_free) struct buf was = {0};
	struct cut c = begin(url);
	CHECK_INT(file_write(c.file, 6, (struct span){(const uint8_t *)"\3\3", 2}, &how, 0), 0);
	cut_push(c.mount);
	get(&c, &was);
	append(&c, "\7");
	shrink_and_grow(&c, true);
	put_bytes(c.store, key, was.data, was.len);
	check_lost(&c);
	end(&c);
}

/* The mount itself has stored other rows of the chunk since, upon the other program's. */
static void
chunk_is_stored_again(const char *url)
{
	struct cut c = begin(url);
	append(&c, "\7");
	shrink_and_grow(&c, true);
	CHECK_INT(file_write(c.file, 6, (struct span){(const uint8_t *)"\5", 1}, &how, 0), 0);
	cut_push(c.mount);
	check_lost(&c);
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

int
main(void)
{
	for (int i = 0; i < 4; i++) {
		const char *url = i & 1 ? bucket : "mem:cut";
		sharded = i & 2;
		key = sharded ? "t/c/1" : "t/1";
		row_goes(url, false);
		row_goes(url, true);
		chunk_comes_again(url);
		chunk_is_stored_again(url);
		row_stays(url, false);
		row_stays(url, true);
		others_append(url);
		fill_goes(url);
		none_came(url);
		own_cut(url);
	}
	return check_end();
}
