#include "check.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/clock.h"

#include <errno.h>
#include <math.h>

static struct json *
parse(const char *text)
{
	struct json *v = NULL;
	CHECK_INT(json_parse(text, strlen(text), &v), 0);
	return v;
}

static void
dump_is(const char *text, const char *want)
{
	CLEAN(json_freep) struct json *v = parse(text);
	if (!v)
		return;
	CLEAN(clean_free) char *got = json_dump(v);
	CHECK_STR(got, want);
}

static void
text_is(const char *text, const char *want, size_t want_len)
{
	CLEAN(json_freep) struct json *v = parse(text);
	size_t len = 0;
	const char *got = v ? json_text(v, &len) : NULL;
	CHECK_INT(len, want_len);
	if (got && len == want_len)
		CHECK_MEM(got, want, len);
}

static void
fails(const char *text, const char *why)
{
	struct json *v = NULL;
	CHECK_INT(json_parse(text, strlen(text), &v), -EINVAL);
	CHECK_STR(err_text(), why);
	CHECK(!v);
}

static void
test_types(void)
{
	CLEAN(json_freep)
	struct json *v = parse(
		"\xef\xbb\xbf {\"t\": true, \"f\": false, \"n\": null, \"w\": 007, \"s\": \"x\", "
		"\"l\": [1, NaN], \"d\": {}}\n");
	CHECK_INT(json_type(v), JSON_TYPE_DICT);
	CHECK_INT(json_count(v), 7);
	CHECK_INT(json_type(json_get(v, "t")), JSON_TYPE_BOOL);
	CHECK(json_bool(json_get(v, "t")) && !json_bool(json_get(v, "f")));
	CHECK_INT(json_type(json_get(v, "n")), JSON_TYPE_NULL);
	CHECK_INT(json_type(json_get(v, "w")), JSON_TYPE_WORD);
	CHECK_STR(json_text(json_get(v, "w"), NULL), "007");
	CHECK_INT(json_type(json_get(v, "s")), JSON_TYPE_TEXT);
	CHECK(json_is(json_get(v, "s"), "x") && !json_is(json_get(v, "w"), "007"));
	CHECK_INT(json_count(json_get(v, "l")), 2);
	CHECK_STR(json_text(json_at(json_get(v, "l"), 1), NULL), "NaN");
	CHECK(!json_at(json_get(v, "l"), 2) && !json_get(v, "absent") &&
		!json_get(json_get(v, "l"), "t"));
	CHECK_STR(json_type_name(json_get(v, "w")), "a number");
	CHECK(!json_text(v, NULL));

	const char *order = "tfnwsld";
	for (void *i = json_first(v); i; i = json_next(v, i))
		CHECK_INT(json_key(i)[0], *order++);
	struct json *other = json_ref(json_get(v, "d"));
	v = json_free(v);
	CHECK_INT(json_count(other), 0);
	json_free(other);
}

static void
test_texts(void)
{
	text_is("\"\"", "", 0);
	text_is("\"a\\n\\t\\\"\\\\\\/\\b\\f\\r\"", "a\n\t\"\\/\b\f\r", 9);
	text_is("\"it\\'s\"", "it's", 4);
	text_is("\"raw\n\t\x01 end\"", "raw\n\t\x01 end", 10);
	text_is("\"\\u00b0\\u20ac\\ud83c\\udf0d\"", "\xc2\xb0\xe2\x82\xac\xf0\x9f\x8c\x8d", 9);
	text_is("\"\\ud83c!\\udf0d\"", "\xef\xbf\xbd!\xef\xbf\xbd", 7);
	text_is("\"\\ud83c\\ud83c\\udf0d\"", "\xef\xbf\xbd\xf0\x9f\x8c\x8d", 7);
	text_is("\"a\\u0000b\"", "a\0b", 3);
	text_is("\"latin \xb0\xff\"", "latin \xb0\xff", 8);
	text_is("\"C:\\dir \\u12 \\uzzzz\"", "C:\\dir \\u12 \\uzzzz", 18);
	text_is("\"w007\"", "w007", 4); /* what looks like the inner mark is only text */

	struct json *v = NULL;
	CHECK_INT(json_parse("\"a\0b\"", 5, &v), 0);
	size_t len = 0;
	CHECK(json_text(v, &len) && len == 3);
	json_free(v);
	v = parse("{\"a\\u0000b\": 1, \"\\u00e9\": 2, bare: 3}");
	CHECK(json_get(v, "a\xef\xbf\xbd"
			  "b"));
	CHECK(json_get(v, "\xc3\xa9") && json_get(v, "bare"));
	json_free(v);
}

static void
test_dump(void)
{
	dump_is("{\"a\" :[1,2.50 , {\"b\":null}],\"t\":true}",
		"{\"a\": [1, 2.50, {\"b\": null}], \"t\": true}");
	dump_is("[NaN,-Infinity,Infinity,Nan,007,+5,.5,0x10,1e-5,0.00001,18446744073709551615]",
		"[NaN, -Infinity, Infinity, Nan, 007, +5, .5, 0x10, 1e-5, 0.00001, "
		"18446744073709551615]");
	dump_is("\"q\\\" \\\\ \\n \\u0001 \\u00e9\"", "\"q\\\" \\\\ \\n \\u0001 \xc3\xa9\"");
	dump_is("{\"a\": 1, \"b\": 2, \"a\": 3}", "{\"a\": 3, \"b\": 2}");
	dump_is("[]", "[]");
	dump_is("{\"k\\\"\": {}}", "{\"k\\\"\": {}}");
}

/* Dicts of few and of many members find keys in different ways. */
static void
test_large(void)
{
	enum { MOST = 200 };
	for (unsigned n = 1; n < MOST; n++) {
		CLEAN(buf_free) struct buf text = {0}, want = {0};
		for (unsigned i = 0; i < 2 * n; i++) /* each key once more, from the last on */
			buf_addf(&text, "%s\"k%u\": %u", i ? ", " : "{", i < n ? i : 2 * n - 1 - i,
				i);
		for (unsigned i = 0; i < n; i++)
			buf_addf(&want, "%s\"k%u\": %u", i ? ", " : "{", i, 2 * n - 1 - i);
		buf_addf(&text, "}");
		buf_addf(&want, "}");
		buf_terminate(&text);
		buf_terminate(&want);
		dump_is((char *)text.data, (char *)want.data);
		CLEAN(json_freep) struct json *v = parse((char *)text.data);
		CHECK_INT(json_count(v), n);
		for (unsigned i = 0; i < n; i++) {
			char key[16];
			uint64_t got = 0;
			snprintf(key, sizeof key, "k%u", i);
			CHECK_INT(json_uint(json_get(v, key), &got), 0);
			CHECK_INT(got, 2 * n - 1 - i);
		}
		CHECK(!json_get(v, "k") && !json_get(v, "k999"));
	}
}

static void
test_copy(void)
{
	static const char inner[] =
		"{\"l\": [1.0, true, false, null, \"a\\u0000b\", []], \"d\": {\"x\": 0x10}}";
	CLEAN(json_freep) struct json *copy = NULL;
	CLEAN(buf_free) struct buf text = {0};
	buf_addf(&text, "[%s]", inner);
	struct json *v = NULL;
	CHECK_INT(json_parse((char *)text.data, text.len, &v), 0);
	CHECK_INT(json_copy_of(json_at(v, 0), &copy), 0);
	CHECK_INT(json_hash(7, copy), json_hash(7, json_at(v, 0)));
	v = json_free(v);
	CLEAN(clean_free) char *got = json_dump(copy);
	CHECK_STR(got, inner);
}

/* Texts that json_dump writes alike have one hash, and others have others. */
static void
test_hash(void)
{
	static const char *const values[] = {"null", "true", "false", "1", "\"1\"", "1.0", "\"\"",
		"[]", "{}", "[[]]", "[1, 2]", "[\"1\", 2]", "[[1], 2]", "[1, [2]]", "{\"a\": 1}",
		"{\"a\": \"1\"}", "{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}",
		"{\"a\": {\"b\": 2}}", "[\"ab\", \"c\"]", "[\"a\", \"bc\"]", "[null]",
		"[null, null]"};
	uint64_t h[sizeof values / sizeof *values];
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		CLEAN(json_freep) struct json *v = parse(values[i]);
		h[i] = json_hash(7, v);
		for (size_t k = 0; k < i; k++)
			CHECK(h[k] != h[i]);
	}
	CLEAN(json_freep) struct json *a = parse(" {\"a\":1,\"\\u0062\" : 7, \"b\" :2}\n");
	CLEAN(json_freep) struct json *b = parse("{\"a\": 1, \"b\": 2}");
	CHECK_INT(json_hash(7, a), json_hash(7, b));
}

static void
test_errors(void)
{
	fails("", "line 1, column 1: expected a value, not the end of the text");
	fails("{\"a\": 1,\n \"\xc3\xa9\": }", "line 2, column 7: expected a value, not '}'");
	fails("{\"a\" 1}", "line 1, column 6: expected ':', not '1'");
	fails("[1, 2", "line 1, column 6: expected ']', not the end of the text");
	fails("[1, 2}", "line 1, column 6: expected ']', not '}'");
	fails("{\"a\": \"b}", "line 1, column 7: string without an end");
	fails("\"a\\", "line 1, column 1: string without an end");
	fails("1 2", "line 1, column 3: expected the end of the text, not '2'");
	fails("{,}", "line 1, column 2: expected a name, not ','");
	fails("\xff", "line 1, column 1: expected a value, not byte 0xff");

	char deep[2048];
	memset(deep, '[', 1024);
	memset(deep + 1024, ']', 1024);
	struct json *v = NULL;
	CHECK_INT(json_parse(deep, sizeof deep, &v), -EINVAL);
	CHECK_STR(err_text(), "line 1, column 513: nested too deep");
	CHECK_INT(json_parse(deep + 512, 1024, &v), 0);
	json_free(v);
}

static void
integer(const char *text, int code, int64_t want)
{
	CLEAN(json_freep) struct json *v = parse(text);
	int64_t got = 0;
	int r = json_int(v, &got);
	if (r != code || got != want)
		fprintf(stderr, "as integer: %s\n", text);
	CHECK_INT(r, code);
	CHECK_INT(got, want);
}

static void
cardinal(const char *text, int code, uint64_t want)
{
	CLEAN(json_freep) struct json *v = parse(text);
	uint64_t got = 0;
	int r = json_uint(v, &got);
	if (r != code || got != want)
		fprintf(stderr, "as unsigned: %s\n", text);
	CHECK_INT(r, code);
	CHECK(got == want);
}

static void
test_integers(void)
{
	integer("0", 0, 0);
	integer("-0", 0, 0);
	integer("007", 0, 7);
	integer("+5", 0, 5);
	integer("\" -17 \"", 0, -17);
	integer("0x10", 0, 16);
	integer("3.0", 0, 3);
	integer("1e3", 0, 1000);
	integer("1.50e1", 0, 15);
	integer("120e-1", 0, 12);
	integer("0e-5", 0, 0);
	integer("9223372036854775807", 0, INT64_MAX);
	integer("-9223372036854775808", 0, INT64_MIN);
	integer("-9223372036854775808.000000000000000000000", 0, INT64_MIN);
	integer("9223372036854775808", -ERANGE, 0);
	integer("-9223372036854775809", -ERANGE, 0);
	integer("1e19", -ERANGE, 0);
	integer("1e999999999999999999999", -ERANGE, 0);
	integer("0x1ffffffffffffffff", -ERANGE, 0);
	integer("1.5", -EINVAL, 0);
	integer("1e-1", -EINVAL, 0);
	integer("NaN", -EINVAL, 0);
	CHECK_STR(err_text(), "'NaN' is not an integer");
	integer("1e", -EINVAL, 0);
	integer(".", -EINVAL, 0);
	integer("-", -EINVAL, 0);
	integer("\"\"", -EINVAL, 0);
	integer("1.2.3", -EINVAL, 0);
	integer("[1]", -EINVAL, 0);
	CHECK_STR(err_text(), "a list instead of an integer");
	cardinal("18446744073709551615", 0, UINT64_MAX);
	cardinal("1.8446744073709551615e19", 0, UINT64_MAX);
	cardinal("18446744073709551616", -ERANGE, 0);
	cardinal("-0.0", 0, 0);
	cardinal("-1", -ERANGE, 0);
	CHECK_STR(err_text(), "number '-1' is out of range");
}

static double
real(const char *text, int code)
{
	CLEAN(json_freep) struct json *v = parse(text);
	double got = 0;
	CHECK_INT(json_double(v, &got), code);
	return got;
}

static void
test_doubles(void)
{
	CHECK(real("1.5", 0) == 1.5);
	CHECK(real(".5", 0) == .5);
	CHECK(real("+5", 0) == 5);
	CHECK(real("-0.0", 0) == 0 && signbit(real("-0.0", 0)));
	CHECK(real("\"-9999.5\"", 0) == -9999.5);
	CHECK(real("9.969209968386869e+36", 0) == 9.969209968386869e+36);
	CHECK(isnan(real("NaN", 0)) && isnan(real("Nan", 0)) && isnan(real("\"nan\"", 0)) &&
		isnan(real("NaNf", 0)));
	CHECK(isnan(real("\"-nan\"", 0)));
	CHECK(real("Infinity", 0) == INFINITY && real("\"-Infinity\"", 0) == -INFINITY &&
		real("-inf", 0) == -INFINITY);
	real("1e400", -ERANGE);
	real("\"12 apples\"", -EINVAL);
	real("\"\"", -EINVAL);
	real("true", -EINVAL);
	real("\"1\\u0000\"", -EINVAL);
	CLEAN(json_freep) struct json *v = parse("[12, -1, 1.0, \"12\", NaN, +5, -]");
	for (size_t i = 0; i < json_count(v); i++)
		CHECK_INT(json_word_is_int(json_at(v, i)), i == 0 || i == 1 || i == 5);
}

struct seen {
	char text[256];
	size_t count, stop_after;
};

static int
see(const struct json_slice *m, void *arg)
{
	struct seen *s = arg;
	CLEAN(clean_free) char *key = json_slice_key(m);
	if (s->count < 8) {
		size_t used = strlen(s->text);
		snprintf(s->text + used, sizeof s->text - used, "%s=%.*s;", key, (int)m->value_len,
			m->value);
	}
	return ++s->count == s->stop_after ? 7 : 0;
}

static int
scan(const char *text, const char *path, struct seen *s)
{
	*s = (struct seen){.stop_after = s->stop_after};
	return json_scan(text, strlen(text), path, see, s);
}

static void
test_scan(void)
{
	struct seen s = {0};
	CHECK_INT(scan("{\"a/.zarray\" : {\"x\": [\"}\", {}]} ,\n\"b\\u00e9\":\"t\", \"c\": NaN, "
		       "\"c\": 2}",
			  NULL, &s),
		0);
	CHECK_STR(s.text, "a/.zarray={\"x\": [\"}\", {}]};b\xc3\xa9=\"t\";c=NaN;c=2;");
	CHECK_INT(scan("{}", NULL, &s), 0);
	CHECK_INT(s.count, 0);
	const char *consolidated = "{\"metadata\": {\"old\": 1}, \"f\": 1, \"met\\u0061data\": "
				   "{\"k\": {\"metadata\": {\"z\": 1}}, \"bad\": [1,,}]}}";
	CHECK_INT(scan(consolidated, "metadata", &s), -EINVAL); /* brackets that do not match */
	consolidated = "{\"metadata\": {\"old\": 1}, \"f\": 1, \"met\\u0061data\": {\"k\": "
		       "{\"metadata\": {\"z\": 1}}, \"bad\": [1,,]}}";
	CHECK_INT(scan(consolidated, "metadata", &s), 0);
	CHECK_STR(s.text, "k={\"metadata\": {\"z\": 1}};bad=[1,,];");
	CHECK_INT(scan(consolidated, "metadata/k/metadata", &s), 0);
	CHECK_STR(s.text, "z=1;");
	CHECK_INT(scan(consolidated, "absent", &s), -ENOENT);
	CHECK_STR(err_text(), "no 'absent' in it");
	CHECK_INT(scan("{\"m\": null}", "m", &s), -ENOENT);
	CHECK_INT(scan("{\"m\": 5}", "m", &s), -EINVAL);
	CHECK_STR(err_text(), "line 1, column 7: expected a dict, not '5'");
	CHECK_INT(scan("[]", NULL, &s), -EINVAL);
	CHECK_INT(scan("{\"m\": {\"a\": 1}", "m", &s), -EINVAL);
	CHECK_INT(s.count, 0);
	CHECK_INT(scan("{\"a\": 1} x", NULL, &s), -EINVAL);
	s.stop_after = 2;
	CHECK_INT(scan("{\"a\": 1, \"b\": 2, \"c\": 3}", NULL, &s), 7);
	CHECK_INT(s.count, 2);
}

/* 40,000 members: what is not linear takes minutes. */
static void
test_large_scan(void)
{
	CLEAN(buf_free) struct buf doc = {0};
	buf_addf(&doc, "{\"metadata\": {");
	for (int i = 0; i < 40000; i++)
		buf_addf(&doc,
			"%s\"g/v%d/.zarray\": {\"shape\": [96, 721, 1440], \"chunks\": [1, 721, "
			"1440], \"dtype\": \"<f4\", "
			"\"fill_value\": NaN, \"filters\": null, \"compressor\": {\"id\": "
			"\"blosc\"}, \"order\": \"C\"}",
			i ? ",\n" : "", i);
	buf_addf(&doc, "}, \"zarr_consolidated_format\": 1}");
	struct seen s = {0};
	int64_t begin = clock_now();
	CHECK_INT(json_scan((char *)doc.data, doc.len, "metadata", see, &s), 0);
	CHECK_INT(s.count, 40000);
	CHECK(clock_now() - begin < 60 * SECOND);
	struct json *v = NULL;
	CHECK_INT(json_parse((char *)doc.data, doc.len, &v), 0);
	CHECK_INT(json_count(json_get(v, "metadata")), 40000);
	json_free(v);
	if (getenv("VERBOSE"))
		fprintf(stderr, "scan and parse of %zu bytes: %lld ms\n", doc.len,
			(long long)(clock_now() - begin) / 1000000);
}

int
main(void)
{
	test_types();
	test_texts();
	test_dump();
	test_large();
	test_copy();
	test_hash();
	test_errors();
	test_integers();
	test_doubles();
	test_scan();
	test_large_scan();
	return check_end();
}
