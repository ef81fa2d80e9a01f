#include "codec/shard.h"

#include "base/check.h"
#include "base/err.h"
#include "model/narrow.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENTRY = 16,
	INDEX_MAX = 1 << 30,
	SORT_MAX =
		2
		<< 20, /* chunks in no order that are looked at for overlaps: 32 MiB for a moment */
};

static const uint64_t MISSING = UINT64_MAX;

struct shard {
	struct form form;
	uint64_t shape[RANK_MAX], count[RANK_MAX];
	uint64_t chunks;
	struct codec_specs specs;
	struct codec_chain *chain;
	struct dtype number; /* of the index */
	uint64_t index_shape[RANK_MAX + 1];
	struct codec_specs index_specs;
	struct codec_chain *index_chain;
	size_t index_bytes; /* as stored */
	bool at_start;
};

struct shard *
shard_free(struct shard *s)
{
	if (!s)
		return NULL;
	codec_chain_free(s->chain);
	codec_specs_free(&s->specs);
	codec_chain_free(s->index_chain);
	codec_specs_free(&s->index_specs);
	free(s);
	return NULL;
}

static int
read_shape(const struct json *config, const struct form *in, struct shard *s)
{
	const struct json *v = config ? json_get(config, "chunk_shape") : NULL;
	if (!v || json_type(v) != JSON_TYPE_LIST || json_count(v) != in->rank)
		return err_set(
			-EINVAL, "'chunk_shape' has not the shard's %u dimensions", in->rank);
	uint64_t elements = 1;
	s->chunks = 1;
	for (unsigned i = 0; i < in->rank; i++) {
		uint64_t n;
		if (json_uint(json_at(v, i), &n) < 0 || !n || in->shape[i] % n)
			return err_set(-EINVAL,
				"'chunk_shape' does not divide the shard's %" PRIu64 " elements",
				in->shape[i]);
		s->shape[i] = n;
		s->count[i] = in->shape[i] / n;
		elements *= n; /* at most the shard's, which were counted */
		s->chunks *= s->count[i];
	}
	s->form = *in;
	s->form.shape = s->shape;
	s->form.count = elements;
	s->form.bytes = elements * in->dtype->size;
	return 0;
}

static int
refuse_lossy(const struct codec_chain *index)
{
	CLEAN(buf_free) struct buf names = {0};
	int r = codec_chain_lossy(index, &names);
	if (r < 0 || !names.len)
		return r;
	return err_set(-ENOTSUP, "codec '%.*s' does not keep all of a number", (int)names.len,
		(const char *)names.data);
}

static int
open_index(struct shard *s)
{
	struct codec_specs *specs = &s->index_specs;
	unsigned rank = s->form.rank;
	if (specs->order == CODEC_ORDER_UNSAID)
		return err_set(-EINVAL, "codec 'bytes' says no 'endian'");
	if (s->chunks > INDEX_MAX / ENTRY)
		return err_set(
			-ENOTSUP, "%" PRIu64 " chunks in one shard are not supported", s->chunks);
	s->number = (struct dtype){
		.kind = DTYPE_UINT, .big = specs->order == CODEC_ORDER_BIG, .size = ENTRY / 2};
	memcpy(s->index_shape, s->count, rank * sizeof *s->count);
	s->index_shape[rank] = ENTRY / s->number.size;
	const struct form f = {.dtype = &s->number,
		.rank = rank + 1,
		.shape = s->index_shape,
		.count = s->chunks * s->index_shape[rank],
		.bytes = s->chunks * ENTRY,
		.exact = true,
		.codecs = s->form.codecs};
	int r = codec_chain_open_inner(specs->spec, specs->n, &f, &s->index_chain);
	if (r < 0)
		return r;
	const struct form *stored = codec_chain_encoded(s->index_chain);
	if (!stored->exact || stored->bytes / 2 > INDEX_MAX)
		return err_set(-ENOTSUP, "the index has no size that is known beforehand");
	s->index_bytes = stored->bytes;
	return refuse_lossy(s->index_chain);
}

/* Whatever has another size than it says beforehand could not be found. */
static int
read_index(const struct json *config, struct shard *s)
{
	const struct json *list = config ? json_get(config, "index_codecs") : NULL;
	const struct json *where = config ? json_get(config, "index_location") : NULL;
	int r = codec_specs_v3(list, false, &s->index_specs);
	if (r == 0)
		r = open_index(s);
	if (r < 0)
		return err_add(r, "'index_codecs'");
	s->at_start = where && json_is(where, "start");
	if (where && !s->at_start && !json_is(where, "end"))
		return err_set(-EINVAL, "'index_location' is neither 'start' nor 'end'");
	return 0;
}

static int
open_specs(const struct codec_spec *before, size_t n, struct shard *s)
{
	size_t all = n + s->specs.n;
	CLEAN(clean_free) struct codec_spec *spec = calloc(all + 1, sizeof *spec); /* borrowed */
	if (!spec)
		return err_set(-ENOMEM, "out of memory");
	if (n)
		memcpy(spec, before, n * sizeof *spec);
	if (s->specs.n)
		memcpy(spec + n, s->specs.spec, s->specs.n * sizeof *spec);
	return codec_chain_open_inner(spec, all, &s->form, &s->chain);
}

/* Do elements come in little-endian order to the codecs of a shard, even if these say the other
 * one? So they do behind codecs that calculate; elsewhere the dtype has the order that is said. */
static bool
comes_little(const struct dtype *d, size_t before)
{
	unsigned unit = d->narrow ? narrow_size(d->narrow) : dtype_swap_unit(d);
	return !d->big && (before || unit > 1);
}

static int
open_chain(const struct json *config, const struct form *in, const struct codec_spec *before,
	size_t n, struct shard *s)
{
	const struct form *origin = in->origin ? in->origin : in;
	s->form.measuring = origin->measuring;
	s->form.nested = origin->nested + 1;
	s->form.origin = NULL;
	if (s->form.nested >= CODEC_NESTED_MAX)
		return err_set(
			-ENOTSUP, "shards in shards %u deep are not supported", s->form.nested);
	int r = codec_specs_v3(
		config ? json_get(config, "codecs") : NULL, comes_little(in->dtype, n), &s->specs);
	return r < 0 ? r : open_specs(before, n, s);
}

int
shard_open(const struct json *config, const struct form *in, const struct codec_spec *before,
	size_t n, struct shard **ret)
{
	struct shard *s = calloc(1, sizeof *s);
	if (!s)
		return err_set(-ENOMEM, "out of memory");
	int r = read_shape(config, in, s);
	s->form.codecs = (in->origin ? in->origin : in)->codecs;
	if (r == 0)
		r = read_index(config, s);
	if (r == 0)
		r = open_chain(config, in, before, n, s);
	if (r < 0) {
		shard_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

const struct form *
shard_form(const struct shard *s)
{
	return &s->form;
}

const struct codec_chain *
shard_chain(const struct shard *s)
{
	return s->chain;
}

const uint64_t *
shard_counts(const struct shard *s)
{
	return s->count;
}

uint64_t
shard_chunks(const struct shard *s)
{
	return s->chunks;
}

size_t
shard_index_bytes(const struct shard *s)
{
	return s->index_bytes;
}

bool
shard_index_first(const struct shard *s)
{
	return s->at_start;
}

size_t
shard_entries_bytes(const struct shard *s)
{
	return s->chunks * ENTRY;
}

static uint64_t
number_at(const struct shard *s, const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return s->number.big ? be64toh(v) : le64toh(v);
}

/* Bytes of a chunk in the shard; false: it has none. */
static bool
place_of(const struct shard *s, const uint8_t *entries, uint64_t i, struct shard_place *ret)
{
	uint64_t len = number_at(s, entries + i * ENTRY + ENTRY / 2);
	*ret = (struct shard_place){number_at(s, entries + i * ENTRY), len};
	return len && (ret->off != MISSING || len != MISSING);
}

static int
by_place(const void *a, const void *b)
{
	const struct shard_place *x = a, *y = b;
	return x->off < y->off ? -1 : x->off > y->off;
}

/* a does not lie behind b. Equal chunks may be stored once. */
static int
overlap(const struct shard_place *a, const struct shard_place *b)
{
	if (b->off - a->off >= a->len || (a->off == b->off && a->len == b->len))
		return 0;
	return err_set(-EIO,
		"chunks of a shard overlap: one at %" PRIu64 " with %zu bytes, one at %" PRIu64,
		a->off, a->len, b->off);
}

/* Chunks in no order, as most writers lay them: sorted. */
static int
check_sorted(const struct shard *s, const uint8_t *entries)
{
	CLEAN(clean_free) struct shard_place *p = malloc(s->chunks * sizeof *p);
	size_t n = 0;
	if (!p)
		return err_set(-ENOMEM, "no memory for the index of a shard");
	for (uint64_t i = 0; i < s->chunks; i++)
		n += place_of(s, entries, i, &p[n]);
	qsort(p, n, sizeof *p, by_place);
	int r = 0;
	for (size_t i = 1; i < n && r == 0; i++)
		r = overlap(&p[i - 1], &p[i]);
	return r;
}

/* No byte is of two chunks that differ: what was written over the other is not known. */
static int
check_overlaps(const struct shard *s, const uint8_t *entries)
{
	struct shard_place last = {0}, p;
	int r = 0;
	for (uint64_t i = 0; i < s->chunks && r == 0; i++) {
		if (!place_of(s, entries, i, &p))
			continue;
		if (p.off < last.off)
			return s->chunks > SORT_MAX ? 0 : check_sorted(s, entries);
		r = overlap(&last, &p);
		last = p;
	}
	return r;
}

int
shard_read_index(const struct shard *s, struct span stored, uint8_t *ret)
{
	struct buf out = {.data = ret, .cap = s->chunks * ENTRY};
	if (stored.len < s->index_bytes)
		return err_set(-EIO, "a shard of %zu bytes is shorter than its index of %zu",
			stored.len, s->index_bytes);
	codec_scratch_enter();
	int r = codec_chain_decode(s->index_chain, NULL, stored, &out);
	codec_scratch_leave();
	if (r == 0)
		r = check_overlaps(s, ret);
	return r < 0 ? err_add(r, "the index of a shard") : 0;
}

int
shard_find(const struct shard *s, const uint8_t *entries, uint64_t i, uint64_t size,
	struct shard_place *ret)
{
	uint64_t at = number_at(s, entries + i * ENTRY),
		 n = number_at(s, entries + i * ENTRY + sizeof at);
	if (at == MISSING && n == MISSING)
		return SHARD_MISSING;
	if (at > size || n > size - at)
		return err_set(-EIO,
			"chunk %" PRIu64 " of a shard lies at %" PRIu64 " with %" PRIu64
			" bytes, the shard has %" PRIu64,
			i, at, n, size);
	uint64_t from = s->at_start ? 0 : size - s->index_bytes;
	if (n && at < from + s->index_bytes && at + n > from)
		return err_set(-EIO,
			"chunk %" PRIu64 " of a shard lies at %" PRIu64 " with %" PRIu64
			" bytes, in the shard's index",
			i, at, n);
	*ret = (struct shard_place){at, n};
	return 0;
}

int
shard_width(const struct shard *s, struct span in, size_t *ret)
{
	CLEAN(clean_free) uint8_t *entries = malloc(s->chunks * ENTRY);
	struct span index = in;
	bool missing = false;
	if (in.len > s->index_bytes)
		index = (struct span){
			s->at_start ? in.data : in.data + in.len - s->index_bytes, s->index_bytes};
	int r = entries ? shard_read_index(s, index, entries)
			: err_set(-ENOMEM, "no memory for the index of a shard");
	*ret = 0;
	for (uint64_t i = 0; r == 0 && i < s->chunks; i++) {
		struct shard_place p;
		size_t width = 0;
		int found = shard_find(s, entries, i, in.len, &p);
		missing |= found == SHARD_MISSING;
		codec_scratch_enter();
		r = found < 0 ? found
		    : found   ? 0
			      : codec_chain_width(
					s->chain, (struct span){in.data + p.off, p.len}, &width);
		codec_scratch_leave();
		*ret = max_u64(*ret, width);
	}
	return r == 0 && missing ? SHARD_MISSING : r;
}

static void
set_number(const struct shard *s, uint8_t *p, uint64_t v)
{
	v = s->number.big ? htobe64(v) : htole64(v);
	memcpy(p, &v, sizeof v);
}

void
shard_set(const struct shard *s, uint8_t *entries, uint64_t i, const struct shard_place *place)
{
	set_number(s, entries + i * ENTRY, place ? place->off : MISSING);
	set_number(s, entries + i * ENTRY + ENTRY / 2, place ? place->len : MISSING);
}

int
shard_write_index(const struct shard *s, const uint8_t *entries, struct buf *ret)
{
	CLEAN(buf_free) struct buf stored = {0};
	int r = codec_chain_encode(
		s->index_chain, NULL, (struct span){entries, s->chunks * ENTRY}, &stored);
	if (r == 0 && stored.len != s->index_bytes)
		r = err_set(
			-EIO, "an index of %zu bytes instead of %zu", stored.len, s->index_bytes);
	return r < 0 ? r : buf_add(ret, stored.data, stored.len);
}
