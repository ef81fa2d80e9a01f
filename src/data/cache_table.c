/* Pieces by chunk, and in the order of their use. */
#include "data/cache_impl.h"

#include "base/mem.h"

/* Least recently used is known to this much (ns): moving every piece at each look would cost more than it gains. */
static const int64_t TOUCH_EVERY = SECOND / 20;

static uint64_t
hash(uint64_t space, uint64_t chunk)
{
	uint64_t h = (space * 0x9e3779b97f4a7c15u) ^ chunk;
	h *= 0xff51afd7ed558ccdu;
	return h ^ h >> 32;
}

struct piece **
table_bucket(struct cache *c, const struct piece_id *id)
{
	return &c->bucket[hash(id->space, id->chunk) % CACHE_BUCKETS];
}

struct mark *
table_mark(struct cache *c, const struct piece_id *id, uint64_t *ret_hash)
{
	uint64_t h = hash(id->space, id->chunk) | 1; /* 0: a mark of nothing */
	struct mark *a = &c->mark[(h >> 16) % CHUNKS_KNOWN],
		    *b = &c->mark[(h >> 32) % CHUNKS_KNOWN];
	*ret_hash = h;
	if (a->chunk == h || b->chunk == h)
		return a->chunk == h ? a : b;
	return a->seen <= b->seen ? a : b;
}

pthread_cond_t *
table_cond(struct cache *c, const struct piece *p)
{
	return &c->loaded[hash(p->id.space, p->id.chunk) % CACHE_CONDS];
}

void
table_cool(struct cache *c, struct piece *p, bool stored)
{
	lru_remove(p->list, p);
	p->list = stored ? &c->spare : &c->cold;
	lru_append(p->list, p);
}

/* A cold piece stays cold: requests that overtake each other must not bring a scan's leavings back. */
void
table_touch(struct piece *p, int64_t now)
{
	if (now - p->touched < TOUCH_EVERY)
		return;
	p->touched = now;
	lru_remove(p->list, p);
	lru_append(p->list, p);
}

void
table_drop(struct cache *c, struct piece *p)
{
	if (p->dropped)
		return;
	version_dropped(c, p);
	struct piece **at = table_bucket(c, &p->id);
	while (*at != p)
		at = &(*at)->hash_next;
	*at = p->hash_next;
	lru_remove(p->list, p);
	p->dropped = true;
}

static void
put_in(struct cache *c, struct piece *p)
{
	struct piece **b = table_bucket(c, &p->id);
	p->hash_next = *b;
	*b = p;
	p->list = &c->hot;
	lru_append(p->list, p);
}

void
table_restore(struct cache *c, struct piece *p)
{
	p->dropped = false;
	put_in(c, p);
}

void
table_destroy(struct cache *c, struct piece *p)
{
	c->used -= p->charge;
	c->pieces--;
	p->hash_next = c->dead;
	c->dead = p;
	if (c->waiting)
		pthread_cond_broadcast(&c->freed);
}

void
cache_unlock(struct cache *c)
{
	struct piece *dead = MOVE(c->dead);
	pthread_mutex_unlock(&c->lock);
	while (dead) {
		struct piece *p = dead;
		dead = p->hash_next;
		mem_put(p->data, p->cap);
		free(p->failure);
		free(p);
	}
}

void
table_unpin(struct cache *c, struct piece *p)
{
	if (--p->pins == 0) {
		if (p->dropped)
			table_destroy(c, p);
		else if (c->waiting)
			pthread_cond_broadcast(&c->freed);
	}
}

struct piece *
table_insert(struct cache *c, const struct piece_id *id, struct piece *prev, size_t *loading)
{
	struct piece *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->id = *id;
	p->charge = id->len + PIECE_COST;
	p->pins = 1;
	p->prev = prev;
	p->loading = loading;
	if (loading)
		*loading += p->charge;
	p->until = PIECE_CURRENT;
	c->used += p->charge;
	c->pieces++;
	put_in(c, p);
	return p;
}
