/* A page of a mapping that cannot be stored because the mount is ending, or for want of memory,
 * is gone: the error sticks, as that of any other does. */
#include "told.h"

static void
put_rows(struct zmap *store, unsigned rows)
{
	char shape[32];
	snprintf(shape, sizeof shape, "[%u]", rows);
	put_meta(store, "t", "\"|i1\"", shape, "[4]", "\"fill_value\": 0");
}

int
main(void)
{
	struct node *n = NULL;
	struct told t = told_begin(put_rows, 4, &n);
	struct cancel c = {.wanted_no_more = true};
	const struct array_want how = {.cancel = &c};
	CHECK(file_write(t.file, 0, (struct span){(const uint8_t *)"\5\6\7\10", 4}, &how,
		      FILE_MAPPED) < 0);
	CHECK(file_settle(t.file, SETTLE_FLUSH, 0, NULL) < 0);
	CHECK(file_settle(t.file, SETTLE_RELEASE, 0, NULL) < 0);
	node_unref(n);
	told_end(&t);
	return check_end();
}
