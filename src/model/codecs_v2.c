/* "filters", "compressor" and "order" of Zarr V2 made into one list of codecs. */
#include "base/err.h"
#include "base/list.h"
#include "model/meta.h"

#include <errno.h>
#include <string.h>

enum { CODECS_MAX = 64 };

static int
add_codec(struct array_meta *a, const char *id, size_t len, const struct json *config)
{
	if (a->ncodecs == CODECS_MAX)
		return err_set(-ENOTSUP, "more than %d codecs", CODECS_MAX);
	int r = LIST_MORE(a->codec, a->ncodecs, "a codec");
	if (r < 0)
		return r;
	struct codec_spec *c = &a->codec[a->ncodecs];
	*c = (struct codec_spec){.id = strndup(id, len)};
	if (!c->id)
		return list_no_memory("a codec");
	a->ncodecs++;
	return config ? json_copy_of(config, &c->config) : 0;
}

/* "compressor": null, "null" and {"type": "raw"} all mean none: old writers' ways. */
static bool
is_none(const struct json *v)
{
	if (!v || json_type(v) == JSON_TYPE_NULL || json_is(v, "null") || json_is(v, ""))
		return true;
	if (json_type(v) != JSON_TYPE_DICT || json_get(v, "id"))
		return false;
	const struct json *type = json_get(v, "type");
	return !json_count(v) || (type && json_is(type, "raw"));
}

static int
add_config(const struct json *v, const char *what, struct array_meta *a)
{
	if (is_none(v))
		return 0;
	const struct json *id = json_get(v, "id");
	if (!id)
		id = json_get(v, "type"); /* old N5 writers */
	size_t len;
	const char *s = id && json_type(id) == JSON_TYPE_TEXT ? json_text(id, &len) : NULL;
	if (!s || strlen(s) != len || !len)
		return err_set(-EINVAL, "bad '%s': no 'id'", what);
	return add_codec(a, s, len, v);
}

static int
add_transpose(struct array_meta *a)
{
	static const char config[] = "{\"id\": \"transpose\", \"order\": \"F\"}";
	CLEAN(json_freep) struct json *doc = NULL;
	int r = json_parse(config, sizeof config - 1, &doc);
	return r < 0 ? r : add_codec(a, "transpose", strlen("transpose"), doc);
}

int
codecs_v2(const struct json *zarray, struct array_meta *a)
{
	int r = a->order == 'F' && a->rank > 1 ? add_transpose(a) : 0;
	const struct json *filters = json_get(zarray, "filters");
	bool list = filters && json_type(filters) == JSON_TYPE_LIST;
	if (r == 0 && !list)
		r = add_config(filters, "filters", a);
	for (size_t i = 0; r == 0 && list && i < json_count(filters); i++)
		r = add_config(json_at(filters, i), "filters", a);
	return r < 0 ? r : add_config(json_get(zarray, "compressor"), "compressor", a);
}

static bool
in_table(const char *id)
{
	for (const struct codec_ops *const *c = codec_table; *c; c++)
		for (const char *const *name = (*c)->ids; *name; name++)
			if (!strcmp(*name, id))
				return true;
	return false;
}

int
codecs_known(const struct array_meta *a)
{
	for (size_t i = 0; i < a->ncodecs; i++)
		if (!in_table(a->codec[i].id))
			return err_set(-ENOTSUP, "codec '%s' is not supported", a->codec[i].id);
	return 0;
}
