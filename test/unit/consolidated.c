/* Consolidated metadata: what they answer, when they are not believed, and what they cost. */
#include "tree.h"

#include <errno.h>
#include <malloc.h>

#define ZMETADATA(members) "{\"zarr_consolidated_format\": 1, \"metadata\": {" members "}}"
#define SHAPE(n)                                                                                   \
	"{\"zarr_format\": 2, \"shape\": [" #n                                                     \
	"], \"chunks\": [2], \"dtype\": \"<i4\", \"fill_value\": 0, \"compressor\": null, "        \
	"\"filters\": null, \"order\": \"C\"}"

static const struct model_options never = {.ttl = INT64_MAX, .timeout = SECOND};

static uint64_t
calls(const struct tree *t)
{
	uint64_t n = 0;
	for (unsigned k = 0; k < ZMAP_KINDS; k++)
		n += atomic_load(&t->z->counts.calls[k]);
	return n;
}

static uint64_t
length(const struct tree *t, const char *path, bool check)
{
	struct node *n = NULL;
	int r = check ? model_check(t->m, path, &n) : model_lookup(t->m, path, &n);
	uint64_t len = r == 0 && n->array && n->array->rank ? n->array->shape[0]
		       : r == 0                             ? 0
							    : UINT64_MAX;
	node_unref(n);
	return len;
}

static const char *const stale[] = {".zgroup", ZGROUP, ".zattrs", "{\"x\": 1}", "g/.zgroup", ZGROUP,
	"g/a/.zarray", SHAPE(15), "g/a/.zattrs", "{}", "g/a/0", "1234", "new/.zarray", SHAPE(3),
	".zmetadata",
	ZMETADATA("\".zgroup\": " ZGROUP ", \".zattrs\": {\"x\": 1}, \"g/.zgroup\": " ZGROUP
		  ", \"g/a/.zarray\": " SHAPE(10) ", \"g/a/.zattrs\": {},"
						  " \"g/gone/.zarray\": " SHAPE(
							  5) ", "
							     "\"odd/name\\u0041/.zarray\": " SHAPE(
								     7) ", \"bad//key/.zarray\": "
									"{}, \"broken/.zarray\": "
									"{\"shape\": 7},"
									" \"deep/er/v/"
									".zarray\": " SHAPE(2)),
	NULL};

static void
test_prefer(void)
{
	struct tree t = tree_new(&never, stale);
	CHECK_INT(length(&t, "", false), 0);
	CHECK(model_consolidated(t.m, ""));
	uint64_t before = calls(&t);
	CHECK_STR(tree_names(&t, ""), "broken* deep/ g/ odd/");
	CHECK_STR(tree_names(&t, "g"), "a* gone*");
	CHECK_STR(tree_names(&t, "odd"), "nameA*");
	CHECK_STR(tree_names(&t, "deep"), "er/");
	CHECK_INT(length(&t, "g/a", false), 10);
	CHECK_INT(length(&t, "g/gone", false), 5);
	CHECK_INT(length(&t, "odd/nameA", false), 7);
	CHECK_INT(length(&t, "deep/er/v", false), 2);
	struct node *n = tree_node(&t, "broken");
	CHECK(n->error && n->kind == NODE_ARRAY);
	node_unref(n);
	CHECK(model_consolidated(t.m, "g/a"));
	CHECK_INT(calls(&t), before); /* nothing was asked */
	CHECK_INT(model_seen(t.m, "g/a", 0, NULL), 0);

	CHECK_INT(length(&t, "new", false), 3); /* they lack it: it is probed */
	CHECK(!model_consolidated(t.m, "new"));
	CHECK_INT(length(&t, "g/a", true), 15); /* opened: its own metadata count */
	CHECK(model_seen(t.m, "g/a", 0, NULL) > 0);
	CHECK_INT(length(&t, "g/a", false), 15); /* and stay */
	CHECK_INT(length(&t, "g/gone", true), UINT64_MAX);
	CHECK_STR(tree_names(&t, "g"), "a*");
	before = calls(&t);
	CHECK_INT(length(&t, "g/a", true), 15);
	CHECK_INT(length(&t, "g/gone", false), UINT64_MAX);
	CHECK_INT(calls(&t), before); /* once a TTL */
	tree_free(&t);
}

static struct tree
remote_tree(const struct model_options *o, const char *const *objects)
{
	struct tree t = tree_new(o, objects);
	t.z->caps |= ZMAP_REMOTE;
	return t;
}

/* Where each request costs a round trip: what they answer is the same, and it costs less. */
static void
test_remote(void)
{
	static const char *const fresh[] = {".zgroup", ZGROUP, "a/.zarray", SHAPE(10), "a/.zattrs",
		"{}", "a/0", "1234", "b/.zarray", "{\"zarr_format\": 2}", ".zmetadata",
		ZMETADATA("\".zgroup\": " ZGROUP
			  ", \"a/.zarray\": " SHAPE(10) ", \"b/.zarray\": " SHAPE(10)),
		NULL};
	struct tree t = remote_tree(&never, fresh);
	uint64_t before = calls(&t);
	CHECK_INT(length(&t, "", false), 0);
	CHECK_STR(tree_names(&t, ""), "a* b*");
	CHECK_INT(length(&t, "a", false), 10);
	CHECK_INT(calls(&t), before + 1);
	CHECK_INT(length(&t, "a", true), 10);
	CHECK_INT(length(&t, "a", true), 10);
	CHECK_INT(calls(&t), before + 2); /* its .zarray, once a TTL */
	struct node *n = NULL;
	CHECK_INT(model_check(t.m, "b", &n), 0);
	CHECK(n && n->error); /* its own makes no sense */
	n = node_unref(n);
	tree_free(&t);

	const char *const only[] = {".zmetadata",
		ZMETADATA("\".zgroup\": " ZGROUP ", \"a/.zarray\": " SHAPE(10)), "x/y", "", NULL};
	t = remote_tree(&never, only);
	CHECK_INT(length(&t, "none", true), UINT64_MAX); /* a listing lacks it, and a, too */
	CHECK_INT(model_lookup_known(t.m, "a", &n), 0);
	n = node_unref(n);
	tree_free(&t);

	t = remote_tree(&never, stale);
	CHECK_INT(length(&t, "g/a", false), 10);
	CHECK_INT(length(&t, "g/a", true), 15);
	CHECK_INT(length(&t, "g/gone", true), UINT64_MAX);
	CHECK_INT(length(&t, "new", false), 3);
	CHECK_STR(tree_names(&t, "g"), "a*");
	tree_free(&t);
}

/* Looked at again: .zmetadata alone, while it is there. */
static void
test_remote_again(void)
{
	struct tree t = remote_tree(NULL, stale);
	CHECK_INT(length(&t, "", false), 0);
	uint64_t before = calls(&t);
	CHECK_INT(length(&t, "", false), 0);
	CHECK_INT(calls(&t), before + 1);
	tree_put(&t, ".zmetadata",
		"{\"zarr_consolidated_format\": 1, \"metadata\": {\".zgroup\": " ZGROUP "}}");
	CHECK_STR(tree_names(&t, ""), "");
	tree_del(&t, ".zmetadata");
	CHECK_STR(tree_names(&t, ""), "g/ new*");
	tree_free(&t);
}

/* Above stores one listing says what a path is. */
static void
test_remote_above(void)
{
	const char *const objects[] = {"d/x.txt", "hello", "d/s.zarr/.zgroup", ZGROUP,
		"d/s.zarr/v/.zarray", SHAPE(4), "d/e/f/y", "1", NULL};
	struct tree t = remote_tree(&never, objects);
	uint64_t before = calls(&t);
	CHECK_INT(tree_kind(&t, ""), NODE_PLAIN);
	CHECK_INT(calls(&t), before + 3); /* .zmetadata, zarr.json, and the listing */
	CHECK_INT(tree_kind(&t, "d"), NODE_PLAIN);
	CHECK_INT(calls(&t), before + 4);
	CHECK_INT(tree_kind(&t, "d/x.txt"), NODE_OBJECT);
	CHECK_INT(calls(&t), before + 6);
	CHECK_INT(tree_kind(&t, "d/s.zarr"), NODE_GROUP);
	CHECK_INT(length(&t, "d/s.zarr/v", false), 4);
	CHECK_INT(length(&t, "none", false), UINT64_MAX);
	tree_free(&t);
}

/* A root that has no consolidated metadata: what its listing said answers the next question for its
 * names; one of V3 needs none. */
static void
test_remote_loose(void)
{
	const char *const loose[] = {".zgroup", ZGROUP, "b/.zarray", SHAPE(2), "a/.zarray",
		SHAPE(4), "a/0", "1234", "x.txt", "", NULL};
	struct tree t = remote_tree(&never, loose);
	uint64_t before = calls(&t);
	CHECK_INT(tree_kind(&t, ""), NODE_GROUP);
	CHECK_INT(calls(&t), before + 4); /* .zmetadata, zarr.json, the listing, .zgroup */
	CHECK_STR(tree_names(&t, ""), "a* b*");
	CHECK_INT(length(&t, "none", false), UINT64_MAX);
	CHECK_INT(calls(&t), before + 8); /* .zarray and .zattrs of each */
	tree_free(&t);

	const char *const three[] = {"zarr.json", "{\"zarr_format\": 3, \"node_type\": \"group\"}",
		".zgroup", ZGROUP, NULL};
	t = remote_tree(NULL, three);
	before = calls(&t);
	CHECK_INT(tree_kind(&t, ""), NODE_GROUP);
	CHECK_INT(calls(&t), before + 2); /* .zmetadata, zarr.json */
	CHECK_INT(tree_kind(&t, ""), NODE_GROUP);
	CHECK_INT(calls(&t), before + 3); /* the same, seen again */
	tree_del(&t, "zarr.json");
	CHECK_INT(tree_kind(&t, ""), NODE_GROUP); /* of V2 */
	tree_free(&t);

	t = remote_tree(NULL, loose); /* no longer than the TTL */
	CHECK_INT(tree_kind(&t, ""), NODE_GROUP);
	tree_put(&t, "c/.zarray", SHAPE(1));
	CHECK_STR(tree_names(&t, ""), "a* b* c*");
	tree_free(&t);
}

static void
test_modes(void)
{
	struct model_options o = never;
	o.consolidated = CONSOLIDATED_TRUST;
	struct tree t = tree_new(&o, stale);
	CHECK_INT(length(&t, "g/a", true), 10);
	CHECK_INT(length(&t, "g/gone", true), 5);
	CHECK_INT(length(&t, "new", false), UINT64_MAX);
	CHECK(model_seen(t.m, "g/a", 0, NULL) > 0);
	struct node *n = NULL;
	CHECK_INT(model_look_again(t.m, "g/a", &n), 0);
	node_unref(n);
	tree_free(&t);

	o.consolidated = CONSOLIDATED_IGNORE;
	t = tree_new(&o, stale);
	CHECK_INT(length(&t, "g/a", false), 15);
	CHECK_INT(length(&t, "g/gone", false), UINT64_MAX);
	CHECK_STR(tree_names(&t, ""), "g/ new*");
	CHECK(!model_consolidated(t.m, ""));
	tree_free(&t);
}

/* No object but .zmetadata and chunks; then a group below with its own. */
static void
test_alone(void)
{
	const char *const objects[] = {".zmetadata",
		ZMETADATA("\".zattrs\": {\"t\": \"x\"}, \"v/.zarray\": " SHAPE(4)), "v/0",
		"12345678", NULL};
	struct tree t = tree_new(NULL, objects);
	CHECK_INT(length(&t, "v", false), 4);
	CHECK_INT(length(&t, "v", true), 4);
	struct node *n = tree_node(&t, "");
	struct attrs as;
	CHECK_INT(node_attrs(n, &as), 0);
	CHECK_INT(as.count, 1);
	attrs_free(&as);
	node_unref(n);
	n = NULL;
	CHECK_INT(model_look_again(t.m, "v", &n), 0);
	node_unref(n);
	tree_del(&t, ".zmetadata");
	CHECK_INT(model_look_again(t.m, "v", &n), -EIO);
	tree_free(&t);

	const char *const inner[] = {".zgroup", ZGROUP, "g/.zgroup", ZGROUP, "g/.zmetadata",
		ZMETADATA("\".zgroup\": " ZGROUP ", \"v/.zarray\": " SHAPE(4)), "g/v/.zarray",
		SHAPE(5), "w/.zarray", SHAPE(1), NULL};
	t = tree_new(NULL, inner);
	CHECK_INT(length(&t, "g/v", false), 4);
	CHECK_INT(length(&t, "g/v", true), 5);
	CHECK_STR(tree_names(&t, ""), "g/ w*");
	CHECK_STR(tree_names(&t, "g"), "v*");
	CHECK(model_consolidated(t.m, "g") && !model_consolidated(t.m, ""));
	tree_free(&t);
}

static void
test_not_ours(void)
{
	const char *const other[] = {
		"{\"metadata\": {\".zgroup\": {\"zarr_format\": 2}, \"v/.zarray\": " SHAPE(
			4) "}, \"record_size\": 100}",
		"{\"zarr_consolidated_format\": 2, \"metadata\": {\"v/.zarray\": " SHAPE(4) "}}",
		"{\"zarr_consolidated_format\": 1}",
		"{\"zarr_consolidated_format\": 1, \"metadata\": []}",
		"{\"zarr_consolidated_format\": 1, \"metadata\": {\"v/.zarr",
		"",
	};
	for (unsigned i = 0; i < sizeof other / sizeof *other; i++) {
		const char *const objects[] = {
			".zgroup", ZGROUP, "w/.zarray", SHAPE(1), ".zmetadata", other[i], NULL};
		struct tree t = tree_new(NULL, objects);
		CHECK_INT(length(&t, "v", false), UINT64_MAX);
		CHECK_INT(length(&t, "w", false), 1);
		CHECK(!model_consolidated(t.m, ""));
		tree_free(&t);
	}
}

static void
test_rewritten(void)
{
	struct tree t = tree_new(NULL, stale);
	struct node *a = tree_node(&t, "odd/nameA");
	CHECK_INT(length(&t, "g/a", true), 15);
	CHECK_INT(length(&t, "g/gone", true), UINT64_MAX);
	tree_put(&t, ".zmetadata",
		ZMETADATA("\".zgroup\": " ZGROUP ", \"g/a/.zarray\": " SHAPE(
			20) ", \"odd/nameA/.zarray\": " SHAPE(7) ", \"x/.zarray\": " SHAPE(1)));
	CHECK_INT(length(&t, "g/a", false), 20);
	CHECK_INT(length(&t, "g/a", true), 15);
	CHECK_INT(length(&t, "g/gone", false), UINT64_MAX);
	CHECK_INT(length(&t, "x", false), 1);
	struct node *same = tree_node(&t, "odd/nameA");
	CHECK(same == a); /* others did not change */
	node_unref(same);
	node_unref(a);
	CHECK_STR(tree_names(&t, ""), "g/ odd/ x*");
	tree_del(&t, ".zmetadata");
	CHECK_STR(tree_names(&t, ""), "g/ new*");
	tree_free(&t);
}

/* Below 4 KiB an array, all of it held. */
static void
test_size(void)
{
	enum { ARRAYS = 20000, EACH = 4096 };
	CLEAN(buf_free) struct buf b = {0};
	buf_addf(&b, "{\"zarr_consolidated_format\": 1, \"metadata\": {\".zgroup\": "
		     "{\"zarr_format\": 2}");
	for (unsigned i = 0; i < ARRAYS; i++)
		buf_addf(&b,
			",\n \"variable_%05u/.zarray\": {\n  \"chunks\": [\n   1,\n   721,\n   "
			"1440\n  ],\n  \"compressor\": {\n   \"blocksize\": 0,\n   "
			"\"clevel\": 5,\n   \"cname\": \"lz4\",\n   \"id\": \"blosc\",\n   "
			"\"shuffle\": 1\n  },\n  \"dtype\": \"<f4\",\n  \"fill_value\": "
			"\"NaN\",\n  \"filters\": null,\n  \"order\": \"C\",\n  \"shape\": [\n   "
			"1000,\n   721,\n   1440\n  ],\n  \"zarr_format\": 2\n },\n "
			"\"variable_%05u/.zattrs\": {\n  \"_ARRAY_DIMENSIONS\": [\n   \"time\",\n  "
			" \"latitude\",\n   \"longitude\"\n  ],\n  "
			"\"long_name\": \"a name that is long\",\n  \"units\": \"K\"\n }",
			i, i);
	buf_addf(&b, "}}");
	struct tree t = tree_new(&never, NULL);
	CHECK_INT(zmap_put(t.z, &(struct zmap_put){".zmetadata", buf_span(&b)}, NULL), 0);
	size_t text = b.len;
	struct mallinfo2 before = mallinfo2();
	static struct node *held[ARRAYS];
	for (unsigned i = 0; i < ARRAYS; i++) {
		char name[32];
		snprintf(name, sizeof name, "variable_%05u", i);
		held[i] = tree_node(&t, name);
	}
	struct mallinfo2 after = mallinfo2();
	size_t used = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd + text;
	size_t counted = model_bytes(t.m);
	fprintf(stderr, "%zu bytes an array, %zu of them text, %zu counted\n", used / ARRAYS,
		text / ARRAYS, counted / ARRAYS);
	if (after.uordblks > before.uordblks) { /* not with a sanitizer's malloc */
		CHECK(used / ARRAYS < EACH);
		CHECK(counted > used / 2 && counted < 2 * used);
	}
	for (unsigned i = 0; i < ARRAYS; i++)
		node_unref(held[i]);
	tree_free(&t);
}

/* Of many nodes only as many stay as have room, but a holder of one goes on holding it, and all are
 * found again. */
static void
test_room(void)
{
	enum { ARRAYS = 2000, MOST = 200 << 10 };
	const struct model_options o = {.ttl = INT64_MAX,
		.timeout = 10 * SECOND,
		.consolidated = CONSOLIDATED_TRUST,
		.nodes_max = MOST};
	struct tree t = tree_new(&o, NULL);
	CLEAN(buf_free) struct buf b = {0};
	buf_addf(&b, "{\"zarr_consolidated_format\": 1, \"metadata\": {\".zgroup\": "
		     "{\"zarr_format\": 2}");
	for (unsigned i = 0; i < ARRAYS; i++)
		buf_addf(&b,
			", \"v%u/.zarray\": {\"zarr_format\": 2, \"shape\": [%u], \"chunks\": [4], "
			"\"dtype\": \"<f4\", \"compressor\": null, \"fill_value\": 0, \"order\": "
			"\"C\"}",
			i, i);
	buf_addf(&b, "}}");
	CHECK_INT(zmap_put(t.z, &(struct zmap_put){".zmetadata", buf_span(&b)}, NULL), 0);
	CLEAN(node_unrefp) struct node *held = tree_node(&t, "v7");
	for (unsigned i = 0; i < ARRAYS; i++) {
		char name[32];
		snprintf(name, sizeof name, "v%u", i);
		CLEAN(node_unrefp) struct node *n = tree_node(&t, name);
		CHECK_INT(n->array->shape[0], i);
		CHECK(model_loose_bytes(t.m) <= MOST + (8 << 10));
	}
	CHECK(model_dropped(t.m) > 0);
	CHECK(model_bytes(t.m) > b.len); /* consolidated metadata stay */
	CLEAN(node_unrefp) struct node *again = tree_node(&t, "v7");
	CHECK(again == held);
	tree_free(&t);
}

int
main(void)
{
	test_prefer();
	test_remote();
	test_remote_again();
	test_remote_above();
	test_remote_loose();
	test_modes();
	test_alone();
	test_not_ours();
	test_rewritten();
	test_size();
	test_room();
	return check_end();
}
