/* zarr.json of a new array (V3 spec, "Array metadata"), with codecs as zarr-python 3 calls them. */
#include "base/err.h"
#include "base/json_edit.h"
#include "model/encode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- types --- */

static int
add_sized(const char *name, uint32_t size, struct buf *ret)
{
	return buf_addf(ret,
		"{\"name\": \"%s\", \"configuration\": {\"length_bytes\": %" PRIu32 "}}", name,
		size);
}

static int
add_time(const struct dtype *d, const char *name, struct buf *ret)
{
	return buf_addf(ret,
		"{\"name\": \"%s\", \"configuration\": {\"unit\": \"%s\", \"scale_factor\": "
		"%" PRIu32 "}}",
		name, dtype_unit_name(d->unit), d->unit_count ? d->unit_count : 1);
}

static int
add_type(const struct dtype *d, struct buf *ret)
{
	const uint32_t bits = 8 * d->size;
	switch (d->narrow ? DTYPE_OBJECT : d->kind) {
	case DTYPE_BOOL: return buf_addf(ret, "\"bool\"");
	case DTYPE_INT: return buf_addf(ret, "\"int%" PRIu32 "\"", bits);
	case DTYPE_UINT: return buf_addf(ret, "\"uint%" PRIu32 "\"", bits);
	case DTYPE_FLOAT: return buf_addf(ret, "\"float%" PRIu32 "\"", bits);
	case DTYPE_COMPLEX: return buf_addf(ret, "\"complex%" PRIu32 "\"", bits);
	case DTYPE_DATETIME: return add_time(d, "numpy.datetime64", ret);
	case DTYPE_TIMEDELTA: return add_time(d, "numpy.timedelta64", ret);
	case DTYPE_BYTES: return add_sized("null_terminated_bytes", d->size, ret);
	case DTYPE_UNICODE: return add_sized("fixed_length_utf32", d->size, ret);
	case DTYPE_RAW: return add_sized("raw_bytes", d->size, ret);
	case DTYPE_VLEN_TEXT: return buf_addf(ret, "\"string\"");
	case DTYPE_VLEN_BYTES: return buf_addf(ret, "\"variable_length_bytes\"");
	default: return err_set(-ENOTSUP, "arrays of such a type are read, but not made");
	}
}

static int
add_fill(const struct new_array *a, struct buf *ret)
{
	CLEAN(clean_free) uint8_t *zeros = calloc(1, (size_t)a->dtype.size + 1);
	if (!zeros)
		return err_set(-ENOMEM, "no memory for a fill value");
	return encode_fill(&a->dtype, a->fill ? a->fill : zeros, true, false, ret);
}

/* --- codecs --- */

/* What a V2 codec is called in V3, and whether it takes elements. */
static const struct renamed {
	const char *id, *name;
	bool elements;
} renamed[] = {
	{"zstd", "zstd", false},
	{"blosc", "blosc", false},
	{"gzip", "gzip", false},
	{"crc32c", "crc32c", false},
	{"zlib", "numcodecs.zlib", false},
	{"bz2", "numcodecs.bz2", false},
	{"lzma", "numcodecs.lzma", false},
	{"lz4", "numcodecs.lz4", false},
	{"shuffle", "numcodecs.shuffle", false},
	{"crc32", "numcodecs.crc32", false},
	{"adler32", "numcodecs.adler32", false},
	{"fletcher32", "numcodecs.fletcher32", false},
	{"jenkins_lookup3", "numcodecs.jenkins_lookup3", false},
	{"delta", "numcodecs.delta", true},
	{"fixedscaleoffset", "numcodecs.fixedscaleoffset", true},
	{"quantize", "numcodecs.quantize", true},
	{"bitround", "numcodecs.bitround", true},
};

static const struct renamed *
find_renamed(const char *id)
{
	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (!strcmp(renamed[i].id, id))
			return &renamed[i];
	return NULL;
}

static int64_t
number_of(const struct json *codec, const char *key, int64_t def)
{
	const struct json *v = json_get(codec, key);
	int64_t n;
	return v && json_int(v, &n) == 0 ? n : def;
}

static int
add_blosc(const struct new_array *a, const struct json *codec, struct buf *ret)
{
	static const char *const shuffle[] = {"noshuffle", "shuffle", "bitshuffle"};
	const struct json *cname = json_get(codec, "cname");
	const int64_t how = number_of(codec, "shuffle", 1);
	const uint32_t size = a->dtype.size ? a->dtype.size : 1;
	return buf_addf(ret,
		"{\"cname\": \"%s\", \"clevel\": %" PRId64 ", \"shuffle\": \"%s\", "
		"\"typesize\": %" PRIu32 ", \"blocksize\": %" PRId64 "}",
		cname && json_type(cname) == JSON_TYPE_TEXT ? json_text(cname, NULL) : "lz4",
		number_of(codec, "clevel", 5),
		shuffle[how < 0 || how > 2 ? (size > 1 ? 1 : 2) : how], size <= 255 ? size : 1,
		number_of(codec, "blocksize", 0));
}

/* All but the "id"; what V3 wants said is said. */
static int
add_config(const struct new_array *a, const struct json *codec, struct buf *ret)
{
	static const char *const id[] = {"id", NULL}, *const size[] = {"elementsize", NULL};
	CLEAN(clean_free) char *text = json_dump(codec);
	CLEAN(buf_free) struct buf doc = {0};
	char number[16];
	int len = snprintf(number, sizeof number, "%" PRIu32, a->dtype.size);
	int r = text ? buf_add(&doc, text, strlen(text)) : -ENOMEM;
	if (r == 0)
		r = json_edit_del(&doc, id);
	if (r == 0 && json_is(json_get(codec, "id"), "shuffle") &&
		!number_of(codec, "elementsize", 0))
		r = json_edit_set(&doc, size, (struct span){(const uint8_t *)number, (size_t)len});
	return r < 0 ? r : buf_add(ret, doc.data, doc.len);
}

static int
add_codec(const struct new_array *a, const struct json *codec, const struct renamed *n,
	struct buf *ret)
{
	int r = buf_addf(ret, ", {\"name\": \"%s\"", n->name);
	if (r == 0 && strcmp(n->id, "crc32c") != 0)
		r = buf_addf(ret, ", \"configuration\": ");
	if (r < 0 || !strcmp(n->id, "crc32c"))
		return r < 0 ? r : buf_add(ret, "}", 1);
	if (!strcmp(n->id, "zstd"))
		r = buf_addf(ret, "{\"level\": %" PRId64 ", \"checksum\": false}",
			number_of(codec, "level", 1));
	else if (!strcmp(n->id, "gzip"))
		r = buf_addf(ret, "{\"level\": %" PRId64 "}", number_of(codec, "level", 5));
	else
		r = !strcmp(n->id, "blosc") ? add_blosc(a, codec, ret) : add_config(a, codec, ret);
	return r < 0 ? r : buf_add(ret, "}", 1);
}

static int
add_codecs_of(const struct new_array *a, const struct json *list, bool elements, struct buf *ret)
{
	int r = 0;
	for (size_t i = 0; r == 0 && list && i < json_count(list); i++) {
		const struct json *codec = json_at(list, i);
		const char *id = json_text(json_get(codec, "id"), NULL);
		const struct renamed *n = find_renamed(id);
		if (!n)
			return err_set(-ENOTSUP, "codec '%.100s' has no name in Zarr V3", id);
		if (n->elements == elements && !encode_skips(a, id))
			r = add_codec(a, codec, n, ret);
	}
	return r;
}

static int
add_bytes(const struct dtype *d, struct buf *ret)
{
	if (d->kind == DTYPE_VLEN_TEXT || d->kind == DTYPE_VLEN_BYTES)
		return buf_addf(ret, ", {\"name\": \"vlen-%s\", \"configuration\": {}}",
			d->kind == DTYPE_VLEN_TEXT ? "utf8" : "bytes");
	if (!dtype_has_order(d))
		return buf_addf(ret, ", {\"name\": \"bytes\"}");
	return buf_addf(ret, ", {\"name\": \"bytes\", \"configuration\": {\"endian\": \"%s\"}}",
		d->big ? "big" : "little");
}

/* "[…]" of the codecs of a chunk. */
static int
add_chunk_codecs(const struct new_array *a, struct buf *ret)
{
	CLEAN(json_freep) struct json *list = NULL;
	CLEAN(buf_free) struct buf b = {0};
	int r = encode_parse_codecs(a, &list);
	if (r == 0)
		r = add_codecs_of(a, list, true, &b);
	if (r == 0)
		r = add_bytes(&a->dtype, &b);
	if (r == 0)
		r = add_codecs_of(a, list, false, &b);
	return r < 0 ? r : buf_addf(ret, "[%.*s]", (int)b.len - 2, (const char *)b.data + 2);
}

static int
add_codecs(const struct new_array *a, struct buf *ret)
{
	if (!a->shard)
		return add_chunk_codecs(a, ret);
	int r = buf_addf(
		ret, "[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": ");
	if (r == 0)
		r = encode_sizes(a->chunk, a->rank, ret);
	if (r == 0)
		r = buf_addf(ret, ", \"codecs\": ");
	if (r == 0)
		r = add_chunk_codecs(a, ret);
	return r < 0 ? r
		     : buf_addf(ret,
			       ", \"index_codecs\": [{\"name\": \"bytes\", \"configuration\": "
			       "{\"endian\": \"little\"}}, {\"name\": \"crc32c\"}], "
			       "\"index_location\": \"end\"}}]");
}

static int
add_names(const struct new_array *a, struct buf *ret)
{
	int r = a->dim ? buf_addf(ret, ", \"dimension_names\": [") : 0;
	for (unsigned i = 0; r == 0 && a->dim && i < a->rank; i++) {
		r = i ? buf_add(ret, ", ", 2) : 0;
		if (r == 0)
			r = a->dim[i] ? json_quote(a->dim[i], strlen(a->dim[i]), ret)
				      : buf_add(ret, "null", 4);
	}
	return r < 0 || !a->dim ? r : buf_add(ret, "]", 1);
}

int
encode_array_v3(const struct new_array *a, struct buf *ret)
{
	int r = buf_addf(ret, "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": ");
	if (r == 0)
		r = encode_sizes(a->shape, a->rank, ret);
	if (r == 0)
		r = buf_addf(ret, ", \"data_type\": ");
	if (r == 0)
		r = add_type(&a->dtype, ret);
	if (r == 0)
		r = buf_addf(ret, ", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": "
				  "{\"chunk_shape\": ");
	if (r == 0)
		r = encode_sizes(a->shard ? a->shard : a->chunk, a->rank, ret);
	if (r == 0)
		r = buf_addf(ret,
			"}}, \"chunk_key_encoding\": {\"name\": \"default\", \"configuration\": "
			"{\"separator\": \"%c\"}}, \"fill_value\": ",
			a->separator ? a->separator : '/');
	if (r == 0)
		r = add_fill(a, ret);
	if (r == 0)
		r = buf_addf(ret, ", \"codecs\": ");
	if (r == 0)
		r = add_codecs(a, ret);
	if (r == 0)
		r = buf_addf(ret, ", \"attributes\": {}");
	if (r == 0)
		r = add_names(a, ret);
	return r < 0 ? r : buf_addf(ret, ", \"storage_transformers\": []}");
}
