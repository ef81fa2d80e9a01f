/* What every codec of the table must do: give back what it was given, in the exact size; refuse
 * what is too short, too long or of another size; never touch memory outside; decode parts as the
 * whole. Run under a sanitizer for the memory. */
#include "codec_test.h"
#include "test/chunk_change.h"

#include <blosc.h>

enum { FLIPS = 60, PATCHES = 8 };

/* Cut short, made longer, bytes changed: an error or, for changed bytes, perhaps other data; never
 * more. */
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

static unsigned patched;

/* What is changed in a chunk that is stored is as if all of it had been encoded. */
static void
patch(const struct codec_chain *c, struct span enc, const struct form *form, const uint8_t *data)
{
	CLEAN(clean_free) uint8_t *want = malloc(form->bytes);
	CLEAN(clean_free) uint8_t *damaged = malloc(enc.len);
	if (!want || !damaged)
		abort();
	for (int i = 0; i < PATCHES; i++) {
		size_t from = check_random(&seed) % form->bytes;
		size_t to = from + check_random(&seed) % (form->bytes - from) + 1;
		if (i % 2 && to - from > 9)
			to = i % 4 == 1 ? from + 9 : form->bytes;
		const struct change change = {from, to, want};
		const struct codec_patch p = {&change, change_touches, change_lay};
		CLEAN(buf_free) struct buf out = {0};
		memcpy(want, data, form->bytes);
		for (size_t at = from; at < to; at++)
			want[at] = i % 3 ? (uint8_t)(want[at] + 1) : (uint8_t)check_random(&seed);
		int r = codec_chain_patch(c, enc, &p, &out);
		CHECK(r == 0 || r == CODEC_WHOLE);
		patched += r == 0;
		CLEAN(clean_free)
		uint8_t *got = r == 0 ? decode(c, form, out.data, out.len, &r) : NULL;
		if (got)
			CHECK_MEM(got, want, form->bytes);
		CHECK(r == 0 || r == CODEC_WHOLE);
		size_t all = 0;
		if (got && !blosc_cbuffer_validate(out.data, out.len, &all)) {
			CHECK_INT(blosc_decompress_ctx(out.data, got, form->bytes, 1), form->bytes);
			CHECK_MEM(got, want, form->bytes);
		}
		memcpy(damaged, enc.data, enc.len);
		damaged[check_random(&seed) % enc.len] ^= 1 << i % 8;
		r = codec_chain_patch(c, (struct span){damaged, enc.len}, &p, &out);
		CHECK(r == 0 || r == CODEC_WHOLE);
	}
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
	if (r == -ENOTSUP && (row->hostile_only || strstr(err_text(), "which this build lacks")))
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
	CHECK(enc.len <= codec_chain_encoded(c)->bytes);
	CLEAN(clean_free) uint8_t *got = decode(c, &a.form, enc.data, enc.len, &r);
	CHECK_INT(r, 0);
	if (!got)
		return;
	if (!row->lossy)
		CHECK_MEM(got, data, a.form.bytes);
	if (codec_chain_ranged(c))
		parts(c, buf_span(&enc), &a.form, got);
	if (!strcmp(row->id, "blosc"))
		patch(c, buf_span(&enc), &a.form, got);
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
		for (unsigned look = counts[i] > 2000; look < (counts[i] > 2000 ? 2 : 3); look++)
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
	{"packbits", "{\"padding_encoding\": \"first_byte\"}", DTYPE_BOOL, 1},
	{"packbits", "{\"padding_encoding\": \"last_byte\", \"first_bit\": 3}", DTYPE_UINT, 2,
		true},
	{"packbits", "{\"first_bit\": 1, \"last_bit\": 31}", DTYPE_INT, 4, true},
	{"packbits", "{\"first_bit\": 5}", DTYPE_FLOAT, 8, true},
	{"scale_offset", "{\"offset\": 5, \"scale\": 0.1}", DTYPE_FLOAT, 4, true},
	{"scale_offset", "{\"offset\": -7, \"scale\": -1}", DTYPE_INT, 8, .hostile_only = true},
	{"cast_value", "{\"data_type\": \"uint32\", \"out_of_range\": \"clamp\"}", DTYPE_FLOAT, 4,
		true},
	{"cast_value", "{\"data_type\": \"float64\"}", DTYPE_INT, 4},
	{"cast_value", "{\"data_type\": \"int2\", \"out_of_range\": \"wrap\"}", DTYPE_INT, 4, true},
	{"cast_value", "{\"data_type\": \"int16\", \"scalar_map\": {\"decode\": [[7, \"NaN\"]]}}",
		DTYPE_FLOAT, 8, .hostile_only = true},
	{"reshape", "{\"shape\": [1, -1]}", DTYPE_INT, 4},
	{"bytes", "{\"endian\": \"big\"}", DTYPE_INT, 4, true},
	{"zfp", "{\"mode\": \"reversible\"}", DTYPE_FLOAT, 4, .hostile_only = true},
	{"zfp", "{\"mode\": \"fixed_rate\", \"rate\": 9}", DTYPE_INT, 2, .hostile_only = true},
	{"categorize", "{\"labels\": [\"a\", \"b\"], \"dtype\": \"<U1\", \"astype\": \"|u1\"}",
		DTYPE_UNICODE, 4, .hostile_only = true},
	{"vlen-utf8", "{}", DTYPE_VLEN_TEXT, 8, .hostile_only = true},
	{"vlen-bytes", "{}", DTYPE_VLEN_BYTES, 8, .hostile_only = true},
	{"vlen-array", "{\"dtype\": \"<i4\"}", DTYPE_OBJECT, 8, .hostile_only = true},
	{"json2", "{}", DTYPE_VLEN_TEXT, 8, .hostile_only = true},
	{"msgpack2", "{}", DTYPE_VLEN_TEXT, 8, .hostile_only = true},
	{"sharding_indexed",
		"{\"chunk_shape\": [1], \"codecs\": [{\"name\": \"bytes\", \"configuration\": "
		"{\"endian\": \"little\"}}], \"index_codecs\": [{\"name\": \"bytes\", "
		"\"configuration\": {\"endian\": \"little\"}}, \"crc32c\"]}",
		DTYPE_INT, 4},
	{"pcodec", "{\"level\": 8}", DTYPE_INT, 4, .hostile_only = true},
	{"gribberish", "{\"var\": \"TMP\"}", DTYPE_FLOAT, 8, .hostile_only = true},
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
	CHECK(patched > 10);
	codec_scratch_free();
	return check_end();
}
