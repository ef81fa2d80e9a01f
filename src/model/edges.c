#include "model/edges.h"

#include "base/check.h"
#include "base/err.h"
#include "base/list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNKS_MAX = 1 << 20
}; /* of all dimensions together: 8 MiB in memory, for what may be a few bytes of metadata */

struct edges *
edges_free(struct edges *e)
{
	if (!e)
		return NULL;
	for (unsigned d = 0; d < e->rank; d++)
		free(e->dim[d].start);
	free(e);
	return NULL;
}

int
edges_copy(const struct edges *from, struct edges **ret)
{
	CLEAN(edges_freep) struct edges *e = calloc(1, sizeof *e);
	if (!e)
		return err_set(-ENOMEM, "no memory for a chunk grid");
	e->rank = from->rank;
	for (unsigned d = 0; d < from->rank; d++) {
		size_t bytes = (from->dim[d].n + 1) * sizeof(uint64_t);
		e->dim[d].n = from->dim[d].n;
		if (!from->dim[d].start)
			continue;
		e->dim[d].start = malloc(bytes);
		if (!e->dim[d].start)
			return err_set(-ENOMEM, "no memory for a chunk grid");
		memcpy(e->dim[d].start, from->dim[d].start, bytes);
	}
	*ret = MOVE(e);
	return 0;
}

size_t
edges_bytes(const struct edges *e)
{
	size_t bytes = sizeof *e;
	for (unsigned d = 0; d < e->rank; d++)
		bytes += e->dim[d].start ? (e->dim[d].n + 1) * sizeof(uint64_t) : 0;
	return bytes;
}

uint64_t
edges_find(const struct edges *e, unsigned dim, uint64_t i)
{
	const uint64_t *start = e->dim[dim].start;
	uint64_t low = 0, high = e->dim[dim].n;
	while (low + 1 < high) {
		uint64_t middle = (low + high) / 2;
		if (start[middle] <= i)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Lengths of chunks along one dimension, as they are read. */
struct edge_lengths {
	uint64_t *start;
	uint64_t n, most, end, longest;
	bool uneven;
};

/* `times` chunks of this length. */
static int
add(struct edge_lengths *l, uint64_t length, uint64_t times, uint64_t shape)
{
	if (!length || length > INT64_MAX)
		return err_set(-EINVAL, "a chunk of no length in 'chunk_shapes'");
	for (; times && (l->end < shape || !l->n); times--) {
		if (l->n == l->most)
			return err_set(-ENOTSUP,
				"more than %d chunks of several lengths are not supported",
				CHUNKS_MAX);
		int r = LIST_MORE(l->start, l->n + 1, "a chunk grid"); /* and for its end */
		if (r < 0)
			return r;
		l->uneven |= l->n && length != l->longest;
		l->longest = max_u64(l->longest, length);
		l->start[l->n++] = l->end;
		if (add_over(l->end, length, &l->end))
			return err_set(-EINVAL, "'chunk_shapes' is too large");
		l->start[l->n] = l->end;
	}
	return 0;
}

/* A length, or [length, how often]. */
static int
add_run(const struct json *v, uint64_t shape, struct edge_lengths *l)
{
	uint64_t length, times = 1;
	bool list = json_type(v) == JSON_TYPE_LIST;
	if (list && json_count(v) != 2)
		return err_set(-EINVAL, "'chunk_shapes' has a run that is no pair");
	if (json_uint(list ? json_at(v, 0) : v, &length) < 0 ||
		(list && json_uint(json_at(v, 1), &times) < 0))
		return err_set(-EINVAL, "'chunk_shapes' has a length that is none");
	return add(l, length, times, shape);
}

static int
read_dim(const struct json *v, uint64_t shape, struct edge_lengths *l)
{
	uint64_t length;
	if (json_type(v) != JSON_TYPE_LIST) {
		if (json_uint(v, &length) < 0 || !length)
			return err_set(-EINVAL, "'chunk_shapes' has a length that is none");
		l->longest = length;
		return 0;
	}
	for (size_t i = 0; i < json_count(v); i++) {
		int r = add_run(json_at(v, i), shape, l);
		if (r < 0)
			return r;
	}
	if (!l->n || l->end < shape)
		return err_set(-EINVAL,
			"'chunk_shapes' has %" PRIu64 " elements, the array %" PRIu64, l->end,
			shape);
	return 0;
}

int
edges_parse(const struct json *shapes, unsigned rank, const uint64_t *shape, uint64_t *ret_longest,
	struct edges **ret)
{
	if (!shapes || json_type(shapes) != JSON_TYPE_LIST || json_count(shapes) != rank ||
		rank > EDGES_RANK_MAX)
		return err_set(-EINVAL, "'chunk_shapes' are not those of %u dimensions", rank);
	CLEAN(edges_freep) struct edges *e = calloc(1, sizeof *e);
	uint64_t left = CHUNKS_MAX;
	bool uneven = false;
	if (!e)
		return err_set(-ENOMEM, "no memory for a chunk grid");
	e->rank = rank;
	for (unsigned d = 0; d < rank; d++) {
		struct edge_lengths l = {.most = left};
		int r = read_dim(json_at(shapes, d), shape[d], &l);
		if (r < 0) {
			free(l.start);
			return r;
		}
		ret_longest[d] = l.longest;
		e->dim[d].n = l.uneven ? l.n : ceil_div(shape[d], l.longest);
		e->dim[d].start = l.uneven ? l.start : NULL;
		if (!l.uneven)
			free(l.start);
		else
			left -= l.n;
		uneven |= l.uneven;
	}
	*ret = uneven ? MOVE(e) : NULL;
	return 0;
}
