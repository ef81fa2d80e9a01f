/* A set of things that differ by a comparison, found in logarithmic time: what POSIX's tsearch
 * does, without its header, whose names are in the way of others. Belongs to one thread. Empty:
 * {0}. */
#pragma once

struct set {
	void *root;
};

typedef int set_order(const void *, const void *);

/* The member that equals key, or NULL. */
void *set_find(struct set *, const void *key, set_order *);
/* Nothing equal may be in it. The set borrows the member. 0 or -ENOMEM. */
int set_add(struct set *, void *member, set_order *);
/* The member that equals this one, which is in it from now on if there was none. NULL: no
 * memory. */
void *set_put(struct set *, void *member, set_order *);
/* The member that equals key is in it no more. */
void set_remove(struct set *, const void *key, set_order *);
/* Empties it; fn, if there is one, is told of each member. */
void set_free(struct set *, void (*fn)(void *));
