/* What has failed is refused with its text, for as long as that was said, to requests that came
 * after it. */
#include "base/negative_cache.h"

#include "base/clock.h"
#include "base/err.h"
#include "test/check.h"

#include <errno.h>

int
main(void)
{
	struct negative_cache m;
	const struct negative_cache_what first = {.key = 7, .off = 10, .end = 20},
					 overlaps = {.key = 7, .off = 19, .end = 30},
					 beside = {.key = 7, .off = 20, .end = 30},
					 other = {.key = 8, .off = 10, .end = 20};
	negative_cache_init(&m, 2, 100 * SECOND);
	CHECK_INT(negative_cache_lately(&m, &first, clock_now()), 0);
	negative_cache_mend(&m, &first);
	int64_t before = clock_now() - 1;
	negative_cache_add(&m, &first, err_set(-EIO, "why"));
	err_clear();
	int64_t after = clock_now();
	CHECK_INT(negative_cache_lately(&m, &overlaps, after), -EIO);
	CHECK_STR(err_text(), "why");
	CHECK_INT(negative_cache_lately(&m, &first, before), 0);
	CHECK_INT(negative_cache_lately(&m, &first, after + 101 * SECOND), 0);
	CHECK_INT(negative_cache_lately(&m, &beside, after), 0);
	CHECK_INT(negative_cache_lately(&m, &other, after), 0);
	negative_cache_mend(&m, &beside);
	CHECK_INT(negative_cache_lately(&m, &first, after), -EIO);
	negative_cache_mend(&m, &first);
	CHECK_INT(negative_cache_lately(&m, &first, after), 0);
	/* the newest two are kept */
	negative_cache_add(&m, &first, -EIO);
	negative_cache_add(&m, &beside, -EIO);
	negative_cache_add(&m, &other, -EIO);
	after = clock_now();
	CHECK_INT(negative_cache_lately(&m, &first, after), 0);
	CHECK_INT(negative_cache_lately(&m, &other, after), -EIO);
	negative_cache_mend(&m, NULL);
	CHECK_INT(negative_cache_lately(&m, &other, clock_now()), 0);
	negative_cache_done(&m);
	return 0;
}
