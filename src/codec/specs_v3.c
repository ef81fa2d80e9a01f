/* Zarr V3's list of codecs (V3 spec, "Codecs"; zarr-extensions, codecs) as the codecs that are
 * here. */
#include "base/err.h"
#include "base/list.h"
#include "codec/codec.h"
#include "model/narrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CODECS_MAX = 64 };

/* Names of V3's own that mean the codec of the same name here. What numcodecs has is called
 * "numcodecs.…" there, and its codec says so; "packbits" and "zfp" without it are others, which
 * their configurations tell. */
static const char *const plain[] = {
	"transpose",
	"gzip",
	"zstd",
	"blosc",
	"crc32c",
	"vlen-utf8",
	"vlen-bytes",
	"sharding_indexed",
	"bitround",
	"shuffle",
	"zlib",
	"pcodec",
	"https://codec.zarrs.dev/array_to_bytes/pcodec",
	"gribberish",
	"packbits",
	"zfp",
	"reshape",
	"scale_offset",
	"cast_value",
	NULL,
};

/* These calculate with elements in the byte order that their own dtypes say, which is the usual
 * one. */
static const char *const calculating[] = {
	"numcodecs.delta",
	"numcodecs.fixedscaleoffset",
	"numcodecs.quantize",
	"numcodecs.astype",
	"scale_offset",
	"cast_value",
	NULL,
};

/* These make bytes of elements, besides `bytes` itself. */
static const char *const packing[] = {
	"vlen-utf8",
	"vlen-bytes",
	"numcodecs.vlen-utf8",
	"numcodecs.vlen-bytes",
	"sharding_indexed",
	NULL,
};

/* These make bytes of numbers, and say nothing of an order: they give them in any. */
static const char *const packing_numbers[] = {
	"pcodec",
	"numcodecs.pcodec",
	"https://codec.zarrs.dev/array_to_bytes/pcodec",
	"numcodecs.zfpy",
	"gribberish",
	"zfp",
	"packbits",
	NULL,
};

static bool
is_in(const char *const *list, const char *name)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list;
}

struct specs_reading {
	struct codec_specs *out;
	const char *numbers; /* a codec of packing_numbers, or NULL */
	bool little;         /* elements come to `bytes` in that order, whatever it says */
	bool turned;         /* `bytes` said the other one */
	bool single;         /* elements are of one byte when they are packed, whatever they were */
};

/* There can be one codec that makes bytes of elements; of numbers it is looked after here, since
 * the order that another said would count. */
static int
say_packs(const char *name, struct specs_reading *g)
{
	bool numbers = is_in(packing_numbers, name);
	if (g->numbers || (numbers && g->out->packs))
		return err_set(
			-EINVAL, "codec '%.100s': a second one that makes bytes of elements", name);
	if (numbers) {
		g->numbers = name;
		g->out->order = CODEC_ORDER_LITTLE;
	}
	g->out->packs = true;
	return 0;
}

/* The byte order of what lies in a shard is said in it. */
static int
look_into_shard(const struct json *config, struct specs_reading *g)
{
	struct codec_specs inner = {0};
	int r = codec_specs_v3(config ? json_get(config, "codecs") : NULL, g->little, &inner);
	g->out->order = inner.order;
	g->out->vlen = inner.vlen;
	codec_specs_free(&inner);
	return r < 0 ? err_add(r, "codec 'sharding_indexed'") : 0;
}

/* What a codec makes of elements may have no byte order, so that `bytes` says none. */
static void
note_size(const char *name, const struct json *config, struct specs_reading *g)
{
	bool v3 = !strcmp(name, "cast_value");
	const char *key = v3 ? "data_type" : strstr(name, "astype") ? "encode_dtype" : "astype";
	const struct json *v = config ? json_get(config, key) : NULL;
	struct dtype d = {0};
	int r = !v ? -EINVAL : v3 ? dtype_parse_v3(v, &d) : dtype_parse_v2(v, &d);
	if (r == 0)
		g->single = d.narrow ? narrow_size(d.narrow) == 1 : d.size == 1;
	dtype_free(&d);
}

/* V3's packbits says in some way or other that it is not numcodecs'. */
static int
packbits_config(const struct json *config, struct json **ret)
{
	static const char usual[] = "{\"padding_encoding\": \"none\"}";
	static const char *const keys[] = {"padding_encoding", "first_bit", "last_bit"};
	for (size_t i = 0; config && i < sizeof keys / sizeof *keys; i++)
		if (json_get(config, keys[i]))
			return json_copy_of(config, ret);
	return json_parse(usual, sizeof usual - 1, ret);
}

/* Without "elementsize" V3's shuffle takes the size of the elements, which our codec takes for
 * 0. */
static int
shuffle_config(const struct json *config, struct json **ret)
{
	static const char of_type[] = "{\"elementsize\": 0}";
	if (config && json_get(config, "elementsize"))
		return json_copy_of(config, ret);
	return json_parse(of_type, sizeof of_type - 1, ret);
}

static bool
is_big(const struct json *dtype)
{
	return dtype && json_type(dtype) == JSON_TYPE_TEXT && *json_text(dtype, NULL) == '>';
}

static int
check_calculating(const char *name, const struct json *config, struct specs_reading *g)
{
	static const char *const keys[] = {"dtype", "astype", "encode_dtype", "decode_dtype"};
	if (g->turned || g->out->order == CODEC_ORDER_BIG)
		return err_set(-EINVAL, "codec '%s' behind the bytes of the elements", name);
	g->little = true;
	note_size(name, config, g);
	for (size_t i = 0; config && i < sizeof keys / sizeof *keys; i++)
		if (is_big(json_get(config, keys[i])))
			return err_set(-ENOTSUP,
				"codec '%s': '%s' in big-endian order is not supported", name,
				keys[i]);
	return 0;
}

static int
add(const char *name, const struct json *config, struct specs_reading *g)
{
	struct codec_specs *s = g->out;
	int r = LIST_MORE(s->spec, s->n, "a codec");
	if (r < 0)
		return r;
	struct codec_spec *c = &s->spec[s->n];
	*c = (struct codec_spec){.id = strdup(name)};
	if (!c->id)
		return list_no_memory("a codec");
	s->n++;
	s->vlen |= strstr(name, "vlen-") != NULL;
	if (!strcmp(name, "shuffle") || !strcmp(name, "numcodecs.shuffle"))
		return shuffle_config(config, &c->config);
	if (!strcmp(name, "packbits"))
		return packbits_config(config, &c->config);
	return config ? json_copy_of(config, &c->config) : 0;
}

static int
say_order(const struct json *config, struct specs_reading *g)
{
	const struct json *endian = config ? json_get(config, "endian") : NULL;
	int r = say_packs("bytes", g);
	if (r < 0)
		return r;
	if (!endian || json_type(endian) == JSON_TYPE_NULL)
		return 0;
	bool big = json_is(endian, "big");
	if (!big && !json_is(endian, "little"))
		return err_set(-EINVAL, "codec 'bytes': 'endian' is neither 'little' nor 'big'");
	g->turned = big && g->little;
	g->out->order = big && !g->turned ? CODEC_ORDER_BIG : CODEC_ORDER_LITTLE;
	return g->turned ? add("bytes", config, g) : 0;
}

static int
read_one(const struct json *v, struct specs_reading *g)
{
	const struct json *said = json_type(v) == JSON_TYPE_DICT ? json_get(v, "name") : v;
	const struct json *config = said == v ? NULL : json_get(v, "configuration");
	size_t len = 0;
	const char *name = said && json_type(said) == JSON_TYPE_TEXT ? json_text(said, &len) : NULL;
	if (!name || !len || strlen(name) != len)
		return err_set(-EINVAL, "a codec without a name");
	if (!strcmp(name, "bytes") || !strcmp(name, "endian"))
		return say_order(config, g);
	if (!is_in(plain, name) && strncmp(name, "numcodecs.", strlen("numcodecs.")) != 0)
		return err_set(-ENOTSUP, "codec '%.100s' is not supported", name);
	int r = is_in(packing, name) || is_in(packing_numbers, name) ? say_packs(name, g) : 0;
	if (r < 0)
		return r;
	if (!strcmp(name, "sharding_indexed"))
		r = look_into_shard(config, g);
	else if (is_in(calculating, name))
		r = check_calculating(name, config, g);
	return r < 0 ? r : add(name, config, g);
}

int
codec_specs_v3(const struct json *list, bool little, struct codec_specs *ret)
{
	struct specs_reading g = {.out = ret, .little = little};
	if (!list || json_type(list) != JSON_TYPE_LIST)
		return err_set(-EINVAL, "no 'codecs'");
	if (json_count(list) > CODECS_MAX)
		return err_set(-ENOTSUP, "more than %d codecs", CODECS_MAX);
	for (size_t i = 0; i < json_count(list); i++) {
		int r = read_one(json_at(list, i), &g);
		if (r < 0)
			return r;
	}
	if (g.single && ret->order == CODEC_ORDER_UNSAID)
		ret->order = CODEC_ORDER_LITTLE;
	if (!ret->packs) { /* zarrita.js writes such lists, and means this */
		ret->packs = true;
		ret->order = CODEC_ORDER_LITTLE;
	}
	return 0;
}

void
codec_specs_free(struct codec_specs *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->spec[i].id);
		json_freep(&s->spec[i].config);
	}
	free(s->spec);
	*s = (struct codec_specs){0};
}
