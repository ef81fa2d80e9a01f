/* Dimensions get other names in every array that has them, documents else byte for byte; fill
 * values change where no chunk is missing. */
#include "edit_tree.h"

#define NAMES(...) "{\"a\": 1.50, \"_ARRAY_DIMENSIONS\": [" #__VA_ARGS__ "]}"
#define PLANE(shape)                                                                               \
	"{\"zarr_format\": 2, \"shape\": " shape ", \"chunks\": [2, 2], \"compressor\": null, "    \
	"\"filters\": null, \"order\": \"C\", \"dtype\": \"<i4\", \"fill_value\": 0}"
#define NC_REFS(...)                                                                               \
	"{\"_nczarr_array\": {\"dimension_references\": [" #__VA_ARGS__                            \
	"], \"storage\": \"chunked\"}, \"_nczarr_attr\": {\"types\": {\"_nczarr_array\": "         \
	"\"|J0\"}}}"

static int
rename_dim(const struct tree *t, const char *path, unsigned at, const char *name)
{
	const int plan = model_rename_dim(t->m, path, at, name, true, NULL);
	const int r = model_rename_dim(t->m, path, at, name, false, NULL);
	CHECK_INT(plan, r);
	return r;
}

static void
test_pure(void)
{
	struct tree t = tree_new(
		&never, (const char *const[]){".zgroup", ZGROUP, "v/.zarray", PLANE("[4, 4]"),
				"v/.zattrs", NAMES("y", "x"), "w/.zarray", ZARRAY, "w/.zattrs",
				NAMES("x"), "u/.zarray", PLANE("[4, 5]"), "u/.zattrs",
				NAMES("x", "z"), "g/.zgroup", ZGROUP, "g/v/.zarray", ZARRAY,
				"g/v/.zattrs", NAMES("x"), "n/.zarray", ZARRAY, NULL});
	CHECK_INT(rename_dim(&t, "v", 1, "lon"), 0);
	stored_is(&t, "v/.zattrs", NAMES("y", "lon"));
	stored_is(&t, "w/.zattrs", NAMES("lon"));
	stored_is(&t, "u/.zattrs", NAMES("lon", "z"));
	stored_is(&t, "g/v/.zattrs", NAMES("x")); /* another group's */
	stored_is(&t, "v/.zarray", PLANE("[4, 4]"));
	CHECK_INT(rename_dim(&t, "v", 1, "\xc3\xbc"), 0);
	stored_is(&t, "v/.zattrs", /* as zarr-python 2 reads it */
		"{\"a\": 1.50, \"_ARRAY_DIMENSIONS\": [\"y\", \"\\u00fc\"]}");
	CHECK_INT(rename_dim(&t, "v", 1, "lon"), 0);
	stored_is(&t, "u/.zattrs", NAMES("lon", "z"));
	CHECK_INT(rename_dim(&t, "v", 1, "z"), -EINVAL); /* there is one */
	CHECK_INT(rename_dim(&t, "v", 1, "a/b"), -EINVAL);
	CHECK_INT(rename_dim(&t, "n", 0, "lon"), -EINVAL); /* it has no name */
	tree_put(&t, "w/.zattrs", NAMES("z"));             /* a 4 where u has 5 */
	CHECK(model_refresh(t.m, NULL) >= 0);
	CHECK_INT(rename_dim(&t, "w", 0, "k"), -EINVAL);
	stored_is(&t, "w/.zattrs", NAMES("z"));
	tree_free(&t);
}

static void
test_declared(void)
{
	struct tree t = tree_new(&never,
		(const char *const[]){".zgroup", ZGROUP, ".zattrs",
			"{\"_nczarr_group\": {\"dimensions\": {\"x\": {\"size\": 4, \"unlimited\": "
			"1}, \"k\": 5}, \"arrays\": [\"v\"], \"groups\": [\"g\"]}}",
			"v/.zarray", ZARRAY, "v/.zattrs", NC_REFS("/x"), "g/.zgroup", ZGROUP,
			"g/v/.zarray", ZARRAY, "g/v/.zattrs", NC_REFS("/x"), NULL});
	CHECK_INT(rename_dim(&t, "g/v", 0, "lon"), -EINVAL); /* the group above has it */
	CHECK_INT(rename_dim(&t, "v", 0, "k"), -EINVAL);
	CHECK_INT(rename_dim(&t, "v", 0, "lon"), 0);
	stored_is(&t, ".zattrs",
		"{\"_nczarr_group\": {\"dimensions\": {\"k\": 5, \"lon\": {\"size\": 4, "
		"\"unlimited\": 1}}, \"arrays\": [\"v\"], \"groups\": [\"g\"]}}");
	stored_is(&t, "v/.zattrs", NC_REFS("/lon"));
	stored_is(&t, "g/v/.zattrs", NC_REFS("/lon"));
	struct node *n = tree_node(&t, "v");
	CHECK(n->array->dim[0].unlimited);
	CHECK_STR(n->array->dim[0].fqn, "/lon");
	node_unref(n);
	tree_free(&t);
}

static int
set_fill(const struct tree *t, const char *path, const int32_t *fill)
{
	struct edit *e = NULL;
	CHECK_INT(model_edit(t->m, path, &e), 0);
	int r = edit_set_fill(e, (const uint8_t *)fill);
	if (r == 0)
		r = edit_commit(e, 0, NULL);
	edit_free(e);
	return r;
}

static void
test_fill(void)
{
	static const int32_t seven = 7; /* tests run on little-endian machines */
	struct tree t = tree_new(
		&never, (const char *const[]){".zgroup", ZGROUP, "v/.zarray", ZARRAY, "v/0",
				"12345678", "w/.zarray", PLANE("[4, 3]"), "w/0.0", "", "w/0.1", "",
				"w/1.0", "", "w/2.1", "", "w/01.1", "", "w/1.1.1", "", NULL});
	CHECK_INT(set_fill(&t, "v", &seven), -EINVAL); /* v/1 is missing */
	stored_is(&t, "v/.zarray", ZARRAY);
	tree_put(&t, "v/1", "12345678");
	CHECK_INT(set_fill(&t, "v", &seven), 0);
	stored_is(&t, "v/.zarray", "{" ZARRAY_BODY ", \"dtype\": \"<i4\", \"fill_value\": 7}");
	CHECK_INT(set_fill(&t, "v", NULL), 0);
	stored_is(&t, "v/.zarray", "{" ZARRAY_BODY ", \"dtype\": \"<i4\", \"fill_value\": null}");
	CHECK_INT(set_fill(&t, "w", &seven), -EINVAL); /* what is beside the grid is no chunk */
	tree_put(&t, "w/1.1", "");
	CHECK_INT(set_fill(&t, "w", NULL), 0);
	tree_free(&t);
}

/* Another program is faster at w, once; or that put fails, once. */
static const struct zmap_ops *real;
static bool meets, fails;

static int
put(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	if (meets && !strcmp(p->key, "w/.zattrs")) {
		static const char other[] = "{\"b\": 2, \"_ARRAY_DIMENSIONS\": [\"x\"]}";
		meets = false;
		if (fails)
			return err_set(-EIO, "the disk is full");
		const struct zmap_put q = {
			.key = p->key, .bytes = {(const uint8_t *)other, strlen(other)}};
		CHECK_INT(real->put(z, &q, &(struct zmap_stat){0}), 0);
	}
	return real->put(z, p, ret);
}

static void
test_met(void)
{
	for (int i = 0; i < 2; i++) {
		struct tree t = tree_new(&never,
			(const char *const[]){".zgroup", ZGROUP, "v/.zarray", ZARRAY, "v/.zattrs",
				NAMES("x"), "w/.zarray", ZARRAY, "w/.zattrs", NAMES("x"), NULL});
		struct zmap_ops ops = *t.z->ops;
		real = t.z->ops;
		ops.put = put;
		t.z->ops = &ops;
		meets = true;
		fails = i;
		CHECK_INT(model_rename_dim(t.m, "v", 0, "lon", false, NULL), i ? -EIO : 0);
		stored_is(&t, "v/.zattrs", NAMES("lon"));
		if (i) /* made again by one that has it still */
			CHECK_INT(model_rename_dim(t.m, "w", 0, "lon", false, NULL), 0);
		stored_is(&t, "w/.zattrs",
			i ? NAMES("lon") : "{\"b\": 2, \"_ARRAY_DIMENSIONS\": [\"lon\"]}");
		t.z->ops = real;
		tree_free(&t);
	}
}

int
main(void)
{
	test_pure();
	test_met();
	test_declared();
	test_fill();
	return check_end();
}
