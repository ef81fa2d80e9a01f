/* Loading a chunk, or a part of it, from all of its stored bytes, which may be cached themselves. */
#include "data/load_impl.h"

#include "base/pool.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* What was made to keep stored bytes is to keep none. */
static void
keep_none(struct cache *c, struct piece *kept)
{
	piece_fail(kept, err_set(-EAGAIN, "not kept"));
	cache_finish(c, &kept, 1);
}

/* The piece that keeps the chunk's stored bytes: ready, or made and to be filled. NULL: they are not kept. Who does not keep them may
 * find that another reader does. */
static struct piece *
kept_piece(struct load *l, bool *ret_new)
{
	struct array *a = l->array;
	size_t likely = atomic_load(&a->encoded_mean);
	int64_t now = when_now();
	struct cache_ask ask = {
		.id = {a->space, l->piece->id.chunk, PIECE_ENCODED, likely ? likely : 1},
		.hurry = l->keep == KEEP_SPARE ? CACHE_PREFETCH : CACHE_TRY,
		.keep = true,
		.only_there = !l->keep,
		.now = now,
		.fresh = data_fresh(a->data, now),
		.since = l->piece->since,
	};
	struct piece *p = NULL;
	int r = cache_get(a->data->cache, &ask, &p);
	if (r == CACHE_CREATED && p->superseded != l->piece->superseded) {
		keep_none(a->data->cache, p); /* another version was found meanwhile */
		cache_unpin(a->data->cache, &p, 1);
		r = -EAGAIN;
	}
	*ret_new = r == CACHE_CREATED;
	if (*ret_new)
		p->keep = l->keep;
	if (r == CACHE_BUSY) {
		pool_blocking(); /* for one who may need this place to go on */
		if (cache_wait(a->data->cache, p, ask.since, l->deadline, NULL) == 0)
			r = CACHE_READY;
		pool_unblocking();
	}
	if (r < 0 || r == CACHE_CREATED || (r == CACHE_READY && p->data))
		return r < 0 ? NULL : p;
	cache_unpin(a->data->cache, &p, 1);
	return NULL;
}

/* Fills a new piece with what was fetched, or says that there was nothing. Returns r. */
static int
fill_kept(struct load *l, struct piece *kept, struct buf *from, int r)
{
	struct err why;
	err_save(r, &why);
	if (r == 0) {
		memcpy(kept->version, l->stat.version, sizeof kept->version);
		kept->encoded_len = from->len;
		kept->data = from->data;
		kept->cap = from->cap;
		*from = (struct buf){0};
		kept->begun = l->piece->begun;
		l->changed |= cache_found(l->array->data->cache, kept);
		cache_finish(l->array->data->cache, &kept, 1);
	} else {
		keep_none(l->array->data->cache, kept);
	}
	return err_restore(&why);
}

/* The store says that the stored bytes which were kept are still right. */
static int
same_as_before(struct load *l, const struct piece *prev, struct buf *into)
{
	int r = buf_add(into, prev->data, prev->encoded_len);
	memcpy(l->stat.version, prev->version, sizeof l->stat.version);
	load_count(&l->array->data->counts.revalidated, r == 0);
	return r;
}

/* All stored bytes of the chunk: from the encoded tier (*ret_kept is pinned), or from the store. */
static int
fetch_encoded(struct load *l, struct buf *into, struct piece **ret_kept)
{
	bool new = false, looks = (l->keep || l->array->remote) && !l->anew;
	struct piece *kept = looks ? kept_piece(l, &new) : NULL;
	*ret_kept = kept;
	if (kept && !new) {
		memcpy(l->stat.version, kept->version, sizeof kept->version);
		l->piece->begun = kept->begun; /* what is made of it is as old */
		return 0;
	}
	struct zmap_get g = {.into = into, .max = l->array->encoded_max};
	bool known = kept && (kept->superseded || kept->prev);
	load_conditions(known ? kept : l->piece, &g);
	int r = load_get(l, &g);
	if (r == ZMAP_SAME && kept && kept->prev)
		r = same_as_before(l, kept->prev, into);
	return kept ? fill_kept(l, kept, into, r) : r;
}

/* The last pass over the chunk needs its stored bytes no more, what was kept as spare nobody, and bad ones may be good when they are sent
 * again. */
static void
release_kept(struct load *l, struct piece *kept)
{
	struct cache *c = l->array->data->cache;
	if (!kept)
		return;
	if (l->bad) {
		cache_reject(c, kept);
		return;
	}
	const struct piece_id *id = &l->piece->id;
	bool last = id->off + id->len == l->array->grid.chunk_bytes,
	     done = kept->keep == KEEP_SPARE || (l->keep == KEEP_FOR_PASS && last);
	cache_unpin(c, &kept, 1);
	if (done)
		cache_cool(
			c, &(struct piece_id){id->space, id->chunk, PIECE_ENCODED, 0}, 1, COOL_ALL);
}

/* The whole chunk, decoded. There is no memory for it before it is known to be there: it may be a very large hole. */
static int
decode_all(struct load *l, struct buf *out)
{
	struct array *a = l->array;
	CLEAN(buf_free) struct buf enc = {0};
	struct piece *kept = NULL;
	if (a->raw) {
		struct zmap_get g = {.into = out, .max = a->grid.chunk_bytes};
		load_conditions(l->piece, &g);
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
			r = load_decoded(l, codec_chain_decode(a->chain, NULL, in, out));
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
	struct piece *kept = NULL;
	int r = load_room(l, &out);
	if (r == 0)
		r = fetch_encoded(l, &enc, &kept);
	if (r == 0) {
		struct codec_src src = {
			kept ? kept->encoded_len : enc.len, kept ? kept->data : enc.data, NULL};
		load_learn_size(a, src.size);
		r = load_check_found(l);
		if (r == 0)
			r = load_decoded(l, codec_chain_decode_range(a->chain, &src,
						    l->piece->id.off, l->piece->id.len, out.data));
		load_count(&a->data->counts.decodes, 1);
		load_count(&a->data->counts.decoded_bytes, l->piece->id.len);
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
	memcpy(out.data, all.data + l->piece->id.off, l->piece->id.len);
	load_hand_over(l, &out);
	return 0;
}
