/* transpose: the same elements with their axes in another order (Zarr V3, "transpose" codec 1.0):
 * axis i of what is stored is axis order[i] of the array. Zarr V2's order F is this with the axes
 * reversed, "F".
 *
 * Only the steps from one element to the next differ between both sides, so one function moves both
 * ways. It merges axes that stay together, then picks the two along which either side is contiguous
 * and goes through that plane in tiles, each in squares of vectors. */
#include "codec/codec.h"

#include "base/check.h"
#include "base/err.h"
#include "codecs/lanes.h"

#include <errno.h>
#include <string.h>

struct transpose {
	unsigned rank;
	uint8_t order[RANK_MAX];
	size_t size;              /* bytes of an element */
	uint64_t shape[RANK_MAX]; /* of what is stored; the outgoing form shows it */
};

/* An axis of the elements to be moved; steps in bytes. */
struct transpose_axis {
	size_t n, in, out;
};

/* One plane: columns are contiguous in out, rows are in in. */
struct plane {
	const uint8_t *in;
	uint8_t *out;
	size_t rows, cols;
	size_t in_step;  /* from column to column */
	size_t out_step; /* from row to row */
	size_t size;
};

/* Of a tile: the cache lines of its columns in `in` and of its rows in `out` fit the second cache
 * together, and each row is long enough for the processor to fetch ahead. In bytes. */
enum { TILE_ROWS = 256, TILE_COLS = 1024 };

/* A square of n × n elements, n of them a vector. */
#define SQUARE(size)                                                                               \
	LANES_INLINE square##size(                                                                 \
		const uint8_t *in, size_t in_step, uint8_t *out, size_t out_step)                  \
	{                                                                                          \
		enum { N = 16 / size };                                                            \
		lanes##size x[16];                                                                 \
		_Pragma("GCC unroll 16") for (unsigned i = 0; i < N; i++)                          \
			memcpy(&x[i], in + i * in_step, 16);                                       \
		lanes##size##_zip(x, N);                                                           \
		_Pragma("GCC unroll 16") for (unsigned i = 0; i < N; i++)                          \
			memcpy(out + i * out_step, &x[i], 16);                                     \
	}

SQUARE(1)
SQUARE(2)
SQUARE(4)
SQUARE(8)

/* Elements one by one: rows [r0, r1), columns [c0, c1). */
LANES_INLINE
move_single(const struct plane *p, size_t size, const size_t r[2], const size_t c[2])
{
	for (size_t i = r[0]; i < r[1]; i++) {
		const uint8_t *in = p->in + i * size + c[0] * p->in_step;
		uint8_t *out = p->out + i * p->out_step + c[0] * size;
		for (size_t j = c[0]; j < c[1]; j++, in += p->in_step, out += size)
			memcpy(out, in, size);
	}
}

/* One tile: squares, and what is left of them at the end of both axes. */
#define TILE(size)                                                                                 \
	static void tile##size(const struct plane *p, const size_t r[2], const size_t c[2])        \
	{                                                                                          \
		enum { N = 16 / size };                                                            \
		size_t rows = r[0] + (r[1] - r[0]) / N * N, cols = c[0] + (c[1] - c[0]) / N * N;   \
		for (size_t i = r[0]; i < rows; i += N) {                                          \
			const uint8_t *in = p->in + i * size;                                      \
			uint8_t *out = p->out + i * p->out_step;                                   \
			for (size_t j = c[0]; j < cols; j += N)                                    \
				square##size(in + j * p->in_step, p->in_step, out + j * size,      \
					p->out_step);                                              \
		}                                                                                  \
		move_single(p, size, (const size_t[]){r[0], rows}, (const size_t[]){cols, c[1]});  \
		move_single(p, size, (const size_t[]){rows, r[1]}, c);                             \
	}

TILE(1)
TILE(2)
TILE(4)
TILE(8)

static void
tile16(const struct plane *p, const size_t r[2], const size_t c[2])
{
	move_single(p, 16, r, c);
}

static void
tile_any(const struct plane *p, const size_t r[2], const size_t c[2])
{
	move_single(p, p->size, r, c);
}

typedef void tiler(const struct plane *, const size_t r[2], const size_t c[2]);

static tiler *
tiler_for(size_t size)
{
	switch (size) {
	case 1: return tile1;
	case 2: return tile2;
	case 4: return tile4;
	case 8: return tile8;
	case 16: return tile16;
	default: return tile_any;
	}
}

static void
move_plane(const struct plane *p)
{
	tiler *tile = tiler_for(p->size);
	size_t rows = p->size < TILE_ROWS / 16 ? TILE_ROWS / p->size : 16;
	size_t cols = p->size < TILE_COLS / 16 ? TILE_COLS / p->size : 16;
	for (size_t r = 0; r < p->rows; r += rows) {
		size_t r_end = p->rows - r < rows ? p->rows : r + rows;
		for (size_t c = 0; c < p->cols; c += cols) {
			size_t c_end = p->cols - c < cols ? p->cols : c + cols;
			tile(p, (const size_t[]){r, r_end}, (const size_t[]){c, c_end});
		}
	}
}

/* Leaves out axes of one element and makes one of neighbours that are neighbours on both sides. */
static unsigned
merge_axes(struct transpose_axis *a, unsigned rank)
{
	unsigned n = 0;
	for (unsigned i = 0; i < rank; i++) {
		if (a[i].n == 1)
			continue;
		struct transpose_axis *last = n ? &a[n - 1] : NULL;
		if (last && last->in == a[i].n * a[i].in && last->out == a[i].n * a[i].out) {
			last->n *= a[i].n;
			last->in = a[i].in;
			last->out = a[i].out;
		} else {
			a[n++] = a[i];
		}
	}
	return n;
}

/* The axis along which `in` is contiguous: in dense data there is one. */
static unsigned
find_rows(const struct transpose_axis *a, unsigned n)
{
	unsigned best = 0;
	for (unsigned i = 1; i < n; i++)
		if (a[i].in < a[best].in)
			best = i;
	return best;
}

/* a: axes in the order of out, slowest first; none of them empty. */
static void
move_all(struct transpose_axis *a, unsigned rank, size_t size, const uint8_t *in, uint8_t *out)
{
	unsigned n = merge_axes(a, rank);
	if (n && a[n - 1].in == size) /* whole runs stay together */
		size *= a[--n].n;
	if (!n) {
		memcpy(out, in, size);
		return;
	}
	struct transpose_axis cols = a[--n], rows = {.n = 1};
	if (n) {
		unsigned y = find_rows(a, n);
		rows = a[y];
		memmove(&a[y], &a[y + 1], (--n - y) * sizeof *a);
	}
	struct plane p = {in, out, rows.n, cols.n, cols.in, rows.out, size};
	size_t at[RANK_MAX] = {0};
	for (;;) {
		move_plane(&p);
		unsigned i = n;
		while (i > 0 && at[i - 1] + 1 == a[i - 1].n) {
			i--;
			p.in -= at[i] * a[i].in;
			p.out -= at[i] * a[i].out;
			at[i] = 0;
		}
		if (i == 0)
			return;
		at[i - 1]++;
		p.in += a[i - 1].in;
		p.out += a[i - 1].out;
	}
}

/* Steps of dense elements in C order of the axes. */
static void
dense_steps(const uint64_t *shape, unsigned rank, size_t size, size_t *ret)
{
	for (unsigned i = rank; i-- > 0;) {
		ret[i] = size;
		size *= shape[i];
	}
}

/* Bytes of the form's elements; SIZE_MAX where that overflows. */
static size_t
dense_bytes(const struct form *form, size_t size)
{
	uint64_t bytes = size;
	for (unsigned i = 0; i < form->rank; i++)
		if (mul_over(bytes, form->shape[i], &bytes) || bytes > SIZE_MAX / 2)
			return SIZE_MAX;
	return bytes;
}

/* form: of the array's side. */
static int
run(const struct transpose *t, const struct form *form, bool decode, struct span in,
	struct buf *out)
{
	if (form->rank != t->rank)
		return err_set(-EINVAL, "%u axes instead of %u", form->rank, t->rank);
	size_t size = form->dtype ? form->dtype->size : t->size, bytes = dense_bytes(form, size);
	if (in.len != bytes)
		return err_set(-EIO, "%zu bytes instead of %zu", in.len, bytes);
	if (bytes > out->cap)
		return err_set(-EIO, "%zu bytes, at most %zu are possible", bytes, out->cap);
	out->len = bytes;
	if (!bytes)
		return 0;
	uint64_t stored_shape[RANK_MAX];
	size_t array[RANK_MAX], stored[RANK_MAX];
	for (unsigned i = 0; i < t->rank; i++)
		stored_shape[i] = form->shape[t->order[i]];
	dense_steps(form->shape, t->rank, size, array);
	dense_steps(stored_shape, t->rank, size, stored);
	struct transpose_axis a[RANK_MAX];
	for (unsigned i = 0; i < t->rank; i++) {
		unsigned o = t->order[i];
		if (decode)
			a[o] = (struct transpose_axis){
				.n = stored_shape[i], .in = stored[i], .out = array[o]};
		else
			a[i] = (struct transpose_axis){
				.n = stored_shape[i], .in = array[o], .out = stored[i]};
	}
	move_all(a, t->rank, size, in.data, out->data);
	return 0;
}

static int
transpose_decode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	return run(state, form, true, in, out);
}

static int
transpose_encode(const void *state, const struct form *form, struct span in, struct buf *out)
{
	int r = buf_reserve(out, in.len);
	return r < 0 ? r : run(state, form, false, in, out);
}

/* "C", "F", or a permutation of the axes. */
static int
read_order(const struct json *j, unsigned rank, uint8_t *ret)
{
	if (!j)
		return err_set(-EINVAL, "no 'order'");
	if (json_is(j, "C") || json_is(j, "F")) {
		for (unsigned i = 0; i < rank; i++)
			ret[i] = (uint8_t)(json_is(j, "C") ? i : rank - 1 - i);
		return 0;
	}
	if (json_type(j) != JSON_TYPE_LIST)
		return err_set(-EINVAL, "'order' is %s", json_type_name(j));
	if (json_count(j) != rank)
		return err_set(-EINVAL, "'order' has %zu axes, the array %u", json_count(j), rank);
	uint32_t seen = 0;
	for (unsigned i = 0; i < rank; i++) {
		uint64_t axis;
		if (json_uint(json_at(j, i), &axis) < 0 || axis >= rank || seen & 1u << axis)
			return err_set(-EINVAL, "'order' is no permutation of %u axes", rank);
		seen |= 1u << axis;
		ret[i] = (uint8_t)axis;
	}
	return 0;
}

static int
transpose_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	if (!in->dtype)
		return err_set(-EINVAL, "bytes have no axes");
	if (in->rank > RANK_MAX)
		return err_set(-ENOTSUP, "%u axes, at most %d are supported", in->rank, RANK_MAX);
	CLEAN(clean_free) struct transpose *t = calloc(1, sizeof *t);
	if (!t)
		return err_set(-ENOMEM, "out of memory");
	t->rank = in->rank;
	t->size = in->dtype->size;
	int r = read_order(config ? json_get(config, "order") : NULL, t->rank, t->order);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < t->rank; i++)
		t->shape[i] = in->shape[t->order[i]];
	out->shape = t->shape;
	*ret = MOVE(t);
	return 0;
}

const struct codec_ops codec_transpose = {
	.ids = (const char *const[]){"transpose", NULL},
	.kind = CODEC_ARRAY,
	.carries = true,
	.open = transpose_open,
	.close = free,
	.decode = transpose_decode,
	.encode = transpose_encode,
};
