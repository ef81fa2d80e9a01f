#include "data/uneven.h"

#include "base/err.h"
#include "data/grid_uneven.h"

#include <errno.h>
#include <string.h>

struct uneven {
	struct edges *edges;
	struct codec_specs specs;
};

struct uneven *
uneven_free(struct uneven *u)
{
	if (!u)
		return NULL;
	edges_free(u->edges);
	codec_specs_free(&u->specs);
	free(u);
	return NULL;
}

int
uneven_new(const struct array_meta *m, struct uneven **ret)
{
	struct uneven *u = m->edges ? calloc(1, sizeof *u) : NULL;
	if (!m->edges)
		return 0;
	*ret = u;
	if (!u || !(u->specs.spec = calloc(m->ncodecs + 1, sizeof *u->specs.spec)))
		return err_set(-ENOMEM, "no memory");
	for (; u->specs.n < m->ncodecs; u->specs.n++) {
		struct codec_spec *s = &u->specs.spec[u->specs.n];
		const struct json *config = m->codec[u->specs.n].config;
		if (!(s->id = strdup(m->codec[u->specs.n].id)))
			return err_set(-ENOMEM, "no memory");
		s->config = config ? json_ref(config) : NULL;
	}
	return edges_copy(m->edges, &u->edges);
}

const struct edges *
uneven_edges(const struct uneven *u)
{
	return u ? u->edges : NULL;
}

/* A chunk that is shorter than the longest somewhere. */
struct shorter {
	uint64_t shape[RANK_MAX];
	struct form form;
	struct codec_chain *chain;
};

/* 0: *ret is such a chunk, to be freed; 1: it is not one. */
static int
open_shorter(const struct array *a, uint64_t chunk, struct shorter *ret)
{
	if (!a->uneven || !grid_uneven_shape(&a->grid, chunk, ret->shape))
		return 1;
	ret->chain = NULL;
	ret->form = a->form;
	ret->form.shape = ret->shape;
	ret->form.count = 1; /* fewer elements than the longest chunk has */
	for (unsigned d = 0; d < a->grid.rank; d++)
		ret->form.count *= ret->shape[d];
	ret->form.bytes = ret->form.count * a->grid.item;
	const struct codec_specs *s = &a->uneven->specs;
	return codec_chain_open(s->spec, s->n, &ret->form, &ret->chain);
}

/* The elements of a chunk to where they lie in one of the longest. */
static void
spread(const struct array *a, const uint64_t *shape, const uint8_t *from, uint8_t *to)
{
	const struct grid *g = &a->grid;
	uint64_t at[RANK_MAX] = {0};
	unsigned last = g->rank - 1;
	size_t run = shape[last] * g->item;
	for (;;) {
		memcpy(to, from, run);
		from += run;
		unsigned d = last;
		while (d > 0 && ++at[d - 1] == shape[d - 1]) {
			d--;
			to -= (shape[d] - 1) * g->chunk_step[d];
			at[d] = 0;
		}
		if (!d)
			return;
		to += g->chunk_step[d - 1];
	}
}

int
uneven_decode(const struct array *a, uint64_t chunk, struct span in, struct buf *out)
{
	struct shorter s;
	int r = open_shorter(a, chunk, &s);
	if (r == 1)
		return codec_chain_decode(a->chain, NULL, in, out);
	if (r < 0)
		return r;
	struct buf one = {0};
	r = buf_reserve(&one, s.form.bytes);
	if (r == 0)
		r = codec_chain_decode(s.chain, NULL, in, &one);
	if (r >= 0) {
		spread(a, s.shape, one.data, out->data);
		out->len = a->grid.chunk_bytes;
	}
	codec_chain_free(s.chain);
	buf_free(&one);
	return r;
}

int
uneven_width(const struct array *a, uint64_t chunk, struct span in, size_t *ret)
{
	struct shorter s;
	int r = open_shorter(a, chunk, &s);
	if (r == 1)
		return codec_chain_width(a->chain, in, ret);
	if (r == 0) {
		r = codec_chain_width(s.chain, in, ret);
		codec_chain_free(s.chain);
	}
	return r;
}
