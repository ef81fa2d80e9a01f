/* One object: what is there now, what was written laid over it, and the put on condition that it is
 * still there. */
#include "data/new_array.h"
#include "data/staging_impl.h"

#include "base/check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
	TRIES = 10000, /* times that others may be faster; each time one of them has stored
			  something */
	PAUSE_AFTER = 4,
	PAUSE_US = 500,
	PAUSE_MOST = 16,
	VAIN_DOUBLED = 10, /* times that a pause of 1000 us is */
};

/* What came between, so far. */
struct rivals {
	unsigned tries;
	unsigned vain; /* of the last ones, those before which no writer has changed anything */
	int64_t until; /* clock_now(): of them, the last; 0: there is no end */
	char version[ZMAP_VERSION]; /* that the last one met */
};

/* A chunk that is newer than our last look at the metadata of its array may be one of an array that
 * was rewritten. */
static int
check_base(const struct store *st)
{
	int64_t placed = st->stat.placed ? st->stat.placed : st->stat.mtime + SECOND;
	return st->stat.mtime ? load_check_since(st->array, placed + 1) : 0;
}

static size_t
base_most(const struct array *a)
{
	uint64_t n = a->encoded_max;
	if (!a->shard)
		return n;
	for (unsigned d = 0; d < a->grid.rank; d++)
		if (mul_over(n, a->in_shard[d], &n))
			return SIZE_MAX / 2;
	return add_over(n, 2 * n + shard_index_bytes(a->shard), &n) ? SIZE_MAX / 2
								    : n; /* with gaps */
}

int
store_base(struct store *st)
{
	struct array *a = st->array;
	struct data *d = a->data;
	const struct array_hooks *h = &a->hooks;
	if (st->based)
		return 0;
	st->base.len = 0;
	struct zmap_get g = {
		.key = st->key,
		.into = &st->base,
		.max = base_most(a),
		.revalidate = true,
		.cancel = &d->ending,
	};
	int64_t begun = clock_now();
	st->stat = (struct zmap_stat){0};
	pool_blocking();
	int r = zmap_get(a->zmap, &g, &st->stat);
	pool_unblocking();
	if (r == -EACCES && d->options.missing_403)
		r = ZMAP_ABSENT;
	st->absent = r == ZMAP_ABSENT;
	if (st->absent)
		st->stat = (struct zmap_stat){0};
	else if (r != 0)
		return r < 0 ? r : err_set(-EIO, "'%s' changed while it was read", st->key);
	atomic_fetch_add(&st->staging->counts.merges, !st->absent);
	if (cache_put_upon(d->cache, st->cached, st->stat.version, begun) && h->changed)
		h->changed(h->arg, st->stat.mtime);
	r = check_base(st);
	if (r == 0)
		r = store_find_left(st);
	st->based = r == 0;
	return r;
}

/* The base decoded into own; fill where there is none. */
static int
decode_base(
	struct store *st, const struct staged_chunk *c, const struct span *stored, struct buf *own)
{
	const struct array *a = st->array;
	size_t n = a->grid.chunk_bytes, from = store_fill_from(st, c);
	const struct layer *l = c->storing;
	bool covered = l && l->count >= staged_visible(a, c->number);
	int r = buf_reserve(own, n);
	if (r < 0)
		return r;
	if (stored)
		r = codec_chain_decode(a->chain, NULL, *stored, own);
	else if (!covered)
		r = load_check_fill(a);
	if (r < 0 && r != -ENOMEM && stored && !from && !covered)
		store_say_left(st);
	if (r < 0 && r != -ENOMEM && (covered || (stored && !from)))
		stored = NULL; /* no reader has seen any of it: damage is healed by writing */
	else if (r < 0)
		return err_add(r, "what was written cannot be laid over what is there");
	own->len = n;
	if (!stored)
		array_fill(a, own->data, n);
	else if (from < n)
		array_fill(a, own->data + from, n - from);
	return 0;
}

int
store_merge(struct store *st, const struct staged_chunk *c, const struct span *stored,
	struct buf *own, struct span *ret)
{
	const struct array *a = st->array;
	const struct layer *l = c->storing;
	size_t n = a->grid.chunk_bytes;
	if (l && l->count == n && !l->lo) {
		*ret = (struct span){l->data, n};
		return 0;
	}
	int r = decode_base(st, c, stored, own);
	if (r < 0)
		return r;
	const struct layer_rows rows = staged_rows(a);
	if (l && l->under && l->under->count)
		staged_fill_edges(a, c->number, own->data);
	layer_lay_under(l, &rows, 0, n, own->data);
	layer_lay(l, 0, n, own->data);
	*ret = (struct span){own->data, n};
	return 0;
}

bool
store_goes(const struct store *st, struct span decoded)
{
	const struct array *a = st->array;
	if (!a->data->options.delete_empty || st->keeps || load_check_fill(a) < 0)
		return false;
	return span_repeats(decoded, a->fill, a->grid.item);
}

bool
store_is_whole(const struct store *st, const struct staged_chunk *c)
{
	return c->storing && c->storing->count >= staged_needed(st->array, c->number);
}

static bool
touches(const void *layer, size_t from, size_t to)
{
	return layer_touches(layer, from, to);
}

static void
lay(const void *layer, size_t at, size_t n, uint8_t *to)
{
	layer_lay(layer, at, n, to);
}

/* Only what was written is encoded anew. CODEC_WHOLE: all of the chunk is to be. */
static int
patch(struct store *st, const struct staged_chunk *c)
{
	const struct array *a = st->array;
	const struct codec_patch p = {c->storing, touches, lay};
	bool may_go = a->data->options.delete_empty && !st->keeps;
	if (!st->based || st->absent || !c->storing || c->storing->under ||
		store_fill_from(st, c) != NO_FILL || may_go)
		return CODEC_WHOLE;
	return codec_chain_patch(a->chain, buf_span(&st->base), &p, &st->out);
}

static int
make_whole(struct store *st, const struct staged_chunk *c)
{
	CLEAN(buf_free) struct buf own = {0};
	struct span decoded, stored = buf_span(&st->base);
	int r = store_merge(st, c, st->based && !st->absent ? &stored : NULL, &own, &decoded);
	if (r < 0)
		return r;
	st->empty = store_goes(st, decoded);
	return st->empty ? 0 : store_encode(st, c, decoded, &st->out);
}

/* An object that is one chunk. */
static int
make_chunk(struct store *st)
{
	const struct staged_chunk *c = st->chunk;
	int r = store_is_whole(st, c) ? 0 : store_base(st);
	if (r < 0)
		return r;
	st->nothing = !c->storing &&
		      (st->absent || store_fill_from(st, c) >= st->array->grid.chunk_bytes);
	if (st->nothing)
		return 0;
	r = patch(st, c);
	if (r == CODEC_WHOLE)
		r = make_whole(st, c);
	return r < 0 ? err_add(r, "'%s'", st->key) : r;
}

static int
put(struct store *st)
{
	struct zmap *z = st->array->zmap;
	bool on_condition = z->caps & ZMAP_CONDITIONAL && st->based;
	struct zmap_put p = {
		.key = st->key,
		.bytes = buf_span(&st->out),
		.if_absent = on_condition && st->absent,
		.cancel = &st->array->data->ending,
	};
	struct zmap_stat now;
	CLEAN(clean_free) char *ours = NULL;
	int r = new_array_condition(st, &p, &ours);
	if (r == 0)
		r = staging_note_rows(st);
	if (r < 0)
		return r;
	if (on_condition && *st->stat.version)
		p.if_match = st->stat.version;
	pool_blocking();
	r = zmap_put(z, &p, &now);
	pool_unblocking();
	r = new_array_was_put(st, r, &now);
	if (r == 0) {
		memcpy(st->version, now.version, sizeof st->version);
		staging_rows_put(st);
		staging_note_placed(st);
	}
	return r;
}

/* Of a chunk that is all fill. Only on condition: others may have written to it. -ENOTSUP: fill is
 * to be stored. */
static int
del(struct store *st)
{
	struct zmap *z = st->array->zmap;
	int r = store_base(st);
	if (r < 0 || st->absent)
		return r;
	if (!(z->caps & ZMAP_CONDITIONAL) || !*st->stat.version)
		return err_set(-ENOTSUP, "this store cannot delete on a condition");
	if (new_array_stays(st))
		return err_set(-ENOTSUP, "what is there may be another writer's");
	struct zmap_del d = {.key = st->key, .if_match = st->stat.version};
	pool_blocking();
	r = zmap_del(z, &d);
	pool_unblocking();
	atomic_fetch_add(&st->staging->counts.deleted, r == 0);
	*st->version = '\0';
	return r == ZMAP_ABSENT ? 0 : r;
}

static int
put_or_del(struct store *st)
{
	int r;
	if (st->nothing) {
		if (st->absent)
			staging_rows_put(st);
		return 0;
	}
	if (st->empty) {
		r = del(st);
		if (r == 0)
			staging_rows_put(st);
		if (r != -ENOTSUP)
			return r;
		st->keeps = true;
		return ZMAP_CHANGED; /* made once more, with fill */
	}
	atomic_fetch_add(&st->staging->counts.stores, 1);
	return put(st);
}

static void
pause_for(const struct rivals *v)
{
	const unsigned some = 1 + (unsigned)clock_now() % min_u64(v->tries, PAUSE_MOST);
	if (!v->vain && v->tries <= PAUSE_AFTER)
		return;
	pool_blocking();
	usleep(v->vain ? 1000u << min_u64(v->vain, VAIN_DOUBLED) : PAUSE_US * some);
	pool_unblocking();
}

/* The store says that the object is another by now. 0: it is tried again. */
static int
was_changed(struct store *st, struct rivals *v)
{
	struct data *d = st->array->data;
	const bool moved = st->based && strcmp(st->stat.version, v->version) != 0;
	atomic_fetch_add(&st->staging->counts.conflicts, 1);
	v->vain = moved || !v->tries ? 0 : v->vain + 1;
	if (!v->vain)
		v->until = d->options.timeout ? clock_now() + d->options.timeout : 0;
	else if (clock_over(v->until))
		return err_set(-EIO, "'%s' is refused as changed, though it is not", st->key);
	if (++v->tries >= TRIES)
		return err_set(-EIO, "others change '%s' faster than it can be stored", st->key);
	memcpy(v->version, st->stat.version, sizeof v->version);
	st->based = false;
	pause_for(v);
	return zmap_patience(0, &d->ending);
}

/* Where nothing is that could be newer than its array, the array may have been replaced all the
 * same: a look costs less than what is stored, but for a remote store, which is asked once a
 * second. */
static int
check_array(const struct array *a)
{
	const int64_t ttl = a->data->options.ttl;
	if (ttl == INT64_MAX)
		return 0;
	return load_check_since(a, clock_wall() - (!a->remote ? 0 : ttl < SECOND ? ttl : SECOND));
}

static int
try_all(struct store *st)
{
	struct array *a = st->array;
	struct rivals v = {0};
	int r = check_array(a);
	while (r == 0) {
		st->out.len = 0;
		st->empty = false;
		r = a->shard ? store_shard(st) : make_chunk(st);
		if (r == 0)
			r = put_or_del(st);
		if (r != ZMAP_CHANGED)
			return r;
		r = was_changed(st, &v);
	}
	return r;
}

int
staged_store(struct staging *s, struct array *a, const struct staged_chunk *c)
{
	struct store st = {.staging = s, .array = a, .chunk = c};
	struct cache *cache = a->data->cache;
	LOCKED(&s->lock)
		st.keeps = c->object->space->keeps;
	int r = array_chunk_key(a, c->number, st.key);
	if (r == 0) {
		const struct extent_id id = array_extent(a, c->number, 0, 0);
		r = cache_put_begin(cache, &id, &st.cached);
	}
	if (r < 0)
		return r;
	r = try_all(&st);
	if (r == 0 && !st.nothing)
		r = staging_put_late(&st);
	bool same = r < 0 || st.nothing;
	cache_put_end(cache, st.cached, same ? NULL : st.version);
	buf_free(&st.base);
	buf_free(&st.out);
	if (r < 0)
		atomic_fetch_add(&s->counts.failed, 1);
	return r;
}
