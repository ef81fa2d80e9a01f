/* datetime64 and timedelta64 as doubles, rounded to the nearest: seconds, days or months, of dates
 * since 1970-01-01; and as 64-bit numbers of a unit that netCDF has. Any thread. */
#pragma once

#include "model/attr.h"
#include "model/dtype.h"

struct convert;

/* How such elements are made into DOUBLE or INT64. False: they are no times, have no unit, or are
 * such numbers already; nothing is changed. */
bool convert_time_make(const struct dtype *, enum nc_type, struct convert *);
/* There are times that are too far. */
bool convert_time_refuses(const struct convert *);
