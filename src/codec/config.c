/* Numbers in the configuration of a codec. */
#include "codec/codec.h"

#include "base/err.h"

#include <errno.h>
#include <inttypes.h>

int
codec_level(const struct json *config, const char *key, int def, int min, int max)
{
	const struct json *j = config ? json_get(config, key) : NULL;
	int64_t v;
	if (!j || json_int(j, &v) < 0)
		return def;
	return v < min ? min : v > max ? max : (int)v;
}

int
codec_number(const struct json *config, const char *key, int64_t def, int64_t min, int64_t max,
	int64_t *ret)
{
	const struct json *j = config ? json_get(config, key) : NULL;
	int64_t v = def;
	if (j && json_type(j) != JSON_TYPE_NULL && json_int(j, &v) < 0)
		return err_set(-EINVAL, "'%s' is not an integer but %s", key, json_type_name(j));
	if (v < min || v > max)
		return err_set(-EINVAL, "'%s' is %" PRId64 ", not between %" PRId64 " and %" PRId64,
			key, v, min, max);
	*ret = v;
	return 0;
}
