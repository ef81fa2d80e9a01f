/* Arrays that share a leading dimension and get fewer rows. */
#include "view/flat_share.h"

#include "base/check.h"
#include "base/list.h"
#include "view/flat.h"
#include "view/flats.h"
#include "view/shared_rows.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

static int
look_behind(struct shared_rows *s, const char *path, struct cancel *cancel)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	int r = LIST_MORE(s->behind, s->n, "rows");
	if (r == 0)
		r = shared_rows_look(s, path, &n, &l);
	if (r == 0)
		r = array_look_behind(
			flat_variable(l)->array, s->rows, s->was, cancel, &s->behind[s->n]);
	s->n += r == 0;
	return r == ZMAP_ABSENT ? err_set(-EIO, "'%s' is gone", path)
	       : r < 0          ? err_add(r, "'%s', which is to have fewer rows", path)
				: r;
}

/* What the rows were is no longer there. */
static int
trim(struct shared_rows *s, const char *path, struct cancel *cancel)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	int r = shared_rows_look(s, path, &n, &l);
	if (r == 0)
		r = array_trim(flat_variable(l)->array, s->behind[s->trimmed++], cancel);
	return r == ZMAP_ABSENT ? err_set(-EIO, "'%s' is gone", path)
	       : r < 0          ? err_add(r, "'%s', which has fewer rows now", path)
				: r;
}

static int
add_flat(struct shared_rows *s, const char *path, struct cancel *cancel)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	CLEAN(layout_unrefp) struct layout *l = NULL;
	(void)cancel;
	int r = LIST_MORE(s->flat, s->flats, "rows");
	if (r == 0)
		r = shared_rows_look(s, path, &n, &l);
	if (r == 0)
		r = flats_get(s->mount, n, l, &s->flat[s->flats]);
	s->flats += r == 0;
	return r == ZMAP_ABSENT ? err_set(-EIO, "'%s' is gone", path) : r;
}

static int
by_path(const void *a, const void *b)
{
	const struct flat *const *x = a, *const *y = b;
	return strcmp((*x)->path, (*y)->path);
}

/* What is appended to any of the arrays from now on comes behind its new end. The turns are taken
 * in one order, and a thread that has one to append takes no other. */
static int
stop_growth(struct shared_rows *s, struct cancel *cancel)
{
	int r = add_flat(s, s->of->path, cancel);
	if (r == 0)
		r = shared_rows_each(s, add_flat, cancel);
	if (s->flats)
		qsort(s->flat, s->flats, sizeof(struct flat *), by_path);
	for (size_t i = 0; i < s->flats; i++)
		flat_take(s->flat[i], &s->flat[i]->growing);
	return r;
}

static void
go_on(struct shared_rows *s)
{
	for (size_t i = 0; i < s->flats; i++) {
		flat_give(s->flat[i], &s->flat[i]->growing);
		flat_put(s->flat[i]);
	}
	free(s->flat);
}

static void
free_behind(struct array_behind **behind, size_t n)
{
	for (size_t i = 0; i < n; i++)
		array_behind_free(behind[i]);
	free(behind);
}

/* From here on it is not given up, for rows would be left. */
static int
cut(struct shared_rows *s)
{
	int r = shared_rows_commit(s, edit_resize, NULL);
	if (r == 0)
		r = trim(s, s->of->path, NULL);
	if (r == 0)
		r = shared_rows_each(s, trim, NULL);
	for (size_t i = 0; i < s->n && r == 0; i++)
		r = array_store_trimmed(s->behind[i], NULL);
	return r < 0 ? r : data_sync(s->mount->data, s->mount->zmap);
}

/* The arrays may be shorter all the same. */
static int
tell_dropped(struct shared_rows *s, const char *path, struct cancel *cancel)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	(void)cancel;
	const int r = model_look_again(s->mount->model, path, &n);
	const bool whole = r == 0 && n->array && n->array->rank && n->array->shape[0] > s->rows;
	array_tell_dropped(s->behind[s->told++], !whole, &s->why);
	return 0;
}

static int
see_length(struct shared_rows *s, const char *path, struct cancel *cancel)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	(void)cancel;
	int r = model_look_again(s->mount->model, path, &n);
	if (r == ZMAP_ABSENT || (r == 0 && !(n->array && n->array->rank)))
		return err_set(-EIO, "'%s' is no array any more", path);
	if (r == 0)
		s->was = max_u64(s->was, n->array->shape[0]);
	return r;
}

static int
look_behind_all(struct shared_rows *s, struct cancel *cancel)
{
	int r = look_behind(s, s->of->path, cancel);
	return r < 0 ? r : shared_rows_each(s, look_behind, cancel);
}

/* Another program has appended while lengths were being stored, and some are stored: its rows go
 * as well. False: it has taken as many away, or nothing can be seen. */
static bool
is_longer(struct shared_rows *s)
{
	s->was = 0;
	return see_length(s, s->of->path, NULL) == 0 && s->was > s->rows &&
	       shared_rows_each(s, see_length, NULL) == 0;
}

/* Some arrays may be shorter by now. False: that failed, and of what is lost writers are to be told
 * by what was seen before. */
static bool
look_again(struct shared_rows *s)
{
	struct array_behind **was = MOVE(s->behind);
	const size_t n = s->n;
	s->n = 0;
	const bool seen = look_behind_all(s, NULL) == 0;
	free_behind(seen ? was : s->behind, seen ? n : s->n);
	if (!seen) {
		s->behind = was;
		s->n = n;
	}
	return seen;
}

static int
shrink(struct shared_rows *s, struct cancel *cancel)
{
	const int64_t until = clock_now() + s->mount->options.data.timeout;
	int r = stop_growth(s, cancel);
	if (r == 0)
		r = look_behind_all(s, cancel);
	while (r == 0 && (r = cut(s)) < 0) {
		err_save(r, &s->why);
		if (s->overtaken && !clock_over(until) && is_longer(s) && look_again(s)) {
			r = 0;
			continue;
		}
		tell_dropped(s, s->of->path, NULL);
		shared_rows_each(s, tell_dropped, NULL);
		r = err_restore(&s->why);
		break;
	}
	free_behind(s->behind, s->n);
	go_on(s);
	return r;
}

int
flat_share_fewer(struct mount *m, const struct node *n, uint64_t rows, struct cancel *cancel)
{
	return shared_rows_with((struct shared_rows){m, n, rows, .fewer = true}, shrink, cancel);
}
