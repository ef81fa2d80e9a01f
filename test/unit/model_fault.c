/* A model over a store that fails: an error is an error, never absence or half of a node, and it
 * passes. */
#include "tree.h"

#include <errno.h>
#include <pthread.h>

static const char *const objects[] = {".zgroup", ZGROUP, ".zattrs", "{\"x\": 1}", "a/.zarray",
	ZARRAY, "a/.zattrs", "{\"u\": 1}", "g/.zgroup", ZGROUP, "g/b/.zarray", ZARRAY,
	"i/c/.zarray", ZARRAY, NULL};

static const struct model_options always = {.ttl = 0, .timeout = 2 * SECOND};

/* Opened a second time, through the wrapper; `under` stays to be changed by the test. */
static struct tree
faulty(struct zmap **under, struct url_pair *pairs)
{
	static unsigned count;
	char name[32];
	snprintf(name, sizeof name, "fault%u", count++);
	*under = store_open("", "mem", name, true);
	for (const char *const *o = objects; *o; o += 2)
		CHECK_INT(zmap_put(*under,
				  &(struct zmap_put){o[0], {(const uint8_t *)o[1], strlen(o[1])}},
				  NULL),
			0);
	const struct zmap_options zo = {.timeout = 10 * SECOND};
	struct tree t = {.z = store_open_with("fault", "mem", name, &zo, pairs)};
	CHECK_INT(model_open(t.z, &always, &t.m), 0);
	return t;
}

#define PAIR(k, v)                                                                                 \
	{                                                                                          \
		(char *)(k), (char *)(v)                                                           \
	}

static void
test_each_call(const char *kind, bool remote)
{
	static const char *const path[] = {"", "a", "g", "g/b", "i", "i/c"};
	for (unsigned nth = 1; nth < 40; nth++) {
		char number[16];
		snprintf(number, sizeof number, "%u", nth);
		struct url_pair pairs[] = {PAIR("fault.kind", kind),
			PAIR("fault.calls", "get,stat,list"), PAIR("fault.nth", number), {0}};
		struct zmap *under;
		struct tree t = faulty(&under, pairs);
		if (remote)
			t.z->caps |= ZMAP_REMOTE;
		for (unsigned round = 0; round < 2; round++)
			for (unsigned i = 0; i < sizeof path / sizeof *path; i++) {
				struct node *n = NULL;
				int r = round ? model_check(t.m, path[i], &n)
					      : model_lookup(t.m, path[i], &n);
				CHECK(r == 0 || r == -EIO);
				node_unref(n);
			}
		while (model_children(t.m, "", tree_add_name, (char[512]){0}) < 0)
			;
		for (unsigned i = 0; i < sizeof path / sizeof *path; i++) /* it has passed */
			CHECK(tree_kind(&t, path[i]) >= 0 || nth > 20);
		CHECK_STR(tree_names(&t, "g"), "b*");
		tree_free(&t);
		zmap_close(under);
	}
}

static void
test_damaged(void)
{
	struct url_pair pairs[] = {PAIR("fault.kind", "truncate"), PAIR("fault.match", "a/.zarray"),
		PAIR("fault.nth", "1"), {0}};
	struct zmap *under;
	struct tree t = faulty(&under, pairs);
	struct node *n = tree_node(&t, "a");
	CHECK(n->error && !n->array);
	node_unref(n);
	const char *touched = "{" ZARRAY_BODY ", \"dtype\": \"<i8\", \"fill_value\": 0}";
	CHECK_INT(zmap_put(under,
			  &(struct zmap_put){
				  "a/.zarray", {(const uint8_t *)touched, strlen(touched)}},
			  NULL),
		0);
	n = tree_node(&t, "a");
	CHECK(!n->error && n->array);
	node_unref(n);
	tree_free(&t);
	zmap_close(under);
}

static void
test_refused(void)
{
	struct url_pair pairs[] = {
		PAIR("fault.kind", "eacces"), PAIR("fault.match", ".zattrs"), {0}};
	struct zmap *under;
	struct tree t = faulty(&under, pairs);
	CHECK_INT(tree_kind(&t, ""), NODE_GROUP);
	CHECK_INT(tree_kind(&t, "a"), NODE_ARRAY); /* attributes are optional */
	tree_free(&t);
	zmap_close(under);

	struct url_pair array[] = {
		PAIR("fault.kind", "eacces"), PAIR("fault.match", "a/.zarray"), {0}};
	t = faulty(&under, array);
	CHECK_INT(tree_kind(&t, "a"), -EACCES); /* not a group, although it has attributes */
	tree_free(&t);
	zmap_close(under);

	struct url_pair all[] = {PAIR("fault.kind", "eacces"), PAIR("fault.match", "a/"),
		PAIR("fault.calls", "get,list,stat"), {0}};
	t = faulty(&under, all);
	CHECK_INT(tree_kind(&t, "a"), -EACCES);
	CHECK_STR(tree_names(&t, ""), "a/! g/ i/");
	tree_free(&t);
	zmap_close(under);
}

static void *
ask_hanging(void *arg)
{
	const struct tree *t = arg;
	struct node *n = NULL;
	return (void *)(intptr_t)model_lookup(t->m, "a", &n);
}

/* A thread that asks for the same waits no longer than the first one; one that asks for another
 * thing does not wait. */
static void
test_hanging(void)
{
	struct url_pair pairs[] = {
		PAIR("fault.kind", "hang"), PAIR("fault.match", "a/.zarray"), {0}};
	struct zmap *under;
	struct tree t = faulty(&under, pairs);
	pthread_t thread[3];
	int64_t begin = clock_now();
	for (unsigned i = 0; i < 3; i++)
		CHECK_INT(pthread_create(&thread[i], NULL, ask_hanging, &t), 0);
	usleep(50000);
	CHECK_INT(tree_kind(&t, "g/b"), NODE_ARRAY);
	CHECK(clock_now() - begin < 2 * SECOND); /* the timeout of what hangs */
	for (unsigned i = 0; i < 3; i++) {
		void *r;
		pthread_join(thread[i], &r);
		CHECK_INT((intptr_t)r, -ETIMEDOUT);
	}
	CHECK(clock_now() - begin < 5 * SECOND);
	tree_free(&t);
	zmap_close(under);
}

/* Requests to a remote store go side by side. */
static void
test_slow(void)
{
	enum { ARRAYS = 60 };
	struct url_pair pairs[] = {PAIR("fault.kind", "delay"), PAIR("fault.ms", "60"), {0}};
	struct zmap *under;
	struct tree t = faulty(&under, pairs);
	t.z->caps |= ZMAP_REMOTE;
	for (unsigned i = 0; i < ARRAYS; i++) {
		char key[32];
		snprintf(key, sizeof key, "g/v%02u/.zarray", i);
		CHECK_INT(
			zmap_put(under,
				&(struct zmap_put){key, {(const uint8_t *)ZARRAY, strlen(ZARRAY)}},
				NULL),
			0);
	}
	int64_t begin = clock_now();
	CHECK_INT(model_preload(t.m, "g"), 0);
	int64_t took = clock_now() - begin;
	if (took > ARRAYS * 3 * SECOND / 50)
		fprintf(stderr, "%lld ms\n", (long long)(took / 1000000));
	CHECK(took < ARRAYS * 3 * SECOND / 50); /* one after the other: three times that */
	tree_free(&t);
	zmap_close(under);
}

int
main(void)
{
	test_each_call("eio", false);
	test_each_call("eio", true);
	test_damaged();
	test_refused();
	test_hanging();
	test_slow();
	return check_end();
}
