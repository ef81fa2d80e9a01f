/* Which paths are what, and when a model looks at the store again. */
#include "tree.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static void
test_kinds(void)
{
	const char *const objects[] = {".zgroup", ZGROUP, "a/.zarray", ZARRAY, "a/0", "1234",
		"g/.zgroup", ZGROUP, "g/b/.zarray", ZARRAY, "both/.zgroup", ZGROUP, "both/.zarray",
		ZARRAY, "both/c/.zarray", ZARRAY, "i/j/k/.zarray", ZARRAY, "nested/.zarray", ZARRAY,
		"nested/0/0", "x", "README", "hello", "attrs/.zattrs", "{}", NULL};
	struct tree t = tree_new(NULL, objects);
	CHECK_INT(tree_kind(&t, ""), NODE_GROUP);
	CHECK_INT(tree_kind(&t, "a"), NODE_ARRAY);
	CHECK_INT(tree_kind(&t, "g"), NODE_GROUP);
	CHECK_INT(tree_kind(&t, "g/b"), NODE_ARRAY);
	CHECK_INT(tree_kind(&t, "both"), NODE_ARRAY); /* wins over the group */
	CHECK_INT(tree_kind(&t, "both/c"), -1);
	CHECK_INT(tree_kind(&t, "i"), NODE_GROUP); /* by what lies below it */
	CHECK_INT(tree_kind(&t, "i/j"), NODE_GROUP);
	CHECK_INT(tree_kind(&t, "i/j/k"), NODE_ARRAY);
	CHECK_INT(tree_kind(&t, "a/0"), -1);
	CHECK_INT(tree_kind(&t, "nested/0"), -1);
	CHECK_INT(tree_kind(&t, "README"), -1); /* in a hierarchy only its nodes are shown */
	CHECK_INT(tree_kind(&t, "attrs"), NODE_GROUP);
	CHECK_INT(tree_kind(&t, ".zgroup"), -1);
	CHECK_INT(tree_kind(&t, "a/.zarray"), -1);
	CHECK_INT(tree_kind(&t, "no"), -1);
	CHECK_INT(tree_kind(&t, "no/such/thing"), -1);
	CHECK_INT(tree_kind(&t, "a//b"), -1);
	CHECK_INT(tree_kind(&t, "../a"), -1);
	CHECK_STR(tree_names(&t, ""), "a* attrs/ both* g/ i/ nested*");
	CHECK_STR(tree_names(&t, "g"), "b*");
	CHECK_STR(tree_names(&t, "i"), "j/");
	CHECK_STR(tree_names(&t, "none"), "1");
	CHECK_INT(model_children(t.m, "a", NULL, NULL), -ENOTDIR);
	struct node *n = tree_node(&t, "g/b");
	CHECK_STR(n->path, "g/b");
	CHECK_STR(n->name, "b");
	node_unref(n);
	tree_free(&t);
}

static void
test_above_stores(void)
{
	const char *const objects[] = {"notes.txt", "hello", "x.zarr.zip", "PK", "s1/.zgroup",
		ZGROUP, "s1/v/.zarray", ZARRAY, "d/e/s2/.zarray", ZARRAY, "d/readme", "r", ".zfoo",
		"z", "v3/zarr.json", "{\"zarr_format\": 3, \"node_type\": \"array\"}", "v3/c/0",
		"1", NULL};
	struct tree t = tree_new(NULL, objects);
	CHECK_INT(tree_kind(&t, ""), NODE_PLAIN);
	CHECK_INT(tree_kind(&t, "notes.txt"), NODE_OBJECT);
	CHECK_INT(tree_kind(&t, "s1"), NODE_GROUP);
	CHECK_INT(tree_kind(&t, "s1/v"), NODE_ARRAY);
	CHECK_INT(tree_kind(&t, "d"), NODE_PLAIN);
	CHECK_INT(tree_kind(&t, "d/e/s2"), NODE_ARRAY);
	CHECK_INT(tree_kind(&t, "d/readme"), NODE_OBJECT);
	CHECK_INT(tree_kind(&t, "d/readme/x"), -1);
	CHECK_INT(tree_kind(&t, "d/nothing"), -1);
	CHECK_STR(tree_names(&t, "d"), "e? readme=");
	struct node *n = tree_node(&t, "notes.txt");
	CHECK_INT(n->size, 5);
	CHECK(n->mtime > 0 && *n->version);
	node_unref(n);
	n = tree_node(&t, "v3");
	CHECK_INT(n->kind, NODE_ARRAY);
	CHECK(n->error && n->error_code == -EINVAL && !n->array); /* it has no shape */
	node_unref(n);
	tree_free(&t);

	struct tree single =
		tree_new(NULL, (const char *const[]){".zarray", ZARRAY, "0", "12345678", NULL});
	n = tree_node(&single, "");
	CHECK_INT(n->kind, NODE_ARRAY);
	CHECK_STR(n->name, "");
	node_unref(n);
	tree_free(&single);
}

static struct {
	unsigned calls;
	char path[64];
	bool gone;
} told;

static void
note_change(void *arg, struct node *old, struct node *new)
{
	told.calls++;
	told.gone = !new;
	snprintf(told.path, sizeof told.path, "%s", old->path);
}

static void
test_changes(void)
{
	const char *const objects[] = {".zgroup", ZGROUP, "a/.zarray", ZARRAY, "a/.zattrs",
		"{\"u\": 1}", "b/.zarray", ZARRAY, NULL};
	struct tree t = tree_new(NULL, objects);
	model_on_change(t.m, note_change, NULL);
	struct node *first = tree_node(&t, "a"), *same = tree_node(&t, "a");
	CHECK(first == same);
	node_unref(same);
	CHECK_INT(told.calls, 0);

	tree_put(&t, "a/.zattrs", "{\"u\": 2}");
	struct node *second = tree_node(&t, "a");
	CHECK(second != first);
	CHECK(strcmp(first->version, second->version));
	CHECK_INT(first->array->layout, second->array->layout);
	CHECK_INT(told.calls, 1);
	CHECK_STR(told.path, "a");
	CHECK(!told.gone);
	CHECK(second->mtime >= first->mtime);

	tree_put(&t, "a/.zarray", "{" ZARRAY_BODY ", \"dtype\": \"<i8\", \"fill_value\": 0}");
	struct node *third = tree_node(&t, "a");
	CHECK(third->array->layout != second->array->layout);
	CHECK_INT(first->array->dtype.size, 4); /* a holder of the old node goes on seeing it */

	tree_del(&t, "a/.zarray");
	tree_del(&t, "a/.zattrs");
	CHECK_INT(tree_kind(&t, "a"), -1);
	CHECK(told.gone);
	CHECK_STR(tree_names(&t, ""), "b*");
	tree_put(&t, "a/.zarray", ZARRAY);
	CHECK_INT(tree_kind(&t, "a"), NODE_ARRAY);

	tree_del(&t, ".zgroup"); /* the store itself */
	struct node *n = NULL;
	CHECK_INT(model_lookup(t.m, "", &n), -EIO);
	CHECK_INT(model_look_again(t.m, "b", &n), -EIO);
	tree_put(&t, ".zgroup", ZGROUP);
	CHECK_INT(tree_kind(&t, "b"), NODE_ARRAY);
	node_unref(first);
	node_unref(second);
	node_unref(third);
	tree_free(&t);
}

static uint64_t
gets(const struct tree *t)
{
	return atomic_load(&t->z->counts.calls[ZMAP_GET]) +
	       atomic_load(&t->z->counts.calls[ZMAP_STAT]) +
	       atomic_load(&t->z->counts.calls[ZMAP_LISTING]);
}

static void
test_ttl(void)
{
	const char *const objects[] = {".zgroup", ZGROUP, "a/.zarray", ZARRAY, NULL};
	const struct model_options never = {.ttl = INT64_MAX, .timeout = SECOND};
	struct tree t = tree_new(&never, objects);
	struct node *a = tree_node(&t, "a"), *n = NULL;
	uint64_t before = gets(&t);
	tree_put(&t, "a/.zarray", "{" ZARRAY_BODY ", \"dtype\": \"<i8\", \"fill_value\": 0}");
	CHECK_INT(tree_kind(&t, "a"), NODE_ARRAY);
	CHECK_INT(model_check(t.m, "a", &n), 0);
	CHECK(n == a);
	CHECK_INT(gets(&t), before);
	node_unref(n);
	int64_t seen = model_seen(t.m, "a", 0, NULL);
	CHECK(seen > 0 && seen <= clock_wall());
	CHECK_INT(model_look_again(t.m, "a", &n), 0);
	CHECK_INT(n->array->dtype.size, 8);
	CHECK(model_seen(t.m, "a", 0, NULL) > seen);
	node_unref(n);
	node_unref(a);

	before = gets(&t);
	CHECK_INT(model_look_again(t.m, "a", &n), 0);
	CHECK_INT(gets(&t), before + 1); /* one cheap request */
	node_unref(n);

	tree_put(&t, "a/.zattrs", "{\"x\": 1}");
	CLEAN(buf_free) struct buf said = {0};
	CHECK_INT(model_refresh(t.m, &said), 0);
	buf_terminate(&said);
	CHECK_STR((char *)said.data, "a: changed\n");
	said.len = 0;
	tree_del(&t, "a/.zarray");
	tree_del(&t, "a/.zattrs");
	CHECK_INT(model_refresh(t.m, &said), 0);
	buf_terminate(&said);
	CHECK_STR((char *)said.data, "a: gone\n");
	tree_free(&t);
}

/* What a listing lacked is not asked for, for as long as an answer would hold; what is known goes
 * before it. */
static void
test_unlisted(void)
{
	const char *const objects[] = {".zgroup", ZGROUP, "a/.zarray", ZARRAY, NULL};
	const struct model_options minute = {.ttl = 60 * SECOND, .timeout = SECOND};
	struct tree t = tree_new(&minute, objects);
	CHECK_INT(tree_kind(&t, "a"), NODE_ARRAY);
	const int64_t now = clock_now();
	uint64_t before = gets(&t);
	model_unlisted(t.m, "a.nc", now);
	model_unlisted(t.m, "a", now);
	CHECK_INT(tree_kind(&t, "a.nc"), -1);
	CHECK_INT(tree_kind(&t, "a"), NODE_ARRAY);
	CHECK_INT(gets(&t), before);
	model_unlisted(t.m, "b.nc", now - 6 * SECOND);
	tree_put(&t, "b.nc/.zarray", ZARRAY);
	CHECK_INT(tree_kind(&t, "b.nc"), NODE_ARRAY);
	tree_free(&t);

	struct tree always = tree_new(NULL, objects);
	model_unlisted(always.m, "a.nc", clock_now());
	tree_put(&always, "a.nc/.zarray", ZARRAY);
	CHECK_INT(tree_kind(&always, "a.nc"), NODE_ARRAY);
	tree_free(&always);
}

static void
test_trim(void)
{
	const char *const objects[] = {
		".zgroup", ZGROUP, "a/.zarray", ZARRAY, "b/.zarray", ZARRAY, NULL};
	struct tree t = tree_new(NULL, objects);
	struct node *held = tree_node(&t, "a");
	CHECK_INT(tree_kind(&t, "b"), NODE_ARRAY);
	size_t bytes = model_bytes(t.m);
	CHECK(bytes > 0);
	size_t freed = model_trim(t.m);
	CHECK(freed > 0);
	CHECK_INT(model_bytes(t.m), bytes - freed);
	struct node *again = tree_node(&t, "a");
	CHECK(again == held);
	CHECK_INT(tree_kind(&t, "b"), NODE_ARRAY);
	for (unsigned i = 0; i < 20000; i++) { /* names that are only tried */
		char name[32];
		snprintf(name, sizeof name, "try%u", i);
		CHECK_INT(tree_kind(&t, name), -1);
	}
	CHECK(model_bytes(t.m) < 4 << 20);
	node_unref(again);
	node_unref(held);
	tree_free(&t);
}

static void
test_bad_nodes(void)
{
	const char *const objects[] = {".zgroup", "{", "good/.zarray", ZARRAY, "json/.zarray",
		"{\"shape\": ", "list/.zarray", "[]", "empty/.zarray", "", "attrs/.zarray", ZARRAY,
		"attrs/.zattrs", "{bad", "codec/.zarray",
		"{" ZARRAY_BODY
		", \"dtype\": \"<i4\", \"fill_value\": 0, \"compressor\": {\"id\": \"no-such\"}}",
		"g/.zgroup", "nonsense", "g/x/.zarray", ZARRAY, NULL};
	struct tree t = tree_new(NULL, objects);
	CHECK_STR(tree_names(&t, ""), "attrs* codec* empty* g/ good* json* list*");
	struct node *n = tree_node(&t, "good");
	CHECK(!n->error && n->array);
	node_unref(n);
	const char *const bad[] = {"json", "list", "empty"};
	for (unsigned i = 0; i < 3; i++) {
		n = tree_node(&t, bad[i]);
		CHECK_INT(n->kind, NODE_ARRAY);
		CHECK(n->error && !n->array && n->error_code == -EINVAL);
		node_unref(n);
	}
	n = tree_node(&t, "codec");
	CHECK(n->array && n->error);
	CHECK_INT(n->error_code, -ENOTSUP);
	CHECK(n->error && strstr(n->error, "no-such"));
	node_unref(n);
	n = tree_node(&t, "attrs");
	CHECK(n->array && !n->error);
	struct attrs as;
	CHECK_INT(node_attrs(n, &as), 0);
	CHECK_INT(as.count, 0);
	CHECK_INT(as.nproblems, 1);
	attrs_free(&as);
	node_unref(n);
	CHECK_INT(tree_kind(&t, "g/x"), NODE_ARRAY);
	n = tree_node(&t, "");
	CHECK(n->error);
	node_unref(n);
	tree_free(&t);
}

static void
test_separator(void)
{
	const char *body = "{\"zarr_format\": 2, \"shape\": [4, 4], \"chunks\": [2, 2], \"dtype\": "
			   "\"<i4\", \"fill_value\": 0, \"compressor\": null, "
			   "\"filters\": null, \"order\": \"C\"}";
	const char *const objects[] = {".zgroup", ZGROUP, "nested/.zarray", body, "nested/1/0", "x",
		"flat/.zarray", body, "flat/1.1", "x", "none/.zarray", body, NULL};
	const struct model_options detect = {.ttl = 0, .timeout = SECOND, .detect_separator = true};
	struct tree t = tree_new(&detect, objects);
	struct node *n = tree_node(&t, "nested");
	CHECK_INT(n->array->separator, '.');
	node_unref(n);
	const char *const name[] = {"nested", "flat", "none"};
	for (unsigned i = 0; i < 3; i++) {
		CHECK_INT(model_check(t.m, name[i], &n), 0);
		CHECK_INT(n->array->separator, i ? '.' : '/');
		CHECK(!n->array->separator_assumed);
		node_unref(n);
	}
	struct node *a = tree_node(&t, "nested"), *b = NULL;
	CHECK_INT(a->array->separator, '/'); /* found once, kept */
	CHECK_INT(model_check(t.m, "nested", &b), 0);
	CHECK(a == b);
	node_unref(a);
	node_unref(b);
	tree_free(&t);

	struct tree spec = tree_new(NULL, objects);
	CHECK_INT(model_check(spec.m, "nested", &n), 0);
	CHECK_INT(n->array->separator, '.');
	node_unref(n);
	tree_free(&spec);
}

/* Many threads ask while another rewrites: each gets one of the versions. */
static void *
ask_on(void *arg)
{
	const struct tree *t = arg;
	for (unsigned i = 0; i < 300; i++) {
		struct node *n = NULL;
		int r = i % 3 ? model_lookup(t->m, i % 2 ? "a" : "g/b", &n)
			      : model_look_again(t->m, "a", &n);
		if (r != 0 || !n->array || n->error ||
			(n->array->dtype.size != 4 && n->array->dtype.size != 8))
			return (void *)1;
		node_unref(n);
	}
	return NULL;
}

static void
test_threads(void)
{
	const char *const objects[] = {".zgroup", ZGROUP, "a/.zarray", ZARRAY, "g/.zgroup", ZGROUP,
		"g/b/.zarray", ZARRAY, NULL};
	struct tree t = tree_new(NULL, objects);
	pthread_t thread[4];
	for (unsigned i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&thread[i], NULL, ask_on, &t), 0);
	for (unsigned i = 0; i < 100; i++) {
		tree_put(&t, "a/.zarray",
			i % 2 ? ZARRAY
			      : "{" ZARRAY_BODY ", \"dtype\": \"<i8\", \"fill_value\": 0}");
		if (i % 10 == 0) {
			model_trim(t.m);
			model_refresh(t.m, NULL);
			tree_names(&t, "");
		}
	}
	for (unsigned i = 0; i < 4; i++) {
		void *bad = NULL;
		pthread_join(thread[i], &bad);
		CHECK(!bad);
	}
	tree_free(&t);
}

int
main(void)
{
	test_kinds();
	test_above_stores();
	test_changes();
	test_ttl();
	test_unlisted();
	test_trim();
	test_bad_nodes();
	test_separator();
	test_threads();
	return check_end();
}
