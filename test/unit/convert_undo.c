/* What a netCDF file shows of elements leads back to these elements; a number that nothing is shown
 * as leads nowhere. */
#include "check.h"

#include "view/convert.h"

#include <endian.h>
#include <errno.h>
#include <math.h>

enum { TIMES = 20000, ATOM = 16 };

static uint32_t seed = 5;

static uint64_t
random64(void)
{
	uint64_t v = 0;
	for (int i = 0; i < 3; i++)
		v = v << 24 | check_random(&seed);
	/* small ones and those near the ends too */
	switch (check_random(&seed) % 4) {
	case 0: return v >> check_random(&seed) % 64;
	case 1: return ~(v >> check_random(&seed) % 64);
	case 2: return (UINT64_C(1) << check_random(&seed) % 64) + check_random(&seed) % 5 - 2;
	default: return v;
	}
}

static const struct {
	struct dtype type;
	enum nc_type to;
	bool rounds;
} kind[] = {
	{{.kind = DTYPE_BOOL, .size = 1}, NC_TYPE_BYTE},
	{{.kind = DTYPE_INT, .size = 1}, NC_TYPE_BYTE},
	{{.kind = DTYPE_UINT, .size = 1}, NC_TYPE_SHORT},
	{{.kind = DTYPE_UINT, .size = 1}, NC_TYPE_UBYTE},
	{{.kind = DTYPE_INT, .size = 2}, NC_TYPE_SHORT},
	{{.kind = DTYPE_UINT, .size = 2}, NC_TYPE_INT},
	{{.kind = DTYPE_UINT, .size = 2, .big = true}, NC_TYPE_INT},
	{{.kind = DTYPE_UINT, .size = 4}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_UINT, .size = 4, .big = true}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_INT, .size = 8}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_INT, .size = 8, .big = true}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_UINT, .size = 8}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_INT, .size = 8}, NC_TYPE_INT64},
	{{.kind = DTYPE_FLOAT, .size = 2}, NC_TYPE_FLOAT},
	{{.kind = DTYPE_FLOAT, .size = 2, .big = true}, NC_TYPE_FLOAT},
	{{.kind = DTYPE_FLOAT, .size = 4}, NC_TYPE_FLOAT},
	{{.kind = DTYPE_FLOAT, .size = 8, .big = true}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_FLOAT, .size = 4}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_FLOAT, .size = 4, .big = true}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_INT, .size = 1}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_INT, .size = 2, .big = true}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_INT, .size = 4}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_UINT, .size = 1}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_UINT, .size = 2, .big = true}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_COMPLEX, .size = 16}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_BYTES, .size = 5}, NC_TYPE_CHAR},
	{{.kind = DTYPE_UNICODE, .size = 12}, NC_TYPE_CHAR},
	{{.kind = DTYPE_DATETIME, .size = 8}, NC_TYPE_DOUBLE},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_S, .unit_count = 1}, NC_TYPE_DOUBLE,
		true},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_H, .unit_count = 7}, NC_TYPE_DOUBLE,
		true},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_MS, .unit_count = 10}, NC_TYPE_DOUBLE,
		true},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_NS, .unit_count = 1, .big = true},
		NC_TYPE_DOUBLE, true},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_AS, .unit_count = 1}, NC_TYPE_DOUBLE,
		true},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_D, .unit_count = 1}, NC_TYPE_DOUBLE,
		true},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_M, .unit_count = 1}, NC_TYPE_DOUBLE,
		true},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_Y, .unit_count = 5}, NC_TYPE_DOUBLE,
		true},
	{{.kind = DTYPE_TIMEDELTA, .size = 8, .unit = TIME_M, .unit_count = 1}, NC_TYPE_DOUBLE,
		true},
	{{.kind = DTYPE_TIMEDELTA, .size = 8, .unit = TIME_US, .unit_count = 1}, NC_TYPE_DOUBLE,
		true},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_US, .unit_count = 1}, NC_TYPE_INT64},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_US, .unit_count = 10, .big = true},
		NC_TYPE_INT64},
	{{.kind = DTYPE_DATETIME, .size = 8, .unit = TIME_M, .unit_count = 1}, NC_TYPE_INT64},
	{{.kind = DTYPE_TIMEDELTA, .size = 8, .unit = TIME_W, .unit_count = 3}, NC_TYPE_INT64},
};

enum { KINDS = sizeof kind / sizeof *kind };

static void
random_element(const struct dtype *t, uint8_t *to)
{
	for (uint32_t i = 0; i < t->size; i += 8) {
		uint64_t v = random64();
		v = t->big ? htobe64(v) : htole64(v);
		memcpy(to + i, &v, t->size - i < 8 ? t->size - i : 8);
	}
	if (t->kind == DTYPE_BOOL)
		*to &= 1;
	for (uint32_t i = 0; t->kind == DTYPE_UNICODE && i < t->size; i += 4) {
		uint32_t ch = check_random(&seed) % (check_random(&seed) % 2 ? 0x80 : 0x11000);
		memcpy(to + i, &ch, 4);
	}
}

/* Elements that differ may be shown as the same: a NaN's quiet bit, times that were rounded. */
static void
test_there_and_back(unsigned k)
{
	struct convert c = {0};
	uint8_t in[ATOM], out[ATOM], back[ATOM], again[ATOM];
	const struct dtype *t = &kind[k].type;
	CHECK_INT(convert_make(t, kind[k].to, &c), 0);
	for (int i = 0; i < TIMES && !check_failed; i++) {
		random_element(t, in);
		if (convert_run(&c, in, 1, out) < 0)
			continue;
		CHECK_INT(convert_undo(&c, out, c.count, back), 0);
		CHECK_INT(convert_run(&c, back, 1, again), 0);
		bool nan = t->kind == DTYPE_FLOAT && t->size == 2 && (out[0] & 0x7f) == 0x7f &&
			   out[1] & 0x80;
		if (!nan)
			CHECK_MEM(again, out, c.out);
		if (!nan && !kind[k].rounds)
			CHECK_MEM(back, in, c.in);
	}
	if (check_failed)
		fprintf(stderr, "kind %u\n", k);
	convert_free(&c);
}

static bool
is_whole(double d, const struct dtype *t)
{
	bool is_signed = t->kind != DTYPE_UINT;
	double bits = 8 * t->size, most = is_signed ? exp2(bits - 1) : exp2(bits);
	return d == floor(d) && d < most && d >= (is_signed ? -most : 0);
}

/* Is there an element that is shown as these bytes? Any number, and such as are nearly what can
 * be. */
static void
test_back_and_there(unsigned k)
{
	struct convert c = {0};
	uint8_t in[ATOM] = {0}, out[ATOM] = {0}, again[ATOM] = {0};
	const struct dtype *t = &kind[k].type;
	CHECK_INT(convert_make(t, kind[k].to, &c), 0);
	for (int i = 0; i < TIMES && !check_failed; i++) {
		double d;
		uint64_t bits = random64();
		if (i % 3 == 0) {
			memcpy(&d, &bits, 8);
		} else {
			d = (double)(int64_t)bits;
			d = i % 2 ? nextafter(d, 0) : d;
		}
		memcpy(&bits, &d, 8);
		bits = htobe64(bits);
		memcpy(in, &bits, 8);
		int r = convert_undo(&c, in, c.count, out);
		CHECK(r == 0 || r == -ERANGE);
		if (kind[k].to == NC_TYPE_DOUBLE && !kind[k].rounds && t->kind != DTYPE_FLOAT &&
			t->kind != DTYPE_COMPLEX)
			CHECK_INT(r, is_whole(d, t) ? 0 : -ERANGE);
		if (r < 0)
			continue;
		CHECK_INT(convert_run(&c, out, 1, again), 0);
		bool zero = d == 0, nan = t->kind == DTYPE_FLOAT && (in[0] & 0x7f) == 0x7f;
		if (!zero && !nan && t->kind != DTYPE_COMPLEX)
			CHECK_MEM(again, in, c.out);
	}
	if (check_failed)
		fprintf(stderr, "kind %u\n", k);
	convert_free(&c);
}

static int
undo_double(const struct dtype *t, double d, int64_t *ret)
{
	struct convert c = {0};
	uint64_t bits;
	memcpy(&bits, &d, 8);
	bits = htobe64(bits);
	CHECK_INT(convert_make(t, NC_TYPE_DOUBLE, &c), 0);
	int r = convert_undo(&c, (uint8_t *)&bits, 1, (uint8_t *)ret);
	convert_free(&c);
	return r;
}

static void
test_edges(void)
{
	const struct dtype i8 = {.kind = DTYPE_INT, .size = 8}, ms = {.kind = DTYPE_DATETIME,
									.size = 8,
									.unit = TIME_MS,
									.unit_count = 1};
	int64_t v = 1;
	CHECK_INT(undo_double(&i8, -0.0, &v), 0);
	CHECK_INT(v, 0);
	CHECK_INT(undo_double(&i8, 0x1p63, &v), -ERANGE);
	CHECK_INT(undo_double(&i8, -0x1p63, &v), 0);
	CHECK(v == INT64_MIN);
	CHECK_INT(undo_double(&i8, NAN, &v), -ERANGE);
	CHECK_INT(undo_double(&ms, 0.001, &v), 0);
	CHECK_INT(v, 1);
	CHECK_INT(undo_double(&ms, 0.0015, &v), -ERANGE);
	CHECK_INT(undo_double(&ms, NAN, &v), -ERANGE);
	CHECK_INT(undo_double(&ms, INFINITY, &v), -ERANGE);
	CHECK_INT(undo_double(&ms, convert_nat, &v), 0);
	CHECK(v == INT64_MIN);
}

/* The double that a fill value was rounded to is that fill value. */
static void
test_fill(void)
{
	const struct dtype t = {.kind = DTYPE_INT, .size = 8};
	const int64_t fill = INT64_MAX;
	int64_t back;
	uint8_t out[8];
	struct convert c = {0};
	CHECK_INT(convert_make(&t, NC_TYPE_DOUBLE, &c), 0);
	convert_allow(&c, (const uint8_t *)&fill);
	CHECK_INT(convert_run(&c, (const uint8_t *)&fill, 1, out), 0);
	CHECK_INT(convert_undo(&c, out, 1, (uint8_t *)&back), 0);
	CHECK(back == fill);
	convert_free(&c);
}

/* A field in two places of an element of 9 bytes. */
static void
test_places(void)
{
	const struct dtype t = {.kind = DTYPE_UINT, .size = 2};
	const uint64_t want[] = {1, 4, 6, 10, 13, 15}, runs[] = {1, 2, 1, 1, 2, 1};
	struct convert c = {0};
	struct convert_part *part = calloc(2, sizeof *part);
	uint64_t run;
	CHECK_INT(convert_make(&t, NC_TYPE_INT, &c), 0);
	part[0] = (struct convert_part){1, 1};
	part[1] = (struct convert_part){4, 2};
	convert_pick(&c, 9, part, 2);
	for (uint64_t i = 0; i < 6; i++) {
		CHECK_INT(convert_place(&c, i, &run), want[i]);
		CHECK_INT(run, runs[i]);
	}
	convert_free(&c);
}

int
main(void)
{
	for (unsigned k = 0; k < KINDS; k++) {
		test_there_and_back(k);
		test_back_and_there(k);
	}
	test_edges();
	test_fill();
	test_places();
	return check_end();
}
