/* What attributes a user sees: types, texts, and what cannot be kept. */
#include "tree.h"

#include <errno.h>

struct want {
	const char *name;
	enum nc_type type;
	const char *text;
	size_t count;
	bool recorded, json;
};

static void
expect(const struct attrs *as, const struct want *w)
{
	const struct attr *a = attrs_find(as, w->name);
	if (!a) {
		fprintf(stderr, "no attribute '%s'\n", w->name);
		check_failed++;
		return;
	}
	char *text = attr_text(a);
	if (a->type != w->type || a->count != w->count || a->recorded != w->recorded ||
		a->json != w->json || !text || strcmp(text, w->text)) {
		fprintf(stderr,
			"'%s' is type %d, count %zu, recorded %d, json %d, '%s'; not type %d, "
			"count %zu, recorded %d, json %d, '%s'\n",
			w->name, a->type, a->count, a->recorded, a->json, text ? text : "", w->type,
			w->count, w->recorded, w->json, w->text);
		check_failed++;
	}
	free(text);
}

static void
check_all(const struct model_options *o, const char *zarray, const char *zattrs,
	const struct want *w, size_t problems)
{
	const char *const objects[] = {
		".zgroup", ZGROUP, "v/.zarray", zarray, "v/.zattrs", zattrs, NULL};
	struct tree t = tree_new(o, objects);
	struct node *n = tree_node(&t, "v");
	struct attrs as;
	CHECK_INT(node_attrs(n, &as), 0);
	size_t count = 0;
	for (; w->name; w++, count++)
		expect(&as, w);
	CHECK_INT(as.count, count);
	CHECK_INT(as.nproblems, problems);
	attrs_free(&as);
	node_unref(n);
	tree_free(&t);
}

static const char inferred_json[] =
	"{\"int\": 1, \"neg\": -5, \"uint\": 3000000000, \"i64\": 5000000000, \"min\": "
	"-9223372036854775808, \"u64\": 18446744073709551615,"
	" \"huge\": 123456789012345678901234567890, \"round\": 10000000000000000000000, "
	"\"real\": 0.1, \"third\": "
	"0.3333333333333333, \"whole\": 1.0, \"exp\": 1e300, \"nan\": NaN,"
	" \"inf\": [Infinity, -Infinity, 1], \"nans\": \"NaN\", \"t\": true, \"tf\": "
	"[true, false], \"text\": \"h\\u00e9 \\\"q\\\"\\n\", \"empty\": \"\","
	" \"ints\": [1, 2, 3], \"wide\": [1, 3000000000], \"wider\": [-1, 3000000000], "
	"\"widest\": [-1, 18446744073709551615], \"mixed\": [1, 2.5],"
	" \"strs\": [\"one\", \"two\"], \"nuls\": [\"a\\u0000b\", \"c\"], \"odd\": [1, "
	"\"x\"], \"none\": [], \"null\": null, "
	"\"dict\": {\"a\": [1,2.50,{\"b\": null}]},"
	" \"pretty\": {\n  \"a\": 1,\n  \"b\": [1,\n2]},"
	" \"nested\": [[1,2],[3]], \"hex\": 0x10, \"word\": abc, \"dup\": 1, \"dup\": 2, "
	"\"_FillValue\": -999, \"missing_value\": -999,"
	" \"_ARRAY_DIMENSIONS\": [\"x\"], \"_NCProperties\": \"x\", \"_nczarr_attr\": {}, "
	"\"_NCZARR_ATTR\": {}, \"NAME\": \"x\", \"_nczarr_maxstrlen\": 7}";

static const struct want inferred_want[] = {
	{"int", NC_TYPE_INT, "1", 1},
	{"neg", NC_TYPE_INT, "-5", 1},
	{"uint", NC_TYPE_UINT, "3000000000U", 1},
	{"i64", NC_TYPE_INT64, "5000000000LL", 1},
	{"min", NC_TYPE_INT64, "-9223372036854775808LL", 1},
	{"u64", NC_TYPE_UINT64, "18446744073709551615ULL", 1},
	{"huge", NC_TYPE_CHAR, "123456789012345678901234567890", 30},
	{"round", NC_TYPE_DOUBLE, "1.e+22", 1},
	{"real", NC_TYPE_DOUBLE, "0.1", 1},
	{"third", NC_TYPE_DOUBLE, "0.3333333333333333", 1},
	{"whole", NC_TYPE_DOUBLE, "1.", 1},
	{"exp", NC_TYPE_DOUBLE, "1.e+300", 1},
	{"nan", NC_TYPE_DOUBLE, "NaN", 1},
	{"inf", NC_TYPE_DOUBLE, "Infinity, -Infinity, 1.", 3},
	{"nans", NC_TYPE_CHAR, "NaN", 3},
	{"t", NC_TYPE_UBYTE, "1UB", 1},
	{"tf", NC_TYPE_UBYTE, "1UB, 0UB", 2},
	{"text", NC_TYPE_CHAR, "hé \"q\"\n", 8},
	{"empty", NC_TYPE_CHAR, "", 0},
	{"ints", NC_TYPE_INT, "1, 2, 3", 3},
	{"wide", NC_TYPE_UINT, "1U, 3000000000U", 2},
	{"wider", NC_TYPE_INT64, "-1LL, 3000000000LL", 2},
	{"widest", NC_TYPE_CHAR, "[-1, 18446744073709551615]", 26, .json = true},
	{"mixed", NC_TYPE_DOUBLE, "1., 2.5", 2},
	{"strs", NC_TYPE_STRING, "one\ntwo", 2},
	{"nuls", NC_TYPE_CHAR, "[\"a\\u0000b\", \"c\"]", 17, .json = true},
	{"odd", NC_TYPE_CHAR, "[1, \"x\"]", 8, .json = true},
	{"none", NC_TYPE_CHAR, "[]", 2, .json = true},
	{"null", NC_TYPE_CHAR, "null", 4, .json = true},
	{"dict", NC_TYPE_CHAR, "{\"a\": [1,2.50,{\"b\": null}]}", 27, .json = true},
	{"pretty", NC_TYPE_CHAR, "{\"a\": 1, \"b\": [1, 2]}", 21, .json = true},
	{"nested", NC_TYPE_CHAR, "[[1,2],[3]]", 11, .json = true},
	{"hex", NC_TYPE_DOUBLE, "16.", 1},
	{"word", NC_TYPE_CHAR, "abc", 3},
	{"dup", NC_TYPE_INT, "2", 1},
	{"_FillValue", NC_TYPE_FLOAT, "-999.f", 1}, /* of the variable's type */
	{"missing_value", NC_TYPE_FLOAT, "-999.f", 1},
	{"_nczarr_maxstrlen", NC_TYPE_INT, "7", 1},
	{0},
};

static void
test_inferred(void)
{
	check_all(NULL, "{" ZARRAY_BODY ", \"dtype\": \"<f4\", \"fill_value\": 0}", inferred_json,
		inferred_want, 0);
	const struct want half[] = {{"_FillValue", NC_TYPE_FLOAT, "NaNf", 1}, {0}};
	check_all(NULL, "{" ZARRAY_BODY ", \"dtype\": \"<f2\", \"fill_value\": 0}",
		"{\"_FillValue\": \"NaN\"}", half, 0);
}

#define TYPES                                                                                      \
	"\"types\": {\"b\": \"<i1\", \"s\": \"<i2\", \"i\": \"<i4\", \"l\": \"<i8\", \"ub\": "     \
	"\"<u1\", \"us\": \"<u2\", \"ui\": \"<u4\", \"ul\": \"<u8\","                              \
	" \"f\": \"<f4\", \"d\": \"<f8\", \"c\": \">S1\", \"cn\": \">S1\", \"cz\": \">S1\", "      \
	"\"cp\": \">S1\", \"cb\": \">S1\", \"cu\": \">S1\", \"cj\": \">S1\","                      \
	" \"old\": \"<U1\", \"str\": \"|S128\", \"strs\": \"|S128\", \"j\": \"|J0\", \"fn\": "     \
	"\"<f4\", \"bad\": \"<i4\", \"range\": \"<u1\", \"fl\": \"<u1\", \"odd\": \"<q9\"}"

static void
test_recorded(void)
{
	const char *zattrs =
		"{\"b\": -1, \"s\": [7], \"i\": 1, \"l\": 1, \"ub\": 255, \"us\": 1, \"ui\": 1, "
		"\"ul\": [1, 18446744073709551615], \"f\": 0.1,"
		" \"d\": 0.1, \"c\": \"x\", \"cn\": 1.0, \"cz\": 007, \"cp\": +5, \"cb\": true, "
		"\"cu\": null, \"cj\": [1,2], \"old\": 2020, \"str\": \"one\","
		" \"strs\": [\"a\", \"b\"], \"j\": {\"x\":1}, \"fn\": \"NaN\", \"bad\": "
		"\"AAAAAAAA+H8=\", \"range\": 300, \"fl\": 255.0, \"odd\": 1,"
		" \"_nczarr_attr\": {" TYPES "}}";
	const struct want want[] = {
		{"b", NC_TYPE_BYTE, "-1b", 1, .recorded = true},
		{"s", NC_TYPE_SHORT, "7s", 1, .recorded = true},
		{"i", NC_TYPE_INT, "1", 1, .recorded = true},
		{"l", NC_TYPE_INT64, "1LL", 1, .recorded = true},
		{"ub", NC_TYPE_UBYTE, "255UB", 1, .recorded = true},
		{"us", NC_TYPE_USHORT, "1US", 1, .recorded = true},
		{"ui", NC_TYPE_UINT, "1U", 1, .recorded = true},
		{"ul", NC_TYPE_UINT64, "1ULL, 18446744073709551615ULL", 2, .recorded = true},
		{"f", NC_TYPE_FLOAT, "0.1f", 1, .recorded = true},
		{"d", NC_TYPE_DOUBLE, "0.1", 1, .recorded = true},
		{"c", NC_TYPE_CHAR, "x", 1, .recorded = true},
		{"cn", NC_TYPE_CHAR, "1.0", 3, .recorded = true},
		{"cz", NC_TYPE_CHAR, "007", 3, .recorded = true},
		{"cp", NC_TYPE_CHAR, "+5", 2, .recorded = true},
		{"cb", NC_TYPE_CHAR, "true", 4, .recorded = true},
		{"cu", NC_TYPE_CHAR, "null", 4, .recorded = true},
		{"cj", NC_TYPE_CHAR, "[1,2]", 5, .recorded = true, .json = true},
		{"old", NC_TYPE_CHAR, "2020", 4, .recorded = true},
		{"str", NC_TYPE_STRING, "one", 1, .recorded = true},
		{"strs", NC_TYPE_STRING, "a\nb", 2, .recorded = true},
		{"j", NC_TYPE_CHAR, "{\"x\":1}", 7, .recorded = true, .json = true},
		{"fn", NC_TYPE_FLOAT, "NaNf", 1, .recorded = true},
		{"bad", NC_TYPE_CHAR, "AAAAAAAA+H8=", 12},
		{"range", NC_TYPE_INT, "300", 1},
		{"fl", NC_TYPE_UBYTE, "255UB", 1, .recorded = true},
		{"odd", NC_TYPE_INT, "1", 1},
		{0},
	};
	check_all(NULL, ZARRAY, zattrs, want, 2);
	const struct model_options pure = {.timeout = SECOND, .mode = URL_ZARR};
	const struct want inferred[] = {{"b", NC_TYPE_INT, "-1", 1}, {0}};
	check_all(&pure, ZARRAY, "{\"b\": -1, \"_nczarr_attr\": {" TYPES "}}", inferred, 0);
}

static void
test_texts(void)
{
	float f[] = {100, 1e7f, 16777216, 1.5f, 3.4028235e38f, 1e-5f, -0.0f};
	struct attr a = {.type = NC_TYPE_FLOAT, .count = 7, .data = f};
	char *text = attr_text(&a);
	CHECK_STR(text, "100.f, 1.e+07f, 16777216.f, 1.5f, 3.4028235e+38f, 1.e-05f, -0.f");
	free(text);
	double d[] = {100, 1e14, 1e15, 0.1, 1.7976931348623157e308, 5e-324, 123456789.125};
	a = (struct attr){.type = NC_TYPE_DOUBLE, .count = 7, .data = d};
	text = attr_text(&a);
	CHECK_STR(text, "100., 100000000000000., 1.e+15, 0.1, 1.7976931348623157e+308, 5.e-324, "
			"123456789.125");
	free(text);
}

int
main(void)
{
	test_inferred();
	test_recorded();
	test_texts();
	return check_end();
}
