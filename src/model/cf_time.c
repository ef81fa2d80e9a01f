/* Units of time, dates and calendars: CF section 4.4, the udunits forms "UNIT since DATE [TIME [ZONE]]". */
#include "model/cf.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DAY = 86400, YEAR_MIN = 1, YEAR_MAX = 9999, NANO = 1000000000 };
/* Days since 1970-01-01 of 0001-01-01 and 10000-01-01, wide enough for both calendars. */
enum { DAYS_MIN = -719165, DAYS_MAX = 2932900 };
/* First day of the Gregorian calendar: 1582-10-15. */
enum { GREGORIAN = -141427 };

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

static const struct unit *
find_unit(const char *name, size_t len)
{
	for (const struct unit *u = units_table; u->name; u++) {
		size_t n = strlen(u->name);
		bool plural = len == n + 1 && (name[n] == 's' || name[n] == 'S') && n > 1;
		if ((len == n || plural) && strncasecmp(u->name, name, n) == 0)
			return u;
	}
	return NULL;
}

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Days since 1970-01-01, by counting from March so that the leap day is a year's last. */
static int64_t
days_of(int64_t year, unsigned month, unsigned day, bool gregorian)
{
	int64_t y = month > 2 ? year : year - 1;
	int64_t in_year = (153 * (int64_t)(month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	int64_t days = 365 * y + floor_div(y, 4) + in_year;
	return gregorian ? days - floor_div(y, 100) + floor_div(y, 400) - 719468 : days - 719470;
}

struct date {
	int64_t year;
	unsigned month, day;
};

/* March-based again: years of the era, then months of 153/5 days. */
static struct date
date_of(int64_t days, bool gregorian)
{
	const int64_t era_days = gregorian ? 146097 : 1461, era_years = gregorian ? 400 : 4;
	int64_t z = days + (gregorian ? 719468 : 719470), era = floor_div(z, era_days);
	int64_t in_era = z - era * era_days;
	int64_t year = gregorian ? (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365
				 : (in_era - in_era / 1460) / 365;
	int64_t in_year = in_era - (365 * year + year / 4 - (gregorian ? year / 100 : 0));
	int64_t month = (5 * in_year + 2) / 153;
	return (struct date){
		.year = year + era * era_years + (month >= 10),
		.month = (unsigned)(month < 10 ? month + 3 : month - 9),
		.day = (unsigned)(in_year - (153 * month + 2) / 5 + 1),
	};
}

static int64_t
days_in(int64_t year, unsigned month, unsigned day, bool mixed)
{
	int64_t days = days_of(year, month, day, true);
	return mixed && days < GREGORIAN ? days_of(year, month, day, false) : days;
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
	if (!take_number(p, 4, &year) || (!year && t->mixed)) /* which to some is the year 1 */
		return false;
	if (!take_char(p, '-') || !take_number(p, 2, &month))
		return false;
	if (take_char(p, '-') && !take_number(p, 2, &day))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > 31)
		return false;
	t->days = days_in(year, (unsigned)month, (unsigned)day, t->mixed);
	struct date d = date_of(t->days, !t->mixed || t->days >= GREGORIAN);
	return d.day == day; /* no 30th of February */
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

/* Other calendars (360_day, noleap, julian, …) have dates that no reader of ISO 8601 knows. */
static bool
take_calendar(const char *calendar, bool *ret_mixed)
{
	if (!calendar || strcasecmp(calendar, "standard") == 0 ||
		strcasecmp(calendar, "gregorian") == 0) {
		*ret_mixed = true;
		return true;
	}
	*ret_mixed = false;
	return strcasecmp(calendar, "proleptic_gregorian") == 0;
}

int
cf_time_parse(const char *units, const char *calendar, struct cf_time *ret)
{
	struct cf_time t = {0};
	const char *p = units;
	skip_blanks(&p);
	size_t len = strcspn(p, " \t");
	const struct unit *u = find_unit(p, len);
	p += len;
	skip_blanks(&p);
	if (!u || strncasecmp(p, "since", 5) != 0 || (p[5] != ' ' && p[5] != '\t'))
		return no_time(units);
	p += 5;
	skip_blanks(&p);
	t.ticks = u->ticks;
	t.digits = u->digits;
	if (!take_calendar(calendar, &t.mixed))
		return err_set(-EINVAL, "dates of calendar '%s' are not those of today", calendar);
	if (!take_moment(p, &t))
		return no_time(units);
	*ret = t;
	return 0;
}

static const char *
text_of(const struct attrs *as, const char *name)
{
	const struct attr *a = attrs_find(as, name);
	if (!a)
		return NULL;
	if (a->type == NC_TYPE_CHAR)
		return a->data;
	return a->type == NC_TYPE_STRING && a->count == 1 ? *(char **)a->data : NULL;
}

int
cf_time_of_attrs(const struct attrs *as, struct cf_time *ret)
{
	const char *units = text_of(as, "units"), *calendar = text_of(as, "calendar");
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
	const char *units = text_of(&as, "units"), *axis = text_of(&as, "axis");
	const char *name = text_of(&as, "standard_name");
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
	seconds += t->second + floor_div(parts, parts_max);
	parts -= floor_div(parts, parts_max) * parts_max;
	int64_t days = t->days + floor_div(seconds, DAY);
	int64_t in_day = seconds - floor_div(seconds, DAY) * DAY;
	if (days < DAYS_MIN || days > DAYS_MAX)
		return false;
	struct date d = date_of(days, !t->mixed || days >= GREGORIAN);
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
	int64_t year = 1970 + floor_div(months, 12);
	at.days = days_of(year, (unsigned)(months - floor_div(months, 12) * 12 + 1), 1, true);
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
	int64_t seconds = floor_div(parts, unit);
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
	int64_t seconds = floor_div(parts, power[t->digits]);
	return write_time(t, seconds, parts - seconds * power[t->digits], ret);
}

unsigned
cf_time_width(const struct cf_time *t)
{
	return 19 + (t->digits ? t->digits + 1 : 0);
}
