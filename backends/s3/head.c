/* Is a key there? */
#include "backends/s3/store.h"

#include <string.h>

/* As RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
static bool
utf8_valid(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		unsigned more = *c < 0x80 ? 0 : *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : 1;
		if ((*c >= 0x80 && *c < 0xc2) || *c > 0xf4)
			return false;
		unsigned char low = *c == 0xe0 ? 0xa0 : *c == 0xf0 ? 0x90 : 0x80;
		unsigned char high = *c == 0xed ? 0x9f : *c == 0xf4 ? 0x8f : 0xbf;
		for (; more; more--, low = 0x80, high = 0xbf)
			if (*++c < low || *c > high)
				return false;
	}
	return true;
}

bool
s3_impossible(struct zmap *z, const char *key)
{
	size_t prefix = strlen(((struct s3 *)z)->bucket.settings.address.prefix), n = strlen(key);
	return prefix + n > S3_KEY_MAX || !utf8_valid(key);
}

int
s3_stat_by(struct zmap *z, const char *key, int64_t deadline, struct cancel *cancel,
	struct zmap_stat *ret)
{
	struct s3_request q = {.bucket = &((struct s3 *)z)->bucket,
		.kind = CLIENT_HEAD,
		.key = key,
		.deadline = deadline,
		.cancel = cancel};
	int r = s3_impossible(z, key) ? ZMAP_ABSENT : s3_request_run(&q, ret);
	s3_request_free(&q);
	return r;
}
