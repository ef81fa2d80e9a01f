#include "view/image/image_impl.h"

#include "base/check.h"
#include "view/image/image_fill.h"

#include <errno.h>
#include <string.h>

static const uint64_t WINDOW = 1 << 20; /* bytes that are compared at a time */

/* Atoms that are to be stored, as they are stored. */
struct staged {
	size_t var;
	uint64_t atom, n;
	size_t at; /* of the first one, in the list's bytes */
	bool under;
};

struct staged_list {
	const struct image_form *form;
	struct staged *of;
	size_t n, room;
	struct buf packed;
};

static void
staged_free(struct staged_list *l)
{
	free(l->of);
	buf_free(&l->packed);
}

static int
no_memory(void)
{
	return err_set(-ENOMEM, "no memory for elements");
}

static int
guarded(const struct image_form *form, size_t var)
{
	return err_set(-EINVAL,
		"the values of '%s' are other variables' too: write it, or dataset.nc",
		form->file.var[var].name);
}

/* Atoms of the file, the first of which begins at byte `in` of the variable. under: for rows in
 * which no other writer has stored anything. */
static int
stage_atoms(struct staged_list *l, size_t var, uint64_t in, struct span bytes, bool under)
{
	const struct image_source *s = &l->form->source[var];
	CLEAN(buf_free) struct buf packed = {0};
	if (s->guarded)
		return guarded(l->form, var);
	int r = image_form_undo(l->form, var, in, bytes, &packed);
	if (r == 0 && l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 16;
		struct staged *more = realloc(l->of, room * sizeof *more);
		if (!more)
			return no_memory();
		l->of = more;
		l->room = room;
	}
	if (r < 0)
		return r;
	l->of[l->n++] = (struct staged){
		var, in / s->recode.atom_out, bytes.len / s->recode.atom_out, l->packed.len, under};
	return buf_add(&l->packed, packed.data, packed.len);
}

static int
stage(struct staged_list *l, size_t var, uint64_t in, struct span bytes)
{
	return stage_atoms(l, var, in, bytes, false);
}

/* Whole atoms; those that differ from what is shown, of which there is none where it is NULL. */
static int
stage_changed(
	struct staged_list *l, size_t var, uint64_t in, struct span bytes, const uint8_t *shown)
{
	const size_t size = l->form->source[var].recode.atom_out;
	size_t from = 0;
	int r = 0;
	while (from < bytes.len && r == 0) {
		size_t to = from;
		if (!shown)
			to = bytes.len;
		while (to < bytes.len && memcmp(bytes.data + to, shown + to, size) != 0)
			to += size;
		if (to > from)
			r = stage(l, var, in + from, (struct span){bytes.data + from, to - from});
		from = max_u64(to, from + size);
	}
	return r;
}

static int
store(struct image *im, struct staged_list *l, const struct array_want *how)
{
	int r = 0;
	for (size_t i = 0; i < l->n && r == 0; i++) {
		const struct staged *s = &l->of[i];
		const struct recode *c = &l->form->source[s->var].recode;
		const struct span packed = {l->packed.data + s->at, (size_t)(s->n * c->atom_in)};
		struct array_want w = *how;
		w.under = s->under;
		r = image_form_write(
			l->form, s->var, s->atom, packed, &im->start.ops->store, im->start.arg, &w);
	}
	return r;
}

/* --- while nothing waits --- */

struct through {
	struct image *im;
	uint64_t off; /* of the write */
	struct span bytes;
	uint8_t *shown; /* the same bytes as the writer has seen them, or as the file shows them;
			   NULL: it cannot be read */
	bool blind;     /* gaps mean nothing */
	const struct array_want *how;
	struct staged_list list;
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

/* The write has a part of an atom, bytes [from, to) of the file. held: it is put by until the rest
 * comes; else what it completes is staged. */
static int
part(struct through *t, const struct image_piece *p, uint64_t off, uint64_t from, uint64_t to,
	bool held)
{
	const size_t size = t->list.form->source[p->var].recode.atom_out;
	uint64_t a, b;
	if (!differs(t, from, to - from) && !held_run(&t->im->over, off, off + size, &a, &b))
		return 0;
	CLEAN(clean_free) uint8_t *atom = malloc(size);
	if (!atom)
		return no_memory();
	const bool whole = complete(t, off, from, to, size, atom);
	if (held && !whole)
		return held_put(&t->im->over, from,
			(struct span){t->bytes.data + (from - t->off), to - from}, NULL);
	return held || !whole ? 0 : stage(&t->list, p->var, p->in, (struct span){atom, size});
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
	const uint64_t size = s->recode.atom_out;
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
		r = stage_changed(&t->list, p.var, p.in,
			(struct span){t->bytes.data + (from - t->off), (size_t)whole}, shown);
	}
	if (r == 0 && from + whole < to) {
		struct image_piece atom = {p.owner, p.var, p.in + whole, 0};
		r = part(t, &atom, from + whole, from + whole, to, held);
	}
	return r;
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
		return no_memory();
	nc_axis_make(axis, true, p->in, n, is);
	if (!memcmp(is, t->bytes.data + (off - t->off), n))
		return 0;
	return err_set(-EINVAL,
		"variable '%s' follows from the metadata of an image and cannot be written",
		t->list.form->file.var[p->var].name);
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
		else if (held && !t->blind && differs(t, off, n))
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
		const struct staged *s = &t->list.of[i];
		const uint64_t size = im->form->source[s->var].recode.atom_out;
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
		r = store(t->im, &t->list, t->how);
	if (r == 0)
		forget_stored(t);
	staged_free(&t->list);
	return r;
}

int
image_through(struct image *im, uint64_t off, struct span bytes, const struct viewed *seen,
	const struct array_want *how)
{
	struct through t = {.im = im, .off = off, .bytes = bytes, .how = how};
	CLEAN(clean_free) uint8_t *shown = malloc(bytes.len);
	struct array_want w = *how;
	w.off = off;
	w.len = bytes.len;
	if (!shown)
		return no_memory();
	const bool known = seen && viewed_has(seen, off, off + bytes.len);
	t.shown = known || image_content(im, &w, shown) == 0 ? shown : NULL;
	if (seen)
		viewed_lay(seen, off, bytes.len, shown);
	return write_pieces(&t);
}

int
image_blind(struct image *im, uint64_t off, struct span bytes, const struct array_want *how)
{
	const struct buf *h = &im->form->header;
	struct through t = {.im = im, .off = off, .bytes = bytes, .how = how, .blind = true};
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
		const size_t size = im->form->source[p.var].recode.atom_out;
		CLEAN(clean_free) uint8_t *atom = malloc(size);
		struct array_want w = *how;
		w.off = from - p.in % size;
		w.len = size;
		r = atom ? image_content(im, &w, atom) : no_memory();
		if (r == 0)
			r = stage(&t.list, p.var, p.in - p.in % size, (struct span){atom, size});
		from = w.off + size;
	}
	if (r == 0)
		r = store(im, &t.list, how);
	if (r == 0)
		forget_stored(&t);
	staged_free(&t.list);
	return r;
}

/* --- under a new header --- */

struct values {
	struct image *im;
	const struct change *change;
	const struct array_want *how;
	bool write;
};

/* The variable's byte from which on the file had none. UINT64_MAX: it does not grow. */
static uint64_t
new_from(const struct change *c, size_t var)
{
	const size_t was = c->var[var];
	const struct nc_var *v = &c->now->file.var[var];
	const struct nc_var *w = was == CHANGE_NONE ? NULL : &c->was->file.var[was];
	if (!w || !w->rank || !c->grown[w->dim[0]])
		return UINT64_MAX;
	return image_form_bytes(c->now, var) / c->now->file.dim[v->dim[0]].size *
	       c->was->file.dim[w->dim[0]].size;
}

/* Whole atoms of rows that the file did not have. What a library lays there by itself is not
 * written where other writers have made the row by now, nor where they make it at the same time,
 * nor where the elements cannot have that value. */
static int
stage_rows(struct staged_list *l, size_t var, uint64_t in, struct span bytes)
{
	const struct nc_file *f = &l->form->file;
	const struct nc_var *v = &f->var[var];
	const struct image_source *s = &l->form->source[var];
	const struct image_fill fill = image_fill_of(v);
	const size_t size = s->recode.atom_out;
	const uint64_t row = image_form_bytes(l->form, var) / f->dim[v->dim[0]].size;
	int r = 0;
	for (size_t at = 0, n; at < bytes.len && r == 0; at += n) {
		const bool is = image_is_fill(&fill, bytes.data + at, size);
		const bool theirs = in + at < s->rows * row;
		n = size;
		while (at + n < bytes.len && (in + at + n < s->rows * row) == theirs &&
			image_is_fill(&fill, bytes.data + at + n, size) == is)
			n += size;
		if (!is || !theirs)
			r = stage_atoms(l, var, in + at, (struct span){bytes.data + at, n}, is);
		r = is && r == -ERANGE ? 0 : r;
	}
	return r;
}

/* Bytes [in, in + n) of a variable, whole atoms that lie side by side in the file. */
static int
window(struct values *v, size_t var, uint64_t in, uint64_t off, size_t n)
{
	const struct image_form *now = v->change->now;
	const struct image_store *st = &v->im->start.ops->store;
	CLEAN(clean_free) uint8_t *bytes = malloc(n);
	CLEAN(clean_free) uint8_t *stored = malloc(n);
	struct staged_list list = {.form = now};
	struct array_want w = *v->how;
	if (!bytes || !stored)
		return no_memory();
	w.off = off;
	w.len = n;
	int r = image_content(v->im, &w, bytes);
	const bool fresh = in >= new_from(v->change, var);
	bool known = !fresh && v->change->var[var] != CHANGE_NONE;
	w.off = in;
	if (r == 0 && known)
		known = image_form_read_var(now, var, st, v->im->start.arg, &w, stored) == 0;
	if (r == 0 && fresh)
		r = stage_rows(&list, var, in, (struct span){bytes, n});
	else if (r == 0)
		r = stage_changed(&list, var, in, (struct span){bytes, n}, known ? stored : NULL);
	if (r == 0 && v->write)
		r = store(v->im, &list, v->how);
	staged_free(&list);
	return r;
}

/* Bytes [in, to) of a variable, and what else belongs to their atoms. */
static int
compare(struct values *v, size_t var, uint64_t in, uint64_t to)
{
	const uint64_t size = v->change->now->source[var].recode.atom_out;
	const uint64_t most = max_u64(WINDOW / size, 1) * size;
	const struct image_source *s = &v->change->now->source[var];
	const uint64_t fresh = new_from(v->change, var);
	uint64_t left;
	int r = 0;
	if (!v->write && !s->guarded && !recode_undo_refuses(&s->recode))
		return 0; /* there is nothing to be found out */
	in -= in % size;
	to = round_up(to, size);
	for (; in < to && r == 0; in += left) {
		uint64_t off = image_form_place(v->change->now, var, in, &left);
		left = min_u64(min_u64(left, to - in), most);
		left = in < fresh ? min_u64(left, fresh - in) : left;
		r = window(v, var, in, off, (size_t)left);
	}
	return r;
}

/* May bytes of the variable differ that were not written? */
static bool
all_of_it(const struct values *v, size_t var)
{
	const struct change *c = v->change;
	size_t was = c->var[var];
	if (was == CHANGE_NONE)
		return true;
	return v->im->cut && !image_form_agree(c->now, var, c->was, was);
}

/* The next run of bytes that were written and not seen there, from *from on. */
static bool
next_run(const struct image *im, uint64_t *from, uint64_t *to)
{
	if (im->input) {
		*to = im->input_form->size;
		return *from < *to;
	}
	if (!im->instead && held_run_other(&im->over, *from, im->end, from, to))
		return true;
	if (!im->instead && *from < im->end)
		*from = im->end;
	*to = im->size;
	return *from < im->size;
}

int
image_values(struct image *im, const struct change *c, const struct array_want *how, bool write)
{
	struct values v = {im, c, how, write};
	uint64_t from = 0, to;
	int r = 0;
	for (size_t i = 0; i < c->now->file.nvars && r == 0; i++)
		if (c->now->source[i].target && all_of_it(&v, i))
			r = compare(&v, i, 0, image_form_bytes(c->now, i));
	while (r == 0 && next_run(im, &from, &to)) {
		struct image_piece p = image_form_at(c->now, from);
		to = min_u64(to, p.left < to - from ? from + p.left : to);
		if (p.owner == IMAGE_DATA && c->now->source[p.var].target && !all_of_it(&v, p.var))
			r = compare(&v, p.var, p.in, p.in + (to - from));
		from = to;
	}
	return r;
}
