/* What the options of a mount mean for its parts: how memory and the time that answers count are
 * shared between them. */
#include "view/mount.h"

#include "base/check.h"
#include "data/limits.h"
#include "view/state.h"

enum {
	META_LEAST = 64 << 20, /* bytes */
	NODES_SHARE = 8,       /* of the memory … */
	NODES_MOST = 32 << 20, /* … but no more than this */
};

/* Rights that were given are seen after that, also where answers count for longer. */
static const int64_t DENIED_FOR = 10 * SECOND;

/* Each connection takes memory that is not counted: fewer where there is little. */
static unsigned
connections(const struct mount_options *o)
{
	enum { LEAST = 32, MEMORY_EACH = 8 << 20 };
	size_t memory = o->data.memory ? o->data.memory : limits_memory();
	unsigned most = (unsigned)min_u64(max_u64(memory / MEMORY_EACH, LEAST), UINT32_MAX);
	return o->zmap.connections && o->zmap.connections < most ? o->zmap.connections : most;
}

void
mount_set_options(struct mount *m, const struct mount_options *o)
{
	m->options = *o;
	m->options.model.mode |= m->url.mode;
	m->options.zmap.cache_ttl = o->data.ttl;
	m->options.zmap.containers = true;
	m->options.zmap.writable = o->rw;
	m->options.data.delete_empty = o->empty_chunks == EMPTY_DELETE;
	m->options.zmap.ttl = o->data.ttl;
	m->options.zmap.memory = o->data.memory;
	m->options.zmap.connections = connections(o);
	int64_t left = o->data.ttl;
	if (o->zmap.cache_dir && left != INT64_MAX) { /* a third of the time it may lie on disk */
		m->options.zmap.cache_ttl = left / 3;
		left -= left / 3;
		m->options.model.ttl = left;
	} else if (*m->url.below && left != INT64_MAX) { /* or, but for metadata, with an archive */
		m->options.zmap.cache_ttl = left / 3;
		left -= left / 3;
	}
	/* A chunk that was cached for half of the time may lie in the kernel for the other half. */
	m->options.data.ttl = left == INT64_MAX ? left : left / 2;
	m->pages_ttl = m->options.data.ttl;
	m->facts.denied_for = m->pages_ttl < DENIED_FOR ? m->pages_ttl : DENIED_FOR;
	/* One object of metadata takes no more than all of the memory that there may be. */
	size_t memory = m->options.data.memory ? m->options.data.memory : limits_memory();
	size_t meta_max = memory > META_LEAST ? memory : META_LEAST;
	if (m->options.model.meta_max > meta_max)
		m->options.model.meta_max = meta_max;
	m->options.model.nodes_max =
		memory / NODES_SHARE < NODES_MOST ? memory / NODES_SHARE : NODES_MOST;
}

/* A listing that a hostile server never ends takes no more than a part of the memory; the rest is
 * for what else there is. */
size_t
mount_list_max(const struct mount *m)
{
	enum { PART = 2 };
	const size_t memory = m->options.data.memory;
	return (memory ? memory : limits_memory()) / PART;
}
