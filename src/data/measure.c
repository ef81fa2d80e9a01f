/* The width of a variable-length type: its longest element, which only reading all chunks tells. What writers padded
 * the last chunks with counts, since it must have room too when they are decoded. */
#include "data/array_impl.h"

#include "base/check.h"
#include "model/parallel.h"

#include <errno.h>

struct measure {
	struct zmap *zmap;
	struct array *array;
	const struct array_measuring *most;
	pthread_mutex_t lock; /* guards all below */
	size_t longest;
	bool absent; /* a chunk is: the fill value counts */
	int outcome; /* the first that is not 0: then no further chunk is looked at */
	struct err why;
};

static int
chunk_width(const struct measure *m, uint64_t chunk, size_t *ret)
{
	char key[ARRAY_KEY_MAX];
	CLEAN(buf_free) struct buf enc = {0};
	int r = array_chunk_key(m->array, chunk, key);
	struct zmap_get g = {.key = key,
		.into = &enc,
		.max = m->most->max_stored,
		.deadline = m->most->deadline};
	if (r == 0)
		r = zmap_get(m->zmap, &g, NULL);
	if (r == 0)
		r = codec_chain_width(m->array->chain, buf_span(&enc), ret);
	codec_scratch_rest();
	return r < 0 ? err_add(r, "chunk '%s'", key) : r;
}

static void
measure_chunk(void *arg, size_t chunk)
{
	struct measure *m = arg;
	size_t width = 0;
	bool over = false;
	LOCKED(&m->lock)
		over = m->outcome;
	int r = over                           ? 0
		: when_over(m->most->deadline) ? err_set(-ETIMEDOUT, "not in time")
					       : chunk_width(m, chunk, &width);
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
measure_all(struct measure *m)
{
	uint64_t chunks = m->array->grid.chunks;
	if (chunks > m->most->max_chunks)
		return ZMAP_ABSENT;
	pthread_mutex_init(&m->lock, NULL);
	in_parallel(chunks, m->array->remote, measure_chunk, m);
	pthread_mutex_destroy(&m->lock);
	return m->outcome < 0 ? err_restore(&m->why) : m->outcome;
}

int
array_measure(struct data *d, struct zmap *z, const char *key, const struct array_meta *meta,
	const struct array_measuring *most, uint32_t *ret)
{
	/* An element takes a byte at the least, or the file would have none. */
	struct measure m = {.zmap = z, .most = most, .longest = 1};
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
