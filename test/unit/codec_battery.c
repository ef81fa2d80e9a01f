/* What every codec of the table must do: give back what it was given, in the exact size; refuse what is too short, too long or of
 * another size; never touch memory outside; decode parts as the whole. Run under a sanitizer for the memory. */
#include "check.h"

#include "codec/codec.h"

#include <dirent.h>
#include <errno.h>

enum { RANGES = 60, FLIPS = 60, SAMPLE_MAX = 1 << 16 };

/* One configuration. Where lossy, what comes back differs; where hostile_only, elements are no plain numbers. */
struct row {
	const char *id, *config;
	enum dtype_kind kind;
	uint32_t size;
	bool lossy, hostile_only;
	bool loose_end; /* some last bits or bytes mean nothing, and nothing tells how many */
};

static uint32_t seed = 7;

/* How test data look: a third each of zeros, a slow ramp with noise, and noise. */
static void
fill(uint8_t *p, uint64_t count, const struct row *row, unsigned look)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t v = look == 0   ? 0
			     : look == 1 ? i / 3 + check_random(&seed) % 3
					 : check_random(&seed);
		float f = (float)v;
		double d = (double)v;
		uint8_t *to = p + i * row->size;
		memset(to, 0, row->size);
		if (row->kind == DTYPE_BOOL)
			*to = v & 1;
		else if (row->kind == DTYPE_FLOAT && row->size == 4)
			memcpy(to, &f, 4);
		else if (row->kind == DTYPE_FLOAT && row->size == 8)
			memcpy(to, &d, 8);
		else
			memcpy(to, &v, row->size < 8 ? row->size : 8);
	}
}

struct array {
	struct dtype dtype;
	uint64_t shape[1];
	struct form form;
};

static void
array_of(const struct row *row, uint64_t count, struct array *a)
{
	a->dtype = (struct dtype){.kind = row->kind, .size = row->size};
	a->shape[0] = count;
	a->form = (struct form){
		.dtype = &a->dtype,
		.rank = 1,
		.shape = a->shape,
		.count = count,
		.bytes = count * row->size,
		.exact = true,
	};
}

static int
open_row(const struct row *row, const struct form *form, struct codec_chain **ret)
{
	CLEAN(json_freep) struct json *config = NULL;
	int r = json_parse(row->config, strlen(row->config), &config);
	CHECK_INT(r, 0);
	char id[64];
	snprintf(id, sizeof id, "%s", row->id);
	return codec_chain_open(&(struct codec_spec){id, config}, 1, form, ret);
}

/* Both from and to memory of exactly the right size, for the sanitizer. The result, or NULL and the code in *code. */
static uint8_t *
decode(const struct codec_chain *c, const struct form *form, const uint8_t *enc, size_t len,
	int *code)
{
	uint8_t *in = malloc(len ? len : 1);
	struct buf out = {malloc(form->bytes ? form->bytes : 1), 0, form->bytes};
	if (!in || !out.data)
		abort();
	if (len)
		memcpy(in, enc, len);
	*code = codec_chain_decode(c, NULL, (struct span){in, len}, &out);
	free(in);
	if (*code >= 0) {
		CHECK_INT(out.len, form->bytes);
		return out.data;
	}
	free(out.data);
	return NULL;
}

/* A source that must be read, and counts how often. */
struct counted {
	struct codec_src src;
	const uint8_t *data;
	unsigned reads;
};

static int
counted_read(struct codec_src *src, uint64_t off, size_t len, void *out)
{
	struct counted *c = (struct counted *)src;
	CHECK(off <= src->size && len <= src->size - off);
	memcpy(out, c->data + off, len);
	c->reads++;
	return 0;
}

static void
part(const struct codec_chain *c, struct span enc, const uint8_t *data, size_t off, size_t len)
{
	uint8_t *got = malloc(len ? len : 1);
	struct codec_src mem = {.size = enc.len, .mem = enc.data};
	struct counted read = {{.size = enc.len, .read = counted_read}, enc.data, 0};
	CHECK_INT(codec_chain_decode_range(c, &mem, off, len, got), 0);
	CHECK_MEM(got, data + off, len);
	memset(got, 0xaa, len);
	CHECK_INT(codec_chain_decode_range(c, &read.src, off, len, got), 0);
	CHECK_MEM(got, data + off, len);
	CHECK(read.reads <= 3);
	free(got);
}

static void
parts(const struct codec_chain *c, struct span enc, const struct form *form, const uint8_t *data)
{
	size_t grain = 0;
	struct codec_src src = {.size = enc.len, .mem = enc.data};
	CHECK_INT(codec_chain_grain(c, &src, &grain), 0);
	CHECK(grain > 0 && grain <= form->bytes);
	for (size_t at = 0; at < form->bytes && at / grain < 20; at += grain)
		part(c, enc, data, at, form->bytes - at < grain ? form->bytes - at : grain);
	for (int i = 0; i < RANGES; i++) {
		size_t off = check_random(&seed) % form->bytes;
		size_t len = check_random(&seed) % (form->bytes - off) + 1;
		part(c, enc, data, off, i % 2 ? len : len % 100 + 1 < len ? len % 100 + 1 : len);
	}
	part(c, enc, data, 0, form->bytes);
	part(c, enc, data, form->bytes - 1, 1);
	uint8_t byte;
	CHECK(codec_chain_decode_range(c, &src, form->bytes, 1, &byte) < 0);
	src.size--;
	CHECK(codec_chain_decode_range(c, &src, 0, 1, &byte) < 0);
}

/* Cut short, made longer, bytes changed: an error or, for changed bytes, perhaps other data; never more. */
static void
damage(const struct codec_chain *c, struct span enc, const struct form *form, const uint8_t *data,
	bool loose_end)
{
	int r;
	size_t step = enc.len / 200 + 1;
	for (size_t len = 0; len < enc.len; len += step) {
		CLEAN(clean_free) uint8_t *got = decode(c, form, enc.data, len, &r);
		CHECK(r < 0 || (loose_end && !memcmp(got, data, form->bytes)));
	}
	CLEAN(clean_free) uint8_t *copy = malloc(enc.len + 8);
	if (!copy)
		abort();
	memcpy(copy, enc.data, enc.len);
	memset(copy + enc.len, 'x', 8);
	for (size_t more = 1; more <= 8; more++) {
		CLEAN(clean_free) uint8_t *got = decode(c, form, copy, enc.len + more, &r);
		CHECK(r < 0 || (loose_end && !memcmp(got, data, form->bytes)));
	}
	for (int i = 0; i < FLIPS; i++) {
		size_t at = check_random(&seed) % (i % 2 ? enc.len : enc.len < 32 ? enc.len : 32);
		copy[at] ^= (uint8_t)(1 + check_random(&seed) % 255);
		free(decode(c, form, copy, enc.len, &r));
		struct codec_src src = {.size = enc.len, .mem = copy};
		uint8_t byte;
		if (codec_chain_ranged(c))
			codec_chain_decode_range(
				c, &src, check_random(&seed) % form->bytes, 1, &byte);
		if (i % 3 == 0)
			copy[at] = enc.data[at];
	}
}

static void
noise(const struct codec_chain *c, const struct form *form)
{
	for (size_t len = 0; len < 100; len++) {
		uint8_t bytes[100];
		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)check_random(&seed);
		int r;
		free(decode(c, form, bytes, len, &r));
	}
}

/* The same bytes for an array of another size: more than its form, or less. */
static void
other_size(const struct row *row, struct span enc, uint64_t count)
{
	struct array a;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	array_of(row, count, &a);
	if (open_row(row, &a.form, &c) < 0)
		return;
	int r;
	free(decode(c, &a.form, enc.data, enc.len, &r));
	CHECK(r < 0);
}

static void
round_trip(const struct row *row, uint64_t count, unsigned look)
{
	struct array a;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	array_of(row, count, &a);
	int r = open_row(row, &a.form, &c);
	if (r == -EINVAL && count < 64 && !strcmp(row->id, "szip"))
		return; /* smaller than a block */
	if (r == -ENOTSUP && row->hostile_only)
		return; /* known only to say why not */
	CHECK_INT(r, 0);
	if (r < 0)
		return;
	noise(c, &a.form);
	if (row->hostile_only)
		return;
	CLEAN(clean_free) uint8_t *data = malloc(a.form.bytes);
	CLEAN(buf_free) struct buf enc = {0};
	fill(data, count, row, look);
	CHECK_INT(codec_chain_encode(c, NULL, (struct span){data, a.form.bytes}, &enc), 0);
	CHECK(enc.len <= codec_chain_encoded_max(c));
	CLEAN(clean_free) uint8_t *got = decode(c, &a.form, enc.data, enc.len, &r);
	CHECK_INT(r, 0);
	if (!got)
		return;
	if (!row->lossy)
		CHECK_MEM(got, data, a.form.bytes);
	if (codec_chain_ranged(c))
		parts(c, buf_span(&enc), &a.form, got);
	if (count > 2000)
		return;
	damage(c, buf_span(&enc), &a.form, got, row->loose_end);
	other_size(row, buf_span(&enc), count - 1);
	other_size(row, buf_span(&enc), count + 1);
	other_size(row, buf_span(&enc), count * 2);
}

static void
battery(const struct row *row)
{
	static const uint64_t counts[] = {1, 2, 7, 64, 333, 1000, 4099, 70000};
	int before = check_failed;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		for (unsigned look = 0; look < 3; look++)
			round_trip(row, counts[i], look);
	if (check_failed > before)
		fprintf(stderr, "… of codec '%s' with %s, %u bytes an element\n", row->id,
			row->config, row->size);
}

static const struct row rows[] = {
	{"zlib", "{}", DTYPE_INT, 4},
	{"zlib", "{\"level\": \"9\"}", DTYPE_FLOAT, 8},
	{"gzip", "{\"level\": 0}", DTYPE_INT, 2},
	{"gzip", "{\"level\": 5}", DTYPE_INT, 2},
	{"zstd", "{\"level\": 0}", DTYPE_INT, 4},
	{"zstd", "{\"level\": -5, \"checksum\": true}", DTYPE_RAW, 13},
	{"lz4", "{\"acceleration\": 1}", DTYPE_INT, 4},
	{"bz2", "{\"level\": 9}", DTYPE_INT, 4},
	{"lzma", "{\"format\": 1, \"preset\": 1}", DTYPE_INT, 4},
	{"lzma",
		"{\"format\": 1, \"check\": 1, \"filters\": [{\"id\": 3, \"dist\": 4}, {\"id\": "
		"33, \"preset\": 0}]}",
		DTYPE_INT, 4},
	{"lzma", "{\"format\": 2, \"preset\": 1}", DTYPE_INT, 4},
	{"lzma",
		"{\"format\": 3, \"filters\": [{\"id\": 3, \"dist\": 4}, {\"id\": 33, \"preset\": "
		"1}]}",
		DTYPE_INT, 4},
	{"lzma",
		"{\"format\": 3, \"filters\": [{\"id\": 4611686018427387905, \"dict_size\": 65536, "
		"\"lc\": 0, \"lp\": 2}]}",
		DTYPE_INT, 4},
	{"blosc", "{}", DTYPE_FLOAT, 4},
	{"blosc", "{\"cname\": \"lz4\", \"shuffle\": 2}", DTYPE_INT, 1},
	{"blosc", "{\"cname\": \"lz4\", \"shuffle\": -1}", DTYPE_RAW, 3},
	{"blosc", "{\"cname\": \"lz4\", \"clevel\": 0}", DTYPE_INT, 4},
	{"blosc", "{\"cname\": \"lz4\", \"shuffle\": 1, \"blocksize\": 1024}", DTYPE_INT, 8},
	{"blosc", "{\"cname\": \"lz4hc\", \"shuffle\": 0}", DTYPE_INT, 2},
	{"blosc", "{\"cname\": \"blosclz\", \"clevel\": 9, \"shuffle\": 1}", DTYPE_RAW, 16},
	{"blosc", "{\"cname\": \"zlib\", \"shuffle\": 2}", DTYPE_INT, 4},
	{"blosc", "{\"cname\": \"zstd\", \"shuffle\": \"bitshuffle\", \"clevel\": 3}", DTYPE_RAW,
		5},
	{"blosc", "{\"cname\": \"snappy\", \"shuffle\": \"shuffle\"}", DTYPE_RAW, 17},
	{"blosc", "{\"cname\": \"zstd\", \"shuffle\": 2, \"typesize\": 3, \"blocksize\": 300}",
		DTYPE_RAW, 1},
	{"blosc", "{\"cname\": \"zstd\", \"shuffle\": 1}", DTYPE_RAW, 300},
	{"blosc", "{\"cname\": \"lz4\", \"shuffle\": 2}", DTYPE_INT, 2},
	{"blosc", "{\"cname\": \"lz4\", \"shuffle\": 2}", DTYPE_INT, 8},
	{"blosc", "{\"cname\": \"zlib\", \"shuffle\": 2}", DTYPE_RAW, 12},
	{"blosc", "{\"cname\": \"lz4\", \"shuffle\": 2, \"blocksize\": 3000}", DTYPE_RAW, 16},
	{"blosc", "{\"cname\": \"zstd\", \"shuffle\": 2}", DTYPE_RAW, 200},
	{"blosc", "{\"cname\": \"blosclz\", \"shuffle\": 2, \"blocksize\": 2000}", DTYPE_RAW, 6},
	{"crc32", "{}", DTYPE_INT, 4},
	{"crc32", "{\"location\": \"end\"}", DTYPE_INT, 1},
	{"adler32", "{}", DTYPE_INT, 1},
	{"crc32c", "{}", DTYPE_INT, 1},
	{"crc32c", "{\"location\": \"start\"}", DTYPE_INT, 1},
	{"fletcher32", "{}", DTYPE_INT, 1},
	{"jenkins_lookup3", "{\"initval\": 5}", DTYPE_INT, 1},
	{"jenkins_lookup3", "{\"prefix\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]}", DTYPE_INT,
		1},
	{"base64", "{}", DTYPE_INT, 1},
	{"szip", "{\"mask\": 32, \"pixels-per-block\": 8}", DTYPE_INT, 4, .loose_end = true},
	{"szip", "{\"mask\": 4, \"pixels-per-block\": \"10\"}", DTYPE_INT, 4, .loose_end = true},
	{"szip", "{\"mask\": 32, \"pixels-per-block\": 32}", DTYPE_INT, 1, .loose_end = true},
	{"szip", "{\"mask\": 32, \"pixels-per-block\": 6}", DTYPE_INT, 2, .loose_end = true},
	{"szip", "{\"mask\": 4, \"pixels-per-block\": 16}", DTYPE_FLOAT, 8, .loose_end = true},
	{"shuffle", "{\"elementsize\": 4}", DTYPE_INT, 4},
	{"transpose", "{\"order\": [0]}", DTYPE_INT, 4},
	{"delta", "{\"dtype\": \"<i4\"}", DTYPE_INT, 4},
	{"fixedscaleoffset",
		"{\"offset\": 0, \"scale\": 1, \"dtype\": \"<f8\", \"astype\": \"<i4\"}",
		DTYPE_FLOAT, 8, true},
	{"quantize", "{\"digits\": 2, \"dtype\": \"<f4\"}", DTYPE_FLOAT, 4, true},
	{"bitround", "{\"keepbits\": 5}", DTYPE_FLOAT, 4, true},
	{"astype", "{\"encode_dtype\": \"<f4\", \"decode_dtype\": \"<f8\"}", DTYPE_FLOAT, 8, true},
	{"packbits", "{}", DTYPE_BOOL, 1, true}, /* fewer elements fill the same bytes */
	{"categorize", "{\"labels\": [\"a\", \"b\"], \"dtype\": \"<U1\", \"astype\": \"|u1\"}",
		DTYPE_UNICODE, 4, .hostile_only = true},
	{"vlen-utf8", "{}", DTYPE_VLEN_TEXT, 8, .hostile_only = true},
	{"vlen-bytes", "{}", DTYPE_VLEN_BYTES, 8, .hostile_only = true},
	{"vlen-array", "{\"dtype\": \"<i4\"}", DTYPE_OBJECT, 8, .hostile_only = true},
	{"json2", "{}", DTYPE_VLEN_TEXT, 8, .hostile_only = true},
	{"msgpack2", "{}", DTYPE_VLEN_TEXT, 8, .hostile_only = true},
	{"zfpy", "{\"mode\": 4, \"tolerance\": 0.001}", DTYPE_FLOAT, 4, .hostile_only = true},
};

static bool
has_row(const struct codec_ops *ops)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (const char *const *id = ops->ids; *id; id++)
			if (!strcmp(rows[i].id, *id))
				return true;
	return false;
}

/* Files of test/data/codec: a line of JSON {"id", "config", "size", "count"}, then what another program made of
 * `count` little-endian integers of `size` bytes: i / 3 + (i * i >> 3) % 5. */
static void
sample(const char *name, uint8_t *bytes, size_t len)
{
	uint8_t *line = memchr(bytes, '\n', len);
	CLEAN(json_freep) struct json *head = NULL;
	if (!line || json_parse((char *)bytes, (size_t)(line - bytes), &head) < 0)
		abort();
	int64_t size, count;
	CHECK_INT(codec_number(head, "size", 0, 1, 8, &size), 0);
	CHECK_INT(codec_number(head, "count", 0, 1, 1 << 20, &count), 0);
	CLEAN(clean_free) char *config = json_dump(json_get(head, "config"));
	struct row row = {
		json_text(json_get(head, "id"), &(size_t){0}), config, DTYPE_INT, (uint32_t)size};
	CLEAN(clean_free) uint8_t *want = malloc((size_t)(size * count));
	for (uint64_t i = 0; i < (uint64_t)count; i++)
		memcpy(want + i * (size_t)size, &(uint64_t){i / 3 + (i * i >> 3) % 5},
			(size_t)size);
	struct array a;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	array_of(&row, (uint64_t)count, &a);
	CHECK_INT(open_row(&row, &a.form, &c), 0);
	struct span enc = {line + 1, len - (size_t)(line + 1 - bytes)};
	int r;
	CLEAN(clean_free) uint8_t *got = decode(c, &a.form, enc.data, enc.len, &r);
	CHECK_INT(r, 0);
	if (got)
		CHECK_MEM(got, want, a.form.bytes);
	if (got && codec_chain_ranged(c))
		parts(c, enc, &a.form, want);
	if (r < 0)
		fprintf(stderr, "… of sample '%s'\n", name);
}

static void
samples(const char *data)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/codec", data);
	DIR *d = opendir(path);
	CHECK(d);
	unsigned n = 0;
	for (struct dirent *e; d && (e = readdir(d)); n++) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/codec/%s", data, e->d_name);
		FILE *f = fopen(path, "rb");
		CLEAN(clean_free) uint8_t *bytes = malloc(SAMPLE_MAX);
		if (!f || !bytes)
			abort();
		sample(e->d_name, bytes, fread(bytes, 1, SAMPLE_MAX, f));
		fclose(f);
	}
	CHECK(n > 20);
	if (d)
		closedir(d);
}

static void
say_why(const char *id, const char *text)
{
	struct array a;
	struct row row = {id, "{}", DTYPE_INT, 4};
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	array_of(&row, 10, &a);
	CHECK_INT(open_row(&row, &a.form, &c), -ENOTSUP);
	CHECK_STR(err_text(), text);
}

/* Sums as their own specifications give them. */
static void
known_sum(const char *id, const char *config, const char *text, uint32_t sum)
{
	struct array a;
	struct row row = {id, config, DTYPE_INT, 1};
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	array_of(&row, strlen(text), &a);
	CHECK_INT(open_row(&row, &a.form, &c), 0);
	CLEAN(buf_free) struct buf enc = {0};
	CHECK_INT(codec_chain_encode(
			  c, NULL, (struct span){(const uint8_t *)text, strlen(text)}, &enc),
		0);
	uint32_t got;
	memcpy(&got, enc.data + strlen(text), 4);
	CHECK_INT(got, sum);
}

/* Two links and none: sizes between them, the room they need, and what is left when one changes nothing. */
static void
chains(void)
{
	struct array a;
	struct row row = {"", "{}", DTYPE_FLOAT, 4};
	array_of(&row, 1000, &a);
	struct codec_spec spec[] = {
		{(char[]){"bitround"}, NULL}, {(char[]){"blosc"}, NULL}, {(char[]){"crc32"}, NULL}};
	CLEAN(json_freep) struct json *keep = NULL;
	CHECK_INT(json_parse("{\"keepbits\": 3}", 15, &keep), 0);
	spec[0].config = keep;
	CLEAN(codec_chain_freep) struct codec_chain *two = NULL, *three = NULL, *none = NULL;
	CHECK_INT(codec_chain_open(spec, 2, &a.form, &two), 0);
	CHECK(codec_chain_ranged(two) && !codec_chain_empty(two));
	CHECK_INT(codec_chain_scratch(two), 0);
	CHECK_INT(codec_chain_open(spec, 3, &a.form, &three), 0);
	CHECK(!codec_chain_ranged(three) && codec_chain_scratch(three) >= 4000);
	CHECK_INT(codec_chain_open(NULL, 0, &a.form, &none), 0);
	CHECK(codec_chain_ranged(none) && codec_chain_empty(none));
	CHECK_INT(codec_chain_encoded_max(none), 4000);
	CLEAN(clean_free) char *text = codec_chain_text(spec, 3);
	CHECK_STR(text, "bitround,blosc,crc32");

	uint8_t data[4000], got[4000];
	fill(data, 1000, &row, 1);
	CLEAN(buf_free) struct buf enc = {0};
	CHECK_INT(codec_chain_encode(three, NULL, (struct span){data, sizeof data}, &enc), 0);
	struct buf out = {got, 0, sizeof got};
	CHECK_INT(codec_chain_decode(three, NULL, buf_span(&enc), &out), 0);
	enc.data[enc.len / 2] ^= 1;
	CHECK_INT(codec_chain_decode(three, NULL, buf_span(&enc), &out), -EIO);
	CHECK(strstr(err_text(), "codec 'crc32': checksum is "));

	CHECK_INT(codec_chain_decode(none, NULL, (struct span){data, 3999}, &out), -EIO);
	CHECK_STR(err_text(), "stored chunk has 3999 bytes instead of 4000");
	parts(none, (struct span){data, sizeof data}, &a.form, data);
}

/* gzip in members with zero bytes behind; zlib under the name of gzip. */
static void
gzip_members(void)
{
	struct array a;
	struct row gzip = {"gzip", "{}", DTYPE_INT, 4}, zlib = {"zlib", "{}", DTYPE_INT, 4};
	CLEAN(codec_chain_freep) struct codec_chain *half = NULL, *whole = NULL, *z = NULL;
	uint8_t data[400];
	fill(data, 100, &gzip, 1);
	array_of(&gzip, 100, &a);
	CHECK_INT(open_row(&gzip, &a.form, &whole), 0);
	CHECK_INT(open_row(&zlib, &a.form, &z), 0);
	CLEAN(buf_free) struct buf one = {0}, members = {0};
	CHECK_INT(codec_chain_encode(z, NULL, (struct span){data, 400}, &one), 0);
	int r;
	CLEAN(clean_free) uint8_t *got = decode(whole, &a.form, one.data, one.len, &r);
	CHECK_INT(r, 0);
	CHECK_MEM(got, data, 400);

	struct array b;
	array_of(&gzip, 50, &b);
	CHECK_INT(open_row(&gzip, &b.form, &half), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(codec_chain_encode(half, NULL, (struct span){data + i * 200, 200}, &one),
			0);
		CHECK_INT(buf_add(&members, one.data, one.len), 0);
	}
	CHECK_INT(buf_add(&members, "\0\0\0", 3), 0);
	CLEAN(clean_free) uint8_t *both = decode(whole, &a.form, members.data, members.len, &r);
	CHECK_INT(r, 0);
	CHECK_MEM(both, data, 400);
	free(decode(half, &b.form, members.data, members.len, &r));
	CHECK_INT(r, -EIO);
}

int
main(void)
{
	for (const struct codec_ops *const *o = codec_table; *o; o++) {
		CHECK(has_row(*o));
		if (!has_row(*o))
			fprintf(stderr, "codec '%s' has no row in the battery\n", (*o)->ids[0]);
	}
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		battery(&rows[i]);
	const char *data = getenv("ZARRFS_TEST_DATA");
	CHECK(data);
	if (data)
		samples(data);
	say_why("pickle", "codec 'pickle' is never decoded: it can run code");
	say_why("pcodec", "unknown codec 'pcodec'");
	known_sum("crc32c", "{}", "123456789", 0xe3069283);
	known_sum("crc32", "{\"location\": \"end\"}", "123456789", 0xcbf43926);
	known_sum("adler32", "{\"location\": \"end\"}", "Wikipedia", 0x11e60398);
	known_sum("jenkins_lookup3", "{}", "Four score and seven years ago", 0x17770551);
	known_sum("jenkins_lookup3", "{\"initval\": 1}", "Four score and seven years ago",
		0xcd628161);
	known_sum("jenkins_lookup3", "{\"prefix\": \"Four score\", \"initval\": 1}",
		" and seven years ago", 0xcd628161);
	chains();
	gzip_members();
	codec_scratch_free();
	return check_end();
}
