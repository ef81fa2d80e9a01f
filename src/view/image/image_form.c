#include "view/image/image_form.h"

#include "base/check.h"

#include <errno.h>
#include <string.h>

static const size_t WINDOW = 1 << 20; /* bytes of elements that are made at a time */

/* The variable's first byte: in the file, or behind the beginning of a record. */
static uint64_t
start_of(const struct nc_file *f, size_t i)
{
	return f->var[i].begin - (nc_is_record(f, &f->var[i]) ? f->record_start : 0);
}

static void
sort_by_place(const struct nc_file *f, size_t *list, size_t n)
{
	for (size_t i = 1; i < n; i++) /* nearly always they are in order */
		for (size_t k = i; k && start_of(f, list[k - 1]) > start_of(f, list[k]); k--) {
			size_t was = list[k];
			list[k] = list[k - 1];
			list[k - 1] = was;
		}
}

void
image_form_unbind(struct image_form *m, const struct image_store *store, void *arg)
{
	for (size_t i = 0; m->source && i < m->file.nvars; i++) {
		if (m->source[i].target && store->let_go)
			store->let_go(arg, m->source[i].target);
		convert_free(&m->source[i].convert);
		m->source[i] = (struct image_source){0};
	}
}

struct image_form *
image_form_free(struct image_form *m, const struct image_store *store, void *arg)
{
	if (!m)
		return NULL;
	image_form_unbind(m, store, arg);
	free(m->source);
	free(m->fixed);
	free(m->repeated);
	buf_free(&m->header);
	nc_file_free(&m->file);
	free(m);
	return NULL;
}

int
image_form_new(
	struct nc_file *f, struct span header, struct image_source *source, struct image_form **ret)
{
	static const struct image_store none;
	struct image_form *m = calloc(1, sizeof *m);
	if (!m)
		return err_set(-ENOMEM, "no memory for an image");
	m->file.record = NC_NO_DIM;
	m->fixed = calloc(f->nvars + 1, sizeof *m->fixed);
	m->repeated = calloc(f->nvars + 1, sizeof *m->repeated);
	struct image_source *own = source ? source : calloc(f->nvars + 1, sizeof *own);
	if (!m->fixed || !m->repeated || !own || buf_add(&m->header, header.data, header.len) < 0) {
		if (!source)
			free(own);
		image_form_free(m, &none, NULL);
		return err_set(-ENOMEM, "no memory for an image");
	}
	m->source = own;
	m->file = *f;
	*f = (struct nc_file){.record = NC_NO_DIM};
	for (size_t i = 0; i < m->file.nvars; i++)
		if (nc_is_record(&m->file, &m->file.var[i]))
			m->repeated[m->nrepeated++] = i;
		else
			m->fixed[m->nfixed++] = i;
	sort_by_place(&m->file, m->fixed, m->nfixed);
	sort_by_place(&m->file, m->repeated, m->nrepeated);
	m->size = max_u64(m->file.size, m->header.len);
	*ret = m;
	return 0;
}

/* Of those in the list, the last that begins at or before `at`; n: none does. */
static size_t
last_before(const struct image_form *m, const size_t *list, size_t n, uint64_t at)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (start_of(&m->file, list[mid]) <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : n;
}

/* Byte `at` of a record, or of the file; base: where in the file that begins; end: where what is
 * there ends. */
static struct image_piece
piece_of(const struct image_form *m, const size_t *list, size_t n, uint64_t at, uint64_t end)
{
	size_t k = last_before(m, list, n, at);
	if (k < n) {
		const struct nc_var *v = &m->file.var[list[k]];
		uint64_t in = at - start_of(&m->file, list[k]);
		if (in < v->bytes)
			return (struct image_piece){IMAGE_DATA, list[k], in, v->bytes - in};
	}
	size_t next = k < n ? k + 1 : 0;
	if (next < n)
		end = min_u64(end, max_u64(start_of(&m->file, list[next]), at + 1));
	return (struct image_piece){.owner = IMAGE_GAP, .left = end - at};
}

struct image_piece
image_form_at(const struct image_form *m, uint64_t off)
{
	const struct nc_file *f = &m->file;
	if (off < m->header.len)
		return (struct image_piece){.owner = IMAGE_HEADER, .left = m->header.len - off};
	uint64_t from = f->record_start, all = f->record_size * f->records;
	if (!all || off < from) {
		struct image_piece p =
			piece_of(m, m->fixed, m->nfixed, off, all ? from : UINT64_MAX);
		if (all && p.owner == IMAGE_GAP)
			p.left = min_u64(p.left, from - off);
		return p;
	}
	if (off - from >= all) {
		/* What has no records may lie behind those that do. */
		return piece_of(m, m->fixed, m->nfixed, off, UINT64_MAX);
	}
	uint64_t record = (off - from) / f->record_size, in = (off - from) % f->record_size;
	struct image_piece p = piece_of(m, m->repeated, m->nrepeated, in, f->record_size);
	if (p.owner == IMAGE_DATA)
		p.in += record * f->var[p.var].bytes;
	return p;
}

uint64_t
image_form_bytes(const struct image_form *m, size_t var)
{
	const struct nc_var *v = &m->file.var[var];
	return nc_is_record(&m->file, v) ? v->bytes * m->file.records : v->bytes;
}

uint64_t
image_form_place(const struct image_form *m, size_t var, uint64_t in, uint64_t *ret_left)
{
	const struct nc_var *v = &m->file.var[var];
	bool repeats = nc_is_record(&m->file, v);
	uint64_t record = repeats ? in / v->bytes : 0;
	in -= record * v->bytes;
	*ret_left = v->bytes - in;
	return v->begin + record * m->file.record_size + in;
}

bool
image_form_agree(const struct image_form *m, size_t var, const struct image_form *o, size_t other)
{
	const struct nc_var *a = &m->file.var[var], *b = &o->file.var[other];
	bool repeats = nc_is_record(&m->file, a);
	if (a->begin != b->begin || a->bytes != b->bytes || a->type != b->type ||
		repeats != nc_is_record(&o->file, b))
		return false;
	return !repeats || m->file.record_size == o->file.record_size;
}

/* Atoms [first, first + n), of a source that has elements. */
static int
make_atoms(const struct image_source *s, const struct image_store *store, void *arg,
	const struct array_want *how, uint64_t first, uint64_t n, uint8_t *to)
{
	const struct convert *c = &s->convert;
	uint64_t from = first, count = n, per = 1, in = c->atom_in, out = c->atom_out;
	if (c->part) {
		per = c->count;
		from = first / per;
		count = ceil_div(first + n, per) - from;
		in = c->in;
		out = c->out;
	}
	CLEAN(clean_free) uint8_t *stored = malloc(count * in);
	CLEAN(clean_free) uint8_t *made = c->part ? malloc(count * out) : NULL;
	if (!stored || (c->part && !made))
		return err_set(-ENOMEM, "no memory for %llu elements", (unsigned long long)count);
	int r = store->read(arg, s->target, how, from * in, (size_t)(count * in), stored);
	if (r < 0)
		return r;
	if (!c->part)
		return c->atoms(c, stored, n, to);
	r = convert_run(c, stored, count, made);
	memcpy(to, made + (first - from * per) * c->atom_out, n * c->atom_out);
	return r;
}

int
image_form_read_var(const struct image_form *m, size_t var, const struct image_store *store,
	void *arg, const struct array_want *want, uint8_t *to)
{
	const struct image_source *s = &m->source[var];
	const uint64_t size = s->target ? s->convert.atom_out : 1;
	uint64_t off = want->off, end = want->off + want->len;
	const uint64_t most = max_u64(WINDOW / size, 1);
	if (!s->target) {
		if (s->axis.is)
			nc_axis_make(&s->axis, true, want->off, want->len, to);
		else
			memset(to, 0, want->len);
		return 0;
	}
	int r = 0;
	while (off < end && r == 0) {
		uint64_t first = off / size, n = min_u64(ceil_div(end, size) - first, most);
		uint64_t upto = min_u64((first + n) * size, end);
		if (off == first * size && upto == (first + n) * size) {
			r = make_atoms(s, store, arg, want, first, n, to);
		} else {
			CLEAN(clean_free) uint8_t *some = malloc(n * size);
			r = some ? make_atoms(s, store, arg, want, first, n, some)
				 : err_set(-ENOMEM, "no memory for elements");
			if (r == 0)
				memcpy(to, some + (off - first * size), upto - off);
		}
		to += upto - off;
		off = upto;
	}
	return r;
}

int
image_form_read(const struct image_form *m, const struct image_store *store, void *arg,
	const struct array_want *want, uint8_t *to)
{
	uint64_t off = want->off, end = want->off + want->len;
	int r = 0;
	while (off < end && r == 0) {
		struct image_piece p = image_form_at(m, off);
		struct array_want w = *want;
		w.off = p.in;
		w.len = (size_t)min_u64(p.left, end - off);
		if (p.owner == IMAGE_HEADER)
			memcpy(to, m->header.data + off, w.len);
		else if (p.owner == IMAGE_GAP)
			memset(to, 0, w.len);
		else
			r = image_form_read_var(m, p.var, store, arg, &w, to);
		off += w.len;
		to += w.len;
	}
	return r;
}

int
image_form_undo(
	const struct image_form *m, size_t var, uint64_t in, struct span bytes, struct buf *ret)
{
	const struct convert *c = &m->source[var].convert;
	uint64_t n = bytes.len / c->atom_out;
	ret->len = 0;
	int r = buf_reserve(ret, n * c->atom_in + 1);
	if (r == 0)
		r = convert_undo(c, bytes.data, n, ret->data);
	if (r < 0)
		return err_add(r, "variable '%s', element %llu or behind", m->file.var[var].name,
			(unsigned long long)(in / c->atom_out));
	ret->len = n * c->atom_in;
	return 0;
}

int
image_form_write(const struct image_form *m, size_t var, uint64_t atom, struct span packed,
	const struct image_store *store, void *arg, const struct array_want *how)
{
	const struct image_source *s = &m->source[var];
	const struct convert *c = &s->convert;
	int r = 0;
	while (packed.len && r == 0) {
		uint64_t run, off = convert_place(c, atom, &run);
		run = min_u64(run, packed.len / c->atom_in);
		struct span some = {packed.data, (size_t)(run * c->atom_in)};
		r = store->write(arg, s->target, how, off, some);
		packed.data += some.len;
		packed.len -= some.len;
		atom += run;
	}
	return r;
}
