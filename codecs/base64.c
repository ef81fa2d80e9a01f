/* Base64 (RFC 4648 §4), with line ends anywhere. */
#include "codec/codec.h"

#include "base/err.h"

#include <errno.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { BAD = 0xff, SKIP = 0xfe, PAD = 0xfd };

struct base64 {
	uint8_t value[256]; /* 0 … 63, or the above */
};

static int
base64_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	struct base64 *b = calloc(1, sizeof *b);
	if (!b)
		return err_set(-ENOMEM, "out of memory");
	for (unsigned i = 0; i < 256; i++)
		b->value[i] = BAD;
	for (uint8_t i = 0; i < 64; i++)
		b->value[(uint8_t)alphabet[i]] = i;
	b->value['\n'] = b->value['\r'] = SKIP;
	b->value['='] = PAD;
	/* 4 of 3, and room for line ends */
	out->bytes = codec_worst(codec_worst(in->bytes));
	*ret = b;
	return 0;
}

struct base64_reader {
	uint32_t bits;
	unsigned count; /* characters in bits, 0 … 3 */
	unsigned pads;
	size_t len;
};

/* Characters one by one: line ends, padding, and what is wrong. */
static int
decode_slowly(const struct base64 *b, uint8_t c, struct base64_reader *s, const struct form *form,
	uint8_t *out)
{
	uint8_t v = b->value[c];
	if (v == SKIP)
		return 0;
	if (v == PAD && s->count + s->pads < 4 && s->count >= 2) {
		s->pads++;
		return 0;
	}
	if (v > 63 || s->pads)
		return err_set(-EIO, "byte 0x%02x has no place in base64 data", c);
	s->bits = s->bits << 6 | v;
	if (++s->count < 4)
		return 0;
	if (form->bytes - s->len < 3)
		return err_set(-EIO, "base64 data decode to more than %zu bytes", form->bytes);
	out[s->len++] = (uint8_t)(s->bits >> 16);
	out[s->len++] = (uint8_t)(s->bits >> 8);
	out[s->len++] = (uint8_t)s->bits;
	s->count = 0;
	return 0;
}

static int
decode_end(struct base64_reader *s, const struct form *form, uint8_t *out)
{
	if (s->count + s->pads != 4 && s->count + s->pads != 0)
		return err_set(-EIO, "base64 data are truncated");
	if (s->count == 0)
		return 0;
	if (form->bytes - s->len < s->count - 1)
		return err_set(-EIO, "base64 data decode to more than %zu bytes", form->bytes);
	s->bits <<= 6 * s->pads;
	out[s->len++] = (uint8_t)(s->bits >> 16);
	if (s->count == 3)
		out[s->len++] = (uint8_t)(s->bits >> 8);
	return 0;
}

static int
base64_decode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	const struct base64 *b = obj;
	struct base64_reader s = {0};
	size_t i = 0;
	while (i < in.len) {
		while (!s.count && !s.pads && in.len - i >= 4 && form->bytes - s.len >= 3) {
			const uint8_t *p = in.data + i;
			uint32_t v0 = b->value[p[0]], v1 = b->value[p[1]], v2 = b->value[p[2]],
				 v3 = b->value[p[3]];
			if ((v0 | v1 | v2 | v3) > 63)
				break;
			uint32_t bits = v0 << 18 | v1 << 12 | v2 << 6 | v3;
			out->data[s.len++] = (uint8_t)(bits >> 16);
			out->data[s.len++] = (uint8_t)(bits >> 8);
			out->data[s.len++] = (uint8_t)bits;
			i += 4;
		}
		if (i == in.len)
			break;
		int r = decode_slowly(b, in.data[i++], &s, form, out->data);
		if (r < 0)
			return r;
	}
	int r = decode_end(&s, form, out->data);
	out->len = s.len;
	return r;
}

static int
base64_encode(const void *obj, const struct form *form, struct span in, struct buf *out)
{
	int r = buf_reserve(out, in.len / 3 * 4 + 4);
	if (r < 0)
		return r;
	uint8_t *to = out->data;
	for (size_t i = 0; i < in.len; i += 3) {
		size_t n = in.len - i;
		uint32_t bits = (uint32_t)in.data[i] << 16;
		if (n > 1)
			bits |= (uint32_t)in.data[i + 1] << 8;
		if (n > 2)
			bits |= in.data[i + 2];
		*to++ = (uint8_t)alphabet[bits >> 18];
		*to++ = (uint8_t)alphabet[bits >> 12 & 63];
		*to++ = n > 1 ? (uint8_t)alphabet[bits >> 6 & 63] : '=';
		*to++ = n > 2 ? (uint8_t)alphabet[bits & 63] : '=';
	}
	out->len = (size_t)(to - out->data);
	return 0;
}

const struct codec_ops codec_base64 = {
	.ids = (const char *const[]){"base64", "numcodecs.base64", NULL},
	.kind = CODEC_BYTES,
	.open = base64_open,
	.close = free,
	.decode = base64_decode,
	.encode = base64_encode,
};
