/* What is known of pages that were written through mappings. */
#include "check.h"

#include "fuse/inode.h"
#include "fuse/shown.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = SHOWN_PAGE };

static struct span
filled(uint8_t *to, size_t n, int with)
{
	memset(to, with, n);
	return (struct span){to, n};
}

int
main(void)
{
	static uint8_t b[3 * PAGE], got[PAGE];
	struct inode *i = calloc(1, sizeof *i + 1);
	CHECK(!shown_find(i, 0, 10, got));
	shown_lay(i, 0, filled(b, 10, 1));
	CHECK(!shown_find(i, 0, 10, got));

	shown_begin(i);
	shown_note(i, PAGE, filled(b, 2 * PAGE + 100, 2)); /* the last one is the end of the file */
	CHECK(!shown_find(i, 0, 1, got));
	CHECK(shown_find(i, 2 * PAGE, PAGE, got) && got[PAGE - 1] == 2);
	CHECK(shown_find(i, 3 * PAGE, 100, got) && !shown_find(i, 3 * PAGE, 101, got));

	shown_lay(i, 2 * PAGE - 1, filled(b, 2, 3)); /* over a boundary */
	CHECK(shown_find(i, PAGE, PAGE, got) && got[PAGE - 1] == 3 && got[PAGE - 2] == 2);
	CHECK(shown_find(i, 2 * PAGE, PAGE, got) && got[0] == 3 && got[1] == 2);
	shown_lay(i, 3 * PAGE + 90, filled(b, 20, 4)); /* the file became longer */
	CHECK(!shown_find(i, 3 * PAGE, 1, got));

	shown_forget(i, 2 * PAGE - 1, 1);
	CHECK(!shown_find(i, PAGE, 1, got) && shown_find(i, 2 * PAGE, 1, got));
	shown_forget(i, 0, UINT64_MAX);
	CHECK(!shown_find(i, 2 * PAGE, 1, got));
	shown_free(i->shown);
	free(i);
	return check_end();
}
