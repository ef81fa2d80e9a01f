/* Values under a new header. */
#include "view/image/image_impl.h"

#include "base/check.h"
#include "view/image/image_fill.h"
#include "view/image/image_stage.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <string.h>

static const uint64_t WINDOW = 1 << 20; /* bytes that are compared at a time */
enum { ROW_PART = 4 }; /* a new row of up to this part of what may wait is looked at at once */

static uint64_t
window_of(uint64_t size)
{
	return max_u64(WINDOW / size, 1) * size;
}

struct values {
	struct image *im;
	const struct change *change;
	const struct array_want *how;
	bool write;
	bool meant; /* what is looked at differs from what its writer has seen */
	struct values_record {
		bool known, filled;
		uint64_t number;
		unsigned dim;
	} record; /* the last one of which it was asked whether libraries fill it */
};

/* The variable's byte from which on the file had none. UINT64_MAX: it does not grow. */
static uint64_t
new_from(const struct change *c, size_t var)
{
	const size_t was = c->var[var];
	const struct nc_var *v = &c->now->file.var[var];
	if (!change_grown(c, var))
		return UINT64_MAX;
	return image_form_bytes(c->now, var) / c->now->file.dim[v->dim[0]].size *
	       c->was->file.dim[c->was->file.var[was].dim[0]].size;
}

/* How the row that begins at byte `in` of a variable goes to it. */
struct row {
	size_t var;
	uint64_t in, bytes;
	bool fill;   /* it is what a library lays into rows that get no values */
	bool zero;   /* all of its bytes are: what a library that lays nothing there leaves */
	bool theirs; /* another writer has made the row by now */
	bool under;
};

static uint64_t
row_bytes(const struct image_form *now, size_t var)
{
	const struct nc_file *f = &now->file;
	return image_form_bytes(now, var) / f->dim[f->var[var].dim[0]].size;
}

/* Bytes [in, in + n) of a variable, of those that lie side by side in the file. *n: how many. */
static int
content(struct values *v, size_t var, uint64_t in, size_t *n, uint8_t *to)
{
	uint64_t left;
	struct array_want w = *v->how;
	w.off = image_form_place(v->change->now, var, in, &left);
	w.len = *n = (size_t)min_u64(*n, left);
	return image_content(v->im, &w, to);
}

static int
look_at(struct values *v, struct row *row, uint8_t *bytes, size_t most)
{
	const struct image_fill fill = image_fill_of(&v->change->now->file.var[row->var]);
	int r = 0;
	row->fill = row->zero = true;
	for (uint64_t at = 0, n; at < row->bytes && r == 0 && (row->fill || row->zero); at += n) {
		size_t some = (size_t)min_u64(most, row->bytes - at);
		r = content(v, row->var, row->in + at, &some, bytes);
		row->fill &= r == 0 && image_is_fill(&fill, bytes, some);
		row->zero &= r == 0 && !bytes[0] && !memcmp(bytes, bytes + 1, some - 1);
		n = some;
	}
	return r;
}

/* Is a row of that number all fill, and not by being zeros? Then so are those that got no values.
 */
static int
look_for_fill(struct values *v, uint64_t number, unsigned dim, bool *ret)
{
	const struct image_form *now = v->change->now;
	CLEAN(clean_free) uint8_t *bytes = malloc(WINDOW);
	int r = bytes ? 0 : err_set(-ENOMEM, "no memory for elements");
	*ret = false;
	for (size_t i = 0; i < now->file.nvars && r == 0 && !*ret; i++) {
		const struct nc_var *of = &now->file.var[i];
		if (!of->rank || of->dim[0] != dim)
			continue;
		struct row row = {.var = i, .bytes = row_bytes(now, i)};
		row.in = number * row.bytes;
		r = look_at(v, &row, bytes, WINDOW);
		*ret = row.fill && !row.zero;
	}
	return r;
}

/* May the zeros of the row be there for that no program wrote to it? Not where libraries lay fill
 * into such rows, nor in the file of the variable. */
static int
is_blank(struct values *v, const struct row *row, bool *ret)
{
	const struct change *c = v->change;
	struct values_record *k = &v->record;
	const uint64_t number = row->in / row->bytes;
	const unsigned dim = c->now->file.var[row->var].dim[0];
	int r = 0;
	*ret = row->zero && !v->im->instead && !v->im->input &&
	       c->var[row->var] != v->im->start.own && !c->now->source[row->var].convert.part;
	if (*ret && (!k->known || k->number != number || k->dim != dim)) {
		r = look_for_fill(v, number, dim, &k->filled);
		k->known = r == 0;
		k->number = number;
		k->dim = dim;
	}
	*ret = *ret && r == 0 && !k->filled;
	return r;
}

static int
check_row(struct values *v, struct row *row, uint8_t *bytes, size_t most)
{
	bool blank = false;
	int r = look_at(v, row, bytes, most);
	if (r == 0)
		r = is_blank(v, row, &blank);
	if (r < 0)
		return r;
	row->theirs = row->in < v->change->now->source[row->var].rows * row->bytes;
	row->under = (row->fill || blank) && row->bytes <= most;
	return 0;
}

/* Atoms of a row that is not all fill. Those that the library has laid there need not be such as
 * the elements can have. */
static int
stage_mixed(struct image_stage *l, size_t var, uint64_t in, struct span bytes)
{
	const struct image_fill fill = image_fill_of(&l->form->file.var[var]);
	const size_t size = l->form->source[var].convert.atom_out;
	int r = image_stage_atoms(l, var, in, bytes, false);
	if (r != -ERANGE)
		return r;
	r = 0;
	for (size_t at = 0, n; at < bytes.len && r == 0; at += n) {
		const bool is = image_is_fill(&fill, bytes.data + at, size);
		n = size;
		while (at + n < bytes.len && image_is_fill(&fill, bytes.data + at + n, size) == is)
			n += size;
		r = image_stage_atoms(l, var, in + at, (struct span){bytes.data + at, n}, false);
		r = is && r == -ERANGE ? 0 : r;
	}
	return r;
}

/* A row that the file did not have. What a library lays there by itself is not written where other
 * writers have made the row by now, nor where they make it at the same time: so it goes to its
 * chunks by one write, between no two parts of which any of it is stored. */
static int
store_row(struct values *v, const struct row *row, uint8_t *bytes, size_t most)
{
	const struct image_form *now = v->change->now;
	const struct image_store *st = &v->im->start.ops->store;
	int r = 0;
	if (row->fill && row->theirs)
		return 0;
	for (uint64_t at = 0, n; at < row->bytes && r == 0; at += n) {
		struct image_stage list = {.form = now};
		size_t some = (size_t)min_u64(most, row->bytes - at);
		r = content(v, row->var, row->in + at, &some, bytes);
		const struct span piece = {bytes, some};
		if (r == 0 && (row->fill || row->under))
			r = image_stage_atoms(&list, row->var, row->in + at, piece, row->under);
		else if (r == 0)
			r = stage_mixed(&list, row->var, row->in + at, piece);
		r = row->fill && r == -ERANGE ? 0 : r;
		if (r == 0 && v->write)
			r = image_stage_store(&list, st, v->im->start.arg, v->how);
		image_stage_free(&list);
		n = some;
	}
	return r;
}

/* Rows [in, to) of a variable that the file did not have. */
static int
rows(struct values *v, size_t var, uint64_t in, uint64_t to)
{
	const struct image_form *now = v->change->now;
	const uint64_t size = now->source[var].convert.atom_out;
	struct row row = {.var = var, .bytes = row_bytes(now, var)};
	const uint64_t most = max_u64(window_of(size), v->im->start.most / ROW_PART / size * size);
	const size_t room = (size_t)min_u64(row.bytes, most);
	CLEAN(clean_free) uint8_t *bytes = malloc(room + 1);
	int r = bytes ? 0 : err_set(-ENOMEM, "no memory for elements");
	for (row.in = in - in % row.bytes; row.in < to && r == 0; row.in += row.bytes) {
		r = check_row(v, &row, bytes, room);
		if (r == 0)
			r = store_row(v, &row, bytes, room);
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
	struct image_stage list = {.form = now};
	struct array_want w = *v->how;
	if (!bytes || !stored)
		return err_set(-ENOMEM, "no memory for elements");
	w.off = off;
	w.len = n;
	int r = image_content(v->im, &w, bytes);
	bool known = v->change->var[var] != CHANGE_NONE && (!v->meant || now->source[var].guarded);
	w.off = in;
	if (r == 0 && known)
		known = image_form_read_var(now, var, st, v->im->start.arg, &w, stored) == 0;
	if (r == 0)
		r = image_stage_changed(
			&list, var, in, (struct span){bytes, n}, known ? stored : NULL);
	if (r == 0 && v->write)
		r = image_stage_store(&list, st, v->im->start.arg, v->how);
	image_stage_free(&list);
	return r;
}

/* Bytes [in, to) of a variable, and what else belongs to their atoms, or new rows. */
static int
compare(struct values *v, size_t var, uint64_t in, uint64_t to)
{
	const struct image_source *s = &v->change->now->source[var];
	const uint64_t size = s->convert.atom_out, fresh = new_from(v->change, var);
	uint64_t left;
	int r = 0;
	if (!v->write && !s->guarded && !convert_undo_refuses(&s->convert))
		return 0; /* there is nothing to be found out */
	in -= in % size;
	to = round_up(to, size);
	for (; in < min_u64(to, fresh) && r == 0; in += left) {
		uint64_t off = image_form_place(v->change->now, var, in, &left);
		left = min_u64(min_u64(left, min_u64(to, fresh) - in), window_of(size));
		r = window(v, var, in, off, (size_t)left);
	}
	return r == 0 && in < to ? rows(v, var, in, to) : r;
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

/* The variable's byte `in` is what the old header has there: is that an element that will have been
 * changed by the time it is read? */
static bool
goes_first(const struct values *v, size_t var, uint64_t in, const struct image_piece *old)
{
	const struct change *c = v->change;
	return old->owner == IMAGE_DATA && v->im->form->source[old->var].target &&
	       !c->gone[old->var] && (old->var != c->var[var] || old->in != in);
}

/* Variables that have changed names lie where others did, whose elements are written in their turn:
 * they are held as they are now. */
static int
keep(struct values *v, size_t var)
{
	struct image *im = v->im;
	const struct image_form *now = v->change->now;
	CLEAN(clean_free) uint8_t *bytes = malloc(WINDOW);
	uint64_t n, left;
	int r = bytes ? 0 : err_set(-ENOMEM, "no memory for elements");
	for (uint64_t in = 0, all = image_form_bytes(now, var); r == 0 && in < all; in += n) {
		const uint64_t off = image_form_place(now, var, in, &left);
		n = min_u64(left, WINDOW);
		if (off >= im->cut)
			continue;
		const struct image_piece old = image_form_at(im->form, off);
		n = min_u64(min_u64(n, old.left), im->cut - off);
		if (!goes_first(v, var, in, &old) || held_has(&im->over, off, off + n))
			continue;
		if (held_bytes(&im->over) + n > im->start.most)
			return err_set(-EINVAL,
				"'%s' lies where another variable did, and more than %zu bytes "
				"would wait: give them their names one after the other",
				now->file.var[var].name, im->start.most);
		struct array_want w = *v->how;
		w.off = off;
		w.len = (size_t)n;
		r = image_content(im, &w, bytes);
		if (r == 0)
			r = held_put(&im->over, off, (struct span){bytes, w.len}, bytes);
	}
	return r;
}

/* Places along an axis are what other metadata say, but for what a program's sums make of their
 * last digits. */
static int
check_axis(struct values *v, size_t var)
{
	static const double NEAR = 1e-6; /* of a step */
	const struct image_form *now = v->change->now;
	const struct nc_axis *axis = &now->source[var].axis;
	CLEAN(clean_free) uint8_t *bytes = malloc(WINDOW);
	int r = bytes ? 0 : err_set(-ENOMEM, "no memory for elements");
	for (uint64_t in = 0, all = image_form_bytes(now, var), n; r == 0 && in < all; in += n) {
		size_t some = (size_t)min_u64(all - in, WINDOW);
		r = content(v, var, in, &some, bytes);
		n = some;
		for (size_t i = 0; r == 0 && i < some; i += sizeof(double)) {
			uint64_t bits;
			double place;
			memcpy(&bits, bytes + i, sizeof bits);
			bits = be64toh(bits);
			memcpy(&place, &bits, sizeof place);
			place -= nc_axis_at(axis, (in + i) / sizeof place);
			if (!(fabs(place) <= NEAR * fabs(axis->step)))
				r = image_refuse_axis(now, var);
		}
	}
	return r;
}

/* Before anything is written. */
static int
prepare(struct values *v)
{
	const struct image_form *now = v->change->now;
	int r = 0;
	for (size_t i = 0; i < now->file.nvars && r == 0; i++)
		if (now->source[i].axis.is)
			r = check_axis(v, i);
		else if (v->change->var[i] != CHANGE_NONE && now->source[i].target &&
			 all_of_it(v, i))
			r = keep(v, i);
	return r;
}

/* The next run of bytes that were written and not seen there, from *from on; meant: they are
 * known to be others. */
static bool
next_run(const struct image *im, uint64_t *from, uint64_t *to, bool *meant)
{
	*meant = false;
	if (im->input) {
		*to = im->input_form->size;
		return *from < *to;
	}
	if (!im->instead && held_run_other(&im->over, *from, im->end, from, to)) {
		*meant = true;
		return true;
	}
	if (!im->instead && *from < im->end)
		*from = im->end;
	*to = im->size;
	return *from < im->size;
}

/* What is compared with the store is to be compared with what that has now. */
static void
expire(const struct values *v)
{
	const struct image_ops *ops = v->im->start.ops;
	bool any = false;
	for (size_t i = 0; i < v->change->now->file.nvars; i++)
		any |= v->change->var[i] != CHANGE_NONE && all_of_it(v, i);
	if (ops->expire && v->write && (any || v->im->instead || v->im->input))
		ops->expire(v->im->start.arg);
}

/* Variables that may differ where nothing was written. New ones come first: what others have
 * changes after it was read for these. */
static int
compare_all(struct values *v, bool known)
{
	const struct change *c = v->change;
	int r = 0;
	for (size_t i = 0; i < c->now->file.nvars && r == 0; i++)
		if (known == (c->var[i] != CHANGE_NONE) && c->now->source[i].target &&
			all_of_it(v, i))
			r = compare(v, i, 0, image_form_bytes(c->now, i));
	return r;
}

/* Bytes [from, to) of the file, as far as they are variables'. */
static int
compare_run(struct values *v, uint64_t from, uint64_t to)
{
	const struct image_form *now = v->change->now;
	int r = 0;
	for (uint64_t n; r == 0 && from < to; from += n) {
		const struct image_piece p = image_form_at(now, from);
		n = min_u64(p.left, to - from);
		if (p.owner == IMAGE_DATA && now->source[p.var].target && !all_of_it(v, p.var))
			r = compare(v, p.var, p.in, p.in + n);
	}
	return r;
}

int
image_values(struct image *im, const struct change *c, const struct array_want *how, bool write)
{
	struct values v = {.im = im, .change = c, .how = how, .write = write};
	uint64_t from = 0, to;
	int r = 0;
	expire(&v);
	if (!write)
		r = prepare(&v);
	r = r == 0 ? compare_all(&v, false) : r;
	r = r == 0 ? compare_all(&v, true) : r;
	for (; r == 0 && next_run(im, &from, &to, &v.meant); from = to)
		r = compare_run(&v, from, to);
	return r;
}
