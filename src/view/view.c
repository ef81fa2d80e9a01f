#include "view/view.h"

#include "base/check.h"
#include "data/cache.h"
#include "view/byte_order.h"
#include "view/variable.h"

#include <errno.h>
#include <string.h>

struct view_reader {
	struct layout *layout;
	bool guarded;  /* its bytes stay in pages */
	uint64_t data; /* guarded: where the first variable begins; nothing fails before that */
	atomic_ullong next;  /* guarded: where the last request ended */
	atomic_bool islands; /* guarded: less than a block was given */
	bool plain;          /* one variable as it is stored: its stream answers straight */
	atomic_bool failed;  /* a read has */
	atomic_ullong whole; /* blocks that could be read: the first, and how many */
	_Atomic(struct stream *) stream[]; /* one a span, made when first read */
};

enum {
	UNIT_SLACK = 8,   /* a swap may begin and end this much outside of what is read */
	WINDOW = 1 << 20, /* stored bytes that are converted at a time */
	LEAST = 8 << 10,  /* bytes that libnetcdf takes at a time */
	FAR = 4,          /* blocks: CDO takes 256 KiB at a time */
	SMALL = 4 << 20,  /* bytes of a span that is given whole or not at all */
	WHOLE_BITS = 16,
	IN_ORDER = 128 << 10, /* bytes that readers of a whole file, and few others, begin with */
};

int
view_reader_new(struct layout *l, struct view_reader **ret)
{
	struct view_reader *r = calloc(1, sizeof *r + l->nspans * sizeof r->stream[0]);
	if (!r)
		return err_set(-ENOMEM, "no memory for a reader");
	r->layout = layout_ref(l);
	r->plain = l->nspans == 1 && l->span[0].variable && !l->span[0].made &&
		   l->span[0].form == SPAN_AS_STORED;
	*ret = r;
	return 0;
}

struct view_reader *
view_reader_free(struct view_reader *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < r->layout->nspans; i++)
		stream_free(r->stream[i]);
	layout_unref(r->layout);
	free(r);
	return NULL;
}

void
view_guard(struct view_reader *r)
{
	const struct layout *l = r->layout;
	size_t i = 0;
	while (i < l->nspans && !l->span[i].variable && !l->span[i].made)
		i++;
	r->data =
		i == l->nspans ? l->size : l->span[i].start + (i < l->fixed ? 0 : l->record_start);
	r->guarded = l->block;
}

bool
view_islands(struct view_reader *r)
{
	return atomic_load_explicit(&r->islands, memory_order_relaxed);
}

static int
stream_of(struct view_reader *r, size_t i, struct stream **ret)
{
	struct stream *s = atomic_load(&r->stream[i]), *none = NULL;
	if (!s) {
		struct array *a = NULL;
		int e = variable_array(r->layout->span[i].variable, &a);
		if (e < 0 || (e = stream_new(a, &s)) < 0)
			return e;
		if (!atomic_compare_exchange_strong(&r->stream[i], &none, s)) {
			stream_free(s);
			s = none;
		}
	}
	*ret = s;
	return 0;
}

bool
view_move(struct view_reader *r, struct array_move *m)
{
	bool good = true;
	for (size_t i = 0; i < r->layout->nspans && good; i++) {
		struct stream *s = atomic_load(&r->stream[i]);
		good = !s || stream_move(s, m);
	}
	return good;
}

static int
read_stream(struct view_reader *r, size_t i, const struct array_want *w, struct reply *ret)
{
	struct stream *s = NULL;
	int e = variable_usable(r->layout->span[i].variable);
	if (e == 0)
		e = stream_of(r, i, &s);
	return e < 0 ? e : stream_read(s, w, ret);
}

static void
add_part(struct reply *ret, const void *p, size_t n)
{
	struct iovec *last = ret->parts ? &ret->part[ret->parts - 1] : NULL;
	if (last && (const uint8_t *)last->iov_base + last->iov_len == p)
		last->iov_len += n;
	else
		ret->part[ret->parts++] = (struct iovec){(void *)p, n};
	ret->len += n;
}

/* n more bytes of the reply's own, which view_read has reserved. */
static uint8_t *
own_room(struct reply *ret, size_t n)
{
	uint8_t *p = ret->own.data + ret->own.len;
	ret->own.len += n;
	return p;
}

/* A part more may point elsewhere: the last place stays free for the reply's own bytes, which lie
 * side by side from then on. */
static bool
has_room(const struct reply *ret, unsigned parts)
{
	return ret->parts + parts < REPLY_PARTS;
}

/* The parts of one span's answer become parts of the whole answer, with their pins, unless they
 * must be copied. */
static void
adopt(struct reply *from, struct reply *ret)
{
	if (from->own.data || !has_room(ret, from->parts) || ret->pins + from->pins > REPLY_PARTS) {
		uint8_t *p = own_room(ret, from->len);
		reply_copy(from, p);
		add_part(ret, p, from->len);
		reply_done(from);
		return;
	}
	for (unsigned i = 0; i < from->parts; i++)
		add_part(ret, from->part[i].iov_base, from->part[i].iov_len);
	ret->cache = from->cache;
	for (unsigned i = 0; i < from->pins; i++)
		ret->pinned[ret->pins++] = from->pinned[i];
}

static int
read_swapped(struct view_reader *r, size_t i, const struct array_want *want, struct reply *ret)
{
	const struct dtype *swap = r->layout->span[i].swap;
	struct array_want w = *want;
	w.off = byte_order_floor(swap, want->off);
	w.len = byte_order_ceil(swap, want->off + want->len) - w.off;
	struct reply stored = {0};
	int e = read_stream(r, i, &w, &stored);
	if (e == 0 && stored.len != w.len)
		e = err_set(-EIO, "%zu bytes instead of %zu at %llu", stored.len, w.len,
			(unsigned long long)w.off);
	if (e == 0) {
		size_t head = want->off - w.off;
		uint8_t *p = own_room(ret, w.len);
		reply_copy(&stored, p);
		byte_order_swap(swap, p, w.off, w.len);
		ret->own.len -= w.len - head - want->len;
		add_part(ret, p + head, want->len);
	}
	reply_done(&stored);
	return e;
}

static void
read_text(const struct layout_span *s, uint64_t off, size_t n, struct reply *ret)
{
	if (s->text.data && has_room(ret, 1)) {
		add_part(ret, s->text.data + off, n);
		return;
	}
	uint8_t *p = own_room(ret, n);
	if (s->text.data)
		memcpy(p, s->text.data + off, n);
	else
		memset(p, 0, n);
	add_part(ret, p, n);
}

static int
read_made(struct view_reader *r, size_t i, const struct array_want *want, struct reply *ret)
{
	const struct layout_span *s = &r->layout->span[i];
	struct stream *elements = NULL;
	int e = s->variable ? variable_usable(s->variable) : 0;
	if (e == 0 && s->variable)
		e = stream_of(r, i, &elements);
	if (e < 0)
		return e;
	const size_t at = ret->own.len;
	e = s->made->make(s->made_arg, elements, want, &ret->own);
	if (e == 0)
		add_part(ret, ret->own.data + at, want->len);
	return e;
}

/* n whole elements; their bytes may lie in parts that end within one. */
static int
convert_reply(const struct convert *c, const struct reply *stored, uint64_t n, uint8_t *to)
{
	bool whole = true;
	for (unsigned i = 0; i < stored->parts; i++)
		whole &= stored->part[i].iov_len % c->in == 0;
	if (!whole) {
		CLEAN(clean_free) uint8_t *all = malloc(stored->len);
		if (!all)
			return err_set(-ENOMEM, "no memory for %zu bytes", stored->len);
		reply_copy(stored, all);
		return convert_run(c, all, n, to);
	}
	int r = 0;
	for (unsigned i = 0; i < stored->parts && r == 0; i++) {
		uint64_t some = stored->part[i].iov_len / c->in;
		r = convert_run(c, stored->part[i].iov_base, some, to);
		to += some * c->out;
	}
	return r;
}

/* Elements [first, first + n): no more than a window of stored bytes is held at a time. */
static int
convert_some(struct view_reader *r, size_t i, const struct array_want *want, uint64_t first,
	uint64_t n, uint8_t *to)
{
	const struct convert *c = r->layout->span[i].convert;
	struct array_want w = *want;
	struct reply stored = {0};
	w.off = first * c->in;
	w.len = n * c->in;
	int e = read_stream(r, i, &w, &stored);
	if (e == 0 && stored.len != w.len)
		e = err_set(-EIO, "%zu bytes instead of %zu at %llu", stored.len, w.len,
			(unsigned long long)w.off);
	if (e == 0)
		e = convert_reply(c, &stored, n, to);
	reply_done(&stored);
	return e;
}

static int
read_converted(struct view_reader *r, size_t i, const struct array_want *want, struct reply *ret)
{
	const struct convert *c = r->layout->span[i].convert;
	uint64_t first = want->off / c->out, last = ceil_div(want->off + want->len, c->out), n;
	size_t head = want->off - first * c->out, tail = last * c->out - want->off - want->len;
	uint8_t *p = own_room(ret, (last - first) * c->out), *to = p;
	int e = 0;
	for (; first < last && e == 0; first += n, to += n * c->out) {
		n = min_u64(last - first, max_u64(WINDOW / c->in, 1));
		e = convert_some(r, i, want, first, n, to);
	}
	ret->own.len -= tail;
	if (e == 0)
		add_part(ret, p + head, want->len);
	return e;
}

/* No request waits for memory while holding some: what points into chunks becomes the reply's
 * own. */
static void
settle(struct reply *ret)
{
	const uint8_t *own = ret->own.data;
	for (unsigned i = 0; i < ret->parts && ret->pins; i++) {
		struct iovec *v = &ret->part[i];
		const uint8_t *from = v->iov_base;
		if (from >= own && from < own + ret->own.cap)
			continue;
		uint8_t *p = own_room(ret, v->iov_len);
		memcpy(p, from, v->iov_len);
		v->iov_base = p;
	}
	if (ret->pins)
		cache_unpin(ret->cache, ret->pinned, ret->pins);
	ret->pins = 0;
}

/* want: within the span. */
static int
read_span(struct view_reader *r, size_t i, const struct array_want *want, struct reply *ret)
{
	const struct layout_span *s = &r->layout->span[i];
	if (!s->variable && !s->made) {
		read_text(s, want->off, want->len, ret);
		return 0;
	}
	settle(ret);
	if (s->made)
		return read_made(r, i, want, ret);
	if (s->form == SPAN_CONVERTED)
		return read_converted(r, i, want, ret);
	if (s->form == SPAN_SWAPPED)
		return read_swapped(r, i, want, ret);
	struct reply part = {0};
	int e = read_stream(r, i, want, &part);
	if (e < 0)
		reply_done(&part);
	else
		adopt(&part, ret);
	return e;
}

/* Variables that begin in [off, end) are asked for while the one before them is read: each costs a
 * far store's round trips. Returns how far that was possible for now. */
static uint64_t
expect_next(const struct layout *l, uint64_t off, uint64_t end)
{
	while (off < end) {
		uint64_t in, left;
		struct array *a = NULL;
		struct variable *v = l->span[layout_locate(l, off, &in, &left)].variable;
		if (v && in)
			return end; /* a record behind the first one */
		if (v && variable_array(v, &a) == 0 && !array_expect(a))
			return off;
		off += left;
	}
	return end;
}

/* The variable behind the zeros that [0, end) ends in. False: there is none, or `end` is
 * elsewhere. */
static bool
behind_gap(const struct layout *l, uint64_t end, size_t *ret)
{
	uint64_t in, left;
	const struct layout_span *s = &l->span[layout_locate(l, end - 1, &in, &left)];
	uint64_t next = end - 1 + left;
	if (s->variable || s->made || s->text.data || next >= l->size)
		return false;
	*ret = layout_locate(l, next, &in, &left);
	return l->span[*ret].variable && !l->span[*ret].made;
}

/* A reader that begins with much of the file mostly reads all, and the variable behind a gap
 * next. */
static void
expect_behind_gap(const struct layout *l, const struct array_want *want)
{
	struct array *a = NULL;
	size_t i;
	if (!want->off && want->len >= IN_ORDER && behind_gap(l, want->len, &i) &&
		variable_array(l->span[i].variable, &a) == 0)
		array_expect(a);
}

static int
read_spans(struct view_reader *r, const struct array_want *want, struct reply *ret)
{
	const struct layout *l = r->layout;
	uint64_t off = want->off, end = want->off + want->len, expected = off;
	uint64_t slack = 2 * max_u64(l->element_max, UNIT_SLACK);
	const struct layout_span *last = &l->span[l->nspans - 1];
	const bool later = last->made && last->length == l->size;
	int e = later ? 0 : buf_reserve(&ret->own, want->len + slack);
	if (e == 0)
		expect_behind_gap(l, want);
	while (e == 0 && off < end) {
		struct array_want w = *want;
		uint64_t left;
		size_t i = layout_locate(l, off, &w.off, &left);
		w.len = min_u64(end - off, left);
		expected = expect_next(l, max_u64(expected, off + w.len), end);
		e = read_span(r, i, &w, ret);
		off += w.len;
	}
	if (e < 0)
		reply_done(ret);
	return e;
}

/* [off, end) could be read. */
static int
try_spans(struct view_reader *r, const struct array_want *want, uint64_t off, uint64_t end)
{
	struct array_want w = *want;
	struct reply thrown = {0};
	w.off = off;
	w.len = end - off;
	int e = off < end ? read_spans(r, &w, &thrown) : 0;
	reply_done(&thrown);
	return e;
}

/* Where the bytes of byte off's span lie, of all records if it repeats. Is reading there likely to
 * fail? */
static bool
doubtful(const struct view_reader *r, uint64_t off, uint64_t *ret_from, uint64_t *ret_to)
{
	const struct layout *l = r->layout;
	uint64_t in, left;
	bool repeats = l->fixed != SIZE_MAX && off >= l->record_start;
	const struct layout_span *s = &l->span[layout_locate(l, off, &in, &left)];
	*ret_from = repeats ? l->record_start : s->start;
	*ret_to = repeats ? l->size : s->start + s->length;
	return (repeats ? l->record_refuses : s->convert && convert_refuses(s->convert)) ||
	       atomic_load_explicit(&r->failed, memory_order_relaxed);
}

/* What must be readable too, so that [*from, *to) may be given: see layout.block. */
static void
widen(struct view_reader *r, uint64_t *from, uint64_t *to)
{
	const struct layout *l = r->layout;
	uint64_t first = *from, last = *to, start, end;
	if (doubtful(r, first, &start, &end)) {
		uint64_t far = end - start <= SMALL ? 0 : first - first % (FAR * l->block);
		start = max_u64(far, start);
		*from = start - start % l->block;
	}
	if (doubtful(r, last - 1, &start, &end)) {
		uint64_t far = end - start <= SMALL ? end : round_up(last, FAR * l->block);
		*to = min_u64(round_up(min_u64(far, end), l->block), l->size);
	}
	if (last <= r->data)
		return;
	/* Programs that take a block or four at a time make no smaller requests. */
	bool in_order = first == r->data || first == atomic_load(&r->next);
	bool little = last - first < l->block && !in_order;
	uint64_t unit = little ? LEAST : FAR * l->block;
	if (little)
		atomic_store_explicit(&r->islands, true, memory_order_relaxed);
	*from = min_u64(*from, max_u64(first - first % unit, min_u64(first, r->data)));
	*to = max_u64(*to, min_u64(round_up(last, unit), l->size));
}

/* Blocks that could all be read are remembered, the last ones, so that a reader that goes on has
 * them tried once. */
static void
remember(struct view_reader *r, uint64_t from, uint64_t to)
{
	uint64_t first = ceil_div(from, r->layout->block), end = to / r->layout->block;
	uint64_t n = end > first ? min_u64(end - first, (UINT64_C(1) << WHOLE_BITS) - 1) : 0;
	atomic_store(&r->whole, first << WHOLE_BITS | n);
}

/* Past [off, *ret_off), if that is known to be readable. */
static uint64_t
skip_known(const struct view_reader *r, uint64_t off, uint64_t end)
{
	uint64_t whole = atomic_load(&r->whole), first = (whole >> WHOLE_BITS) * r->layout->block;
	uint64_t n = (whole & ((UINT64_C(1) << WHOLE_BITS) - 1)) * r->layout->block;
	return off >= first && off < first + n ? min_u64(first + n, end) : off;
}

static int
read_blocks(struct view_reader *r, const struct array_want *want, struct reply *ret)
{
	uint64_t from = want->off, to = want->off + want->len, end = to;
	widen(r, &from, &to);
	atomic_store(&r->next, end);
	int e = try_spans(r, want, skip_known(r, from, want->off), want->off);
	if (e == 0)
		e = try_spans(r, want, skip_known(r, end, to), to);
	if (e == 0)
		e = read_spans(r, want, ret);
	if (e == 0 && (from < want->off || to > end))
		remember(r, from, to);
	return e;
}

int
view_read(struct view_reader *r, const struct array_want *want, struct reply *ret)
{
	uint64_t size = r->layout->size;
	if (want->off >= size || !want->len)
		return 0;
	struct array_want w = *want;
	w.len = min_u64(w.len, size - w.off);
	if (r->plain)
		return read_stream(r, 0, &w, ret);
	/* libhdf5 asks for what it lacks: nothing besides is tried for it until something fails. */
	const bool blocks = r->guarded && (r->layout->classic || atomic_load(&r->failed));
	int e = blocks ? read_blocks(r, &w, ret) : read_spans(r, &w, ret);
	if (e < 0)
		atomic_store_explicit(&r->failed, true, memory_order_relaxed);
	return e;
}
