/* Codecs that only Zarr V3 has: bytes worked out by hand from the specifications, both ways. */
#include "check.h"

#include "codec/codec.h"
#include "model/narrow.h"

#include <endian.h>
#include <errno.h>
#include <math.h>

struct sample {
	struct dtype dtype;
	unsigned rank;
	uint64_t shape[4];
	const char *codecs;
};

static int
open_sample(const struct sample *s, struct form *form, struct codec_chain **ret)
{
	CLEAN(json_freep) struct json *list = NULL;
	struct codec_specs specs = {0};
	CHECK_INT(json_parse(s->codecs, strlen(s->codecs), &list), 0);
	static const uint8_t zero[8];
	*form = (struct form){.fill = zero,
		.dtype = &s->dtype,
		.rank = s->rank,
		.shape = s->shape,
		.count = 1,
		.exact = true};
	for (unsigned i = 0; i < s->rank; i++)
		form->count *= s->shape[i];
	form->bytes = form->count * s->dtype.size;
	int r = codec_specs_v3(list, false, &specs);
	if (r == 0)
		r = codec_chain_open(specs.spec, specs.n, form, ret);
	codec_specs_free(&specs);
	return r;
}

/* data: the elements as they are in memory. */
static void
both_ways(const struct sample *s, const void *data, struct span stored)
{
	struct form form;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	int before = check_failed;
	CHECK_INT(open_sample(s, &form, &c), 0);
	if (!c)
		return;
	uint8_t got[256];
	struct buf out = {got, 0, sizeof got};
	CHECK_INT(codec_chain_decode(c, NULL, stored, &out), 0);
	CHECK_INT(out.len, form.bytes);
	CHECK_MEM(got, data, form.bytes);
	CLEAN(buf_free) struct buf enc = {0};
	CHECK_INT(codec_chain_encode(c, NULL, (struct span){data, form.bytes}, &enc), 0);
	CHECK_INT(enc.len, stored.len);
	if (enc.len == stored.len)
		CHECK_MEM(enc.data, stored.data, stored.len);
	if (check_failed > before)
		fprintf(stderr, "… of %s\n", s->codecs);
}

#define BYTES(...)                                                                                 \
	((struct span){(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})
#define LITTLE "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}"
#define BIG "{\"name\": \"bytes\", \"configuration\": {\"endian\": \"big\"}}"

static const struct dtype f4 = {.kind = DTYPE_FLOAT, .size = 4},
			  f8 = {.kind = DTYPE_FLOAT, .size = 8},
			  i2 = {.kind = DTYPE_INT, .size = 2}, u1 = {.kind = DTYPE_UINT, .size = 1},
			  b1 = {.kind = DTYPE_BOOL, .size = 1};

static void
test_packbits(void)
{
	const struct dtype int4 = narrow_wide(NARROW_INT4);
	both_ways(&(struct sample){int4, 1, {4}, "[\"packbits\"]"}, (const int8_t[]){1, -1, 7, -8},
		BYTES(0xf1, 0x87));
	both_ways(&(struct sample){b1, 1, {9},
			  "[{\"name\": \"packbits\", \"configuration\": {\"padding_encoding\": "
			  "\"first_byte\"}}]"},
		(const uint8_t[]){1, 0, 1, 1, 0, 0, 0, 0, 1}, BYTES(7, 0x0d, 1));
	both_ways(&(struct sample){b1, 1, {3},
			  "[{\"name\": \"packbits\", \"configuration\": {\"padding_encoding\": "
			  "\"last_byte\"}}]"},
		(const uint8_t[]){0, 1, 1}, BYTES(6, 5));
	/* bits 2 to 6 of each, sign-extended */
	both_ways(&(struct sample){i2, 1, {3},
			  "[{\"name\": \"packbits\", \"configuration\": {\"first_bit\": 2, "
			  "\"last_bit\": 6}}]"},
		(const int16_t[]){4, -64, 60}, BYTES(0x01, 0x3e));
	both_ways(&(struct sample){i2, 1, {2}, "[\"packbits\", \"crc32c\"]"},
		(const int16_t[]){-2, 258}, BYTES(0xfe, 0xff, 2, 1, 0x78, 0x91, 0x0a, 0xf9));
}

static void
test_calculating(void)
{
	both_ways(&(struct sample){f4, 1, {2},
			  "[{\"name\": \"scale_offset\", \"configuration\": {\"offset\": 5, "
			  "\"scale\": 0.1}}, " LITTLE "]"},
		(const float[]){15, 5}, BYTES(0, 0, 0x80, 0x3f, 0, 0, 0, 0));
	both_ways(&(struct sample){i2, 1, {3},
			  "[{\"name\": \"scale_offset\", \"configuration\": {\"offset\": -3, "
			  "\"scale\": 7}}, " LITTLE "]"},
		(const int16_t[]){-3, -2, 97}, BYTES(0, 0, 7, 0, 0xbc, 2));
	/* as one byte, for which `bytes` says no order */
	both_ways(&(struct sample){f8, 1, {3},
			  "[{\"name\": \"scale_offset\", \"configuration\": {\"offset\": -10, "
			  "\"scale\": 2}}, {\"name\": "
			  "\"cast_value\", \"configuration\": {\"data_type\": \"uint8\"}}, "
			  "\"bytes\"]"},
		(const double[]){-10, -7.5, 117.5}, BYTES(0, 5, 255));
	both_ways(&(struct sample){f4, 1, {3},
			  "[{\"name\": \"cast_value\", \"configuration\": {\"data_type\": "
			  "\"int8\", \"scalar_map\": {\"encode\": "
			  "[[\"Infinity\", -128]], \"decode\": [[-128, \"Infinity\"]]}}}, "
			  "\"bytes\"]"},
		(const float[]){1, INFINITY, -3}, BYTES(1, 0x80, 0xfd));
	both_ways(&(struct sample){u1, 1, {2},
			  "[{\"name\": \"cast_value\", \"configuration\": {\"data_type\": "
			  "\"float8_e5m2\"}}, \"bytes\"]"},
		(const uint8_t[]){1, 3}, BYTES(0x3c, 0x42));
	both_ways(&(struct sample){i2, 1, {2},
			  "[{\"name\": \"cast_value\", \"configuration\": {\"data_type\": "
			  "\"int4\"}}, \"packbits\"]"},
		(const int16_t[]){-2, 5}, BYTES(0x5e));
}

/* They calculate in one order, and what they made is stored in the other. */
static void
test_calculating_big(void)
{
	both_ways(&(struct sample){i2, 1, {3},
			  "[{\"name\": \"numcodecs.delta\", \"configuration\": {\"dtype\": "
			  "\"<i2\"}}, " BIG "]"},
		(const int16_t[]){1, 3, 0x206}, BYTES(0, 1, 0, 2, 2, 3));
	both_ways(&(struct sample){f4, 1, {2},
			  "[{\"name\": \"numcodecs.astype\", \"configuration\": "
			  "{\"encode_dtype\": \"<f8\", \"decode_dtype\": \"<f4\"}}, " BIG "]"},
		(const float[]){1, -2},
		BYTES(0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0));
	both_ways(&(struct sample){f4, 1, {2},
			  "[{\"name\": \"cast_value\", \"configuration\": {\"data_type\": "
			  "\"bfloat16\"}}, " BIG "]"},
		(const float[]){1, -2}, BYTES(0x3f, 0x80, 0xc0, 0));
}

/* Lists without a codec that makes bytes of elements, as zarrita.js writes them. */
static void
test_unsaid(void)
{
	both_ways(
		&(struct sample){i2, 1, {2}, "[]"}, (const int16_t[]){1, 0x203}, BYTES(1, 0, 3, 2));
	both_ways(&(struct sample){i2, 2, {1, 2},
			  "[{\"name\": \"transpose\", \"configuration\": {\"order\": [1, 0]}}, "
			  "\"numcodecs.adler32\"]"},
		(const int16_t[]){1, 0x203}, BYTES(0x07, 0x00, 0x10, 0x00, 0x01, 0x00, 0x03, 0x02));
}

static void
test_reshape(void)
{
	both_ways(&(struct sample){u1, 3, {2, 1, 2},
			  "[{\"name\": \"reshape\", \"configuration\": {\"shape\": [[0, 1], "
			  "[2]]}}, {\"name\": \"transpose\", "
			  "\"configuration\": {\"order\": [1, 0]}}, \"bytes\"]"},
		(const uint8_t[]){0, 2, 1, 3}, BYTES(0, 1, 2, 3));
	both_ways(&(struct sample){u1, 2, {2, 3},
			  "[{\"name\": \"reshape\", \"configuration\": {\"shape\": [3, -1]}}, "
			  "{\"name\": \"transpose\", "
			  "\"configuration\": {\"order\": [1, 0]}}, \"bytes\"]"},
		(const uint8_t[]){0, 1, 2, 3, 4, 5}, BYTES(0, 2, 4, 1, 3, 5));
}

#define SHARD(shape, codecs, order, sums, where)                                                   \
	"{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": " shape             \
	", \"codecs\": [" codecs                                                                   \
	"], \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"" order     \
	"\"}}" sums "], \"index_location\": \"" where "\"}}"

/* Chunks in order, none of fill; where the index stands, its order, with how many checksums. */
static void
test_shards(void)
{
	both_ways(&(struct sample){u1, 2, {2, 4},
			  "[" SHARD("[2, 2]", "\"bytes\"", "little", "", "end") "]"},
		(const uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8},
		BYTES(0x01, 0x02, 0x05, 0x06, 0x03, 0x04, 0x07, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00));
	both_ways(&(struct sample){u1, 2, {2, 2},
			  "[" SHARD("[1, 2]", "\"bytes\"", "big", ", \"crc32c\", \"crc32c\"",
				  "start") "]"},
		(const uint8_t[]){0, 0, 3, 4},
		BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x28, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x67, 0xd8, 0xa8, 0x7c, 0xc7,
			0x4b, 0x67, 0x48, 0x03, 0x04));
	both_ways(
		&(struct sample){u1, 1, {4},
			"[" SHARD("[2]", SHARD("[1]", "\"bytes\"", "little", ", \"crc32c\"", "end"),
				"little", "", "end") "]"},
		(const uint8_t[]){1, 2, 3, 4},
		BYTES(0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xfd, 0x84, 0xee,
			0x8b, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xfd,
			0x84, 0xee, 0x8b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x26,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x26, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x26, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00));
	both_ways(&(struct sample){u1, 1, {4},
			  "[" SHARD("[2]", "\"bytes\", \"crc32c\"", "little", ", \"crc32c\"",
				  "end") ", \"crc32c\"]"},
		(const uint8_t[]){1, 2, 3, 4},
		BYTES(0x01, 0x02, 0x52, 0x9f, 0xf8, 0x03, 0x03, 0x04, 0x54, 0x48, 0x1c, 0x02, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x06,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x58, 0x9b, 0x90, 0x8d, 0x72,
			0x9a, 0x6b, 0xea));
}

/* An index that is more than numbers and checksums, and a shard of an array without dimensions. */
static void
test_indexes(void)
{
	both_ways(&(struct sample){u1, 1, {2},
			  "[" SHARD("[2]", "\"bytes\"", "little", ", \"numcodecs.adler32\"",
				  "start") "]"},
		(const uint8_t[]){1, 2},
		BYTES(0x17, 0x00, 0x60, 0x01, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02));
	both_ways(&(struct sample){u1, 1, {4},
			  "[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": "
			  "[2], \"codecs\": [\"bytes\"], \"index_codecs\": [{\"name\": "
			  "\"transpose\", \"configuration\": {\"order\": [1, 0]}}, " LITTLE "]}}]"},
		(const uint8_t[]){1, 2, 3, 4},
		BYTES(0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00));
	both_ways(
		&(struct sample){u1, 0, {0}, "[" SHARD("[]", "\"bytes\"", "little", "", "end") "]"},
		(const uint8_t[]){7},
		BYTES(0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00));
}

static const char cast_to_u1[] =
	"[{\"name\": \"cast_value\", \"configuration\": {\"data_type\": \"uint8\", \"rounding\": "
	"\"%s\", \"out_of_range\": \"%s\"}}, \"bytes\"]";

/* want < 0: an error of that number */
static void
cast_gives(const char *rounding, const char *range, double v, int want)
{
	char text[256];
	snprintf(text, sizeof text, cast_to_u1, rounding, range);
	struct form form;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	const struct sample one = {f8, 1, {1}, text};
	CHECK_INT(open_sample(&one, &form, &c), 0);
	CLEAN(buf_free) struct buf enc = {0};
	int r = codec_chain_encode(c, NULL, (struct span){(const uint8_t *)&v, sizeof v}, &enc);
	CHECK_INT(r < 0 ? r : enc.data[0], want);
}

static void
test_casts(void)
{
	cast_gives("nearest-even", "error", 2.5, 2);
	cast_gives("nearest-away", "error", 2.5, 3);
	cast_gives("towards-zero", "error", 2.9, 2);
	cast_gives("towards-positive", "error", 2.1, 3);
	cast_gives("towards-negative", "error", 2.9, 2);
	cast_gives("nearest-even", "error", 256, -ERANGE);
	cast_gives("nearest-even", "error", -1, -ERANGE);
	cast_gives("nearest-even", "clamp", -1, 0);
	cast_gives("nearest-even", "clamp", INFINITY, 255);
	cast_gives("nearest-even", "wrap", -1, 255);
	cast_gives("nearest-even", "wrap", 257, 1);
	cast_gives("nearest-even", "wrap", INFINITY, -ERANGE);
	cast_gives("nearest-even", "clamp", NAN, -ERANGE);
}

static void
refused(const struct sample *s, int code, const char *why)
{
	struct form form;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	CHECK_INT(open_sample(s, &form, &c), code);
	if (!strstr(err_text(), why))
		CHECK_STR(err_text(), why);
}

static void
test_refused(void)
{
	refused(&(struct sample){f4, 1, {2},
			"[{\"name\": \"cast_value\", \"configuration\": {\"data_type\": \"int8\", "
			"\"x\": 1}}, \"bytes\"]"},
		-ENOTSUP, "'x' is not known");
	refused(&(struct sample){f4, 1, {2},
			"[{\"name\": \"scale_offset\", \"configuration\": {\"scale\": 0}}, " LITTLE
			"]"},
		-EINVAL, "'scale' is zero");
	refused(&(struct sample){u1, 2, {2, 3},
			"[{\"name\": \"reshape\", \"configuration\": {\"shape\": [4]}}, "
			"\"bytes\"]"},
		-EINVAL, "has not the 6 elements");
	refused(&(struct sample){u1, 2, {2, 3},
			"[{\"name\": \"reshape\", \"configuration\": {\"shape\": [[1], [0]]}}, "
			"\"bytes\"]"},
		-EINVAL, "out of order");
	refused(&(struct sample){u1, 2, {2, 3},
			"[{\"name\": \"reshape\", \"configuration\": {\"shape\": [[1], 2]}}, "
			"\"bytes\"]"},
		-EINVAL, "moves dimensions");
	refused(&(struct sample){u1, 1, {2},
			"[{\"name\": \"packbits\", \"configuration\": {\"first_bit\": 5, "
			"\"last_bit\": 4}}]"},
		-EINVAL, "before");
	refused(&(struct sample){f4, 1, {2},
			"[{\"name\": \"cast_value\", \"configuration\": {\"data_type\": "
			"\"int16\"}}, \"bytes\"]"},
		0, "");
}

/* A stream without a header, read by what metadata say; absent where libzfp is. */
static void
test_zfp(void)
{
	static const char *const modes[] = {"\"reversible\"", "\"fixed_rate\", \"rate\": 32",
		"\"fixed_precision\", \"precision\": 32", "\"fixed_accuracy\", \"tolerance\": 0",
		"\"expert\", \"minbits\": 1, \"maxbits\": 16658, \"maxprec\": 64, \"minexp\": "
		"-1075"};
	float data[2][6] = {{1, 2, 3, 4, 5, 6}, {-1, -2, -3, -4, 0, 100}};
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		char text[256];
		snprintf(text, sizeof text,
			"[{\"name\": \"zfp\", \"configuration\": {\"mode\": %s}}]", modes[i]);
		struct form form;
		CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
		int r = open_sample(&(struct sample){f4, 2, {2, 6}, text}, &form, &c);
		if (r == -ENOTSUP && strstr(err_text(), "libzfp"))
			return;
		CHECK_INT(r, 0);
		CLEAN(buf_free) struct buf enc = {0};
		CHECK_INT(codec_chain_encode(
				  c, NULL, (struct span){(uint8_t *)data, sizeof data}, &enc),
			0);
		float got[2][6] = {0};
		struct buf out = {(uint8_t *)got, 0, sizeof got};
		CHECK_INT(codec_chain_decode(c, NULL, buf_span(&enc), &out), 0);
		for (unsigned k = 0; k < 12; k++)
			CHECK(fabsf((&got[0][0])[k] - (&data[0][0])[k]) < 1e-4f);
	}
	struct form form;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	const char small[] = "[{\"name\": \"zfp\", \"configuration\": {\"mode\": \"reversible\"}}]";
	const struct sample bytes = {u1, 1, {6}, small};
	CHECK_INT(open_sample(&bytes, &form, &c), 0);
	const uint8_t in[6] = {0, 1, 127, 128, 254, 255};
	uint8_t got[6];
	CLEAN(buf_free) struct buf enc = {0};
	struct buf out = {got, 0, sizeof got};
	CHECK_INT(codec_chain_encode(c, NULL, (struct span){in, sizeof in}, &enc), 0);
	CHECK_INT(codec_chain_decode(c, NULL, buf_span(&enc), &out), 0);
	CHECK_MEM(got, in, sizeof in);
}

/* Two chunks of two bytes, and where the second one is said to be. */
static void
shard_damaged(uint64_t off, uint64_t len, size_t shorter, const char *why)
{
	const struct sample s = {
		u1, 1, {4}, "[" SHARD("[2]", "\"bytes\"", "little", "", "end") "]"};
	struct form form;
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	uint8_t stored[4 + 32] = {1, 2, 3, 4, [12] = 2}, got[4];
	struct buf out = {got, 0, sizeof got};
	const uint64_t place[] = {htole64(off), htole64(len)};
	memcpy(stored + 20, place, sizeof place);
	CHECK_INT(open_sample(&s, &form, &c), 0);
	CHECK_INT(codec_chain_decode(c, NULL, (struct span){stored, sizeof stored - shorter}, &out),
		-EIO);
	if (!strstr(err_text(), why))
		CHECK_STR(err_text(), why);
}

#define BY_TEN(stored)                                                                             \
	"{\"name\": \"numcodecs.fixedscaleoffset\", \"configuration\": {\"offset\": 10, "          \
	"\"scale\": 1, "                                                                           \
	"\"dtype\": \"<f8\", \"astype\": \"" stored "\"}}"

/* What is missing in a shard is 0 as it is stored, not as it is read. */
static void
test_calculating_around_shards(void)
{
	both_ways(&(struct sample){f8, 1, {3},
			  "[" BY_TEN("<i2") ", " SHARD("[1]", LITTLE, "little", "", "end") "]"},
		(const double[]){9, 10, 12},
		BYTES(0xff, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0));
	both_ways(&(struct sample){f8, 1, {2},
			  "[" BY_TEN("<u1") ", " SHARD(
				  "[2]", "\"bytes\"", "little", "", "start") "]"},
		(const double[]){10, 10},
		BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff));
}

#define CAST(type) "{\"name\": \"cast_value\", \"configuration\": {\"data_type\": \"" type "\"}}"
/* They calculate in one order; in the shard, and the one in it, the other is stored. */
static void
test_shards_big(void)
{
	both_ways(&(struct sample){f8, 1, {3},
			  "[" BY_TEN("<i2") ", " SHARD("[1]", BIG, "little", "", "end") "]"},
		(const double[]){9, 10, 12},
		BYTES(0xff, 0xff, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0));
#define NESTED(codec) SHARD("[1]", SHARD("[1]", codec, "big", "", "end"), "big", "", "start")
	both_ways(&(struct sample){f4, 1, {1}, "[" CAST("bfloat16") ", " NESTED(BIG) "]"},
		(const float[]){-2},
		BYTES(0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 18, 0xc0, 0, 0, 0, 0, 0, 0, 0,
			0, 0, 0, 0, 0, 0, 0, 0, 0, 2));
	both_ways(&(struct sample){u1, 1, {1}, "[" CAST("int16") ", " NESTED(BIG) "]"},
		(const uint8_t[]){3},
		BYTES(0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 18, 0, 3, 0, 0, 0, 0, 0, 0, 0,
			0, 0, 0, 0, 0, 0, 0, 0, 2));
	both_ways(&(struct sample){i2, 1, {1}, "[" CAST("uint8") ", " NESTED(BIG) "]"},
		(const int16_t[]){3},
		BYTES(0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 17, 3, 0, 0, 0, 0, 0, 0, 0, 0,
			0, 0, 0, 0, 0, 0, 0, 1));
	refused(&(struct sample){f8, 1, {2}, "[" BIG ", " BY_TEN("<i2") "]"}, -EINVAL,
		"behind the bytes of the elements");
	refused(&(struct sample){f8, 1, {2}, "[" BY_TEN("<f8") ", " BIG ", " BY_TEN("<i2") "]"},
		-EINVAL, "behind the bytes of the elements");
}

static void
test_bad_shards(void)
{
	shard_damaged(1, 2, 0, "chunks of a shard overlap");
	shard_damaged(0, 1, 0, "chunks of a shard overlap");
	shard_damaged(100, 2, 0, "the shard has 36");
	shard_damaged(UINT64_MAX - 1, 4, 0, "the shard has 36");
	shard_damaged(2, UINT64_MAX, 0, "the shard has 36");
	shard_damaged(3, 2, 0, "in the shard's index");
	shard_damaged(20, 2, 0, "in the shard's index");
	shard_damaged(2, 2, 10, "shorter than its index");
#define TINY(inner) SHARD("[1]", inner, "little", "", "end")
	refused(&(struct sample){u1, 1, {4},
			"[" SHARD("[3]", "\"bytes\"", "little", "", "end") "]"},
		-EINVAL, "does not divide");
	refused(&(struct sample){u1, 1, {4},
			"[" SHARD("[0]", "\"bytes\"", "little", "", "end") "]"},
		-EINVAL, "does not divide");
	refused(&(struct sample){u1, 1, {UINT64_C(1) << 63}, "[" TINY("\"bytes\"") "]"}, -ENOTSUP,
		"9223372036854775808 chunks in one shard");
	refused(&(struct sample){u1, 1, {4},
			"[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": "
			"[2], "
			"\"codecs\": [\"bytes\"], \"index_codecs\": [{\"name\": "
			"\"numcodecs.astype\", "
			"\"configuration\": {\"encode_dtype\": \"<f4\", \"decode_dtype\": "
			"\"<u8\"}}, " LITTLE "]}}]"},
		-ENOTSUP, "codec 'astype' does not keep");
	refused(&(struct sample){u1, 1, {1},
			"[" TINY(TINY(TINY(TINY(TINY(TINY(TINY(TINY(TINY("\"bytes\""))))))))) "]"},
		-ENOTSUP, "deep are not supported");
}

int
main(void)
{
	test_packbits();
	test_calculating();
	test_calculating_big();
	test_unsaid();
	test_reshape();
	test_shards();
	test_indexes();
	test_casts();
	test_refused();
	test_calculating_around_shards();
	test_shards_big();
	test_bad_shards();
	test_zfp();
	codec_scratch_free();
	return check_end();
}
