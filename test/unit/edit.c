/* Metadata changed through the model: documents before and after, byte for byte; what the model
 * then shows. */
#include "edit_tree.h"

#include <math.h>

static void
test_pure(void)
{
	static const char zarray[] = ZARRAY;
	const double nan = (double)NAN;
	const float small = 1.5f;
	struct tree t = tree_new(&never,
		(const char *const[]){".zgroup", ZGROUP, "v/.zarray", zarray, "v/.zattrs",
			"{\n    \"odd\": 1.50e0,\n    \"x\": 7\n}\n", "w/.zarray", zarray, NULL});
	struct attr a = text_attr("units", "K");
	shown_is(&t, "v", "units", 0, NULL);
	set_one(&t, "v", &a);
	stored_is(&t, "v/.zattrs",
		"{\n    \"odd\": 1.50e0,\n    \"x\": 7,\n    \"units\": \"K\"\n}\n");
	stored_is(&t, "v/.zarray", zarray);
	shown_is(&t, "v", "units", NC_TYPE_CHAR, "K");
	a = number_attr("nan", NC_TYPE_DOUBLE, &nan);
	set_one(&t, "w", &a);
	stored_is(&t, "w/.zattrs", "{\"nan\": NaN}");
	a = number_attr("s", NC_TYPE_FLOAT, &small);
	set_one(&t, "w", &a);
	shown_is(&t, "w", "s", NC_TYPE_DOUBLE, "1.5"); /* pure Zarr knows no floats */
	struct edit *e = begin_edit(&t, "w");
	CHECK_INT(edit_del_attr(e, "nan"), 0);
	CHECK_INT(edit_del_attr(e, "absent"), 0);
	CHECK_INT(edit_del_attr(e, "_ARRAY_DIMENSIONS"), -EPERM);
	end_edit(e);
	stored_is(&t, "w/.zattrs", "{\"s\": 1.5}");
	shown_is(&t, "w", "nan", 0, NULL);
	a = text_attr("title", "all");
	set_one(&t, "", &a);
	stored_is(&t, ".zattrs", "{\"title\": \"all\"}");
	shown_is(&t, "", "title", NC_TYPE_CHAR, "all");
	CHECK_INT(model_edit(t.m, "no", &e), ZMAP_ABSENT);
	tree_free(&t);
}

static void
test_recorded(void)
{
	static const char zattrs[] =
		"{\"a\": 5, \"b\": \"t\", \"_nczarr_array\": {\"dimension_references\": "
		"[\"/x\"]}, " NC_TYPES("\"a\": \"<i2\", \"b\": \">S1\", ") "}";
	struct tree t =
		tree_new(&never, (const char *const[]){".zgroup", ZGROUP, ".zattrs",
					 "{\"_nczarr_superblock\": {\"version\": \"2.0.0\"}}",
					 "v/.zarray", ZARRAY, "v/.zattrs", zattrs, NULL});
	const double seven = 7, half = 0.5;
	const uint64_t most = UINT64_MAX;
	shown_is(&t, "v", "a", NC_TYPE_SHORT, "5s");
	struct attr a = number_attr("a", NC_TYPE_DOUBLE, &seven);
	set_one(&t, "v", &a); /* it fits what was recorded */
	shown_is(&t, "v", "a", NC_TYPE_SHORT, "7s");
	a = number_attr("a", NC_TYPE_DOUBLE, &half);
	set_one(&t, "v", &a);
	shown_is(&t, "v", "a", NC_TYPE_DOUBLE, "0.5");
	a = number_attr("u", NC_TYPE_UINT64, &most);
	set_one(&t, "v", &a);
	shown_is(&t, "v", "u", NC_TYPE_UINT64, "18446744073709551615ULL");
	struct edit *e = begin_edit(&t, "v");
	CHECK_INT(edit_del_attr(e, "b"), 0);
	end_edit(e);
	e = begin_edit(&t, "v");
	a.count = 0;
	CHECK_INT(edit_set_attr(e, &a), 0);
	CHECK_INT(edit_commit(e, 0, NULL), -EINVAL);
	CHECK(strstr(err_text(), "'v': attribute 'u'"));
	edit_free(e);
	stored_is(&t, "v/.zattrs",
		"{\"a\": 0.5, \"_nczarr_array\": {\"dimension_references\": [\"/x\"]}, "
		"\"_nczarr_attr\": {\"types\": {\"a\": \"<f8\", \"_nczarr_array\": \"|J0\", "
		"\"u\": \"<u8\"}}, \"u\": 18446744073709551615}");
	tree_free(&t);
}

/* NCZarr of netcdf-c 4.8.1 and 4.9.2: types in .zattrs, all else beside Zarr's own. */
static void
test_older(void)
{
	static const char *const upper[] = {".zgroup",
		"{\"zarr_format\": 2, \"_NCZARR_SUPERBLOCK\": {\"version\": \"2.0.0\"}, "
		"\"_NCZARR_GROUP\": {\"dims\": {\"x\": 4}, \"vars\": [\"v\"], \"groups\": []}}",
		"v/.zarray",
		"{" ZARRAY_BODY ", \"dtype\": \"<i4\", \"fill_value\": 0, \"_NCZARR_ARRAY\": "
		"{\"dimrefs\": [\"/x\"], \"storage\": \"chunked\"}}",
		NULL};
	struct tree t = tree_new(&never, upper);
	const float third = 0.25f;
	struct attr a = number_attr("f", NC_TYPE_FLOAT, &third);
	set_one(&t, "v", &a);
	a = text_attr("s", "x");
	set_one(&t, "v", &a);
	stored_is(&t, "v/.zattrs",
		"{\"f\": 0.25, \"_NCZARR_ATTR\": {\"types\": {\"f\": \"<f4\", \"s\": \"<U1\"}}, "
		"\"s\": "
		"\"x\"}");
	shown_is(&t, "v", "f", NC_TYPE_FLOAT, "0.25f");
	struct edit *e = begin_edit(&t, "v");
	CHECK_INT(edit_resize(e, 9), 0);
	end_edit(e);
	stored_is(&t, ".zgroup",
		"{\"zarr_format\": 2, \"_NCZARR_SUPERBLOCK\": {\"version\": \"2.0.0\"}, "
		"\"_NCZARR_GROUP\": {\"dims\": {\"x\": 9}, \"vars\": [\"v\"], \"groups\": []}}");
	CHECK_INT(length_of(&t, "v", 0), 9);
	tree_free(&t);

	static const char *const v1[] = {".zgroup", ZGROUP, ".nczgroup",
		"{\"dims\": {}, \"vars\": [\"v\"], \"groups\": []}", "v/.zarray", ZARRAY, NULL};
	t = tree_new(&never, v1);
	CHECK_INT(model_edit(t.m, "v", &e), -ENOTSUP);
	CHECK(strstr(err_text(), "4.8.0"));
	tree_free(&t);
}

static void
test_shared(void)
{
	struct tree t = tree_new(&never, shared_tree);
	CHECK_STR(tree_names(&t, ""), "g/ v* w* x*");
	resize(&t, "v", 10);
	stored_is(&t, ".zattrs", GROUP("\"time\": {\"size\": 10, \"unlimited\": 1}, \"y\": 3"));
	stored_is(&t, "v/.zarray", SHAPED("10, 3"));
	CHECK_INT(length_of(&t, "v", 0), 10);
	CHECK_INT(length_of(&t, "w", 0), 3);
	CHECK_INT(length_of(&t, "w", 1), 10); /* wherever the dimension is used */
	CHECK_INT(length_of(&t, "x", 0), 4);
	CHECK_INT(length_of(&t, "g/u", 0), 10);
	struct node *n = tree_node(&t, "");
	CHECK_INT(n ? n->group->dim[0].size : 0, 10);
	node_unref(n);
	resize(&t, "g/u", 2);
	CHECK_INT(length_of(&t, "v", 0), 2);
	CHECK_INT(length_of(&t, "w", 1), 2);
	struct edit *e = begin_edit(&t, "g");
	CHECK_INT(edit_resize(e, 3), -EINVAL);
	edit_free(e);
	tree_free(&t);
}

static void
test_plain_sizes(void)
{
	static const char v3[] =
		"{\n  \"zarr_format\": 3,\n  \"node_type\": \"array\",\n  \"shape\": [\n    4,\n   "
		" 2\n  ],\n"
		"  \"data_type\": \"int32\",\n  \"chunk_grid\": {\"name\": \"regular\", "
		"\"configuration\": "
		"{\"chunk_shape\": [2, 2]}},\n  \"chunk_key_encoding\": {\"name\": \"default\"},\n"
		"  \"fill_value\": 0,\n  \"codecs\": [{\"name\": \"bytes\", \"configuration\": "
		"{\"endian\": "
		"\"little\"}}]\n}\n";
	CLEAN(clean_free) char *after = strdup(v3);
	CHECK(after);
	struct tree t = tree_new(&never,
		(const char *const[]){"zarr.json", "{\"zarr_format\": 3, \"node_type\": \"group\"}",
			"a/zarr.json", v3, "b/zarr.json", v3, NULL});
	struct edit *e = begin_edit(&t, "a");
	CHECK_INT(edit_resize(e, 7), 0);
	CHECK_INT(edit_resize_with(e, "b"), 0);
	end_edit(e);
	if (after)
		*strstr(after, "    4,") = ' ', *strchr(strstr(after, "shape"), '4') = '7';
	stored_is(&t, "a/zarr.json", after);
	stored_is(&t, "b/zarr.json", after);
	CHECK_INT(length_of(&t, "b", 0), 7);
	struct attr a = text_attr("units", "m");
	set_one(&t, "a", &a);
	shown_is(&t, "a", "units", NC_TYPE_CHAR, "m");
	set_one(&t, "", &a);
	stored_is(&t, "zarr.json",
		"{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {\"units\": "
		"\"m\"}}");
	tree_free(&t);
}

#define V3_ARRAY(shape, attrs)                                                                     \
	"{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [" shape                        \
	"], \"data_type\": \"float32\", \"chunk_grid\": {\"name\": \"regular\", "                  \
	"\"configuration\": "                                                                      \
	"{\"chunk_shape\": [2]}}, \"chunk_key_encoding\": {\"name\": \"default\"}, "               \
	"\"fill_value\": "                                                                         \
	"0, \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": "                   \
	"\"little\"}}]" attrs "}"
#define V3_GROUP(attrs) "{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {" attrs "}"
#define V3_ALL(group, array)                                                                       \
	", \"consolidated_metadata\": {\"kind\": \"inline\", \"must_understand\": false, "         \
	"\"metadata\": {\"g\": " group ", \"g/a\": " array "}}}"

static void
test_consolidated(void)
{
	static const char all[] = "{\"zarr_consolidated_format\": 1, \"metadata\": {\".zgroup\": "
				  "{\"zarr_format\": 2}, \"v/.zarray\": %s, \"odd\": 007%s}}";
	char before[1024], after[1024];
	snprintf(before, sizeof before, all, ZARRAY, "");
	struct tree t = tree_new(&never, (const char *const[]){".zgroup", ZGROUP, ".zmetadata",
						 before, "v/.zarray", ZARRAY, NULL});
	shown_is(&t, "v", "units", 0, NULL);
	struct attr a = text_attr("units", "K");
	set_one(&t, "v", &a);
	snprintf(after, sizeof after, all, ZARRAY, ", \"v/.zattrs\": {\"units\": \"K\"}");
	stored_is(&t, ".zmetadata", after);
	shown_is(&t, "v", "units", NC_TYPE_CHAR, "K");
	CHECK(model_consolidated(t.m, "v"));
	tree_free(&t);

	t = tree_new(&never,
		(const char *const[]){"zarr.json",
			V3_GROUP("") V3_ALL(V3_GROUP("") ", \"consolidated_metadata\": null}",
				V3_ARRAY("4", "")),
			"g/zarr.json", V3_GROUP("") "}", "g/a/zarr.json", V3_ARRAY("4", ""), NULL});
	a = text_attr("t", "x");
	const double nan = (double)NAN;
	set_one(&t, "g", &a);
	resize(&t, "g/a", 6);
	a = number_attr("_FillValue", NC_TYPE_DOUBLE, &nan);
	set_one(&t, "g/a", &a);
	stored_is(&t, "zarr.json",
		V3_GROUP("") V3_ALL(V3_GROUP("\"t\": \"x\"") ", \"consolidated_metadata\": null}",
			V3_ARRAY("6", ", \"attributes\": {\"_FillValue\": \"AAAAAAAA+H8=\"}")));
	shown_is(&t, "g/a", "_FillValue", NC_TYPE_FLOAT, "NaNf"); /* as xarray has it */
	tree_free(&t);
}

/* Consolidated metadata say that it is a group, and the store has the document of an array, alone
 * or beside a group's. */
static void
test_contradiction(void)
{
	static const char all[] = "{\"zarr_consolidated_format\": 1, \"metadata\": {\".zgroup\": "
				  "{\"zarr_format\": 2}, \"v/.zgroup\": {\"zarr_format\": 2}}}";
	static const char *const array[] = {"{", ZARRAY}, *const group[] = {NULL, "{", ZGROUP};
	for (unsigned i = 0; i < 6; i++) {
		struct tree t = tree_new(
			&never, (const char *const[]){".zgroup", ZGROUP, ".zmetadata", all,
					"v/.zarray", array[i % 2],
					group[i / 2] ? "v/.zgroup" : NULL, group[i / 2], NULL});
		struct edit *e = NULL;
		CHECK_INT(model_edit(t.m, "v", &e), -EIO);
		CHECK(strstr(err_text(), "'v/.zarray'"));
		edit_free(e);
		tree_free(&t);
	}
}

static void
test_refused(void)
{
	struct tree t =
		tree_new(&never, (const char *const[]){".zgroup", ZGROUP, "v/.zarray", ZARRAY,
					 "v/.zattrs", "{\"a\": 1", "w/.zarray", ZARRAY, NULL});
	struct attr a = text_attr("units", "K");
	struct edit *e = begin_edit(&t, "v");
	CHECK_INT(edit_set_attr(e, &a), 0);
	CHECK_INT(edit_commit(e, 0, NULL),
		-EINVAL); /* a document that makes no sense is left alone */
	stored_is(&t, "v/.zattrs", "{\"a\": 1");
	edit_free(e);
	e = begin_edit(&t, "w");
	a.name = (char *)"";
	CHECK_INT(edit_set_attr(e, &a), -EINVAL);
	CHECK_INT(edit_resize(e, UINT64_MAX), -EFBIG);
	CHECK_INT(edit_resize(e, INT64_MAX), 0); /* no file is that large */
	CHECK_INT(edit_commit(e, 0, NULL), -EINVAL);
	stored_is(&t, "w/.zarray", ZARRAY);
	edit_free(e);
	t.z->caps &= ~(unsigned)ZMAP_WRITE;
	e = begin_edit(&t, "w");
	CHECK_INT(edit_resize(e, 5), 0);
	CHECK_INT(edit_commit(e, 0, NULL), -EROFS);
	edit_free(e);
	tree_free(&t);
}

/* Pure Zarr V2, which zarr-python 2 reads as ASCII: what an edit puts in is escaped, what another
 * program left raw is found all the same, and escaped once it changes. NCZarr stays raw. */
static void
test_beyond_ascii(void)
{
	static const char all[] = "{\"zarr_consolidated_format\": 1, \"metadata\": {\".zgroup\": "
				  "{\"zarr_format\": 2}%s%s}}";
	static const char array[] = ", \"\xc3\xa9/.zarray\": " ZARRAY;
	char text[1024];
	snprintf(text, sizeof text, all, array, "");
	struct tree t = tree_new(&never, (const char *const[]){".zgroup", ZGROUP, ".zmetadata",
						 text, "\xc3\xa9/.zarray", ZARRAY, NULL});
	struct attr a = text_attr("\xc3\xbc", "\xf0\x9f\x98\x80");
	set_one(&t, "\xc3\xa9", &a);
	stored_is(&t, "\xc3\xa9/.zattrs", "{\"\\u00fc\": \"\\ud83d\\ude00\"}");
	snprintf(text, sizeof text, all, array,
		", \"\\u00e9/.zattrs\": {\"\\u00fc\": \"\\ud83d\\ude00\"}");
	stored_is(&t, ".zmetadata", text);
	shown_is(&t, "\xc3\xa9", "\xc3\xbc", NC_TYPE_CHAR, "\xf0\x9f\x98\x80");
	tree_free(&t);

	t = tree_new(&never,
		(const char *const[]){".zgroup", ZGROUP, "v/.zarray", ZARRAY, "v/.zattrs",
			"{\"\xc3\xbc\": \"\", \"\xc3\xa4\": 2.0e0, \"\\u00f6\": \"\"}", "w/.zarray",
			ZARRAY, "w/.zattrs",
			"{\"_nczarr_array\": {\"dimension_references\": [\"/x\"]}, " NC_TYPES(
				"") "}",
			NULL});
	set_one(&t, "v", &a);
	stored_is(&t, "v/.zattrs",
		"{\"\\u00fc\": \"\\ud83d\\ude00\", \"\xc3\xa4\": 2.0e0, \"\\u00f6\": \"\"}");
	a.name = (char *)"\xc3\xb6";
	set_one(&t, "v", &a);
	stored_is(&t, "v/.zattrs",
		"{\"\\u00fc\": \"\\ud83d\\ude00\", \"\xc3\xa4\": 2.0e0, \"\\u00f6\": "
		"\"\\ud83d\\ude00\"}");
	struct edit *e = begin_edit(&t, "v");
	CHECK_INT(edit_del_attr(e, "\xc3\xa4"), 0);
	CHECK_INT(edit_del_attr(e, "\xc3\xb6"), 0);
	end_edit(e);
	stored_is(&t, "v/.zattrs", "{\"\\u00fc\": \"\\ud83d\\ude00\"}");
	a = text_attr("\xc3\xbc", "\xc3\xa4");
	set_one(&t, "w", &a);
	stored_is(&t, "w/.zattrs",
		"{\"_nczarr_array\": {\"dimension_references\": [\"/x\"]}, \"_nczarr_attr\": "
		"{\"types\": {\"_nczarr_array\": \"|J0\", \"\xc3\xbc\": \">S1\"}}, \"\xc3\xbc\": "
		"\"\xc3\xa4\"}");
	tree_free(&t);
}

int
main(void)
{
	test_beyond_ascii();
	test_pure();
	test_recorded();
	test_older();
	test_shared();
	test_plain_sizes();
	test_consolidated();
	test_contradiction();
	test_refused();
	return check_end();
}
