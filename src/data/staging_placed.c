/* What was put into a remote store since its array was last looked at: another program may have
 * replaced the array before, by one that is stored otherwise. */
#include "data/fresh.h"
#include "data/staging_impl.h"

#include "base/check.h"
#include "model/parallel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 1024 };

/* Those of the array that were put up to then are not kept. The lock is held. */
static void
forget(struct staging *s, const struct array *a, int64_t until)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->n_placed; i++)
		if (s->placed[i].space != a->space || s->placed[i].when > until)
			s->placed[kept++] = s->placed[i];
	s->n_placed = kept;
}

/* seen: when the array was. */
static bool
make_room(struct staging *s, const struct array *a, int64_t seen)
{
	if (s->n_placed < s->room_placed)
		return true;
	if (s->n_placed)
		forget(s, a, seen);
	if (s->n_placed < s->room_placed / 2)
		return true;
	const size_t room = max_u64(2 * s->room_placed, FEW);
	struct placed *more = realloc(s->placed, room * sizeof *more);
	if (!more)
		return false;
	s->placed = more;
	s->room_placed = room;
	return true;
}

void
staging_note_placed(const struct store *st)
{
	const struct array *a = st->array;
	struct staging *s = st->staging;
	struct placed p = {.space = a->space, .chunk = st->chunk->number, .when = clock_wall()};
	if (!a->remote || fresh_stays(st) || !a->hooks.seen || !a->hooks.other || !*st->version ||
		a->data->options.ttl == INT64_MAX)
		return;
	memcpy(p.version, st->version, sizeof p.version);
	const int64_t seen = a->hooks.seen(a->hooks.arg, 0);
	LOCKED(&s->lock)
		if (make_room(s, a, seen)) /* else it is not taken back */
			s->placed[s->n_placed++] = p;
}

struct placed_list {
	struct array *array;
	struct placed *at;
	size_t n;
	int64_t last;
	atomic_size_t left;
};

/* Those of the array, which stay noted: another thread may be about to confirm them, too. The lock
 * is held. */
static int
find(const struct staging *s, struct placed_list *l)
{
	l->at = s->n_placed ? malloc(s->n_placed * sizeof *l->at) : NULL;
	if (s->n_placed && !l->at)
		return err_set(-ENOMEM, "no memory for what was stored");
	for (size_t i = 0; i < s->n_placed; i++)
		if (s->placed[i].space == l->array->space) {
			l->last = l->last > s->placed[i].when ? l->last : s->placed[i].when;
			l->at[l->n++] = s->placed[i];
		}
	return 0;
}

static void
remove_one(void *arg, size_t i)
{
	struct placed_list *l = arg;
	const struct placed *p = &l->at[i];
	if (fresh_remove(l->array, p->chunk, p->version, 0) < 0)
		atomic_fetch_add(&l->left, 1);
}

static int
take_back(struct placed_list *l, const struct err *why)
{
	in_parallel(l->n, true, remove_one, l);
	const size_t left = atomic_load(&l->left);
	const int r = err_restore(why);
	return left ? err_add(r, "%zu chunks of the former array are left there", left) : r;
}

/* --- what came behind the end --- */

/* Objects on their way out. */
struct late {
	struct task task; /* first */
	struct late *next;
	struct staged_space *space; /* which is held; NULL: no longer */
	struct placed_list list;    /* the array: a reference */
};

static bool
is_behind(const struct array *a, uint64_t chunk)
{
	uint64_t index[RANK_MAX];
	grid_index(&a->grid, chunk, index);
	if (a->shard)
		index[0] -= index[0] % a->in_shard[0];
	return index[0] * a->grid.chunk[0] >= a->grid.shape[0];
}

static void
remove_behind(void *arg, size_t i)
{
	struct placed_list *l = arg;
	const struct placed *p = &l->at[i];
	if (fresh_remove(l->array, p->chunk, p->version, 0) == 0)
		atomic_fetch_add(&l->left, 1);
}

static void
remove_late(struct task *t)
{
	struct late *l = (struct late *)(void *)t;
	struct array *a = l->list.array, *gone = NULL;
	struct staging *s = a->data->staging;
	pool_blocking();
	in_parallel(l->list.n, true, remove_behind, &l->list);
	pool_unblocking();
	LOCKED(&s->lock) {
		struct late **at = &s->late;
		while (*at != l)
			at = &(*at)->next;
		*at = l->next;
		if (l->space && atomic_load(&l->list.left))
			staged_lose(l->space);
		if (l->space)
			gone = staging_release_space(s, l->space);
		pthread_cond_broadcast(&s->moved);
	}
	array_unref(gone);
	array_unref(a);
	free(l->list.at);
	free(l);
}

void
placed_remove_behind(struct staging *s, struct array *a, struct array **ret_was)
{
	struct late *l = calloc(1, sizeof *l);
	size_t n = 0;
	if (!l)
		return;
	l->list.array = a;
	int r = find(s, &l->list);
	for (size_t i = 0; i < l->list.n; i++)
		if (is_behind(a, l->list.at[i].chunk))
			l->list.at[n++] = l->list.at[i];
	l->list.n = n;
	if (r < 0 || !n) {
		free(l->list.at);
		free(l);
		return;
	}
	array_ref(a);
	staging_hold_space(s, a, &l->space, ret_was); /* else no file hears of it */
	l->next = s->late;
	s->late = l;
	l->task.run = remove_late;
	pool_push_only(s->data->pool, &l->task);
}

int
staging_wait_removed(struct staging *s, uint64_t space, struct cancel *cancel)
{
	for (;;) {
		const struct late *l = s->late;
		while (l && space && l->list.array->space != space)
			l = l->next;
		int r = l ? staging_wait(s, 0, cancel) : 0;
		if (!l || r < 0)
			return r;
	}
}

int
array_confirm(struct array *a, bool failed)
{
	struct staging *s = a->data->staging;
	struct placed_list l = {.array = a};
	struct err why;
	int r = 0;
	if (!a->hooks.seen || (failed && a->hooks.seen(a->hooks.arg, 0)))
		return 0;
	LOCKED(&s->lock)
		r = find(s, &l);
	if (r == 0 && l.n)
		r = load_check_since(a, l.last);
	err_save(r, &why);
	if (r < 0 && l.n && a->hooks.other(a->hooks.arg))
		r = take_back(&l, &why);
	if (l.n && r == 0) /* else each that closes hears of it */
		LOCKED(&s->lock)
			forget(s, a, l.last);
	if (r == 0 && !failed)
		staging_rows_counted(a);
	free(l.at);
	return r;
}
