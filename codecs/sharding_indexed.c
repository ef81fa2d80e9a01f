/* sharding_indexed (Zarr V3, "Sharding codec") where a shard is no object of the store: in a shard,
 * or behind or before other codecs. codec/shard.h says how it is made. */
#include "codec/codec.h"

#include "base/check.h"
#include "base/err.h"
#include "codec/shard.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { SCRATCH_CHUNK = 2, SCRATCH_ENTRIES, SCRATCH_SLAB, SCRATCH_STORED };

static void
sharding_close(void *obj)
{
	shard_free(obj);
}

static int
sharding_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct shard *s;
	if (!in->dtype)
		return err_set(-EINVAL, "bytes have no chunks");
	int r = shard_open(config, in, NULL, 0, &s);
	if (r < 0)
		return r;
	uint64_t bytes;
	if (mul_over(codec_chain_encoded(shard_chain(s))->bytes, shard_chunks(s), &bytes) ||
		add_over(bytes, shard_index_bytes(s), &bytes) || bytes > SIZE_MAX / 2)
		bytes = SIZE_MAX / 2;
	out->bytes = bytes;
	*ret = s;
	return 0;
}

/* The entries of a whole shard's index; scratch. */
static int
find_entries(const struct shard *s, struct span in, const uint8_t **ret)
{
	size_t n = shard_index_bytes(s);
	uint8_t *entries = codec_scratch(SCRATCH_ENTRIES, shard_entries_bytes(s));
	if (!entries)
		return err_set(-ENOMEM, "no memory for the index of a shard");
	*ret = entries;
	if (in.len >= n)
		in = (struct span){shard_index_first(s) ? in.data : in.data + in.len - n, n};
	return shard_read_index(s, in, entries);
}

/* The stored bytes of chunk i; data NULL: it is missing. */
static int
find_chunk(
	const struct shard *s, struct span in, const uint8_t *entries, uint64_t i, struct span *ret)
{
	struct shard_place p;
	int r = shard_find(s, entries, i, in.len, &p);
	*ret = r == 0 ? (struct span){in.data + p.off, p.len} : (struct span){0};
	return r < 0 ? r : 0;
}

static int
put_fill(const struct form *f, uint8_t *to)
{
	size_t n = f->dtype->size;
	if (!f->fill)
		return err_set(-EIO, "a chunk is missing in a shard, and there is no fill value");
	for (uint64_t i = 0; i < f->count; i++)
		memcpy(to + i * n, f->fill, n);
	return 0;
}

/* A chunk's elements, and where they lie in the shard: to there, or from there. */
static void
move_chunk(const struct shard *s, const uint64_t *index, bool out, uint8_t *chunk, uint8_t *whole)
{
	const struct form *f = shard_form(s);
	const uint64_t *shape = f->shape, *count = shard_counts(s);
	unsigned rank = f->rank;
	size_t size = f->dtype->size, step[RANK_MAX], row = size;
	uint64_t at[RANK_MAX] = {0};
	for (unsigned i = rank; i-- > 0;) {
		step[i] = row;
		whole += index[i] * shape[i] * row;
		row *= shape[i] * count[i];
	}
	size_t run = rank ? shape[rank - 1] * size : size;
	for (;;) {
		memcpy(out ? whole : chunk, out ? chunk : whole, run);
		chunk += run;
		unsigned i = rank ? rank - 1 : 0;
		while (i > 0 && at[i - 1] + 1 == shape[i - 1]) {
			i--;
			whole -= at[i] * step[i];
			at[i] = 0;
		}
		if (i == 0)
			return;
		at[i - 1]++;
		whole += step[i - 1];
	}
}

static void
next_index(const struct shard *s, uint64_t *index)
{
	const uint64_t *count = shard_counts(s);
	for (unsigned i = shard_form(s)->rank; i-- > 0;) {
		if (++index[i] < count[i])
			return;
		index[i] = 0;
	}
}

static int
decode_chunk(const struct shard *s, struct span stored, uint8_t *to)
{
	struct buf out = {.data = to, .cap = shard_form(s)->bytes};
	if (!stored.data)
		return put_fill(shard_form(s), to);
	codec_scratch_enter();
	int r = codec_chain_decode(shard_chain(s), NULL, stored, &out);
	codec_scratch_leave();
	return r;
}

static int
sharding_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct shard *s = obj;
	const uint8_t *entries = NULL;
	uint64_t at[RANK_MAX] = {0}, n = shard_chunks(s);
	size_t bytes = shard_form(s)->bytes;
	uint8_t *one = codec_scratch(SCRATCH_CHUNK, bytes);
	if (!one)
		return err_set(-ENOMEM, "no memory for a chunk of %zu bytes", bytes);
	if (form->bytes != bytes * n || out->cap < form->bytes)
		return err_set(-EIO, "a shard of another shape");
	int r = find_entries(s, in, &entries);
	for (uint64_t i = 0; r == 0 && i < n; i++, next_index(s, at)) {
		struct span stored;
		r = find_chunk(s, in, entries, i, &stored);
		if (r == 0)
			r = decode_chunk(s, stored, one);
		if (r == 0)
			move_chunk(s, at, true, one, out->data);
		if (r < 0)
			return err_add(r, "chunk %" PRIu64 " of a shard", i);
	}
	out->len = form->bytes;
	return r;
}

/* The first dimension along which there are several chunks; rank: none. */
static unsigned
lead_of(const struct shard *s)
{
	unsigned d = 0;
	while (d < shard_form(s)->rank && shard_counts(s)[d] == 1)
		d++;
	return d;
}

/* Bytes of the shard's elements that lie side by side and are those of whole chunks. */
static size_t
slab_bytes(const struct shard *s)
{
	const struct form *f = shard_form(s);
	unsigned lead = lead_of(s);
	size_t bytes = f->bytes * shard_chunks(s);
	for (unsigned d = 0; d < lead; d++)
		if (f->shape[d] > 1)
			return bytes;
	return lead < f->rank ? bytes / shard_counts(s)[lead] : bytes;
}

/* Some of a shard's chunks, of a number of slabs. */
struct some {
	const struct shard *shard;
	const uint8_t *entries;
	uint64_t size; /* of the whole shard, as it is stored */
	struct span stored;
	uint64_t off; /* where in the shard that begins */
};

/* What lies between the first byte and the last one of chunks [from, to). */
static int
read_stored(struct some *m, struct codec_src *src, uint64_t from, uint64_t to)
{
	uint64_t first = UINT64_MAX, end = 0;
	for (uint64_t i = from; i < to; i++) {
		struct shard_place p;
		int r = shard_find(m->shard, m->entries, i, m->size, &p);
		if (r < 0 || (r == 0 && !p.len))
			return err_add(r < 0 ? r : err_set(-EIO, "it has no bytes"),
				"chunk %" PRIu64 " of a shard", i);
		if (r == 0) {
			first = p.off < first ? p.off : first;
			end = max_u64(end, p.off + p.len);
		}
	}
	if (!end)
		return 0;
	m->off = first;
	m->stored.len = end - first;
	if (src->mem) {
		m->stored.data = src->mem + first;
		return 0;
	}
	uint8_t *bytes = codec_scratch(SCRATCH_STORED, m->stored.len);
	if (!bytes)
		return err_set(-ENOMEM, "no memory for %zu bytes of a shard", m->stored.len);
	m->stored.data = bytes;
	return src->read(src, first, m->stored.len, bytes);
}

/* All chunks of slab number i. */
static int
decode_slab(const struct some *m, uint64_t i, uint8_t *to)
{
	const struct shard *s = m->shard;
	uint64_t at[RANK_MAX] = {0}, n = slab_bytes(s) / shard_form(s)->bytes;
	uint8_t *one = codec_scratch(SCRATCH_CHUNK, shard_form(s)->bytes);
	int r = one ? 0 : err_set(-ENOMEM, "no memory for a chunk of a shard");
	for (uint64_t k = i * n; r == 0 && k < (i + 1) * n; k++, next_index(s, at)) {
		struct shard_place p;
		struct span stored = {0};
		if (shard_find(s, m->entries, k, m->size, &p) == 0)
			stored = (struct span){m->stored.data + (p.off - m->off), p.len};
		r = decode_chunk(s, stored, one);
		if (r < 0)
			return err_add(r, "chunk %" PRIu64 " of a shard", k);
		move_chunk(s, at, true, one, to);
	}
	return r;
}

static int
range_entries(const struct shard *s, struct codec_src *src, const uint8_t **ret)
{
	size_t n = shard_index_bytes(s);
	if (src->mem)
		return find_entries(s, (struct span){src->mem, src->size}, ret);
	if (src->size < n)
		return err_set(-EIO,
			"a shard of %" PRIu64 " bytes is shorter than its index of %zu", src->size,
			n);
	uint8_t *stored = codec_scratch(SCRATCH_STORED, n);
	int r = stored ? src->read(src, shard_index_first(s) ? 0 : src->size - n, n, stored)
		       : err_set(-ENOMEM, "no memory for the index of a shard");
	return r < 0 ? r : find_entries(s, (struct span){stored, n}, ret);
}

static int
sharding_decode_range(const void *obj, const struct form *form, struct codec_src *src, size_t off,
	size_t len, void *out)
{
	const struct shard *s = obj;
	struct some m = {.shard = s, .size = src->size};
	const size_t size = slab_bytes(s);
	const uint64_t n = size / shard_form(s)->bytes;
	uint8_t *to = out, *slab = codec_scratch(SCRATCH_SLAB, size);
	int r = slab ? range_entries(s, src, &m.entries)
		     : err_set(-ENOMEM, "no memory for chunks of a shard");
	if (r == 0)
		r = read_stored(&m, src, off / size * n, ceil_div(off + len, size) * n);
	while (len && r == 0) {
		size_t in = off % size, some = min_u64(size - in, len);
		r = decode_slab(&m, off / size, slab);
		if (r == 0)
			memcpy(to, slab + in, some);
		to += some;
		off += some;
		len -= some;
	}
	return r;
}

static int
sharding_grain(const void *obj, const struct form *form, struct codec_src *src, size_t *ret)
{
	*ret = slab_bytes(obj);
	return 0;
}

static bool
is_fill(const struct form *f, const uint8_t *data)
{
	size_t n = f->dtype->size;
	for (uint64_t i = 0; f->fill && i < f->count; i++)
		if (memcmp(data + i * n, f->fill, n) != 0)
			return false;
	return f->fill;
}

/* The chunk behind what is in out already, or missing where it has nothing but fill values. */
static int
encode_chunk(
	const struct shard *s, uint64_t i, const uint8_t *data, uint8_t *entries, struct buf *out)
{
	const struct form *f = shard_form(s);
	if (is_fill(f, data)) {
		shard_set(s, entries, i, NULL);
		return 0;
	}
	CLEAN(buf_free) struct buf one = {0};
	codec_scratch_enter();
	int r = codec_chain_encode(shard_chain(s), NULL, (struct span){data, f->bytes}, &one);
	codec_scratch_leave();
	shard_set(s, entries, i, &(struct shard_place){out->len, one.len});
	return r < 0 ? r : buf_add(out, one.data, one.len);
}

static int
encode_chunks(const struct shard *s, struct span in, uint8_t *entries, struct buf *out)
{
	uint64_t at[RANK_MAX] = {0};
	uint8_t *one = codec_scratch(SCRATCH_CHUNK, shard_form(s)->bytes);
	int r = one ? 0 : err_set(-ENOMEM, "no memory for a chunk of a shard");
	for (uint64_t i = 0; r == 0 && i < shard_chunks(s); i++, next_index(s, at)) {
		move_chunk(s, at, false, one, (uint8_t *)in.data);
		r = encode_chunk(s, i, one, entries, out);
		if (r < 0)
			return err_add(r, "chunk %" PRIu64 " of a shard", i);
	}
	return r;
}

static int
sharding_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct shard *s = obj;
	CLEAN(buf_free) struct buf index = {0};
	size_t first = shard_index_first(s) ? shard_index_bytes(s) : 0;
	uint8_t *entries = codec_scratch(SCRATCH_ENTRIES, shard_entries_bytes(s));
	if (in.len / shard_form(s)->bytes != shard_chunks(s) || in.len % shard_form(s)->bytes)
		return err_set(-EINVAL, "a shard of another shape");
	int r = entries ? buf_reserve(out, first + in.len / 2)
			: err_set(-ENOMEM, "no memory for the index of a shard");
	if (r < 0)
		return r;
	if (first)
		memset(out->data, 0, first);
	out->len = first;
	r = encode_chunks(s, in, entries, out);
	if (r == 0)
		r = shard_write_index(s, entries, &index);
	if (r == 0 && first)
		memcpy(out->data, index.data, first);
	return r < 0 || first ? r : buf_add(out, index.data, index.len);
}

static const char *
sharding_read_only(const void *obj)
{
	return codec_chain_read_only(shard_chain(obj));
}

static int
sharding_width(const void *obj, const struct form *form, struct span in, size_t *ret)
{
	int r = shard_width(obj, in, ret);
	return r == SHARD_MISSING ? 0 : r;
}

static int
sharding_load(const void *obj)
{
	return codec_chain_load(shard_chain(obj));
}

static bool
sharding_lossy(const void *obj)
{
	CLEAN(buf_free) struct buf names = {0};
	return codec_chain_lossy(shard_chain(obj), &names) < 0 || names.len;
}

static uint64_t
sharding_by_extent(const void *obj)
{
	return codec_chain_by_extent(shard_chain(obj));
}

const struct codec_ops codec_sharding_indexed = {
	.ids = (const char *const[]){"sharding_indexed", NULL},
	.kind = CODEC_PACK,
	.carries = true,
	.open = sharding_open,
	.close = sharding_close,
	.decode = sharding_decode,
	.decode_range = sharding_decode_range,
	.grain = sharding_grain,
	.encode = sharding_encode,
	.read_only = sharding_read_only,
	.load = sharding_load,
	.width = sharding_width,
	.lossy = sharding_lossy,
	.by_extent = sharding_by_extent,
};
