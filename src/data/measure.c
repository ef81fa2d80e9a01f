/* The width of a variable-length type: its longest element, which only reading all chunks tells.
 * What writers padded the last chunks with counts, since it must have room too when they are
 * decoded. */
#include "data/uneven.h"

#include "base/check.h"
#include "model/parallel.h"

#include <errno.h>

/* Of shards: so many chunks for each. */
enum { CHUNKS_EACH = 1000 };

struct array_measure {
	struct zmap *zmap;
	struct array *array;
	const struct array_measuring *most;
	pthread_mutex_t lock; /* guards all below */
	size_t longest;
	bool absent; /* a chunk is: the fill value counts */
	int outcome; /* the first that is not 0: then no further chunk is looked at */
	struct err why;
};

/* Stored objects that there may be; and the first chunk of one. */
static uint64_t
count_objects(const struct array *a)
{
	uint64_t n = 1;
	if (!a->shard)
		return a->grid.chunks;
	for (unsigned d = 0; d < a->grid.rank; d++)
		n *= ceil_div(a->grid.count[d], a->in_shard[d]);
	return n;
}

static uint64_t
first_chunk(const struct array *a, uint64_t object)
{
	uint64_t index[RANK_MAX];
	if (!a->shard)
		return object;
	for (unsigned d = a->grid.rank; d-- > 0;) {
		uint64_t n = ceil_div(a->grid.count[d], a->in_shard[d]);
		index[d] = object % n * a->in_shard[d];
		object /= n;
	}
	return grid_number(&a->grid, index);
}

/* ZMAP_ABSENT: of those elements that are there. */
static int
object_width(const struct array_measure *m, uint64_t object, size_t *ret)
{
	const uint64_t chunk = first_chunk(m->array, object);
	char key[ARRAY_KEY_MAX];
	CLEAN(buf_free) struct buf enc = {0};
	int r = array_chunk_key(m->array, chunk, key);
	uint64_t index[RANK_MAX];
	struct zmap_chunk by;
	struct zmap_get g = {.key = key,
		.chunk = array_chunk(m->array, chunk, index, &by),
		.into = &enc,
		.max = m->most->max_stored,
		.deadline = m->most->deadline};
	if (r == 0)
		r = zmap_get(m->zmap, &g, NULL);
	if (r == 0 && m->array->shard) {
		r = shard_width(m->array->shard, buf_span(&enc), ret);
		r = r == SHARD_MISSING ? ZMAP_ABSENT : r;
	} else if (r == 0) {
		r = uneven_width(m->array, chunk, buf_span(&enc), ret);
	}
	codec_scratch_rest();
	return r < 0 ? err_add(r, "chunk '%s'", key) : r;
}

static void
measure_object(void *arg, size_t object)
{
	struct array_measure *m = arg;
	size_t width = 0;
	bool over = false;
	LOCKED(&m->lock)
		over = m->outcome;
	int r = over                            ? 0
		: clock_over(m->most->deadline) ? err_set(-ETIMEDOUT, "not in time")
						: object_width(m, object, &width);
	LOCKED(&m->lock) {
		m->longest = max_u64(m->longest, width);
		m->absent |= r == ZMAP_ABSENT;
		if (r < 0 && !m->outcome) {
			m->outcome = r == -EFBIG ? ZMAP_ABSENT : r;
			err_save(r, &m->why);
		}
	}
}

static int
measure_all(struct array_measure *m)
{
	uint64_t n = count_objects(m->array);
	if (n > m->most->max_chunks || m->array->grid.chunks > CHUNKS_EACH * m->most->max_chunks)
		return ZMAP_ABSENT;
	pthread_mutex_init(&m->lock, NULL);
	in_parallel(n, m->array->remote, measure_object, m);
	pthread_mutex_destroy(&m->lock);
	return m->outcome < 0 ? err_restore(&m->why) : m->outcome;
}

int
array_measure(struct data *d, struct zmap *z, const char *key, const struct array_meta *meta,
	const struct array_measuring *most, uint32_t *ret)
{
	/* An element takes a byte at the least, or the file would have none. */
	struct array_measure m = {.zmap = z, .most = most, .longest = 1};
	int r = array_open(d, z, key, meta, 0, &m.array);
	if (r < 0)
		return r;
	r = measure_all(&m);
	if (m.absent)
		m.longest = max_u64(m.longest, meta->fill_len);
	array_unref(m.array);
	if (r == 0 && m.longest > UINT32_MAX)
		r = err_set(-EFBIG, "element of %zu bytes", m.longest);
	if (r == 0)
		*ret = (uint32_t)m.longest;
	return r;
}
