/* Stored bytes for a load: asking the store, and how long it takes. */
#include "data/load_impl.h"

#include "base/check.h"

#include <errno.h>

enum { HOLD_FROM = 128 << 10 /* chunks that come to the kernel in several requests */ };

static void
learn_time(struct array *a, int64_t took)
{
	int64_t mean = atomic_load_explicit(&a->fetch_time, memory_order_relaxed);
	atomic_store_explicit(&a->fetch_time, max_u64(1, mean ? mean - mean / 8 + took / 8 : took),
		memory_order_relaxed);
}

/* A store that may be a disk or a network's file system: as long as it answers like a disk, no
 * other thread takes this one's place. */
static int
ask_other(struct load *l, struct zmap_get *g)
{
	struct array *a = l->array;
	bool slow = array_slow(a);
	int64_t began = clock_now();
	if (slow)
		pool_blocking();
	int r = zmap_get(a->zmap, g, &l->stat);
	if (r == 0)
		learn_time(a, clock_now() - began);
	if (slow)
		pool_unblocking();
	return r;
}

/* Local disks answer sooner than threads change places. */
static int
ask_store(struct load *l, struct zmap_get *g)
{
	struct array *a = l->array;
	if (a->prompt)
		return zmap_get(a->zmap, g, &l->stat);
	if (!a->remote)
		return ask_other(l, g);
	int64_t began = clock_now();
	g->local_only = a->zmap->caps & ZMAP_LOCAL_COPIES;
	int r = g->local_only ? zmap_get(a->zmap, g, &l->stat) : ZMAP_NOT_LOCAL;
	bool far = r == ZMAP_NOT_LOCAL;
	if (far && g->local_only)
		load_check_begin(l);
	g->local_only = false;
	if (far) {
		pool_blocking();
		r = zmap_get(a->zmap, g, &l->stat);
	}
	if (r == 0)
		learn_time(a, clock_now() - began);
	if (far)
		pool_unblocking();
	return r;
}

int
load_object(struct load *l, struct zmap_get *g)
{
	g->key = l->key;
	g->deadline = l->deadline;
	g->cancel = &l->cancel;
	g->ahead = &l->extent->ahead;
	g->bypass_cache = l->bypass_cache;
	g->of_array = true;
	g->pin_version = l->array->shard || l->array->grid.chunk_bytes > HOLD_FROM;
	struct zmap_chunk by;
	uint64_t index[RANK_MAX];
	g->chunk = array_chunk(l->array, l->extent->id.chunk, index, &by);
	size_t before = g->into->len;
	int r = ask_store(l, g);
	if (l->array->chunks_of) /* to find a chunk, the store may have read a table */
		data_count_tables(l->array->data, l->array->zmap);
	l->object_size = l->stat.size;
	load_count(&l->array->data->counts.fetches, 1);
	load_count(&l->array->data->counts.fetched_bytes, r == 0 ? g->into->len - before : 0);
	if (r == -EACCES && l->array->data->options.missing_403)
		return ZMAP_ABSENT;
	return r;
}

int
load_decoded(struct load *l, int r)
{
	l->bad = r == -EIO;
	return r;
}

void
load_conditions(const struct extent *p, struct zmap_get *g)
{
	if (p->superseded)
		g->if_match = p->version;
	else if (p->prev && *p->prev->version)
		g->if_none_match = p->prev->version;
}

void
load_learn_size(struct array *a, size_t encoded)
{
	size_t mean = atomic_load_explicit(&a->encoded_mean, memory_order_relaxed);
	size_t now = mean ? mean - mean / 8 + encoded / 8 : encoded;
	atomic_store_explicit(&a->encoded_mean, now ? now : 1, memory_order_relaxed);
}

void
load_probe_size(struct array *a, uint64_t chunk)
{
	char key[ARRAY_KEY_MAX];
	struct zmap_stat st;
	if (a->shard)
		return; /* its size is that of many chunks */
	if (array_chunk_key(a, chunk, key) == 0 && zmap_stat(a->zmap, key, &st) == 0)
		load_learn_size(a, st.size);
}
