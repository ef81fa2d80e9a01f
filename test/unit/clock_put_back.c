/* The wall clock is put back or forward: when metadata were looked at is still compared with times
 * of files as it should be. */
#include "tree.h"

#include <stdatomic.h>

enum { HOUR = 3600 };

static atomic_int moved; /* s, so far */

int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);

int
__wrap_clock_gettime(clockid_t which, struct timespec *ret)
{
	const int r = __real_clock_gettime(which, ret);
	ret->tv_sec += which == CLOCK_REALTIME ? atomic_load(&moved) : 0;
	return r;
}

int
main(void)
{
	const char *const objects[] = {".zgroup", ZGROUP, "a/.zarray", ZARRAY, NULL};
	const struct model_options options = {.ttl = INT64_MAX, .timeout = SECOND};
	struct tree t = tree_new(&options, objects);
	struct node *n = NULL;
	CHECK_INT(tree_kind(&t, "a"), NODE_ARRAY);
	const int64_t looked = model_seen(t.m, "a", 0, NULL);
	CHECK(looked > 0 && looked <= clock_wall());
	CHECK_INT(model_seen(t.m, "b", 0, NULL), 0);

	atomic_store(&moved, -HOUR); /* what comes from now on is newer */
	const int64_t back = model_seen(t.m, "a", 0, NULL);
	CHECK(back > 0 && back <= clock_wall());
	CHECK_INT(model_look_again(t.m, "a", &n), 0);
	CHECK(model_seen(t.m, "a", 0, NULL) > back);
	node_unref(n);

	atomic_store(&moved, 0); /* and what came just before is still no older */
	CHECK(model_seen(t.m, "a", 0, NULL) < looked);
	tree_free(&t);
	return check_end();
}
