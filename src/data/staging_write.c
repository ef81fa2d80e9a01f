/* Writing: bytes of the file to the chunks that they belong to. */
#include "data/staging_impl.h"

#include "base/check.h"

#include <errno.h>
#include <inttypes.h>

enum {
	BREATHE = 256 << 10, /* bytes after which a writer lets others in */
	LONG_RUN = 4,   /* a writer that has come so far through chunks in order (a quarter) has all
			   of their memory */
	SHORT_RUN = 32, /* after so small a part of them whole windows are reserved; their pages
			   come with the bytes … */
	ROOM_PART = 4,  /* … if they are at most this part of what is not pushed out */
};

/* Chunks of the stored object that may be written, whatever the leading extent is. */
static uint64_t
in_object(const struct array *a, uint64_t chunk)
{
	const struct grid *g = &a->grid;
	uint64_t index[RANK_MAX], n = 1;
	if (!a->shard)
		return 1;
	grid_index(g, chunk, index);
	for (unsigned d = 0; d < g->rank; d++) {
		uint64_t first = index[d] / a->in_shard[d] * a->in_shard[d];
		n *= d ? min_u64(a->in_shard[d], g->count[d] - first) : a->in_shard[d];
	}
	return n;
}

/* A write on its way. */
struct staged_writer {
	struct staging *staging;
	struct array *array;
	const struct array_want *want;
	const uint8_t *bytes;
	struct staged_space *space;
	uint64_t clock;
	uint64_t run;     /* bytes in order that this one goes on from */
	uint64_t stretch; /* of the file, from the first byte of a chunk to its last */
	size_t copied;    /* since others were let in */
};

/* Rows of a part, those bytes of them that are written. */
static int
put_rows(const struct staged_writer *w, const struct part *p, struct layer *l)
{
	struct rows_walk walk;
	int result = 0;
	uint64_t off = w->want->off, end = off + w->want->len;
	grid_rows(&w->array->grid, p, &walk);
	do {
		const struct rows *r = &walk.rows;
		uint64_t file = r->in_file, in = r->in_chunk;
		for (uint64_t i = 0; i < r->count; i++, file += r->file_step, in += r->chunk_step) {
			uint64_t lo = max_u64(file, off), hi = min_u64(file + r->bytes, end);
			if (lo < hi && result == 0)
				result = layer_put(
					l, in + (lo - file), w->bytes + (lo - off), hi - lo);
		}
	} while (result == 0 && grid_rows_next(&walk));
	return result;
}

static void
note_whole(struct staging *s, const struct array *a, struct staged_chunk *c)
{
	struct staged_object *o = c->object;
	if (c->whole || c->now->count < staged_needed(a, c->number))
		return;
	c->whole = true;
	o->whole++;
	if (o->list == &s->dirty && o->whole == in_object(a, c->number)) {
		staged_list_remove(o);
		staged_list_add(&s->whole, o);
	}
}

/* A writer that goes in order has windows of whole chunks before it needs them: growing step by
 * step takes fresh memory each time. Not where chunks of one step have no room together: a larger
 * one would be pushed out before it is written to once more. */
static int
make_room(const struct staged_writer *w, const struct part *p, struct layer *l)
{
	size_t all = w->array->grid.chunk_bytes, push = w->staging->push;
	if (w->run >= w->stretch / LONG_RUN && w->stretch <= push)
		return layer_room(l, all, 0, all);
	if (w->run >= w->stretch / SHORT_RUN && w->stretch <= push / ROOM_PART)
		return layer_room_ahead(l, all);
	return layer_room(l, all, p->in_chunk, p->last);
}

/* The array becomes shorter meanwhile: the write ends at the new end. The lock is held. */
static int
check_end(const struct staged_writer *w, const struct part *p)
{
	const struct grid *g = &w->array->grid;
	if (!staged_is_cut(w->space, w->array))
		return 0;
	const uint64_t rows = w->space->array->grid.shape[0], end = p->index[0] * g->chunk[0] +
								    p->in_chunk / g->chunk_step[0] +
								    p->count[0];
	return end <= rows ? 0
			   : err_set(-EIO, "'%s' has been made shorter meanwhile: %" PRIu64 " rows",
				     w->array->path, rows);
}

/* The lock is held. */
static int
put_part(struct staged_writer *w, const struct part *p)
{
	struct staging *s = w->staging;
	struct staged_chunk *c = staging_make_chunk(s, w->array, p->number);
	if (c && !c->now) {
		c->now = calloc(1, sizeof *c->now);
		if (c->now)
			c->now->refs = 1;
	}
	if (!c || !c->now)
		return err_set(-ENOMEM, "no memory for what is written");
	struct staged_object *o = c->object;
	struct layer *l = c->now;
	size_t before = l->len || l->under ? layer_cost(l) : 0;
	struct layer *new = w->want->under && !l->under ? calloc(1, sizeof *new) : NULL;
	l = !w->want->under ? l : l->under ? l->under : new;
	int r = l ? make_room(w, p, l) : err_set(-ENOMEM, "no memory for what is written");
	if (r < 0) {
		layer_free(new);
		return r;
	}
	if (new)
		c->now->under = new;
	r = put_rows(w, p, l);
	staged_charge(s, o, before, layer_cost(c->now));
	if (!o->since)
		o->since = w->clock;
	o->written = s->clock;
	note_whole(s, w->array, c);
	return r;
}

/* Will there be room? What waits of an array that becomes shorter goes when it is: its own writers
 * do not add to that, others need not wait for it. The lock is held. */
static bool
is_to_come(const struct staged_writer *w)
{
	const struct staging *s = w->staging;
	const bool one = !s->queue.oldest && !s->whole.oldest && s->dirty.oldest == s->dirty.newest;
	return staging_moves(s) || (w->space->held && !one) || (s->held && s->failed.oldest);
}

/* Waits while too much is not stored yet. The lock is held, and open meanwhile. */
static int
wait_for_room(struct staged_writer *w)
{
	struct staging *s = w->staging;
	int r = 0;
	while (r == 0 && s->bytes > s->most) {
		staging_pump(s);
		const bool waits = is_to_come(w);
		if (!waits && !s->failed.oldest)
			return 0; /* one object is all there is that can be stored */
		if (!waits)
			return err_set(-ENOSPC,
				"no room in memory (see -o memory=): what was written "
				"before cannot be stored");
		r = staging_wait(s, w->want->deadline, w->want->cancel);
		if (r == 0)
			r = staged_error(s, w->space);
	}
	return r;
}

/* Others may read and write now and then. */
static void
breathe(struct staged_writer *w, uint64_t bytes)
{
	w->copied += bytes;
	if (w->copied < BREATHE)
		return;
	w->copied = 0;
	pthread_mutex_unlock(&w->staging->lock);
	staging_tell(w->staging);
	pthread_mutex_lock(&w->staging->lock);
}

static int
put_box(struct staged_writer *w, const struct box *b)
{
	const struct grid *g = &w->array->grid;
	struct part p;
	int r;
	grid_first(g, b, &p);
	do {
		uint64_t bytes = g->item;
		for (unsigned d = 0; d < g->rank; d++)
			bytes *= p.count[d];
		r = wait_for_room(w);
		if (r == 0)
			r = check_end(w, &p);
		if (r == 0)
			r = put_part(w, &p);
		breathe(w, bytes);
	} while (r == 0 && grid_next(g, b, &p));
	return r;
}

static int
put_all(struct staged_writer *w)
{
	const struct grid *g = &w->array->grid;
	uint64_t at = w->want->off / g->item, last = ceil_div(w->want->off + w->want->len, g->item);
	int r = 0;
	while (at < last && r == 0) {
		struct box b;
		at += grid_box(g, at, last, &b);
		r = put_box(w, &b);
	}
	return r;
}

/* A writer that goes on where a write ended leaves wholly written chunks behind. How much was
 * written in order so far. */
static uint64_t
note_order(struct staging *s, struct staged_space *p, const struct array_want *w)
{
	unsigned i = 0;
	while (i < SPACE_ENDS - 1 && p->end[i].at != w->off)
		i++;
	bool goes_on = p->end[i].at == w->off;
	uint64_t run = goes_on ? p->end[i].run : 0;
	if (goes_on)
		for (struct staged_object *o = s->whole.oldest, *next; o; o = next) {
			next = o->newer;
			if (o->space == p)
				staging_queue(s, o);
		}
	for (; i > 0; i--)
		p->end[i] = p->end[i - 1];
	p->end[0] = (struct staged_end){w->off + w->len, run + w->len};
	return run;
}

static uint64_t
stretch_of(const struct grid *g)
{
	uint64_t n = g->item;
	for (unsigned d = g->lead; d < g->rank; d++)
		n *= d > g->lead ? g->shape[d] : g->chunk[d];
	return n;
}

static int
begin(struct staged_writer *w, struct array **ret_was)
{
	struct staging *s = w->staging;
	int r = staging_hold_space(s, w->array, &w->space, ret_was);
	if (r == 0)
		r = staged_error(s, w->space);
	if (r < 0)
		return r;
	w->clock = ++s->clock;
	w->run = note_order(s, w->space, w->want);
	w->stretch = stretch_of(&w->array->grid);
	return 0;
}

/* Only what is 0 or 1 comes back as it was written. Of elements that are written in part storing
 * says whether they can be. */
static int
check_values(const struct array *a, const uint8_t *bytes, const struct array_want *w)
{
	size_t item = a->grid.item, skip = (item - w->off % item) % item;
	for (size_t i = 0; a->dtype.kind == DTYPE_BOOL && i < w->len; i++)
		if (bytes[i] > 1)
			return err_set(-ERANGE, "element %" PRIu64 ": %u is neither 0 nor 1",
				w->off + i, bytes[i]);
	if (w->len < skip + item)
		return 0;
	int r = codec_chain_check(
		a->chain, (struct span){bytes + skip, (w->len - skip) / item * item});
	return r < 0 ? err_add(r, "from element %" PRIu64 " on", (w->off + skip) / item) : 0;
}

/* Else what is stored behind the array's edges are no rows of fill. */
static bool
fill_is_storable(const struct array *a)
{
	return codec_chain_check(a->chain, (struct span){a->fill, a->grid.item}) == 0;
}

int
array_write(struct array *a, const struct array_want *want, const void *bytes)
{
	struct staging *s = a->data->staging;
	struct staged_writer w = {.staging = s, .array = a, .want = want, .bytes = bytes};
	struct array *was = NULL, *gone = NULL;
	struct array_want plain = *want;
	int r = array_writable(a);
	if (r == 0 && want->under && !fill_is_storable(a)) {
		plain.under = false;
		w.want = &plain;
	}
	if (r == 0)
		r = check_values(a, bytes, want);
	if (r < 0 || !want->len)
		return r;
	LOCKED(&s->lock) {
		r = begin(&w, &was);
		if (r == 0)
			r = put_all(&w);
		if (w.space)
			gone = staging_release_space(s, w.space);
		staging_pump(s);
	}
	staging_tell(s);
	array_unref(was);
	array_unref(gone);
	return r;
}
