/* Documents changed in their text: what is meant to change, and nothing else. */
#include "check.h"

#include "base/json.h"
#include "base/json_edit.h"

#include <errno.h>

#define AT(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct buf
doc_of(const char *text)
{
	struct buf b = {0};
	CHECK_INT(buf_add(&b, text, strlen(text)), 0);
	return b;
}

static struct span
span_of(const char *text)
{
	return (struct span){(const uint8_t *)text, strlen(text)};
}

static void
expect(struct buf *b, int r, int want_r, const char *want)
{
	CHECK_INT(r, want_r);
	CHECK_INT(buf_terminate(b), 0);
	CHECK_STR((char *)b->data, want);
	buf_free(b);
}

static void
set_is(const char *text, const char *const *path, const char *value, const char *want)
{
	struct buf b = doc_of(text);
	int r = json_edit_set(&b, path, span_of(value));
	expect(&b, r, 0, want);
}

static void
set_fails(const char *text, const char *const *path, const char *value)
{
	struct buf b = doc_of(text);
	int r = json_edit_set(&b, path, span_of(value));
	expect(&b, r, -EINVAL, text);
}

static void
del_is(const char *text, const char *const *path, const char *want)
{
	struct buf b = doc_of(text);
	int r = json_edit_del(&b, path);
	expect(&b, r, 0, want);
}

static void
test_set(void)
{
	set_is("{\"a\": 007, \"b\":1.50}", AT("b"), "2", "{\"a\": 007, \"b\":2}");
	set_is("{\"a\": 1}\n", AT("b"), "2", "{\"a\": 1, \"b\": 2}\n");
	set_is("{\"a\":1}", AT("b"), "2", "{\"a\":1,\"b\":2}");
	set_is("{\"a\":1,\"c\":3}", AT("b"), "2", "{\"a\":1,\"c\":3,\"b\":2}");
	set_is("{}", AT("b"), "[1, 2]", "{\"b\": [1, 2]}");
	set_is("\xef\xbb\xbf { } ", AT("b"), "1", "\xef\xbb\xbf {\"b\": 1} ");
	set_is("{\n    \"a\": 1\n}", AT("b"), "2", "{\n    \"a\": 1,\n    \"b\": 2\n}");
	set_is("{\n  \"a\": {}\n}", AT("a", "b"), "2", "{\n  \"a\": {\n    \"b\": 2\n  }\n}");
	set_is("{\n  \"a\": {\n    \"x\": 1\n  }\n}", AT("a", "b"), "2",
		"{\n  \"a\": {\n    \"x\": 1,\n    \"b\": 2\n  }\n}");
	set_is("{\n\t\"a\": {\n\t\t\"x\": {}\n\t}\n}", AT("a", "x", "y"), "2",
		"{\n\t\"a\": {\n\t\t\"x\": {\n\t\t\t\"y\": 2\n\t\t}\n\t}\n}");
	set_is("{\"a\": {}}", AT("a", "b", "c"), "NaN", "{\"a\": {\"b\": {\"c\": NaN}}}");
	set_is("{\"a\": 1, \"a\": 2}", AT("a"), "3", "{\"a\": 1, \"a\": 3}");
	set_is("{\"x\": {\"a\": [1, \"}\"]}, \"y\": 0x1F}", AT("x", "a"), "\"\"",
		"{\"x\": {\"a\": \"\"}, \"y\": 0x1F}");
	set_is("{\"a\\u0062\": 1}", AT("ab"), "2", "{\"a\\u0062\": 2}");
	set_is("{bare: 1}", AT("bare"), "2", "{bare: 2}");
	set_is("{\"q\": 1}", AT("a\"b\n"), "2", "{\"q\": 1, \"a\\\"b\\n\": 2}");
	set_fails("{\"a\": [1]}", AT("a", "b"), "1");
	set_fails("{\"a\": null}", AT("a", "b"), "1");
	set_fails("[1]", AT("a"), "1");
	set_fails("", AT("a"), "1");
	set_fails("{\"a\": 1} x", AT("a"), "1");
	set_fails("{\"a\": 1,}", AT("a"), "1");
	set_fails("{\"a\": 1", AT("a"), "1");
	set_fails("{\"a\": 1}", AT("a"), "1, 2");
	set_fails("{\"a\": 1}", AT("a"), "");
}

static void
test_del(void)
{
	del_is("{\"a\": 1, \"b\": 2, \"c\": 3}", AT("a"), "{\"b\": 2, \"c\": 3}");
	del_is("{\"a\": 1, \"b\": 2, \"c\": 3}", AT("b"), "{\"a\": 1, \"c\": 3}");
	del_is("{\"a\": 1, \"b\": 2, \"c\": 3}", AT("c"), "{\"a\": 1, \"b\": 2}");
	del_is("{\"a\": 1, \"b\": 2, \"a\": 3}", AT("a"), "{\"b\": 2}");
	del_is("{\n  \"a\": 1\n}\n", AT("a"), "{}\n");
	del_is("{\n  \"a\": 1,\n  \"b\": 2\n}", AT("b"), "{\n  \"a\": 1\n}");
	del_is("{\"a\": 1}", AT("b"), "{\"a\": 1}");
	del_is("{\"a\": 1}", AT("b", "c"), "{\"a\": 1}");
	del_is("{\"a\": {\"b\": 1, \"c\": 007}}", AT("a", "b"), "{\"a\": {\"c\": 007}}");
}

static void
at_is(const char *text, const char *const *path, size_t at, const char *value, const char *want)
{
	struct buf b = doc_of(text);
	int r = json_edit_at(&b, path, at, span_of(value));
	expect(&b, r, want ? 0 : -EINVAL, want ? want : text);
}

static void
test_list(void)
{
	at_is("{\"s\": [1,  2]}", AT("s"), 0, "7", "{\"s\": [7,  2]}");
	at_is("{\"s\": [1,  2]}", AT("s"), 1, "7", "{\"s\": [1,  7]}");
	at_is("{\"s\": [1,  2]}", AT("s"), 2, "7", "{\"s\": [1,  2,  7]}");
	at_is("{\"s\": [1]}", AT("s"), 1, "7", "{\"s\": [1, 7]}");
	at_is("{\"s\": []}", AT("s"), 0, "7", "{\"s\": [7]}");
	at_is("{\"s\": [\n  1\n]}", AT("s"), 0, "7", "{\"s\": [\n  7\n]}");
	at_is("{\"s\": [\n  1\n]}", AT("s"), 1, "7", "{\"s\": [\n  1,\n  7\n]}");
	at_is("{\"s\": [1]}", AT("s"), 2, "7", NULL);
	at_is("{\"s\": 1}", AT("s"), 0, "7", NULL);
	at_is("{\"s\": {}}", AT("s"), 0, "7", NULL);
	at_is("{}", AT("s"), 0, "7", NULL);
}

static void
take_is(const char *text, size_t at, const char *want)
{
	struct buf b = doc_of(text);
	int r = json_edit_take(&b, AT("s"), at);
	expect(&b, r, want ? 0 : -EINVAL, want ? want : text);
}

static void
test_take(void)
{
	take_is("{\"s\": [1, 2, 3]}", 0, "{\"s\": [2, 3]}");
	take_is("{\"s\": [1, 2, 3]}", 1, "{\"s\": [1, 3]}");
	take_is("{\"s\": [1, 2, 3]}", 2, "{\"s\": [1, 2]}");
	take_is("{\"s\": [ 1 ]}", 0, "{\"s\": []}");
	take_is("{\"s\": [1]}", 1, NULL);
	take_is("{\"s\": {}}", 0, NULL);
}

static void
found_is(const char *text, const char *const *path, int want_r, const char *want)
{
	struct span found = {0};
	CHECK_INT(json_edit_find(span_of(text), path, &found), want_r);
	CLEAN(clean_free) char *got = strndup(found.len ? (const char *)found.data : "", found.len);
	CHECK_STR(got, want);
}

static void
test_find(void)
{
	found_is("{\"a\": {\"b\": [1, 2] } }", AT("a", "b"), 0, "[1, 2]");
	found_is(" {\"a\": 1}\n", (const char *const[]){NULL}, 0, "{\"a\": 1}");
	found_is("{\"a\": 1}", AT("b"), -ENOENT, "");
	found_is("{\"a\": 1}", AT("a", "b"), -ENOENT, "");
	found_is("{\"a\": 1", AT("a"), -EINVAL, "");
}

/* Any bytes are text, and come back. */
static void
test_quote(void)
{
	uint32_t seed = 7;
	for (unsigned i = 0; i < 2000; i++) {
		CLEAN(buf_free) struct buf b = {0};
		CLEAN(json_freep) struct json *v = NULL;
		char text[16];
		size_t len = check_random(&seed) % sizeof text, got_len = 0;
		for (size_t k = 0; k < len; k++)
			text[k] = (char)(check_random(&seed) % 3 ? check_random(&seed) % 128
								 : check_random(&seed));
		CHECK_INT(json_quote(text, len, &b), 0);
		CHECK(json_is_strict((char *)b.data, b.len) || memmem(b.data, b.len, "\\udc", 4));
		CHECK_INT(json_parse((char *)b.data, b.len, &v), 0);
		const char *got = v ? json_text(v, &got_len) : NULL;
		CHECK_INT(got_len, len);
		if (got && got_len == len)
			CHECK_MEM(got, text, len);
	}
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(json_quote("h\xc3\xa9\xe9\"\n\x01", 7, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, "\"h\xc3\xa9\\udce9\\\"\\n\\u0001\"");
	CHECK_INT(json_to_ascii(&b), 0);
	CHECK_INT(buf_add(&b, "\xf0\x9f\x98\x80", 4), 0);
	CHECK_INT(json_to_ascii(&b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, "\"h\\u00e9\\udce9\\\"\\n\\u0001\"\\ud83d\\ude00");
	CLEAN(buf_free) struct buf bad = {0};
	CHECK_INT(buf_add(&bad, "\xe9", 1), 0);
	CHECK_INT(json_to_ascii(&bad), -EINVAL);
}

/* Random changes: the document says afterwards what a plain table of them says. */
static void
test_random(void)
{
	enum { NAMES = 6 };
	static const char *const name[NAMES] = {"a", "b", "cc", "d\"", "\xc3\xa9", "f/g"};
	int value[NAMES];
	uint32_t seed = 11;
	struct buf b = doc_of("{\n  \"keep\": 1.0e0,\n  \"in\": {}\n}\n");
	memset(value, -1, sizeof value);
	for (unsigned i = 0; i < 3000; i++) {
		unsigned k = check_random(&seed) % NAMES;
		const char *const path[] = {"in", name[k], NULL};
		char text[16];
		value[k] = check_random(&seed) % 3 ? (int)(check_random(&seed) % 1000) : -1;
		snprintf(text, sizeof text, "%d", value[k]);
		CHECK_INT(value[k] < 0 ? json_edit_del(&b, path)
				       : json_edit_set(&b, path, span_of(text)),
			0);
		CLEAN(json_freep) struct json *v = NULL;
		CHECK_INT(json_parse((char *)b.data, b.len, &v), 0);
		const struct json *in = v ? json_get(v, "in") : NULL;
		size_t n = 0;
		for (unsigned j = 0; j < NAMES; j++) {
			int64_t got = -1;
			const struct json *m = in ? json_get(in, name[j]) : NULL;
			if (m)
				CHECK_INT(json_int(m, &got), 0);
			CHECK_INT(got, value[j]);
			n += value[j] >= 0;
		}
		CHECK_INT(in ? json_count(in) : 0, n);
		CHECK(!memcmp(b.data, "{\n  \"keep\": 1.0e0,\n", 19));
	}
	buf_free(&b);
}

int
main(void)
{
	test_set();
	test_del();
	test_list();
	test_take();
	test_find();
	test_quote();
	test_random();
	return check_end();
}
