/* Stored objects by number. One that extents exist of stays; of the others the last OBJECTS_KNOWN
 * do. */
#include "data/cache_impl.h"

#include <string.h>

struct object *
object_find(struct cache *c, const struct extent_id *id)
{
	struct map_entry *e = map_first(&c->objects.by_number, hash_pair(id->space, id->object));
	for (; e; e = map_next(e)) {
		struct object *o = MAP_OF(e, struct object, by_number);
		if (o->space == id->space && o->number == id->object)
			return o;
	}
	return NULL;
}

static void
destroy(struct cache *c, struct object *o)
{
	map_remove(&c->objects.by_number, &o->by_number);
	version_forget(c, o);
	o->next = c->objects.dead;
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
		struct object *next = o->next;
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
		o = make();
		if (!o)
			return NULL;
		o->space = id->space;
		o->number = id->object;
		map_add(&c->objects.by_number, &o->by_number, hash_pair(o->space, o->number));
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
	for (struct map_entry *e = map_walk(&c->objects.by_number, NULL), *next; e; e = next) {
		next = map_walk(&c->objects.by_number, e);
		destroy(c, MAP_OF(e, struct object, by_number));
	}
	map_done(&c->objects.by_number);
	objects_free_dead(MOVE(c->objects.dead));
}
