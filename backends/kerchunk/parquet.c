#include "backends/kerchunk/parquet.h"

#include "backends/kerchunk/pages.h"
#include "backends/kerchunk/thrift.h"
#include "base/base64.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum which { PATH, RAW, OFFSET, SIZE, COLUMNS };

static const char *const column_names[COLUMNS] = {
	[PATH] = "path", [RAW] = "raw", [OFFSET] = "offset", [SIZE] = "size"};

enum { MAGIC_BYTES = 4, TAIL = 8, GROUPS_MAX = 4096 };
static const char magic[] = "PAR1";

struct group {
	struct kerchunk_column column[COLUMNS];
	bool has[COLUMNS];
	int64_t rows;
};

struct footer {
	int64_t rows;
	bool optional[COLUMNS], has[COLUMNS];
	struct group *group;
	size_t ngroups;
};

static void
footer_done(struct footer *f)
{
	free(f->group);
}

static int
bad(const char *what)
{
	return err_set(-EIO, "parquet file: %s", what);
}

static int
which_column(struct span name)
{
	for (int i = 0; i < COLUMNS; i++)
		if (strlen(column_names[i]) == name.len &&
			!memcmp(column_names[i], name.data, name.len))
			return i;
	return COLUMNS;
}

/* --- the footer --- */

/* SchemaElement: 3 repetition, 4 name, 5 children. */
static int
read_element(struct kerchunk_thrift *t, bool root, struct footer *ret)
{
	struct kerchunk_thrift_field f = {0};
	struct span name = {0};
	int64_t repetition = 0, children = 0;
	while (kerchunk_thrift_next(t, &f)) {
		if (f.id == 3)
			repetition = kerchunk_thrift_int(t, &f);
		else if (f.id == 4)
			name = kerchunk_thrift_binary(t, &f);
		else if (f.id == 5)
			children = kerchunk_thrift_int(t, &f);
		else
			kerchunk_thrift_skip(t, &f);
	}
	if (root || t->bad)
		return 0;
	if (children || repetition > 1)
		return err_set(-ENOTSUP, "parquet file with nested columns");
	int which = which_column(name);
	if (which < COLUMNS) {
		ret->has[which] = true;
		ret->optional[which] = repetition == 1;
	}
	return 0;
}

static int
read_schema(struct kerchunk_thrift *t, const struct kerchunk_thrift_field *list, struct footer *ret)
{
	struct kerchunk_thrift_field e;
	uint32_t n = kerchunk_thrift_list(t, list, &e);
	for (uint32_t i = 0; i < n && !t->bad; i++) {
		int r = read_element(t, i == 0, ret);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ColumnMetaData: 1 type, 3 path, 4 codec, 5 values, 9 first data page, 11 dictionary page. */
static void
read_column(struct kerchunk_thrift *t, struct group *ret)
{
	struct kerchunk_thrift_field f = {0}, e;
	struct kerchunk_column c = {0};
	int which = COLUMNS;
	int64_t data = 0, dictionary = 0, count = 0;
	while (kerchunk_thrift_next(t, &f)) {
		if (f.id == 3) {
			uint32_t n = kerchunk_thrift_list(t, &f, &e);
			for (uint32_t i = 0; i < n && !t->bad; i++)
				which = which_column(kerchunk_thrift_binary(t, &e));
			which = n == 1 ? which : COLUMNS;
			continue;
		}
		int64_t *to = f.id == 1    ? &c.type
			      : f.id == 4  ? &c.codec
			      : f.id == 5  ? &count
			      : f.id == 9  ? &data
			      : f.id == 11 ? &dictionary
					   : NULL;
		if (to)
			*to = kerchunk_thrift_int(t, &f);
		else
			kerchunk_thrift_skip(t, &f);
	}
	c.begin = (uint64_t)(dictionary > 0 && dictionary < data ? dictionary : data);
	c.count = (uint64_t)count;
	t->bad |= data < 0 || count < 0;
	if (which < COLUMNS) {
		ret->column[which] = c;
		ret->has[which] = true;
	}
}

/* ColumnChunk: 3 its metadata. */
static void
read_chunk(struct kerchunk_thrift *t, struct group *ret)
{
	struct kerchunk_thrift_field f = {0};
	while (kerchunk_thrift_next(t, &f)) {
		if (f.id == 3 && f.type == THRIFT_STRUCT)
			read_column(t, ret);
		else
			kerchunk_thrift_skip(t, &f);
	}
}

/* RowGroup: 1 columns, 3 rows. */
static void
read_group(struct kerchunk_thrift *t, struct group *ret)
{
	struct kerchunk_thrift_field f = {0}, e;
	while (kerchunk_thrift_next(t, &f)) {
		if (f.id == 1) {
			uint32_t n = kerchunk_thrift_list(t, &f, &e);
			t->bad |= n && e.type != THRIFT_STRUCT;
			for (uint32_t i = 0; i < n && !t->bad; i++)
				read_chunk(t, ret);
		} else if (f.id == 3) {
			ret->rows = kerchunk_thrift_int(t, &f);
		} else {
			kerchunk_thrift_skip(t, &f);
		}
	}
}

static int
read_groups(struct kerchunk_thrift *t, const struct kerchunk_thrift_field *list, struct footer *ret)
{
	struct kerchunk_thrift_field e;
	uint32_t n = kerchunk_thrift_list(t, list, &e);
	if (n > GROUPS_MAX || ret->group || (n && e.type != THRIFT_STRUCT))
		return bad("too many groups of rows");
	ret->group = calloc(n + 1, sizeof *ret->group);
	if (!ret->group)
		return err_set(-ENOMEM, "no memory for references");
	for (ret->ngroups = 0; ret->ngroups < n && !t->bad; ret->ngroups++)
		read_group(t, &ret->group[ret->ngroups]);
	return 0;
}

/* FileMetaData: 2 schema, 3 rows, 4 groups of rows. */
static int
read_footer(struct span file, struct footer *ret)
{
	if (file.len < MAGIC_BYTES + TAIL)
		return bad("it is cut off");
	const uint8_t *tail = file.data + file.len - TAIL;
	if (memcmp(file.data, magic, MAGIC_BYTES) || memcmp(tail + 4, magic, MAGIC_BYTES))
		return bad("it does not begin and end as one");
	uint64_t len = (uint64_t)tail[0] | (uint64_t)tail[1] << 8 | (uint64_t)tail[2] << 16 |
		       (uint64_t)tail[3] << 24;
	if (len > file.len - MAGIC_BYTES - TAIL)
		return bad("a footer longer than the file");
	struct kerchunk_thrift t = {.at = tail - len, .end = tail};
	struct kerchunk_thrift_field f = {0};
	int r = 0;
	while (r == 0 && kerchunk_thrift_next(&t, &f)) {
		if (f.id == 2)
			r = read_schema(&t, &f, ret);
		else if (f.id == 3)
			ret->rows = kerchunk_thrift_int(&t, &f);
		else if (f.id == 4)
			r = read_groups(&t, &f, ret);
		else
			kerchunk_thrift_skip(&t, &f);
	}
	return r == 0 && t.bad ? bad("its footer makes no sense") : r;
}

/* --- rows --- */

struct filling {
	struct kerchunk_table *table;
	enum which which;
	uint64_t first, rows; /* of the group */
	struct buf scratch;
};

static int
spoil(const struct filling *f, uint64_t row, const char *why)
{
	return kerchunk_table_set(
		f->table, row, &(struct kerchunk_ref){.kind = KERCHUNK_BAD, .why = why});
}

static int
set_path(struct filling *f, uint64_t row, const struct kerchunk_cell *cell)
{
	f->scratch.len = 0;
	if (memchr(cell->bytes.data, 0, cell->bytes.len))
		return spoil(f, row, "a URL with a NUL in it");
	if (buf_add(&f->scratch, cell->bytes.data, cell->bytes.len) < 0 ||
		buf_terminate(&f->scratch) < 0)
		return err_set(-ENOMEM, "no memory for references");
	const struct kerchunk_ref ref = {
		.kind = KERCHUNK_WHOLE, .url = (const char *)f->scratch.data};
	return kerchunk_table_set(f->table, row, &ref);
}

static int
set_raw(struct filling *f, uint64_t row, const struct kerchunk_cell *cell)
{
	static const char base64[] = "base64:";
	const size_t skip = sizeof base64 - 1;
	struct kerchunk_ref ref = {.kind = KERCHUNK_BYTES, .bytes = cell->bytes};
	f->scratch.len = 0;
	if (cell->bytes.len >= skip && !memcmp(cell->bytes.data, base64, skip)) {
		if (base64_decode((const char *)cell->bytes.data + skip, cell->bytes.len - skip,
			    &f->scratch) < 0)
			return spoil(f, row, "a text that is not the base64 it says it is");
		ref.bytes = buf_span(&f->scratch);
	}
	return kerchunk_table_set(f->table, row, &ref);
}

static int
set_cell(void *arg, uint64_t i, const struct kerchunk_cell *cell)
{
	struct filling *f = arg;
	uint64_t row = f->first + i;
	if (cell->null)
		return 0;
	if (f->which == PATH)
		return set_path(f, row, cell);
	if (f->which == RAW)
		return set_raw(f, row, cell);
	if (cell->number < 0)
		return kerchunk_table_spoil(
			f->table, row, "a reference with a negative offset or length");
	if (f->which == OFFSET)
		kerchunk_table_set_offset(f->table, row, (uint64_t)cell->number);
	else
		kerchunk_table_set_length(f->table, row, (uint64_t)cell->number);
	return 0;
}

static int
fill_group(struct span file, const struct footer *foot, const struct group *g, size_t most,
	struct filling *f)
{
	for (unsigned i = 0; i < COLUMNS; i++) {
		if (!foot->has[i])
			continue;
		struct kerchunk_column c = g->column[i];
		bool texts = i == PATH || i == RAW;
		if (!g->has[i] || c.count != f->rows)
			return bad("a column that is not of all rows");
		if ((c.type == PARQUET_BYTE_ARRAY) != texts)
			return err_set(-ENOTSUP, "parquet column '%s' of type %" PRId64,
				column_names[i], c.type);
		c.optional = foot->optional[i];
		f->which = i;
		int r = kerchunk_column_read(file, &c, most, set_cell, f);
		if (r < 0)
			return err_add(r, "column '%s'", column_names[i]);
	}
	return 0;
}

static int
add_rows(struct kerchunk_table *t, uint64_t n)
{
	static const struct kerchunk_ref nothing = {.kind = KERCHUNK_NOTHING};
	int r = kerchunk_table_expect(t, n);
	for (uint64_t i = 0; i < n && r == 0; i++)
		r = kerchunk_table_add(t, NULL, &nothing, false);
	return r;
}

static int
fill(struct span file, const struct footer *foot, size_t most, struct filling *f)
{
	int r = 0;
	for (size_t i = 0; i < foot->ngroups && r == 0; i++) {
		const struct group *g = &foot->group[i];
		if (g->rows < 0)
			return bad("groups of a negative number of rows");
		f->first += f->rows;
		f->rows = (uint64_t)g->rows;
		r = add_rows(f->table, f->rows);
		if (r == 0)
			r = fill_group(file, foot, g, most, f);
	}
	return r == 0 && kerchunk_table_count(f->table) != (uint64_t)foot->rows
		       ? bad("its groups have not the rows that it says")
		       : r;
}

int
kerchunk_parquet_read(struct span file, size_t most, struct kerchunk_table **ret)
{
	CLEAN(footer_done) struct footer foot = {0};
	CLEAN(kerchunk_table_freep) struct kerchunk_table *t = kerchunk_table_new(most);
	struct filling f = {.table = t};
	if (!t)
		return err_set(-ENOMEM, "no memory for references");
	int r = read_footer(file, &foot);
	if (r == 0 && !foot.has[PATH] && !foot.has[RAW])
		r = bad("neither a column 'path' nor 'raw'");
	if (r == 0)
		r = fill(file, &foot, most, &f);
	buf_free(&f.scratch);
	if (r == 0)
		*ret = MOVE(t);
	return r;
}
