/* The width of a variable-length type: its longest element, which only reading all chunks tells. What writers padded
 * the last chunks with counts, since it must have room too when they are decoded. */
#include "data/array_impl.h"

#include "base/check.h"

#include <errno.h>

struct measure {
	struct zmap *zmap;
	struct array *array;
	size_t max_stored, longest;
	bool absent; /* a chunk is: the fill value counts */
};

static int
measure_chunk(struct measure *m, uint64_t chunk)
{
	char key[ARRAY_KEY_MAX];
	CLEAN(buf_free) struct buf enc = {0};
	size_t width = 0;
	int r = array_chunk_key(m->array, chunk, key);
	if (r == 0)
		r = zmap_get(m->zmap,
			&(struct zmap_get){.key = key, .into = &enc, .max = m->max_stored}, NULL);
	if (r == -EFBIG)
		return ZMAP_ABSENT;
	if (r == ZMAP_ABSENT) {
		m->absent = true;
		return 0;
	}
	if (r == 0)
		r = codec_chain_width(m->array->chain, buf_span(&enc), &width);
	m->longest = max_u64(m->longest, width);
	return r < 0 ? err_add(r, "chunk '%s'", key) : 0;
}

int
array_measure(struct data *d, struct zmap *z, const char *key, const struct array_meta *meta,
	size_t max_stored, uint32_t *ret)
{
	struct measure m = {.zmap = z, .max_stored = max_stored};
	int r = array_open(d, z, key, meta, 0, &m.array);
	if (r < 0)
		return r;
	m.longest = 1; /* an element takes a byte at the least, or the file would have none */
	for (uint64_t c = 0; c < m.array->grid.chunks && r == 0; c++)
		r = measure_chunk(&m, c);
	if (m.absent)
		m.longest = max_u64(m.longest, meta->fill_len);
	codec_scratch_rest();
	array_unref(m.array);
	if (r == 0 && m.longest > UINT32_MAX)
		r = err_set(-EFBIG, "element of %zu bytes", m.longest);
	if (r == 0)
		*ret = (uint32_t)m.longest;
	return r;
}
