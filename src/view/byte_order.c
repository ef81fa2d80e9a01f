#include "view/byte_order.h"

#include "base/check.h"
#include "base/clean.h"

static bool
keep_wrong(struct dtype *t, bool big)
{
	bool any = false;
	if (t->kind == DTYPE_STRUCT) {
		for (size_t i = 0; i < t->nfields; i++)
			any |= keep_wrong(&t->field[i].type, big);
		return any;
	}
	any = dtype_swap_unit(t) > 1 && t->big != big;
	if (!any)
		t->kind = DTYPE_RAW;
	return any;
}

int
byte_order_of(const struct dtype *t, bool big, struct dtype *ret, bool *ret_any)
{
	struct dtype swap;
	int r = dtype_copy(t, &swap);
	if (r < 0)
		return r;
	*ret_any = keep_wrong(&swap, big);
	if (*ret_any)
		*ret = swap;
	else {
		dtype_free(&swap);
		*ret = (struct dtype){0};
	}
	return 0;
}

static uint64_t
field_end(const struct dtype_field *f)
{
	return f->offset + f->count * f->type.size;
}

/* The field that holds byte `in` of an element; NULL: a gap. */
static const struct dtype_field *
field_at(const struct dtype *t, uint64_t in)
{
	for (size_t i = 0; i < t->nfields; i++)
		if (in >= t->field[i].offset && in < field_end(&t->field[i]))
			return &t->field[i];
	return NULL;
}

/* The unit that holds the byte at off: its first byte and its size. */
static uint64_t
unit_at(const struct dtype *t, uint64_t off, unsigned *ret_size)
{
	uint64_t base = 0;
	while (t->kind == DTYPE_STRUCT && t->size) {
		uint64_t in = off % t->size;
		const struct dtype_field *f = field_at(t, in);
		if (!f) {
			*ret_size = 1;
			return base + off;
		}
		base += off - in + f->offset;
		off = in - f->offset;
		t = &f->type;
	}
	*ret_size = t->kind == DTYPE_STRUCT ? 1 : dtype_swap_unit(t);
	return base + off - off % *ret_size;
}

uint64_t
byte_order_floor(const struct dtype *swap, uint64_t off)
{
	unsigned size;
	return unit_at(swap, off, &size);
}

uint64_t
byte_order_ceil(const struct dtype *swap, uint64_t off)
{
	unsigned size;
	uint64_t start = unit_at(swap, off, &size);
	return start == off ? off : start + size;
}

static void
swap_fields(const struct dtype *t, uint8_t *data, uint64_t in, uint64_t len)
{
	for (size_t i = 0; i < t->nfields; i++) {
		const struct dtype_field *f = &t->field[i];
		uint64_t from = max_u64(in, f->offset), to = min_u64(in + len, field_end(f));
		if (from < to)
			byte_order_swap(&f->type, data + (from - in), from - f->offset, to - from);
	}
}

void
byte_order_swap(const struct dtype *t, uint8_t *data, uint64_t off, uint64_t len)
{
	if (t->kind != DTYPE_STRUCT) {
		unsigned unit = dtype_swap_unit(t);
		const struct dtype one = {.kind = DTYPE_UINT, .big = t->big, .size = unit};
		if (unit > 1)
			dtype_swap(&one, data, len / unit);
		return;
	}
	while (len && t->size) {
		uint64_t in = off % t->size, n = min_u64(len, t->size - in);
		if (in == 0 && len >= t->size) {
			n = len - len % t->size;
			dtype_swap(t, data, n / t->size);
		} else {
			swap_fields(t, data, in, n);
		}
		data += n;
		off += n;
		len -= n;
	}
}
