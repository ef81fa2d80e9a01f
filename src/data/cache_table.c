/* Extents by chunk, and in the order of their use. */
#include "data/cache_impl.h"

#include "base/mem.h"

#include <string.h>

/* Least recently used is known to this much (ns): moving every extent at each look would cost more
 * than it gains. */
static const int64_t TOUCH_EVERY = SECOND / 20;

_Static_assert(offsetof(struct extent, former) == 64 && offsetof(struct extent, failed) < 128,
	"what a look needs is in two lines");

pthread_cond_t *
table_cond(struct cache *c, const struct extent *p)
{
	return &c->loaded[table_hash(&p->id) % CACHE_CONDS];
}

void
table_make_cold(struct cache *c, struct extent *p, bool stored)
{
	lru_remove(p->list, p);
	p->list = stored ? &c->victim : &c->cold;
	lru_append(p->list, p);
}

/* A cold extent stays cold: requests that overtake each other must not bring a scan's leavings
 * back. */
void
table_touch(struct extent *p, int64_t now)
{
	if (now - p->touched < TOUCH_EVERY)
		return;
	p->touched = now;
	lru_remove(p->list, p);
	lru_append(p->list, p);
}

void
table_use(struct cache *c, struct extent *p)
{
	p->used = true;
	if (p->list != &c->unread)
		return;
	lru_remove(p->list, p);
	p->list = &c->active;
	lru_append(p->list, p);
}

/* Its memory goes when the lock is open. */
static void
destroy(struct cache *c, struct extent *p)
{
	c->used -= p->charge;
	c->extents--;
	if (c->beside == p)
		c->beside = NULL;
	object_release(c, p->object);
	p->by_chunk.next = c->dead;
	c->dead = &p->by_chunk;
	if (c->waiting)
		pthread_cond_broadcast(&c->freed);
}

void
table_drop(struct cache *c, struct extent *p)
{
	if (extent_dropped(p))
		return;
	version_dropped(p);
	map_remove(&c->by_chunk, &p->by_chunk);
	object_remove(p);
	lru_remove(p->list, p);
	if (!atomic_fetch_or(&p->pins, EXTENT_DROPPED))
		destroy(c, p);
}

static void
put_in(struct cache *c, struct extent *p)
{
	map_add(&c->by_chunk, &p->by_chunk, table_hash(&p->id));
	object_add(p);
	p->list = p->used ? &c->active : &c->unread;
	lru_append(p->list, p);
}

void
table_restore(struct cache *c, struct extent *p)
{
	atomic_fetch_and(&p->pins, ~EXTENT_DROPPED);
	put_in(c, p);
}

void
cache_unlock(struct cache *c)
{
	struct map_entry *dead = MOVE(c->dead);
	struct object *objects = MOVE(c->objects.dead);
	pthread_mutex_unlock(&c->lock);
	objects_free_dead(objects);
	while (dead) {
		struct extent *p = MAP_OF(dead, struct extent, by_chunk);
		dead = dead->next;
		mem_put(p->data, p->cap);
		free(p->failure);
		mem_put(p, mem_size(sizeof *p));
	}
}

void
table_unpinned(struct cache *c, struct extent *p, unsigned left)
{
	if (left == EXTENT_DROPPED)
		destroy(c, p);
	else if (!left && c->waiting)
		pthread_cond_broadcast(&c->freed);
}

void
table_unpin(struct cache *c, struct extent *p)
{
	table_unpinned(c, p, extent_unpin(p));
}

static struct extent *
make(void)
{
	struct extent *p = mem_get_quickly(mem_size(sizeof *p));
	return p ? memset(p, 0, sizeof *p) : NULL;
}

struct extent *
table_insert(struct cache *c, const struct extent_id *id, struct extent *prev, size_t *loading)
{
	struct extent *p = make();
	struct object *o = p ? object_hold(c, id) : NULL;
	if (!o) {
		mem_put(p, mem_size(sizeof *p));
		return NULL;
	}
	p->object = o;
	p->id = *id;
	p->charge = extent_charge(id->len);
	extent_pin(p);
	p->prev = prev;
	p->loading = loading;
	if (loading)
		*loading += p->charge;
	p->until = EXTENT_CURRENT;
	c->used += p->charge;
	c->extents++;
	put_in(c, p);
	return p;
}
