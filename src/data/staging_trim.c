/* Shrinking: chunks beyond the new extent go, and the tail of the last ones becomes fill. And what
 * goes not. */
#include "data/staging_impl.h"

#include "base/check.h"
#include "model/parallel.h"

#include <errno.h>

/* Chunks of the array that share one index of the leading dimension. */
static uint64_t
per_row(const struct array *a)
{
	uint64_t n = 1;
	for (unsigned d = 1; d < a->grid.rank; d++)
		n *= a->grid.count[d];
	return n;
}

/* --- what is staged --- */

/* Until no object of the space is being stored. The lock is held, and open meanwhile. */
static int
wait_for_stores(struct staging *s, uint64_t space, struct cancel *cancel)
{
	for (;;) {
		struct staged_object *o = s->storing.oldest;
		while (o && o->space->number != space)
			o = o->newer;
		if (!o)
			return 0;
		int r = staging_wait(s, 0, cancel);
		if (r < 0)
			return r;
	}
}

/* What was written to the chunk from byte `from` on is forgotten. */
static void
forget(struct staging *s, struct staged_chunk *c, size_t from)
{
	if (!c->now)
		return;
	layer_cut(c->now, from);
	if (c->whole) {
		c->whole = false;
		c->object->whole--;
	}
	if (layer_any(c->now))
		return;
	staged_charge(s, c->object, layer_cost(c->now), 0);
	c->now = layer_unref(c->now);
}

/* All chunks from that number on. The caller holds the space. */
static void
forget_beyond(struct staging *s, uint64_t space, uint64_t first)
{
	for (unsigned i = 0; i < STAGED_BUCKETS; i++)
		for (struct staged_object *o = s->bucket[i], *next; o; o = next) {
			next = o->hash_next;
			if (o->space->number != space)
				continue;
			for (struct staged_chunk *c = o->chunk; c; c = c->next)
				if (c->number >= first) {
					forget(s, c, 0);
					c->fill_from = NO_FILL;
				}
			staged_tidy(s, o);
		}
}

/* Of what is stored of these chunks, bytes from `from` on are to become fill. */
static int
mark(struct staging *s, struct array *a, uint64_t first, uint64_t n, size_t from)
{
	for (uint64_t i = 0; i < n; i++) {
		struct staged_chunk *c = staging_make_chunk(s, a, first + i);
		if (!c)
			return err_set(-ENOMEM, "no memory for what is written");
		forget(s, c, from);
		c->fill_from = from;
		if (!c->object->since)
			c->object->since = s->clock;
	}
	return 0;
}

/* The chunks that hold the last index, and in a shard those behind them. */
static int
mark_tail(struct staging *s, struct array *a)
{
	const struct grid *g = &a->grid;
	uint64_t row = per_row(a), in_last = g->shape[0] % g->chunk[0],
		 end = a->shard ? round_up(g->count[0], a->in_shard[0]) : g->count[0];
	s->clock++;
	int r = in_last ? mark(s, a, (g->count[0] - 1) * row, row, in_last * g->chunk_step[0]) : 0;
	return r < 0 ? r : mark(s, a, g->count[0] * row, (end - g->count[0]) * row, 0);
}

/* --- what is stored --- */

struct removal {
	struct array *array;
	uint64_t first, per_row, step; /* chunks that are the first of their objects, in rows that
					  are `step` apart */
	struct cancel *cancel;
	pthread_mutex_t lock; /* guards err */
	struct err err;
};

static int
remove_object(const struct removal *m, uint64_t chunk)
{
	struct array *a = m->array;
	struct object *o;
	char key[ARRAY_KEY_MAX];
	const struct extent_id id = array_extent(a, chunk, 0, 0);
	int r = array_chunk_key(a, chunk, key);
	if (r == 0)
		r = cache_put_begin(a->data->cache, &id, &o);
	if (r < 0)
		return r;
	r = zmap_del(a->zmap, &(struct zmap_del){.key = key, .cancel = m->cancel});
	cache_put_end(a->data->cache, o, r < 0 ? NULL : "");
	return r < 0 ? r : 0;
}

static void
remove_one(void *arg, size_t i)
{
	struct removal *m = arg;
	const struct array *a = m->array;
	uint64_t index[RANK_MAX], row = i / m->per_row,
				  chunk = m->first + row * m->step + i % m->per_row;
	grid_index(&a->grid, chunk, index);
	for (unsigned d = 1; a->shard && d < a->grid.rank; d++)
		if (index[d] % a->in_shard[d]) /* it is not the first one of its shard */
			return;
	int r = remove_object(m, chunk);
	if (r < 0)
		LOCKED(&m->lock)
			err_save(r, &m->err);
}

static int
remove_beyond(struct array *a, uint64_t before, struct cancel *cancel)
{
	const struct grid *g = &a->grid;
	uint64_t rows = a->shard ? a->in_shard[0] : 1, row = per_row(a),
		 first = ceil_div(g->count[0], rows),
		 last = ceil_div(ceil_div(before, g->chunk[0]), rows);
	struct removal m = {.array = a,
		.first = first * rows * row,
		.per_row = row,
		.step = rows * row,
		.cancel = cancel};
	if (first >= last)
		return 0;
	pthread_mutex_init(&m.lock, NULL);
	in_parallel((last - first) * row, a->remote, remove_one, &m);
	pthread_mutex_destroy(&m.lock);
	return m.err.code ? err_restore(&m.err) : 0;
}

/* What is left in the space is stored by this array, which is as short as the store's now. The one
 * that did, to be let go of; or NULL. */
static struct array *
take_over(struct staged_space *p, struct array *a)
{
	struct array *was = p->array;
	if (was == a)
		return NULL;
	p->array = array_ref(a);
	return was;
}

int
array_trim(struct array *a, uint64_t before, struct cancel *cancel)
{
	struct staging *s = a->data->staging;
	struct staged_space *p = NULL;
	struct array *gone = NULL, *was = NULL;
	int r = array_writable(a);
	if (r < 0 || before <= a->grid.shape[0] || !a->grid.bytes)
		return r;
	LOCKED(&s->lock) {
		r = wait_for_stores(s, a->space, cancel);
		p = r == 0 ? staging_hold_space(s, a, &was) : NULL;
		if (p) {
			forget_beyond(s, a->space, a->grid.count[0] * per_row(a));
			was = was ? was : take_over(p, a);
		}
		if (r == 0)
			r = p ? mark_tail(s, a) : err_set(-ENOMEM, "no memory for what is written");
	}
	array_unref(was);
	if (r == 0)
		r = remove_beyond(a, before, cancel);
	if (r == 0)
		r = array_flush(a, cancel);
	if (p)
		LOCKED(&s->lock)
			gone = staging_release_space(s, p);
	array_unref(gone);
	return r;
}

/* Its error, too. The space's array, to be let go of; or NULL. */
static struct array *
forget_space(struct staging *s, struct staged_space *p)
{
	forget_beyond(s, p->number, 0); /* nothing to let go of: the space is held */
	free(p->error);
	p->error = NULL;
	return staging_release_space(s, p);
}

int
array_forget(struct array *a, struct cancel *cancel)
{
	struct staging *s = a->data->staging;
	struct array *gone = NULL;
	int r = 0;
	LOCKED(&s->lock) {
		struct staged_space *p = staging_space(s, a->space);
		if (!p)
			break;
		p->users++;
		r = wait_for_stores(s, p->number, cancel);
		gone = r == 0 ? forget_space(s, p) : staging_release_space(s, p);
		pthread_cond_broadcast(&s->moved);
	}
	array_unref(gone);
	return r;
}

int
array_keep_empty(struct array *a, struct cancel *cancel)
{
	struct staging *s = a->data->staging;
	struct array *was = NULL, *gone = NULL;
	int r = 0;
	LOCKED(&s->lock) {
		struct staged_space *p = staging_hold_space(s, a, &was);
		if (!p) {
			r = err_set(-ENOMEM, "no memory for what is written");
			break;
		}
		p->keeps = true;
		r = wait_for_stores(s, a->space, cancel);
		gone = staging_release_space(s, p);
	}
	array_unref(was);
	array_unref(gone);
	return r;
}

bool
data_is_staged(const struct data *d)
{
	return staging_any(d->staging);
}
