#include "view/text/csv_axis.h"

#include "base/check.h"
#include "base/number.h"
#include "view/flat.h"
#include "base/hash.h"
#include "view/missing.h"
#include "view/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Tables up to this size are kept; larger axes are decoded as they are shown, so many elements at a
 * time. */
enum { TABLE_MAX = 16 << 20, WINDOW = 1024 };

typedef uint32_t length; /* before each text of a table */

static uint32_t
digits_of(uint64_t v)
{
	char text[NUMBER_INT];
	return (uint32_t)number_uint(v, text);
}

/* Coordinates that are one value with a text of its own. */
static bool
serves(const struct node *n)
{
	const struct dtype *t = &n->array->dtype;
	return !n->error && !n->array->fill_error && t->kind != DTYPE_COMPLEX &&
	       t->kind != DTYPE_STRUCT && t->kind != DTYPE_OBJECT && t->kind != DTYPE_RAW;
}

static int
learn(struct mount *m, struct axis *a)
{
	const struct node *n = a->coordinate;
	const struct dtype *t = &n->array->dtype;
	struct attrs as = {0};
	int r = flat_width(m, n, &a->element_width);
	if (r == 0)
		r = cells_new(t, a->element_width, &a->cells);
	if (r == 0)
		r = node_attrs(n, &as);
	if (r < 0)
		return r;
	cells_count_time(&a->cells, &as);
	r = missing_value(m, n, &as, a->element_width, &a->missing);
	attrs_free(&as);
	if (r == 0)
		cells_native(&a->cells, a->missing.data, 1);
	a->width = a->cells.cell[0].width;
	return r < 0 ? r : 0;
}

/* Places are shown as a variable of doubles would be. */
static int
place(const struct dim *d, struct axis *a)
{
	static const struct dtype type = {.kind = DTYPE_FLOAT,
		.size = sizeof(double),
		.big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__};
	int r = cells_new(&type, 0, &a->cells);
	if (r < 0)
		return r;
	a->place = nc_axis_of(d);
	a->width = a->cells.cell[0].width;
	return 0;
}

int
axis_new(struct mount *m, const struct node *n, unsigned dim, const char *name, struct axis *ret)
{
	const struct dim *d = &n->array->dim[dim];
	struct axis a = {
		.size = d->size,
		.name = strdup(name),
		.width = digits_of(d->size ? d->size - 1 : 0),
	};
	int r = a.name ? cf_coordinate(m->model, n, dim, &a.coordinate)
		       : err_set(-ENOMEM, "no memory for a name");
	if (r == 0 && a.coordinate->error)
		notes_add(&m->notes,
			"coordinate '%s' is in no .csv or .png, which have the index instead: %s",
			mount_path(m, a.coordinate->path), a.coordinate->error);
	if (r == 0 && !serves(a.coordinate))
		a.coordinate = node_unref(a.coordinate);
	if (r >= 0 && !a.coordinate)
		r = d->placed ? place(d, &a) : 0;
	else if (r == 0)
		r = learn(m, &a);
	if (r < 0)
		axis_free(&a);
	else
		*ret = a;
	return r < 0 ? r : 0;
}

void
axis_free(struct axis *a)
{
	stream_free(a->stream);
	free(a->table);
	free(a->name);
	node_unref(a->coordinate);
	cells_free(&a->cells);
	buf_free(&a->missing);
}

int
axis_open(struct mount *m, struct axis *a, struct variable **ret)
{
	struct variable *v = NULL;
	*ret = NULL;
	if (!a->coordinate)
		return 0;
	int r = variable_get(m, a->coordinate, a->element_width, &v);
	if (r == 0)
		r = stream_new(v->array, &a->stream);
	if (r < 0) {
		variable_unref(v);
		return err_add(r, "coordinate '%s'", a->coordinate->path);
	}
	a->variable = *ret = v;
	a->stride = sizeof(length) + a->width;
	return 0;
}

uint64_t
axis_hash(const struct axis *a, uint64_t h)
{
	h = hash_number(h, a->width);
	if (a->place.is)
		h = hash_bytes(hash_bytes(h, &a->place.origin, sizeof a->place.origin),
			&a->place.step, sizeof a->place.step);
	if (!a->coordinate)
		return hash_number(h, a->size);
	h = cells_hash(&a->cells, h);
	h = hash_text(h, a->coordinate->path);
	h = hash_number(h, variable_version(a->coordinate, a->element_width));
	return hash_bytes(h, a->missing.data, a->missing.len);
}

void
axis_cursor_free(struct axis_cursor *c)
{
	buf_free(&c->text);
	buf_free(&c->window);
}

/* Elements [first, first + n) in native order. */
static int
load(const struct axis *a, const struct array_want *want, struct axis_cursor *c)
{
	uint64_t bytes;
	if (mul_over(c->n, a->cells.element, &bytes) || bytes > INT32_MAX)
		return err_set(-EFBIG, "coordinates of %llu elements", (unsigned long long)c->n);
	struct array_want w = *want;
	struct reply got = {0};
	w.off = c->first * a->cells.element;
	w.len = (size_t)bytes;
	int r = buf_reserve(&c->window, w.len);
	if (r == 0)
		r = variable_usable(a->variable);
	if (r == 0)
		r = stream_read(a->stream, &w, &got);
	if (r == 0 && got.len != w.len)
		r = err_set(-EIO, "%zu bytes instead of %zu", got.len, w.len);
	if (r == 0) {
		reply_copy(&got, c->window.data);
		cells_native(&a->cells, c->window.data, c->n);
	}
	reply_done(&got);
	return r < 0 ? err_add(r, "coordinate '%s'", a->coordinate->path) : 0;
}

static int
write_text(const struct axis *a, const uint8_t *element, char *to, size_t *ret_len)
{
	*ret_len = 0;
	if (a->missing.len && cells_same(&a->cells, element, a->missing.data))
		return 0;
	return cell_text(&a->cells.cell[0], element, to, ret_len);
}

/* Are all coordinates needed now, for a table of so many bytes? */
static bool
lacks_table(const struct axis *a, uint64_t *ret_bytes)
{
	return a->coordinate && !atomic_load(&a->table) &&
	       !mul_over(a->size, a->stride, ret_bytes) && *ret_bytes <= TABLE_MAX;
}

void
axis_expect(const struct axis *a)
{
	uint64_t bytes;
	if (lacks_table(a, &bytes))
		array_expect(a->variable->array);
}

int
axis_prepare(struct axis *a, const struct array_want *want)
{
	uint64_t bytes, at = 0;
	if (!lacks_table(a, &bytes))
		return 0;
	CLEAN(axis_cursor_free) struct axis_cursor c = {.n = a->size};
	CLEAN(clean_free) char *table = malloc(bytes + 1);
	int r = table ? load(a, want, &c) : err_set(-ENOMEM, "no memory for coordinates");
	for (uint64_t i = 0; r == 0 && i < a->size; i++, at += a->stride) {
		size_t len = 0;
		r = write_text(
			a, c.window.data + i * a->cells.element, table + at + sizeof(length), &len);
		const length n = (length)len;
		memcpy(table + at, &n, sizeof n);
	}
	char *none = NULL;
	if (r == 0 && atomic_compare_exchange_strong(&a->table, &none, table))
		MOVE(table);
	return r;
}

static int
from_window(const struct axis *a, struct axis_cursor *c, const struct array_want *want, uint64_t i)
{
	int r = buf_reserve(&c->text, a->width + 1);
	c->valid = false;
	if (r == 0 && (i < c->first || i - c->first >= c->n)) {
		c->first = i;
		c->n = min_u64(WINDOW, a->size - i);
		r = load(a, want, c);
		if (r < 0)
			c->n = 0;
	}
	if (r == 0)
		r = write_text(a, c->window.data + (i - c->first) * a->cells.element,
			(char *)c->text.data, &c->text.len);
	return r;
}

int
axis_place(const struct axis *a, uint64_t i, struct buf *ret)
{
	const double at = nc_axis_at(&a->place, i);
	int r = buf_reserve(ret, a->width + 1);
	return r < 0 ? r
		     : cell_text(&a->cells.cell[0], (const uint8_t *)&at, (char *)ret->data,
			       &ret->len);
}

int
axis_text(const struct axis *a, struct axis_cursor *c, const struct array_want *want, uint64_t i,
	struct span *ret)
{
	const char *table = atomic_load_explicit(&a->table, memory_order_acquire);
	int r = 0;
	if (table) {
		length n;
		memcpy(&n, table + i * a->stride, sizeof n);
		*ret = (struct span){(const uint8_t *)table + i * a->stride + sizeof n, n};
		return 0;
	}
	if (!c->valid || c->index != i) {
		if (a->coordinate)
			r = from_window(a, c, want, i);
		else if (a->place.is)
			r = axis_place(a, i, &c->text);
		else if ((r = buf_reserve(&c->text, NUMBER_INT)) == 0)
			c->text.len = number_uint(i, (char *)c->text.data);
		if (r < 0)
			return r;
		c->valid = true;
		c->index = i;
	}
	*ret = buf_span(&c->text);
	return 0;
}
