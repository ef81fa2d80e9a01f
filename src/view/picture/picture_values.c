/* What a picture shows, fetched chunk by chunk, and as numbers. */
#include "view/picture/picture.h"

#include "base/check.h"
#include "base/number.h"
#include "data/grid.h"
#include "view/state.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Along a side: what lies in one chunk. */
struct picture_stretch {
	uint64_t chunk, first,
		n; /* index of the chunk; of those shown, from the first on so many */
};

/* The run that begins at `first`. */
static struct picture_stretch
run_at(const struct picture_side *s, uint64_t first)
{
	uint64_t chunk = first * s->stride / s->chunk;
	return (struct picture_stretch){chunk, first,
		min_u64(s->shown, ceil_div((chunk + 1) * s->chunk, s->stride)) - first};
}

/* Everything that makes sieves. */
struct sifting {
	const struct picture *picture;
	const struct grid *grid;
	uint8_t *to;
	struct sieve *sieve;
	size_t n;
};

/* The sieves of one chunk in each direction; of a photo, of the chunks that have the parts of its
 * pixels. */
static void
add_sieves(struct sifting *k, const struct picture_stretch run[PICTURE_SIDES])
{
	const struct picture *p = k->picture;
	const struct grid *g = k->grid;
	const size_t item = g->item, pixel = item * p->elements;
	const bool photo = p->kind == PICTURE_PHOTO;
	const uint64_t each = photo ? g->chunk[g->rank - 1] : 1;
	for (uint64_t e = 0; e < p->elements; e += each) {
		uint64_t index[RANK_MAX] = {0}, step[PICTURE_SIDES] = {0};
		struct sieve s = {.rows = run[0].n, .columns = run[1].n};
		for (unsigned d = 0; d < p->leading; d++) {
			index[d] = p->index[d] / g->chunk[d];
			s.first += p->index[d] % g->chunk[d] * g->chunk_step[d];
		}
		for (unsigned i = p->kind == PICTURE_CURVE; i < PICTURE_SIDES; i++) {
			const struct picture_side *side = &p->side[i];
			index[side->dim] = run[i].chunk;
			step[i] = side->stride * g->chunk_step[side->dim];
			s.first += (run[i].first * side->stride - run[i].chunk * side->chunk) *
				   g->chunk_step[side->dim];
		}
		if (photo)
			index[g->rank - 1] = e / each;
		s.chunk = grid_number(g, index);
		s.row_step = step[PICTURE_ROWS];
		s.column_step = step[PICTURE_COLUMNS];
		s.bytes = item * min_u64(each, p->elements - e);
		s.to_step = p->side[PICTURE_COLUMNS].shown * pixel;
		s.to_column = pixel;
		s.to = k->to + run[0].first * s.to_step + run[1].first * pixel + e * item;
		k->sieve[k->n++] = s;
	}
}

int
picture_elements(const struct picture *p, struct stream *elements, const struct array_want *want,
	uint8_t **ret)
{
	const struct array_meta *a = p->node->array;
	const struct picture_side *rows = &p->side[PICTURE_ROWS],
				  *columns = &p->side[PICTURE_COLUMNS];
	struct grid g;
	int r = grid_init(&g, a->rank, a->shape, a->chunk, a->dtype.size);
	if (r < 0)
		return err_add(r, "no picture");
	CLEAN(clean_free)
	uint8_t *to = malloc(rows->shown * columns->shown * a->dtype.size * p->elements);
	CLEAN(clean_free) struct sieve *sieve = calloc(p->chunks_most, sizeof *sieve);
	struct sifting k = {p, &g, to, sieve, 0};
	struct picture_stretch run[PICTURE_SIDES];
	if (!to || !sieve)
		return err_set(-ENOMEM, "no memory for a picture");
	for (uint64_t y = 0; y < rows->shown; y += run[0].n) {
		run[0] = run_at(rows, y);
		for (uint64_t x = 0; x < columns->shown; x += run[1].n) {
			run[1] = run_at(columns, x);
			add_sieves(&k, run);
		}
	}
	r = stream_sift(elements, want, sieve, k.n);
	if (r == 0)
		*ret = MOVE(to);
	return r;
}

static double
number_of(const struct dtype *t, bool without_sign, const uint8_t *p)
{
	unsigned size = t->kind == DTYPE_COMPLEX ? t->size / 2 : t->size;
	uint64_t bits = number_bits(p, size, t->big);
	switch (t->kind) {
	case DTYPE_FLOAT: return number_of_bits(bits, size);
	case DTYPE_COMPLEX:
		return hypot(number_of_bits(bits, size),
			number_of_bits(number_bits(p + size, size, t->big), size));
	case DTYPE_BOOL: return bits != 0;
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA:
		return bits == (uint64_t)INT64_MIN ? (double)NAN : (double)(int64_t)bits;
	case DTYPE_INT:
		if (!without_sign) /* the sign goes on to the left */
			return (double)((int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
		return (double)bits;
	default: return (double)bits;
	}
}

static bool
is_missing(const struct picture_meaning *k, double v)
{
	for (size_t i = 0; i < k->nmissing; i++)
		if (v == k->missing[i])
			return true;
	return false;
}

int
picture_numbers(const struct picture *p, const struct picture_meaning *k, const uint8_t *elements,
	bool unpacked, double **ret)
{
	const struct dtype *t = &p->node->array->dtype;
	size_t n = p->side[0].shown * p->side[1].shown;
	double *v = malloc(n * sizeof *v);
	if (!v)
		return err_set(-ENOMEM, "no memory for a picture");
	for (size_t i = 0; i < n; i++) {
		v[i] = number_of(t, k->without_sign, elements + i * t->size);
		if (is_missing(k, v[i]))
			v[i] = (double)NAN;
		else if (unpacked)
			v[i] = v[i] * k->factor + k->offset;
	}
	*ret = v;
	return 0;
}

/* --- order --- */

enum { DIGIT = 16, DIGITS = 1 << DIGIT };

/* Whole numbers in the order of the reals. */
static uint64_t
rank_of(double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double
of_rank(uint64_t rank)
{
	uint64_t bits = rank >> 63 ? rank & ~(UINT64_C(1) << 63) : ~rank;
	double v;
	memcpy(&v, &bits, sizeof v);
	return v;
}

/* The one with number k in their order, digit by digit from the highest. */
static double
in_order(const double *v, size_t n, size_t k, size_t *count)
{
	uint64_t known = 0;
	for (int shift = 64 - DIGIT; shift >= 0; shift -= DIGIT) {
		memset(count, 0, DIGITS * sizeof *count);
		for (size_t i = 0; i < n; i++) {
			uint64_t rank = rank_of(v[i]);
			bool same = shift == 64 - DIGIT || rank >> (shift + DIGIT) == known;
			count[rank >> shift & (DIGITS - 1)] += same && isfinite(v[i]);
		}
		uint64_t digit = 0;
		for (; k >= count[digit]; digit++)
			k -= count[digit];
		known = known << DIGIT | digit;
	}
	return of_rank(known);
}

void
picture_quantile(const double *v, size_t n, double part, double *ret)
{
	size_t finite = 0;
	for (size_t i = 0; i < n; i++)
		finite += (bool)isfinite(v[i]);
	CLEAN(clean_free) size_t *count = malloc(DIGITS * sizeof *count);
	if (!finite || !count)
		return;
	double at = part * (double)(finite - 1), rest = at - floor(at);
	double a = in_order(v, n, (size_t)at, count), b = a;
	if (rest > 0)
		b = in_order(v, n, (size_t)at + 1, count);
	*ret = rest < 0.5 ? a + (b - a) * rest : b - (b - a) * (1 - rest);
}
