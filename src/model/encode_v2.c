/* .zarray of a new array (V2 spec, "Arrays"). */
#include "base/err.h"
#include "base/json_edit.h"
#include "model/encode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int
encode_sizes(const uint64_t *size, unsigned n, struct buf *ret)
{
	int r = buf_add(ret, "[", 1);
	for (unsigned i = 0; r == 0 && i < n; i++)
		r = buf_addf(ret, "%s%" PRIu64, i ? ", " : "", size[i]);
	return r < 0 ? r : buf_add(ret, "]", 1);
}

int
encode_parse_codecs(const struct new_array *a, struct json **ret)
{
	CLEAN(json_freep) struct json *list = NULL;
	if (!a->codecs)
		return 0;
	int r = json_parse(a->codecs, strlen(a->codecs), &list);
	if (r == 0 && json_type(list) != JSON_TYPE_LIST)
		r = err_set(-EINVAL, "%s instead of a list", json_type_name(list));
	for (size_t i = 0; r == 0 && i < json_count(list); i++) {
		const struct json *id = json_get(json_at(list, i), "id");
		if (!id || json_type(id) != JSON_TYPE_TEXT)
			r = err_set(-EINVAL, "a codec without an 'id'");
	}
	if (r < 0)
		return err_add(r, "bad codecs");
	*ret = MOVE(list);
	return 0;
}

bool
encode_skips(const struct new_array *a, const char *id)
{
	const enum dtype_kind k = a->dtype.kind;
	return !strcmp(id, "shuffle") && (k == DTYPE_BYTES || a->dtype.size <= 1);
}

/* "elementsize" says what it is, where the caller left that to us. */
static int
add_codec(const struct new_array *a, const struct json *codec, struct buf *ret)
{
	static const char *const size[] = {"elementsize", NULL};
	CLEAN(clean_free) char *text = json_dump(codec);
	CLEAN(buf_free) struct buf doc = {0};
	char number[16];
	const struct json *said = json_get(codec, "elementsize");
	int64_t n = 0;
	int r = text ? buf_add(&doc, text, strlen(text)) : -ENOMEM;
	if (r == 0 && json_is(json_get(codec, "id"), "shuffle") &&
		(!said || json_int(said, &n) < 0 || !n)) {
		int len = snprintf(number, sizeof number, "%" PRIu32, a->dtype.size);
		r = json_edit_set(&doc, size, (struct span){(const uint8_t *)number, (size_t)len});
	}
	return r < 0 ? r : buf_add(ret, doc.data, doc.len);
}

/* Codecs [from, to) of the list as a list, or null. */
static int
add_filters(const struct new_array *a, const struct json *list, size_t to, struct buf *ret)
{
	static const char vlen[] = "{\"id\": \"vlen-utf8\"}", bytes[] = "{\"id\": \"vlen-bytes\"}";
	const char *object = a->dtype.kind == DTYPE_VLEN_TEXT    ? vlen
			     : a->dtype.kind == DTYPE_VLEN_BYTES ? bytes
								 : NULL;
	unsigned n = 0;
	int r = 0;
	if (object)
		r = buf_addf(ret, "[%s", n++ ? "" : object);
	for (size_t i = 0; r == 0 && i < to; i++) {
		const struct json *codec = json_at(list, i);
		if (encode_skips(a, json_text(json_get(codec, "id"), NULL)))
			continue;
		r = buf_add(ret, n ? ", " : "[", n ? 2 : 1);
		if (r == 0)
			r = add_codec(a, codec, ret);
		n++;
	}
	return r < 0 ? r : n ? buf_add(ret, "]", 1) : buf_add(ret, "null", 4);
}

/* Which of the codecs is the compressor: the last that is done at all; the count: none is. */
static size_t
compressor(const struct new_array *a, const struct json *list)
{
	size_t n = list ? json_count(list) : 0;
	for (size_t i = n; i > 0; i--)
		if (!encode_skips(a, json_text(json_get(json_at(list, i - 1), "id"), NULL)))
			return i - 1;
	return n;
}

static int
add_codecs(const struct new_array *a, struct buf *ret)
{
	CLEAN(json_freep) struct json *list = NULL;
	int r = encode_parse_codecs(a, &list);
	if (r < 0)
		return r;
	const size_t n = list ? json_count(list) : 0, last = compressor(a, list);
	r = buf_addf(ret, ", \"compressor\": ");
	if (r == 0)
		r = last < n ? add_codec(a, json_at(list, last), ret) : buf_add(ret, "null", 4);
	if (r == 0)
		r = buf_addf(ret, ", \"filters\": ");
	return r < 0 ? r : add_filters(a, list, last < n ? last : 0, ret);
}

/* What netcdf-c knows; any other makes it refuse the store. */
static bool
is_netcdf(const struct dtype *d)
{
	return (d->kind == DTYPE_INT || d->kind == DTYPE_UINT) ||
	       (d->kind == DTYPE_FLOAT && d->size >= 4) || d->kind == DTYPE_BYTES;
}

static int
add_type(const struct dtype *d, struct buf *ret)
{
	if (d->kind == DTYPE_STRUCT || d->kind == DTYPE_OBJECT || d->narrow)
		return err_set(-ENOTSUP, "arrays of such a type are read, but not made");
	CLEAN(clean_free) char *text = dtype_text(d);
	if (!text)
		return err_set(-ENOMEM, "no memory for a dtype");
	return buf_addf(ret, ", \"dtype\": \"%s\"", text);
}

static int
add_fill(const struct new_array *a, bool nczarr, struct buf *ret)
{
	int r = buf_addf(ret, ", \"fill_value\": ");
	if (r < 0)
		return r;
	return a->fill ? encode_fill(&a->dtype, a->fill, false, nczarr, ret)
		       : buf_add(ret, "null", 4);
}

/* A scalar of NCZarr has one element along one dimension. */
static int
add_shape(const struct new_array *a, bool nczarr, struct buf *ret)
{
	static const uint64_t one[] = {1};
	const bool scalar = nczarr && !a->rank;
	const unsigned rank = scalar ? 1 : a->rank;
	int r = buf_addf(ret, "\"shape\": ");
	if (r == 0)
		r = encode_sizes(scalar ? one : a->shape, rank, ret);
	if (r == 0)
		r = buf_addf(ret, ", \"chunks\": ");
	return r < 0 ? r : encode_sizes(scalar ? one : a->chunk, rank, ret);
}

static int
add_separator(const struct new_array *a, bool nczarr, struct buf *ret)
{
	if (nczarr && a->separator != '/')
		return 0;
	return buf_addf(ret, ", \"dimension_separator\": \"%c\"", a->separator == '/' ? '/' : '.');
}

int
encode_array_v2(const struct new_array *a, bool nczarr, struct buf *ret)
{
	if (a->shard)
		return err_set(-ENOTSUP, "Zarr V2 has no shards");
	if (nczarr && !is_netcdf(&a->dtype))
		return err_set(-ENOTSUP, "netcdf-c reads no NCZarr store with such a type");
	int r = buf_addf(ret, "{\"zarr_format\": 2, ");
	if (r == 0)
		r = add_shape(a, nczarr, ret);
	if (r == 0)
		r = add_type(&a->dtype, ret);
	if (r == 0)
		r = add_fill(a, nczarr, ret);
	if (r == 0)
		r = buf_addf(ret, ", \"order\": \"C\"");
	if (r == 0)
		r = add_codecs(a, ret);
	if (r == 0)
		r = add_separator(a, nczarr, ret);
	if (r == 0 && !nczarr)
		r = json_to_ascii(ret); /* a fill value that is text */
	return r < 0 ? r : buf_add(ret, "}", 1);
}
