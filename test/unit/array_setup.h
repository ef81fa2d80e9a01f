/* An array over a mem store with elements and chunks at random, and its file as it must be. */
#pragma once

#include "check.h"

#include "base/url.h"
#include "data/array.h"

struct setup {
	struct zmap *zmap;
	struct data *data;
	struct array *array;
	struct array_meta meta;
	uint64_t shape[RANK_MAX], chunk[RANK_MAX];
	uint8_t *flat; /* what the file must hold */
	size_t bytes;
	uint8_t fill[16];
};

static uint32_t seed = 1;

static inline uint64_t
pick(uint64_t from, uint64_t to)
{
	return from + check_random(&seed) % (to - from + 1);
}

/* Where element n of chunk `index` lies in the flat array; false: beyond its edge. */
static inline bool
in_array(const struct setup *s, const uint64_t *index, uint64_t n, uint64_t *ret)
{
	bool in = true;
	*ret = 0;
	for (uint64_t d = s->meta.rank, step = 1; d-- > 0; step *= s->shape[d]) {
		uint64_t i = n % s->chunk[d] + index[d] * s->chunk[d];
		n /= s->chunk[d];
		in &= i < s->shape[d];
		*ret += i * step;
	}
	return in;
}

/* Stores chunk `index` cut out of the flat array; edges padded with 0xee. */
static inline void
put_chunk(struct setup *s, const uint64_t *index, uint64_t chunk_items)
{
	size_t item = s->meta.dtype.size;
	uint8_t *c = malloc(chunk_items * item);
	memset(c, 0xee, chunk_items * item);
	for (uint64_t n = 0; n < chunk_items; n++) {
		uint64_t at;
		if (in_array(s, index, n, &at))
			memcpy(c + n * item, s->flat + at * item, item);
	}
	char key[256];
	int k = snprintf(key, sizeof key, "v/");
	for (unsigned d = 0; d < s->meta.rank; d++)
		k += snprintf(key + k, sizeof key - (size_t)k, "%s%d", d ? "." : "", (int)index[d]);
	if (!s->meta.rank)
		strcat(key, "0");
	CHECK_INT(zmap_put(s->zmap, &(struct zmap_put){key, {c, chunk_items * item}}, NULL), 0);
	free(c);
}

/* Chunk numbers that are left out read as the fill value. */
static inline void
blank_chunk(struct setup *s, const uint64_t *index, uint64_t chunk_items)
{
	size_t item = s->meta.dtype.size;
	for (uint64_t n = 0; n < chunk_items; n++) {
		uint64_t at;
		if (in_array(s, index, n, &at))
			memcpy(s->flat + at * item, s->fill, item);
	}
}

static inline void
make_chunks(struct setup *s)
{
	uint64_t chunks = 1, items = 1, index[RANK_MAX], n[RANK_MAX];
	for (unsigned d = 0; d < s->meta.rank; d++) {
		n[d] = (s->shape[d] + s->chunk[d] - 1) / s->chunk[d];
		chunks *= n[d];
		items *= s->chunk[d];
	}
	for (uint64_t c = 0; c < chunks; c++) {
		uint64_t rest = c;
		for (unsigned d = s->meta.rank; d-- > 0;) {
			index[d] = rest % n[d];
			rest /= n[d];
		}
		if (pick(0, 9) == 0)
			blank_chunk(s, index, items);
		else
			put_chunk(s, index, items);
	}
}

static inline void
setup_begin(struct setup *s, size_t memory, unsigned rank, uint64_t longest)
{
	static int number;
	static const uint32_t sizes[] = {1, 2, 4, 8, 16, 3};
	char name[64];
	struct url url;
	snprintf(name, sizeof name, "mem:array%d", number++);
	CHECK_INT(url_parse(name, &url), 0);
	CHECK_INT(zmap_open(&url, &(struct zmap_options){.writable = true}, &s->zmap), 0);
	url_free(&url);
	s->meta = (struct array_meta){.rank = rank,
		.shape = s->shape,
		.chunk = s->chunk,
		.separator = '.',
		.key_form = '2',
		.fill = s->fill};
	s->meta.dtype = (struct dtype){.kind = DTYPE_RAW, .size = sizes[pick(0, 5)]};
	uint64_t items = 1;
	for (unsigned d = 0; d < rank; d++) {
		s->shape[d] = pick(1, longest);
		s->chunk[d] = pick(0, 2) ? pick(1, s->shape[d] + 2) : pick(0, 1) ? s->shape[d] : 1;
		items *= s->shape[d];
	}
	for (size_t i = 0; i < sizeof s->fill; i++)
		s->fill[i] = (uint8_t)(0xf0 + i);
	s->bytes = items * s->meta.dtype.size;
	s->flat = malloc(s->bytes);
	for (size_t i = 0; i < s->bytes; i++)
		s->flat[i] = (uint8_t)check_random(&seed);
	make_chunks(s);
	CHECK_INT(data_new(&(struct data_options){.memory = memory, .workers = 2, .ttl = INT64_MAX},
			  &s->data),
		0);
	CHECK_INT(array_open(s->data, s->zmap, "v", &s->meta, 0, &s->array), 0);
	CHECK_INT(array_bytes(s->array), s->bytes);
}

static inline void
setup_end(struct setup *s)
{
	array_unref(s->array);
	data_free(s->data);
	zmap_close(s->zmap);
	free(s->flat);
}

static inline void
check_read(struct setup *s, struct stream *st, uint64_t off, size_t len)
{
	struct reply r = {0};
	uint8_t *got = malloc(len ? len : 1);
	int e = stream_read(st,
		&(struct array_want){.off = off, .len = len, .deadline = clock_now() + 30 * SECOND},
		&r);
	CHECK_INT(e, 0);
	CHECK_INT(r.len, len);
	if (e == 0 && r.len == len) {
		reply_copy(&r, got);
		if (memcmp(got, s->flat + off, len)) {
			check_failed++;
			fprintf(stderr,
				"bytes [%ju, +%zu) differ: rank %u, item %u:", (uintmax_t)off, len,
				s->meta.rank, s->meta.dtype.size);
			for (unsigned d = 0; d < s->meta.rank; d++)
				fprintf(stderr, " %ju/%ju", (uintmax_t)s->shape[d],
					(uintmax_t)s->chunk[d]);
			fprintf(stderr, "\n");
		}
	}
	reply_done(&r);
	free(got);
}
