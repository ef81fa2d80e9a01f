/* Shortest decimals against printf and strtod: they come back, and no shorter one does. */
#include "check.h"

#include "base/number.h"

#include <math.h>

static uint64_t state = 88172645463325252u;

static uint64_t
random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static int
digits_of(const char *text)
{
	int n = 0, zeros = 0;
	for (; *text && *text != 'e'; text++)
		if (*text >= '0' && *text <= '9') {
			zeros = *text == '0' ? zeros + 1 : 0;
			n += n || *text != '0';
		}
	return n - zeros > 0 ? n - zeros : n > 0;
}

static const char *
shown_double(double v)
{
	static char text[NUMBER_DOUBLE + 1];
	size_t n = number_double(v, text);
	CHECK(n <= NUMBER_DOUBLE);
	text[n] = 0;
	return text;
}

static const char *
shown_float(float v)
{
	static char text[NUMBER_FLOAT + 1];
	size_t n = number_float(v, text);
	CHECK(n <= NUMBER_FLOAT);
	text[n] = 0;
	return text;
}

static void
check_double(double v)
{
	char want[64];
	const char *got = shown_double(v);
	if (!isfinite(v))
		return;
	double back = strtod(got, NULL);
	CHECK(memcmp(&back, &v, sizeof v) == 0);
	int p = 1;
	do
		snprintf(want, sizeof want, "%.*e", p - 1, v);
	while (strtod(want, NULL) != v && p++ < 17);
	if (v != 0 && digits_of(got) > p)
		fprintf(stderr, "%s is longer than %s\n", got, want);
	CHECK(v == 0 || digits_of(got) <= p);
}

static void
check_float(float v)
{
	char want[64];
	const char *got = shown_float(v);
	if (!isfinite(v))
		return;
	float back = strtof(got, NULL);
	CHECK(memcmp(&back, &v, sizeof v) == 0);
	int p = 1;
	do
		snprintf(want, sizeof want, "%.*e", p - 1, (double)v);
	while (strtof(want, NULL) != v && p++ < 9);
	if (v != 0 && digits_of(got) > p)
		fprintf(stderr, "%s is longer than %s\n", got, want);
	CHECK(v == 0 || digits_of(got) <= p);
}

static void
test_known(void)
{
	static const struct {
		double v;
		const char *want;
	} rows[] = {
		{0, "0.0"},
		{-0.0, "-0.0"},
		{1, "1.0"},
		{-273.15, "-273.15"},
		{0.1, "0.1"},
		{1e-4, "0.0001"},
		{1e-5, "1e-05"},
		{123456789012345680, "1.2345678901234568e+17"},
		{1234567890123456, "1234567890123456.0"},
		{1e16, "1e+16"},
		{1e22, "1e+22"},
		{1e23, "1e+23"},
		{9.969209968386869e36, "9.969209968386869e+36"},
		{5e-324, "5e-324"},
		{-2.2250738585072014e-308, "-2.2250738585072014e-308"},
		{1.7976931348623157e308, "1.7976931348623157e+308"},
		{1.0 / 3, "0.3333333333333333"},
		{0x1p-808,
			"5.858190679279809e-244"}, /* the nearest of 16 digits is another number */
		{-0x1p172, "-5.986310706507379e+51"},
		{9007199254740993, "9007199254740992.0"},
		{(double)NAN, "NaN"},
		{(double)INFINITY, "Inf"},
		{-(double)INFINITY, "-Inf"},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		CHECK_STR(shown_double(rows[i].v), rows[i].want);
	CHECK_STR(shown_float(0.1f), "0.1");
	CHECK_STR(shown_float(16777216.0f), "16777216.0");
	CHECK_STR(shown_float(1e9f), "1e+09");
	CHECK_STR(shown_float(9.96921e36f), "9.96921e+36");
	CHECK_STR(shown_float(-1.17549435e-38f), "-1.1754944e-38");
	CHECK_STR(shown_float(1e-45f), "1e-45");
	CHECK_STR(shown_float(3.4028235e38f), "3.4028235e+38");
	CHECK_STR(shown_float(-0.00012345678f), "-0.00012345678");
}

static void
test_random(void)
{
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = random_bits();
		double d;
		float f;
		memcpy(&d, &bits, sizeof d);
		check_double(d);
		uint32_t half = (uint32_t)bits;
		memcpy(&f, &half, sizeof f);
		check_float(f);
		check_double((double)(int64_t)(bits % 2000000) / 1000);
		check_float((float)(int64_t)(bits % 2000000) / 1000 - 1000);
		check_double(ldexp(1, (int)(bits % 2090) - 1070));
		check_double(ldexp((double)bits, (int)(bits % 128) - 100));
	}
	for (int e = -149; e < 128; e++)
		check_float(ldexpf(1, e));
}

/* All of them. */
static void
test_halves(void)
{
	for (uint32_t h = 0; h < 65536; h++) {
		char text[NUMBER_HALF + 1];
		size_t n = number_half((uint16_t)h, text);
		CHECK(n <= NUMBER_HALF);
		text[n] = 0;
		float v = number_of_half((uint16_t)h), back = strtof(text, NULL);
		if (!isfinite(v))
			continue;
		/* nearer to this one than to the neighbour on that side */
		bool above = fabsf(back) > fabsf(v);
		float other = number_of_half((uint16_t)(above ? h + 1 : h - 1));
		if (back != v && isfinite(other))
			CHECK(fabsf(back - v) <= fabsf(other - v) / 2);
	}
}

/* Small ones have fewer digits than others of the type. */
static void
test_small_halves(void)
{
	static const char *const want[] = {"0.0", "6e-08", "1e-07", "2e-07", "2.4e-07"};
	for (uint16_t h = 0; h < sizeof want / sizeof want[0]; h++) {
		char text[NUMBER_HALF + 1];
		text[number_half(h, text)] = 0;
		CHECK_STR(text, want[h]);
	}
}

static void
test_cdl(void)
{
	static const struct {
		double v;
		const char *want, *as_float;
	} rows[] = {
		{0, "0.", "0."},
		{-0.0, "-0.", "-0."},
		{-5, "-5.", "-5."},
		{0.1, "0.1", "0.1"},
		{123456, "123456.", "123456."},
		{1234567, "1234567.", "1234567."},
		{2e6, "2000000.", "2000000."},
		{1e7, "10000000.", "1.e+07"},
		{1e14, "100000000000000.", "1.e+14"},
		{1e15, "1.e+15", "1.e+15"},
		{1e-4, "0.0001", "0.0001"},
		{1.5e-5, "1.5e-05", "1.5e-05"},
		{12345678901234567, "12345678901234568.", "1.2345678e+16"},
		{-1.7976931348623157e308, "-1.7976931348623157e+308", "-Infinity"},
		{(double)NAN, "NaN", "NaN"},
		{(double)INFINITY, "Infinity", "Infinity"},
	};
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[NUMBER_DOUBLE + 1];
		text[number_cdl_double(rows[i].v, text)] = 0;
		CHECK_STR(text, rows[i].want);
		text[number_cdl_float((float)rows[i].v, text)] = 0;
		CHECK_STR(text, rows[i].as_float);
	}
}

static void
test_integers(void)
{
	static const int64_t v[] = {0, 7, -1, 10, INT64_MAX, INT64_MIN};
	for (unsigned i = 0; i < sizeof v / sizeof v[0]; i++) {
		char text[NUMBER_INT + 1], want[32];
		text[number_int(v[i], text)] = 0;
		snprintf(want, sizeof want, "%" PRId64, v[i]);
		CHECK_STR(text, want);
	}
	char text[NUMBER_INT + 1];
	text[number_uint(UINT64_MAX, text)] = 0;
	CHECK_STR(text, "18446744073709551615");
}

int
main(void)
{
	test_known();
	test_random();
	test_halves();
	test_small_halves();
	test_cdl();
	test_integers();
	return check_end();
}
