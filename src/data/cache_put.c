/* Versions that this mount makes itself. */
#include "data/cache_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int
cache_put_begin(struct cache *c, const struct extent_id *id, struct object **ret)
{
	struct object *o = NULL;
	LOCKED(&c->lock) {
		o = object_hold(c, id);
		if (!o)
			return err_set(-ENOMEM, "no memory for a stored object");
		o->putting++;
		c->puts++;
	}
	*ret = o;
	return 0;
}

bool
cache_put_upon(struct cache *c, struct object *o, const char *version, int64_t begun)
{
	bool changed = false;
	LOCKED(&c->lock)
		changed = o->found && version_found(c, o, version, begun) == VERSION_NEW;
	return changed;
}

/* No extent of the object is for readers that ask from now on; what is being loaded is asked for
 * again. */
static void
drop_all(struct cache *c, struct object *o)
{
	for (struct extent *p = o->extents, *next; p; p = next) {
		next = p->object_next;
		table_drop(c, p);
	}
}

void
cache_put_end(struct cache *c, struct object *o, const char *version)
{
	pthread_mutex_lock(&c->lock);
	o->putting--;
	c->puts--;
	if (version) {
		drop_all(c, o);
		/* a reader that has some of a version before would see it without what was written
		   here: it begins anew */
		version_lose_old(c, o);
		o->found = true;
		o->turned = clock_now();
		snprintf(o->version, sizeof o->version, "%s", version);
	}
	pthread_cond_broadcast(&c->put);
	object_release(c, o);
	cache_unlock(c);
}

bool
cache_put_unsure(struct cache *c, const struct extent *p)
{
	bool unsure = false;
	if (!atomic_load_explicit(&c->puts, memory_order_relaxed) || p->superseded)
		return false;
	LOCKED(&c->lock) {
		const struct object *o = p->object;
		unsure = o->putting && o->found && strcmp(o->version, p->version) != 0;
	}
	return unsure;
}

void
cache_put_wait(struct cache *c, const struct extent *p, int64_t deadline)
{
	pthread_mutex_lock(&c->lock);
	const struct object *o = p->object;
	while (o->putting && strcmp(o->version, p->version) != 0)
		if (wait_moment(&c->put, &c->lock, deadline, NULL) < 0)
			break;
	pthread_mutex_unlock(&c->lock);
}
