/* What loads found in the store: the extent of a version that is new, old, or the one that was
 * known. */
#include "data/cache_impl.h"

#include "base/check.h"

#include <string.h>

/* What was to be compared with the store and is of another version is of use for readers that have
 * some of it. */
static void
put_back(struct cache *c, struct extent *prev)
{
	if (prev && extent_dropped(prev) && prev->until == EXTENT_CURRENT &&
		strcmp(prev->version, prev->object->version) != 0) {
		version_join_old(prev);
		table_restore(c, prev);
	}
}

uint64_t
cache_found(struct cache *c, struct extent *p)
{
	uint64_t changes = 0;
	if (p->superseded)
		return 0;
	LOCKED(&c->lock) {
		struct object *o = p->object;
		if (!o->found)
			version_found_first(o, p, clock_now());
		int how = version_found(c, o, p->version, p->begun);
		if (how == VERSION_OLD) { /* than what was found meanwhile */
			version_join_old(p);
			return 0;
		}
		o->changes += how == VERSION_NEW;
		changes = o->told < o->changes ? o->changes : 0;
		put_back(c, p->prev);
		p->former = version_former(o, p->id.chunk);
	}
	return changes;
}

void
cache_told(struct cache *c, const struct extent *p, uint64_t changes)
{
	LOCKED(&c->lock)
		p->object->told = max_u64(p->object->told, changes);
}

/* What readers since `since` were given of the chunk, evicted or not, counts as given now. */
static void
give_again(
	struct cache *c, struct object *o, const struct extent_id *id, int64_t since, int64_t now)
{
	int64_t at = given_at(o->given, OBJECT_GIVEN, id->chunk);
	if (at && at >= since)
		given_note(o->given, OBJECT_GIVEN, &(struct given){id->chunk, id->chunk, now});
	for (struct extent *p = NULL; (p = table_next(c, id, p));)
		if (p->given && p->given >= since && p->given < now)
			p->given = now;
}

bool
cache_keep(struct cache *c, const struct extent_id *id, int64_t since, int64_t now)
{
	LOCKED(&c->lock) {
		struct object *o = object_find(c, id);
		int64_t former = o ? version_former(o, id->chunk) : 0;
		if (former && former >= since)
			return false;
		if (o)
			give_again(c, o, id, since, now);
	}
	return true;
}
