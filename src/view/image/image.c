#include "view/image/image_impl.h"

#include "base/check.h"
#include "view/image/nc_parse.h"

#include <errno.h>
#include <string.h>

static const size_t HEADER_FIRST = 8 << 10; /* bytes of a file that are looked at for its header */

int
image_new(const struct image_start *s, struct image **ret)
{
	struct image *im = calloc(1, sizeof *im);
	if (!im)
		return err_set(-ENOMEM, "no memory for an image");
	turn_init(&im->turn);
	im->start = *s;
	im->form = s->form;
	im->size = im->cut = s->form ? s->form->size : 0;
	im->own.fd = im->tail.fd = -1;
	im->end = im->size;
	im->instead = s->instead;
	if (s->instead) {
		im->size = s->instead->size;
		im->cut = 0;
		im->waiting = true;
	}
	*ret = im;
	return 0;
}

struct image *
image_free(struct image *im)
{
	if (!im)
		return NULL;
	if (im->flow)
		image_flow_drop(im);
	image_form_free(im->form, &im->start.ops->store, im->start.arg);
	held_free(&im->over);
	spill_free(&im->own);
	spill_free(&im->tail);
	turn_done(&im->turn);
	free(im);
	return NULL;
}

/* What is looked at from outside is read without a turn. */
uint64_t
image_size(struct image *im)
{
	return atomic_load(&im->size);
}

bool
image_waits(struct image *im)
{
	return atomic_load(&im->waiting);
}

bool
image_is_blank(struct image *im)
{
	return atomic_load(&im->waiting) && !atomic_load(&im->size);
}

static struct viewed **
find_seen(struct image *im, const struct viewed *s)
{
	struct viewed **at = &im->seen;
	while (*at && *at != s)
		at = &(*at)->next;
	return at;
}

/* Bytes of a file that is written anew, or goes to new variables, are no others' too. */
static void
note(struct image *im, struct viewed *seen, uint64_t off, struct span bytes)
{
	if (!seen || im->instead || im->flow)
		return;
	struct viewed **at = find_seen(im, seen);
	if (!*at)
		*at = seen;
	viewed_of(seen, im->cuts);
	viewed_note(seen, off, bytes);
}

void
image_leave(struct image *im, struct viewed *seen)
{
	turn_take(&im->turn, 0);
	struct viewed **at = find_seen(im, seen);
	if (*at)
		*at = seen->next;
	turn_give(&im->turn, 0);
	viewed_free(seen);
}

int
image_read(struct image *im, const struct array_want *want, struct viewed *seen, uint8_t *to,
	size_t *ret_len)
{
	int r = turn_take(&im->turn, want->deadline);
	if (r < 0)
		return r;
	struct array_want w = *want;
	w.len = want->off < im->size ? (size_t)min_u64(want->len, im->size - want->off) : 0;
	r = image_content(im, &w, to);
	*ret_len = w.len;
	if (r == 0)
		note(im, seen, w.off, (struct span){to, w.len});
	return turn_give(&im->turn, r);
}

/* A file that replaces all. */
static int
hold_instead(struct image *im, uint64_t off, struct span bytes, const struct array_want *how)
{
	const uint64_t before = im->size;
	int r = spill_write(im->instead, off, bytes, im->start.most);
	im->size = im->instead->size;
	im->waiting = true;
	if (r == 0 && !im->flowed && image_would_flow(im->instead, im->start.most, before))
		image_flow_begin(im, how); /* or it waits, as others do */
	return r;
}

/* Where the handle has seen nothing the byte is another one. */
static int
put(struct image *im, uint64_t off, struct span bytes, const struct viewed *seen)
{
	CLEAN(clean_free) uint8_t *was = seen ? malloc(bytes.len) : NULL;
	if (seen && !was)
		return err_set(-ENOMEM, "no memory for what was written");
	if (was)
		viewed_show(seen, off, bytes, was);
	return held_put(&im->over, off, bytes, was);
}

/* More waits. */
static int
hold(struct image *im, uint64_t off, struct span bytes, const struct viewed *seen,
	const struct array_want *how)
{
	if (im->instead)
		return hold_instead(im, off, bytes, how);
	const size_t before = off < im->end ? (size_t)min_u64(bytes.len, im->end - off) : 0;
	const struct span behind = {bytes.data + before, bytes.len - before};
	if (before && held_bytes(&im->over) + before > im->start.most)
		return err_set(-EFBIG,
			"more than %zu bytes wait for a header that gives them a meaning",
			im->start.most);
	int r = before ? put(im, off, (struct span){bytes.data, before}, seen) : 0;
	if (r == 0 && behind.len)
		r = spill_write(&im->tail, off + before - im->end, behind, im->start.most);
	if (r == 0)
		im->size = max_u64(im->size, off + bytes.len);
	im->waiting = true;
	return r;
}

int
image_try(struct image *im, uint64_t off, struct span bytes, const struct viewed *seen,
	const struct array_want *how)
{
	if (im->flow)
		return image_flow_write(im, off, bytes, how);
	if (im->waiting || im->instead || !im->form || off + bytes.len > im->end)
		return IMAGE_MUST_WAIT;
	return image_through(im, off, bytes, seen, how);
}

int
image_put(struct image *im, uint64_t off, struct span bytes, const struct viewed *seen,
	const struct array_want *how)
{
	int r = image_try(im, off, bytes, seen, how);
	return r == IMAGE_MUST_WAIT ? hold(im, off, bytes, seen, how) : r;
}

int
image_write(struct image *im, uint64_t off, struct span bytes, struct viewed *seen,
	const struct array_want *how)
{
	if (off > INT64_MAX / 4 || !bytes.len)
		return bytes.len ? err_set(-EFBIG, "no file is that long") : 0;
	int r = turn_take(&im->turn, how->deadline);
	if (r < 0)
		return r;
	if (seen)
		viewed_of(seen, im->cuts);
	r = image_put(im, off, bytes, seen, how);
	/* What failed may be there in part. */
	for (struct viewed *s = im->seen; s; s = s->next)
		if (r < 0 || s != seen)
			viewed_drop(s, off, off + bytes.len);
	if (r == 0)
		note(im, seen, off, bytes);
	return turn_give(&im->turn, r);
}

int
image_truncate(struct image *im, uint64_t size, bool longer, const struct array_want *how)
{
	if (size > INT64_MAX / 4)
		return err_set(-EFBIG, "no file is that long");
	int r = turn_take(&im->turn, how->deadline);
	if (r < 0 || size == im->size || (longer && size < im->size))
		return r < 0 ? r : turn_give(&im->turn, 0);
	if (im->flow && size)
		r = image_flow_end(im, how);
	else if (im->flow)
		image_flow_drop(im);
	if (!size) {
		im->instead = &im->own;
		im->flowed = false;
	}
	if (r == 0 && im->instead)
		r = spill_truncate(im->instead, size, im->start.most);
	if (r < 0)
		return turn_give(&im->turn, r);
	if (!im->instead && size > im->end)
		r = spill_truncate(&im->tail, size - im->end, im->start.most);
	else if (!im->instead)
		spill_free(&im->tail);
	if (r < 0)
		return turn_give(&im->turn, r);
	if (size < im->size)
		held_drop(&im->over, size, UINT64_MAX / 2);
	im->end = min_u64(im->end, size);
	im->cut = min_u64(im->cut, size);
	im->size = size;
	im->cuts++;
	im->waiting = true;
	im->header_due = true;
	return turn_give(&im->turn, 0);
}

/* The header as it is now. NC_PARSE_MORE: there is only a part of it. */
static int
parse(struct image *im, const struct array_want *how, struct buf *bytes, struct nc_file *ret)
{
	int r = NC_PARSE_MORE;
	struct array_want w = *how;
	w.off = 0;
	size_t len = 0;
	/* Nothing of variables is read if that is not needed: they may be others' by now. */
	size_t n = im->form && !im->instead ? im->form->header.len : 0;
	for (n = n ? n : HEADER_FIRST; r == NC_PARSE_MORE;
		n = n < HEADER_FIRST ? HEADER_FIRST : n * 4) {
		w.len = (size_t)min_u64(n, im->size);
		if (w.len <= bytes->len)
			return NC_PARSE_MORE;
		if (w.len > im->start.most)
			return err_set(-EFBIG, "a netCDF header of more than %zu bytes", w.len);
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

/* A variable that has another name has the elements that it had: else it is another one, in the
 * place of one that is gone. */
static int
make_change(struct image *im, const struct image_form *now, unsigned flags,
	const struct array_want *how, struct change *ret)
{
	int r = change_make(im->form, now, flags, im->start.own, ret);
	bool differ = false;
	for (size_t i = 0; r == 0 && !differ && i < now->file.nvars; i++)
		if (change_renames(ret, i))
			r = data_differ(im, now->file.var[i].begin, how, &differ);
	if (r == 0 && !differ)
		return 0;
	if (differ || r < 0)
		change_free(ret);
	return r < 0 ? r
		     : change_make(im->form, now, flags | CHANGE_NO_RENAMES, im->start.own, ret);
}

static int
settle_header(struct image *im, const struct array_want *how)
{
	const struct image_ops *ops = im->start.ops;
	struct image_form *now = NULL;
	struct change c = {0};
	struct spill rest = {.fd = -1};
	uint64_t end = 0;
	const bool rewritten = im->cut == 0;
	const bool of_group = im->start.own == CHANGE_NONE;
	int r = make_form(im, how, &now);
	if (r < 0) {
		end_input(im);
		return r;
	}
	const bool keep = rewritten && (!of_group || im->start.keep);
	r = make_change(
		im, now, (keep ? CHANGE_KEEP : 0) | (rewritten ? CHANGE_REWRITTEN : 0), how, &c);
	if (r == 0)
		r = ops->bind(im->start.arg, &c, now, how);
	if (r == 0)
		r = image_values(im, &c, how, false);
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
