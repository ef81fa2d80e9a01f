/* Arrays over a mem store that are written to, and the plain buffer that they must be equal to. */
#pragma once

#include "check.h"
#include "store.h"

#include "data/array.h"

enum { WRITTEN_RANK = 3, WRITTEN_CODECS = 4 };

/* How an array is stored. */
struct written_kind {
	const char *name;
	struct dtype dtype;
	const char *codec[WRITTEN_CODECS][2]; /* id and configuration */
	bool sharded;
};

/* One mount's side of an array. */
struct written {
	struct zmap *zmap;
	struct data *data;
	struct array *array;
	struct stream *stream;
};

/* The array, of all that write to it. */
struct written_array {
	const struct written_kind *kind;
	struct array_meta meta;
	uint64_t shape[WRITTEN_RANK], chunk[WRITTEN_RANK], shard[WRITTEN_RANK];
	struct codec_spec codec[WRITTEN_CODECS];
	uint8_t fill[16];
	uint8_t *flat; /* what it must be, elements in C order */
	size_t bytes;
	uint32_t seed;
	bool may_fail; /* reading: but never be wrong */
};

static inline uint64_t
written_pick(struct written_array *w, uint64_t from, uint64_t to)
{
	return from + check_random(&w->seed) % (to - from + 1);
}

/* Bytes that an array of this kind can hold, n of them from byte `off` on. */
static inline void
written_values(struct written_array *w, uint64_t off, uint8_t *to, size_t n)
{
	const struct dtype *d = &w->meta.dtype;
	bool text = d->kind == DTYPE_VLEN_TEXT || d->kind == DTYPE_VLEN_BYTES;
	for (size_t i = 0; i < n; i++) {
		to[i] = (uint8_t)check_random(&w->seed);
		if (d->kind == DTYPE_BOOL)
			to[i] &= 1;
		if (text)
			to[i] = to[i] % 3 ? (uint8_t)('a' + to[i] % 26) : 0;
	}
}

static inline void
written_fill(struct written_array *w, uint8_t *to, size_t n)
{
	size_t item = w->meta.dtype.size;
	for (size_t i = 0; i < n; i++)
		to[i] = w->fill[i % item];
}

static inline uint64_t
written_count(const struct written_array *w)
{
	uint64_t n = 1;
	for (unsigned d = 0; d < w->meta.rank; d++)
		n *= w->shape[d];
	return n;
}

static inline void
written_any_shape(struct written_array *w, uint64_t longest)
{
	w->meta.rank = (unsigned)written_pick(w, 1, WRITTEN_RANK);
	for (unsigned d = 0; d < w->meta.rank; d++) {
		w->shape[d] = written_pick(w, 1, longest);
		w->chunk[d] = written_pick(w, 1, w->shape[d] + 2);
		w->shard[d] = w->chunk[d] * written_pick(w, 1, 3);
	}
}

static inline void
written_codecs(struct written_array *w)
{
	char shard[512];
	if (w->kind->sharded) {
		int n = snprintf(shard, sizeof shard, "{\"chunk_shape\": [");
		for (unsigned d = 0; d < w->meta.rank; d++)
			n += snprintf(shard + n, sizeof shard - (size_t)n, "%s%d", d ? ", " : "",
				(int)w->chunk[d]);
		snprintf(shard + n, sizeof shard - (size_t)n, "], %s}", w->kind->codec[0][1]);
		w->meta.shard = w->shard;
	}
	for (size_t i = 0; i < WRITTEN_CODECS && w->kind->codec[i][0]; i++) {
		const char *config = w->kind->sharded ? shard : w->kind->codec[i][1];
		w->codec[i].id = (char *)w->kind->codec[i][0];
		if (config)
			CHECK_INT(json_parse(config, strlen(config), &w->codec[i].config), 0);
		w->meta.ncodecs++;
	}
}

struct written_shape {
	unsigned rank;
	uint64_t shape[WRITTEN_RANK], chunk[WRITTEN_RANK], shard[WRITTEN_RANK];
};

/* shape NULL: any, from what the seed says. */
static inline void
written_make(struct written_array *w, const struct written_shape *s, uint64_t longest)
{
	const struct dtype *d = &w->kind->dtype;
	w->meta = (struct array_meta){.shape = w->shape,
		.chunk = w->chunk,
		.separator = '.',
		.key_form = '2',
		.codec = w->codec,
		.fill = w->fill,
		.dtype = *d};
	if (d->kind != DTYPE_VLEN_TEXT && d->kind != DTYPE_VLEN_BYTES)
		written_values(w, 0, w->fill, sizeof w->fill);
	if (s) {
		w->meta.rank = s->rank;
		memcpy(w->shape, s->shape, sizeof w->shape);
		memcpy(w->chunk, s->chunk, sizeof w->chunk);
		memcpy(w->shard, s->shard, sizeof w->shard);
	} else {
		written_any_shape(w, longest);
	}
	written_codecs(w);
	w->bytes = written_count(w) * w->meta.dtype.size;
	w->flat = malloc(w->bytes);
	written_fill(w, w->flat, w->bytes);
}

static inline void
written_begin(
	struct written_array *w, const struct written_kind *k, uint32_t seed, uint64_t longest)
{
	*w = (struct written_array){.kind = k, .seed = seed};
	written_make(w, NULL, longest);
}

static inline void
written_begin_as(
	struct written_array *w, const struct written_kind *k, const struct written_shape *s)
{
	*w = (struct written_array){.kind = k, .seed = 3};
	written_make(w, s, 0);
}

static inline void
written_end(struct written_array *w)
{
	for (size_t i = 0; i < w->meta.ncodecs; i++)
		json_free(w->codec[i].config);
	free(w->flat);
}

static inline void
written_array_open(struct written_array *w, struct written *side)
{
	struct array *was = side->array;
	stream_free(side->stream);
	CHECK_INT(
		array_open(side->data, side->zmap, "v", &w->meta, w->meta.dtype.size, &side->array),
		0);
	CHECK_INT(stream_new(side->array, &side->stream), 0);
	array_unref(was);
}

static inline void
written_open(
	struct written_array *w, struct zmap *z, const struct data_options *o, struct written *ret)
{
	*ret = (struct written){.zmap = z};
	CHECK_INT(data_new(o, &ret->data), 0);
	written_array_open(w, ret);
}

static inline void
written_close(struct written *side)
{
	stream_free(side->stream);
	array_unref(side->array);
	data_free(side->data);
}

static inline struct array_want
written_want(uint64_t off, size_t len)
{
	return (struct array_want){.off = off, .len = len, .deadline = clock_now() + 60 * SECOND};
}

/* Reads and compares. Did it go well? */
static inline bool
written_same(struct written_array *w, struct written *side, uint64_t off, size_t len)
{
	struct reply r = {0};
	struct array_want want = written_want(off, len);
	int e = stream_read(side->stream, &want, &r);
	if (e < 0 && w->may_fail)
		return true;
	CHECK_INT(e, 0);
	uint8_t *got = malloc(len + 1);
	bool same = e == 0 && r.len == len;
	if (same)
		reply_copy(&r, got);
	same = same && !memcmp(got, w->flat + off, len);
	for (size_t i = 0; e == 0 && !same && i < len; i++)
		if (got[i] != w->flat[off + i]) {
			fprintf(stderr, "%s: byte %ju is %u, not %u\n", w->kind->name,
				(uintmax_t)(off + i), got[i], w->flat[off + i]);
			break;
		}
	CHECK(same);
	free(got);
	reply_done(&r);
	return same;
}

/* Writes to the array, and to the buffer if that went well. */
static inline int
written_write(struct written_array *w, struct written *side, uint64_t off, size_t len)
{
	uint8_t *bytes = malloc(len + 1);
	struct array_want want = written_want(off, len);
	written_values(w, off, bytes, len);
	int r = array_write(side->array, &want, bytes);
	if (r == 0)
		memcpy(w->flat + off, bytes, len);
	free(bytes);
	return r;
}

static inline uint64_t
written_stat(struct written *side, const char *name)
{
	CLEAN(buf_free) struct buf b = {0};
	CHECK_INT(data_stats(side->data, &b), 0);
	CHECK_INT(buf_terminate(&b), 0);
	const char *at = strstr((char *)b.data, name);
	CHECK(at);
	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}
