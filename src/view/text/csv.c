/* VAR.csv: a line for each element, all of the same length, so that any part of the file can be
 * made from the elements that it shows. */
#include "base/check.h"
#include "base/number.h"
#include "model/dims.h"
#include "model/parallel.h"
#include "view/text/csv_axis.h"
#include "view/flat.h"
#include "base/hash.h"
#include "view/missing.h"
#include "view/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct csv {
	struct axis *axis; /* rank of them */
	unsigned rank;
	bool itself; /* the variable is the coordinate of its dimension, whose column shows it */
	struct cells cells;
	struct buf missing; /* in native order; empty: none */
	struct buf header;
	uint64_t count, width; /* lines, and bytes of each */
};

static void
csv_done(struct csv *c)
{
	for (unsigned i = 0; i < c->rank; i++)
		axis_free(&c->axis[i]);
	free(c->axis);
	cells_free(&c->cells);
	buf_free(&c->missing);
	buf_free(&c->header);
}

static void
csv_free(void *arg)
{
	csv_done(arg);
	free(arg);
}

static bool
applies(struct mount *m, const struct node *n)
{
	return n->array && !n->error && n->array->dtype.kind != DTYPE_OBJECT;
}

static bool
is_taken(const struct csv *c, const char *name, const char *first)
{
	for (unsigned i = 0; i < c->rank; i++)
		if (strcmp(c->axis[i].name, first) == 0)
			return true;
	return strcmp(name, first) == 0;
}

/* A dimension that is called like the variable, whose coordinate it is not, is "x_". */
static int
rename_axes(struct csv *c, const char *name)
{
	for (unsigned i = 0; i < c->rank && !c->itself; i++) {
		CLEAN(clean_free) char *other = NULL;
		if (strcmp(c->axis[i].name, name) != 0)
			continue;
		do {
			char *longer = NULL;
			if (asprintf(&longer, "%s_", other ? other : name) < 0)
				return err_set(-ENOMEM, "no memory for a name");
			free(other);
			other = longer;
		} while (is_taken(c, name, other));
		free(c->axis[i].name);
		c->axis[i].name = MOVE(other);
	}
	return 0;
}

/* The first column is "n", or "n_" and so on where that is a name already. */
static int
make_header(struct csv *c, const struct dtype *t, const char *name)
{
	char first[64] = "n";
	for (size_t n = 1; is_taken(c, name, first) && n + 1 < sizeof first; n++) {
		first[n] = '_';
		first[n + 1] = 0;
	}
	int r = buf_addf(&c->header, "%s", first);
	for (unsigned i = 0; i < c->rank && r == 0; i++) {
		r = buf_add(&c->header, ",", 1);
		if (r == 0)
			r = csv_quoted(c->axis[i].name, strlen(c->axis[i].name), &c->header);
	}
	if (r == 0 && !c->itself)
		r = cells_header(t, name, &c->header);
	return r < 0 ? r : buf_add(&c->header, "\n", 1);
}

static int
make_axes(struct mount *m, const struct node *n, struct csv *c)
{
	const struct array_meta *a = n->array;
	CLEAN(dim_names_freep) char **names = NULL;
	int r = dim_names(a, false, &names);
	c->axis = calloc(a->rank + 1, sizeof *c->axis);
	if (r == 0 && !c->axis)
		r = err_set(-ENOMEM, "no memory for columns");
	for (; r == 0 && c->rank < a->rank; c->rank += r == 0)
		r = axis_new(m, n, c->rank, names[c->rank], &c->axis[c->rank]);
	const struct node *first = r == 0 && c->rank == 1 ? c->axis[0].coordinate : NULL;
	c->itself = first && strcmp(first->path, n->path) == 0;
	return r;
}

/* What the attributes say of the elements. */
static int
heed_attrs(struct mount *m, const struct node *n, uint32_t width, struct csv *c)
{
	struct attrs as = {0};
	int r = node_attrs(n, &as);
	if (r == 0)
		cells_count_time(&c->cells, &as);
	if (r == 0)
		r = missing_value(m, n, &as, width, &c->missing);
	attrs_free(&as);
	if (r == 0)
		cells_native(&c->cells, c->missing.data, 1);
	return r < 0 ? r : 0;
}

/* Number, a comma before each field, newline. */
static int
sum_up(const struct node *n, struct csv *c)
{
	char text[NUMBER_INT];
	uint64_t bytes;
	c->count = array_count(n->array);
	c->width = number_uint(c->count ? c->count - 1 : 0, text) + 1;
	for (unsigned i = 0; i < c->rank; i++)
		c->width += 1 + c->axis[i].width;
	if (!c->itself)
		c->width += c->cells.n + c->cells.width;
	if (c->count == UINT64_MAX || mul_over(c->count, c->width, &bytes) || bytes > INT64_MAX)
		return err_set(-EFBIG, "more than %lld bytes of text", (long long)INT64_MAX);
	return 0;
}

/* What metadata alone (and the widths of strings) say. */
static int
plan(struct mount *m, const struct node *n, uint32_t width, struct csv *ret)
{
	struct csv c = {0};
	int r = cells_new(&n->array->dtype, width, &c.cells);
	if (r == 0)
		r = make_axes(m, n, &c);
	const char *name = *n->path ? n->name : m->single;
	if (r == 0)
		r = rename_axes(&c, name);
	if (r == 0)
		r = make_header(&c, &n->array->dtype, name);
	if (r == 0)
		r = heed_attrs(m, n, width, &c);
	if (r == 0)
		r = sum_up(n, &c);
	if (r < 0)
		csv_done(&c);
	else
		*ret = c;
	return r;
}

static uint64_t
version(const struct node *n, uint32_t width, const struct csv *c)
{
	uint64_t h = hash_number(HASH_START, variable_version(n, width));
	h = hash_bytes(h, c->header.data, c->header.len);
	h = hash_bytes(h, c->missing.data, c->missing.len);
	h = cells_hash(&c->cells, h);
	for (unsigned i = 0; i < c->rank; i++)
		h = axis_hash(&c->axis[i], h);
	return hash_end(h);
}

static int
measure(struct mount *m, const struct node *n, const char *path, struct view_facts *ret)
{
	CLEAN(csv_done) struct csv c = {0};
	uint32_t width = 0;
	int r = flat_width(m, n, &width);
	if (r == 0)
		r = plan(m, n, width, &c);
	*ret = (struct view_facts){
		.size = SIZE_OF_UNREADABLE,
		.version = variable_version(n, width),
	};
	if (r == -EFBIG || r == -ENOTSUP)
		return 0; /* opening it says why */
	if (r < 0)
		return r;
	ret->size = c.header.len + c.count * c.width;
	ret->version = version(n, width, &c);
	for (unsigned i = 0; i < c.rank; i++)
		if (c.axis[i].coordinate && c.axis[i].coordinate->mtime > ret->mtime)
			ret->mtime = c.axis[i].coordinate->mtime;
	return 0;
}

/* One read being answered. */
struct csv_making {
	struct csv *csv;
	const struct array_want *want;
	struct axis_cursor *cursor;
	uint64_t *index; /* of the element that comes next */
	uint64_t number;
	const uint8_t *element;
	char *line;
};

static int
write_fields(struct csv_making *k, char **to)
{
	const struct csv *c = k->csv;
	char *p = *to;
	int r = 0;
	for (unsigned i = 0; i < c->rank && r == 0; i++) {
		struct span text = {0};
		r = axis_text(&c->axis[i], &k->cursor[i], k->want, k->index[i], &text);
		*p++ = ',';
		if (r == 0 && text.len)
			memcpy(p, text.data, text.len);
		p += text.len;
	}
	bool missing = c->missing.len && cells_same(&c->cells, k->element, c->missing.data);
	for (size_t i = 0; !c->itself && i < c->cells.n && r == 0; i++) {
		size_t len = 0;
		*p++ = ',';
		if (!missing)
			r = cell_text(&c->cells.cell[i], k->element, p, &len);
		p += len;
	}
	*p++ = '\n';
	*to = p;
	return r < 0 ? err_add(r, "element %llu", (unsigned long long)k->number) : 0;
}

/* The line of one element: blanks go before its number. */
static int
write_line(struct csv_making *k)
{
	uint64_t width = k->csv->width;
	char digits[NUMBER_INT], *p = k->line;
	size_t n = number_uint(k->number, digits);
	int r = write_fields(k, &p);
	if (r < 0)
		return r;
	size_t len = (size_t)(p - k->line), blanks = width - n - len;
	memmove(k->line + blanks + n, k->line, len);
	memset(k->line, ' ', blanks);
	memcpy(k->line + blanks, digits, n);
	return 0;
}

static void
step(struct csv_making *k)
{
	k->number++;
	k->element += k->csv->cells.element;
	for (unsigned i = k->csv->rank; i-- > 0;) {
		if (++k->index[i] < k->csv->axis[i].size)
			return;
		k->index[i] = 0;
	}
}

static int
write_lines(struct csv_making *k, uint8_t *to)
{
	uint64_t width = k->csv->width, off = k->want->off, end = off + k->want->len;
	uint64_t rest = k->number;
	for (unsigned i = k->csv->rank; i-- > 0; rest /= k->csv->axis[i].size)
		k->index[i] = rest % k->csv->axis[i].size;
	while (off < end) {
		int r = write_line(k);
		if (r < 0)
			return r;
		uint64_t in = off % width, n = min_u64(width - in, end - off);
		memcpy(to, k->line + in, n);
		to += n;
		off += n;
		step(k);
	}
	return 0;
}

/* Elements [k->number, + n) in native order. */
static int
read_elements(const struct csv_making *k, struct stream *s, uint64_t n, struct buf *ret)
{
	const struct cells *c = &k->csv->cells;
	struct array_want w = *k->want;
	struct reply got = {0};
	w.off = k->number * c->element;
	w.len = (size_t)n * c->element;
	int r = buf_reserve(ret, w.len);
	if (r == 0)
		r = stream_read(s, &w, &got);
	if (r == 0 && got.len != w.len)
		r = err_set(-EIO, "%zu bytes instead of %zu", got.len, w.len);
	if (r == 0) {
		reply_copy(&got, ret->data);
		cells_native(c, ret->data, n);
	}
	reply_done(&got);
	return r;
}

static int
make(void *arg, struct stream *elements, const struct array_want *want, struct buf *to)
{
	struct csv *c = arg;
	CLEAN(buf_free) struct buf data = {0};
	uint64_t first = want->off / c->width, last = (want->off + want->len - 1) / c->width;
	CLEAN(clean_free) char *line = malloc(c->width);
	CLEAN(clean_free) uint64_t *index = calloc(c->rank + 1, sizeof *index);
	struct axis_cursor *cursor = calloc(c->rank + 1, sizeof *cursor);
	struct csv_making k = {c, want, cursor, index, first, NULL, line};
	int r = line && index && cursor ? 0 : err_set(-ENOMEM, "no memory for lines");
	if (r == 0)
		r = buf_reserve(to, to->len + want->len);
	for (unsigned i = 0; i < c->rank; i++)
		axis_expect(&c->axis[i]);
	if (r == 0)
		r = read_elements(&k, elements, last - first + 1, &data);
	for (unsigned i = 0; i < c->rank && r == 0; i++)
		r = axis_prepare(&c->axis[i], want);
	k.element = data.data;
	if (r == 0)
		r = write_lines(&k, to->data + to->len);
	if (r == 0)
		to->len += want->len;
	for (unsigned i = 0; cursor && i < c->rank; i++)
		axis_cursor_free(&cursor[i]);
	free(cursor);
	return r;
}

static const struct made_ops lines = {.make = make, .free = csv_free};

struct checking {
	struct model *model;
	const struct node *node;
	struct err *failed; /* one a dimension; code 0: it has not */
};

static void
check_coordinate(void *arg, size_t dim)
{
	const struct checking *k = arg;
	CLEAN(node_unrefp) struct node *c = NULL, *now = NULL;
	int r = cf_coordinate(k->model, k->node, (unsigned)dim, &c);
	if (r == 0 && strcmp(c->path, k->node->path) != 0)
		r = model_check(k->model, c->path, &now);
	if (r < 0)
		err_save(r, &k->failed[dim]);
}

/* Metadata of coordinates as fresh as the variable's own are. */
static int
check_coordinates(struct mount *m, const struct node *n)
{
	unsigned rank = n->array->rank;
	CLEAN(clean_free) struct err *failed = calloc(rank + 1, sizeof *failed);
	struct checking k = {m->model, n, failed};
	if (!failed)
		return err_set(-ENOMEM, "no memory for coordinates");
	in_parallel(rank, m->zmap->caps & ZMAP_REMOTE, check_coordinate, &k);
	for (unsigned i = 0; i < rank; i++)
		if (failed[i].code)
			return err_restore(&failed[i]);
	return 0;
}

static const struct made_ops nothing = {.make = NULL};

/* Coordinates belong to the layout, of no length: what changes in them is noticed. */
static int
open_axes(struct mount *m, struct layout *l, struct csv *c)
{
	int r = 0;
	for (unsigned i = 0; i < c->rank && r == 0; i++) {
		struct variable *v = NULL;
		r = axis_open(m, &c->axis[i], &v);
		if (r == 0 && v)
			r = layout_add_made(l, &nothing, NULL, v, 0);
	}
	return r;
}

/* Takes the plan over. */
static int
add_lines(struct mount *m, const struct node *n, uint32_t width, struct csv *c, struct layout *l)
{
	struct variable *v = NULL;
	uint64_t size = c->count * c->width;
	int r = open_axes(m, l, c);
	if (r == 0)
		r = layout_add_text(l, buf_span(&c->header));
	if (r == 0)
		r = variable_get(m, n, width, &v);
	if (r < 0) {
		csv_free(c);
		return r;
	}
	return layout_add_made(l, &lines, c, v, size);
}

static int
lay_out(struct mount *m, const struct node *n, const char *path, struct layout **ret)
{
	CLEAN(layout_unrefp) struct layout *l = NULL;
	uint32_t width = 0;
	struct csv *c = calloc(1, sizeof *c);
	int r = c ? flat_width(m, n, &width) : err_set(-ENOMEM, "no memory for columns");
	if (r == 0)
		r = check_coordinates(m, n);
	if (r == 0)
		r = plan(m, n, width, c);
	if (r == 0)
		r = layout_new(version(n, width, c), &l);
	if (r < 0) {
		if (c)
			csv_free(c);
		return r;
	}
	r = add_lines(m, n, width, c, l);
	if (r == 0)
		*ret = MOVE(l);
	return r;
}

const struct view_ops view_csv = {
	.suffix = ".csv",
	.list = LIST_CSV,
	.applies = applies,
	.measure = measure,
	.lay_out = lay_out,
	.beside = &view_nc,
};
