/* Writes while nothing waits. */
#include "view/image/image_impl.h"

#include "base/check.h"
#include "view/image/image_stage.h"

#include <errno.h>
#include <string.h>

struct through {
	struct image *im;
	uint64_t off; /* of the write */
	struct span bytes;
	const struct viewed *seen; /* by the writer; NULL: nothing */
	uint8_t *shown; /* the same bytes: of variables as the writer has seen them, and another
			   byte where it has not; NULL: none is the same, and gaps mean nothing */
	const struct array_want *how;
	struct image_stage list;
};

static bool
differs(const struct through *t, uint64_t off, uint64_t n)
{
	return !t->shown ||
	       memcmp(t->bytes.data + (off - t->off), t->shown + (off - t->off), n) != 0;
}

/* Is what the write has of an atom all that was missing of it? Then *atom is what it is now. off:
 * in the file, of the atom. */
static bool
complete(const struct through *t, uint64_t off, uint64_t from, uint64_t to, size_t size,
	uint8_t *atom)
{
	const struct held *o = &t->im->over;
	if (!held_has(o, off, from) || !held_has(o, to, off + size))
		return false;
	held_lay(o, off, size, atom);
	memcpy(atom + (from - off), t->bytes.data + (from - t->off), to - from);
	return true;
}

/* The write has bytes [from, to) of an atom. The rest of it, where the writer has seen that, is as
 * it was then: so the atom is no mixture with another writer's. */
static int
put_by(struct through *t, uint64_t off, uint64_t from, uint64_t to, size_t size, uint8_t *atom)
{
	struct held *o = &t->im->over;
	const struct span some = {t->bytes.data + (from - t->off), to - from};
	if (!t->seen || !viewed_has(t->seen, off, from) || !viewed_has(t->seen, to, off + size))
		return held_put(o, from, some, NULL);
	viewed_lay(t->seen, off, size, atom);
	held_lay(o, off, size, atom);
	memcpy(atom + (from - off), some.data, some.len);
	return held_put(o, off, (struct span){atom, size}, NULL);
}

/* The write has a part of an atom, bytes [from, to) of the file. held: it is put by until the rest
 * comes; else what it completes is staged. */
static int
part(struct through *t, const struct image_piece *p, uint64_t off, uint64_t from, uint64_t to,
	bool held)
{
	const size_t size = t->list.form->source[p->var].convert.atom_out;
	const struct held *o = &t->im->over;
	uint64_t a, b;
	if (!differs(t, from, to - from) && !held_run(o, off, off + size, &a, &b))
		return 0;
	CLEAN(clean_free) uint8_t *atom = malloc(size);
	if (!atom)
		return err_set(-ENOMEM, "no memory for elements");
	const bool whole = complete(t, off, from, to, size, atom);
	const struct span all = {atom, size};
	if (held)
		return whole ? 0 : put_by(t, off, from, to, size, atom);
	return whole ? image_stage_atoms(&t->list, p->var, p->in, all, false) : 0;
}

/* What is held of atoms that are written whole now counts as another value. */
static void
spoil(struct through *t, uint64_t from, uint64_t to)
{
	uint64_t a, b;
	for (; t->shown && held_run(&t->im->over, from, to, &a, &b); from = b)
		for (uint64_t i = a - t->off; i < b - t->off; i++)
			t->shown[i] = (uint8_t)~t->bytes.data[i];
}

/* Bytes [from, to) of the file are a variable's. */
static int
data(struct through *t, struct image_piece p, uint64_t from, uint64_t to, bool held)
{
	const struct image_source *s = &t->list.form->source[p.var];
	const uint64_t size = s->convert.atom_out;
	uint64_t head = p.in % size, end;
	int r = 0;
	if (head) {
		struct image_piece atom = {p.owner, p.var, p.in - head, 0};
		end = min_u64(to, from - head + size);
		r = part(t, &atom, from - head, from, end, held);
		p.in += end - from;
		from = end;
	}
	uint64_t whole = (to - from) / size * size;
	if (r == 0 && whole && !held) {
		spoil(t, from, from + whole);
		const uint8_t *shown = t->shown ? t->shown + (from - t->off) : NULL;
		r = image_stage_changed(&t->list, p.var, p.in,
			(struct span){t->bytes.data + (from - t->off), (size_t)whole}, shown);
	}
	if (r == 0 && from + whole < to) {
		struct image_piece atom = {p.owner, p.var, p.in + whole, 0};
		r = part(t, &atom, from + whole, from + whole, to, held);
	}
	return r;
}

int
image_refuse_axis(const struct image_form *form, size_t var)
{
	return err_set(-EINVAL,
		"variable '%s' follows from the metadata of an image and cannot be written",
		form->file.var[var].name);
}

/* Places along an axis are what other metadata say. */
static int
refuse_axis(const struct through *t, const struct image_piece *p, uint64_t off, size_t n)
{
	const struct nc_axis *axis = &t->list.form->source[p->var].axis;
	CLEAN(clean_free) uint8_t *is = axis->is ? malloc(n) : NULL;
	if (!axis->is)
		return 0;
	if (!is)
		return err_set(-ENOMEM, "no memory for elements");
	nc_axis_make(axis, true, p->in, n, is);
	if (!memcmp(is, t->bytes.data + (off - t->off), n))
		return 0;
	return image_refuse_axis(t->list.form, p->var);
}

/* Once for what is to be stored; then, unless that is refused, once for what is held. */
static int
pieces(struct through *t, bool held)
{
	uint64_t off = t->off, end = off + t->bytes.len, n;
	int r = 0;
	for (; off < end && r == 0; off += n) {
		struct image_piece p = image_form_at(t->list.form, off);
		n = min_u64(p.left, end - off);
		if (p.owner == IMAGE_HEADER)
			r = differs(t, off, n) ? IMAGE_MUST_WAIT : 0;
		else if (p.owner == IMAGE_DATA && t->list.form->source[p.var].target)
			r = data(t, p, off, off + n, held);
		else if (p.owner == IMAGE_DATA && !held)
			r = refuse_axis(t, &p, off, n);
		else if (held && t->shown && differs(t, off, n))
			r = held_put(&t->im->over, off,
				(struct span){t->bytes.data + (off - t->off), (size_t)n}, NULL);
	}
	return r;
}

/* What was held of atoms that are stored now is so no more. */
static void
forget_stored(struct through *t)
{
	struct image *im = t->im;
	for (size_t i = 0; im->over.pages && i < t->list.n; i++) {
		const struct image_staged *s = &t->list.of[i];
		const uint64_t size = im->form->source[s->var].convert.atom_out;
		uint64_t left, in = s->atom * size, to = (s->atom + s->n) * size;
		for (; in < to; in += left) {
			uint64_t at = image_form_place(im->form, s->var, in, &left);
			left = min_u64(left, to - in);
			held_drop(&im->over, at, at + left);
		}
	}
}

/* Elements are looked at first, what is held after them; then the elements go to their
 * variables. */
static int
write_pieces(struct through *t)
{
	t->list.form = t->im->form;
	int r = pieces(t, false);
	if (r == 0)
		r = pieces(t, true);
	if (r == 0)
		r = image_stage_store(&t->list, &t->im->start.ops->store, t->im->start.arg, t->how);
	if (r == 0)
		forget_stored(t);
	image_stage_free(&t->list);
	return r;
}

/* What the write is compared with. Where others may have written meanwhile, that is nothing but
 * what the writer has seen. */
static int
show(struct through *t, const struct image_piece *p, uint64_t off, size_t n)
{
	const struct image *im = t->im;
	const struct image_source *s = &im->form->source[p->var];
	uint8_t *to = t->shown + (off - t->off);
	struct array_want w = *t->how;
	w.off = p->in;
	w.len = n;
	if (p->owner == IMAGE_HEADER) {
		memcpy(to, im->form->header.data + off, n);
	} else if (p->owner == IMAGE_GAP) {
		memset(to, 0, n);
		held_lay(&im->over, off, n, to);
	} else if (s->guarded) { /* it may only be written as it is */
		return image_form_read_var(
			im->form, p->var, &im->start.ops->store, im->start.arg, &w, to);
	} else {
		viewed_show(t->seen, off, (struct span){t->bytes.data + (off - t->off), n}, to);
	}
	return 0;
}

int
image_through(struct image *im, uint64_t off, struct span bytes, const struct viewed *seen,
	const struct array_want *how)
{
	struct through t = {.im = im, .off = off, .bytes = bytes, .seen = seen, .how = how};
	CLEAN(clean_free) uint8_t *shown = t.shown = malloc(bytes.len);
	uint64_t end = off + bytes.len, n;
	int r = shown ? 0 : err_set(-ENOMEM, "no memory for elements");
	for (; off < end && r == 0; off += n) {
		const struct image_piece p = image_form_at(im->form, off);
		n = min_u64(p.left, end - off);
		r = show(&t, &p, off, (size_t)n);
	}
	return r < 0 ? r : write_pieces(&t);
}

int
image_blind(struct image *im, uint64_t off, struct span bytes, const struct array_want *how)
{
	const struct buf *h = &im->form->header;
	struct through t = {.im = im, .off = off, .bytes = bytes, .how = how};
	const size_t n = off < h->len ? (size_t)min_u64(bytes.len, h->len - off) : 0;
	if (n && memcmp(h->data + off, bytes.data, n) != 0)
		return IMAGE_MUST_WAIT;
	t.off += n;
	t.bytes.data += n;
	t.bytes.len -= n;
	return write_pieces(&t);
}

int
image_parts(struct image *im, const struct array_want *how)
{
	struct through t = {.im = im, .how = how};
	uint64_t from = 0, to;
	int r = 0;
	t.list.form = im->form;
	for (; im->form && r == 0 && held_run(&im->over, from, im->size, &from, &to);) {
		struct image_piece p = image_form_at(im->form, from);
		if (p.owner != IMAGE_DATA || !im->form->source[p.var].target) {
			from = min_u64(to, p.left < to - from ? from + p.left : to);
			continue;
		}
		const size_t size = im->form->source[p.var].convert.atom_out;
		CLEAN(clean_free) uint8_t *atom = malloc(size);
		struct array_want w = *how;
		w.off = from - p.in % size;
		w.len = size;
		r = atom ? image_content(im, &w, atom) : err_set(-ENOMEM, "no memory for elements");
		if (r == 0)
			r = image_stage_atoms(&t.list, p.var, p.in - p.in % size,
				(struct span){atom, size}, false);
		from = w.off + size;
	}
	if (r == 0)
		r = image_stage_store(&t.list, &im->start.ops->store, im->start.arg, how);
	if (r == 0)
		forget_stored(&t);
	image_stage_free(&t.list);
	return r;
}
