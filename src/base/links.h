/* Lists through the things that are in them: each has a struct link as its first member, and is in
 * one list at most. The owner of the list locks. Empty: {0}. */
#pragma once

#include <stddef.h>

struct link {
	struct link *next, *before;
};

struct links {
	struct link *first, *last;
};

static inline void
links_append(struct links *l, struct link *k)
{
	k->next = NULL;
	k->before = l->last;
	*(l->last ? &l->last->next : &l->first) = k;
	l->last = k;
}

static inline void
links_remove(struct links *l, struct link *k)
{
	*(k->before ? &k->before->next : &l->first) = k->next;
	*(k->next ? &k->next->before : &l->last) = k->before;
}
