/* Loading part of a chunk by fetching and decoding only that. */
#include "data/load_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	HEAD = 4096,          /* of an object, asked for first … */
	HEAD_MOST = 64 << 10, /* … or all of it, if it is no larger than this */
};

/* A chunk that is read in parts, all of one object: of one version, and of one size where the store
 * names none. */
struct parted {
	struct codec_src src;
	struct load *load;
	struct buf head;
	char version[ZMAP_VERSION];
	uint64_t object_size;
	bool changed, missed; /* missed: a part did not come */
};

static bool
is_other(const struct parted *o)
{
	const struct load *l = o->load;
	return l->object_size != o->object_size || l->stat.size != o->src.size ||
	       strcmp(l->stat.version, o->version) != 0;
}

static int
read_part(struct codec_src *src, uint64_t off, size_t len, void *out)
{
	struct parted *o = (struct parted *)src;
	if (off > src->size || len > src->size - off)
		return err_set(-EIO, "truncated");
	if (off + len <= o->head.len) {
		memcpy(out, o->head.data + off, len);
		return 0;
	}
	CLEAN(buf_free) struct buf part = {0};
	struct zmap_get g = {.off = off,
		.len = len,
		.into = &part,
		.max = len,
		.unplaced = true, /* the head's answer was looked at */
		.if_match = *o->version ? o->version : NULL};
	int r = load_get(o->load, &g);
	bool other = r == ZMAP_CHANGED || r == ZMAP_ABSENT || (r == 0 && is_other(o));
	o->missed |= r != 0 || other;
	if (other) {
		o->changed = true;
		return err_set(-EIO, "object changed while it was read");
	}
	if (r == 0 && part.len != len)
		r = err_set(-EIO, "truncated");
	if (r == 0)
		memcpy(out, part.data, len);
	return r;
}

static int
decode_part(struct load *l, struct parted *o, struct buf *out)
{
	struct array *a = l->array;
	size_t grain = 0;
	if (!atomic_load(&a->grain) && codec_chain_grain(a->chain, &o->src, &grain) == 0 && grain)
		atomic_store(&a->grain, grain);
	int r = codec_chain_decode_range(
		a->chain, &o->src, l->extent->id.off, l->extent->id.len, out->data);
	load_count(&a->data->counts.decodes, 1);
	load_count(&a->data->counts.decoded_bytes, l->extent->id.len);
	return o->missed ? r : load_decoded(l, r);
}

static size_t
head_size(const struct array *a)
{
	size_t mean = atomic_load_explicit(&a->encoded_mean, memory_order_relaxed);
	size_t likely = mean + mean / 2;
	return likely > HEAD && likely <= HEAD_MOST ? likely : HEAD;
}

/* A part by fetching and decoding only that. */
int
load_range(struct load *l)
{
	CLEAN(buf_free) struct buf out = {0};
	int r = load_room(l, &out);
	for (int i = 0; i < VERSION_TRIES && r == 0; i++) {
		struct parted o = {.src.read = read_part, .load = l};
		size_t head = head_size(l->array);
		struct zmap_get g = {.len = head, .into = &o.head, .max = head};
		load_conditions(l->extent, &g);
		r = load_get(l, &g);
		o.src.size = l->stat.size;
		if (r == 0)
			load_learn_size(l->array, l->stat.size);
		if (r == 0 && o.head.len == l->stat.size)
			o.src.mem = o.head.data;
		o.object_size = l->object_size;
		memcpy(o.version, l->stat.version, sizeof o.version);
		if (r == 0)
			r = load_check_found(l);
		if (r == 0)
			r = decode_part(l, &o, &out);
		buf_free(&o.head);
		if (!o.changed)
			break;
		r = i + 1 < VERSION_TRIES ? 0 : r;
	}
	if (r == 0)
		load_hand_over(l, &out);
	return r;
}

/* A part of a chunk that is stored as it is. */
int
load_raw_range(struct load *l)
{
	const struct extent_id *id = &l->extent->id;
	CLEAN(buf_free) struct buf out = {0};
	struct zmap_get g = {.off = id->off, .len = id->len, .into = &out, .max = id->len};
	int r = load_room(l, &out);
	load_conditions(l->extent, &g);
	if (r == 0)
		r = load_get(l, &g);
	if (r == 0 && l->stat.size != l->array->grid.chunk_bytes)
		r = load_decoded(l, err_set(-EIO, "chunk has %" PRIu64 " bytes instead of %" PRIu64,
					    l->stat.size, l->array->grid.chunk_bytes));
	if (r == 0 && out.len != id->len)
		r = load_decoded(l, err_set(-EIO, "truncated"));
	if (r == 0)
		r = load_check_found(l);
	if (r == 0)
		load_hand_over(l, &out);
	return r;
}
