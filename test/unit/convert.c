/* Elements as netCDF files have them. */
#include "check.h"

#include "view/convert.h"

#include <endian.h>
#include <errno.h>
#include <math.h>

static double
big_double(const uint8_t *p)
{
	uint64_t v;
	double d;
	memcpy(&v, p, 8);
	v = be64toh(v);
	memcpy(&d, &v, 8);
	return d;
}

/* What one int64 of the type becomes. *ret_error: of convert_run. */
static double
number(struct dtype t, int64_t v, int *ret_error)
{
	struct convert c = {0};
	uint8_t out[8] = {0};
	uint64_t bits = t.big ? htobe64((uint64_t)v) : htole64((uint64_t)v);
	CHECK_INT(convert_make(&t, NC_TYPE_DOUBLE, &c), 0);
	*ret_error = convert_run(&c, (const uint8_t *)&bits, 1, out);
	convert_free(&c);
	return big_double(out);
}

static void
exact(int64_t v, bool is_signed, int want)
{
	int error;
	for (int big = 0; big < 2; big++) {
		const struct dtype t = {
			.kind = is_signed ? DTYPE_INT : DTYPE_UINT, .size = 8, .big = big};
		double got = number(t, v, &error);
		CHECK_INT(error, want);
		if (want == 0)
			CHECK(got == (is_signed ? (double)v : (double)(uint64_t)v));
	}
}

static void
test_exact(void)
{
	const int64_t all = (int64_t)1 << 53;
	exact(0, true, 0);
	exact(-1, true, 0);
	exact(all, true, 0);
	exact(-all, true, 0);
	exact(all + 1, true, -EIO);
	exact(-all - 1, true, -EIO);
	exact(all + 2, true, 0);
	exact(INT64_MIN, true, 0);
	exact(INT64_MIN + 1, true, -EIO);
	exact(INT64_MAX, true, -EIO);
	exact(-1, false, -EIO);
	exact(INT64_MIN, false, 0);
	exact(all + 1, false, -EIO);
}

/* What may be rounded is. */
static void
test_allowed(void)
{
	const struct dtype t = {.kind = DTYPE_INT, .size = 8};
	struct convert c = {0};
	const int64_t fill = INT64_MIN + 2, other = INT64_MIN + 3;
	uint8_t out[8];
	CHECK_INT(convert_make(&t, NC_TYPE_DOUBLE, &c), 0);
	convert_allow(&c, (const uint8_t *)&fill);
	CHECK_INT(convert_run(&c, (const uint8_t *)&fill, 1, out), 0);
	CHECK(big_double(out) == -0x1p63);
	CHECK_INT(convert_run(&c, (const uint8_t *)&other, 1, out), -EIO);
	convert_free(&c);
}

/* A number that has a double, but that of a rounded fill value, would be taken for missing. */
static void
test_mistaken(void)
{
	const int64_t fill = ((int64_t)1 << 53) + 1;
	for (int is_signed = 0; is_signed < 2; is_signed++) {
		const struct dtype t = {.kind = is_signed ? DTYPE_INT : DTYPE_UINT, .size = 8};
		struct convert c = {0};
		uint8_t out[8];
		CHECK_INT(convert_make(&t, NC_TYPE_DOUBLE, &c), 0);
		convert_allow(&c, (const uint8_t *)&fill);
		for (int64_t v = fill - 2; v <= fill + 3; v++)
			CHECK_INT(convert_run(&c, (const uint8_t *)&v, 1, out),
				v == fill - 1 || v == fill + 2 ? -EIO : 0);
		convert_free(&c);
	}
}

static void
is_time(enum time_unit unit, uint32_t count, int64_t v, double want)
{
	int error;
	const struct dtype t = {
		.kind = DTYPE_DATETIME, .size = 8, .unit = unit, .unit_count = count};
	double got = number(t, v, &error);
	CHECK_INT(error, 0);
	if (got != want)
		fprintf(stderr, "unit %d: %lld is %.20g, not %.20g\n", unit, (long long)v, got,
			want);
	CHECK(got == want);
}

/* As a whole number of the file's unit, or what it is refused with. */
static void
is_whole_time(enum time_unit unit, uint32_t count, int64_t v, int64_t want)
{
	for (int big = 0; big < 2; big++) {
		const struct dtype t = {.kind = DTYPE_DATETIME,
			.size = 8,
			.unit = unit,
			.unit_count = count,
			.big = big};
		struct convert c = {0};
		const uint64_t in = big ? htobe64((uint64_t)v) : htole64((uint64_t)v);
		uint64_t out = 0, back = 0;
		CHECK_INT(convert_make(&t, NC_TYPE_INT64, &c), 0);
		const int r = convert_run(&c, (const uint8_t *)&in, 1, (uint8_t *)&out);
		CHECK_INT(r, want == -EIO ? -EIO : 0);
		if (r == 0) {
			CHECK((int64_t)be64toh(out) == want);
			CHECK_INT(convert_undo(&c, (const uint8_t *)&out, 1, (uint8_t *)&back), 0);
			CHECK(back == in);
		}
		convert_free(&c);
	}
}

/* A fill value that lies too far away is no time; its neighbour is one that cannot be had. */
static void
is_far_fill(enum time_unit unit)
{
	const struct dtype t = {.kind = DTYPE_DATETIME, .size = 8, .unit = unit, .unit_count = 10};
	const int64_t fill = INT64_MAX, beside = INT64_MAX - 1;
	struct convert c = {0};
	int64_t out = 0;
	CHECK_INT(convert_make(&t, NC_TYPE_INT64, &c), 0);
	convert_allow(&c, (const uint8_t *)&fill);
	CHECK_INT(convert_run(&c, (const uint8_t *)&fill, 1, (uint8_t *)&out), 0);
	CHECK((int64_t)be64toh((uint64_t)out) == INT64_MIN);
	CHECK_INT(convert_run(&c, (const uint8_t *)&beside, 1, (uint8_t *)&out), -EIO);
	convert_free(&c);
}

static void
test_whole_times(void)
{
	is_far_fill(TIME_US);
	is_far_fill(TIME_M);
	is_whole_time(TIME_US, 1, INT64_MAX, INT64_MAX);
	is_whole_time(TIME_US, 10, 7, 70);
	is_whole_time(TIME_US, 10, -136663172, -1366631720);
	is_whole_time(TIME_US, 10, INT64_MAX / 10, INT64_MAX / 10 * 10);
	is_whole_time(TIME_US, 10, INT64_MAX / 10 + 1, -EIO);
	is_whole_time(TIME_US, 10, INT64_MIN, INT64_MIN);
	is_whole_time(TIME_S, 2, INT64_MIN / 2, -EIO); /* would be NaT */
	is_whole_time(TIME_S, 2, INT64_MIN / 2 + 1, INT64_MIN + 2);
	is_whole_time(TIME_H, 3, -246094220, -738282660);
	is_whole_time(TIME_W, 1, 3, 21);
	is_whole_time(TIME_W, 2, -1, -14);
	is_whole_time(TIME_M, 1, 26, 790);
	is_whole_time(TIME_Y, 5, 6, 10957);
	is_whole_time(TIME_M, 1, INT64_MAX / 31, 9055826508524006586);
	is_whole_time(TIME_Y, 1, INT64_MAX / 300, -EIO);
	is_whole_time(TIME_Y, 1, INT64_MIN, INT64_MIN);
}

static void
test_times(void)
{
	is_time(TIME_S, 1, 5, 5);
	is_time(TIME_H, 1, -3, -10800);
	is_time(TIME_MS, 1, 1, 0.001);
	is_time(TIME_MS, 10, 7, 0.07);
	is_time(TIME_NS, 1, 1500000000123456789, 1500000000.123456789);
	is_time(TIME_NS, 1, -1500000000123456789, -1500000000.123456789);
	is_time(TIME_NS, 1, INT64_MAX, 9223372036.854775807);
	is_time(TIME_AS, 1, 1, 1e-18);
	is_time(TIME_D, 1, 3, 3);
	is_time(TIME_W, 1, 3, 21);
	is_time(TIME_M, 1, 1, 31);
	is_time(TIME_M, 1, 26, 790); /* 1972-03-01 */
	is_time(TIME_M, 1, -1, -31);
	is_time(TIME_Y, 1, 30, 10957);
	is_time(TIME_Y, 1, -1970, -719528);
	is_time(TIME_NS, 1, INT64_MIN, convert_nat);
	is_time(TIME_Y, 1, INT64_MIN, convert_nat);
}

static void
test_half(void)
{
	const struct dtype t = {.kind = DTYPE_FLOAT, .size = 2};
	struct convert c = {0};
	CHECK_INT(convert_make(&t, NC_TYPE_FLOAT, &c), 0);
	for (uint32_t h = 0; h < 1 << 16; h++) {
		uint16_t in = htole16((uint16_t)h);
		uint32_t out;
		CHECK_INT(convert_run(&c, (const uint8_t *)&in, 1, (uint8_t *)&out), 0);
		out = be32toh(out);
		float got;
		memcpy(&got, &out, 4);
		int exponent = (int)(h >> 10 & 31);
		float fraction = (float)(h & 1023);
		float want = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
			     : exponent     ? ldexpf(1024 + fraction, exponent - 25)
					    : ldexpf(fraction, -24);
		want = h & 0x8000 ? -want : want;
		bool same =
			isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want);
		CHECK(same);
	}
	convert_free(&c);
}

static void
test_text(void)
{
	const struct dtype t = {.kind = DTYPE_UNICODE, .size = 16};
	struct convert c = {0};
	const uint32_t in[2][4] = {{'a', 0xe9, 0x6e29, 0x1f600}, {0xd800, 0, 0, 0}};
	uint8_t out[16];
	CHECK_INT(convert_make(&t, NC_TYPE_CHAR, &c), 0);
	CHECK_INT(c.out, 16);
	CHECK_INT(convert_run(&c, (const uint8_t *)in[0], 1, out), 0);
	CHECK_MEM(out, "a\xc3\xa9\xe6\xb8\xa9\xf0\x9f\x98\x80\0\0\0\0\0\0", 16);
	CHECK_INT(convert_run(&c, (const uint8_t *)in[1], 1, out), -EIO);
	convert_free(&c);
}

/* A field in two places of an element. */
static void
test_parts(void)
{
	const struct dtype t = {.kind = DTYPE_UINT, .size = 2};
	struct convert c = {0};
	struct convert_part *part = calloc(2, sizeof *part);
	uint8_t in[2 * 9], out[2 * 3 * 4];
	for (int i = 0; i < 18; i++)
		in[i] = (uint8_t)i;
	part[0] = (struct convert_part){1, 1};
	part[1] = (struct convert_part){4, 2};
	CHECK_INT(convert_make(&t, NC_TYPE_INT, &c), 0);
	convert_pick(&c, 9, part, 2);
	CHECK_INT(c.out, 12);
	CHECK_INT(convert_run(&c, in, 2, out), 0);
	CHECK_MEM(out, "\0\0\2\1\0\0\5\4\0\0\7\6\0\0\13\12\0\0\16\15\0\0\20\17", 24);
	convert_free(&c);
}

int
main(void)
{
	test_exact();
	test_allowed();
	test_mistaken();
	test_times();
	test_whole_times();
	test_half();
	test_text();
	test_parts();
	return check_end();
}
