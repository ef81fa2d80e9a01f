#include "view/length.h"

#include <string.h>

/* s: from when on a chunk is no writer's any more; within what time the writer of a row stores the
 * length, too. */
enum { DAY = 86400, LENGTH_WITHIN = 600 };

bool
length_grows(const struct mount *m, const struct node *n)
{
	const struct array_meta *a = n->array;
	const char *name = m->options.unlimited;
	if (!a || !a->rank)
		return false;
	return a->dim[0].unlimited ||
	       (!n->nczarr && name && a->dim[0].name && !strcmp(a->dim[0].name, name));
}

bool
length_may_come(const struct node *n, int64_t mtime, bool behind)
{
	const int64_t age = clock_wall() - mtime, since = n->mtime - mtime;
	return mtime && age < DAY * SECOND && (behind || since < LENGTH_WITHIN * SECOND);
}
