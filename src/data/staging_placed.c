/* What was put into a remote store since its array was last looked at: another program may have
 * replaced the array before, by one that is stored otherwise. */
#include "data/new_array.h"
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
	if (!a->remote || new_array_stays(st) || !a->hooks.seen || !a->hooks.other ||
		!*st->version || a->data->options.ttl == INT64_MAX)
		return;
	memcpy(p.version, st->version, sizeof p.version);
	const int64_t seen = a->hooks.seen(a->hooks.arg, 0);
	spaces_keep(a->data->spaces, a->space_name);
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
	const size_t most = s->n_placed + s->n_noted;
	l->at = most ? malloc(most * sizeof *l->at) : NULL;
	if (most && !l->at)
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
	if (array_remove_version(l->array, p->chunk, p->version, 0) < 0)
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

/* --- what is cut off --- */

/* Objects on their way out, and those that lose rows. */
struct late {
	struct task task; /* first */
	struct late *next;
	struct staged_space *space; /* which is held; NULL: no file hears of it */
	struct placed_list list;    /* the array: a reference */
	size_t noted;               /* the last ones of them: with rows that are not counted … */
	bool lost;                /* … some of which are cut off, whatever became of the object */
	struct array_behind rest; /* those with the end in them */
};

/* An object with the end in it, if it is what was put. */
static int
find_rest(struct late *l, const struct placed *p)
{
	struct array *a = l->list.array;
	struct zmap_stat now;
	char key[ARRAY_KEY_MAX];
	int r = array_chunk_key(a, p->chunk, key);
	if (r == 0)
		r = zmap_stat(a->zmap, key, &now);
	if (r == 0 && strcmp(now.version, p->version) != 0)
		r = ZMAP_CHANGED;
	return r ? r : behind_add(&l->rest, p->chunk, &now);
}

static void
cut_one(void *arg, size_t i)
{
	struct late *l = arg;
	struct array *a = l->list.array;
	const struct placed *p = &l->list.at[i];
	const bool behind = behind_first_row(a, p->chunk) >= a->grid.shape[0];
	int r = 0;
	if (*p->version)
		r = behind ? array_remove_version(a, p->chunk, p->version, 0) : find_rest(l, p);
	if (r == 0 && (behind || i >= l->list.n - l->noted))
		atomic_fetch_add(&l->list.left, 1);
}

static void
free_late(struct late *l)
{
	pthread_mutex_destroy(&l->rest.lock);
	free(l->rest.found);
	free(l->list.at);
	free(l);
}

/* What the task came to. The lock is held. The space's array, to be let go of; or NULL. */
static struct array *
end_late(struct staging *s, struct late *l)
{
	struct late **at = &s->late;
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	pthread_cond_broadcast(&s->moved);
	if (!l->space)
		return NULL;
	if (l->lost || atomic_load(&l->list.left))
		staged_lose(l->space);
	if (l->rest.n)
		behind_mark(s, &l->rest, true);
	return staging_release_space(s, l->space);
}

static void
cut_late(struct task *t)
{
	struct late *l = (struct late *)(void *)t;
	struct array *a = l->list.array, *gone = NULL;
	struct staging *s = a->data->staging;
	pool_blocking();
	in_parallel(l->list.n, true, cut_one, l);
	pool_unblocking();
	behind_sort(&l->rest);
	LOCKED(&s->lock)
		gone = end_late(s, l);
	staging_tell(s);
	array_unref(gone);
	free_late(l);
	array_unref(a);
}

static bool
is_cut(const struct array *a, uint64_t chunk)
{
	return behind_first_row(a, chunk) + behind_step(a) * a->grid.chunk[0] > a->grid.shape[0];
}

/* Those that lose rows. The lock is held. */
static int
find_cut(struct staging *s, struct late *l)
{
	struct array *a = l->list.array;
	const int r = find(s, &l->list);
	if (r < 0 || !l->list.at)
		return r;
	const size_t counted = l->list.n,
		     all = counted + staging_find_noted(s, a, l->list.at + counted);
	l->list.n = 0;
	l->lost = staging_loses_noted(s, a);
	for (size_t i = 0; i < all; i++) {
		if (!is_cut(a, l->list.at[i].chunk))
			continue;
		l->noted += i >= counted;
		l->list.at[l->list.n++] = l->list.at[i];
	}
	staging_forget_rows(s, a->site, UINT64_MAX);
	return 0;
}

void
placed_cut(struct staging *s, struct array *a, struct array **ret_was)
{
	struct late *l = calloc(1, sizeof *l);
	if (!l)
		return;
	l->list.array = l->rest.array = a;
	l->rest.rows = a->grid.shape[0];
	pthread_mutex_init(&l->rest.lock, NULL);
	if (find_cut(s, l) < 0 || !l->list.n) {
		free_late(l);
		return;
	}
	array_ref(a);
	staging_hold_space(s, a, &l->space, ret_was); /* else no file hears of it */
	l->next = s->late;
	s->late = l;
	l->task.run = cut_late;
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
