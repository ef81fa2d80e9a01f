/* Hostile documents: parse, read every value in every way, write out, parse that again; and
 * scan. */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
visit(const struct json *v)
{
	int64_t i;
	uint64_t u;
	double d;
	size_t len;
	const char *s = json_text(v, &len);
	if (s && s[len])
		abort();
	json_int(v, &i);
	json_uint(v, &u);
	json_double(v, &d);
	json_word_is_int(v);
	json_type_name(v);
	if (json_type(v) == JSON_TYPE_LIST)
		for (size_t n = 0; n < json_count(v); n++)
			visit(json_at(v, n));
	for (void *m = json_first(v); m; m = json_next(v, m))
		if (json_get(v, json_key(m)) != json_value(m))
			abort();
		else
			visit(json_value(m));
}

static void
check_dump(const struct json *v)
{
	CLEAN(clean_free) char *text = json_dump(v);
	CLEAN(json_freep) struct json *again = NULL;
	if (!text || json_parse(text, strlen(text), &again) < 0)
		abort();
	CLEAN(clean_free) char *same = json_dump(again);
	if (!same || strcmp(same, text) || json_hash(0, v) != json_hash(0, again))
		abort();
	CLEAN(json_freep) struct json *copy = NULL;
	if (json_copy_of(v, &copy) < 0 || json_hash(0, copy) != json_hash(0, v))
		abort();
}

static int
member(const struct json_slice *m, void *arg)
{
	CLEAN(json_freep) struct json *v = NULL;
	CLEAN(clean_free) char *key = json_slice_key(m);
	if (!key)
		abort();
	json_parse(m->value, m->value_len, &v);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEAN(json_freep) struct json *v = NULL;
	const char *text = (const char *)data;
	bool good = json_parse(text, size, &v) == 0;
	if (good) {
		visit(v);
		check_dump(v);
	}
	bool dict = good && json_type(v) == JSON_TYPE_DICT;
	if (json_scan(text, size, NULL, member, NULL) < 0 && dict)
		abort(); /* what parses can be scanned */
	json_scan(text, size, "metadata", member, NULL);
	json_scan(text, size, "a/b", member, NULL);
	return 0;
}
