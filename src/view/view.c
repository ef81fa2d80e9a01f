#include "view/view.h"

#include "base/check.h"
#include "view/convert.h"
#include "view/variable.h"

#include <errno.h>
#include <string.h>

struct view_reader {
	struct layout *layout;
	bool plain; /* one variable as it is stored: its stream answers straight */
	_Atomic(struct stream *) stream[]; /* one a span, made when first read */
};

enum { UNIT_SLACK = 8 }; /* a conversion may begin and end this much outside of what is read */

int
view_reader_new(struct layout *l, struct view_reader **ret)
{
	struct view_reader *r = calloc(1, sizeof *r + l->nspans * sizeof r->stream[0]);
	if (!r)
		return err_set(-ENOMEM, "no memory for a reader");
	r->layout = layout_ref(l);
	r->plain = l->nspans == 1 && l->span[0].variable && l->span[0].convert == CONVERT_NONE;
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

struct layout *
view_layout(struct view_reader *r)
{
	return r->layout;
}

static int
stream_of(struct view_reader *r, size_t i, struct stream **ret)
{
	struct stream *s = atomic_load(&r->stream[i]), *none = NULL;
	if (!s) {
		int e = stream_new(r->layout->span[i].variable->array, &s);
		if (e < 0)
			return e;
		if (!atomic_compare_exchange_strong(&r->stream[i], &none, s)) {
			stream_free(s);
			s = none;
		}
	}
	*ret = s;
	return 0;
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

/* A part more may point elsewhere: the last place stays free for the reply's own bytes, which lie side by side from then on. */
static bool
has_room(const struct reply *ret, unsigned parts)
{
	return ret->parts + parts < REPLY_PARTS;
}

/* The parts of one span's answer become parts of the whole answer, with their pins, unless they must be copied. */
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
	const struct dtype *swap = &r->layout->span[i].swap;
	struct array_want w = *want;
	w.off = convert_floor(swap, want->off);
	w.len = convert_ceil(swap, want->off + want->len) - w.off;
	struct reply stored = {0};
	int e = read_stream(r, i, &w, &stored);
	if (e == 0 && stored.len != w.len)
		e = err_set(-EIO, "%zu bytes instead of %zu at %llu", stored.len, w.len,
			(unsigned long long)w.off);
	if (e == 0) {
		size_t head = want->off - w.off;
		uint8_t *p = own_room(ret, w.len);
		reply_copy(&stored, p);
		convert_swap(swap, p, w.off, w.len);
		ret->own.len -= w.len - head - want->len;
		add_part(ret, p + head, want->len);
	}
	reply_done(&stored);
	return e;
}

static void
read_text(const struct layout_span *s, uint64_t off, size_t n, struct reply *ret)
{
	if (s->text && has_room(ret, 1)) {
		add_part(ret, s->text + off, n);
		return;
	}
	uint8_t *p = own_room(ret, n);
	if (s->text)
		memcpy(p, s->text + off, n);
	else
		memset(p, 0, n);
	add_part(ret, p, n);
}

/* want: within the span. */
static int
read_span(struct view_reader *r, size_t i, const struct array_want *want, struct reply *ret)
{
	const struct layout_span *s = &r->layout->span[i];
	if (!s->variable) {
		read_text(s, want->off, want->len, ret);
		return 0;
	}
	if (s->convert == CONVERT_SWAP)
		return read_swapped(r, i, want, ret);
	struct reply part = {0};
	int e = read_stream(r, i, want, &part);
	if (e < 0)
		reply_done(&part);
	else
		adopt(&part, ret);
	return e;
}

/* The span that holds byte off, which is below the layout's size. */
static size_t
span_at(const struct layout *l, uint64_t off)
{
	size_t lo = 0, hi = l->nspans;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (l->span[mid].start <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static int
read_spans(struct view_reader *r, const struct array_want *want, struct reply *ret)
{
	const struct layout *l = r->layout;
	uint64_t off = want->off, end = want->off + want->len;
	int e = buf_reserve(&ret->own, want->len + (size_t)2 * UNIT_SLACK);
	for (size_t i = span_at(l, off); e == 0 && off < end; i++) {
		const struct layout_span *s = &l->span[i];
		struct array_want w = *want;
		w.off = off - s->start;
		w.len = min_u64(end - off, s->length - w.off);
		if (w.len)
			e = read_span(r, i, &w, ret);
		off += w.len;
	}
	if (e < 0)
		reply_done(ret);
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
	return r->plain ? read_stream(r, 0, &w, ret) : read_spans(r, &w, ret);
}
