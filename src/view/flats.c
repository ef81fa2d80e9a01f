#include "view/flats.h"

#include "base/hash.h"
#include "model/edit.h"
#include "view/flat.h"
#include "view/length.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

struct flats {
	pthread_mutex_t lock; /* guards the map, and users and writers of all in it */
	struct map by_path;
};

int
flats_new(struct flats **ret)
{
	struct flats *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(-ENOMEM, "no memory for a mount");
	pthread_mutex_init(&t->lock, NULL);
	*ret = t;
	return 0;
}

static void
free_flat(struct flat *w)
{
	if (!w)
		return;
	layout_unref(w->former);
	layout_unref(w->layout);
	node_unref(w->node);
	pthread_cond_destroy(&w->free);
	pthread_mutex_destroy(&w->lock);
	free(w->path);
	free(w);
}

struct flats *
flats_free(struct flats *t)
{
	if (!t)
		return NULL;
	for (struct map_entry *e = map_walk(&t->by_path, NULL), *next; e; e = next) {
		next = map_walk(&t->by_path, e);
		free_flat(MAP_OF(e, struct flat, by_path));
	}
	map_done(&t->by_path);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}

/* With the table's lock held. */
static struct flat *
find(struct flats *t, const char *path)
{
	for (struct map_entry *e = map_first(&t->by_path, hash_name(path)); e; e = map_next(e)) {
		struct flat *w = MAP_OF(e, struct flat, by_path);
		if (!strcmp(w->path, path))
			return w;
	}
	return NULL;
}

struct flat *
flats_find(struct mount *m, const char *path)
{
	struct flat *w = NULL;
	LOCKED(&m->flats->lock) {
		w = find(m->flats, path);
		if (w)
			w->users++;
	}
	return w;
}

/* By its node and its layout. */
static void
measure(struct flat *w)
{
	const struct array_meta *a = w->node->array;
	const struct array *elements = flat_variable(w->layout)->array;
	const uint64_t item = array_dtype(elements)->size;
	uint64_t row = a->rank ? item : 0;
	for (unsigned i = 1; i < a->rank; i++)
		row *= a->shape[i]; /* the layout has all of them: no overflow */
	w->width = array_width(elements);
	w->item = item;
	w->row = row;
	w->grows = row && length_grows(w->mount, w->node);
	w->size = w->layout->size;
	w->padded = 0;
}

static struct flat *
new_flat(struct mount *m, const struct node *n, struct layout *l)
{
	struct flat *w = calloc(1, sizeof *w);
	if (!w)
		return NULL;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->free, NULL);
	w->mount = m;
	w->users = 1;
	w->cut = UINT64_MAX;
	w->layout = layout_ref(l);
	w->node = node_ref((struct node *)n);
	w->path = strdup(mount_path(m, n->path));
	measure(w);
	if (w->path)
		return w;
	free_flat(w);
	return NULL;
}

/* What failed is remembered, though no handle is open. */
void
flat_put(struct flat *w)
{
	struct flats *t = w->mount->flats;
	bool last = false;
	LOCKED(&t->lock) {
		last = --w->users == 0 && !atomic_load(&w->is_stuck);
		if (last)
			map_remove(&t->by_path, &w->by_path);
	}
	if (last)
		free_flat(w);
}

int
flats_all(struct mount *m, struct flat ***ret)
{
	struct flats *t = m->flats;
	struct flat **all = NULL;
	size_t n = 0;
	LOCKED(&t->lock) {
		all = calloc(t->by_path.n + 1, sizeof *all);
		for (struct map_entry *e = map_walk(&t->by_path, NULL); all && e;
			e = map_walk(&t->by_path, e)) {
			all[n] = MAP_OF(e, struct flat, by_path);
			all[n++]->users++;
		}
	}
	if (!all)
		return err_set(-ENOMEM, "no memory for a list of files");
	*ret = all;
	return 0;
}

unsigned
flat_count_writer(struct flat *w, int by)
{
	unsigned others = 0;
	LOCKED(&w->mount->flats->lock) {
		others = w->writers - (by < 0);
		w->writers += (unsigned)by;
	}
	return others;
}

static uint64_t
shown(const struct flat *w)
{
	return w->cut < w->size ? w->cut : w->size;
}

void
flat_now(struct flat *w, struct flat_state *ret)
{
	LOCKED(&w->lock)
		*ret = (struct flat_state){
			.layout = layout_ref(w->layout),
			.size = w->size,
			.shown = shown(w),
			.rows = w->node->array->rank ? w->node->array->shape[0] : 1,
			.generation = atomic_load(&w->generation),
			.epoch = w->epoch,
			.cuts = w->cuts,
		};
}

void
flat_state_done(struct flat_state *st)
{
	st->layout = layout_unref(st->layout);
}

void
flats_size(struct mount *m, const struct node *n, uint64_t *ret)
{
	struct flat *w = flats_find(m, mount_path(m, n->path));
	if (!w)
		return;
	LOCKED(&w->lock)
		*ret = shown(w);
	flat_put(w);
}

void
flats_width(struct mount *m, const struct node *n, uint32_t *ret)
{
	struct flat *w = flats_find(m, mount_path(m, n->path));
	if (!w)
		return;
	LOCKED(&w->lock)
		*ret = w->width > *ret ? w->width : *ret;
	flat_put(w);
}

void
flat_swap_layout(struct flat *w, struct layout **l)
{
	struct layout *old = w->layout;
	w->layout = *l;
	*l = old;
}

struct node *
flat_node(struct flat *w)
{
	struct node *n = NULL;
	LOCKED(&w->lock)
		n = node_ref(w->node);
	return n;
}

static uint64_t
bytes_of(const struct flat *w, const struct node *n)
{
	return w->row && n->array->rank ? n->array->shape[0] * w->row : w->layout->size;
}

/* The file lives on in the node as it is now; *l: its layout where that is longer, else NULL, then
 * what is to be freed. Lock held. */
static void
live_on(struct flat *w, const struct node *now, struct layout **l)
{
	uint64_t bytes = bytes_of(w, now);
	const bool own = bytes == w->padded && bytes - w->size < w->row;
	if (*l && (*l)->size > w->layout->size)
		flat_swap_layout(w, l);
	if (bytes > w->size && bytes <= w->layout->size && !own) {
		w->size = bytes;
		atomic_fetch_add(&w->generation, 1);
	}
}

/* It is another array now, or a shorter one. goes_on: its handles do, and what was written is still
 * to be stored. Lock held. */
static void
begin_anew(struct flat *w, struct layout **l, bool goes_on)
{
	flat_swap_layout(w, l);
	if (!goes_on && !w->former && (w->changed || w->storing))
		w->former = layout_ref(*l);
	measure(w);
	w->cut = UINT64_MAX;
	w->epoch += !goes_on;
	if (!goes_on && (w->changed || w->storing))
		w->lost = w->epoch;
	atomic_fetch_add(&w->generation, 1);
}

bool
flat_is_same(const struct array_meta *a, const struct array_meta *b)
{
	bool same = a->layout == b->layout && a->rank == b->rank;
	for (unsigned i = 1; i < a->rank && same; i++)
		same = a->shape[i] == b->shape[i];
	return same;
}

/* What following a node comes to. */
struct follow_step {
	struct node *before, *now;
	struct layout *l; /* of the node as it is now, where the flat has none for it; or NULL */
	bool lives, goes_on;
	bool cut; /* another writer has made it shorter */
};

/* The flat has not changed since that was found. Lock held. */
static bool
holds(const struct flat *w, const struct follow_step *s)
{
	return w->node == s->before && (s->l || bytes_of(w, s->now) <= w->layout->size);
}

/* Lock held. */
static void
take_step(struct flat *w, struct follow_step *s)
{
	w->node = node_ref(s->now);
	if (s->lives)
		live_on(w, s->now, &s->l);
	else
		begin_anew(w, &s->l, s->goes_on);
	w->cuts += s->cut;
}

/* What waits behind a new end is lost before the flat has that end: what is written behind it from
 * then on are rows that are appended. False: another thread has changed the flat meanwhile. */
static bool
try_step(struct flat *w, struct follow_step *s)
{
	bool same = false;
	flat_take(w, &w->following);
	LOCKED(&w->lock)
		same = holds(w, s);
	if (same && s->cut)
		array_cut(flat_variable(s->l)->array);
	LOCKED(&w->lock) {
		same = same && holds(w, s);
		if (same)
			take_step(w, s);
	}
	flat_give(w, &w->following);
	if (same)
		node_unref(s->before);
	return same;
}

/* False: another thread has changed the flat meanwhile. */
static bool
try_follow(struct flat *w, struct node *now)
{
	CLEAN(node_unrefp) struct node *before = NULL;
	struct follow_step s = {.now = now};
	bool longer = false;
	LOCKED(&w->lock) {
		before = node_ref(w->node);
		longer = bytes_of(w, now) > w->layout->size;
	}
	if (before->serial >= now->serial)
		return true;
	bool alike = flat_is_same(before->array, now->array);
	bool shorter = alike && now->array->rank && now->array->shape[0] < before->array->shape[0];
	bool own = before->array->layout == now->array->layout &&
		   model_is_own(w->mount->model, now->path, now);
	s.before = before;
	s.lives = variable_lives_on(before, now) && alike;
	s.goes_on = own || shorter;
	s.cut = shorter && !own;
	if ((longer || !s.lives) &&
		flat_lay_out(w->mount, now, w->width, (struct span){0}, &s.l) < 0)
		return true; /* reading and writing what there was says that it is gone */
	const bool same = try_step(w, &s);
	layout_unref(s.l);
	return same;
}

static void
follow(struct flat *w, const struct node *now)
{
	while (now->array && !now->error && !try_follow(w, (struct node *)now))
		continue;
}

static int
follow_what(struct flat *w, int (*look)(struct model *, const char *path, struct node **ret))
{
	CLEAN(node_unrefp) struct node *now = NULL;
	CLEAN(node_unrefp) struct node *n = flat_node(w);
	int r = look(w->mount->model, n->path, &now);
	if (r == 0)
		follow(w, now);
	return r < 0 ? r : 0;
}

int
flat_look_again(struct flat *w)
{
	return follow_what(w, model_look_again);
}

bool
flat_was_cut(struct flat *w, const struct flat_state *st, bool *ret_by_others)
{
	struct err why;
	bool cut = false;
	err_save(-EIO, &why);
	if (variable_usable(flat_variable(st->layout)) == 0)
		return false;
	flat_look_again(w); /* the thread that has found it may not have come so far */
	LOCKED(&w->lock) {
		cut = w->epoch == st->epoch && w->layout->size < st->layout->size;
		*ret_by_others = w->cuts != st->cuts;
	}
	err_restore(&why);
	return cut;
}

int
flats_get(struct mount *m, const struct node *n, struct layout *l, struct flat **ret)
{
	struct flats *t = m->flats;
	struct flat *fresh = new_flat(m, n, l), *w = NULL;
	if (!fresh)
		return err_set(-ENOMEM, "no memory for an open file");
	LOCKED(&t->lock) {
		w = find(t, fresh->path);
		if (w) {
			w->users++;
		} else {
			w = fresh;
			fresh = NULL;
			map_add(&t->by_path, &w->by_path, hash_name(w->path));
		}
	}
	if (fresh) {
		free_flat(fresh);
		follow(w, n);
	} else {
		follow_what(w, model_lookup); /* it was replaced before the flat could be found */
	}
	*ret = w;
	return 0;
}

void
flats_changed(struct mount *m, const char *node_path, const struct node *now)
{
	struct flat *w = m->flats ? flats_find(m, mount_path(m, node_path)) : NULL;
	if (!w)
		return;
	if (now)
		follow(w, now);
	flat_put(w);
}

int
flat_stick(struct flat *w, int code)
{
	struct err e;
	err_save(code, &e);
	LOCKED(&w->lock) {
		if (!w->stuck.code)
			w->stuck = e;
		atomic_store(&w->is_stuck, true);
	}
	return code;
}

int
flat_is_stuck(struct flat *w)
{
	struct err e = {0};
	if (!atomic_load_explicit(&w->is_stuck, memory_order_relaxed))
		return 0;
	LOCKED(&w->lock)
		e = w->stuck;
	return e.code ? err_restore(&e) : 0;
}

void
flat_take(struct flat *w, bool *turn)
{
	LOCKED(&w->lock) {
		while (*turn)
			pthread_cond_wait(&w->free, &w->lock);
		*turn = true;
	}
}

void
flat_give(struct flat *w, bool *turn)
{
	LOCKED(&w->lock) {
		*turn = false;
		pthread_cond_broadcast(&w->free);
	}
}

struct variable *
flat_variable(const struct layout *l)
{
	return l->span[0].variable;
}
