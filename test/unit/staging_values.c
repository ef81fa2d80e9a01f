/* Values that an array's codecs cannot store are refused when they are written, and codecs that
 * change values are named. */
#include "staging.h"

#include <errno.h>

#define SCALED "{\"dtype\": \"<f8\", \"astype\": \"|u1\", \"offset\": 10, \"scale\": 2}"
#define LABELS "{\"dtype\": \"<U2\", \"astype\": \"|u1\", \"labels\": [\"ab\", \"cd\"]}"

enum { WIDE = 8 };

struct row {
	struct written_kind kind;
	const char *lossy;
	/* One element that can be stored and one that cannot, of kind.dtype.size bytes. */
	uint8_t good[WIDE], bad[WIDE];
	bool none_bad;
};

static const struct row rows[] = {
	{{"scaled", {.kind = DTYPE_FLOAT, .size = 8}, {{"fixedscaleoffset", SCALED}}, false},
		"fixedscaleoffset", {0, 0, 0, 0, 0, 0, 0x28, 0x40},
		{0, 0, 0, 0, 0, 0x40, 0x7f, 0x40}, false},
	{{"cast", {.kind = DTYPE_INT, .size = 4},
		 {{"astype", "{\"decode_dtype\": \"<i4\", \"encode_dtype\": \"|i1\"}"},
			 {"zlib", "{\"level\": 1}"}},
		 false},
		"", {0x81, 0xff, 0xff, 0xff}, {0x7f, 0xff, 0xff, 0xff}, false},
	{{"labels", {.kind = DTYPE_UNICODE, .size = 8}, {{"categorize", LABELS}}, false}, "",
		{'c', 0, 0, 0, 'd'}, {'x', 0, 0, 0, 'y'}, false},
	{{"boolean", {.kind = DTYPE_BOOL, .size = 1}, {{"packbits", NULL}}, false}, "", {1}, {2},
		false},
	{{"rounded", {.kind = DTYPE_FLOAT, .size = 4}, {{"bitround", "{\"keepbits\": 23}"}}, false},
		"", {0}, {0}, true},
	{{"rounded more", {.kind = DTYPE_FLOAT, .size = 4},
		 {{"bitround", "{\"keepbits\": 3}"}, {"zlib", "{\"level\": 1}"}}, false},
		"bitround", {0}, {0}, true},
};

static void
check_lossy(const struct row *row, const struct array *a)
{
	CLEAN(buf_free) struct buf names = {0};
	CHECK_INT(array_lossy(a, &names), 0);
	CHECK_INT(buf_terminate(&names), 0);
	CHECK_STR(names.data ? (char *)names.data : "", row->lossy);
}

static void
check_refused(const struct row *row, struct written_array *w, struct written *side)
{
	size_t item = row->kind.dtype.size;
	uint8_t both[2 * WIDE + 1];
	memcpy(both, row->good, item);
	memcpy(both + item, row->bad, item);
	struct array_want want = written_want(0, 2 * item);
	CHECK_INT(array_write(side->array, &want, both), -ERANGE);
	written_same(w, side, 0, w->bytes);
	CHECK(!array_is_staged(side->array));
}

/* Half an element is checked when it is stored, with the other half. */
static void
check_halves(const struct row *row, struct written *side)
{
	size_t item = row->kind.dtype.size;
	struct array_want first = written_want(0, 1), rest = written_want(1, item - 1);
	CHECK_INT(array_write(side->array, &first, row->bad), 0);
	CHECK_INT(array_write(side->array, &rest, row->bad + 1), 0);
	CHECK_INT(array_flush(side->array, NULL), -ERANGE);
	CLEAN(buf_free) struct buf said = {0};
	CHECK_INT(data_retry(side->data, &said), 0);
	CHECK(said.len);
	CHECK_INT(array_flush(side->array, NULL), 0);
}

static void
test(const struct row *row)
{
	struct written_array w;
	struct written side;
	const struct data_options o = {.memory = 16 << 20, .workers = 1, .ttl = INT64_MAX};
	struct zmap *z = store_open("", "mem", "values", true);
	size_t item = row->kind.dtype.size;
	written_begin(&w, &row->kind, 1, 8);
	memcpy(w.fill, row->good, item < sizeof w.fill ? item : sizeof w.fill);
	written_fill(&w, w.flat, w.bytes);
	written_open(&w, z, &o, &side);
	CHECK_INT(array_writable(side.array), 0);
	check_lossy(row, side.array);
	if (!row->none_bad && array_bytes(side.array) >= 2 * item) {
		check_refused(row, &w, &side);
		if (item > 1)
			check_halves(row, &side);
	}
	struct array_want want = written_want(0, item);
	CHECK_INT(array_write(side.array, &want, row->good), 0);
	CHECK_INT(array_flush(side.array, NULL), 0);
	written_same(&w, &side, 0, array_bytes(side.array));
	written_close(&side);
	written_end(&w);
	zmap_close(z);
}

/* The fill value cannot be stored, and stands nowhere but behind the edges: what was written is. */
static void
test_edges(const struct row *row)
{
	static const struct written_shape edge = {2, {3, 5}, {2, 4}, {0}};
	struct written_array w;
	struct written side;
	const struct data_options o = {.memory = 16 << 20, .workers = 1, .ttl = INT64_MAX};
	struct zmap *z = store_open("", "mem", "edges", true);
	size_t item = row->kind.dtype.size;
	written_begin_as(&w, &row->kind, &edge);
	memcpy(w.fill, row->bad, item);
	written_open(&w, z, &o, &side);
	for (size_t at = 0; at < w.bytes; at += item)
		memcpy(w.flat + at, row->good, item);
	struct array_want all = written_want(0, w.bytes);
	CHECK_INT(array_write(side.array, &all, w.flat), 0);
	CHECK_INT(array_flush(side.array, NULL), 0);
	written_close(&side);
	written_open(&w, z, &o, &side);
	written_same(&w, &side, 0, w.bytes);
	written_close(&side);
	written_end(&w);
	zmap_close(z);
}

int
main(void)
{
	test_edges(&rows[0]);
	test_edges(&rows[1]);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		test(&rows[i]);
	return check_failed != 0;
}
