#include "view/convert_time.h"

#include "base/err.h"
#include "view/convert.h"
#include "view/convert_bytes.h"
#include "view/convert_undo.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

const double convert_nat = 0x1.ep+122;

static const int64_t NAT = INT64_MIN;

static unsigned
leading_zeros(uwide v)
{
	uint64_t high = (uint64_t)(v >> 64);
	return high ? (unsigned)__builtin_clzll(high) : 64 + (unsigned)__builtin_clzll((uint64_t)v);
}

/* The double nearest to n/d, n > 0. */
static double
nearest(uwide n, uint64_t d)
{
	unsigned up = leading_zeros(n);
	n <<= up;
	uwide q = n / d; /* of 64 bits at least */
	bool rest = q * d != n;
	unsigned down = 128 - leading_zeros(q) - (DOUBLE_BITS + 2);
	rest |= (q & (((uwide)1 << down) - 1)) != 0;
	uint64_t bits = (uint64_t)(q >> down) |
			rest; /* two bits more than a double, the last for all below */
	return ldexp((double)bits, (int)down - (int)up);
}

static double
scaled(const struct convert *c, int64_t v)
{
	static const uint64_t all = UINT64_C(1) << DOUBLE_BITS;
	uint64_t magnitude = v < 0 ? -(uint64_t)v : (uint64_t)v;
	double d;
	if (c->mul == 1 && magnitude <= all && c->div <= all)
		d = (double)magnitude / (double)c->div;
	else
		d = nearest((uwide)magnitude * c->mul, c->div);
	return v < 0 ? -d : d;
}

static int
time_to_double(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		int64_t v = (int64_t)load64(in + 8 * i, c->swap);
		store_double(out + 8 * i, v == NAT ? convert_nat : v == 0 ? 0 : scaled(c, v));
	}
	return 0;
}

/* The number of a time that lies nearest. */
static wide
number_near(long double v)
{
	v = roundl(v);
	return v <= (long double)NAT ? NAT + 1 : v >= 0x1p63L ? INT64_MAX : (wide)v;
}

/* The nearest of the numbers that are shown as d. */
static bool
unscaled(const struct convert *c, double d, int64_t *ret)
{
	enum { AROUND = 4 };
	const long double near = (long double)d * (long double)c->div / (long double)c->mul;
	if (!(fabsl(near) < 0x1p64L))
		return false;
	const wide v = number_near(near);
	for (int i = 0; i <= 2 * AROUND; i++) {
		wide w = v + (i % 2 ? -(i + 1) / 2 : i / 2);
		if (w && w > INT64_MIN && w <= INT64_MAX && scaled(c, (int64_t)w) == d) {
			*ret = (int64_t)w;
			return true;
		}
	}
	return false;
}

static void
put_time(const struct convert *c, int64_t v, uint8_t *out)
{
	uint64_t bits = c->swap ? __builtin_bswap64((uint64_t)v) : (uint64_t)v;
	memcpy(out, &bits, sizeof bits);
}

static int
refuse(int64_t v)
{
	return err_set(
		-EIO, "a time is %" PRId64 ", which 64 bits do not hold in the file's unit", v);
}

static bool
in_64_bits(wide v)
{
	return v > NAT && v <= INT64_MAX;
}

static bool
is_fill(const struct convert *c, int64_t v)
{
	bool is = false;
	for (unsigned i = 0; i < c->nfills; i++)
		is |= c->fill[i] == (uint64_t)v;
	return is;
}

/* As the file has it. A fill value may lie too far away for the file's unit: it is no time, as NaT
 * is none. */
static int
put_whole(const struct convert *c, int64_t v, wide whole, uint8_t *out)
{
	if (v == NAT || (!in_64_bits(whole) && is_fill(c, v)))
		whole = NAT;
	else if (!in_64_bits(whole))
		return refuse(v);
	store64(out, (uint64_t)whole);
	return 0;
}

static int
time_to_int64(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		int64_t v = (int64_t)load64(in + 8 * i, c->swap);
		const wide whole = v == NAT ? 0 : (wide)v * (wide)c->mul;
		int r = put_whole(c, v, whole, out + 8 * i);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
int64_to_time(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		const int64_t v = (int64_t)load_big64(in + 8 * i);
		if (v != NAT && (wide)v % (wide)c->mul)
			return undo_refuse((double)v);
		put_time(c, v == NAT ? v : (int64_t)((wide)v / (wide)c->mul), out + 8 * i);
	}
	return 0;
}

static int
double_to_time(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		double d = load_double(in + 8 * i);
		int64_t v = d == convert_nat ? NAT : 0;
		if (d != 0 && d != convert_nat && !unscaled(c, d, &v))
			return undo_refuse(d);
		put_time(c, v, out + 8 * i);
	}
	return 0;
}

static wide
floor_div(wide a, int b)
{
	return a / b - (a % b < 0);
}

/* Days before a year of the proleptic Gregorian calendar, from one that does not matter. */
static wide
days_before(wide year)
{
	wide y = year - 1;
	return 365 * y + floor_div(y, 4) - floor_div(y, 100) + floor_div(y, 400);
}

static wide
days_of_months(wide months)
{
	static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	enum { EPOCH = 1970, YEAR = 12, MARCH = 2 };
	wide year = EPOCH + floor_div(months, YEAR);
	int month = (int)(months - (year - EPOCH) * YEAR);
	bool leap = days_before(year + 1) - days_before(year) == 366;
	return days_before(year) - days_before(EPOCH) + before[month] + (leap && month >= MARCH);
}

static int
months_to_days(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		int64_t v = (int64_t)load64(in + 8 * i, c->swap);
		wide days = v == NAT ? 0 : days_of_months((wide)v * (wide)c->mul);
		store_double(out + 8 * i, v == NAT ? convert_nat : (double)days);
	}
	return 0;
}

static int
months_to_whole_days(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		int64_t v = (int64_t)load64(in + 8 * i, c->swap);
		const wide days = v == NAT ? 0 : days_of_months((wide)v * (wide)c->mul);
		int r = put_whole(c, v, days, out + 8 * i);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Multiples of months: the one that begins on that day, of which `rounded` has the nearest double
 * where days are doubles. */
static bool
months_of_days(const struct convert *c, long double day, bool rounded, int64_t *ret)
{
	enum { AROUND = 3 };
	static const long double MONTH = 30.436875L; /* days, the mean of 400 years */
	const long double near = day / MONTH / (long double)c->mul;
	if (!(fabsl(near) < 0x1p64L))
		return false;
	const wide at = number_near(near);
	for (wide v = at - AROUND; v <= at + AROUND; v++) {
		const wide days = days_of_months(v * (wide)c->mul);
		if (in_64_bits(v) && (rounded ? (double)days == (double)day : days == (wide)day)) {
			*ret = (int64_t)v;
			return true;
		}
	}
	return false;
}

static int
days_to_months(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		double d = load_double(in + 8 * i);
		int64_t v = NAT;
		if (d != convert_nat && !months_of_days(c, d, true, &v))
			return undo_refuse(d);
		put_time(c, v, out + 8 * i);
	}
	return 0;
}

static int
whole_days_to_months(const struct convert *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		const int64_t days = (int64_t)load_big64(in + 8 * i);
		int64_t v = NAT;
		if (days != NAT && !months_of_days(c, days, false, &v))
			return undo_refuse((double)days);
		put_time(c, v, out + 8 * i);
	}
	return 0;
}

/* How times are counted: a number n of the type is n × mul / div of the unit, n × times of the
 * exact one. */
struct counting {
	const char *unit, *exact; /* in double; in int64, NULL: not there */
	uint64_t mul, div, times;
};

static const struct counting counting[] = {
	[TIME_Y] = {"days", "days", 12, 1, 12},
	[TIME_M] = {"days", "days", 1, 1, 1},
	[TIME_W] = {"days", "days", 7, 1, 7},
	[TIME_D] = {"days", "days", 1, 1, 1},
	[TIME_H] = {"seconds", "hours", 3600, 1, 1},
	[TIME_MIN] = {"seconds", "minutes", 60, 1, 1},
	[TIME_S] = {"seconds", "seconds", 1, 1, 1},
	[TIME_MS] = {"seconds", "milliseconds", 1, 1000, 1},
	[TIME_US] = {"seconds", "microseconds", 1, 1000000, 1},
	[TIME_NS] = {"seconds", "nanoseconds", 1, 1000000000, 1},
	[TIME_PS] = {"seconds", NULL, 1, 1000000000000, 0},
	[TIME_FS] = {"seconds", NULL, 1, 1000000000000000, 0},
	[TIME_AS] = {"seconds", NULL, 1, 1000000000000000000, 0},
};

static bool
is_time(const struct dtype *t)
{
	return (t->kind == DTYPE_DATETIME || t->kind == DTYPE_TIMEDELTA) && t->unit != TIME_GENERIC;
}

static bool
in_months(const struct dtype *t)
{
	return t->unit == TIME_Y || t->unit == TIME_M;
}

const char *
convert_time_unit(const struct dtype *t, enum nc_type type)
{
	if (!is_time(t))
		return NULL;
	/* Months have no length of their own. */
	if (t->kind == DTYPE_TIMEDELTA && in_months(t))
		return t->unit == TIME_Y ? "years" : "months";
	return type == NC_TYPE_INT64 ? counting[t->unit].exact : counting[t->unit].unit;
}

bool
convert_time_units(const struct dtype *t, enum nc_type type, char *ret, size_t size)
{
	const char *unit = convert_time_unit(t, type);
	const char *since = t->kind == DTYPE_DATETIME ? " since 1970-01-01" : "";
	if (unit)
		snprintf(ret, size, "%s%s", unit, since);
	return unit;
}

bool
convert_time_make(const struct dtype *t, enum nc_type type, struct convert *c)
{
	if (!is_time(t) || !convert_time_unit(t, type))
		return false;
	const bool whole = type == NC_TYPE_INT64, months = in_months(t);
	const bool calendar = months && t->kind == DTYPE_DATETIME;
	const uint64_t each = months && !calendar ? 1
			      : whole             ? counting[t->unit].times
						  : counting[t->unit].mul;
	const uint64_t mul = each * (t->unit_count ? t->unit_count : 1);
	if (whole && !calendar && mul == 1)
		return false;
	if (calendar) {
		c->atoms = whole ? months_to_whole_days : months_to_days;
		c->undo = whole ? whole_days_to_months : days_to_months;
	} else {
		c->atoms = whole ? time_to_int64 : time_to_double;
		c->undo = whole ? int64_to_time : double_to_time;
	}
	c->mul = mul;
	c->div = counting[t->unit].div;
	c->atom_out = 8;
	return true;
}

bool
convert_time_refuses(const struct convert *c)
{
	return c->atoms == time_to_int64 || c->atoms == months_to_whole_days;
}
