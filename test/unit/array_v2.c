/* .zarray as writers in the wild make it: what is read, what marks the array, and never the
 * store. */
#include "tree.h"

#include <errno.h>

#define SHAPES "\"zarr_format\": 2, \"shape\": [4, 6], \"chunks\": [2, 3]"
#define PLAIN ", \"dtype\": \"<i4\", \"fill_value\": 0"

struct row {
	const char *zarray;
	const char *dtype;  /* NULL: the array cannot be told at all */
	const char *codecs; /* joined by ',' */
	unsigned rank;
	int error;
};

static const struct row rows[] = {
	{"{" SHAPES PLAIN ", \"compressor\": null, \"filters\": null, \"order\": \"C\"}", "<i4", "",
		2, 0},
	{"{" SHAPES PLAIN ", \"compressor\": \"null\", \"filters\": []}", "<i4", "", 2, 0},
	{"{" SHAPES PLAIN ", \"compressor\": {\"type\": \"raw\"}}", "<i4", "", 2, 0},
	{"{" SHAPES PLAIN ", \"compressor\": {}, \"extra\": {\"x\": 1}}", "<i4", "", 2, 0},
	{"{" SHAPES PLAIN ", \"order\": \"F\"}", "<i4", "transpose", 2, 0},
	{"{" SHAPES PLAIN ", \"order\": \"F\", \"filters\": [{\"id\": \"shuffle\", "
	 "\"elementsize\": \"0\"}, {\"id\": \"delta\", \"dtype\": \"<i4\"}],"
	 " \"compressor\": {\"id\": \"zlib\", \"level\": \"5\"}}",
		"<i4", "transpose,shuffle,delta,zlib", 2, 0},
	{"{\"shape\": [], \"chunks\": [], \"order\": \"F\"" PLAIN "}", "<i4", "", 0, 0},
	{"{\"shape\": 7, \"chunks\": 3, \"order\": \"F\"" PLAIN "}", "<i4", "", 1, 0},
	{"{\"shape\": [0, 5], \"chunks\": [0, 5]" PLAIN "}", "<i4", "", 2, 0},
	{"{" SHAPES ", \"dtype\": \"<f8\"}", "<f8", "", 2, 0},
	{"{" SHAPES ", \"dtype\": \"<i4\", \"fill_value\": [-5]}", "<i4", "", 2, 0},
	{"{" SHAPES ", \"dtype\": \"<f4\", \"fill_value\": \"-9999.5\"}", "<f4", "", 2, 0},
	{"{" SHAPES ", \"dtype\": \"<f4\", \"fill_value\": NaN}", "<f4", "", 2, 0},
	{"{" SHAPES ", \"dtype\": \"|S4\", \"fill_value\": 0}", "|S4", "", 2, 0},
	{"{" SHAPES
	 ", \"dtype\": \"<U4\", \"fill_value\": \"\", \"filters\": [{\"id\": \"vlen-utf8\"}]}",
		"<U4", "vlen-utf8", 2, 0},
	{"{" SHAPES ", \"dtype\": \"<i4\", \"fill_value\": \"base64==\"}", "<i4", "", 2, 0},
	{"{" SHAPES PLAIN ", \"dimension_separator\": \"-\"}", NULL, NULL, 0, -EINVAL},
	{"{" SHAPES PLAIN ", \"order\": \"K\"}", NULL, NULL, 0, -EINVAL},
	{"{" SHAPES ", \"dtype\": \"<f16\", \"fill_value\": 0}", "|V16", "", 2, -ENOTSUP},
	{"{" SHAPES ", \"dtype\": \"<q3\", \"fill_value\": 0}", "|V3", "", 2, -ENOTSUP},
	{"{" SHAPES ", \"dtype\": \"|S813007331\"}", "|S813007331", "", 2, -ENOTSUP},
	{"{" SHAPES ", \"dtype\": {\"x\": 1}, \"fill_value\": 0}", "|O", "", 2, -ENOTSUP},
	{"{" SHAPES ", \"fill_value\": 0}", NULL, NULL, 0, -EINVAL},
	{"{" SHAPES
	 ", \"dtype\": \"|O\", \"fill_value\": 0, \"filters\": [{\"id\": \"vlen-utf8\"}]}",
		"|O", "vlen-utf8", 2, 0},
	{"{" SHAPES
	 ", \"dtype\": \"|O\", \"filters\": null, \"compressor\": {\"id\": \"vlen-bytes\"}}",
		"|O", "vlen-bytes", 2, 0},
	{"{" SHAPES ", \"dtype\": \"|O\", \"filters\": [{\"id\": \"json2\"}]}", "|O", "json2", 2,
		-ENOTSUP},
	{"{" SHAPES ", \"dtype\": \"|O\", \"filters\": [{\"id\": \"pickle\"}]}", "|O", "pickle", 2,
		-ENOTSUP},
	{"{" SHAPES ", \"dtype\": \"|O\"}", "|O", "", 2, -ENOTSUP},
	{"{" SHAPES PLAIN ", \"compressor\": {\"id\": \"imagecodecs_x\"}}", "<i4", "imagecodecs_x",
		2, -ENOTSUP},
	{"{" SHAPES PLAIN ", \"compressor\": {\"level\": 1}}", "<i4", "", 2, -EINVAL},
	{"{" SHAPES PLAIN ", \"filters\": [1]}", "<i4", "", 2, -EINVAL},
	{"{\"zarr_format\": 3, \"shape\": [1], \"chunks\": [1]" PLAIN "}", NULL, NULL, 0, -ENOTSUP},
	{"{\"shape\": [4], \"chunks\": [2, 2]" PLAIN "}", NULL, NULL, 0, -EINVAL},
	{"{\"shape\": [4], \"chunks\": [0]" PLAIN "}", NULL, NULL, 0, -EINVAL},
	{"{\"shape\": [-4], \"chunks\": [1]" PLAIN "}", NULL, NULL, 0, -ERANGE},
	{"{\"shape\": [\"x\"], \"chunks\": [1]" PLAIN "}", NULL, NULL, 0, -EINVAL},
	{"{\"shape\": null, \"chunks\": [1]" PLAIN "}", NULL, NULL, 0, -EINVAL},
	{"{\"chunks\": [1]" PLAIN "}", NULL, NULL, 0, -EINVAL},
	{"{\"shape\": [4000000000, 4000000000], \"chunks\": [1, 1]" PLAIN "}", NULL, NULL, 0,
		-EFBIG},
	{"{\"shape\": [4, 4], \"chunks\": [4000000000, 4000000000]" PLAIN "}", NULL, NULL, 0,
		-EFBIG},
	{"{\"shape\": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1], "
	 "\"chunks\": [1]" PLAIN "}",
		NULL, NULL, 0, -ENOTSUP},
};

static char *
codec_list(const struct array_meta *a)
{
	static char list[256];
	list[0] = 0;
	for (size_t i = 0; i < a->ncodecs; i++)
		snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "," : "",
			a->codec[i].id);
	return list;
}

static void
check_row(const struct row *w)
{
	const char *const objects[] = {".zgroup", ZGROUP, "v/.zarray", w->zarray, NULL};
	struct tree t = tree_new(NULL, objects);
	struct node *n = tree_node(&t, "v");
	int before = check_failed;
	CHECK_INT(n->kind, NODE_ARRAY);
	CHECK_INT(n->error_code, w->error);
	CHECK(!n->error == !w->error);
	CHECK(!n->array == !w->dtype);
	if (n->array && w->dtype) {
		char *text = dtype_text(&n->array->dtype);
		CHECK_STR(text, w->dtype);
		free(text);
		CHECK_STR(codec_list(n->array), w->codecs);
		CHECK_INT(n->array->rank, w->rank);
		for (unsigned i = 0; i < n->array->rank; i++)
			CHECK(n->array->chunk[i] > 0 && !n->array->dim[i].name);
	}
	if (check_failed != before)
		fprintf(stderr, "  in %s: %s\n", w->zarray, n->error ? n->error : "");
	node_unref(n);
	tree_free(&t);
}

/* A fill value that makes no sense costs the chunks that are absent, and no others. */
static void
test_bad_fill(void)
{
	const char *const objects[] = {"v/.zarray",
		"{" SHAPES ", \"dtype\": \"<i4\", \"fill_value\": {\"a\": 1}}", "w/.zarray",
		"{" SHAPES ", \"dtype\": \"<i4\", \"fill_value\": 1}", NULL};
	struct tree t = tree_new(NULL, objects);
	struct node *v = tree_node(&t, "v"), *w = tree_node(&t, "w");
	CHECK(!v->error);
	CHECK_STR(v->array->fill_error, "{\"a\": 1} is no fill_value of dtype <i4");
	CHECK(!w->array->fill_error);
	node_unref(v);
	node_unref(w);
	tree_free(&t);
}

static void
test_objects(void)
{
	const char *const objects[] = {".zgroup", ZGROUP, "t/.zarray",
		"{" SHAPES ", \"dtype\": \"|O\", \"fill_value\": \"h\\u00e9\", \"filters\": "
		"[{\"id\": \"vlen-utf8\"}]}",
		"t/.zattrs", "{\"_nczarr_maxstrlen\": 17}", "b/.zarray",
		"{" SHAPES
		", \"dtype\": \"|O\", \"fill_value\": 0, \"filters\": [{\"id\": \"vlen-bytes\"}]}",
		"c/.zarray",
		"{" SHAPES ", \"dtype\": \"|O\", \"filters\": [{\"id\": \"categorize\", "
		"\"labels\": [\"a\"], \"dtype\": \"|O\", \"astype\": \"|u1\"}]}",
		NULL};
	struct tree t = tree_new(NULL, objects);
	struct node *n = tree_node(&t, "t");
	CHECK_INT(n->array->dtype.kind, DTYPE_VLEN_TEXT);
	CHECK_STR(n->array->fill_text, "hé");
	CHECK_INT(n->array->strlen_hint, 17);
	node_unref(n);
	n = tree_node(&t, "b");
	CHECK_INT(n->array->dtype.kind, DTYPE_VLEN_BYTES);
	CHECK_STR(n->array->fill_text, "");
	node_unref(n);
	n = tree_node(&t, "c");
	CHECK_INT(n->array->dtype.kind, DTYPE_VLEN_TEXT);
	node_unref(n);
	tree_free(&t);
}

/* The fingerprint: not of shape, dimensions and attributes, but of all that decides what chunks
 * mean. */
static void
test_layout(void)
{
	static const char *const same[] = {
		"{\"shape\": [4], \"chunks\": [2], \"dtype\": \"<i4\", \"fill_value\": 0}",
		"{\"shape\": [9], \"chunks\": [2], \"dtype\": \"<i4\", \"fill_value\": 0, "
		"\"compressor\": null, \"order\": \"C\"}",
	};
	static const char *const other[] = {
		"{\"shape\": [4], \"chunks\": [3], \"dtype\": \"<i4\", \"fill_value\": 0}",
		"{\"shape\": [4], \"chunks\": [2], \"dtype\": \">i4\", \"fill_value\": 0}",
		"{\"shape\": [4], \"chunks\": [2], \"dtype\": \"<u4\", \"fill_value\": 0}",
		"{\"shape\": [4], \"chunks\": [2], \"dtype\": \"<i4\", \"fill_value\": 1}",
		"{\"shape\": [4], \"chunks\": [2], \"dtype\": \"<i4\", \"fill_value\": 0, "
		"\"compressor\": {\"id\": \"zlib\", \"level\": 1}}",
		"{\"shape\": [4], \"chunks\": [2], \"dtype\": \"<i4\", \"fill_value\": 0, "
		"\"compressor\": {\"id\": \"zlib\", \"level\": 2}}",
		"{\"shape\": [4], \"chunks\": [2], \"dtype\": \"<i4\", \"fill_value\": 0, "
		"\"dimension_separator\": \"/\"}",
	};
	enum { SAME = 2, OTHER = 7 };
	uint64_t layout[SAME + OTHER];
	struct tree t = tree_new(NULL, (const char *const[]){".zgroup", ZGROUP, NULL});
	for (unsigned i = 0; i < SAME + OTHER; i++) {
		tree_put(&t, "v/.zarray", i < SAME ? same[i] : other[i - SAME]);
		struct node *n = tree_node(&t, "v");
		layout[i] = n->array->layout;
		node_unref(n);
	}
	for (unsigned i = 0; i < SAME + OTHER; i++)
		for (unsigned k = 0; k < i; k++)
			CHECK_INT(layout[i] == layout[k], i < SAME);
	tree_free(&t);
}

int
main(void)
{
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		check_row(&rows[i]);
	test_bad_fill();
	test_objects();
	test_layout();
	return check_end();
}
