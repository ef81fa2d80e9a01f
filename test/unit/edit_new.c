/* Nodes made and removed through the model: their documents in each dialect, and what the model
 * then shows. */
#include "edit_tree.h"

#include <math.h>

static const struct new_group pure2 = {.zarr_format = 2}, pure3 = {.zarr_format = 3},
			      nczarr = {.zarr_format = 2, .nczarr = true};

static void
new_group(const struct tree *t, const char *path, const struct new_group *top, int want)
{
	CHECK_INT(model_new_group(t->m, path, top, 0, NULL), want);
}

static const uint64_t shape[] = {4, 3}, chunk[] = {2, 3}, shard[] = {4, 3};
static const char *const dims[] = {"time", "x"};
static const bool unlimited[] = {true, false};
static const float nan_fill[] = {(float)NAN};

static struct new_array
plain_array(void)
{
	return (struct new_array){
		.dtype = {.kind = DTYPE_FLOAT, .size = 4},
		.rank = 2,
		.shape = shape,
		.chunk = chunk,
		.dim = dims,
		.unlimited = unlimited,
		.fill = (const uint8_t *)nan_fill,
		.codecs = "[{\"id\": \"shuffle\"}, {\"id\": \"zstd\", \"level\": 3}]",
	};
}

static void
new_array(const struct tree *t, const char *path, const struct new_array *a, int want)
{
	CHECK_INT(model_new_array(t->m, path, a, 0, NULL), want);
}

static void
test_groups(void)
{
	struct tree t = tree_new(&never, NULL);
	new_group(&t, "g/h", &pure2, -ENOENT);
	new_group(&t, "", &(struct new_group){.zarr_format = 4}, -EINVAL);
	new_group(&t, "", &pure2, 0);
	new_group(&t, "", &pure2, -EEXIST);
	stored_is(&t, ".zgroup", "{\"zarr_format\": 2}");
	stored_is(&t, ".zattrs", NULL);
	new_group(&t, "g", &nczarr, 0); /* of its hierarchy's kind */
	new_group(&t, "g", &pure2, -EEXIST);
	new_group(&t, "g/.zarray", &pure2, -EINVAL);
	new_group(&t, "g/h", &pure2, 0);
	CHECK_STR(tree_names(&t, ""), "g/");
	CHECK_STR(tree_names(&t, "g"), "h/");
	stored_is(&t, "g/.zattrs", NULL);
	CHECK_INT(model_remove(t.m, "g", 0, NULL), -ENOTEMPTY);
	CHECK_INT(model_remove(t.m, "g/h", 0, NULL), 0);
	CHECK_INT(model_remove(t.m, "g/h", 0, NULL), -ENOENT);
	CHECK_INT(model_remove(t.m, "g", 0, NULL), 0);
	CHECK_INT(model_remove(t.m, "", 0, NULL), -EBUSY);
	CHECK_STR(tree_names(&t, ""), "");
	tree_free(&t);

	t = tree_new(&never, NULL);
	new_group(&t, "", &pure3, 0);
	new_group(&t, "g", &nczarr, 0);
	stored_is(&t, "g/zarr.json",
		"{\"zarr_format\": 3, \"node_type\": \"group\", \"attributes\": {}}");
	CHECK_STR(tree_names(&t, ""), "g/");
	tree_free(&t);

	/* above stores, each is a hierarchy of its own */
	t = tree_new(&never, (const char *const[]){"readme", "x", NULL});
	new_group(&t, "a", &pure3, 0);
	new_group(&t, "b", &pure2, 0);
	CHECK_INT(tree_kind(&t, "a"), NODE_GROUP);
	CHECK_INT(tree_kind(&t, "b"), NODE_GROUP);
	new_group(&t, "", &pure2, -EEXIST); /* a folder that is not empty */
	tree_free(&t);
}

#define NC_ATTR                                                                                    \
	"\"_nczarr_attr\": {\"types\": {\"_nczarr_array\": \"|J0\", \"_nczarr_attr\": \"|J0\""

#define NC_GROUP(dims, arrays, groups)                                                             \
	"{\"_nczarr_group\": {\"dimensions\": {" dims "}, \"arrays\": [" arrays                    \
	"], \"groups\": [" groups "]}, \"_nczarr_superblock\": {\"version\": \"2.0.0\"}, "         \
	"\"_nczarr_attr\": {\"types\": {\"_nczarr_group\": \"|J0\", \"_nczarr_superblock\": "      \
	"\"|J0\", \"_nczarr_attr\": \"|J0\"}}}"
#define NC_DIMS "\"time\": {\"size\": 4, \"unlimited\": 1}, \"x\": 3"

static void
test_nczarr(void)
{
	struct tree t = tree_new(&never, NULL);
	struct new_array a = plain_array();
	new_group(&t, "", &nczarr, 0);
	new_group(&t, "g", &pure2, 0);
	new_array(&t, "v", &a, 0);
	new_array(&t, "g/w", &a, 0);
	new_array(&t, "v", &a, -EEXIST);
	stored_is(&t, ".zattrs", NC_GROUP(NC_DIMS, "\"v\"", "\"g\""));
	stored_is(&t, "v/.zarray",
		"{\"zarr_format\": 2, \"shape\": [4, 3], \"chunks\": [2, 3], \"dtype\": \"<f4\", "
		"\"fill_value\": \"NaN\", \"order\": \"C\", \"compressor\": {\"id\": \"zstd\", "
		"\"level\": 3}, \"filters\": [{\"id\": \"shuffle\", \"elementsize\": 4}]}");
	stored_is(&t, "g/w/.zattrs",
		"{\"_ARRAY_DIMENSIONS\": [\"time\", \"x\"], \"_nczarr_array\": "
		"{\"dimension_references\": [\"/time\", \"/x\"], \"storage\": "
		"\"chunked\"}, " NC_ATTR "}}}");
	struct node *n = tree_node(&t, "g/w");
	CHECK(n && n->array && n->array->dim[0].unlimited && !n->array->dim[1].unlimited);
	CHECK_STR(n ? n->array->dim[0].fqn : NULL, "/time");
	node_unref(n);
	CHECK_INT(model_remove(t.m, "v", 0, NULL), 0);
	CHECK_INT(model_remove(t.m, "g/w", 0, NULL), 0);
	CHECK_INT(model_remove(t.m, "g", 0, NULL), 0);
	stored_is(&t, ".zattrs", NC_GROUP(NC_DIMS, "", ""));
	CHECK_STR(tree_names(&t, ""), "");
	tree_free(&t);
}

static void
test_nczarr_scalar(void)
{
	struct tree t = tree_new(&never, NULL);
	struct new_array a = plain_array();
	new_group(&t, "", &nczarr, 0);
	new_array(&t, "v", &a, 0);
	a.rank = 0;
	a.dtype = (struct dtype){.kind = DTYPE_BYTES, .is_char = true, .size = 1};
	a.fill = (const uint8_t *)"";
	a.codecs = "[{\"id\": \"shuffle\"}]"; /* does nothing to text */
	new_array(&t, "c", &a, 0);
	stored_is(&t, "c/.zarray",
		"{\"zarr_format\": 2, \"shape\": [1], \"chunks\": [1], \"dtype\": \"|S1\", "
		"\"fill_value\": \"\", \"order\": \"C\", \"compressor\": null, \"filters\": null}");
	stored_is(&t, "c/.zattrs",
		"{\"_ARRAY_DIMENSIONS\": [\"_scalar_\"], \"_nczarr_array\": "
		"{\"dimension_references\": [], \"scalar\": 1, \"storage\": \"chunked\", "
		"\"nczarr_type\": \"char\"}, " NC_ATTR "}}}");
	struct node *n = tree_node(&t, "c");
	CHECK(n && n->array && !n->array->rank && n->array->dtype.is_char);
	node_unref(n);
	CHECK_INT(model_remove(t.m, "v", 0, NULL), 0);
	stored_is(&t, ".zattrs", NC_GROUP(NC_DIMS, "\"c\"", ""));
	CHECK_STR(tree_names(&t, ""), "c*");
	tree_free(&t);
}

/* A dimension of another size can only be a group's own, and not every type can be NCZarr's. */
static void
test_nczarr_dims(void)
{
	static const uint64_t longer[] = {5, 3};
	struct tree t = tree_new(&never, NULL);
	struct new_array a = plain_array();
	new_group(&t, "", &nczarr, 0);
	new_group(&t, "g", &pure2, 0);
	new_array(&t, "v", &a, 0);
	a.shape = longer;
	new_array(&t, "z", &a, -EINVAL);
	stored_is(&t, "z/.zarray", NULL);
	new_array(&t, "g/z", &a, 0);
	struct node *n = tree_node(&t, "g/z");
	CHECK_STR(n ? n->array->dim[0].fqn : NULL, "/g/time");
	CHECK_STR(n ? n->array->dim[1].fqn : NULL, "/x");
	node_unref(n);
	a.dtype = (struct dtype){.kind = DTYPE_BOOL, .size = 1};
	new_array(&t, "g/b", &a, -ENOTSUP); /* netcdf-c would refuse the whole store */
	CHECK_INT(model_remove(t.m, "g/z", 0, NULL), 0);
	CHECK_INT(model_remove(t.m, "g", 0, NULL), 0);
	tree_free(&t);
}

static void
test_pure(void)
{
	struct tree t = tree_new(&never, NULL);
	struct new_array a = plain_array();
	new_group(&t, "", &pure2, 0);
	static const double offset = 1.5;
	struct attr attr[] = {
		{.name = (char *)"units", .type = NC_TYPE_CHAR, .count = 1, .data = (void *)"m"},
		{.name = (char *)"add_offset",
			.type = NC_TYPE_DOUBLE,
			.count = 1,
			.data = (void *)&offset}};
	const struct attrs attrs = {.attr = attr, .count = 2};
	a.attrs = &attrs;
	a.separator = '/';
	a.codecs = "[{\"id\": \"blosc\", \"cname\": \"zstd\", \"clevel\": 5, \"shuffle\": 1}]";
	new_array(&t, "v", &a, 0);
	stored_is(&t, "v/.zattrs",
		"{\"_ARRAY_DIMENSIONS\": [\"time\", \"x\"], \"units\": \"m\", \"add_offset\": "
		"1.5}");
	stored_is(&t, "v/.zarray",
		"{\"zarr_format\": 2, \"shape\": [4, 3], \"chunks\": [2, 3], \"dtype\": \"<f4\", "
		"\"fill_value\": \"NaN\", \"order\": \"C\", \"compressor\": {\"id\": \"blosc\", "
		"\"cname\": \"zstd\", \"clevel\": 5, \"shuffle\": 1}, \"filters\": null, "
		"\"dimension_separator\": \"/\"}");
	a.codecs = "[{\"id\": \"nosuch\"}]";
	new_array(&t, "w", &a, -EINVAL); /* our own reader would not read it */
	CHECK(strstr(err_text(), "nosuch"));
	a.codecs = "{}";
	new_array(&t, "w", &a, -EINVAL);
	a.codecs = NULL;
	a.shard = shard;
	new_array(&t, "w", &a, -ENOTSUP);
	a.shard = NULL;
	new_array(&t, "no/w", &a, -ENOENT);
	new_array(&t, "v/w", &a, -ENOTDIR);
	tree_free(&t);
}

/* An array is planned before it is made, and its chunks may come before it. */
static void
test_planned(void)
{
	struct tree t = tree_new(&never, NULL);
	struct new_array a = plain_array();
	struct node *n = NULL;
	new_group(&t, "", &pure2, 0);
	CHECK_INT(model_plan_array(t.m, "w", &a, &n), 0); /* nothing is stored */
	CHECK(n && n->array && n->array->layout && n->array->shape[0] == 4);
	const uint64_t layout = n ? n->array->layout : 0;
	node_unref(n);
	CHECK_STR(tree_names(&t, ""), "");
	tree_put(&t, "w/0.0", "a chunk that comes before");
	new_array(&t, "w", &a, 0);
	n = tree_node(&t, "w");
	CHECK(n && n->array && n->array->layout == layout);
	node_unref(n);
	tree_put(&t, "w/1.0", "");
	CHECK_INT(model_remove(t.m, "w", 0, NULL), 0);
	stored_is(&t, "w/.zarray", NULL);
	stored_is(&t, "w/.zattrs", NULL);
	stored_is(&t, "w/0.0", NULL);
	stored_is(&t, "w/1.0", NULL);
	CHECK_INT(tree_kind(&t, "w"), -1);
	tree_free(&t);
}

static void
test_v3(void)
{
	struct tree t = tree_new(&never, NULL);
	struct new_array a = plain_array();
	new_group(&t, "", &pure3, 0);
	a.shard = shard;
	new_array(&t, "v", &a, 0);
	stored_is(&t, "v/zarr.json",
		"{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4, 3], \"data_type\": "
		"\"float32\", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": "
		"{\"chunk_shape\": [4, 3]}}, \"chunk_key_encoding\": {\"name\": \"default\", "
		"\"configuration\": {\"separator\": \"/\"}}, \"fill_value\": \"NaN\", \"codecs\": "
		"[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": [2, 3], "
		"\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, "
		"{\"name\": \"numcodecs.shuffle\", \"configuration\": {\"elementsize\": 4}}, "
		"{\"name\": \"zstd\", \"configuration\": {\"level\": 3, \"checksum\": false}}], "
		"\"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": "
		"\"little\"}}, {\"name\": \"crc32c\"}], \"index_location\": \"end\"}}], "
		"\"attributes\": {}, \"dimension_names\": [\"time\", \"x\"], "
		"\"storage_transformers\": []}");
	struct node *n = tree_node(&t, "v");
	CHECK(n && !n->error && n->array && n->array->shard && n->array->chunk[0] == 2);
	node_unref(n);
	CHECK_INT(model_remove(t.m, "v", 0, NULL), 0);
	CHECK_STR(tree_names(&t, ""), "");
	tree_free(&t);
}

/* One array of a type, with some fill value. */
static void
check_type(struct tree *t, const char *name, const struct dtype *type, bool v3, uint32_t *seed)
{
	struct new_array a = plain_array();
	uint8_t fill[16] = {0};
	a.dtype = *type;
	a.codecs = NULL;
	a.fill = fill;
	for (unsigned k = 0; k < type->size; k++)
		fill[k] = (uint8_t)(check_random(seed) % 4 ? check_random(seed) : 0xff);
	if (type->kind == DTYPE_BOOL)
		fill[0] &= 1;
	if (type->kind == DTYPE_UNICODE)
		memcpy(fill, "\xe9\0\0\0x\0\0\0\0\0\0", 12);
	new_array(t, name, &a, 0);
	struct node *n = tree_node(t, name);
	const struct array_meta *m = n ? n->array : NULL;
	CHECK(m && !n->error && !n->flaw && !m->fill_error);
	CLEAN(clean_free) char *want = dtype_text(type);
	CLEAN(clean_free) char *got = m ? dtype_text(&m->dtype) : NULL;
	CHECK_STR(got, want);
	bool nan = !v3 && (type->kind == DTYPE_FLOAT || type->kind == DTYPE_COMPLEX);
	if (m && m->fill && !nan && memcmp(m->fill, fill, type->size))
		fprintf(stderr, "%s (v3 %u): the fill value differs\n", want, v3), check_failed++;
	node_unref(n);
}

/* Every type that can be made is the same when it is read, its fill value too. */
static void
test_types(void)
{
	static const struct dtype types[] = {
		{.kind = DTYPE_BOOL, .size = 1},
		{.kind = DTYPE_INT, .size = 1},
		{.kind = DTYPE_INT, .size = 2, .big = true},
		{.kind = DTYPE_INT, .size = 8},
		{.kind = DTYPE_UINT, .size = 4},
		{.kind = DTYPE_UINT, .size = 8, .big = true},
		{.kind = DTYPE_FLOAT, .size = 2},
		{.kind = DTYPE_FLOAT, .size = 4, .big = true},
		{.kind = DTYPE_FLOAT, .size = 8},
		{.kind = DTYPE_COMPLEX, .size = 8},
		{.kind = DTYPE_COMPLEX, .size = 16, .big = true},
		{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_S, .unit_count = 1},
		{.kind = DTYPE_TIMEDELTA, .size = 8, .unit = TIME_NS, .unit_count = 10},
		{.kind = DTYPE_BYTES, .size = 5},
		{.kind = DTYPE_UNICODE, .size = 12},
		{.kind = DTYPE_RAW, .size = 3},
		{.kind = DTYPE_VLEN_TEXT},
		{.kind = DTYPE_VLEN_BYTES},
	};
	uint32_t seed = 5;
	for (unsigned v3 = 0; v3 < 2; v3++) {
		struct tree t = tree_new(&never, NULL);
		new_group(&t, "", v3 ? &pure3 : &pure2, 0);
		for (unsigned i = 0; i < 40 * sizeof types / sizeof *types; i++) {
			char name[16];
			snprintf(name, sizeof name, "v%u", i);
			check_type(&t, name, &types[i % (sizeof types / sizeof *types)], v3, &seed);
		}
		tree_free(&t);
	}
}

/* Many arrays and the group's attributes in one commit, with consolidated metadata; a fault at each
 * put, and the same edit again. */
static struct failing {
	int (*put)(struct zmap *, const struct zmap_put *, struct zmap_stat *);
	int (*del)(struct zmap *, const struct zmap_del *);
	unsigned left; /* calls until one fails; 0: none does */
	unsigned calls;
} failing;

static bool
fails_now(void)
{
	failing.calls++;
	return failing.left && !--failing.left;
}

static int
put_or_fail(struct zmap *z, const struct zmap_put *p, struct zmap_stat *ret)
{
	return fails_now() ? err_set(-ENOSPC, "the disk is full") : failing.put(z, p, ret);
}

static int
del_or_fail(struct zmap *z, const struct zmap_del *d)
{
	return fails_now() ? err_set(-EACCES, "refused") : failing.del(z, d);
}

static struct zmap_ops failing_ops;

static void
make_failing(const struct tree *t)
{
	if (t->z->ops != &failing_ops) {
		failing_ops = *t->z->ops;
		failing.put = failing_ops.put;
		failing.del = failing_ops.del;
		failing_ops.put = put_or_fail;
		failing_ops.del = del_or_fail;
		t->z->ops = &failing_ops;
	}
}

/* Whatever is there: no array is named that is not there, and each can be read. */
static void
check_whole(const struct tree *t)
{
	struct model *fresh = NULL;
	struct node *n = NULL;
	CHECK_INT(model_open(t->z, &never, &fresh), 0);
	CHECK_INT(model_lookup(fresh, "", &n), 0);
	for (size_t i = 0; n && i < n->group->norder; i++) {
		struct node *child = NULL;
		CHECK_INT(model_check(fresh, n->group->order[i], &child), 0);
		CHECK(child && child->array && !child->error);
		node_unref(child);
	}
	node_unref(n);
	model_close(fresh);
}

static int
many(const struct tree *t, struct edit **ret)
{
	static const struct attr title = {
		.name = (char *)"title", .type = NC_TYPE_CHAR, .count = 1, .data = (void *)"t"};
	static const char *const others[] = {"y", "z"};
	static struct new_array a, b;
	a = b = plain_array();
	b.dim = others;
	int r = model_edit(t->m, "", ret);
	if (r == 0)
		r = edit_new_array(*ret, "a", &a);
	if (r == 0)
		r = edit_new_array(*ret, "b", &b);
	return r == 0 ? edit_set_attr(*ret, &title) : r;
}

static void
test_faults(void)
{
	unsigned total = 1;
	for (unsigned n = 0; n <= total; n++) {
		struct tree t = tree_new(&never, NULL);
		struct edit *e = NULL;
		failing.left = 0;
		make_failing(&t);
		new_group(&t, "", &nczarr, 0);
		tree_put(&t, ".zmetadata", "{\"zarr_consolidated_format\": 1, \"metadata\": {}}");
		failing.calls = 0;
		failing.left = n;
		CHECK_INT(many(&t, &e), 0);
		int r = edit_commit(e, 0, NULL);
		CHECK_INT(r, n ? -ENOSPC : 0);
		if (!n)
			total = failing.calls;
		check_whole(&t);
		if (r < 0)
			CHECK_INT(edit_commit(e, 0, NULL), 0);
		check_whole(&t);
		CHECK_STR(tree_names(&t, ""), "a* b*");
		CHECK(model_consolidated(t.m, "a"));
		edit_free(e);
		tree_free(&t);
	}
	CHECK_INT(total, 6); /* two arrays, their group, consolidated metadata */
	total = 1;
	for (unsigned n = 0; n <= total; n++) { /* the same of removing */
		struct tree t = tree_new(&never, NULL);
		struct edit *e = NULL;
		failing.left = 0;
		make_failing(&t);
		new_group(&t, "", &nczarr, 0);
		CHECK_INT(many(&t, &e), 0);
		CHECK_INT(edit_commit(e, 0, NULL), 0);
		tree_put(&t, "a/0.0", "x");
		edit_free(e);
		failing.calls = 0;
		failing.left = n;
		int r = model_remove(t.m, "a", 0, NULL);
		CHECK(n ? r < 0 : r == 0);
		if (!n)
			total = failing.calls;
		check_whole(&t);
		r = r < 0 ? model_remove(t.m, "a", 0, NULL) : 0;
		CHECK(r == 0 || r == -ENOENT || r == -ENOTEMPTY); /* its chunks are left */
		tree_free(&t);
	}
}

int
main(void)
{
	test_groups();
	test_nczarr();
	test_nczarr_scalar();
	test_nczarr_dims();
	test_pure();
	test_planned();
	test_v3();
	test_types();
	test_faults();
	return check_end();
}
