/* Bob Jenkins' lookup3 (hashlittle) of "prefix" and the data, starting from "initval"; behind the data. */
#include "codecs/checksum.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

struct state {
	uint32_t a, b, c;
};

static uint32_t
rotate(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

static void
mix(struct state *s)
{
	static const uint8_t turn[6] = {4, 6, 8, 16, 19, 4};
	uint32_t a = s->a, b = s->b, c = s->c;
	for (unsigned i = 0; i < 6; i++) {
		/* each round the three change places */
		a = (a - c) ^ rotate(c, turn[i]);
		c += b;
		uint32_t t = a;
		a = b;
		b = c;
		c = t;
	}
	*s = (struct state){a, b, c};
}

static uint32_t
last_mix(const struct state *s)
{
	uint32_t a = s->a, b = s->b, c = s->c;
	c = (c ^ b) - rotate(b, 14);
	a = (a ^ c) - rotate(c, 11);
	b = (b ^ a) - rotate(a, 25);
	c = (c ^ b) - rotate(b, 16);
	a = (a ^ c) - rotate(c, 4);
	b = (b ^ a) - rotate(a, 14);
	return (c ^ b) - rotate(b, 24);
}

/* Twelve bytes as three little-endian words. */
static void
take(struct state *s, const uint8_t p[12])
{
	uint32_t w[3];
	for (int i = 0; i < 3; i++, p += 4)
		w[i] = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
		       (uint32_t)p[3] << 24;
	s->a += w[0];
	s->b += w[1];
	s->c += w[2];
}

enum { BLOCK = 12 };

static uint32_t
hash(const uint8_t *p, size_t n, uint32_t start_value)
{
	uint32_t start = 0xdeadbeef + (uint32_t)n + start_value;
	struct state s = {start, start, start};
	if (!n)
		return start;
	for (; n > BLOCK; p += BLOCK, n -= BLOCK) {
		take(&s, p);
		mix(&s);
	}
	uint8_t rest[BLOCK] = {0};
	memcpy(rest, p, n);
	take(&s, rest);
	return last_mix(&s);
}

/* With a prefix, the twelve-byte blocks do not lie where the data's do: its few bytes are joined with
 * the data's first ones until both meet again. */
static uint32_t
sum(const struct checksum *c, const uint8_t *p, size_t n)
{
	size_t before = c->prefix.len;
	if (!before)
		return hash(p, n, c->start_value);
	uint32_t start = 0xdeadbeef + (uint32_t)(before + n) + c->start_value;
	struct state s = {start, start, start};
	uint8_t block[BLOCK] = {0};
	size_t fill = 0, total = before + n;
	for (size_t i = 0; i < total; i++) {
		if (fill == BLOCK) {
			take(&s, block);
			mix(&s);
			memset(block, 0, sizeof block);
			fill = 0;
		}
		block[fill++] = i < before ? c->prefix.data[i] : p[i - before];
	}
	take(&s, block);
	return last_mix(&s);
}

static int
read_prefix(const struct json *config, struct buf *ret)
{
	const struct json *j = config ? json_get(config, "prefix") : NULL;
	if (!j || json_type(j) == JSON_TYPE_NULL)
		return 0;
	if (json_type(j) == JSON_TYPE_TEXT) {
		size_t len;
		const char *text = json_text(j, &len);
		return buf_add(ret, text, len);
	}
	for (size_t i = 0; i < json_count(j); i++) {
		uint64_t v;
		if (json_uint(json_at(j, i), &v) < 0 || v > UINT8_MAX)
			return err_set(-EINVAL, "'prefix' is not a list of bytes");
		int r = buf_add(ret, &(uint8_t){(uint8_t)v}, 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
jenkins_lookup3_open(const struct json *config, const struct form *in, struct form *out, void **ret)
{
	int64_t start_value;
	int r = codec_number(config, "initval", 0, 0, UINT32_MAX, &start_value);
	if (r < 0)
		return r;
	struct checksum *c;
	r = checksum_open(config, in, false, out, &c);
	if (r < 0)
		return r;
	c->sum = sum;
	c->start_value = (uint32_t)start_value;
	r = read_prefix(config, &c->prefix);
	if (r < 0)
		checksum_close(c);
	else
		*ret = c;
	return r;
}

const struct codec_ops codec_jenkins_lookup3 = {
	.ids = (const char *const[]){"jenkins_lookup3", "numcodecs.jenkins_lookup3", NULL},
	.kind = CODEC_BYTES,
	.open = jenkins_lookup3_open,
	.close = checksum_close,
	.decode = checksum_decode,
	.encode = checksum_encode,
};
