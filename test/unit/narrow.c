/* Numbers of less than a byte, bfloat16 and float8: what they are shown as, and back, exactly or
 * not at all. */
#include "check.h"

#include "codec/codec.h"
#include "model/narrow.h"

#include <errno.h>
#include <math.h>

static const struct {
	const char *type;
	uint16_t bits;
	double value;
} known[] = {
	{"int2", 2, -2},
	{"int2", 1, 1},
	{"int2", 0xfd, 1},
	{"int4", 0xf, -1},
	{"int4", 8, -8},
	{"int4", 0xf7, 7},
	{"uint2", 0xff, 3},
	{"uint4", 0x1f, 15},
	{"bfloat16", 0x3fc0, 1.5},
	{"bfloat16", 0x8000, -0.0},
	{"bfloat16", 0xff80, -INFINITY},
	{"bfloat16", 0x7fc0, NAN},
	{"bfloat16", 0x0001, 0x1p-133},
	{"float4_e2m1fn", 7, 6},
	{"float4_e2m1fn", 9, -0.5},
	{"float6_e2m3fn", 0x1f, 7.5},
	{"float6_e3m2fn", 0x1f, 28},
	{"float6_e3m2fn", 0x01, 0.0625},
	{"float8_e3m4", 0x6f, 15.5},
	{"float8_e3m4", 0x70, INFINITY},
	{"float8_e4m3", 0x77, 240},
	{"float8_e4m3", 0xf8, -INFINITY},
	{"float8_e4m3fn", 0x7e, 448},
	{"float8_e4m3fn", 0xff, NAN},
	{"float8_e4m3fn", 0x01, 0x1p-9},
	{"float8_e4m3fnuz", 0x7f, 240},
	{"float8_e4m3fnuz", 0x80, NAN},
	{"float8_e4m3b11fnuz", 0x7f, 30},
	{"float8_e5m2", 0x7b, 57344},
	{"float8_e5m2", 0x7c, INFINITY},
	{"float8_e5m2", 0x7d, NAN},
	{"float8_e5m2fnuz", 0x7f, 57344},
	{"float8_e5m2fnuz", 0x01, 0x1p-17},
	{"float8_e8m0fnu", 0x7f, 1},
	{"float8_e8m0fnu", 0x00, 0x1p-127},
	{"float8_e8m0fnu", 0xff, NAN},
};

static bool
same(double a, double b)
{
	return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

static double
shown(const struct dtype *wide, const uint8_t *p)
{
	float f;
	if (wide->kind != DTYPE_FLOAT)
		return wide->kind == DTYPE_INT ? (double)(int8_t)*p : *p;
	memcpy(&f, p, sizeof f);
	if (wide->big)
		dtype_swap(wide, &f, 1);
	return f;
}

static void
test_known(void)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct dtype wide = narrow_wide(narrow_find(known[i].type));
		for (int big = 0; big < 2; big++) {
			dtype_set_order(&wide, big);
			uint8_t stored[2] = {(uint8_t)known[i].bits, (uint8_t)(known[i].bits >> 8)};
			uint8_t out[4];
			if (wide.big && narrow_size(wide.narrow) == 2)
				memcpy(stored,
					(uint8_t[]){(uint8_t)(known[i].bits >> 8),
						(uint8_t)known[i].bits},
					sizeof stored);
			narrow_widen(&wide, stored, 1, out);
			if (!same(shown(&wide, out), known[i].value))
				fprintf(stderr, "%s %x: %g instead of %g\n", known[i].type,
					known[i].bits, shown(&wide, out), known[i].value);
			CHECK(same(shown(&wide, out), known[i].value));
		}
	}
}

/* Every code of every type, there and back. */
static void
test_back(void)
{
	for (enum narrow t = NARROW_INT2; t <= NARROW_FLOAT8_E8M0FNU; t++) {
		struct dtype wide = narrow_wide(t);
		unsigned codes = 1u << narrow_bits(t);
		for (unsigned c = 0; c < codes; c++) {
			uint8_t in[2] = {(uint8_t)c, (uint8_t)(c >> 8)}, out[4], back[2] = {0};
			narrow_widen(&wide, in, 1, out);
			CHECK_INT(narrow_back(&wide, out, 1, back), 0);
			unsigned got = back[0] | (unsigned)back[1] << 8;
			bool nan = isnan(narrow_value(t, (uint16_t)c)) &&
				   isnan(narrow_value(t, (uint16_t)got));
			if (got != c && !nan)
				fprintf(stderr, "%s: %x came back as %x\n", narrow_name(t), c, got);
			CHECK(got == c || nan);
		}
	}
}

static void
refused(const char *type, double v)
{
	struct dtype wide = narrow_wide(narrow_find(type));
	uint8_t in[4], out[2];
	float f = (float)v;
	if (wide.kind == DTYPE_FLOAT)
		memcpy(in, &f, sizeof f);
	else
		in[0] = (uint8_t)(int)v;
	CHECK_INT(narrow_back(&wide, in, 1, out), -ERANGE);
}

static void
test_refused(void)
{
	refused("int2", 2);
	refused("int4", -9);
	refused("uint4", 16);
	refused("bfloat16", 1.00390625001);
	refused("float8_e4m3fn", 449);
	refused("float8_e4m3fn", INFINITY);
	refused("float8_e4m3fn", 1.0625);
	refused("float8_e5m2", 1e30);
	refused("float8_e4m3fnuz", -0.0);
	refused("float8_e8m0fnu", 0);
	refused("float8_e8m0fnu", -1);
	refused("float4_e2m1fn", NAN);
}

static void
fill_is(const char *type, const char *text, double want)
{
	CLEAN(json_freep) struct json *v = NULL, *name = NULL;
	char quoted[64];
	snprintf(quoted, sizeof quoted, "\"%s\"", type);
	CHECK_INT(json_parse(text, strlen(text), &v), 0);
	CHECK_INT(json_parse(quoted, strlen(quoted), &name), 0);
	struct dtype d = {0};
	CHECK_INT(dtype_parse_v3(name, &d), 0);
	uint8_t out[4];
	bool null;
	CHECK_INT(dtype_fill_v3(&d, v, out, &null), 0);
	CHECK(same(shown(&d, out), want));
}

static void
test_fill(void)
{
	fill_is("bfloat16", "\"0x7fc0\"", NAN);
	fill_is("bfloat16", "\"NaN\"", NAN);
	fill_is("bfloat16", "\"-Infinity\"", -INFINITY);
	fill_is("bfloat16", "0.1", 0.10009765625);
	fill_is("bfloat16", "\"0x3fc0\"", 1.5);
	fill_is("float8_e4m3fn", "\"0x7e\"", 448);
	fill_is("float8_e5m2", "1.1", 1);
	fill_is("int4", "-8", -8);
	fill_is("uint2", "3", 3);
}

/* A chain over such elements: widened where it is not told, shards too. */
static void
chain_gives(const char *type, const char *codecs, const char *stored, size_t len, const float *want)
{
	CLEAN(json_freep) struct json *list = NULL;
	CHECK_INT(json_parse(codecs, strlen(codecs), &list), 0);
	struct codec_specs specs = {0};
	CHECK_INT(codec_specs_v3(list, false, &specs), 0);
	struct dtype d = narrow_wide(narrow_find(type));
	dtype_set_order(&d, specs.order == CODEC_ORDER_BIG);
	const uint64_t shape[2] = {2, 2};
	float fill = -1;
	struct form form = {.dtype = &d,
		.rank = 2,
		.shape = shape,
		.count = 4,
		.bytes = 16,
		.exact = true,
		.fill = (const uint8_t *)&fill};
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	CHECK_INT(codec_chain_open(specs.spec, specs.n, &form, &c), 0);
	uint8_t got[16];
	struct buf out = {got, 0, sizeof got};
	CHECK_INT(
		codec_chain_decode(c, NULL, (struct span){(const uint8_t *)stored, len}, &out), 0);
	for (unsigned i = 0; i < 4; i++)
		CHECK(same(shown(&d, got + 4 * i), want[i]));
	CLEAN(buf_free) struct buf enc = {0};
	int r = codec_chain_encode(c, NULL, buf_span(&out), &enc);
	CHECK(r == 0 || r == -EROFS);
	if (r == 0)
		CHECK_MEM(enc.data, stored, len);
	codec_specs_free(&specs);
}

static void
test_chains(void)
{
	const float row[] = {1, 1.5, -2, 0};
	chain_gives("bfloat16",
		"[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}]",
		"\x80\x3f\xc0\x3f\x00\xc0\x00\x00", 8, row);
	chain_gives("bfloat16", "[{\"name\": \"bytes\", \"configuration\": {\"endian\": \"big\"}}]",
		"\x3f\x80\x3f\xc0\xc0\x00\x00\x00", 8, row);
	const float turned[] = {1, -2, 1.5, 0};
	chain_gives("bfloat16",
		"[{\"name\": \"transpose\", \"configuration\": {\"order\": [1, 0]}}, {\"name\": "
		"\"bytes\", \"configuration\": {\"endian\": \"little\"}}]",
		"\x80\x3f\xc0\x3f\x00\xc0\x00\x00", 8, turned);
	const float eighths[] = {1, 448, -448, 0};
	chain_gives("float8_e4m3fn", "[\"bytes\"]", "\x38\x7e\xfe\x00", 4, eighths);
	const float missing[] = {1, 448, -1, -1};
	chain_gives("float8_e4m3fn",
		"[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [1, 2], "
		"\"codecs\": [\"bytes\"], \"index_codecs\": [{\"name\": \"bytes\", "
		"\"configuration\": {\"endian\": \"little\"}}]}}]",
		"\x38\x7e\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0"
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		34, missing);
}

int
main(void)
{
	test_known();
	test_back();
	test_refused();
	test_fill();
	test_chains();
	codec_scratch_free();
	return check_end();
}
