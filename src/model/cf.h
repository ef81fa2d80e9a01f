/* What the CF conventions say of variables and their attributes: which variables belong to others,
 * what their dimensions' coordinates are, and which numbers are times. cfconventions.org; names of
 * sections are those of CF 1.11. Any thread. */
#pragma once

#include "model/model.h"

enum cf_role {
	CF_DATA,
	CF_COORDINATE, /* of a dimension, or named by an attribute `coordinates` */
	CF_BOUNDS,     /* named by `bounds` or `climatology` */
	CF_GRID_MAPPING,
};

/* Each variable that the attributes of a variable name, as they name it ("lat", "../lat",
 * "/g/lat"), in their order; one that is named twice comes twice. Non-zero ends it and is returned.
 * Names are not looked up. */
typedef int cf_name_fn(void *arg, const char *name, enum cf_role);
int cf_references(const struct attrs *, cf_name_fn *, void *arg);
/* The same for one attribute's text; nothing if it is none of those that name variables. */
int cf_words(const char *attribute, const char *text, cf_name_fn *fn, void *arg);
/* May an attribute of this node name variables? By a search of the text, without reading it. */
bool cf_mentions(const struct node *);
/* Does an attribute of this name name variables? */
bool cf_refers(const char *attribute);

/* The variable that a CF attribute of the array at `path` names: in its group, or the nearest above
 * it in the same hierarchy. 0 and a reference to an array; ZMAP_ABSENT; -errno. */
int cf_find(struct model *, const char *path, const char *name, struct node **ret);
/* The coordinate variable of an array's dimension: 1-D with the dimension's name and size, in the
 * group that has the dimension where NCZarr says which; else in the array's group or the nearest
 * above. May be the array itself. The same outcomes. */
int cf_coordinate(struct model *, const struct node *array, unsigned dim, struct node **ret);
/* Path of the top of the hierarchy that a group lies in, where full names of dimensions begin.
 * Caller frees. */
int cf_top(struct model *, const char *group, char **ret);
/* It is one: 1-D, with the name of its dimension. */
bool cf_is_coordinate(const struct node *array);

/* The roles of arrays of one group: name[0..n), sorted by strcmp. ret[0..n) is filled. What cannot
 * be read is CF_DATA. */
int cf_roles(
	struct model *, const char *group, const char *const *name, size_t n, enum cf_role *ret);
/* The role of one array of a group with consolidated metadata, as these have it: 0; ZMAP_ABSENT:
 * they cannot say; -errno. Costs nothing that grows with the group. That of coordinates of
 * dimensions is CF_DATA. */
int cf_role_known(struct model *, const char *group, const char *name, enum cf_role *ret);
/* Likewise the names, each with its NUL, of the arrays for which cf_ragged_add may have something
 * to add. */
int cf_ragged_known(struct model *, const char *group, struct buf *ret);

/* Section 4.4.1. */
enum cf_calendar {
	CF_MIXED, /* standard, gregorian: Julian before 1582-10-15 */
	CF_PROLEPTIC,
	CF_JULIAN,
	CF_NOLEAP,   /* 365_day */
	CF_ALL_LEAP, /* 366_day */
	CF_360_DAY,
};

/* Numbers that count time units from a moment (section 4.4). */
struct cf_time {
	bool months;     /* one tick is `ticks` months */
	int64_t ticks;   /* one is this many of 10^-digits seconds */
	unsigned digits; /* decimals of a second that a tick can tell: 0, 3, 6 or 9 */
	int64_t days;    /* the moment: days since 1970-01-01 of the calendar … */
	int64_t second; /* … and seconds of that day, which may be negative or more than a day, for
			   the time zone … */
	uint32_t nanosecond;
	enum cf_calendar calendar;
};

/* What says that a coordinate variable is the time axis, the clearest last: some datasets have
 * times beside it, of forecasts or bounds. */
enum cf_time_axis {
	CF_NO_TIME,
	CF_TIME_BY_UNITS, /* "days since …" in any calendar, or datetime64 */
	CF_TIME_BY_AXIS,  /* axis "T" */
	CF_TIME_BY_NAME,  /* standard_name "time" */
};
/* 0 or -errno. */
int cf_time_axis(const struct node *coordinate, enum cf_time_axis *ret);

enum { CF_TIME_TEXT = 32 };

/* "days since 1900-01-01 00:00", and the calendar or NULL. 0; -EINVAL: not such numbers. */
int cf_time_parse(const char *units, const char *calendar, struct cf_time *ret);
/* The units and calendar of a variable's attributes. */
int cf_time_of_attrs(const struct attrs *, struct cf_time *ret);
/* datetime64, by its unit. -EINVAL for units that have no such times (finer than nanoseconds,
 * generic). */
int cf_time_of_dtype(const struct dtype *, struct cf_time *ret);
/* "2001-02-03T04:05:06", with `digits` decimals, rounded to them. False: before year 1, after 9999,
 * or no number. */
bool cf_time_text(const struct cf_time *, double value, char ret[CF_TIME_TEXT]);
bool cf_time_text_int(const struct cf_time *, int64_t value, char ret[CF_TIME_TEXT]);
/* Characters of such a text without the NUL. */
unsigned cf_time_width(const struct cf_time *);
