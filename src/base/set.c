#include "base/set.h"

#include "base/err.h"

#include <errno.h>
#include <search.h>

void *
set_find(struct set *s, const void *key, set_order *order)
{
	void **found = tfind(key, &s->root, order);
	return found ? *found : NULL;
}

int
set_add(struct set *s, void *member, set_order *order)
{
	return tsearch(member, &s->root, order) ? 0 : err_set(-ENOMEM, "no memory for a set");
}

void *
set_put(struct set *s, void *member, set_order *order)
{
	void **in = tsearch(member, &s->root, order);
	return in ? *in : NULL;
}

void
set_remove(struct set *s, const void *key, set_order *order)
{
	tdelete(key, &s->root, order);
}

static void
keep_member(void *member)
{
}

void
set_free(struct set *s, void (*fn)(void *))
{
	tdestroy(s->root, fn ? fn : keep_member);
	s->root = (void *)0;
}
