/* "codecs" of Zarr V3 made into the list of codecs of an array. */
#include "base/err.h"
#include "model/meta.h"
#include "model/narrow.h"

#include <errno.h>
#include <string.h>

/* The elements' byte order, which `bytes` says of types that have one (V3 spec, "Bytes codec"). */
static int
take_order(const struct codec_specs *s, struct dtype *t)
{
	bool vlen = t->kind == DTYPE_VLEN_TEXT || t->kind == DTYPE_VLEN_BYTES;
	if (vlen && !s->vlen)
		return err_set(-EINVAL, "no codec for elements of varying length");
	/* Of structured types old writers said nothing, and meant the usual one. */
	bool has = t->narrow ? narrow_size(t->narrow) > 1 : dtype_has_order(t);
	if (s->order == CODEC_ORDER_UNSAID && has && t->kind != DTYPE_STRUCT)
		return err_set(-EINVAL, "codec 'bytes' says no 'endian'");
	if (!vlen)
		dtype_set_order(t, s->order == CODEC_ORDER_BIG);
	return 0;
}

/* Can all codecs before the last be run on each chunk of a shard as well as on the whole of it? So
 * where they take each element by itself, and give missing ones back as they are. 1, 0 or
 * -ENOMEM. */
static int
may_move_in(const struct array_meta *a)
{
	static const uint64_t one = 1;
	const struct form f = {.dtype = &a->dtype,
		.rank = 1,
		.shape = &one,
		.count = 1,
		.bytes = a->dtype.size,
		.exact = true,
		.fill = a->fill_error ? NULL : a->fill};
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	if (a->ncodecs == 1)
		return 1;
	int r = f.bytes ? codec_chain_open(a->codec, a->ncodecs - 1, &f, &c) : -EINVAL;
	r = r < 0 ? r : codec_chain_keeps_fill(c);
	return r < 0 && r != -ENOMEM ? 0 : r;
}

int
shards_v3(struct array_meta *a)
{
	uint64_t chunk[RANK_MAX], chunks = 1;
	const struct codec_spec *last = a->ncodecs ? &a->codec[a->ncodecs - 1] : NULL;
	bool shard = last && !strcmp(last->id, "sharding_indexed") && last->config;
	const struct json *shape = shard ? json_get(last->config, "chunk_shape") : NULL;
	bool list = shape && json_type(shape) == JSON_TYPE_LIST && json_count(shape) == a->rank;
	if (a->edges || !list)
		return 0;
	for (unsigned i = 0; i < a->rank; i++) {
		if (json_uint(json_at(shape, i), &chunk[i]) < 0 || !chunk[i] ||
			a->chunk[i] % chunk[i])
			return 0;
		chunks = a->chunk[i] / chunk[i] > 1 ? 2 : chunks;
	}
	if (chunks == 1)
		return 0;
	int r = may_move_in(a);
	if (r <= 0)
		return r;
	a->shard = calloc(a->rank, sizeof *a->shard);
	if (!a->shard)
		return err_set(-ENOMEM, "no memory for an array");
	memcpy(a->shard, a->chunk, a->rank * sizeof *a->shard);
	memcpy(a->chunk, chunk, a->rank * sizeof *chunk);
	return 0;
}

int
codecs_v3(const struct json *list, struct array_meta *a)
{
	struct codec_specs s = {0};
	int r = codec_specs_v3(list, false, &s);
	if (r == 0)
		r = take_order(&s, &a->dtype);
	if (r < 0) {
		codec_specs_free(&s);
		return r;
	}
	a->codec = s.spec;
	a->ncodecs = s.n;
	return 0;
}
