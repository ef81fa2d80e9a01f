/* References in JSON: what each form of them says, whatever pieces the text comes in, and what
 * hostile ones cost. */
#include "check.h"
#include "kerchunk_text.h"

#include <errno.h>

enum { MOST = 1 << 20 };

/* "R url off len", "W url", "B bytes", "! why", "-" */
static char *
shown(const struct kerchunk_table *t, const char *key)
{
	static char text[400];
	struct kerchunk_ref f;
	int r = kerchunk_table_find(t, key, &f);
	if (r == ZMAP_ABSENT)
		snprintf(text, sizeof text, "-");
	else if (f.kind == KERCHUNK_BYTES)
		snprintf(text, sizeof text, "B %.*s", (int)f.bytes.len, (const char *)f.bytes.data);
	else if (f.kind == KERCHUNK_RANGE)
		snprintf(text, sizeof text, "R %s %" PRIu64 " %" PRIu64, f.url, f.off, f.len);
	else
		snprintf(text, sizeof text, "%s %s", f.kind == KERCHUNK_WHOLE ? "W" : "!",
			f.kind == KERCHUNK_WHOLE ? f.url : f.why);
	return text;
}

static struct span
span_of(const char *text)
{
	return (struct span){(const uint8_t *)text, strlen(text)};
}

static struct kerchunk_table *
read_all(const char *json, size_t piece)
{
	struct kerchunk_table *t = NULL;
	CHECK_INT(read_piecewise(span_of(json), piece, MOST, &t), 0);
	return t;
}

static void
check_fails(const char *json, int code, const char *why)
{
	struct kerchunk_table *t = NULL;
	CHECK_INT(read_piecewise(span_of(json), SIZE_MAX, MOST, &t), code);
	CHECK(!t && strstr(err_text(), why));
	kerchunk_table_free(t);
}

static const char v0[] = "\n{\".zgroup\": {\"zarr_format\": 2}, \"a/.zarray\": \"{\\\"x\\\": 1}\", "
			 "\"a/0\": [\"f.nc\", 10, 20],"
			 " \"a/1\" : [ \"s3://b/\\u00e4\" ] ,\"a/2\":\"text\",\"a/3\": "
			 "\"base64:YWJj\", \"a/0\": [\"g.nc\", 1, 2,],}\n";

static void
test_v0(size_t piece)
{
	struct kerchunk_table *t = read_all(v0, piece);
	if (!t)
		return;
	CHECK_INT(kerchunk_table_count(t), 6);
	CHECK_STR(shown(t, ".zgroup"), "B {\"zarr_format\": 2}");
	CHECK_STR(shown(t, "a/.zarray"), "B {\"x\": 1}");
	CHECK_STR(shown(t, "a/0"), "R g.nc 1 2");
	CHECK_STR(shown(t, "a/1"), "W s3://b/\xc3\xa4");
	CHECK_STR(shown(t, "a/2"), "B text");
	CHECK_STR(shown(t, "a/3"), "B abc");
	CHECK_STR(shown(t, "a/4"), "-");
	CHECK_STR(shown(t, "a"), "-");
	kerchunk_table_free(t);
}

static const char v1[] = "{\"refs\": {\"a/0\": [\"{{u}}/x{{ n }}.nc\", 5, 6], \"a/1\": "
			 "[\"{{f(c='te}}xt')}}\"], \"a/2\": [\"{{nobody}}\"],"
			 "\"a/3\": \"{{u}}\", \"a/4\": [\"{{u|upper}}\", 1, 2], \"a/5\": "
			 "[\"{{loop}}\"], \"refs\": [\"plain\"]}, \"other\": [\"x\"],"
			 "\"templates\": {\"u\": \"s3://b\", \"n\": \"7\", \"f\": \"{{u}}/{{c}}\", "
			 "\"loop\": \"{{back}}\", \"back\": \"{{loop}}\"},"
			 "\"version\": 1}";

static void
test_v1(size_t piece)
{
	struct kerchunk_table *t = read_all(v1, piece);
	if (!t)
		return;
	CHECK_STR(shown(t, "a/0"), "R s3://b/x7.nc 5 6");
	CHECK_STR(shown(t, "a/1"), "W s3://b/te}}xt");
	CHECK(strstr(shown(t, "a/2"), "! a template 'nobody'"));
	CHECK_STR(shown(t, "a/3"), "B {{u}}");
	CHECK(strstr(shown(t, "a/4"), "is not understood"));
	CHECK(strstr(shown(t, "a/5"), "without an end"));
	CHECK_STR(shown(t, "refs"), "W plain");
	CHECK_STR(shown(t, "other"), "-");
	kerchunk_table_free(t);
}

static void
test_gen(void)
{
	struct kerchunk_table *t = read_all(
		"{\"version\": 1, \"templates\": {\"d\": \"/d/\"}, \"refs\": {\"a/0.0\": \"old\"}, "
		"\"gen\": ["
		"{\"key\": \"a/{{i}}.{{j}}\", \"url\": \"{{d}}{{ -i // 2}}_{{ -i % 3 -}} {{- ' ' "
		"-}} x\", "
		"\"offset\": \"{{(i * 3 + j) * 10 - 8/4}}\","
		" \"length\": 4, \"dimensions\": {\"i\": {\"stop\": 8, \"start\": 2, \"step\": 5}, "
		"\"j\": [1, 0]}},"
		"{\"key\": \"b/{{k}}\", \"url\": \"u\", \"dimensions\": {\"k\": {\"start\": 1, "
		"\"stop\": -1, \"step\": -1}}},"
		"{\"key\": \"c/{{k}}\", \"url\": \"u\", \"dimensions\": {\"k\": {\"stop\": 0}}}]}",
		SIZE_MAX);
	if (!t)
		return;
	CHECK_INT(kerchunk_table_count(t), 7);
	CHECK_STR(shown(t, "a/0.0"), "B old");
	CHECK_STR(shown(t, "a/2.1"), "R /d/-1_1 x 68 4");
	CHECK_STR(shown(t, "a/7.0"), "R /d/-4_2 x 208 4");
	CHECK_STR(shown(t, "b/0"), "W u");
	CHECK_STR(shown(t, "b/-1"), "-");
	kerchunk_table_free(t);
}

#define GEN(rest) "{\"version\": 1, \"refs\": {}, \"gen\": [{\"key\": \"a/{{i}}\", " rest "}]}"

static void
test_gen_hostile(void)
{
	check_fails(GEN("\"url\": \"u\", \"dimensions\": {\"i\": {\"stop\": 1000000000}}"), -EFBIG,
		"references");
	check_fails(GEN("\"url\": \"u\", \"dimensions\": {\"i\": {\"stop\": 9999999}}"), -EFBIG,
		"option memory");
	check_fails(GEN("\"url\": \"u\", \"dimensions\": {\"i\": {\"stop\": 9000}, \"j\": "
			"{\"stop\": 9000}}"),
		-EFBIG, "references");
	check_fails(GEN("\"url\": \"u\", \"dimensions\": {\"i\": {\"start\": -9223372036854775808, "
			"\"stop\": 9223372036854775807}}"),
		-EFBIG, "references");
	check_fails(GEN("\"url\": \"u\", \"dimensions\": {\"i\": {\"stop\": 5, \"step\": 0}}"),
		-EINVAL, "step");
	check_fails(GEN("\"url\": \"u\", \"offset\": \"1\", \"dimensions\": {\"i\": [1]}"), -EINVAL,
		"length");
	check_fails(GEN("\"url\": \"u\", \"offset\": \"{{0-i}}\", \"length\": 1, \"dimensions\": "
			"{\"i\": [1]}"),
		-EINVAL, "'-1' is no offset");
	check_fails(
		GEN("\"url\": \"{{i / 0}}\", \"dimensions\": {\"i\": [1]}"), -EINVAL, "division");
	check_fails(GEN("\"url\": \"{{9223372036854775807 + i}}\", \"dimensions\": {\"i\": [1]}"),
		-EINVAL, "63 bits");
	check_fails(GEN("\"url\": \"u\""), -EINVAL, "dimensions");
}

/* Each template twice the one before: text without an end, or steps without one. */
static void
test_template_bomb(const char *leaf)
{
	CLEAN(buf_free) struct buf b = {0};
	struct kerchunk_table *t = NULL;
	buf_addf(&b, "{\"version\": 1, \"templates\": {\"t0\": \"%s\"", leaf);
	for (int i = 1; i < 16; i++) {
		buf_addf(&b, ", \"t%d\": \"", i);
		for (int j = 0; j < 64; j++)
			buf_addf(&b, "{{t%d}}", i - 1);
		buf_addf(&b, "\"");
	}
	buf_addf(&b, "}, \"refs\": {\"a/0\": [\"{{t15}}\"]}}");
	int r = read_piecewise(buf_span(&b), SIZE_MAX, MOST, &t);
	CHECK(r == -EFBIG || (r == 0 && strstr(shown(t, "a/0"), "! a template")));
	kerchunk_table_free(t);
}

static void
test_bad_refs(void)
{
	static const char *const bad[] = {"[]", "[\"u\", 1]", "[\"u\", 1, 2, 3]", "[\"u\", 0.5, 2]",
		"[\"u\", \"1\", 2]", "[\"u\", -1, 2]", "[\"u\", 1, -2]", "[null, 1, 2]", "null",
		"7", "true", "[1, 2, 3]", "[\"u\", 1e3, 2]", "[\"u\", 18446744073709551615, 1]",
		"[\"u\", 18446744073709551616, 1]", "[\"u\", 0, 18446744073709551615]",
		"[\"u\", 1, 9223372036854775807]", "[[\"u\"], 1, 2]", "\"base64:***\"",
		"\"base64:YQ\""};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char json[200];
		snprintf(json, sizeof json, "{\".zgroup\": {}, \"a/0\": %s, \"a/1\": \"x\"}",
			bad[i]);
		struct kerchunk_table *t = read_all(json, 3);
		if (!t)
			continue;
		CHECK(!strncmp(shown(t, "a/0"), "! ", 2));
		CHECK_STR(shown(t, "a/1"), "B x");
		kerchunk_table_free(t);
	}
}

static void
test_bad_texts(void)
{
	check_fails("", -EINVAL, "expected kerchunk references");
	check_fails("[1]", -EINVAL, "expected kerchunk references");
	check_fails("{\".zgroup\": {}, \"a/0\": [\"u\", 1", -EINVAL, "end of the text");
	check_fails("{\".zgroup\": {}, \"a/0\": \"u", -EINVAL, "without an end");
	check_fails("{\".zgroup\": {}} x", -EINVAL, "the end of the text");
	check_fails("{\"metadata\": {}, \"a\": 1}", -EINVAL, "no kerchunk references");
	check_fails("{\"version\": 2, \"refs\": {}}", -ENOTSUP, "version 2");
	check_fails("{\"version\": 1, \"a/0\": [\"u\"]}", -EINVAL, "without 'refs'");
	check_fails("{\"refs\": {\"a/0\": [\"u\"]}}", -EINVAL, "no 'version'");
	check_fails("{\"version\": 1, \"refs\": {}, \"templates\": []}", -EINVAL, "'templates' is");
	check_fails("{\"version\": 1, \"refs\": {}, \"gen\": {}}", -EINVAL, "'gen' is");
	check_fails("{\"a\" 1}", -EINVAL, "expected ':'");
}

static int
list_name(void *arg, const char *name, bool prefix, const struct zmap_stat *s)
{
	buf_addf(arg, "%s%s ", name, prefix ? "/" : "");
	return 0;
}

static void
check_list(const struct kerchunk_table *t, const char *prefix, int code, const char *want)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(kerchunk_table_list(t, prefix, list_name, &b), code);
	buf_terminate(&b);
	CHECK_STR((char *)b.data, want);
}

static void
test_list(void)
{
	struct kerchunk_table *t = read_all(
		"{\".zgroup\": {}, \"b/c/0\": \"\", \"b/c/1\": \"\", \"b\": \"\", \"b.d/1\": \"\", "
		"\"b/a\": \"\", \"b/c0\": \"\", \"a/.zarray\": \"\"}",
		SIZE_MAX);
	if (!t)
		return;
	check_list(t, "", 0, ".zgroup a/ b b.d/ b/ ");
	check_list(t, "b/", 0, "a c/ c0 ");
	check_list(t, "b/c/", 0, "0 1 ");
	check_list(t, "d/", ZMAP_ABSENT, "");
	check_list(t, "b/c/0/", ZMAP_ABSENT, "");
	kerchunk_table_free(t);
}

/* Many references are few bytes each, and more than may be are an error. */
static void
test_many(void)
{
	enum { MANY = 200000 };
	CLEAN(buf_free) struct buf b = {0};
	struct kerchunk_table *t = NULL;
	buf_addf(&b, "{\"version\": 1, \"refs\": {\".zgroup\": \"{}\"");
	for (int i = 0; i < MANY; i++)
		buf_addf(&b, ", \"t2m/%d.%d.0\": [\"s3://bucket/file%d.nc\", %d, 1000]", i / 100,
			i % 100, i / 1000, i * 1000);
	buf_addf(&b, "}}");
	CHECK_INT(read_piecewise(buf_span(&b), 100000, 64 << 20, &t), 0);
	CHECK(t && kerchunk_table_bytes(t) < MANY * 52);
	if (t) {
		CHECK_STR(shown(t, "t2m/1234.56.0"), "R s3://bucket/file123.nc 123456000 1000");
		t = kerchunk_table_free(t);
	}
	CHECK_INT(read_piecewise(buf_span(&b), 100000, 4 << 20, &t), -EFBIG);
}

/* A member longer than may be. */
static void
test_long_member(void)
{
	CLEAN(buf_free) struct buf b = {0};
	struct kerchunk_table *t = NULL;
	buf_addf(&b, "{\".zgroup\": {}, \"a/0\": \"base64:");
	for (int i = 0; i < 1 << 17; i++)
		buf_addf(&b, "AAAAAAAAAAAAAAAAAAAA");
	buf_addf(&b, "\"}");
	CHECK_INT(read_piecewise(buf_span(&b), SIZE_MAX, 1 << 20, &t), -EFBIG);
	CHECK_INT(read_piecewise(buf_span(&b), SIZE_MAX, 32 << 20, &t), 0);
	kerchunk_table_free(t);
}

int
main(void)
{
	for (size_t piece = 1; piece < 40; piece++) {
		test_v0(piece);
		test_v1(piece);
	}
	test_v0(SIZE_MAX);
	test_v1(SIZE_MAX);
	test_gen();
	test_gen_hostile();
	test_template_bomb("");
	test_template_bomb("0123456789");
	test_bad_refs();
	test_bad_texts();
	test_list();
	test_many();
	test_long_member();
	return check_end();
}
