/* Shards of arbitrary bytes, in a mount: read at once, and a few bytes at a time in another mount,
 * which shows the same; then an element is written, which changes no other. The first byte says how
 * the array is stored, the second which byte is written. 'x': what follows is its zarr.json, up to
 * a line's end. */
#include "mounted.h"

#include "base/err.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 8, COLUMNS = 6, PIECE = 3, MOST = 4096, FIRST_CHUNKS = 4, ENTRY = 16, SUM = 4 };

#define LITTLE "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}"
#define BIG "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"big\"}}"
#define SHARDING(shape, codecs, index, where)                                                      \
	"{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": " shape             \
	", \"codecs\": [" codecs "], \"index_codecs\": [" index "], \"index_location\": \"" where  \
	"\"}}"

/* Of 8 × 6 elements, in two shards with the same bytes. */
static const struct form_of_array {
	const char *type, *fill, *codecs;
	bool summed; /* the index has a checksum, which is made right here */
} arrays[] = {
	{"int16", "-2", SHARDING("[2, 3]", LITTLE, LITTLE, "end"), false},
	{"int16", "-2", SHARDING("[2, 3]", LITTLE, BIG, "start"), false},
	{"int16", "-2", SHARDING("[2, 3]", LITTLE, LITTLE ", \"crc32c\"", "end"), true},
	{"int16", "-2", SHARDING("[2, 3]", SHARDING("[1, 3]", BIG, LITTLE, "start"), LITTLE, "end"),
		false},
	{"int16", "-2",
		SHARDING("[1, 1]", SHARDING("[1, 1]", LITTLE, LITTLE, "end"), LITTLE, "end"),
		false},
	{"uint8", "3",
		SHARDING("[4, 3]",
			"{\"name\": \"transpose\", \"configuration\": {\"order\": [1, 0]}}, "
			"\"bytes\", \"zstd\"",
			LITTLE, "end"),
		false},
	{"string", "\"none\"", SHARDING("[4, 2]", "\"vlen-utf8\"", LITTLE, "end"), false},
	{"int16", "-2",
		SHARDING("[2, 3]", LITTLE, LITTLE, "end") ", {\"name\": \"numcodecs.shuffle\", "
							  "\"configuration\": {\"elementsize\": "
							  "2}}",
		false},
	{"int16", "-2",
		"{\"name\": \"transpose\", \"configuration\": {\"order\": [1, 0]}}, " SHARDING(
			"[3, 2]", LITTLE, LITTLE, "end"),
		false},
};

static const char *const keys[] = {"v/c/0/0", "v/c/1/0", "v/c", "v/c/0"};

/* What is known of a file, byte by byte. */
struct shown {
	uint8_t byte[MOST];
	bool known[MOST];
	uint64_t size;
};

static uint32_t
crc32c(struct span in)
{
	uint32_t crc = UINT32_MAX;
	for (size_t i = 0; i < in.len; i++) {
		crc ^= in.data[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void
put(struct zmap *z, const char *key, const void *data, size_t len)
{
	if (zmap_put(z, &(struct zmap_put){.key = key, .bytes = {data, len}}, NULL) < 0)
		abort();
}

static void
put_document(struct zmap *z, const struct form_of_array *a)
{
	char text[2048];
	int n = snprintf(text, sizeof text,
		"{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [%d, %d], "
		"\"data_type\": \"%s\", \"chunk_grid\": {\"name\": \"regular\", "
		"\"configuration\": {\"chunk_shape\": [%d, %d]}}, \"chunk_key_encoding\": "
		"{\"name\": \"default\"}, \"fill_value\": %s, \"codecs\": [%s]}",
		ROWS, COLUMNS, a->type, ROWS / 2, COLUMNS, a->fill, a->codecs);
	if (n < 0 || (size_t)n >= sizeof text)
		abort();
	put(z, "v/zarr.json", text, (size_t)n);
}

static struct file *
open_file(struct mount *m, int flags)
{
	struct entry e = {0};
	struct file *f = NULL;
	if (mount_lookup(m, "v", &e))
		return NULL;
	if (file_open_for(m, &e, flags, &f) < 0)
		f = NULL;
	entry_free(&e);
	return f;
}

static void
read_piece(struct file *f, uint64_t off, size_t len, struct shown *ret)
{
	struct reply r = {0};
	struct array_want w = {.off = off, .len = len, .deadline = clock_now() + SECOND};
	if (file_read(f, &w, &r) == 0) {
		if (r.len > len)
			abort();
		reply_copy(&r, ret->byte + off);
		memset(ret->known + off, true, r.len);
	}
	reply_done(&r);
}

/* In pieces of n bytes, the last one first. */
static void
look(struct mount *m, size_t n, struct shown *ret)
{
	struct file *f = open_file(m, O_RDONLY);
	*ret = (struct shown){.size = f ? file_size(f) : 0};
	if (ret->size > MOST)
		ret->size = MOST;
	for (uint64_t off = ret->size ? (ret->size - 1) / n * n : 0; ret->size; off -= n) {
		read_piece(f, off, n < ret->size - off ? n : ret->size - off, ret);
		if (!off)
			break;
	}
	file_close(f);
}

static struct mount *
open_mount(bool rw)
{
	const struct mount_options o = {
		.model = {.ttl = INT64_MAX, .timeout = SECOND},
		.data = {.memory = 32 << 20, .workers = 1, .ttl = INT64_MAX, .timeout = SECOND},
		.zmap = {.timeout = SECOND, .writable = rw},
		.rw = rw,
		.endian = ENDIAN_LITTLE,
		.strlen = 8,
	};
	struct mount *m = NULL;
	if (mount_open("mem:fuzzshard", &o, &m) < 0)
		return NULL;
	return m;
}

static void
look_in_new(size_t n, struct shown *ret)
{
	struct mount *m = open_mount(false);
	*ret = (struct shown){0};
	if (m)
		look(m, n, ret);
	mount_close(m);
}

/* Whether it was taken, and stored. */
static bool
write_byte(uint64_t at, uint8_t value)
{
	struct mount *m = open_mount(true);
	struct file *f = m ? open_file(m, O_RDWR) : NULL;
	const struct array_want how = {.deadline = clock_now() + SECOND};
	int r = f ? file_write(f, at, (struct span){&value, 1}, &how, 0) : -1;
	if (r >= 0)
		r = file_settle(f, SETTLE_FSYNC, clock_now() + SECOND, NULL);
	file_close(f);
	mount_close(m);
	return r >= 0;
}

/* What `a` knows, `b` knows too, and the same. */
static void
compare(const struct shown *a, const struct shown *b)
{
	if (a->size != b->size)
		abort();
	for (size_t i = 0; i < a->size; i++)
		if (a->known[i] && (!b->known[i] || a->byte[i] != b->byte[i]))
			abort();
}

static void
try_all(uint8_t where, bool writes)
{
	static struct shown whole, parts, after;
	look_in_new(MOST, &whole);
	look_in_new(PIECE, &parts);
	compare(&whole, &parts);
	const uint64_t at = parts.size ? where % parts.size : 0;
	if (!writes || !parts.size || !write_byte(at, where))
		return;
	look_in_new(PIECE, &after);
	parts.byte[at] = where;
	compare(&parts, &after);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[] = "fuzzshard";
	if (size < 2)
		return 0;
	struct zmap *z = fuzz_store(name, NULL, 0, NULL, 0);
	const struct form_of_array *a = &arrays[data[0] % (sizeof arrays / sizeof *arrays)];
	const uint8_t where = data[1], *shard = data + 2, *end = data + size, *line;
	if (data[0] == 'x') {
		line = memchr(shard, '\n', (size_t)(end - shard));
		line = line ? line : end;
		put(z, "v/zarr.json", shard, (size_t)(line - shard));
		shard = line + (line < end);
	} else {
		put_document(z, a);
	}
	size_t len = (size_t)(end - shard);
	uint8_t *bytes = malloc(len + 1);
	memcpy(bytes, shard, len);
	const size_t index = FIRST_CHUNKS * ENTRY;
	if (data[0] != 'x' && a->summed && len >= index + SUM) {
		uint32_t sum = crc32c((struct span){bytes + len - index - SUM, index});
		memcpy(bytes + len - SUM, &sum, sizeof sum);
	}
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		put(z, keys[i], bytes, len);
	free(bytes);
	/* A byte of a text may make it wider. */
	try_all(where, data[0] != 'x' && strcmp(a->type, "string"));
	zmap_close(z);
	return 0;
}
