/* Flat files of a writable mount: how what was written gets into the store. */
#include "view/flats.h"

#include "view/flat.h"
#include "view/flat_share.h"
#include "view/kind.h"
#include "view/state.h"

#include "base/check.h"
#include "base/path.h"

#include <errno.h>
#include <string.h>

int
flat_begin(struct mount *m)
{
	return flats_new(&m->flats);
}

void
flat_end(struct mount *m)
{
	m->flats = flats_free(m->flats);
}

/* Does the flat have rows that the metadata do not count? The lock is held. */
static bool
is_ahead(const struct flat *w, const struct flat_state *st)
{
	return w->unshared || (w->row && ceil_div(st->size, w->row) > st->rows);
}

/* Rows that are written, the last one maybe in part, and that the metadata do not know; or that
 * another program has counted, for which nothing is stored. */
static int
store_rows(struct flat *w, const struct flat_state *st, struct cancel *cancel)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	uint64_t rows = 0;
	bool ahead = false;
	LOCKED(&w->lock) {
		if (w->epoch != st->epoch)
			return 0;
		n = node_ref(w->node);
		rows = w->row ? ceil_div(st->size, w->row) : 0;
		ahead = is_ahead(w, st);
		if (ahead && rows * w->row > w->size)
			w->padded = rows * w->row;
	}
	if (!ahead)
		return flat_find_counted(
			w->mount, flat_variable(st->layout)->array, n, rows, cancel);
	int r = flat_share_rows(w->mount, n, st->rows, rows, cancel);
	LOCKED(&w->lock)
		w->unshared = r < 0;
	return r;
}

/* Handles of an array that was replaced meanwhile hear of it; those of the new one need not. */
static int
confirm(struct flat *w, const struct flat_state *st, int stored)
{
	struct err why;
	struct layout *former = NULL;
	unsigned epoch = 0;
	err_save(stored, &why);
	LOCKED(&w->lock)
		former = MOVE(w->former);
	if (former) { /* what came into the one that took its place goes */
		array_confirm(flat_variable(former)->array, true);
		array_hear(flat_variable(former)->array, false, NULL);
	}
	layout_unref(former);
	int r = array_confirm(flat_variable(st->layout)->array, stored < 0);
	LOCKED(&w->lock)
		epoch = w->epoch;
	if (r < 0 && epoch != st->epoch)
		r = 0;
	return stored < 0 ? err_restore(&why) : r;
}

static int
try_store(struct flat *w, const struct flat_state *st, struct cancel *cancel)
{
	const bool part = w->row && st->size % w->row;
	/* Before any of that row is stored: then it cannot be told from what a broken writer left.
	 */
	int r = part ? flat_fill_row(w, cancel) : 0;
	if (r == 0)
		r = array_flush(flat_variable(st->layout)->array, cancel);
	if (r == 0)
		r = store_rows(w, st, cancel);
	r = confirm(w, st, r);
	return r < 0 ? r : data_sync(w->mount->data, w->mount->zmap);
}

/* The state that is to be stored. *ret_grows: it has rows that metadata are to count, and until
 * growth_end this mount makes no array shorter. */
static int
begin_store(struct flat *w, struct cancel *cancel, struct flat_state *ret, bool *ret_grows)
{
	flat_now(w, ret);
	LOCKED(&w->lock)
		*ret_grows = is_ahead(w, ret);
	if (!*ret_grows)
		return 0;
	flat_state_done(ret);
	int r = growth_begin(&w->mount->growth, cancel);
	if (r < 0)
		return r;
	flat_now(w, ret);
	return 0;
}

/* Another program may have made the array shorter: what was stored behind that end is to go.
 * Returns code. */
static int
look_why(struct flat *w, int code)
{
	struct err why;
	err_save(code, &why);
	if (code != -EINTR)
		flat_look_again(w);
	return err_restore(&why);
}

/* What another writer has made shorter meanwhile is stored as far as it is left. */
static int
store(struct flat *w, struct cancel *cancel)
{
	struct flat_state st;
	int r;
	bool again, by_others, grows;
	do {
		r = begin_store(w, cancel, &st, &grows);
		if (r < 0)
			return r;
		r = try_store(w, &st, cancel);
		if (grows)
			growth_end(&w->mount->growth);
		again = r < 0 && flat_was_cut(w, &st, &by_others);
		flat_state_done(&st);
	} while (again);
	return r < 0 && grows ? look_why(w, r) : r;
}

/* Has anything been written since it was last stored? It counts as stored from now on. */
static bool
take_changed(struct flat *w)
{
	bool changed = false;
	LOCKED(&w->lock) {
		changed = w->changed;
		w->changed = false;
	}
	return changed;
}

/* It is still to be stored, and sticks. */
static void
set_failed(struct flat *w, int code)
{
	LOCKED(&w->lock) {
		w->changed = true;
		if (code != -EINTR)
			w->failed = data_errors(w->mount->data);
	}
	if (code != -EINTR)
		flat_stick(w, code);
}

int
flat_store(struct flat *w, enum settle_why why, struct cancel *cancel)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	int r = 0;
	flat_take(w, &w->storing);
	bool changed = take_changed(w);
	if (changed)
		r = store(w, cancel);
	if (r < 0)
		set_failed(w, r);
	flat_give(w, &w->storing);
	if (!changed)
		return 0;
	n = flat_node(w);
	kinds_wrote(w->mount, n->path, w->path);
	kinds_told(w->mount, why);
	return r;
}

/* Not while an array grows. */
static int
share_fewer(struct flat *w, const struct node *n, uint64_t rows, struct cancel *cancel)
{
	struct growth *g = &w->mount->growth;
	int r = growth_stop(g, cancel);
	if (r < 0)
		return r;
	r = flat_share_fewer(w->mount, n, rows, cancel);
	growth_go_on(g);
	return r;
}

/* So many rows are left of those that there are by now, or there are so many again. */
static int
shorten(struct flat *w, unsigned epoch, uint64_t rows, struct cancel *cancel)
{
	CLEAN(node_unrefp) struct node *n = NULL;
	bool same = false;
	/* What was written behind the metadata's end becomes rows first. */
	int r = flat_store(w, SETTLE_FLUSH, cancel);
	if (r < 0)
		return r;
	flat_take(w, &w->storing);
	r = flat_look_again(w);
	LOCKED(&w->lock) {
		n = node_ref(w->node);
		same = w->epoch == epoch;
	}
	if (r == 0 && !same)
		r = variable_say_rewritten(w->path);
	else if (r == 0 && n->array->shape[0] > rows)
		r = share_fewer(w, n, rows, cancel);
	else if (r == 0)
		r = data_sync(w->mount->data, w->mount->zmap);
	flat_give(w, &w->storing);
	kinds_wrote(w->mount, n->path, w->path);
	kinds_told(w->mount, SETTLE_FLUSH);
	return r == 0 && n->array->shape[0] < rows ? flat_lengthen(w, epoch, rows * w->row, cancel)
						   : r;
}

int
flat_set_size(struct flat *w, unsigned epoch, uint64_t size, struct cancel *cancel)
{
	struct flat_state st;
	flat_now(w, &st);
	uint64_t now = st.size;
	flat_state_done(&st);
	if (size == now) {
		flat_show_all(w);
		return 0;
	}
	if (!w->grows || !size || size % w->row)
		return err_set(-EINVAL, "it has %llu bytes, and %s", (unsigned long long)now,
			w->grows ? "whole rows of its first dimension alone come and go"
				 : "its first dimension is not unlimited");
	int r = size < now ? shorten(w, epoch, size / w->row, cancel)
			   : flat_lengthen(w, epoch, size, cancel);
	if (r == 0)
		flat_show_all(w);
	return r;
}

void
flat_know(struct flat *w, int code, uint64_t upto, _Atomic(uint64_t) *heard)
{
	struct flat_state st;
	flat_now(w, &st);
	array_know(flat_variable(st.layout)->array, code, upto, heard);
	flat_state_done(&st);
}

int
flat_hear(struct flat *w, bool wrote, _Atomic(uint64_t) *heard)
{
	struct flat_state st;
	flat_now(w, &st);
	const int r = array_hear(flat_variable(st.layout)->array, wrote, heard);
	flat_state_done(&st);
	return r;
}

/* At the end a write that was refused is no loss. */
static int
settle(struct flat *w, enum settle_why why, struct cancel *cancel)
{
	bool end = why == SETTLE_RELEASE;
	const uint64_t upto = data_errors(w->mount->data);
	int r = end ? flat_complete(w) : flat_is_stuck(w);
	bool changed = false;
	LOCKED(&w->lock)
		changed = w->changed;
	if (r < 0)
		return r;
	r = flat_store(w, why, cancel);
	if (r < 0 && r != -EINTR)
		flat_know(w, 0, upto, NULL);
	return r < 0 ? r : flat_hear(w, changed, NULL);
}

/* Of all files at once, so that a store that does not answer is waited for once, not for one file
 * after the other. What fails is told as each file is stored. */
static void
store_ahead(struct mount *m, struct flat *const *all, enum settle_why why, struct cancel *cancel)
{
	for (size_t i = 0; why == SETTLE_RELEASE && all[i]; i++)
		flat_complete(all[i]);
	data_flush(m->data, cancel);
}

int
flat_settle_all(struct mount *m, const char *dir, enum settle_why why, struct cancel *cancel,
	struct buf *said)
{
	CLEAN(clean_free) struct flat **all = NULL;
	int worst = flats_all(m, &all);
	if (all && !*dir)
		store_ahead(m, all, why, cancel);
	for (size_t i = 0; all && all[i]; i++) {
		struct flat *w = all[i];
		int r = path_is_below(w->path, dir) ? settle(w, why, cancel) : 0;
		if (r < 0 && said)
			buf_addf(said, "'%s': %s\n", w->path, err_text());
		worst = worst ? worst : r;
		flat_put(w);
	}
	if (*dir)
		return worst;
	int r = data_flush(m->data, cancel);
	if (r == 0)
		r = data_sync(m->data, m->zmap);
	if (r < 0 && worst == 0 && said)
		buf_addf(said, "%s\n", err_text());
	return worst ? worst : r;
}

/* False: the flat has followed another node meanwhile. */
static bool
try_give_up(struct flat *w)
{
	CLEAN(node_unrefp) struct node *n = flat_node(w);
	CLEAN(layout_unrefp) struct layout *l = NULL;
	CLEAN(layout_unrefp) struct layout *was = NULL;
	bool same = false;
	int r = flat_lay_out(w->mount, n, w->width, (struct span){0}, &l);
	LOCKED(&w->lock) {
		same = w->node == n;
		if (!same)
			break;
		was = layout_ref(w->layout);
		if (r == 0) {
			w->size = l->size;
			flat_swap_layout(w, &l);
		}
		w->changed = false;
		w->cut = UINT64_MAX;
		atomic_fetch_add(&w->generation, 1);
	}
	if (was)
		array_give_up(flat_variable(was)->array);
	return same;
}

void
flat_give_up(struct flat *w)
{
	while (!try_give_up(w))
		continue;
}

/* Was it stuck? A store under way ends first, so that what it says sticks no later. *ret_failed:
 * what w->failed was. */
static bool
unstick(struct flat *w, uint64_t *ret_failed)
{
	bool was = false;
	flat_take(w, &w->storing);
	LOCKED(&w->lock) {
		was = atomic_load(&w->is_stuck);
		*ret_failed = w->failed;
		w->failed = 0;
		w->stuck = (struct err){0};
		atomic_store(&w->is_stuck, false);
	}
	flat_give(w, &w->storing);
	return was;
}

static void
retry(struct flat *w, struct buf *said)
{
	const uint64_t now = data_errors(w->mount->data);
	uint64_t failed, again;
	unsigned puts = 0;
	struct err why;
	LOCKED(&w->lock)
		puts = w->puts;
	err_save(unstick(w, &failed) ? flat_store(w, SETTLE_FLUSH, NULL) : 0, &why);
	if (!why.code)
		return;
	if (said)
		buf_addf(said, "given up: '%s': %s\n", w->path, why.text);
	flat_know(w, 0, now, NULL);
	LOCKED(&w->lock) { /* one that was told before knows, unless it has written since */
		w->given_up = failed && puts == w->puts ? failed : now;
		w->why = why;
	}
	flat_give_up(w);
	unstick(w, &again);
}

int
flat_retry(struct mount *m, struct buf *said)
{
	CLEAN(clean_free) struct flat **all = NULL;
	int r = data_retry(m->data, said);
	flats_all(m, &all);
	for (size_t i = 0; all && all[i]; i++) {
		retry(all[i], said);
		flat_put(all[i]);
	}
	return r;
}

int
flat_error(struct mount *m, const char *path, struct buf *ret)
{
	struct flat *w = flats_find(m, path);
	int r = ZMAP_ABSENT;
	if (!w)
		return r;
	if (flat_is_stuck(w) < 0)
		r = buf_add(ret, err_text(), strlen(err_text()));
	flat_put(w);
	return r;
}

bool
flat_unstored(struct mount *m)
{
	CLEAN(clean_free) struct flat **all = NULL;
	bool any = data_is_staged(m->data);
	if (flats_all(m, &all) < 0)
		return true;
	for (size_t i = 0; all[i]; i++) {
		LOCKED(&all[i]->lock)
			any |= all[i]->changed || all[i]->storing;
		flat_put(all[i]);
	}
	return any;
}
