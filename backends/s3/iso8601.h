/* Times as S3 and the services that give out credentials write them: "2026-11-21T12:00:00Z", also
 * with a fraction of a second. */
#pragma once

#include <stdint.h>

/* ns since 1970; 0: not such a time. */
int64_t iso8601_parse(const char *text);
