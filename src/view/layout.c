#include "view/variable.h"
#include "view/view.h"

#include "base/check.h"
#include "base/list.h"

#include <errno.h>
#include <string.h>

int
layout_new(uint64_t version, struct layout **ret)
{
	struct layout *l = calloc(1, sizeof *l);
	if (!l)
		return err_set(-ENOMEM, "no memory for a layout");
	atomic_init(&l->refs, 1);
	l->version = version;
	l->fixed = SIZE_MAX; /* none repeat */
	*ret = l;
	return 0;
}

static void
span_free(struct layout_span *s)
{
	variable_unref(s->variable);
	if (s->swap)
		dtype_free(s->swap);
	if (s->convert)
		convert_free(s->convert);
	free(s->swap);
	free(s->convert);
	buf_free(&s->text);
	if (s->made && s->made->free)
		s->made->free(s->made_arg);
}

/* Takes over what the span owns. */
static int
add_span(struct layout *l, struct layout_span *s)
{
	bool repeats = l->fixed != SIZE_MAX;
	uint64_t record = l->record_size, size = 0;
	s->start = repeats ? record : l->size;
	bool over = repeats ? add_over(record, s->length, &record) ||
				      mul_over(record, l->records, &size) ||
				      add_over(size, l->record_start, &size)
			    : add_over(l->size, s->length, &size);
	if (over || size > INT64_MAX) {
		span_free(s);
		return err_set(-EFBIG, "a file of more than %lld bytes", (long long)INT64_MAX);
	}
	int r = LIST_ADD(l->span, l->nspans, "a layout", *s);
	if (r < 0) {
		span_free(s);
		return r;
	}
	l->size = size;
	l->record_size = record;
	return 0;
}

int
layout_add_variable(struct layout *l, struct variable *v, const struct dtype *swap)
{
	struct layout_span s = {
		.length = array_bytes(v->array),
		.variable = v,
		.form = swap ? SPAN_SWAPPED : SPAN_AS_STORED,
		.swap = swap ? calloc(1, sizeof *swap) : NULL,
	};
	int r = !swap     ? 0
		: !s.swap ? err_set(-ENOMEM, "no memory for a layout")
			  : dtype_copy(swap, s.swap);
	if (r == 0)
		return add_span(l, &s);
	span_free(&s);
	return r;
}

int
layout_add_converted(struct layout *l, struct variable *v, struct convert *c, uint64_t length)
{
	const bool none = convert_none(c);
	struct layout_span s = {
		.length = length,
		.variable = v,
		.form = none ? SPAN_AS_STORED : SPAN_CONVERTED,
		.convert = none ? NULL : malloc(sizeof *c),
	};
	if (!none && !s.convert) {
		convert_free(c);
		span_free(&s);
		return err_set(-ENOMEM, "no memory for a layout");
	}
	if (none) {
		convert_free(c);
	} else {
		*s.convert = *c;
		l->record_refuses |= l->fixed != SIZE_MAX && convert_refuses(c);
		l->element_max = max_u64(l->element_max, c->out);
	}
	*c = (struct convert){0};
	return add_span(l, &s);
}

void
layout_begin_records(struct layout *l, uint64_t n)
{
	l->fixed = l->nspans;
	l->record_start = l->size;
	l->records = n;
}

int
layout_add_text(struct layout *l, struct span text)
{
	struct buf copy = {0};
	int r = buf_add(&copy, text.data, text.len);
	return r < 0 ? r : layout_take_text(l, &copy);
}

int
layout_take_text(struct layout *l, struct buf *text)
{
	buf_fit(text);
	struct layout_span s = {.length = text->len, .text = *text};
	*text = (struct buf){0};
	return add_span(l, &s);
}

int
layout_add_zeros(struct layout *l, uint64_t length)
{
	return add_span(l, &(struct layout_span){.length = length});
}

int
layout_add_made(struct layout *l, const struct made_ops *ops, void *arg, struct variable *v,
	uint64_t length)
{
	return add_span(l, &(struct layout_span){
				   .length = length, .variable = v, .made = ops, .made_arg = arg});
}

void
layout_end(struct layout *l)
{
	struct layout_span *fitting = realloc(l->span, max_u64(l->nspans, 1) * sizeof *fitting);
	if (fitting)
		l->span = fitting;
}

/* Of spans [lo, hi) the one that holds byte off. */
static size_t
span_at(const struct layout *l, size_t lo, size_t hi, uint64_t off)
{
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (l->span[mid].start <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

size_t
layout_locate(const struct layout *l, uint64_t off, uint64_t *ret_in, uint64_t *ret_left)
{
	bool repeats = l->fixed != SIZE_MAX && off >= l->record_start;
	uint64_t record = repeats ? (off - l->record_start) / l->record_size : 0;
	if (repeats)
		off = (off - l->record_start) % l->record_size;
	size_t i = repeats ? span_at(l, l->fixed, l->nspans, off)
			   : span_at(l, 0, min_u64(l->fixed, l->nspans), off);
	const struct layout_span *s = &l->span[i];
	*ret_left = s->length - (off - s->start);
	*ret_in = off - s->start + (s->variable ? record * s->length : 0);
	return i;
}

size_t
layout_bytes(const struct layout *l)
{
	size_t bytes = sizeof *l + l->nspans * sizeof *l->span;
	for (size_t i = 0; i < l->nspans; i++) {
		const struct layout_span *s = &l->span[i];
		bytes += s->text.data ? s->length : 0; /* its room is at most a sixteenth more */
		bytes += s->variable ? sizeof *s->variable : 0;
		bytes += s->convert ? sizeof *s->convert : 0;
	}
	return bytes;
}

struct layout *
layout_ref(struct layout *l)
{
	atomic_fetch_add(&l->refs, 1);
	return l;
}

struct layout *
layout_unref(struct layout *l)
{
	if (!l || atomic_fetch_sub(&l->refs, 1) != 1)
		return NULL;
	for (size_t i = 0; i < l->nspans; i++)
		span_free(&l->span[i]);
	free(l->span);
	free(l);
	return NULL;
}
