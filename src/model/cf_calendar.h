/* Days and dates of the calendars of CF section 4.4.1. Days are counted from 1970-01-01 of the
 * calendar itself; dates have any year. Any thread. */
#pragma once

#include "model/cf.h"

struct cf_date {
	int64_t year;
	unsigned month, day;
};

/* "noleap". False: CF has no such calendar, or one without months. */
bool cf_calendar_named(const char *name, enum cf_calendar *ret);
/* Those with the Julian calendar have the year -1 before 1. */
bool cf_calendar_has_year_0(enum cf_calendar);
/* A date that the calendar lacks is another one. */
int64_t cf_days_of(enum cf_calendar, const struct cf_date *);
struct cf_date cf_date_of(enum cf_calendar, int64_t days);

/* Rounded down. b > 0. */
int64_t cf_floor_div(int64_t a, int64_t b);
