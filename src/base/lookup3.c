#include "base/lookup3.h"

#include <string.h>

static uint32_t
rotate(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

static void
mix(struct lookup3 *s)
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
	*s = (struct lookup3){a, b, c};
}

static uint32_t
last_mix(const struct lookup3 *s)
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
take(struct lookup3 *s, const uint8_t p[12])
{
	uint32_t w[3];
	for (int i = 0; i < 3; i++, p += 4)
		w[i] = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
		       (uint32_t)p[3] << 24;
	s->a += w[0];
	s->b += w[1];
	s->c += w[2];
}

struct lookup3
lookup3_begin(size_t n, uint32_t start)
{
	start += 0xdeadbeef + (uint32_t)n;
	return (struct lookup3){start, start, start};
}

void
lookup3_add(struct lookup3 *s, const uint8_t block[LOOKUP3_BLOCK])
{
	take(s, block);
	mix(s);
}

uint32_t
lookup3_end(struct lookup3 *s, const uint8_t block[LOOKUP3_BLOCK])
{
	take(s, block);
	return last_mix(s);
}

uint32_t
lookup3(const uint8_t *p, size_t n, uint32_t start)
{
	struct lookup3 s = lookup3_begin(n, start);
	if (!n)
		return s.c;
	for (; n > LOOKUP3_BLOCK; p += LOOKUP3_BLOCK, n -= LOOKUP3_BLOCK)
		lookup3_add(&s, p);
	uint8_t rest[LOOKUP3_BLOCK] = {0};
	memcpy(rest, p, n);
	return lookup3_end(&s, rest);
}
