#include "backends/icechunk/ref.h"

#include "base/err.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

enum {
	/* slots of ChunkRef */
	R_INDEX = 0,
	R_INLINE,
	R_OFFSET,
	R_LENGTH,
	R_CHUNK,
	R_LOCATION,
	R_ETAG,
	R_MODIFIED,
	R_COMPRESSED,
	ZSTD = 1,
	COMPRESSED_MAX =
		1024, /* bytes of a location that was compressed: the limit of all readers */
	LOCATION_MAX = 64 << 10,
};

int
ice_dictionary_init(struct ice_dictionary *d, struct span s, unsigned method)
{
	*d = (struct ice_dictionary){.method = method};
	if (!s.len || method != ZSTD)
		return 0;
	d->dictionary = ZSTD_createDDict(s.data, s.len);
	return d->dictionary ? 0 : err_set(-EIO, "damaged: its dictionary is none");
}

void
ice_dictionary_done(struct ice_dictionary *d)
{
	ZSTD_freeDDict(d->dictionary);
}

/* --- order --- */

static int
index_of(
	const struct flat_vector *refs, uint32_t i, struct flat_table *ref, struct flat_vector *ret)
{
	int r = flat_table_of(refs, i, ref);
	return r == 0 ? flat_required(flat_vector(ref, R_INDEX, 4, ret), "index") : r;
}

static int
order(const struct flat_vector *a, const struct flat_vector *b)
{
	for (uint32_t d = 0; d < a->count && d < b->count; d++) {
		uint32_t x = flat_u32(flat_item(a, d)), y = flat_u32(flat_item(b, d));
		if (x != y)
			return x < y ? -1 : 1;
	}
	return (a->count > b->count) - (a->count < b->count);
}

/* An array that was written over with other dimensions has the old references, too: none of its
 * chunks has their number of indices. The library copies them from each manifest that may have
 * some, so the same ones are there many times. */
int
ice_refs_check(const struct flat_vector *refs, bool *ret_twice)
{
	struct flat_vector before = {0}, now;
	struct flat_table ref;
	*ret_twice = false;
	for (uint32_t i = 0; i < refs->count; i++) {
		int r = index_of(refs, i, &ref, &now);
		if (r < 0)
			return r;
		const int way = i ? order(&before, &now) : -1;
		if (way > 0)
			return err_set(-EIO, "damaged: its references are not in order");
		*ret_twice |= !way;
		before = now;
	}
	return 0;
}

/* Before 1.0 the one chunk of a scalar had an index of one 0, as that of an array that it was
 * written over has. */
static int
find_old_scalar(const struct flat_vector *refs, uint32_t *ret)
{
	struct flat_table ref;
	struct flat_vector at;
	int r = refs->count == 1 ? index_of(refs, 0, &ref, &at) : ZMAP_ABSENT;
	*ret = 0;
	return r == 0 && (at.count != 1 || flat_u32(flat_item(&at, 0))) ? ZMAP_ABSENT : r;
}

int
ice_refs_find(const struct flat_vector *refs, unsigned rank, const uint64_t *index, bool early,
	uint32_t *ret)
{
	uint32_t low = 0, high = refs->count;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		struct flat_table ref;
		struct flat_vector at;
		int r = index_of(refs, mid, &ref, &at);
		if (r < 0)
			return r;
		int way = 0;
		for (unsigned d = 0; d < rank && !way && d < at.count; d++) {
			uint32_t x = flat_u32(flat_item(&at, d));
			way = x == index[d] ? 0 : x < index[d] ? -1 : 1;
		}
		if (!way && at.count == rank) {
			*ret = mid;
			return 0;
		}
		if (!way)
			way = at.count < rank ? -1 : 1;
		*(way < 0 ? &low : &high) = way < 0 ? mid + 1 : mid;
	}
	return rank || !early ? ZMAP_ABSENT : find_old_scalar(refs, ret);
}

/* --- places --- */

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for a reference");
}

static void
name_version(struct chunk_place *p, char kind, uint64_t more)
{
	uint64_t h = hash_number(HASH_START, more);
	h = hash_text(h, p->name ? p->name : "");
	h = hash_text(h, p->etag ? p->etag : "");
	h = hash_bytes(h, p->bytes.data, p->bytes.len);
	snprintf(p->version, sizeof p->version, "%c%016" PRIx64 "-%" PRIx64 "-%" PRIx64, kind, h,
		p->off, p->len);
}

static int
inline_place(struct span bytes, struct chunk_place *ret)
{
	if (!bytes.len)
		return err_set(-EIO, "damaged: a chunk of 0 bytes");
	uint8_t *copy = malloc(bytes.len); /* the manifest may be dropped */
	if (!copy)
		return no_memory();
	memcpy(copy, bytes.data, bytes.len);
	ret->kind = PLACE_BYTES;
	ret->bytes = (struct span){copy, bytes.len};
	ret->hold = copy;
	ret->release = free;
	name_version(ret, 'i', bytes.len);
	return 0;
}

static int
native_place(const uint8_t *chunk, const char *root, struct chunk_place *ret)
{
	char id[ICE_ID_TEXT + 1];
	ice_id_text(chunk, id);
	ret->kind = PLACE_KEY;
	if (asprintf(&ret->name, "%schunks/%s", root, id) < 0) {
		ret->name = NULL;
		return no_memory();
	}
	name_version(ret, 'n', 0);
	return 0;
}

static int
uncompress(const struct ice_dictionary *d, struct span in, char ret[static COMPRESSED_MAX + 1])
{
	if (d->method > ZSTD)
		return err_set(
			-EIO, "a location compressed by method %u, which is not known", d->method);
	if (!d->method) {
		if (in.len > COMPRESSED_MAX)
			return err_set(-EIO, "a location of %zu bytes", in.len);
		memcpy(ret, in.data, in.len);
		ret[in.len] = 0;
		return 0;
	}
	if (!d->dictionary)
		return err_set(-EIO, "damaged: a compressed location without its dictionary");
	ZSTD_DCtx *z = ZSTD_createDCtx();
	if (!z)
		return no_memory();
	size_t n =
		ZSTD_decompress_usingDDict(z, ret, COMPRESSED_MAX, in.data, in.len, d->dictionary);
	ZSTD_freeDCtx(z);
	if (ZSTD_isError(n))
		return err_set(-EIO, "damaged: a location: %s", ZSTD_getErrorName(n));
	ret[n] = 0;
	return strlen(ret) == n ? 0 : err_set(-EIO, "damaged: a location with a NUL");
}

static int
virtual_place(const struct flat_table *ref, struct span location, struct chunk_place *ret)
{
	struct span etag;
	uint64_t modified = 0;
	if (!location.len || location.len > LOCATION_MAX || memchr(location.data, 0, location.len))
		return err_set(-EIO, "damaged: a location of %zu bytes", location.len);
	ret->kind = PLACE_URL;
	ret->name = strndup((const char *)location.data, location.len);
	int r = ret->name ? flat_bytes(ref, R_ETAG, &etag) : no_memory();
	if (r == 0) {
		bool quoted =
			etag.len >= 2 && etag.data[0] == '"' && etag.data[etag.len - 1] == '"';
		ret->etag = strndup((const char *)etag.data + quoted, etag.len - 2 * quoted);
		r = ret->etag ? 0 : no_memory();
	}
	if (r >= 0)
		r = flat_number(ref, R_MODIFIED, 4, &modified);
	ret->modified = (int64_t)modified * SECOND;
	name_version(ret, 'v', modified);
	return r;
}

/* Exactly one kind. */
static int
make_place(const struct flat_table *ref, const struct ice_dictionary *d, const char *root,
	struct chunk_place *ret)
{
	const uint8_t *chunk = NULL;
	struct span in = {0}, location = {0}, compressed = {0};
	int i = flat_bytes(ref, R_INLINE, &in), c = flat_struct(ref, R_CHUNK, ICE_ID, &chunk),
	    l = flat_bytes(ref, R_LOCATION, &location),
	    z = flat_bytes(ref, R_COMPRESSED, &compressed);
	if (i < 0 || c < 0 || l < 0 || z < 0)
		return -EIO;
	if ((i == 0) + (c == 0) + (l == 0) + (z == 0) != 1)
		return err_set(-EIO, "damaged: a reference of %s",
			i && c && l && z ? "no kind" : "two kinds");
	if (i == 0)
		return inline_place(in, ret);
	int r = flat_number(ref, R_OFFSET, 8, &ret->off);
	if (r == 0)
		r = flat_number(ref, R_LENGTH, 8, &ret->len);
	if (r < 0)
		return r;
	if (!ret->len || ret->len > INT64_MAX || ret->off > INT64_MAX - ret->len)
		return err_set(-EIO, "damaged: a reference to %" PRIu64 " bytes at %" PRIu64,
			ret->len, ret->off);
	if (c == 0)
		return native_place(chunk, root, ret);
	char text[COMPRESSED_MAX + 1];
	if (z == 0) {
		r = uncompress(d, compressed, text);
		location = (struct span){(const uint8_t *)text, r == 0 ? strlen(text) : 0};
	}
	return r == 0 ? virtual_place(ref, location, ret) : r;
}

static int
place_of(const struct flat_vector *refs, uint32_t at, const struct ice_dictionary *d,
	const char *root, struct chunk_place *ret)
{
	struct flat_table ref;
	struct chunk_place p = {0};
	int r = flat_table_of(refs, at, &ref);
	if (r == 0)
		r = make_place(&ref, d, root, &p);
	if (r < 0)
		chunk_place_free(&p);
	else
		*ret = p;
	return r;
}

/* Of the same indices? 1, 0 or -EIO. */
static int
is_alike(const struct flat_vector *refs, uint32_t a, uint32_t b)
{
	struct flat_table ref;
	struct flat_vector x, y;
	int r = index_of(refs, a, &ref, &x);
	r = r == 0 ? index_of(refs, b, &ref, &y) : r;
	return r == 0 ? !order(&x, &y) : r;
}

int
ice_refs_place(const struct flat_vector *refs, uint32_t at, bool twice,
	const struct ice_dictionary *d, const char *root, struct chunk_place *ret)
{
	CLEAN(chunk_place_free) struct chunk_place p = {0};
	uint32_t i = at;
	int r = 1;
	while (twice && i && (r = is_alike(refs, i - 1, at)) > 0)
		i--;
	r = r < 0 ? r : place_of(refs, at, d, root, &p);
	for (; twice && r == 0 && i < refs->count; i++) {
		CLEAN(chunk_place_free) struct chunk_place other = {0};
		r = is_alike(refs, i, at);
		if (r <= 0)
			break;
		r = place_of(refs, i, d, root, &other);
		if (r == 0 && strcmp(other.version, p.version) != 0)
			r = err_set(-EIO, "damaged: two references to one chunk");
	}
	if (r == 0) {
		*ret = p;
		p = (struct chunk_place){0};
	}
	return r;
}
