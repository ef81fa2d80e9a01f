#include "check.h"

#include "base/base64.h"
#include "model/dtype.h"

#include <errno.h>

static int
parse(const char *text, struct dtype *ret)
{
	CLEAN(json_freep) struct json *v = NULL;
	CHECK_INT(json_parse(text, strlen(text), &v), 0);
	return dtype_parse_v2(v, ret);
}

static void
type_is(const char *text, const char *want, uint32_t size)
{
	struct dtype d = {0}, copy = {0};
	CHECK_INT(parse(text, &d), 0);
	CHECK_INT(dtype_copy(&d, &copy), 0);
	dtype_free(&d);
	CLEAN(clean_free) char *got = dtype_text(&copy);
	CHECK_STR(got, want);
	CHECK_INT(copy.size, size);
	dtype_free(&copy);
}

static void
type_fails(const char *text, int code, const char *why)
{
	struct dtype d = {0};
	CHECK_INT(parse(text, &d), code);
	CHECK_STR(err_text(), why);
}

static void
test_simple(void)
{
	type_is("\"|b1\"", "|b1", 1);
	type_is("\"?\"", "|b1", 1);
	type_is("\"<u1\"", "|u1", 1);
	type_is("\">i1\"", "|i1", 1);
	type_is("\"<i2\"", "<i2", 2);
	type_is("\">u8\"", ">u8", 8);
	type_is("\"<f2\"", "<f2", 2);
	type_is("\">c16\"", ">c16", 16);
	type_is("\"|S5\"", "|S5", 5);
	type_is("\">S1\"", "|S1", 1);
	type_is("\"<U1\"", "<U1", 4);
	type_is("\">U5\"", ">U5", 20);
	type_is("\"|V6\"", "|V6", 6);
	type_is("\"|O\"", "|O", 0);
	const char *native = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ">i4" : "<i4";
	type_is("\"|i4\"", native, 4);
	type_is("\"=i4\"", native, 4);
	type_is("\"i4\"", native, 4);
	type_is("\"int32\"", native, 4);
	type_is("\"<M8[ns]\"", "<M8[ns]", 8);
	type_is("\">m8[3h]\"", ">m8[3h]", 8);
	type_is("\"<M8[10us]\"", "<M8[10us]", 8);
	type_is("\"<M8[\\u03bcs]\"", "<M8[us]", 8);
	type_is("\"<m8\"", "<m8", 8);
	type_is("\"<M8[generic]\"", "<M8", 8);
	struct dtype d = {0};
	CHECK_INT(parse("\"<M8[10ns]\"", &d), 0);
	CHECK(d.kind == DTYPE_DATETIME && d.unit == TIME_NS && d.unit_count == 10 && !d.big);
	CHECK_INT(parse("\">c8\"", &d), 0);
	CHECK(d.kind == DTYPE_COMPLEX && d.big && dtype_swap_unit(&d) == 4);
}

static void
test_failures(void)
{
	type_fails("\"<x4\"", -EINVAL, "unknown dtype '<x4'");
	type_fails("\"\"", -EINVAL, "unknown dtype ''");
	type_fails("\"<i3\"", -EINVAL, "unknown dtype '<i3'");
	type_fails("\"<i4x\"", -EINVAL, "unknown dtype '<i4x'");
	type_fails("\"|S0\"", -EINVAL, "unknown dtype '|S0'");
	type_fails("\"|S99999999999999999999\"", -EINVAL, "unknown dtype '|S99999999999999999999'");
	type_fails("\"<U1000000000\"", -EINVAL, "unknown dtype '<U1000000000'");
	type_fails("\"<M8[xx]\"", -EINVAL, "unknown dtype '<M8[xx]'");
	type_fails("\"<M8[0ns]\"", -EINVAL, "unknown dtype '<M8[0ns]'");
	type_fails("4", -EINVAL, "a number as dtype");
	type_fails("[]", -EINVAL, "dtype without fields");
	type_fails("[[\"a\"]]", -EINVAL,
		"a field of a dtype is not [name, dtype] or [name, dtype, shape]");
	type_fails("[[\"a\", \"<q4\"]]", -EINVAL, "field 'a': unknown dtype '<q4'");
	type_fails("[[\"a\", \"<i4\", [65536, 65536]]]", -EINVAL,
		"field 'a': subarray of no or too many elements");
	type_fails("[[\"a\", \"<i4\", [1000000000]]]", -EINVAL,
		"elements of a structured dtype are too large");
	type_fails("[[\"a\", \"<i4\", [-1]]]", -EINVAL,
		"field 'a': shape of a subarray: number '-1' is out of range");
	type_fails("[[7, \"<i4\"]]", -EINVAL, "a number as the name of a field");

	struct dtype d = {0};
	CHECK_INT(parse("\"<f16\"", &d), -ENOTSUP);
	CHECK_STR(err_text(), "dtype '<f16' is not supported");
	CHECK(d.kind == DTYPE_RAW && d.size == 16);
	CHECK_INT(parse("\"float128\"", &d), -ENOTSUP);
	CHECK_INT(d.size, 16);
	CHECK_INT(parse("\"bfloat16\"", &d), 0);
	CHECK(d.kind == DTYPE_FLOAT && d.size == 4 && d.narrow == NARROW_BFLOAT16);
	CHECK_INT(parse("[[\"a\", \"bfloat16\"], [\"b\", \"<i2\"]]", &d), -ENOTSUP);
	CHECK(d.kind == DTYPE_RAW && d.size == 4 && !d.nfields);
	CHECK_INT(parse("[[\"a\", \"<c32\"], [\"b\", \"<i2\"]]", &d), -ENOTSUP);
	CHECK(d.kind == DTYPE_RAW && d.size == 34 && !d.nfields);
	CHECK_INT(parse("[[\"a\", \"|O\"], [\"b\", \"<i2\"]]", &d), 0);
	CHECK(d.kind == DTYPE_OBJECT && d.size == 0 && !d.nfields);
}

static const char mixed[] = "[[\"x\", \"<f4\"], [\"y\", \">i2\"], [\"z\", \"<i2\", [2, 2]], "
			    "[\"n\", [[\"p\", \"|u1\"], [\"q\", \">u4\", 2]]], [\"s\", \"|S3\"]]";

static void
test_struct(void)
{
	type_is(mixed,
		"[('x', '<f4'), ('y', '>i2'), ('z', '<i2', (2, 2)), ('n', [('p', '|u1'), ('q', "
		"'>u4', (2,))]), ('s', '|S3')]",
		26);
	type_is("[[\"it's\", \"<i4\"], [\"\", \"|V4\"], [[\"title\", \"b\"], \"<i2\"]]",
		"[('it\\'s', '<i4'), ('f1', '|V4'), ('b', '<i2')]", 10);
	struct dtype d = {0};
	CHECK_INT(parse(mixed, &d), 0);
	CHECK_INT(d.field[3].offset, 14);
	CHECK_INT(d.field[2].rank, 2);
	CHECK_INT(d.field[2].count, 4);
	uint8_t in[26], data[52];
	for (unsigned i = 0; i < 26; i++)
		in[i] = data[i] = data[26 + i] = (uint8_t)i;
	dtype_swap(&d, data, 2);
	const uint8_t all[26] = {3, 2, 1, 0, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 14, 18, 17, 16, 15,
		22, 21, 20, 19, 23, 24, 25};
	CHECK_MEM(data, all, 26);
	CHECK_MEM(data + 26, all, 26);
	dtype_swap(&d, data, 2);
	CHECK_MEM(data, in, 26);
	CHECK_MEM(data + 26, in, 26);
	dtype_free(&d);
}

static void
swap_is(const char *type, const char *in, const char *want, size_t n)
{
	struct dtype d = {0};
	CHECK_INT(parse(type, &d), 0);
	char at_odds[1 + 64]; /* not aligned */
	memcpy(at_odds + 1, in, n);
	dtype_swap(&d, at_odds + 1, n / d.size);
	CHECK_MEM(at_odds + 1, want, n);
}

static void
test_swap(void)
{
	swap_is("\"<i2\"", "abcdef", "badcfe", 6);
	swap_is("\"<f4\"", "abcdefgh", "dcbahgfe", 8);
	swap_is("\"<M8[s]\"", "abcdefgh", "hgfedcba", 8);
	swap_is("\"<c8\"", "abcdefgh", "dcbahgfe", 8);
	swap_is("\"<c16\"", "abcdefgh01234567", "hgfedcba76543210", 16);
	swap_is("\"<U2\"", "abcdefgh", "dcbahgfe", 8);
	swap_is("\"|S4\"", "abcdefgh", "abcdefgh", 8);
	swap_is("\"|V4\"", "abcdefgh", "abcdefgh", 8);
}

/* Every count of elements, against one element at a time. */
static void
test_long_swap(void)
{
	for (uint32_t size = 2; size <= 8; size *= 2) {
		const struct dtype d = {.kind = DTYPE_UINT, .size = size};
		for (uint32_t n = 0; n <= 70; n++) {
			uint8_t got[8 * 70 + 1], want[8 * 70 + 1];
			for (uint32_t i = 0; i < sizeof got; i++)
				got[i] = want[i] = (uint8_t)(i * 7 + size);
			for (uint32_t i = 0; i < n * size; i++)
				want[i] = got[i - i % size + size - 1 - i % size];
			dtype_swap(&d, got, n);
			CHECK_MEM(got, want, sizeof got);
		}
	}
}

static int
fill_with(int (*fill)(const struct dtype *, const struct json *, uint8_t *, bool *),
	const char *type, const char *value, uint8_t *out, bool *null_fill)
{
	struct dtype d = {0};
	CHECK_INT(parse(type, &d), 0);
	CLEAN(json_freep) struct json *v = NULL;
	if (value)
		CHECK_INT(json_parse(value, strlen(value), &v), 0);
	memset(out, 0xee, 64);
	int r = fill(&d, v, out, null_fill);
	CHECK_INT(out[d.size], 0xee);
	dtype_free(&d);
	return r;
}

static void
fill_is(const char *type, const char *value, const char *hex)
{
	uint8_t out[64];
	char got[129] = "";
	bool null_fill = true;
	CHECK_INT(fill_with(dtype_fill_v2, type, value, out, &null_fill), 0);
	CHECK(!null_fill);
	for (size_t i = 0; i < strlen(hex) / 2; i++)
		sprintf(got + 2 * i, "%02x", out[i]);
	if (strcmp(got, hex))
		fprintf(stderr, "fill_value %s of %s:\n", value, type);
	CHECK_STR(got, hex);
}

static void
fill_fails(const char *type, const char *value)
{
	uint8_t out[64];
	bool null_fill;
	int r = fill_with(dtype_fill_v2, type, value, out, &null_fill);
	if (r != -EINVAL)
		fprintf(stderr, "fill_value %s of %s:\n", value, type);
	CHECK_INT(r, -EINVAL);
}

static void
test_fill_numbers(void)
{
	fill_is("\"|u1\"", "255", "ff");
	fill_is("\"|u1\"", "-1", "ff");
	fill_is("\"|i1\"", "-128", "80");
	fill_is("\"|i1\"", "255", "ff");
	fill_is("\"<i4\"", "7.0", "07000000");
	fill_is("\">i4\"", "7", "00000007");
	fill_is("\"<i4\"", "[-5]", "fbffffff");
	fill_is("\"<i4\"", "\"-5\"", "fbffffff");
	fill_is("\"<i4\"", "1.9", "01000000");
	fill_is("\"<i4\"", "-1.9", "ffffffff");
	fill_is("\"<i4\"", "true", "01000000");
	fill_is("\"<i8\"", "-9.223372036854775808e18",
		"0000000000000080"); /* from where all numbers are doubles */
	fill_is("\"<u8\"", "9.223372036854775808e18", "0000000000000080");
	fill_fails("\"<u8\"", "1.8446744073709552e19");
	fill_is("\"<u8\"", "18446744073709551615", "ffffffffffffffff");
	fill_is("\"<i8\"", "-9223372036854775808", "0000000000000080");
	fill_is("\"<i8\"", "9007199254740993", "0100000000002000");
	fill_is("\"|b1\"", "true", "01");
	fill_is("\"|b1\"", "0", "00");
	fill_is("\"|b1\"", "[1]", "01");
	fill_is("\"|b1\"", "\"false\"", "00");
	fill_is("\"<M8[ns]\"", "\"NaT\"", "0000000000000080");
	fill_is("\">m8[s]\"", "-9223372036854775808", "8000000000000000");
	fill_is("\"<M8[ns]\"", "0", "0000000000000000");
	fill_fails("\"|u1\"", "256");
	fill_fails("\"|u1\"", "-129");
	fill_fails("\"<i8\"", "18446744073709551616");
	fill_fails("\"<i4\"", "NaN");
	fill_fails("\"<i4\"", "\"\"");
	fill_fails("\"<i4\"", "{}");
	CHECK_STR(err_text(), "{} is no fill_value of dtype <i4");
	fill_fails("\"<i4\"", "[1, 2]");
	fill_fails("\"|b1\"", "\"maybe\"");
	fill_fails("\"<M8[ns]\"", "\"2000-01-01\"");
}

static void
test_fill_floats(void)
{
	fill_is("\"<f8\"", "0.1", "9a9999999999b93f");
	fill_is("\"<f8\"", "-0.0", "0000000000000080");
	fill_is("\"<f8\"", "5e-324", "0100000000000000");
	fill_is("\"<f8\"", "\"NaN\"", "000000000000f87f");
	fill_is("\">f4\"", "NaN", "7fc00000");
	fill_is("\">f4\"", "\"Nan\"", "7fc00000");
	fill_is("\">f4\"", "\"-Infinity\"", "ff800000");
	fill_is("\">f4\"", "-Infinity", "ff800000");
	fill_is("\">f4\"", "\"-9999.5\"", "c61c3e00");
	fill_is("\">f4\"", "[9.96921e+36]", "7cf00000");
	fill_is("\">f4\"", "0.10000000149011612", "3dcccccd");
	fill_is("\">f4\"", "1e300", "7f800000");
	fill_is("\">f4\"", "-1e400", "ff800000");
	fill_is("\">f4\"", "0", "00000000");
	fill_is("\">f2\"", "0", "0000");
	fill_is("\">f2\"", "-0.0", "8000");
	fill_is("\">f2\"", "1", "3c00");
	fill_is("\">f2\"", "-2", "c000");
	fill_is("\">f2\"", "65504", "7bff");
	fill_is("\">f2\"", "65519.99", "7bff");
	fill_is("\">f2\"", "65520", "7c00");
	fill_is("\">f2\"", "\"NaN\"", "7e00");
	fill_is("\">f2\"", "\"-Infinity\"", "fc00");
	fill_is("\">f2\"", "0.1", "2e66");
	fill_is("\">f2\"", "2049", "6800"); /* a tie, to even */
	fill_is("\">f2\"", "2051", "6802");
	fill_is("\">f2\"", "2049.0000001", "6801"); /* by way of a float it would be a tie */
	fill_is("\">f2\"", "6.103515625e-05", "0400");
	fill_is("\">f2\"", "6.1e-05", "03ff");
	fill_is("\">f2\"", "6.1034e-05", "0400");
	fill_is("\">f2\"", "5.960464477539063e-08", "0001");
	fill_is("\">f2\"", "2.9802322387695312e-08", "0000"); /* a tie, to zero */
	fill_is("\">f2\"", "3e-08", "0001");
	fill_is("\">c8\"", "[1, -2.5]", "3f800000c0200000");
	fill_is("\">c8\"", "[\"NaN\", \"Infinity\"]", "7fc000007f800000");
	fill_is("\">c8\"", "0.0", "0000000000000000");
	fill_is("\">c8\"", "[[1, 0]]", "3f80000000000000");
	fill_is("\"<c16\"", "[-0.0, 1]", "0000000000000080000000000000f03f");
	fill_fails("\"<f4\"", "\"\"");
	fill_fails("\"<f4\"", "\"0x7fc00000\"");
	fill_fails("\"<f4\"", "{}");
	fill_fails("\"<c8\"", "[1, 2, 3]");
	fill_fails("\"<c8\"", "[]");
	fill_fails("\"<c8\"", "[1, \"x\"]");
}

static void
test_fill_texts(void)
{
	fill_is("\"|S5\"", "\"Yf9i\"", "61ff620000");
	fill_is("\"|S5\"", "0", "3000000000"); /* as zarr-python 2 has it */
	fill_is("\"|S5\"", "\"\"", "0000000000");
	fill_is("\"|S1\"", "\"x\"", "78");
	fill_is("\"|S2\"", "\"YWJj\"", "6162");
	fill_is("\"<U3\"", "\"\\u00f1\\u2202\"", "f10000000222000000000000");
	fill_is("\">U2\"", "\"\\ud83c\\udf0dxy\"", "0001f30d00000078");
	fill_is("\">U1\"", "0", "00000030");
	fill_is("\">U2\"", "\"\xff\"", "0000fffd00000000");
	fill_is("\"|V4\"", "\"AQIDBA==\"", "01020304");
	fill_is("\"|V4\"", "\"AQI=\"", "01020000");
	fill_is("\"|V4\"", "0", "00000000");
	fill_is("[[\"a\", \">i2\"], [\"b\", \"|S1\"]]", "\"AAFh\"", "000161");
	fill_fails("\"|V4\"", "\"AQIDBAU=\"");
	fill_fails("\"|V4\"", "\"not base64\"");
	fill_fails("\"|V4\"", "7");
	fill_fails("[[\"a\", \">i2\"]]", "[0, 0]");

	uint8_t out[64];
	bool null_fill = false;
	CHECK_INT(fill_with(dtype_fill_v2, "\"<i4\"", "null", out, &null_fill), 0);
	CHECK(null_fill && !memcmp(out, "\0\0\0\0", 4));
	null_fill = false;
	CHECK_INT(fill_with(dtype_fill_v2, "\"<i4\"", NULL, out, &null_fill), 0);
	CHECK(null_fill && !memcmp(out, "\0\0\0\0", 4));
	CHECK_INT(fill_with(dtype_fill_v2, "\"|O\"", "0", out, &null_fill), 0);
	CHECK_INT(fill_with(dtype_fill_nczarr, "\"|S5\"", "\"none\"", out, &null_fill), 0);
	CHECK(!null_fill && !memcmp(out, "none\0", 5));
	CHECK_INT(fill_with(dtype_fill_nczarr, "\"|S1\"", "\"MA==\"", out, &null_fill), 0);
	CHECK_INT(out[0], '0');
}

static void
test_base64(void)
{
	static const struct {
		const char *text, *bytes;
	} good[] = {{"", ""}, {"YQ==", "a"}, {"YWI=", "ab"}, {"YWJj", "abc"},
		{"YW\nJj\r\nZA ==", "abcd"}, {"+/+/", "\xfb\xff\xbf"}};
	static const char *const bad[] = {
		"Y", "YQ", "YQ=", "YQ==YQ==", "====", "Y===", "YQ=a", "Y-Jj", "YWJ\x80"};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		CLEAN(buf_free) struct buf b = {0};
		CHECK_INT(base64_decode(good[i].text, strlen(good[i].text), &b), 0);
		buf_terminate(&b);
		CHECK_STR((char *)b.data, good[i].bytes);
	}
	CLEAN(buf_free) struct buf b = {0};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_INT(base64_decode(bad[i], strlen(bad[i]), &b), -EINVAL);
	CHECK_INT(b.len, 0);
}

int
main(void)
{
	test_simple();
	test_failures();
	test_struct();
	test_swap();
	test_long_swap();
	test_fill_numbers();
	test_fill_floats();
	test_fill_texts();
	test_base64();
	return check_end();
}
