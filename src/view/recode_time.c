#include "view/recode_time.h"

#include "view/recode.h"
#include "view/recode_bytes.h"

#include <math.h>

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

const double recode_nat = 0x1.ep+122;

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
scaled(const struct recode *c, int64_t v)
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
time_to_double(const struct recode *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		int64_t v = (int64_t)load64(in + 8 * i, c->swap);
		store_double(out + 8 * i, v == NAT ? recode_nat : v == 0 ? 0 : scaled(c, v));
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
months_to_days(const struct recode *c, const uint8_t *in, uint64_t n, uint8_t *out)
{
	for (uint64_t i = 0; i < n; i++) {
		int64_t v = (int64_t)load64(in + 8 * i, c->swap);
		wide days = v == NAT ? 0 : days_of_months((wide)v * (wide)c->mul);
		store_double(out + 8 * i, v == NAT ? recode_nat : (double)days);
	}
	return 0;
}

/* How times are counted: a number n of the type is n × mul / div of the unit. */
struct counting {
	const char *unit, *exact; /* in double; in int64, NULL: not there */
	uint64_t mul, div;
};

static const struct counting counting[] = {
	[TIME_Y] = {"days", NULL, 12, 1},
	[TIME_M] = {"days", NULL, 1, 1},
	[TIME_W] = {"days", NULL, 7, 1},
	[TIME_D] = {"days", "days", 1, 1},
	[TIME_H] = {"seconds", "hours", 3600, 1},
	[TIME_MIN] = {"seconds", "minutes", 60, 1},
	[TIME_S] = {"seconds", "seconds", 1, 1},
	[TIME_MS] = {"seconds", "milliseconds", 1, 1000},
	[TIME_US] = {"seconds", "microseconds", 1, 1000000},
	[TIME_NS] = {"seconds", "nanoseconds", 1, 1000000000},
	[TIME_PS] = {"seconds", NULL, 1, 1000000000000},
	[TIME_FS] = {"seconds", NULL, 1, 1000000000000000},
	[TIME_AS] = {"seconds", NULL, 1, 1000000000000000000},
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
recode_time_unit(const struct dtype *t, enum nc_type type)
{
	if (!is_time(t))
		return NULL;
	if (type == NC_TYPE_INT64)
		return t->unit_count == 1 ? counting[t->unit].exact : NULL;
	/* Months have no length of their own. */
	if (t->kind == DTYPE_TIMEDELTA && in_months(t))
		return t->unit == TIME_Y ? "years" : "months";
	return counting[t->unit].unit;
}

bool
recode_time_make(const struct dtype *t, struct recode *c)
{
	if (!is_time(t))
		return false;
	bool months = in_months(t);
	c->atoms = months && t->kind == DTYPE_DATETIME ? months_to_days : time_to_double;
	c->mul = counting[t->unit].mul;
	c->div = counting[t->unit].div;
	if (months && t->kind == DTYPE_TIMEDELTA)
		c->mul = 1;
	c->mul *= t->unit_count ? t->unit_count : 1;
	c->atom_out = 8;
	return true;
}
