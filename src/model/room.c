/* What a model lets go of, so that it stays within its share of the memory. */
#include "model/node_cache.h"

/* Groups with consolidated metadata and the root stay: they cost the most to look at again, and say
 * whether the store still lives. */
static bool
may_forget(const struct cached_node *p, bool listings)
{
	bool held = p->node && atomic_load(&p->node->refs) > 1;
	bool listing = p->listed && clock_now() < p->listed->due;
	return !held && !p->busy && !p->con && *p->path && (listings || !listing);
}

static size_t
bytes(const struct model *m)
{
	return m->bytes + m->by_path.n * sizeof(struct cached_node);
}

/* What may be let go of, by and by. */
static size_t
loose(const struct model *m)
{
	return bytes(m) - m->con_bytes;
}

void
node_cache_make_room(struct model *m)
{
	enum { STEPS = 16 }; /* for one that comes: what is held is passed over */
	size_t most = m->opt.nodes_max;
	for (unsigned i = 0; most && i < STEPS && m->oldest && loose(m) > most; i++) {
		struct cached_node *p = m->oldest;
		size_t before = bytes(m);
		if (may_forget(p, false))
			node_cache_forget(m, p);
		else
			node_cache_renew(m, p);
		m->dropped += before - bytes(m);
	}
}

/* Lock held. What is left. */
static size_t
forget(struct model *m, bool listings)
{
	for (struct map_entry *e = map_walk(&m->by_path, NULL), *next; e; e = next) {
		struct cached_node *p = MAP_OF(e, struct cached_node, by_path);
		next = map_walk(&m->by_path, e);
		if (may_forget(p, listings))
			node_cache_forget(m, p);
	}
	return bytes(m);
}

/* A listing, by which the objects of a large directory are known, goes only where that is what
 * takes the memory. */
size_t
model_trim(struct model *m)
{
	size_t before = 0, after = 0;
	LOCKED(&m->lock) {
		before = bytes(m);
		after = forget(m, false);
		if (after > before / 2)
			after = forget(m, true);
	}
	return before - after;
}

size_t
model_bytes(struct model *m)
{
	size_t n = 0;
	LOCKED(&m->lock)
		n = bytes(m);
	return n;
}

size_t
model_dropped(struct model *m)
{
	size_t n = 0;
	LOCKED(&m->lock)
		n = m->dropped;
	return n;
}

size_t
model_loose_bytes(struct model *m)
{
	size_t n = 0;
	LOCKED(&m->lock)
		n = loose(m);
	return n;
}
