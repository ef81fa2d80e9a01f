/* Loading a chunk, or a part of it, from all of its stored bytes, which may be cached themselves. */
#include "data/load_impl.h"

#include "base/pool.h"
#include "data/uneven.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What was made to keep stored bytes is to keep none. */
static void
keep_none(struct cache *c, struct extent *kept)
{
	extent_fail(kept, err_set(-EAGAIN, "not kept"));
	cache_finish(c, &kept, 1);
}

struct extent *
load_stored(
	struct load *l, const struct extent_id *id, enum keep keep, int64_t fresh, bool *ret_new)
{
	struct array *a = l->array;
	struct cache_request ask = {
		.id = *id,
		.hurry = keep == KEEP_SPARE ? CACHE_PREFETCH : CACHE_TRY,
		.keep = true,
		.only_there = !keep,
		.now = clock_now(),
		.fresh = fresh,
		.begun = a->grown,
		.since = l->extent->since,
	};
	struct extent *p = NULL;
	int r = cache_get(a->data->cache, &ask, &p);
	if (r == CACHE_CREATED && p->superseded != l->extent->superseded) {
		keep_none(a->data->cache, p); /* another version was found meanwhile */
		cache_unpin(a->data->cache, &p, 1);
		r = -EAGAIN;
	}
	*ret_new = r == CACHE_CREATED;
	if (*ret_new)
		p->keep = keep;
	if (r == CACHE_BUSY) {
		pool_blocking(); /* for a load that may need this place to go on */
		if (cache_wait(a->data->cache, p, ask.since, l->deadline, NULL) == 0)
			r = CACHE_READY;
		pool_unblocking();
	}
	if (r < 0 || r == CACHE_CREATED || (r == CACHE_READY && p->data))
		return r < 0 ? NULL : p;
	cache_unpin(a->data->cache, &p, 1);
	return NULL;
}

int
load_fill_stored(struct load *l, struct extent *kept, struct buf *from, int r)
{
	struct err why;
	err_save(r, &why);
	if (r == 0) {
		memcpy(kept->version, l->stat.version, sizeof kept->version);
		kept->encoded_len = from->len;
		kept->data = from->data;
		kept->cap = from->cap;
		*from = (struct buf){0};
		kept->begun = l->extent->begun;
		load_found(l, kept);
		cache_finish(l->array->data->cache, &kept, 1);
	} else {
		keep_none(l->array->data->cache, kept);
	}
	return err_restore(&why);
}

/* The extent that keeps the chunk's stored bytes. A load that keeps none may find that another reader does. */
static struct extent *
kept_extent(struct load *l, bool *ret_new)
{
	size_t likely = atomic_load(&l->array->encoded_mean);
	const struct extent_id id =
		array_extent(l->array, l->extent->id.chunk, EXTENT_ENCODED, likely ? likely : 1);
	return load_stored(l, &id, l->keep, array_fresh(l->array, clock_now()), ret_new);
}

/* The store says that the stored bytes which were kept are still right. */
static int
same_as_before(struct load *l, const struct extent *prev, struct buf *into)
{
	int r = buf_add(into, prev->data, prev->encoded_len);
	memcpy(l->stat.version, prev->version, sizeof l->stat.version);
	load_count(&l->array->data->counts.revalidated, r == 0);
	return r;
}

/* All stored bytes of the chunk: from the encoded tier (*ret_kept is pinned), or from the store. */
static int
fetch_encoded(struct load *l, struct buf *into, struct extent **ret_kept)
{
	bool new = false, looks = (l->keep || l->array->remote) && !l->anew;
	struct extent *kept = looks ? kept_extent(l, &new) : NULL;
	*ret_kept = kept;
	if (kept && !new) {
		memcpy(l->stat.version, kept->version, sizeof kept->version);
		l->extent->begun = kept->begun; /* what is made of it is as old */
		return 0;
	}
	struct zmap_get g = {.into = into, .max = l->array->encoded_max};
	bool known = kept && (kept->superseded || kept->prev);
	load_conditions(known ? kept : l->extent, &g);
	int r = load_get(l, &g);
	if (r == ZMAP_SAME && kept && kept->prev)
		r = same_as_before(l, kept->prev, into);
	return kept ? load_fill_stored(l, kept, into, r) : r;
}

/* The last pass over the chunk needs its stored bytes no more, no reader needs what was kept as spare, and bad ones may be good when they are sent
 * again. */
static void
release_kept(struct load *l, struct extent *kept)
{
	struct cache *c = l->array->data->cache;
	if (!kept)
		return;
	if (l->bad) {
		cache_reject(c, kept);
		return;
	}
	const struct extent_id *id = &l->extent->id,
			       stored = array_extent(l->array, id->chunk, EXTENT_ENCODED, 0);
	bool last = id->off + id->len == l->array->grid.chunk_bytes,
	     done = kept->keep == KEEP_SPARE || (l->keep == KEEP_FOR_PASS && last);
	cache_unpin(c, &kept, 1);
	if (done)
		cache_cool(c, &stored, 1, COOL_ALL);
}

/* The whole chunk, decoded. There is no memory for it before it is known to be there: it may be a very large hole. */
static int
decode_all(struct load *l, struct buf *out)
{
	struct array *a = l->array;
	CLEAN(buf_free) struct buf enc = {0};
	struct extent *kept = NULL;
	if (a->raw) {
		struct zmap_get g = {.into = out, .max = a->grid.chunk_bytes};
		load_conditions(l->extent, &g);
		int r = load_get(l, &g);
		if (r == 0 && out->len != a->grid.chunk_bytes)
			r = load_decoded(l, err_set(-EIO, "chunk has %zu bytes instead of %" PRIu64,
						    out->len, a->grid.chunk_bytes));
		return r;
	}
	int r = fetch_encoded(l, &enc, &kept);
	if (r == 0) {
		struct span in =
			kept ? (struct span){kept->data, kept->encoded_len} : buf_span(&enc);
		load_learn_size(a, in.len);
		r = load_check_found(l);
		if (r == 0)
			r = buf_reserve(out, a->grid.chunk_bytes);
		if (r == 0)
			r = load_decoded(l, uneven_decode(a, l->extent->id.chunk, in, out));
		load_count(&a->data->counts.decodes, 1);
		load_count(&a->data->counts.decoded_bytes, a->grid.chunk_bytes);
	}
	release_kept(l, kept);
	return r;
}

int
load_whole(struct load *l)
{
	CLEAN(buf_free) struct buf out = {0};
	int r = decode_all(l, &out);
	if (r == 0 && l->array->raw)
		r = load_check_found(l);
	if (r == 0)
		load_hand_over(l, &out);
	return r;
}

int
load_kept_range(struct load *l)
{
	struct array *a = l->array;
	CLEAN(buf_free) struct buf enc = {0}, out = {0};
	struct extent *kept = NULL;
	int r = load_room(l, &out);
	if (r == 0)
		r = fetch_encoded(l, &enc, &kept);
	if (r == 0) {
		struct codec_src src = {
			kept ? kept->encoded_len : enc.len, kept ? kept->data : enc.data, NULL};
		load_learn_size(a, src.size);
		r = load_check_found(l);
		if (r == 0)
			r = load_decoded(
				l, codec_chain_decode_range(a->chain, &src, l->extent->id.off,
					   l->extent->id.len, out.data));
		load_count(&a->data->counts.decodes, 1);
		load_count(&a->data->counts.decoded_bytes, l->extent->id.len);
	}
	release_kept(l, kept);
	if (r == 0)
		load_hand_over(l, &out);
	return r;
}

int
load_slice(struct load *l)
{
	CLEAN(buf_free) struct buf all = {0}, out = {0};
	int r = decode_all(l, &all);
	if (r == 0)
		r = load_room(l, &out);
	if (r != 0)
		return r;
	memcpy(out.data, all.data + l->extent->id.off, l->extent->id.len);
	load_hand_over(l, &out);
	return 0;
}
