/* Values of attributes as users write them, and as documents hold them. */
#include "check.h"

#include "model/attr_edit.h"

#include <errno.h>
#include <math.h>

/* "TYPE VALUE" of what a text makes beside an attribute that was there. */
static void
text_makes(const char *text, const struct attr *old, enum nc_type type, const char *want)
{
	struct attr a = {0};
	CHECK_INT(attr_of_text("x", text, strlen(text), old, &a), 0);
	CHECK_INT(a.type, type);
	CLEAN(clean_free) char *got = attr_text(&a);
	CHECK_STR(got, want);
	attr_clear(&a);
}

static void
test_text(void)
{
	static const int16_t s = 3;
	static const double d = 2;
	const struct attr old_short = {
		.type = NC_TYPE_SHORT, .recorded = true, .count = 1, .data = (void *)&s};
	const struct attr old_double = {
		.type = NC_TYPE_DOUBLE, .recorded = true, .count = 1, .data = (void *)&d};
	const struct attr old_text = {.type = NC_TYPE_CHAR, .count = 1, .data = (void *)"m"};
	text_makes("K", NULL, NC_TYPE_CHAR, "K");
	text_makes("", NULL, NC_TYPE_CHAR, "");
	text_makes("5", NULL, NC_TYPE_INT, "5");
	text_makes("5", &old_text, NC_TYPE_CHAR, "5");
	text_makes("5", &old_short, NC_TYPE_SHORT, "5s");
	text_makes("70000", &old_short, NC_TYPE_INT, "70000");
	text_makes("1.5", &old_short, NC_TYPE_DOUBLE, "1.5");
	text_makes("5", &old_double, NC_TYPE_DOUBLE, "5.");
	text_makes("K", &old_double, NC_TYPE_CHAR, "K");
	text_makes("1.5f", NULL, NC_TYPE_FLOAT, "1.5f");
	text_makes("0.1f", NULL, NC_TYPE_FLOAT, "0.1f");
	text_makes("1.e-05", NULL, NC_TYPE_DOUBLE, "1.e-05");
	text_makes("1s, 2s,3s", NULL, NC_TYPE_SHORT, "1s, 2s, 3s");
	text_makes("1, 2.5", NULL, NC_TYPE_DOUBLE, "1., 2.5");
	text_makes("18446744073709551615", NULL, NC_TYPE_UINT64, "18446744073709551615ULL");
	text_makes("-9223372036854775808LL", NULL, NC_TYPE_INT64, "-9223372036854775808LL");
	text_makes("9007199254740993", NULL, NC_TYPE_INT64, "9007199254740993LL");
	text_makes("200UB", NULL, NC_TYPE_UBYTE, "200UB");
	text_makes("NaN", NULL, NC_TYPE_DOUBLE, "NaN");
	text_makes("-Infinityf", NULL, NC_TYPE_FLOAT, "-Infinityf");
	text_makes("300b", NULL, NC_TYPE_CHAR, "300b"); /* no byte: then it is text */
	text_makes("5 s", NULL, NC_TYPE_CHAR, "5 s");
	text_makes("1,", NULL, NC_TYPE_CHAR, "1,");
	text_makes("2020-01-01", NULL, NC_TYPE_CHAR, "2020-01-01");
	text_makes("e", NULL, NC_TYPE_CHAR, "e");
	text_makes("-", NULL, NC_TYPE_CHAR, "-");
}

static void
json_is_(const struct attr *a, enum attr_spelling s, const char *was, const char *want)
{
	CLEAN(buf_free) struct buf b = {0};
	const struct span old = {(const uint8_t *)was, strlen(was)};
	CHECK_INT(attr_json(a, s, old, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, want);
}

static void
test_json(void)
{
	static const double d[] = {(double)NAN, -(double)INFINITY, 0.1, 5};
	static const float f[] = {0.1f};
	static const int64_t i[] = {INT64_MIN, 9007199254740993};
	static const uint64_t u[] = {UINT64_MAX};
	static const char *const s[] = {"a", "b\""};
	const struct attr doubles = {
		.name = (char *)"x", .type = NC_TYPE_DOUBLE, .count = 4, .data = (void *)d};
	const struct attr one = {
		.name = (char *)"x", .type = NC_TYPE_FLOAT, .count = 1, .data = (void *)f};
	const struct attr ints = {
		.name = (char *)"x", .type = NC_TYPE_INT64, .count = 2, .data = (void *)i};
	const struct attr big = {
		.name = (char *)"x", .type = NC_TYPE_UINT64, .count = 1, .data = (void *)u};
	const struct attr texts = {
		.name = (char *)"x", .type = NC_TYPE_STRING, .count = 2, .data = (void *)s};
	const struct attr dict = {
		.name = (char *)"x", .type = NC_TYPE_CHAR, .count = 7, .data = (void *)"{\"a\":1}"};
	const struct attr none = {.name = (char *)"x", .type = NC_TYPE_INT, .data = (void *)i};
	json_is_(&doubles, ATTR_PURE, "", "[NaN, -Infinity, 0.1, 5.0]");
	json_is_(&doubles, ATTR_RECORDED, "", "[\"NaN\", \"-Infinity\", 0.1, 5.0]");
	json_is_(&doubles, ATTR_RECORDED_1, "", "[NaN, -Infinity, 0.1, 5.0]");
	json_is_(&one, ATTR_RECORDED, "", "0.10000000149011612");
	json_is_(&one, ATTR_PURE, "[1]", "[0.10000000149011612]");
	json_is_(&ints, ATTR_PURE, "", "[-9223372036854775808, 9007199254740993]");
	json_is_(&big, ATTR_PURE, "", "18446744073709551615");
	json_is_(&texts, ATTR_PURE, "", "[\"a\", \"b\\\"\"]");
	json_is_(&dict, ATTR_PURE, "", "\"{\\\"a\\\":1}\"");
	json_is_(&dict, ATTR_PURE, "{\"a\": 2}", "{\"a\":1}");
	json_is_(&none, ATTR_PURE, "", "[]");
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(attr_json(&none, ATTR_RECORDED, (struct span){0}, &b), -EINVAL);
	CHECK_INT(attr_type_name(&texts, ATTR_RECORDED_1, &b), -ENOTSUP);
	CHECK_INT(attr_type_name(&texts, ATTR_RECORDED, &b), 0);
	CHECK_INT(attr_type_name(&dict, ATTR_RECORDED_1, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	CHECK_STR((char *)b.data, "|S128<U1");
}

/* The value `from` of a double in type t: exactly that, or none. */
static void
as_is(double from, enum nc_type t, const char *want)
{
	const struct attr a = {
		.name = (char *)"x", .type = NC_TYPE_DOUBLE, .count = 1, .data = &from};
	struct attr to = {0};
	int r = attr_as(&a, t, &to);
	CHECK_INT(r, want ? 0 : -ERANGE);
	CLEAN(clean_free) char *got = r == 0 ? attr_text(&to) : NULL;
	if (want)
		CHECK_STR(got, want);
	attr_clear(&to);
}

static void
test_as(void)
{
	as_is(127, NC_TYPE_BYTE, "127b");
	as_is(128, NC_TYPE_BYTE, NULL);
	as_is(-128, NC_TYPE_BYTE, "-128b");
	as_is(-1, NC_TYPE_UBYTE, NULL);
	as_is(0.5, NC_TYPE_INT, NULL);
	as_is(-0.0, NC_TYPE_INT, NULL);
	as_is((double)NAN, NC_TYPE_INT, NULL);
	as_is((double)NAN, NC_TYPE_FLOAT, "NaNf");
	as_is(0.1, NC_TYPE_FLOAT, NULL);
	as_is(0.5, NC_TYPE_FLOAT, "0.5f");
	as_is(9223372036854775808.0, NC_TYPE_INT64, NULL);
	as_is(9223372036854775808.0, NC_TYPE_UINT64, "9223372036854775808ULL");
	as_is(18446744073709551616.0, NC_TYPE_UINT64, NULL);
	as_is(-9223372036854775808.0, NC_TYPE_INT64, "-9223372036854775808LL");
	static const int64_t odd = 9007199254740993;
	const struct attr a = {
		.name = (char *)"x", .type = NC_TYPE_INT64, .count = 1, .data = (void *)&odd};
	struct attr to = {0};
	CHECK_INT(attr_as(&a, NC_TYPE_DOUBLE, &to), -ERANGE);
	CHECK_INT(attr_as(&a, NC_TYPE_CHAR, &to), -ERANGE);
	CHECK_INT(attr_as(&a, NC_TYPE_STRING, &to), -ERANGE);
}

static void
test_keep(void)
{
	static const double one = 1;
	static const int64_t big = 3000000000;
	const struct attr real = {
		.name = (char *)"x", .type = NC_TYPE_DOUBLE, .count = 1, .data = (void *)&one};
	const struct attr whole = {
		.name = (char *)"x", .type = NC_TYPE_INT64, .count = 1, .data = (void *)&big};
	const struct attr text = {
		.name = (char *)"x", .type = NC_TYPE_CHAR, .count = 1, .data = (void *)"a"};
	static const char *const list[] = {"b"};
	const struct attr string = {
		.name = (char *)"x", .type = NC_TYPE_STRING, .count = 1, .data = (void *)list};
	struct attr a = {0};
	CHECK_INT(attr_keep_type(&real, &whole, &a), 0);
	CHECK_INT(a.type, NC_TYPE_INT64);
	attr_clear(&a);
	CHECK_INT(attr_keep_type(&text, &string, &a), 0);
	CHECK_INT(a.type, NC_TYPE_STRING);
	attr_clear(&a);
	CHECK_INT(attr_keep_type(&string, &text, &a), 0);
	CHECK_INT(a.type, NC_TYPE_CHAR);
	attr_clear(&a);
	CHECK_INT(attr_keep_type(&text, &real, &a), 0);
	CHECK_INT(a.type, NC_TYPE_CHAR);
	CHECK(attr_same(&a, &text) && !attr_same(&a, &string));
	attr_clear(&a);
}

int
main(void)
{
	test_text();
	test_json();
	test_as();
	test_keep();
	return check_end();
}
