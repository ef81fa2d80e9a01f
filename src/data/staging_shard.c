/* One object that is a shard: changed chunks are encoded, the others copied as they are stored, and
 * the index is new. */
#include "data/staging_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Where a chunk lies that lies nowhere in its shard, so that it does in no other that is made of
 * it. */
static const uint64_t NOWHERE = UINT64_MAX - 1;

/* What a shard is made of. */
struct parts {
	const struct staged_chunk **changed; /* by number in the shard; NULL: not changed */
	uint8_t *old, *new;                  /* entries; old NULL: there was no shard */
	uint64_t chunks, full;
	bool touched; /* something of it is another than it was */
};

static void
parts_free(struct parts *p)
{
	free(p->changed);
	free(p->old);
	free(p->new);
}

static int
find_changed(struct store *st, struct parts *p)
{
	const struct array *a = st->array;
	p->chunks = shard_chunks(a->shard);
	p->changed = calloc(p->chunks, sizeof *p->changed);
	p->new = malloc(shard_entries_bytes(a->shard));
	if (!p->changed || !p->new)
		return err_set(-ENOMEM, "no memory for the index of a shard");
	for (const struct staged_chunk *c = st->chunk; c; c = c->next)
		if (c->storing || c->storing_fill < a->grid.chunk_bytes)
			p->changed[array_chunk_in_shard(a, c->number)] = c;
	return 0;
}

/* Must the present shard be read? Not where all its chunks that the array can have are wholly
 * written. */
static bool
needs_base(const struct store *st, const struct parts *p)
{
	const struct array *a = st->array;
	uint64_t first[RANK_MAX], i = 0;
	bool whole = true;
	grid_index(&a->grid, st->chunk->number, first);
	for (unsigned d = 0; d < a->grid.rank; d++)
		first[d] = first[d] / a->in_shard[d] * a->in_shard[d];
	for (; i < p->chunks && whole; i++) {
		uint64_t rest = i;
		bool within = true;
		for (unsigned d = a->grid.rank; d-- > 0;) {
			within &= !d || first[d] + rest % a->in_shard[d] < a->grid.count[d];
			rest /= a->in_shard[d];
		}
		whole = !within || (p->changed[i] && store_is_whole(st, p->changed[i]));
	}
	return !whole;
}

/* The entries of the present shard; none, where a broken writer left it. */
static int
read_old(struct store *st, struct parts *p)
{
	const struct shard *s = st->array->shard;
	size_t n = shard_index_bytes(s), len = st->base.len;
	p->old = malloc(shard_entries_bytes(s));
	if (!p->old)
		return err_set(-ENOMEM, "no memory for the index of a shard");
	struct span index = buf_span(&st->base);
	if (len >= n)
		index = (struct span){index.data + (shard_index_first(s) ? 0 : len - n), n};
	int r = shard_read_index(s, index, p->old);
	if (!store_is_left(st))
		return r < 0 ? err_add(r, "'%s'", st->key) : 0;
	if (r < 0)
		store_say_left(st);
	free(p->old);
	p->old = NULL;
	p->touched = true;
	return 0;
}

/* The stored bytes of chunk i; data NULL: it is missing. */
static int
find_old(const struct store *st, const struct parts *p, uint64_t i, struct span *ret)
{
	struct shard_place at;
	*ret = (struct span){0};
	int r = p->old ? shard_find(st->array->shard, p->old, i, st->base.len, &at) : SHARD_MISSING;
	if (r == 0)
		*ret = (struct span){st->base.data + at.off, at.len};
	return r < 0 ? r : 0;
}

/* The stored bytes of a changed chunk, in ret; data NULL: it goes. */
static int
encode(struct store *st, const struct staged_chunk *c, const struct span *old, struct buf *own,
	struct span *ret)
{
	CLEAN(buf_free) struct buf merged = {0};
	struct span decoded;
	*ret = (struct span){0};
	if (!c->storing && (!old->data || !store_fill_from(st, c)))
		return 0;
	int r = store_merge(st, c, old->data ? old : NULL, &merged, &decoded);
	if (r < 0 || store_goes(st, decoded))
		return r;
	r = store_encode(st, c, decoded, own);
	*ret = buf_span(own);
	return r;
}

/* Chunk i of the shard, of which nothing was written. False: the array has none there. */
static bool
find_untouched(const struct store *st, uint64_t i, struct staged_chunk *ret)
{
	const struct array *a = st->array;
	uint64_t index[RANK_MAX];
	grid_index(&a->grid, st->chunk->number, index);
	for (unsigned d = a->grid.rank; d-- > 0; i /= a->in_shard[d]) {
		index[d] += i % a->in_shard[d] - index[d] % a->in_shard[d];
		if (d && index[d] >= a->grid.count[d])
			return false;
	}
	*ret = (struct staged_chunk){.number = grid_number(&a->grid, index),
		.fill_from = NO_FILL,
		.storing_fill = NO_FILL};
	return true;
}

/* Does what is stored of the chunk count no more, whatever it is? */
static bool
replaces(const struct store *st, const struct staged_chunk *c)
{
	const struct layer *l = c->storing;
	return (l && l->count >= staged_visible(st->array, c->number)) || !store_fill_from(st, c);
}

static int
add_chunk(struct store *st, struct parts *p, uint64_t i)
{
	const struct array *a = st->array;
	const struct shard *s = a->shard;
	CLEAN(buf_free) struct buf own = {0};
	struct span old, bytes;
	int r = find_old(st, p, i, &old);
	const struct staged_chunk *c = p->changed[i];
	const bool written = c != NULL;
	bool lost = r < 0; /* its entry in the index leads nowhere */
	struct staged_chunk left;
	if (!c && (old.data || lost) && find_untouched(st, i, &left) &&
		store_fill_from(st, &left) < a->grid.chunk_bytes)
		c = &left;
	p->touched |= c != NULL;
	if (lost && c && replaces(st, c)) {
		lost = false;
		r = 0;
	}
	bytes = old;
	if (r == 0 && c)
		r = encode(st, c, &old, &own, &bytes);
	if (r == -EIO && !written) { /* no other chunk suffers from the damage, which stays */
		bytes = old;
		r = 0;
	}
	if (r < 0)
		return err_add(r, "'%s', chunk %" PRIu64, st->key, i);
	const struct shard_place at = {lost ? NOWHERE : st->out.len, bytes.len};
	shard_set(s, p->new, i, bytes.data || lost ? &at : NULL);
	p->full += bytes.data || lost;
	return bytes.data ? buf_add(&st->out, bytes.data, bytes.len) : 0;
}

static int
add_index(struct store *st, const struct parts *p)
{
	const struct shard *s = st->array->shard;
	CLEAN(buf_free) struct buf index = {0};
	int r = shard_write_index(s, p->new, &index);
	if (r == 0 && shard_index_first(s))
		memcpy(st->out.data, index.data, index.len);
	else if (r == 0)
		r = buf_add(&st->out, index.data, index.len);
	return r;
}

int
store_shard(struct store *st)
{
	const struct shard *s = st->array->shard;
	CLEAN(parts_free) struct parts p = {0};
	int r = find_changed(st, &p);
	if (r == 0 && needs_base(st, &p))
		r = store_base(st);
	if (r == 0 && st->based && !st->absent)
		r = read_old(st, &p);
	if (r == 0 && shard_index_first(s)) {
		r = buf_reserve(&st->out, shard_index_bytes(s));
		st->out.len = r == 0 ? shard_index_bytes(s) : 0;
	}
	for (uint64_t i = 0; i < p.chunks && r == 0; i++)
		r = add_chunk(st, &p, i);
	st->nothing = st->based && (st->absent ? !p.full : !p.touched);
	st->empty = !p.full && !st->keeps && st->array->data->options.delete_empty;
	return r < 0 ? r : add_index(st, &p);
}
