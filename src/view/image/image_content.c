/* What an image holds: what was written, and what is shown where nothing was. */
#include "view/image/image_impl.h"

#include "base/check.h"

#include <string.h>

/* Bytes of the classic file that a netCDF-4 file would be. */
static int
input_content(struct image *im, const struct array_want *want, uint8_t *to)
{
	int r = 0;
	for (uint64_t off = want->off, end = off + want->len, n; off < end && r == 0; off += n) {
		const struct image_piece p = image_form_at(im->input_form, off);
		n = min_u64(p.left, end - off);
		if (p.owner == IMAGE_DATA)
			r = nc4_input_read(im->input, &im->input_form->file, p.var, p.in, (size_t)n,
				to + (off - want->off));
		else
			memset(to + (off - want->off), 0, (size_t)n);
	}
	return r;
}

int
image_content(struct image *im, const struct array_want *want, uint8_t *to)
{
	uint64_t shown = min_u64(im->cut, im->size), end = want->off + want->len;
	struct array_want w = *want;
	int r = 0;
	if (im->input)
		return input_content(im, want, to);
	if (im->instead)
		return spill_read(im->instead, want->off, want->len, to);
	w.len = want->off < shown ? (size_t)(min_u64(end, shown) - want->off) : 0;
	/* What was written whole needs not be read. */
	if (w.len && im->form && !held_has(&im->over, want->off, want->off + w.len))
		r = image_form_read(im->form, &im->start.ops->store, im->start.arg, &w, to);
	else
		w.len = 0;
	memset(to + w.len, 0, want->len - w.len);
	held_lay(&im->over, want->off, want->len, to);
	if (r == 0 && end > im->end && im->tail.size) {
		uint64_t at = max_u64(want->off, im->end);
		r = spill_read(&im->tail, at - im->end, (size_t)(end - at), to + (at - want->off));
	}
	return r;
}

void
image_forget(struct image *im, const struct image_form *now)
{
	uint64_t from = 0, to, n;
	for (; held_run(&im->over, from, im->end, &from, &to); from = to)
		for (uint64_t at = from; at < to; at += n) {
			const struct image_piece p = image_form_at(now, at);
			n = min_u64(p.left, to - at);
			if (p.owner != IMAGE_GAP)
				held_drop(&im->over, at, at + n);
		}
}

size_t
image_own_of(const struct change *c, size_t own)
{
	for (size_t i = 0; i < c->now->file.nvars; i++)
		if (c->var[i] == own)
			return i;
	return CHANGE_NONE;
}
