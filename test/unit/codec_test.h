/* What the tests of codecs share: chains of one codec over arrays of numbers, and memory of exactly
 * the right size. */
#pragma once

#include "check.h"

#include "codec/codec.h"

#include <errno.h>

enum { RANGES = 60 };

/* One configuration. Where lossy, what comes back differs; where hostile_only, elements are no
 * plain numbers. */
struct row {
	const char *id, *config;
	enum dtype_kind kind;
	uint32_t size;
	bool lossy, hostile_only;
	bool loose_end; /* some last bits or bytes mean nothing, and nothing tells how many */
};

static uint32_t seed = 7;

/* How test data look: a third each of zeros, a slow ramp with noise, and noise. */
static inline void
fill(uint8_t *p, uint64_t count, const struct row *row, unsigned look)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t v = look == 0   ? 0
			     : look == 1 ? i / 3 + check_random(&seed) % 3
					 : check_random(&seed);
		float f = (float)v;
		double d = (double)v;
		uint8_t *to = p + i * row->size;
		memset(to, 0, row->size);
		if (row->kind == DTYPE_BOOL)
			*to = v & 1;
		else if (row->kind == DTYPE_FLOAT && row->size == 4)
			memcpy(to, &f, 4);
		else if (row->kind == DTYPE_FLOAT && row->size == 8)
			memcpy(to, &d, 8);
		else
			memcpy(to, &v, row->size < 8 ? row->size : 8);
	}
}

struct array {
	struct dtype dtype;
	uint64_t shape[1];
	struct form form;
};

static inline void
array_of(const struct row *row, uint64_t count, struct array *a)
{
	a->dtype = (struct dtype){.kind = row->kind, .size = row->size};
	a->shape[0] = count;
	a->form = (struct form){
		.dtype = &a->dtype,
		.rank = 1,
		.shape = a->shape,
		.count = count,
		.bytes = count * row->size,
		.exact = true,
	};
}

static inline int
open_row(const struct row *row, const struct form *form, struct codec_chain **ret)
{
	CLEAN(json_freep) struct json *config = NULL;
	int r = json_parse(row->config, strlen(row->config), &config);
	CHECK_INT(r, 0);
	char id[64];
	snprintf(id, sizeof id, "%s", row->id);
	return codec_chain_open(&(struct codec_spec){id, config}, 1, form, ret);
}

/* Both from and to memory of exactly the right size, for the sanitizer. The result, or NULL and the
 * code in *code. */
static inline uint8_t *
decode(const struct codec_chain *c, const struct form *form, const uint8_t *enc, size_t len,
	int *code)
{
	uint8_t *in = malloc(len ? len : 1);
	struct buf out = {malloc(form->bytes ? form->bytes : 1), 0, form->bytes};
	if (!in || !out.data)
		abort();
	if (len)
		memcpy(in, enc, len);
	*code = codec_chain_decode(c, NULL, (struct span){in, len}, &out);
	free(in);
	if (*code >= 0) {
		CHECK_INT(out.len, form->bytes);
		return out.data;
	}
	free(out.data);
	return NULL;
}

/* A source that must be read, and counts how often. */
struct counted {
	struct codec_src src;
	const uint8_t *data;
	unsigned reads;
};

static inline int
counted_read(struct codec_src *src, uint64_t off, size_t len, void *out)
{
	struct counted *c = (struct counted *)src;
	CHECK(off <= src->size && len <= src->size - off);
	memcpy(out, c->data + off, len);
	c->reads++;
	return 0;
}

static inline void
part(const struct codec_chain *c, struct span enc, const uint8_t *data, size_t off, size_t len)
{
	uint8_t *got = malloc(len ? len : 1);
	struct codec_src mem = {.size = enc.len, .mem = enc.data};
	struct counted read = {{.size = enc.len, .read = counted_read}, enc.data, 0};
	CHECK_INT(codec_chain_decode_range(c, &mem, off, len, got), 0);
	CHECK_MEM(got, data + off, len);
	memset(got, 0xaa, len);
	CHECK_INT(codec_chain_decode_range(c, &read.src, off, len, got), 0);
	CHECK_MEM(got, data + off, len);
	CHECK(read.reads <= 3);
	free(got);
}

static inline void
parts(const struct codec_chain *c, struct span enc, const struct form *form, const uint8_t *data)
{
	size_t grain = 0;
	struct codec_src src = {.size = enc.len, .mem = enc.data};
	CHECK_INT(codec_chain_grain(c, &src, &grain), 0);
	CHECK(grain > 0 && grain <= form->bytes);
	for (size_t at = 0; at < form->bytes && at / grain < 20; at += grain)
		part(c, enc, data, at, form->bytes - at < grain ? form->bytes - at : grain);
	for (int i = 0; i < RANGES; i++) {
		size_t off = check_random(&seed) % form->bytes;
		size_t len = check_random(&seed) % (form->bytes - off) + 1;
		part(c, enc, data, off, i % 2 ? len : len % 100 + 1 < len ? len % 100 + 1 : len);
	}
	part(c, enc, data, 0, form->bytes);
	part(c, enc, data, form->bytes - 1, 1);
	uint8_t byte;
	CHECK(codec_chain_decode_range(c, &src, form->bytes, 1, &byte) < 0);
	src.size--;
	CHECK(codec_chain_decode_range(c, &src, 0, 1, &byte) < 0);
}
