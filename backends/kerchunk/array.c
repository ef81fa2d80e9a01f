#include "backends/kerchunk/array.h"

#include "base/check.h"
#include "base/err.h"
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int
bad(const char *what)
{
	return err_set(-EIO, "the metadata of the array: %s", what);
}

static int
read_separator(const struct json *j, struct kerchunk_array *ret)
{
	if (!j)
		return 0;
	if (!json_is(j, ".") && !json_is(j, "/"))
		return bad("a separator that is neither '.' nor '/'");
	ret->separator = json_is(j, ".") ? '.' : '/';
	return 0;
}

static int
read_grid(const struct json *shape, const struct json *chunks, struct kerchunk_array *ret)
{
	size_t n = json_count(shape);
	if (!shape || !chunks || json_count(chunks) != n || n > KERCHUNK_RANK_MAX)
		return bad("no shape with chunks");
	ret->rank = (unsigned)n;
	for (size_t i = 0; i < n; i++) {
		uint64_t size, chunk;
		if (json_uint(json_at(shape, i), &size) < 0 ||
			json_uint(json_at(chunks, i), &chunk) < 0)
			return bad("a shape that is not of whole numbers");
		ret->grid[i] =
			ceil_div(size, chunk ? chunk : 1); /* a chunk of 0 where the size is 0 */
	}
	return 0;
}

static int
read_v3(const struct json *j, struct kerchunk_array *ret)
{
	const struct json *grid = json_get(j, "chunk_grid");
	const struct json *keys = json_get(j, "chunk_key_encoding");
	const struct json *name = keys ? json_get(keys, "name") : NULL;
	const struct json *form = keys ? json_get(keys, "configuration") : NULL;
	ret->plain = (name && json_is(name, "v2")) || (keys && json_is(keys, "v2"));
	ret->separator = ret->plain ? '.' : '/';
	int r = read_separator(form ? json_get(form, "separator") : NULL, ret);
	const struct json *chunks = grid ? json_get(grid, "configuration") : NULL;
	return r < 0 ? r
		     : read_grid(json_get(j, "shape"),
			       chunks ? json_get(chunks, "chunk_shape") : NULL, ret);
}

int
kerchunk_array_read(struct span text, bool v3, struct kerchunk_array *ret)
{
	CLEAN(json_freep) struct json *j = NULL;
	int r = json_parse((const char *)text.data, text.len, &j);
	if (r < 0)
		return err_set(-EIO, "the metadata of the array are no JSON");
	*ret = (struct kerchunk_array){.v3 = v3};
	if (v3)
		return read_v3(j, ret);
	r = read_separator(json_get(j, "dimension_separator"), ret);
	return r < 0 ? r : read_grid(json_get(j, "shape"), json_get(j, "chunks"), ret);
}

int
kerchunk_array_key(
	const struct kerchunk_array *a, const uint64_t *index, char separator, struct buf *ret)
{
	bool prefix = a->v3 && !a->plain;
	int r = prefix ? buf_addf(ret, "c") : a->rank ? 0 : buf_addf(ret, "0");
	for (unsigned i = 0; i < a->rank && r == 0; i++)
		r = i || prefix ? buf_addf(ret, "%c%" PRIu64, separator, index[i])
				: buf_addf(ret, "%" PRIu64, index[i]);
	if (r == 0)
		r = buf_terminate(ret);
	return r < 0 ? err_set(-ENOMEM, "no memory for a key") : 0;
}

bool
kerchunk_array_number(const struct kerchunk_array *a, const uint64_t *index, uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < a->rank; i++)
		if (index[i] >= a->grid[i] || mul_over(*ret, a->grid[i], ret) ||
			add_over(*ret, index[i], ret))
			return false;
	return true;
}
