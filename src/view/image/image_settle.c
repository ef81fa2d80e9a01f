/* What waits in an image finds its meaning: by a header that is whole. */
#include "view/image/image_impl.h"

#include "base/check.h"
#include "view/image/nc_parse.h"

#include <errno.h>
#include <string.h>

static const size_t HEADER_FIRST = 8 << 10; /* bytes of a file that are looked at for its header */

/* The header as it is now. NC_PARSE_MORE: there is only a part of it. */
static int
parse(struct image *im, const struct array_want *how, struct buf *bytes, struct nc_file *ret)
{
	int r = NC_PARSE_MORE;
	struct array_want w = *how;
	w.off = 0;
	size_t len = 0;
	/* Little of variables is read, and none if that is not needed: they may be others' by now.
	 */
	const size_t was = im->form && !im->instead ? im->form->header.len : 0;
	size_t n = was ? was : HEADER_FIRST, more = was ? HEADER_FIRST / 8 : HEADER_FIRST;
	for (; r == NC_PARSE_MORE; n += more, more *= 4) {
		w.len = (size_t)min_u64(n, min_u64(im->size, im->start.most));
		if (w.len <= bytes->len && w.len < im->size)
			return err_set(-EFBIG, "a netCDF header of more than %zu bytes", w.len);
		if (w.len <= bytes->len)
			return NC_PARSE_MORE;
		r = buf_reserve(bytes, w.len);
		if (r == 0)
			r = image_content(im, &w, bytes->data);
		bytes->len = w.len;
		if (r == 0)
			r = nc_parse(buf_span(bytes), im->size, ret, &len);
	}
	bytes->len = len;
	return r;
}

static bool
is_hdf5(struct image *im, const struct array_want *how)
{
	static const uint8_t magic[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
	uint8_t first[sizeof magic];
	struct array_want w = *how;
	w.off = 0;
	w.len = sizeof first;
	return im->size > sizeof first && image_content(im, &w, first) == 0 &&
	       memcmp(first, magic, sizeof magic) == 0;
}

/* Of a netCDF-4 file. */
static int
make_input(struct image *im, struct image_form **ret)
{
	struct nc_file f = {.record = NC_NO_DIM};
	if (!im->instead)
		return err_set(-EINVAL, "a netCDF-4 file over a part of a classic one");
	int r = nc4_input_open(im->instead, &f, &im->input);
	if (r == 0)
		r = image_form_new(&f, (struct span){0}, NULL, ret);
	if (r == 0)
		im->input_form = *ret;
	nc_file_free(&f);
	return r;
}

/* The form that the header says, of which no source is known yet. */
static int
make_form(struct image *im, const struct array_want *how, struct image_form **ret)
{
	CLEAN(buf_free) struct buf header = {0};
	struct nc_file f = {.record = NC_NO_DIM};
	if (is_hdf5(im, how))
		return make_input(im, ret);
	int r = parse(im, how, &header, &f);
	if (r == NC_PARSE_MORE)
		r = err_set(-EINVAL, "the file has half a netCDF header, or none");
	if (r == 0)
		r = nc_parse_places(&f, header.len, im->size);
	if (r == 0)
		r = image_form_new(&f, buf_span(&header), NULL, ret);
	nc_file_free(&f);
	return r;
}

/* What lies behind all that the header counts: records that are to be counted by the next one. */
static int
take_rest(struct image *im, const struct image_form *now, const struct array_want *how,
	struct spill *ret, uint64_t *ret_from)
{
	enum { PIECE = 1 << 20 };
	const struct nc_file *f = &now->file;
	const uint64_t counted = max_u64(now->size, f->record_start + f->record_size * f->records);
	const uint64_t end = f->record_size % 4 ? counted : round_up(counted, 4);
	const uint64_t from = im->input ? im->size : min_u64(end, im->size);
	CLEAN(clean_free) uint8_t *bytes = malloc(min_u64(PIECE, im->size - from) + 1);
	int r = bytes ? 0 : err_set(-ENOMEM, "no memory for a file");
	struct array_want w = *how;
	for (w.off = from; r == 0 && w.off < im->size; w.off += w.len) {
		w.len = (size_t)min_u64(PIECE, im->size - w.off);
		r = image_content(im, &w, bytes);
		if (r == 0)
			r = spill_write(
				ret, w.off - from, (struct span){bytes, w.len}, im->start.most);
	}
	*ret_from = from;
	return r;
}

/* What the file shows from now on: nothing waits any more, but for a rest behind `end`, which is
 * taken over. */
static void
adopt(struct image *im, struct image_form *now, uint64_t end, struct spill *rest)
{
	image_form_free(im->form, &im->start.ops->store, im->start.arg);
	im->form = now;
	if (im->input) { /* its own bytes are all that its writer may read again */
		im->waiting = im->header_due = false;
		return;
	}
	im->cut = im->end = end;
	im->instead = NULL;
	spill_free(&im->own);
	spill_free(&im->tail);
	im->tail = *rest;
	*rest = (struct spill){.fd = -1};
	held_drop(&im->over, end, UINT64_MAX / 2);
	image_forget(im, now);
	im->waiting = im->header_due = false;
}

static void
end_input(struct image *im)
{
	im->input = nc4_input_free(im->input);
	im->input_form = NULL;
}

/* Has anything been written from there on that is not what it showed? Bytes of variables only,
 * where nothing was moved. */
static int
data_differ(struct image *im, uint64_t from, const struct array_want *how, bool *ret)
{
	enum { PIECE = 1 << 20 };
	CLEAN(clean_free) uint8_t *bytes = malloc(2 * PIECE);
	uint64_t to;
	int r = bytes ? 0 : err_set(-ENOMEM, "no memory for a file");
	*ret = false;
	for (; r == 0 && !*ret && held_run_other(&im->over, from, im->end, &from, &to); from = to) {
		struct array_want w = *how;
		to = min_u64(to, from + PIECE);
		w.off = from;
		w.len = (size_t)(to - from);
		r = image_form_read(im->form, &im->start.ops->store, im->start.arg, &w, bytes);
		if (r == 0)
			r = image_content(im, &w, bytes + PIECE);
		*ret = r == 0 && memcmp(bytes, bytes + PIECE, w.len) != 0;
	}
	return r;
}

/* Was the header laid there by a program that had not read it? So a whole file comes that was made
 * elsewhere. */
static bool
is_blind(struct image *im, const struct image_form *now)
{
	const uint64_t len = min_u64(now->header.len, im->end);
	uint64_t from, to;
	return held_run_other(&im->over, 0, len, &from, &to) && !from && to == len;
}

/* A variable that has another name in a file that was made elsewhere has the elements that it had:
 * else it is another one, in the place of one that is gone. */
static int
make_change(struct image *im, const struct image_form *now, unsigned flags,
	const struct array_want *how, struct change *ret)
{
	int r = change_make(im->form, now, flags, im->start.own, ret);
	bool differ = false;
	if (r < 0 || !change_renames_vars(ret) || !is_blind(im, now))
		return r;
	for (size_t i = 0; r == 0 && !differ && i < now->file.nvars; i++)
		if (change_renames(ret, i))
			r = data_differ(im, now->file.var[i].begin, how, &differ);
	if (r == 0 && !differ)
		return 0;
	change_free(ret);
	return r < 0 ? r : change_make(im->form, now, flags | CHANGE_BY_NAME, im->start.own, ret);
}

/* What the header means, and can that be? Nothing is stored. */
static int
bind(struct image *im, struct image_form *now, const struct array_want *how, struct change *ret)
{
	const struct image_ops *ops = im->start.ops;
	const bool rewritten = im->cut == 0;
	const bool keep = rewritten && (im->start.own != CHANGE_NONE || im->start.keep);
	const unsigned flags = (keep ? CHANGE_KEEP : 0) | (rewritten ? CHANGE_REWRITTEN : 0);
	int r = make_change(im, now, flags, how, ret);
	if (r == 0)
		r = ops->bind(im->start.arg, ret, now, how);
	return r < 0 ? r : image_values(im, ret, how, false);
}

/* Other names come first: all else is known by them then. */
static int
rename_first(
	struct image *im, struct image_form *now, const struct array_want *how, struct change *c)
{
	const struct image_ops *ops = im->start.ops;
	int r = ops->rename ? ops->rename(im->start.arg, c, im->form, how)
			    : err_set(-EINVAL, "nothing in it can have another name");
	change_free(c);
	if (ops->done)
		ops->done(im->start.arg);
	image_form_unbind(now, &ops->store, im->start.arg);
	return r < 0 ? r : bind(im, now, how, c);
}

static int
settle_form(struct image *im, struct image_form *now, const struct array_want *how)
{
	const struct image_ops *ops = im->start.ops;
	struct change c = {0};
	struct spill rest = {.fd = -1};
	uint64_t end = 0;
	int r = bind(im, now, how, &c);
	if (r == 0 && (change_renames_vars(&c) || change_renames_dims(&c)))
		r = rename_first(im, now, how, &c);
	const bool begun = r == 0;
	if (r == 0)
		r = image_values(im, &c, how, true);
	if (r == 0)
		r = take_rest(im, now, how, &rest, &end);
	if (r == 0)
		r = ops->commit(im->start.arg, &c, how);
	if (r < 0 && begun)
		r = image_undo(im, now, r);
	if (r < 0)
		image_form_free(now, &ops->store, im->start.arg);
	else {
		if (im->start.own != CHANGE_NONE)
			im->start.own = image_own_of(&c, im->start.own);
		adopt(im, now, end, &rest);
	}
	if (ops->done)
		ops->done(im->start.arg);
	spill_free(&rest);
	change_free(&c);
	return r;
}

static int
settle_header(struct image *im, const struct array_want *how)
{
	struct image_form *now = NULL;
	int r = make_form(im, how, &now);
	if (r == 0)
		r = settle_form(im, now, how);
	end_input(im);
	return r;
}

/* Was the header written whole since it began to wait? Then it is no half of one. */
static bool
header_is_new(struct image *im, const struct array_want *how)
{
	CLEAN(buf_free) struct buf header = {0};
	struct nc_file f = {.record = NC_NO_DIM};
	int r = parse(im, how, &header, &f);
	bool whole = r == 0 && nc_parse_places(&f, header.len, im->size) == 0 &&
		     held_has(&im->over, 0, header.len);
	nc_file_free(&f);
	return whole;
}

static int
settle(struct image *im, enum image_why why, const struct array_want *how)
{
	const struct image_ops *ops = im->start.ops;
	if (im->waiting && !im->size)
		return 0; /* it is empty: nothing is changed */
	if (!im->waiting) {
		int r = image_parts(im, how);
		return r < 0 || !im->form ? r : ops->flush(im->start.arg, im->form, how);
	}
	if (im->flow)
		return why == IMAGE_LOOK ? 0 : image_flow_settle(im, how);
	if (why == IMAGE_LOOK && (im->header_due || !header_is_new(im, how)))
		return 0;
	return settle_header(im, how);
}

int
image_settle(struct image *im, enum image_why why, const struct array_want *how)
{
	int r = turn_take(&im->turn, how->deadline);
	return r < 0 ? r : turn_give(&im->turn, settle(im, why, how));
}

void
image_know(struct image *im, int code, uint64_t upto, _Atomic(uint64_t) *heard)
{
	turn_take(&im->turn, 0);
	if (im->form && im->start.ops->know)
		im->start.ops->know(im->form, code, upto, heard);
	turn_give(&im->turn, 0);
}

int
image_hear(struct image *im, bool wrote, _Atomic(uint64_t) *heard)
{
	turn_take(&im->turn, 0);
	return turn_give(&im->turn,
		im->form && im->start.ops->hear ? im->start.ops->hear(im->form, wrote, heard) : 0);
}
