/* Stored objects by number. One that extents exist of stays; of the others the last OBJECTS_KNOWN
 * do. */
#include "data/cache_impl.h"

#include <string.h>

static struct object **
bucket_of(struct cache *c, uint64_t space, uint64_t number)
{
	return &c->objects.bucket[cache_hash(space, number) % OBJECT_BUCKETS];
}

struct object *
object_find(struct cache *c, const struct extent_id *id)
{
	struct object *o = *bucket_of(c, id->space, id->object);
	while (o && (o->space != id->space || o->number != id->object))
		o = o->hash_next;
	return o;
}

static void
destroy(struct cache *c, struct object *o)
{
	struct object **at = bucket_of(c, o->space, o->number);
	while (*at != o)
		at = &(*at)->hash_next;
	*at = o->hash_next;
	version_forget(c, o);
	o->hash_next = c->objects.dead;
	c->objects.dead = o;
}

static struct object *
make(void)
{
	struct object *o = mem_get_quickly(mem_size(sizeof *o));
	return o ? memset(o, 0, sizeof *o) : NULL;
}

void
objects_free_dead(struct object *o)
{
	while (o) {
		struct object *next = o->hash_next;
		mem_put(o, mem_size(sizeof *o));
		o = next;
	}
}

static void
leave_idle(struct objects *t, struct object *o)
{
	*(o->newer ? &o->newer->older : &t->newest) = o->older;
	*(o->older ? &o->older->newer : &t->oldest) = o->newer;
	o->newer = o->older = NULL;
	t->idle--;
}

static void
join_idle(struct objects *t, struct object *o)
{
	o->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = o;
	t->newest = o;
	t->idle++;
}

struct object *
object_hold(struct cache *c, const struct extent_id *id)
{
	struct object *o = object_find(c, id);
	if (o && !o->refs)
		leave_idle(&c->objects, o);
	if (!o) {
		struct object **b = bucket_of(c, id->space, id->object);
		o = make();
		if (!o)
			return NULL;
		o->space = id->space;
		o->number = id->object;
		o->hash_next = *b;
		*b = o;
	}
	o->refs++;
	return o;
}

void
object_release(struct cache *c, struct object *o)
{
	struct objects *t = &c->objects;
	if (--o->refs)
		return;
	if (!o->found) {
		destroy(c, o);
		return;
	}
	join_idle(t, o);
	if (t->idle > OBJECTS_KNOWN) {
		struct object *oldest = t->oldest;
		leave_idle(t, oldest);
		destroy(c, oldest);
	}
}

void
object_add(struct extent *p)
{
	struct object *o = p->object;
	p->object_next = o->extents;
	p->object_prev = NULL;
	if (o->extents)
		o->extents->object_prev = p;
	o->extents = p;
}

void
object_remove(struct extent *p)
{
	*(p->object_prev ? &p->object_prev->object_next : &p->object->extents) = p->object_next;
	if (p->object_next)
		p->object_next->object_prev = p->object_prev;
	p->object_next = p->object_prev = NULL;
}

void
objects_free(struct cache *c)
{
	for (unsigned i = 0; i < OBJECT_BUCKETS; i++)
		while (c->objects.bucket[i])
			destroy(c, c->objects.bucket[i]);
	objects_free_dead(MOVE(c->objects.dead));
}
