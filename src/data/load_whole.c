/* Loading a chunk, or a part of it, from all of its stored bytes, which may be cached
 * themselves. */
#include "data/load_impl.h"

#include "base/pool.h"
#include "data/uneven.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The chunk's stored bytes, where they are kept. A load that keeps none may find that another
 * reader does. */
static int
find_kept(struct load *l, struct stored *ret)
{
	struct array *a = l->array;
	size_t likely = atomic_load(&a->encoded_mean);
	*ret = (struct stored){
		.id = array_extent(a, l->extent->id.chunk, EXTENT_ENCODED, likely ? likely : 1),
		.keep = l->keep,
		.fresh = array_fresh(a, clock_now()),
	};
	int r = load_stored(l, ret);
	if (r == 0 && ret->extent && !ret->new && !ret->extent->data) { /* an object of no bytes */
		cache_unpin(a->data->cache, &ret->extent, 1);
		ret->extent = NULL;
	}
	return r;
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
	bool looks = (l->keep || l->array->remote) && !l->bypass_cache;
	struct stored stored = {.extent = NULL};
	int r = looks ? find_kept(l, &stored) : 0;
	struct extent *kept = *ret_kept = stored.extent;
	if (r < 0)
		return r;
	if (kept && !stored.new) {
		memcpy(l->stat.version, kept->version, sizeof kept->version);
		l->stat.kept = l->array->zmap->caps & ZMAP_LOCAL_COPIES;
		l->extent->begun = kept->begun; /* what is made of it is as old */
		return 0;
	}
	struct zmap_get g = {.into = into, .max = l->array->encoded_max};
	bool known = kept && (kept->superseded || kept->prev);
	load_conditions(known ? kept : l->extent, &g);
	r = load_get(l, &g);
	if (r == ZMAP_SAME && kept && kept->prev)
		r = same_as_before(l, kept->prev, into);
	return kept ? load_fill_stored(l, kept, into, r) : r;
}

/* The last pass over the chunk needs its stored bytes no more, no reader needs what was kept as a
 * victim, and bad ones may be good when they are sent again. */
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
	     done = kept->keep == KEEP_AS_VICTIM || (l->keep == KEEP_FOR_PASS && last);
	cache_unpin(c, &kept, 1);
	if (done)
		cache_make_cold(c, &stored, 1, COLD_ALL);
}

/* The whole chunk, decoded. There is no memory for it before it is known to be there: it may be a
 * very large hole. */
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
