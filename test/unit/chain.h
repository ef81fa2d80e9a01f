/* Chains of one codec, for the tests of codecs. */
#pragma once

#include "check.h"

#include "codec/codec.h"

#include <errno.h>

static inline struct json *
parse(const char *text)
{
	struct json *v = NULL;
	CHECK_INT(json_parse(text, strlen(text), &v), 0);
	return v;
}

static inline struct codec_chain *
open_chain(const char *id, const char *config, const struct form *form)
{
	CLEAN(json_freep) struct json *j = parse(config);
	char name[64];
	snprintf(name, sizeof name, "%s", id);
	struct codec_chain *c = NULL;
	int r = codec_chain_open(&(struct codec_spec){name, j}, 1, form, &c);
	if (r < 0)
		fprintf(stderr, "%s %s: %s\n", id, config, err_text());
	CHECK_INT(r, 0);
	return c;
}

static inline void
no_chain(const char *id, const char *config, const struct form *form, int code)
{
	CLEAN(json_freep) struct json *j = parse(config);
	char name[64];
	snprintf(name, sizeof name, "%s", id);
	CLEAN(codec_chain_freep) struct codec_chain *c = NULL;
	CHECK_INT(codec_chain_open(&(struct codec_spec){name, j}, 1, form, &c), code);
}

static inline struct form
form_of(const struct dtype *d, unsigned rank, const uint64_t *shape)
{
	struct form f = {.dtype = d, .rank = rank, .shape = shape, .count = 1, .exact = true};
	for (unsigned i = 0; i < rank; i++)
		f.count *= shape[i];
	f.bytes = f.count * d->size;
	return f;
}

static inline void
decodes_to(const struct codec_chain *c, struct span stored, struct span data)
{
	CLEAN(clean_free) uint8_t *exact = malloc(data.len + 1);
	struct buf out = {exact, 0, data.len};
	CHECK_INT(codec_chain_decode(c, NULL, stored, &out), 0);
	CHECK_INT(out.len, data.len);
	if (out.len && out.len == data.len)
		CHECK_MEM(out.data, data.data, data.len);
}

/* Encoding gives `stored`, and decoding that gives `data` back. */
static inline void
both_ways(const struct codec_chain *c, struct span data, struct span stored)
{
	CLEAN(buf_free) struct buf got = {0};
	CHECK_INT(codec_chain_encode(c, NULL, data, &got), 0);
	CHECK_INT(got.len, stored.len);
	if (got.len && got.len == stored.len)
		CHECK_MEM(got.data, stored.data, got.len);
	decodes_to(c, stored, data);
}
