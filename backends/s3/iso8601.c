#include "backends/s3/iso8601.h"

#include <stdlib.h>
#include <time.h>

int64_t
iso8601_parse(const char *text)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest)
		return 0;
	int64_t ns = 0, unit = 100000000;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
			ns += (*rest - '0') * unit;
	int64_t offset = 0;
	if (*rest == '+' || *rest == '-') {
		char *end;
		long hours = strtol(rest + 1, &end, 10);
		long minutes = *end == ':' ? strtol(end + 1, NULL, 10) : 0;
		if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59)
			return 0;
		offset = (*rest == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
	} else if (*rest && *rest != 'Z') {
		return 0;
	}
	int64_t seconds = (int64_t)timegm(&tm) - offset, whole;
	if (__builtin_mul_overflow(seconds, 1000000000, &whole) || whole > INT64_MAX - ns)
		return 0;
	return whole + ns;
}
