/* datetime64 and timedelta64 as doubles: seconds, days or months, of dates since 1970-01-01. Rounded to the nearest. Any thread. */
#pragma once

#include "model/dtype.h"

struct recode;

/* How such elements are made into doubles. False: they are no times or have no unit; nothing is changed. */
bool recode_time_make(const struct dtype *, struct recode *);
