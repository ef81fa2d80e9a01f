/* Units of time, dates and calendars: CF section 4.4, the udunits forms "UNIT since DATE [TIME
 * [ZONE]]". */
#include "model/cf.h"
#include "model/cf_calendar.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DAY = 86400, YEAR_MIN = 1, YEAR_MAX = 9999, NANO = 1000000000 };
/* Days since 1970-01-01 of 0001-01-01 and 10000-01-01, wide enough for all calendars. */
enum { DAYS_MIN = -720654, DAYS_MAX = 2938980 };

struct unit {
	const char *name;
	int64_t ticks; /* of 10^-digits seconds */
	unsigned digits;
};

static const struct unit units_table[] = {
	{"second", 1, 0},
	{"sec", 1, 0},
	{"s", 1, 0},
	{"minute", 60, 0},
	{"min", 60, 0},
	{"hour", 3600, 0},
	{"hr", 3600, 0},
	{"h", 3600, 0},
	{"day", DAY, 0},
	{"d", DAY, 0},
	{"week", 7 * DAY, 0},
	{"millisecond", 1, 3},
	{"millisec", 1, 3},
	{"msec", 1, 3},
	{"ms", 1, 3},
	{"microsecond", 1, 6},
	{"microsec", 1, 6},
	{"nanosecond", 1, 9},
	{"nanosec", 1, 9},
	{0},
};

static int
no_time(const char *units)
{
	return err_set(-EINVAL, "'%s' are no units of time", units);
}

static bool
is_unit(const char *unit, const char *name, size_t len)
{
	size_t n = strlen(unit);
	bool plural = len == n + 1 && (name[n] == 's' || name[n] == 'S') && n > 1;
	return (len == n || plural) && strncasecmp(unit, name, n) == 0;
}

/* Months and years of udunits are parts of a solar year, which no reader takes them for; but of 360
 * days all months are 30. */
static bool
find_unit(const char *name, size_t len, struct cf_time *t)
{
	for (const struct unit *u = units_table; u->name; u++)
		if (is_unit(u->name, name, len)) {
			t->ticks = u->ticks;
			t->digits = u->digits;
			return true;
		}
	t->ticks = 30 * DAY;
	return t->calendar == CF_360_DAY && is_unit("month", name, len);
}

/* Up to `most` digits. */
static bool
take_number(const char **p, unsigned most, int64_t *ret)
{
	int64_t v = 0;
	unsigned n = 0;
	while (n < most && **p >= '0' && **p <= '9') {
		v = 10 * v + (*(*p)++ - '0');
		n++;
	}
	*ret = v;
	return n > 0;
}

static bool
take_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

static void
skip_blanks(const char **p)
{
	*p += strspn(*p, " \t");
}

static bool
take_date(const char **p, struct cf_time *t)
{
	int64_t year, month = 1, day = 1;
	if (!take_number(p, 4, &year))
		return false;
	if (!year && !cf_calendar_has_year_0(t->calendar)) /* which to some is the year 1 */
		return false;
	if (!take_char(p, '-') || !take_number(p, 2, &month))
		return false;
	if (take_char(p, '-') && !take_number(p, 2, &day))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > 31)
		return false;
	const struct cf_date d = {year, (unsigned)month, (unsigned)day};
	t->days = cf_days_of(t->calendar, &d);
	return cf_date_of(t->calendar, t->days).day == day; /* no 30th of February */
}

/* Hours, and what follows a colon: "6", "06:30", "6:30:15.25". */
static bool
take_clock(const char **p, struct cf_time *t)
{
	int64_t hour, minute = 0, second = 0, scale = NANO;
	if (!take_number(p, 2, &hour))
		return false;
	if (take_char(p, ':') && !take_number(p, 2, &minute))
		return false;
	if (take_char(p, ':')) {
		if (!take_number(p, 2, &second))
			return false;
		if (take_char(p, '.'))
			for (; **p >= '0' && **p <= '9'; (*p)++)
				t->nanosecond += (uint32_t)((**p - '0') * (scale /= 10));
	}
	t->second = hour * 3600 + minute * 60 + second;
	return hour < 25 && minute < 60 && second < 61;
}

/* "Z", "UTC", "+01:00", "-6", "+0530": what the clock is ahead of UTC is taken away. */
static bool
take_zone(const char **p, struct cf_time *t)
{
	int64_t hour, minute = 0;
	if (strncasecmp(*p, "UTC", 3) == 0 || strncasecmp(*p, "GMT", 3) == 0)
		*p += 3;
	else if (**p == 'Z' || **p == 'z')
		(*p)++;
	skip_blanks(p);
	bool behind = **p == '-';
	if (**p != '+' && !behind)
		return true;
	(*p)++;
	if (!take_number(p, 2, &hour))
		return false;
	if (take_char(p, ':') || (**p >= '0' && **p <= '9')) {
		if (!take_number(p, 2, &minute))
			return false;
	}
	int64_t ahead = hour * 3600 + minute * 60;
	t->second += behind ? ahead : -ahead;
	return hour < 25 && minute < 60;
}

static bool
take_moment(const char *p, struct cf_time *t)
{
	if (!take_date(&p, t))
		return false;
	if (!take_char(&p, 'T') && !take_char(&p, 't'))
		skip_blanks(&p);
	if (*p >= '0' && *p <= '9' && !take_clock(&p, t))
		return false;
	skip_blanks(&p);
	if (!take_zone(&p, t))
		return false;
	skip_blanks(&p);
	return !*p;
}

int
cf_time_parse(const char *units, const char *calendar, struct cf_time *ret)
{
	struct cf_time t = {0};
	const char *p = units;
	skip_blanks(&p);
	size_t len = strcspn(p, " \t");
	const char *name = p;
	p += len;
	skip_blanks(&p);
	if (strncasecmp(p, "since", 5) != 0 || (p[5] != ' ' && p[5] != '\t'))
		return no_time(units);
	p += 5;
	skip_blanks(&p);
	if (calendar && !cf_calendar_named(calendar, &t.calendar))
		return err_set(-EINVAL, "there is no calendar '%s'", calendar);
	if (!find_unit(name, len, &t))
		return no_time(units);
	if (!take_moment(p, &t))
		return no_time(units);
	*ret = t;
	return 0;
}

int
cf_time_of_attrs(const struct attrs *as, struct cf_time *ret)
{
	const char *units = attrs_text(as, "units"), *calendar = attrs_text(as, "calendar");
	if (!units)
		return err_set(-EINVAL, "no units");
	if (!calendar && attrs_find(as, "calendar"))
		return err_set(-EINVAL, "a calendar that is no text");
	if (attrs_find(as, "scale_factor") || attrs_find(as, "add_offset"))
		return err_set(-EINVAL, "packed numbers, which are no times yet");
	return cf_time_parse(units, calendar, ret);
}

/* Whatever comes before and after "since". */
static bool
counts_since(const char *units)
{
	const char *p = units;
	skip_blanks(&p);
	size_t len = strcspn(p, " \t");
	p += len;
	skip_blanks(&p);
	return len && strncasecmp(p, "since", 5) == 0 && (p[5] == ' ' || p[5] == '\t');
}

int
cf_time_axis(const struct node *n, enum cf_time_axis *ret)
{
	struct attrs as = {0};
	int r = node_attrs(n, &as);
	const char *units = attrs_text(&as, "units"), *axis = attrs_text(&as, "axis");
	const char *name = attrs_text(&as, "standard_name");
	bool times = n->array && n->array->dtype.kind == DTYPE_DATETIME;
	*ret = name && strcmp(name, "time") == 0         ? CF_TIME_BY_NAME
	       : axis && strcmp(axis, "T") == 0          ? CF_TIME_BY_AXIS
	       : times || (units && counts_since(units)) ? CF_TIME_BY_UNITS
							 : CF_NO_TIME;
	attrs_free(&as);
	return r;
}

int
cf_time_of_dtype(const struct dtype *d, struct cf_time *ret)
{
	static const struct cf_time of_unit[] = {
		[TIME_Y] = {.months = true, .ticks = 12},
		[TIME_M] = {.months = true, .ticks = 1},
		[TIME_W] = {.ticks = 7 * DAY},
		[TIME_D] = {.ticks = DAY},
		[TIME_H] = {.ticks = 3600},
		[TIME_MIN] = {.ticks = 60},
		[TIME_S] = {.ticks = 1},
		[TIME_MS] = {.ticks = 1, .digits = 3},
		[TIME_US] = {.ticks = 1, .digits = 6},
		[TIME_NS] = {.ticks = 1, .digits = 9},
	};
	if (d->kind != DTYPE_DATETIME || d->unit >= sizeof of_unit / sizeof of_unit[0] ||
		!of_unit[d->unit].ticks)
		return err_set(-EINVAL, "no such times");
	struct cf_time t = of_unit[d->unit];
	t.ticks *= d->unit_count ? d->unit_count : 1;
	t.calendar = CF_PROLEPTIC;
	*ret = t;
	return 0;
}

static const int64_t power[] = {[0] = 1, [3] = 1000, [6] = 1000000, [9] = NANO};

/* Seconds and parts of a second since the moment; parts are 10^-digits seconds. */
static bool
write_time(const struct cf_time *t, int64_t seconds, int64_t parts, char ret[CF_TIME_TEXT])
{
	const int64_t parts_max = power[t->digits];
	/* The moment's fraction, rounded to what can be shown. */
	int64_t unit = NANO / parts_max;
	parts += (t->nanosecond + unit / 2) / unit;
	seconds += t->second + cf_floor_div(parts, parts_max);
	parts -= cf_floor_div(parts, parts_max) * parts_max;
	int64_t days = t->days + cf_floor_div(seconds, DAY);
	int64_t in_day = seconds - cf_floor_div(seconds, DAY) * DAY;
	if (days < DAYS_MIN || days > DAYS_MAX)
		return false;
	const struct cf_date d = cf_date_of(t->calendar, days);
	if (d.year < YEAR_MIN || d.year > YEAR_MAX)
		return false;
	int n = snprintf(ret, CF_TIME_TEXT, "%04d-%02u-%02uT%02d:%02d:%02d", (int)d.year, d.month,
		d.day, (int)(in_day / 3600), (int)(in_day / 60 % 60), (int)(in_day % 60));
	if (t->digits)
		snprintf(ret + n, (size_t)(CF_TIME_TEXT - n), ".%0*lld", (int)t->digits,
			(long long)parts);
	return true;
}

static bool
write_months(const struct cf_time *t, int64_t months, char ret[CF_TIME_TEXT])
{
	struct cf_time at = *t;
	int64_t years = cf_floor_div(months, 12);
	const struct cf_date d = {1970 + years, (unsigned)(months - years * 12 + 1), 1};
	at.days = cf_days_of(t->calendar, &d);
	return write_time(&at, 0, 0, ret);
}

/* No value beyond has a date of four digits, and none below overflows in what follows. */
static const int64_t SECONDS_MAX = 400000000000;

bool
cf_time_text_int(const struct cf_time *t, int64_t value, char ret[CF_TIME_TEXT])
{
	int64_t parts, unit = power[t->digits];
	if (__builtin_mul_overflow(value, t->ticks, &parts))
		return false;
	if (t->months)
		return parts > -40000 && parts < 200000 && write_months(t, parts, ret);
	int64_t seconds = cf_floor_div(parts, unit);
	if (seconds < -SECONDS_MAX || seconds > SECONDS_MAX)
		return false;
	int64_t rest = parts % unit;
	return write_time(t, seconds, rest < 0 ? rest + unit : rest, ret);
}

bool
cf_time_text(const struct cf_time *t, double value, char ret[CF_TIME_TEXT])
{
	double ticks = (double)t->ticks, unit = (double)power[t->digits];
	double limit = fmin((double)SECONDS_MAX * unit, 0x1p62) / ticks;
	if (t->months || !(fabs(value) < limit))
		return false;
	/* Whole ticks are exact; only what is left over is rounded. */
	double whole = floor(value);
	int64_t parts = (int64_t)whole * t->ticks + llround((value - whole) * ticks);
	int64_t seconds = cf_floor_div(parts, power[t->digits]);
	return write_time(t, seconds, parts - seconds * power[t->digits], ret);
}

unsigned
cf_time_width(const struct cf_time *t)
{
	return 19 + (t->digits ? t->digits + 1 : 0);
}
