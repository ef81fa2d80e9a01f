#include "model/cf_calendar.h"

#include <strings.h>

/* First day of the Gregorian calendar: 1582-10-15. */
enum { GREGORIAN = -141427 };
/* Days and years after which leap years come again, and the days from 0000-03-01 to 1970-01-01. */
enum { ERA = 146097, ERA_YEARS = 400, JULIAN_ERA = 1461, JULIAN_ERA_YEARS = 4 };
enum { EPOCH = 719468, JULIAN_EPOCH = 719470 };
/* Calendars whose years are equally long count from year 0. */
enum { MONTH_OF_360 = 30, MARCH_TO_JANUARY = 306, EPOCH_YEAR = 1970 };

static const struct {
	const char *name;
	enum cf_calendar calendar;
} names[] = {
	{"standard", CF_MIXED},
	{"gregorian", CF_MIXED},
	{"proleptic_gregorian", CF_PROLEPTIC},
	{"julian", CF_JULIAN},
	{"noleap", CF_NOLEAP},
	{"365_day", CF_NOLEAP},
	{"all_leap", CF_ALL_LEAP},
	{"366_day", CF_ALL_LEAP},
	{"360_day", CF_360_DAY},
	{0},
};

bool
cf_calendar_named(const char *name, enum cf_calendar *ret)
{
	for (unsigned i = 0; names[i].name; i++)
		if (strcasecmp(names[i].name, name) == 0) {
			*ret = names[i].calendar;
			return true;
		}
	return false;
}

bool
cf_calendar_has_year_0(enum cf_calendar c)
{
	return c != CF_MIXED && c != CF_JULIAN;
}

int64_t
cf_floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Counting from March makes the leap day a year's last, and months 153/5 days from the first. */
static int64_t
march_year(const struct cf_date *d)
{
	return d->month > 2 ? d->year : d->year - 1;
}

static int64_t
day_in_year(const struct cf_date *d)
{
	int64_t month = d->month > 2 ? d->month - 3 : d->month + 9;
	return (153 * month + 2) / 5 + d->day - 1;
}

static struct cf_date
date_in_year(int64_t year, int64_t day)
{
	int64_t month = (5 * day + 2) / 153;
	return (struct cf_date){
		.year = year + (month >= 10),
		.month = (unsigned)(month < 10 ? month + 3 : month - 9),
		.day = (unsigned)(day - (153 * month + 2) / 5 + 1),
	};
}

static int64_t
gregorian_days(const struct cf_date *d)
{
	int64_t y = march_year(d);
	int64_t leaps = cf_floor_div(y, 4) - cf_floor_div(y, 100) + cf_floor_div(y, 400);
	return 365 * y + leaps + day_in_year(d) - EPOCH;
}

static int64_t
julian_days(const struct cf_date *d)
{
	int64_t y = march_year(d);
	return 365 * y + cf_floor_div(y, 4) + day_in_year(d) - JULIAN_EPOCH;
}

static struct cf_date
gregorian_date(int64_t days)
{
	int64_t z = days + EPOCH, era = cf_floor_div(z, ERA), in_era = z - era * ERA;
	int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	return date_in_year(year + era * ERA_YEARS, in_era - (365 * year + year / 4 - year / 100));
}

static struct cf_date
julian_date(int64_t days)
{
	int64_t z = days + JULIAN_EPOCH, era = cf_floor_div(z, JULIAN_ERA);
	int64_t in_era = z - era * JULIAN_ERA, year = (in_era - in_era / 1460) / 365;
	return date_in_year(year + era * JULIAN_ERA_YEARS, in_era - (365 * year + year / 4));
}

/* Years of equal length. */
static int64_t
even_epoch(int64_t length)
{
	return length * (EPOCH_YEAR - 1) + MARCH_TO_JANUARY;
}

static int64_t
even_days(int64_t length, const struct cf_date *d)
{
	return length * march_year(d) + day_in_year(d) - even_epoch(length);
}

static struct cf_date
even_date(int64_t length, int64_t days)
{
	int64_t z = days + even_epoch(length), year = cf_floor_div(z, length);
	return date_in_year(year, z - year * length);
}

int64_t
cf_days_of(enum cf_calendar c, const struct cf_date *d)
{
	int64_t days;
	switch (c) {
	case CF_PROLEPTIC: return gregorian_days(d);
	case CF_JULIAN: return julian_days(d);
	case CF_NOLEAP: return even_days(365, d);
	case CF_ALL_LEAP: return even_days(366, d);
	case CF_360_DAY:
		return ((d->year - EPOCH_YEAR) * 12 + d->month - 1) * MONTH_OF_360 + d->day - 1;
	default: days = gregorian_days(d); return days < GREGORIAN ? julian_days(d) : days;
	}
}

struct cf_date
cf_date_of(enum cf_calendar c, int64_t days)
{
	int64_t months, year;
	switch (c) {
	case CF_PROLEPTIC: return gregorian_date(days);
	case CF_JULIAN: return julian_date(days);
	case CF_NOLEAP: return even_date(365, days);
	case CF_ALL_LEAP: return even_date(366, days);
	case CF_360_DAY:
		months = cf_floor_div(days, MONTH_OF_360);
		year = cf_floor_div(months, 12);
		return (struct cf_date){
			.year = EPOCH_YEAR + year,
			.month = (unsigned)(months - year * 12 + 1),
			.day = (unsigned)(days - months * MONTH_OF_360 + 1),
		};
	default: return days < GREGORIAN ? julian_date(days) : gregorian_date(days);
	}
}
