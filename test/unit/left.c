/* What a broken writer left behind the end of an array: it becomes fill before it becomes rows, and
 * rows that another writer has just put there, or this mount, do not. Objects that were put before
 * a moment count as two days old. */
#include "cut.h"
#include "told.h"

#include "view/flats.h"

static const struct array_want how;

static struct {
	struct zmap_ops ops; /* of the mount's store */
	const struct zmap_ops *under;
	int64_t until;    /* clock_wall(): what was put before is old */
	atomic_int calls; /* of the kind below, until the other writer comes */
	enum zmap_kind kind;
	struct zmap *store;
	const char *key;    /* that it puts … */
	struct span puts;   /* … this in */
	atomic_uint stored; /* puts of chunks by the mount */
	atomic_int answer;  /* to the next one of them, which is not done; 0: it is done */
} played;

static bool
is_chunk(const char *key)
{
	return !strstr(key, ".z") && !strstr(key, "zarr.json");
}

/* The other writer comes, if it is time. */
static void
call(enum zmap_kind kind, const char *key)
{
	if (!is_chunk(key) || !played.key || strcmp(key, played.key) || kind != played.kind ||
		--played.calls)
		return;
	put_bytes(played.store, key, played.puts.data, played.puts.len);
}

static int
age(int r, const char *key, struct zmap_stat *st)
{
	if (r == 0 && is_chunk(key) && st->mtime <= played.until)
		st->mtime -= 2 * 86400 * SECOND;
	return r;
}

static int
play_stat(struct zmap *z, const char *key, struct cancel *cancel, struct zmap_stat *ret)
{
	int r = age(played.under->stat(z, key, cancel, ret), key, ret);
	call(ZMAP_STAT, key);
	return r;
}

static int
play_get(struct zmap *z, const struct zmap_get *g, struct zmap_stat *ret)
{
	int r = age(played.under->get(z, g, ret), g->key, ret);
	call(ZMAP_GET, g->key);
	return r;
}

static int
play_put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	played.stored += is_chunk(p->key);
	call(ZMAP_PUT, p->key);
	int r = played.answer;
	if (!r || !is_chunk(p->key))
		return played.under->put(z, p, ret);
	played.answer = 0;
	return r < 0 ? err_set(r, "'%s' is not put", p->key) : r;
}

static void
make_old(void)
{
	played.until = clock_wall();
	while (clock_wall() == played.until)
		continue;
}

/* The mount of `url`, which leads to the store mem:left, with what the test put there, and its
 * file t. */
static struct told
begin(const char *url)
{
	struct mount_options o = options_new();
	struct told t = {.store = played.store};
	o.rw = o.zmap.writable = true;
	o.unlimited = "time";
	t.mount = mount_new(url, &o);
	played.under = t.mount->zmap->ops;
	played.ops = *played.under;
	played.ops.submit = NULL;
	played.ops.stat = play_stat;
	played.ops.get = play_get;
	played.ops.put = play_put;
	t.mount->zmap->ops = &played.ops;
	make_old();
	t.file = open_for(t.mount, "t", O_RDWR, 0);
	return t;
}

static void
close_file(struct told *t)
{
	CHECK_INT(file_settle(t->file, SETTLE_RELEASE, 0, NULL), 0);
	file_close(t->file);
}

static void
end(struct told *t)
{
	t->mount->zmap->ops = played.under;
	mount_close(t->mount);
	zmap_close(played.store);
}

static void
make(const char *shape, const char *chunks)
{
	memset(&played, 0, sizeof played);
	played.store = store_new("mem:left");
	put_text(played.store, ".zgroup", "{\"zarr_format\": 2}");
	put_text(played.store, "t/.zattrs", "{\"_ARRAY_DIMENSIONS\": [\"time\"%s]}",
		strchr(shape, ',') ? ", \"x\"" : "");
	put_meta(played.store, "t", "\"|i1\"", shape, chunks, "\"fill_value\": 0");
}

static void
other_puts(enum zmap_kind kind, int calls, const char *key, const char *bytes, size_t n)
{
	played.kind = kind;
	played.calls = calls;
	played.key = key;
	played.puts = (struct span){(const uint8_t *)bytes, n};
}

static void
is_stored(const char *key, const char *bytes, size_t n)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(zmap_get(played.store, &(struct zmap_get){.key = key, .into = &b, .max = 1000},
			  NULL),
		0);
	CHECK_INT(b.len, n);
	CHECK(b.len == n && !memcmp(b.data, bytes, n));
}

static void
write_at(struct told *t, uint64_t off, const char *bytes, size_t n)
{
	CHECK_INT(file_write(t->file, off, (struct span){(const uint8_t *)bytes, n}, &how, 0), 0);
}

/* kind, calls: another writer puts its row then; calls 0: not at all. */
static void
test_longer(const char *url, enum zmap_kind kind, int calls)
{
	make("[3]", "[4]");
	put_bytes(played.store, "t/0", "\1\2\3\x63", 4);
	put_bytes(played.store, "t/1", "\x63\x63\x63\x63", 4);
	struct told t = begin(url);
	other_puts(kind, calls, "t/0", "\1\2\3\4", 4);
	CHECK_INT(file_truncate(t.file, 4, RESIZE_LONGER, NULL), 0);
	is_stored("t/0", calls ? "\1\2\3\4" : "\1\2\3\0", 4);
	is_stored("t/1", "\x63\x63\x63\x63", 4);
	other_puts(kind, calls == 2 ? 1 : calls, "t/1", "\5\6\7\x8", 4); /* it is read once */
	CHECK_INT(file_truncate(t.file, 6, RESIZE_LONGER, NULL), 0);
	is_stored("t/1", calls ? "\5\6\7\x8" : "\0\0\0\0", 4);
	close_file(&t);
	end(&t);
}

/* A row of fill over many old elements: one put of each object. */
static void
test_many(const char *url)
{
	enum { COLUMNS = 100 };
	char left[2 * COLUMNS];
	make("[1,100]", "[2,100]");
	for (size_t i = 0; i < sizeof left; i++)
		left[i] = i % 3 ? 99 : 0;
	put_bytes(played.store, "t/0.0", left, sizeof left);
	struct told t = begin(url);
	CHECK_INT(file_truncate(t.file, sizeof left, RESIZE_LONGER, NULL), 0);
	memset(left + COLUMNS, 0, COLUMNS);
	is_stored("t/0.0", left, sizeof left);
	CHECK_INT(played.stored, 1);
	close_file(&t);
	end(&t);
}

/* Half a row, each in an object of its own: the rest is fill, unless it is another writer's. */
static void
test_half(const char *url, bool others, bool old)
{
	make("[1,4]", "[1,2]");
	if (old)
		put_bytes(played.store, "t/1.1", "\x63\x63", 2);
	struct told t = begin(url);
	char rows[8];
	write_at(&t, 4, "\1\2", 2);
	if (others)
		put_bytes(played.store, "t/1.1", "\7\x8", 2);
	CHECK_INT(file_settle(t.file, SETTLE_FLUSH, 0, NULL), 0);
	is_stored("t/1.0", "\1\2", 2);
	if (old && !others)
		is_stored("t/1.1", "\0\0", 2);
	close_file(&t);
	is_stored("t/1.0", "\1\2", 2);
	struct file *f = NULL;
	CHECK_INT(open_path(t.mount, "t", &f), 0);
	CHECK_INT(read_at(f, 0, sizeof rows, rows), 8);
	CHECK(!memcmp(rows + 4, others ? "\1\2\7\x8" : "\1\2\0\0", 4));
	file_close(f);
	end(&t);
}

/* Half an element, and a hole that begins within one, or in whose end one begins. */
static void
test_element(const char *url)
{
	make("[1,2]", "[3,2]");
	put_meta(played.store, "t", "\"<i2\"", "[1, 2]", "[3, 2]", "\"fill_value\": 7");
	put_bytes(played.store, "t/0.0", "1234cccccccc", 12);
	struct told t = begin(url);
	write_at(&t, 4, "efg", 3);
	CHECK_INT(file_settle(t.file, SETTLE_FLUSH, 0, NULL), 0);
	is_stored("t/0.0", "1234efg\0\7\0\7\0", 12);
	make_old();
	write_at(&t, 11, "h", 1);
	close_file(&t);
	is_stored("t/0.0", "1234efg\0\7\0\7h", 12);
	end(&t);
}

/* An object that a broken writer left cannot be read. */
static void
test_torn(const char *url)
{
	uint8_t rows[8];
	make("[3]", "[4]");
	put_bytes(played.store, "t/0", "\1\2\3\0", 4);
	put_bytes(played.store, "t/1", "\x63", 1);
	struct told t = begin(url);
	CHECK_INT(file_truncate(t.file, 6, RESIZE_LONGER, NULL), 0);
	is_stored("t/1", "\0\0\0\0", 4);
	CHECK_INT(read_at(t.file, 0, sizeof rows, rows), 6);
	CHECK(!memcmp(rows, "\1\2\3\0\0\0", 6));
	close_file(&t);
	end(&t);

	make("[4]", "[4]"); /* a row is written to it */
	put_bytes(played.store, "t/1", "\x63", 1);
	t = begin(url);
	write_at(&t, 5, "\6", 1);
	close_file(&t);
	is_stored("t/1", "\0\6\0\0", 4);
	end(&t);

	make("[3]", "[4]"); /* rows that are there lie in it */
	put_bytes(played.store, "t/0", "\x63", 1);
	t = begin(url);
	CHECK_INT(file_truncate(t.file, 4, RESIZE_LONGER, NULL), -EIO);
	is_stored("t/0", "\x63", 1);
	file_close(t.file);
	end(&t);
}

/* A shard of two chunks, of two bytes each. */
static size_t
shard_of(const char *chunks, uint8_t *ret)
{
	const uint64_t place[] = {0, 2, 2, 2};
	memcpy(ret, chunks, 4);
	memcpy(ret + 4, place, sizeof place);
	return 4 + sizeof place;
}

static void
make_shards(void)
{
	memset(&played, 0, sizeof played);
	played.store = store_new("mem:left");
	put_text(played.store, "zarr.json", "{\"zarr_format\": 3, \"node_type\": \"group\"}");
	put_text(played.store, "t/zarr.json",
		"{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [1], \"data_type\": "
		"\"int8\", "
		"\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": "
		"[4]}}, "
		"\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, \"codecs\": "
		"[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [2], "
		"\"codecs\": [{\"name\": \"bytes\"}], \"index_codecs\": [{\"name\": \"bytes\", "
		"\"configuration\": {\"endian\": \"little\"}}]}}], \"attributes\": {}, "
		"\"dimension_names\": [\"time\"]}");
}

static void
count_line(void *arg, const char *line)
{
	++*(unsigned *)arg;
	CHECK(strstr(line, "'t/c/1' lies behind the end of array 't'"));
}

/* others: all that is there is another writer's. */
static void
test_shards(const char *url, bool others)
{
	uint8_t shard[64], rows[8];
	unsigned said = 0;
	make_shards();
	size_t n = shard_of("\1\x63\x63\x63", shard);
	put_bytes(played.store, "t/c/0", shard, n);
	put_bytes(played.store, "t/c/1", others ? shard : (const uint8_t *)"\x63", others ? n : 1);
	struct told t = begin(url);
	notes_set(&t.mount->notes, count_line, &said);
	if (others)
		played.until = 0;
	CHECK_INT(file_truncate(t.file, 6, RESIZE_LONGER, NULL), 0);
	CHECK_INT(read_at(t.file, 0, sizeof rows, rows), 6);
	CHECK(!memcmp(rows, others ? "\1\x63\x63\x63\1\x63" : "\1\0\0\0\0\0", 6));
	CHECK_INT(said, !others);
	close_file(&t);
	end(&t);
}

/* What was put here and not counted stays, however old it is. */
static void
test_own(const char *url)
{
	make("[3]", "[8]");
	put_bytes(played.store, "t/0", "\1\2\3\x63\x63\x63\x63\x63", 8);
	struct told t = begin(url);
	write_at(&t, 3, "\4", 1);
	cut_push(t.mount);
	is_stored("t/0", "\1\2\3\4\0\0\0\0", 8);
	make_old();
	write_at(&t, 4, "\5", 1);
	cut_push(t.mount);
	is_stored("t/0", "\1\2\3\4\5\0\0\0", 8);
	close_file(&t);
	end(&t);

	make("[1,4]", "[1,4]"); /* a row that comes in two halves */
	put_bytes(played.store, "t/1.0", "\x63\x63\x63\x63", 4);
	t = begin(url);
	write_at(&t, 4, "\1\2", 2);
	CHECK_INT(file_settle(t.file, SETTLE_FLUSH, 0, NULL), 0);
	is_stored("t/1.0", "\1\2\0\0", 4);
	make_old();
	write_at(&t, 6, "\3", 1);
	CHECK_INT(file_settle(t.file, SETTLE_FLUSH, 0, NULL), 0);
	is_stored("t/1.0", "\1\2\3\0", 4);
	close_file(&t);
	end(&t);
}

/* A put that is refused, or fails, puts no rows: when it is tried again, the old ones are no rows
 * of this mount. */
static void
test_not_put(const char *url, int answer)
{
	make("[3]", "[8]");
	put_bytes(played.store, "t/0", "\1\2\3\x63\x63\x63\x63\x63", 8);
	struct told t = begin(url);
	write_at(&t, 3, "\4", 1);
	played.answer = answer;
	if (answer < 0) {
		CLEAN(buf_free) struct buf said = {0};
		CHECK_INT(file_settle(t.file, SETTLE_FSYNC, 0, NULL), answer);
		flat_retry(t.mount, &said);
	}
	CHECK_INT(file_settle(t.file, SETTLE_FSYNC, 0, NULL), 0);
	CHECK_INT(played.answer, 0);
	is_stored("t/0", "\1\2\3\4\0\0\0\0", 8);
	close_file(&t);
	end(&t);
}

int
main(void)
{
	static const char *const urls[] = {"mem:left", "fault+mem:left#fault.remote=1"};
	for (size_t i = 0; i < 2; i++) {
		test_longer(urls[i], ZMAP_STAT, 0);
		test_longer(urls[i], ZMAP_STAT, 1);
		test_longer(urls[i], ZMAP_GET, 2); /* the look, and to be laid under */
		test_longer(urls[i], ZMAP_PUT, 1);
		test_many(urls[i]);
		test_half(urls[i], false, false);
		test_half(urls[i], false, true);
		test_half(urls[i], true, false);
		test_half(urls[i], true, true);
		test_element(urls[i]);
		test_torn(urls[i]);
		test_own(urls[i]);
		test_not_put(urls[i], ZMAP_CHANGED);
		test_not_put(urls[i], -EIO);
		test_shards(urls[i], false);
		test_shards(urls[i], true);
	}
	return check_end();
}
