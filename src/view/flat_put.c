/* The flat file of a writable mount: how what is written to it becomes elements, and how it
 * grows. */
#include "view/flats.h"

#include "base/check.h"
#include "view/byte_order.h"
#include "view/flat.h"
#include "view/state.h"

#include <errno.h>
#include <string.h>

enum { UNIT_MOST = 16 }; /* bytes of an element that are swapped together */

void
flat_show_all(struct flat *w)
{
	struct stale *s = atomic_load(&w->mount->stale);
	bool was = false;
	LOCKED(&w->lock) {
		was = w->cut != UINT64_MAX;
		w->cut = UINT64_MAX;
		if (was)
			atomic_fetch_add(&w->generation, 1);
	}
	if (was && s)
		stale_push(s, w->path, STALE_ATTRIBUTES);
}

/* Bytes [off, off + n) of the file, which lie in one unit of an element: in the store's order they
 * lie together, too. The rest of the unit is left as it is, for other writers may write that. */
static int
put_in_unit(const struct flat_state *st, uint64_t off, struct span b, const struct array_want *how)
{
	const struct layout_span *s = &st->layout->span[0];
	const uint64_t from = byte_order_floor(s->swap, off),
		       to = byte_order_ceil(s->swap, off + b.len);
	uint8_t unit[UNIT_MOST];
	struct array_want w = *how;
	for (size_t i = 0; i < b.len; i++)
		unit[i] = b.data[b.len - 1 - i];
	w.off = from + to - (off + b.len);
	w.len = b.len;
	return array_write(s->variable->array, &w, unit);
}

/* The same of whole units. */
static int
put_units(const struct flat_state *st, uint64_t off, struct span b, const struct array_want *how)
{
	const struct layout_span *s = &st->layout->span[0];
	struct array_want w = *how;
	CLEAN(clean_free) uint8_t *bytes = malloc(b.len);
	if (!bytes)
		return err_set(-ENOMEM, "no memory for %zu bytes", b.len);
	memcpy(bytes, b.data, b.len);
	byte_order_swap(s->swap, bytes, off, b.len);
	w.off = off;
	w.len = b.len;
	return array_write(s->variable->array, &w, bytes);
}

static int
put_swapped(const struct flat_state *st, uint64_t off, struct span b, const struct array_want *how)
{
	const struct dtype *swap = st->layout->span[0].swap;
	const uint64_t end = off + b.len, first = min_u64(byte_order_ceil(swap, off), end),
		       last = max_u64(byte_order_floor(swap, end), first);
	int r = 0;
	if (off < first)
		r = put_in_unit(st, off, (struct span){b.data, first - off}, how);
	if (r == 0 && first < last)
		r = put_units(st, first, (struct span){b.data + (first - off), last - first}, how);
	if (r == 0 && last < end)
		r = put_in_unit(st, last, (struct span){b.data + (last - off), end - last}, how);
	return r;
}

/* Within the layout. */
static int
put_elements(const struct flat_state *st, uint64_t off, struct span b, const struct array_want *how)
{
	const struct layout_span *s = &st->layout->span[0];
	struct array_want w = *how;
	int r = variable_usable(s->variable);
	if (r < 0 || s->form == SPAN_SWAPPED)
		return r < 0 ? r : put_swapped(st, off, b, how);
	w.off = off;
	w.len = b.len;
	return array_write(s->variable->array, &w, b.data);
}

/* To what became another array meanwhile, nothing was. */
static void
wrote(struct flat *w, const struct flat_state *st, uint64_t end)
{
	bool longer = false;
	LOCKED(&w->lock) {
		if (w->epoch != st->epoch) {
			w->lost = w->epoch;
			break;
		}
		uint64_t size = w->size, cut_at = w->cut;
		end = min_u64(end, w->layout->size); /* others may have made it shorter */
		w->changed = true;
		w->puts++;
		w->size = max_u64(size, end);
		if (cut_at != UINT64_MAX)
			w->cut = max_u64(cut_at, end) < w->size ? max_u64(cut_at, end) : UINT64_MAX;
		longer = w->size != size;
		if (longer || w->cut != cut_at)
			atomic_fetch_add(&w->generation, 1);
	}
	/* Between the old end and what was written the kernel has zeros: another time makes it ask
	 * for its pages again. */
	if (longer)
		facts_written(
			&w->mount->facts, flat_variable(st->layout)->node->path, clock_wall());
}

/* Room for bytes up to `end`, unless the mount is told meanwhile that others have made some. */
static int
lay_out_to(struct flat *w, uint64_t end, const struct layout *before)
{
	CLEAN(layout_unrefp) struct layout *l = NULL;
	CLEAN(node_unrefp) struct node *n = NULL;
	uint64_t rows = 0;
	LOCKED(&w->lock) {
		n = node_ref(w->node);
		rows = w->row ? ceil_div(end, w->row) : 0;
	}
	if (!rows)
		return variable_say_rewritten(w->path);
	int r = flat_lay_out_grown(w->mount, n, w->width, rows, &l);
	if (r < 0)
		return r;
	LOCKED(&w->lock) {
		if (w->layout != before)
			break;
		flat_swap_layout(w, &l);
		atomic_fetch_add(&w->generation, 1);
	}
	return 0;
}

/* 0, or that it became another array than the one that was opened. */
static int
check_epoch(const struct flat *w, const struct flat_state *st, unsigned epoch)
{
	return st->epoch == epoch ? 0 : variable_say_rewritten(w->path);
}

/* Makes room for bytes up to `end`. With the turn to grow. */
static int
reach(struct flat *w, unsigned epoch, uint64_t end, struct flat_state *ret)
{
	int r = 0;
	for (flat_now(w, ret); r == 0 && ret->epoch == epoch && end > ret->layout->size;
		flat_now(w, ret)) {
		if (!w->grows)
			return err_set(-EFBIG,
				"its first dimension is not unlimited, so that it has %llu bytes",
				(unsigned long long)ret->layout->size);
		r = lay_out_to(w, end, ret->layout);
		flat_state_done(ret);
	}
	return r < 0 ? r : check_epoch(w, ret, epoch);
}

/* A writer that leaves a hole sees first where the end is now: others may have written there. */
static int
look_at_end(struct flat *w, uint64_t off)
{
	uint64_t size = 0;
	LOCKED(&w->lock)
		size = w->size;
	return off > size && w->grows ? flat_look_again(w) : 0;
}

/* Bytes of rows that the metadata count, or that were written: what lies behind is nothing yet. */
static uint64_t
known_end(const struct flat *w, const struct flat_state *st)
{
	return max_u64(st->size, st->rows * w->row);
}

/* Bytes [size, end) become fill, but for those of rows that metadata count. end: of an element. Of
 * one that was written in part the rest becomes so as it is stored, unless it is another writer's.
 * With the turn to grow. */
static int
fill_to(struct flat *w, const struct flat_state *st, uint64_t end, struct cancel *cancel)
{
	return flat_clear(w, round_up(known_end(w, st), w->item), end, cancel, NULL);
}

static int
put_past_the_end(
	struct flat *w, unsigned epoch, uint64_t off, struct span b, const struct array_want *how)
{
	struct flat_state st = {0};
	uint64_t end;
	if (add_over(off, b.len, &end) || end > INT64_MAX)
		return err_set(-EFBIG, "files have at most %lld bytes", (long long)INT64_MAX);
	flat_take(w, &w->growing);
	int r = look_at_end(w, off);
	if (r == 0)
		r = reach(w, epoch, end, &st);
	if (r == 0 && off > known_end(w, &st))
		r = fill_to(w, &st, round_up(off, w->item), how->cancel);
	if (r == 0)
		r = put_elements(&st, off, b, how);
	if (r == 0)
		wrote(w, &st, end);
	flat_give(w, &w->growing);
	flat_state_done(&st);
	return r;
}

/* Another writer has made the file shorter meanwhile: the write ends at the new end. */
static int
put_left(struct flat *w, uint64_t off, struct span b, const struct array_want *how)
{
	struct flat_state st;
	int r = 0;
	flat_now(w, &st);
	const size_t left = off < st.size ? min_u64(b.len, st.size - off) : 0;
	if (left)
		r = put_elements(&st, off, (struct span){b.data, left}, how);
	if (r == 0 && left)
		wrote(w, &st, off + left);
	if (r == 0 && left < b.len)
		r = err_set(-EIO, "another program has made '%s' shorter: it has %llu bytes",
			w->path, (unsigned long long)st.size);
	flat_state_done(&st);
	return r;
}

/* *ret_again: this mount has made it shorter meanwhile, and the write comes behind the end. */
static int
try_put(struct flat *w, unsigned epoch, uint64_t off, struct span b, const struct array_want *how,
	bool *ret_again)
{
	struct flat_state st;
	bool by_others = false;
	flat_now(w, &st);
	bool inside = off <= st.size && b.len <= st.size - off;
	int r = check_epoch(w, &st, epoch);
	if (r == 0)
		r = inside ? put_elements(&st, off, b, how)
			   : put_past_the_end(w, epoch, off, b, how);
	if (r == 0 && inside)
		wrote(w, &st, off + b.len);
	const bool cut = r < 0 && inside && st.epoch == epoch && flat_was_cut(w, &st, &by_others);
	*ret_again = cut && !by_others;
	if (cut && by_others)
		r = put_left(w, off, b, how);
	flat_state_done(&st);
	return r;
}

int
flat_put_bytes(
	struct flat *w, unsigned epoch, uint64_t off, struct span b, const struct array_want *how)
{
	bool again = false;
	int r;
	do
		r = try_put(w, epoch, off, b, how, &again);
	while (again);
	return r;
}

static uint64_t
end_of_row(const struct flat *w, uint64_t size)
{
	return w->row ? round_up(size, w->row) : size;
}

int
flat_fill_row(struct flat *w, struct cancel *cancel)
{
	struct flat_state st;
	flat_take(w, &w->growing);
	flat_now(w, &st);
	int r = fill_to(w, &st, end_of_row(w, st.size), cancel);
	flat_give(w, &w->growing);
	flat_state_done(&st);
	return r;
}

int
flat_complete(struct flat *w)
{
	struct flat_state st;
	flat_take(w, &w->growing);
	flat_now(w, &st);
	const uint64_t end = end_of_row(w, st.size);
	int r = fill_to(w, &st, end, NULL);
	if (r == 0 && st.size < end)
		wrote(w, &st, end);
	flat_give(w, &w->growing);
	flat_state_done(&st);
	return r;
}

int
flat_lengthen(struct flat *w, unsigned epoch, uint64_t size, struct cancel *cancel)
{
	struct flat_state st;
	flat_now(w, &st);
	const bool has = st.epoch == epoch && size <= st.shown;
	flat_state_done(&st);
	if (has)
		return 0;
	flat_take(w, &w->growing);
	int r = look_at_end(w, size);
	if (r == 0)
		r = reach(w, epoch, size, &st);
	if (r == 0 && size > st.size && size % w->row)
		r = err_set(-EINVAL, "whole rows of its first dimension alone come");
	if (r == 0)
		r = fill_to(w, &st, size, cancel);
	if (r == 0)
		wrote(w, &st, size);
	flat_give(w, &w->growing);
	flat_state_done(&st);
	return r;
}

int
flat_find_end(struct flat *w, uint64_t *off)
{
	struct flat_state st;
	struct stale *s = atomic_load(&w->mount->stale);
	flat_now(w, &st);
	bool cut = st.shown < st.size;
	bool longer = w->row && st.size > st.rows * w->row;
	flat_state_done(&st);
	int r = cut || longer || !w->grows ? 0 : flat_look_again(w);
	if (r < 0 || cut)
		return r;
	flat_now(w, &st);
	if (*off != st.size && s)
		stale_push(s, w->path, STALE_PAGES);
	*off = st.size;
	flat_state_done(&st);
	return 0;
}
