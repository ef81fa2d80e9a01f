/* What is stored when, and what came of it. */
#include "data/staging_impl.h"

#include "base/check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	STORES_NEAR = 8, /* under way at once: while some wait for the disk others encode */
	STORES_FAR = 32,
	BORROW_PART = 8, /* of the memory that caches may take, stores may need this part besides */
};

static struct staged_object *
object_of(struct task *t)
{
	return (struct staged_object *)(void *)((char *)t - offsetof(struct staged_object, task));
}

/* --- what goes --- */

void
staging_queue(struct staging *s, struct staged_object *o)
{
	staged_list_remove(o);
	staged_list_add(&s->queue, o);
	o->state = STAGED_QUEUED;
	o->leaving = o->cost;
	s->leaving += o->leaving;
}

/* From that one on the first that may be stored now. */
static struct staged_object *
free_from(struct staged_object *o)
{
	while (o && o->space->held)
		o = o->newer;
	return o;
}

bool
staging_moves(const struct staging *s)
{
	return s->under_way || free_from(s->queue.oldest);
}

/* Bytes that go now. */
static size_t
leaving(const struct staging *s)
{
	size_t n = s->leaving;
	for (const struct staged_object *o = s->held ? s->queue.oldest : NULL; o; o = o->newer)
		n -= o->space->held ? o->leaving : 0;
	return min_u64(n, s->bytes);
}

/* Of the list all but those of arrays that become shorter, as long as *left are too many bytes; up
 * to the last one, which stays. */
static void
press_list(struct staging *s, struct staged_list *l, const struct staged_object *last, size_t *left)
{
	for (struct staged_object *o = free_from(l->oldest), *next;
		o && o != last && *left > s->push; o = next) {
		next = free_from(o->newer);
		staging_queue(s, o);
		*left -= min_u64(*left, o->leaving);
	}
}

/* Wholly written ones first: they need not be read. The last one that is not stays: it may be
 * larger than all the memory there is, and would be stored again for each write to it. */
static void
press(struct staging *s)
{
	if (s->bytes <= s->push)
		return;
	const struct staged_object *last = s->dirty.newest;
	size_t left = s->bytes - leaving(s);
	while (last && last->space->held)
		last = last->older;
	press_list(s, &s->whole, NULL, &left);
	press_list(s, &s->dirty, last, &left);
}

/* Memory that storing takes besides what is staged: what is there, decoded, and encoded anew. */
static size_t
need_of(const struct staged_object *o)
{
	const struct array *a = o->space->array;
	size_t most = a->grid.chunk_bytes, n = most;
	if (!a->shard && o->whole) /* nothing is read */
		return most;
	for (unsigned d = 0; a->shard && d < a->grid.rank; d++)
		n *= a->in_shard[d];
	return most + 2 * n;
}

static bool
may_begin(const struct staging *s, const struct staged_object *o)
{
	bool remote = o->space->array->remote;
	if (!s->under_way)
		return true;
	return s->under_way < (remote ? STORES_FAR : STORES_NEAR) &&
	       s->borrowed + need_of(o) <= cache_budget(s->data->cache) / BORROW_PART;
}

/* From here on its layers change no more, and what is written goes to new ones. */
static void
freeze(struct staged_object *o)
{
	for (struct staged_chunk *c = o->chunk; c; c = c->next) {
		if (c->storing) /* what failed before, and is stored first */
			continue;
		c->storing = MOVE(c->now);
		c->storing_fill = c->fill_from;
		c->fill_from = NO_FILL;
		c->whole = false;
	}
	o->whole = 0;
	o->storing_since = o->since;
	o->since = 0;
	o->again = false;
}

static void run(struct task *t);

void
staging_pump(struct staging *s)
{
	struct staged_object *go = NULL, *o;
	press(s);
	while ((o = free_from(s->queue.oldest)) && may_begin(s, o)) {
		staged_list_remove(o);
		staged_list_add(&s->storing, o);
		o->state = STAGED_STORING;
		o->borrowed = need_of(o);
		o->rows = o->space->array->grid.shape[0];
		s->borrowed += o->borrowed;
		s->under_way++;
		freeze(o);
		o->go = go;
		go = o;
	}
	if (!go)
		return;
	pthread_mutex_unlock(&s->lock);
	while (go) {
		o = go;
		go = o->go;
		o->task.run = run;
		pool_push(s->data->pool, &o->task, true);
	}
	pthread_mutex_lock(&s->lock);
}

/* --- what came of it --- */

/* One object's end. */
struct push_outcome {
	struct staged_object *object;
	struct array *array;
	const struct err *why; /* code 0: it is stored */
	bool slow;             /* the store's patience was tried */
	bool outdated;         /* the array is no longer the one that it was */
	bool dropped;
};

static void
put_layers_back(struct staging *s, struct staged_object *o)
{
	for (struct staged_chunk *c = o->chunk; c; c = c->next) {
		size_t before = layer_cost(c->storing) + layer_cost(c->now);
		size_t most = o->space->array->grid.chunk_bytes;
		if (c->now && c->storing && layer_join(c->storing, c->now, most) < 0) {
			/* no memory to join them: both stay, and are stored one after the other */
			staged_charge(s, o, before, layer_cost(c->storing) + layer_cost(c->now));
			continue;
		}
		if (c->storing) {
			layer_unref(c->now);
			c->now = MOVE(c->storing);
		}
		c->fill_from = min_u64(c->fill_from, c->storing_fill);
		c->storing_fill = NO_FILL;
		staged_charge(s, o, before, layer_cost(c->now));
	}
	o->since = o->storing_since;
	o->storing_since = 0;
}

static void
take_layers_off(struct staging *s, struct staged_object *o)
{
	for (struct staged_chunk *c = o->chunk; c; c = c->next) {
		staged_charge(s, o, layer_cost(c->storing), 0);
		c->storing = layer_unref(c->storing);
		c->storing_fill = NO_FILL;
	}
	o->storing_since = 0;
}

/* The object's bytes go as if they had never been written, and are named. */
static void
drop_layers(struct staging *s, struct staged_object *o, const struct err *why)
{
	const struct array *a = o->space->array;
	if (o->written > s->forgiven) /* a writer that knows of the last error has gone on */
		o->space->error_at = data_errors(s->data);
	for (struct staged_chunk *c = o->chunk; c; c = c->next) {
		const struct layer *l = c->now;
		if (l)
			staged_note_lost(o->space, why);
		if (s->said && l)
			buf_addf(s->said,
				"%s: %zu bytes are lost that were written to bytes %zu to %zu of "
				"chunk %" PRIu64 ": %s\n",
				a->path, l->count, l->lo,
				(size_t)min_u64(l->lo + l->len, a->grid.chunk_bytes), c->number,
				why->text);
		staged_charge(s, o, layer_cost(c->now), 0);
		c->now = layer_unref(c->now);
		c->fill_from = NO_FILL;
	}
	o->since = 0;
}

/* A store that does not answer is not asked for each object of the array, one timeout after the
 * other. */
static void
fail_queued(struct staging *s, struct staged_space *p, const struct err *why)
{
	for (struct staged_object *o = s->queue.oldest, *next; o; o = next) {
		next = o->newer;
		if (o->space != p)
			continue;
		s->leaving -= o->leaving;
		o->leaving = 0;
		staged_list_remove(o);
		staged_list_add(&s->failed, o);
		o->state = STAGED_FAILED;
		if (!o->last_try)
			continue;
		drop_layers(s, o, why);
		staged_tidy(s, o); /* another one of the space has failed, and is there */
	}
}

static void
fail(struct staging *s, const struct push_outcome *e)
{
	struct staged_object *o = e->object;
	struct staged_space *p = o->space;
	put_layers_back(s, o);
	staged_list_add(&s->failed, o);
	o->state = STAGED_FAILED;
	if (!p->error.code) {
		staged_fail(s, p, e->why);
		p->outdated = e->outdated;
	}
	if (e->slow)
		fail_queued(s, p, e->why);
}

/* It goes as if it had never been written. */
static void
drop(struct staging *s, struct push_outcome *e)
{
	put_layers_back(s, e->object);
	staged_list_add(&s->failed, e->object);
	drop_layers(s, e->object, e->why);
	if (e->slow)
		fail_queued(s, e->object->space, e->why);
	e->dropped = true;
}

/* Stored: what was written meanwhile stays. */
static void
succeed(struct staging *s, struct staged_object *o)
{
	take_layers_off(s, o);
	o->last_try = false;
	o->state = STAGED_DIRTY;
	staged_list_add(&s->dirty, o);
}

/* Another writer has made the array shorter: what is left of the object is stored by the one that
 * it is now. */
static void
begin_again(struct staging *s, struct staged_object *o)
{
	put_layers_back(s, o);
	o->state = STAGED_DIRTY;
	staged_list_add(&s->dirty, o);
	staged_cut(s, o);
}

/* The space's array, to be let go of; or NULL. */
static struct array *
conclude(struct staging *s, struct push_outcome *e)
{
	struct staged_object *o = e->object;
	const bool cut = e->why->code && e->outdated && o->space->array->grid.shape[0] < o->rows;
	bool again = o->again || cut;
	staged_list_remove(o);
	s->leaving -= o->leaving;
	o->leaving = 0;
	s->borrowed -= o->borrowed;
	s->under_way--;
	s->ended++;
	if (!e->why->code)
		succeed(s, o);
	else if (cut)
		begin_again(s, o);
	else if (o->last_try)
		drop(s, e);
	else
		fail(s, e);
	if (o->state == STAGED_DIRTY && again && o->since)
		staging_queue(s, o);
	return staged_tidy(s, o);
}

static void
finish(struct staging *s, struct push_outcome *e)
{
	struct array *gone = NULL;
	const struct array_hooks *h = &e->array->hooks;
	LOCKED(&s->lock) {
		gone = conclude(s, e);
		staging_pump(s);
		pthread_cond_broadcast(&s->moved);
	}
	staging_tell(s);
	if (e->dropped && h->changed)
		h->changed(h->arg, clock_wall());
	array_unref(gone);
}

static void
run(struct task *t)
{
	struct staged_object *o = object_of(t);
	struct staging *s = o->staging;
	struct array *a = NULL;
	const struct staged_chunk *c = NULL;
	int64_t began = clock_now(), timeout = s->data->options.timeout;
	size_t borrowed = 0;
	bool outdated = false;
	struct err why;
	LOCKED(&s->lock) {
		a = array_ref(o->space->array);
		borrowed = o->borrowed;
		outdated = a->grid.shape[0] < o->rows;
		c = o->chunk; /* chunks may come before it in the list, which are for the next
				 time */
	}
	cache_borrow(s->data->cache, borrowed);
	int r = outdated ? err_set(-EIO, "'%s' was made shorter meanwhile", a->path)
			 : staged_store(s, a, c);
	cache_give_back(s->data->cache, borrowed);
	codec_scratch_rest();
	err_save(r, &why);
	if (r < 0 && !outdated && a->hooks.seen)
		outdated = !a->hooks.seen(a->hooks.arg, 0);
	finish(s, &(struct push_outcome){
			  .object = o,
			  .array = a,
			  .why = &why,
			  .slow = timeout && clock_now() - began > timeout / 2,
			  .outdated = outdated,
		  });
	array_unref(a);
}
