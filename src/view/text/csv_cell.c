#include "view/text/csv_cell.h"

#include "base/check.h"
#include "base/err.h"
#include "base/number.h"
#include "view/byte_order.h"
#include "base/hash.h"
#include "base/list.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { CELLS_MAX = 4096, WIDTH_MAX = 1 << 26 };

/* Bytes of the longest text: of strings, each byte a quote that is doubled, and quotes around; a
 * character of UCS-4 is at most four. */
static int
width_of(const struct dtype *t, uint64_t *ret)
{
	static const uint8_t of_int[2][9] = {{[1] = 4, [2] = 6, [4] = 11, [8] = NUMBER_INT},
		{[1] = 3, [2] = 5, [4] = 10, [8] = NUMBER_INT}};
	switch (t->kind) {
	case DTYPE_BOOL: *ret = 1; return 0;
	case DTYPE_INT:
	case DTYPE_UINT: *ret = of_int[t->kind == DTYPE_UINT][t->size]; return 0;
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA: *ret = NUMBER_INT; return 0;
	case DTYPE_FLOAT:
		*ret = t->size == 8 ? NUMBER_DOUBLE : t->size == 4 ? NUMBER_FLOAT : NUMBER_HALF;
		return 0;
	case DTYPE_BYTES:
	case DTYPE_VLEN_TEXT:
	case DTYPE_VLEN_BYTES:
	case DTYPE_RAW: *ret = 2 * (uint64_t)t->size + 2; return 0;
	case DTYPE_UNICODE: *ret = (uint64_t)t->size + 2; return 0;
	default: return err_set(-ENOTSUP, "its elements have no form as text");
	}
}

/* The leaves of a type, one by one. name: what is behind the variable's. */
typedef int leaf_fn(void *arg, const struct dtype *, uint64_t offset, const char *name);

struct leaves {
	leaf_fn *fn;
	void *arg;
	uint64_t n;
};

static int each_leaf(struct leaves *l, const struct dtype *t, uint64_t offset, const char *name);

static int
tell_leaf(struct leaves *l, const struct dtype *t, uint64_t offset, const char *name)
{
	if (++l->n > CELLS_MAX)
		return err_set(-EFBIG, "its elements have more than %d parts", CELLS_MAX);
	return l->fn(l->arg, t, offset, name);
}

/* ".0", ".0.1": where an element of a subarray is. */
static int
add_index(const struct dtype_field *f, uint64_t i, struct buf *ret)
{
	uint64_t index[DTYPE_RANK_MAX];
	int r = 0;
	for (unsigned d = f->rank; d-- > 0; i /= f->shape[d])
		index[d] = i % f->shape[d];
	for (unsigned d = 0; d < f->rank && r == 0; d++)
		r = buf_addf(ret, ".%" PRIu64, index[d]);
	return r;
}

static int
each_of_field(struct leaves *l, const struct dtype_field *f, uint64_t offset, const char *name)
{
	int r = 0;
	for (uint64_t i = 0; i < f->count && r == 0; i++) {
		CLEAN(buf_free) struct buf full = {0};
		r = buf_addf(&full, "%s.%s", name, f->name);
		if (r == 0)
			r = add_index(f, i, &full);
		if (r == 0)
			r = buf_terminate(&full);
		if (r == 0)
			r = each_leaf(l, &f->type, offset + f->offset + i * f->type.size,
				(char *)full.data);
	}
	return r;
}

static int
each_leaf(struct leaves *l, const struct dtype *t, uint64_t offset, const char *name)
{
	int r = 0;
	if (t->kind == DTYPE_STRUCT) {
		for (size_t i = 0; i < t->nfields && r == 0; i++)
			r = each_of_field(l, &t->field[i], offset, name);
		return r;
	}
	if (t->kind != DTYPE_COMPLEX)
		return tell_leaf(l, t, offset, name);
	for (unsigned i = 0; i < 2 && r == 0; i++) {
		const struct dtype half = {.kind = DTYPE_FLOAT, .big = t->big, .size = t->size / 2};
		CLEAN(clean_free) char *full = NULL;
		if (asprintf(&full, "%s%s", name, i ? ".imag" : ".real") < 0)
			return err_set(-ENOMEM, "no memory for a name");
		r = tell_leaf(l, &half, offset + i * half.size, full);
	}
	return r;
}

/* What its text may be longer by. */
static uint32_t
count_time(struct cell *c, const struct cf_time *t)
{
	uint32_t width = cf_time_width(t), more = width > c->width ? width - c->width : 0;
	c->is_time = true;
	c->time = *t;
	c->width += more;
	return more;
}

static int
add_cell(void *arg, const struct dtype *t, uint64_t offset, const char *name)
{
	struct cells *c = arg;
	uint64_t width = 0;
	int r = width_of(t, &width);
	if (r == 0 && (width > WIDTH_MAX || (c->width += width) > WIDTH_MAX))
		r = err_set(-EFBIG, "its elements are too long for lines of text");
	if (r == 0)
		r = LIST_MORE(c->cell, c->n, "columns");
	if (r < 0)
		return r;
	struct cell one = {t->kind, t->size, (uint32_t)offset, (uint32_t)width};
	struct cf_time time;
	if (t->kind == DTYPE_DATETIME && cf_time_of_dtype(t, &time) == 0)
		c->width += count_time(&one, &time);
	c->cell[c->n++] = one;
	return 0;
}

int
cells_new(const struct dtype *type, uint32_t width, struct cells *ret)
{
	struct dtype t = *type; /* borrows its fields */
	struct cells c = {0};
	struct leaves l = {add_cell, &c, 0};
	if (width)
		t.size = width;
	c.element = t.size;
	bool host_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	int r = each_leaf(&l, &t, 0, "");
	if (r == 0)
		r = byte_order_of(&t, host_big, &c.swap, &c.swaps);
	if (r < 0)
		cells_free(&c);
	else
		*ret = c;
	return r;
}

void
cells_free(struct cells *c)
{
	free(c->cell);
	dtype_free(&c->swap);
	*c = (struct cells){0};
}

void
cells_count_time(struct cells *cs, const struct attrs *as)
{
	struct cell *c = cs->cell;
	struct cf_time t;
	bool number = cs->n == 1 &&
		      (c->kind == DTYPE_INT || c->kind == DTYPE_UINT || c->kind == DTYPE_FLOAT);
	if (number && cf_time_of_attrs(as, &t) == 0)
		cs->width += count_time(c, &t);
}

uint64_t
cells_hash(const struct cells *cs, uint64_t h)
{
	for (size_t i = 0; i < cs->n; i++) {
		const struct cf_time *t = &cs->cell[i].time;
		const int64_t time[] = {t->months, t->ticks, t->digits, t->days, t->second,
			t->nanosecond, t->calendar};
		h = hash_number(h, cs->cell[i].is_time);
		for (unsigned k = 0; cs->cell[i].is_time && k < sizeof time / sizeof *time; k++)
			h = hash_number(h, (uint64_t)time[k]);
	}
	return h;
}

struct naming {
	const char *name;
	struct buf *to;
};

static int
add_header(void *arg, const struct dtype *t, uint64_t offset, const char *name)
{
	struct naming *n = arg;
	CLEAN(clean_free) char *full = NULL;
	int len = asprintf(&full, "%s%s", n->name, name);
	if (len < 0)
		return err_set(-ENOMEM, "no memory for a name");
	int r = buf_add(n->to, ",", 1);
	return r < 0 ? r : csv_quoted(full, (size_t)len, n->to);
}

int
cells_header(const struct dtype *t, const char *name, struct buf *ret)
{
	struct naming n = {name, ret};
	struct leaves l = {add_header, &n, 0};
	return each_leaf(&l, t, 0, "");
}

void
cells_native(const struct cells *c, void *elements, uint64_t n)
{
	if (c->swaps)
		byte_order_swap(&c->swap, elements, 0, n * c->element);
}

/* What a program would take for something else than the text it is: an empty one is no missing
 * one. */
static bool
wants_quotes(const char *s, size_t len)
{
	if (!len || s[0] == ' ' || s[len - 1] == ' ')
		return true;
	for (size_t i = 0; i < len; i++)
		if (s[i] == '"' || s[i] == ',' || s[i] == '\n' || s[i] == '\r')
			return true;
	return false;
}

/* At most 2 len + 2 bytes. */
static size_t
quote(const char *s, size_t len, char *to)
{
	char *p = to;
	if (!wants_quotes(s, len)) {
		memcpy(to, s, len);
		return len;
	}
	*p++ = '"';
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"')
			*p++ = '"';
		*p++ = s[i];
	}
	*p++ = '"';
	return (size_t)(p - to);
}

int
csv_quoted(const char *text, size_t len, struct buf *ret)
{
	int r = buf_reserve(ret, ret->len + 2 * len + 2);
	if (r == 0)
		ret->len += quote(text, len, (char *)ret->data + ret->len);
	return r;
}

static size_t
write_hex(const uint8_t *data, size_t n, char *to)
{
	static const char digit[] = "0123456789abcdef";
	to[0] = '0';
	to[1] = 'x';
	for (size_t i = 0; i < n; i++) {
		to[2 + 2 * i] = digit[data[i] >> 4];
		to[3 + 2 * i] = digit[data[i] & 15];
	}
	return 2 + 2 * n;
}

/* Without the NULs behind it. */
static size_t
bytes_len(const uint8_t *s, size_t n)
{
	while (n && !s[n - 1])
		n--;
	return n;
}

/* Quotes only double one-byte characters, of which each has the room of four. */
static int
write_unicode(const uint8_t *data, size_t bytes, char *to, size_t *ret_len)
{
	size_t n = bytes / 4;
	char *p = to + 1; /* where it would begin behind a quote */
	uint32_t c = 0;
	bool quotes = false;
	while (n && (memcpy(&c, data + 4 * (n - 1), 4), !c))
		n--;
	for (size_t i = 0; i < n; i++) {
		memcpy(&c, data + 4 * i, 4);
		bool edge = i == 0 || i == n - 1;
		quotes |= c == '"' || c == ',' || c == '\n' || c == '\r' || (edge && c == ' ');
		if (c == '"')
			*p++ = '"';
		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			return err_set(-EIO, "U+%" PRIX32 " in a text is no character", c);
		p += utf8proc_encode_char((utf8proc_int32_t)c, (utf8proc_uint8_t *)p);
	}
	size_t len = (size_t)(p - to) - 1;
	if (quotes || !n) {
		*to = '"';
		*p = '"';
		len += 2;
	} else {
		memmove(to, to + 1, len);
	}
	*ret_len = len;
	return 0;
}

static int64_t
integer(const uint8_t *p, uint32_t size)
{
	int8_t i8;
	int16_t i16;
	int32_t i32;
	int64_t i64;
	switch (size) {
	case 1: memcpy(&i8, p, 1); return i8;
	case 2: memcpy(&i16, p, 2); return i16;
	case 4: memcpy(&i32, p, 4); return i32;
	default: memcpy(&i64, p, 8); return i64;
	}
}

static uint64_t
natural(const uint8_t *p, uint32_t size)
{
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	switch (size) {
	case 1: return *p;
	case 2: memcpy(&u16, p, 2); return u16;
	case 4: memcpy(&u32, p, 4); return u32;
	default: memcpy(&u64, p, 8); return u64;
	}
}

static size_t
write_float(const uint8_t *p, uint32_t size, char *to)
{
	uint16_t h;
	float f;
	double d;
	switch (size) {
	case 2: memcpy(&h, p, 2); return number_half(h, to);
	case 4: memcpy(&f, p, 4); return number_float(f, to);
	default: memcpy(&d, p, 8); return number_double(d, to);
	}
}

/* Of an integer or a time. False: beyond an int64. */
static bool
cell_integer(const struct cell *c, const uint8_t *element, int64_t *ret)
{
	const uint8_t *p = element + c->offset;
	*ret = c->kind == DTYPE_UINT ? (int64_t)natural(p, c->size) : integer(p, c->size);
	return c->kind != DTYPE_UINT || *ret >= 0;
}

static double
cell_real(const struct cell *c, const uint8_t *element)
{
	const uint8_t *p = element + c->offset;
	uint16_t h;
	float f;
	double d;
	switch (c->size) {
	case 2: memcpy(&h, p, 2); return (double)number_of_half(h);
	case 4: memcpy(&f, p, 4); return (double)f;
	default: memcpy(&d, p, 8); return d;
	}
}

/* Not a number, or not a time. */
static bool
cell_is_nan(const struct cell *c, const uint8_t *element)
{
	if (c->kind == DTYPE_DATETIME || c->kind == DTYPE_TIMEDELTA)
		return integer(element + c->offset, 8) == INT64_MIN;
	return c->kind == DTYPE_FLOAT && isnan(cell_real(c, element));
}

/* False: a number that is no date. */
static bool
write_time(const struct cell *c, const uint8_t *element, char *to, size_t *ret_len)
{
	char text[CF_TIME_TEXT];
	int64_t whole;
	bool good;
	*ret_len = 0;
	if (cell_is_nan(c, element))
		return true;
	if (c->kind == DTYPE_FLOAT)
		good = cf_time_text(&c->time, cell_real(c, element), text);
	else
		good = cell_integer(c, element, &whole) && cf_time_text_int(&c->time, whole, text);
	if (!good)
		return false;
	*ret_len = cf_time_width(&c->time);
	memcpy(to, text, *ret_len);
	return true;
}

int
cell_text(const struct cell *c, const uint8_t *element, char *to, size_t *ret_len)
{
	const uint8_t *p = element + c->offset;
	if (c->is_time && write_time(c, element, to, ret_len))
		return 0;
	switch (c->kind) {
	case DTYPE_BOOL:
		*to = *p ? '1' : '0';
		*ret_len = 1;
		return 0;
	case DTYPE_INT:
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA: *ret_len = number_int(integer(p, c->size), to); return 0;
	case DTYPE_UINT: *ret_len = number_uint(natural(p, c->size), to); return 0;
	case DTYPE_FLOAT: *ret_len = write_float(p, c->size, to); return 0;
	case DTYPE_UNICODE: return write_unicode(p, c->size, to, ret_len);
	case DTYPE_RAW: *ret_len = write_hex(p, c->size, to); return 0;
	default: *ret_len = quote((const char *)p, bytes_len(p, c->size), to); return 0;
	}
}

bool
cells_same(const struct cells *cs, const uint8_t *a, const uint8_t *b)
{
	const struct cell *c = cs->cell;
	if (memcmp(a, b, cs->element) == 0)
		return true;
	if (cs->n != 1 || c->kind != DTYPE_FLOAT)
		return false;
	double x = cell_real(c, a), y = cell_real(c, b);
	return x == y || (isnan(x) && isnan(y));
}
