/* What loads found in the store: the extent of a version that is new, old, or the one that was
 * known. */
#include "data/cache_impl.h"

#include <string.h>

/* What was to be compared with the store and is of another version is of use for readers that have
 * some of it. */
static void
put_back(struct cache *c, struct extent *prev)
{
	if (prev && prev->dropped && prev->until == EXTENT_CURRENT &&
		strcmp(prev->version, prev->object->version) != 0) {
		version_join_past(prev);
		table_restore(c, prev);
	}
}

bool
cache_found(struct cache *c, struct extent *p)
{
	bool changed = false;
	if (p->superseded)
		return false;
	LOCKED(&c->lock) {
		struct object *o = p->object;
		if (!o->found)
			version_found_first(o, p, clock_now());
		int how = version_found(o, p->version, p->begun);
		if (how == VERSION_OLD) { /* than what was found meanwhile */
			version_join_past(p);
			return false;
		}
		changed = how == VERSION_NEW;
		put_back(c, p->prev);
		p->former = o->former;
	}
	return changed;
}

bool
cache_keep(struct cache *c, const struct extent_id *id, int64_t since, int64_t now)
{
	bool same = true;
	LOCKED(&c->lock) {
		struct object *o = object_find(c, id);
		if (!o || !o->found)
			return true;
		same = !o->former || o->former < since;
		if (same)
			o->given = o->given > now ? o->given : now;
	}
	return same;
}
