#include "base/json.h"

#define json_type jansson_type /* our name; jansson has it for an enum that is not needed here */
#include <jansson.h>
#undef json_type

bool
json_is_strict(const char *text, size_t len)
{
	json_auto_t *v = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	return v;
}
