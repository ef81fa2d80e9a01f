#include "base/crc.h"

#include <endian.h>
#include <libdeflate.h>
#include <pthread.h>
#include <string.h>

enum { WORD = 64, BLOCK = 128 }; /* bits */

static struct crc castagnoli = {.polynomial = (uint64_t)0x82f63b78 << 32, .size = 32};
static struct crc nvme = {.polynomial = 0x9a6c9329ac4bc9b5, .size = 64};
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* x^n modulo the polynomial. */
static uint64_t
power(const struct crc *c, unsigned n)
{
	const uint64_t last = (uint64_t)1 << (WORD - c->size); /* x^(size - 1) */
	uint64_t v = (uint64_t)1 << (WORD - 1);
	while (n--)
		v = (v & ~last) >> 1 ^ (v & last ? c->polynomial : 0);
	return v;
}

/* A product of reversed words is one bit too far. */
static void
move_by(const struct crc *c, unsigned bits, uint64_t ret[2])
{
	ret[0] = power(c, bits + WORD - 1);
	ret[1] = power(c, bits - 1);
}

static void
fill(struct crc *c)
{
	const uint64_t p = c->polynomial >> (WORD - c->size);
	for (unsigned b = 0; b < 256; b++) {
		uint64_t v = b;
		for (unsigned i = 0; i < 8; i++)
			v = v >> 1 ^ (v & 1 ? p : 0);
		c->table[0][b] = v;
	}
	for (unsigned k = 1; k < 8; k++)
		for (unsigned b = 0; b < 256; b++)
			c->table[k][b] =
				c->table[k - 1][b] >> 8 ^ c->table[0][c->table[k - 1][b] & 0xff];
	move_by(c, 8 * BLOCK, c->farther);
	move_by(c, 4 * BLOCK, c->far);
	move_by(c, BLOCK, c->near);
}

static void
fill_all(void)
{
	fill(&castagnoli);
	fill(&nvme);
}

uint64_t
crc_add(const struct crc *c, uint64_t sum, const uint8_t *p, size_t n)
{
	for (; n >= 8; p += 8, n -= 8) {
		uint64_t v;
		memcpy(&v, p, sizeof v);
		v = le64toh(v) ^ sum;
		sum = 0;
		for (int i = 0; i < 8; i++)
			sum ^= c->table[7 - i][v >> 8 * i & 0xff];
	}
	while (n--)
		sum = sum >> 8 ^ c->table[0][(sum ^ *p++) & 0xff];
	return sum;
}

static uint64_t
crc_of(const struct crc *c, const uint8_t *p, size_t n)
{
	const uint64_t ones = UINT64_MAX >> (WORD - c->size);
	uint64_t sum = ones;
	pthread_once(&once, fill_all);
	const size_t folded = crc_fold(c, &sum, p, n);
	return crc_add(c, sum, p + folded, n - folded) ^ ones;
}

uint32_t
crc_32(const uint8_t *p, size_t n)
{
	return n ? libdeflate_crc32(0, p, n) : 0; /* of no bytes it takes NULL for a beginning */
}

uint32_t
crc_32c(const uint8_t *p, size_t n)
{
	return (uint32_t)crc_of(&castagnoli, p, n);
}

uint64_t
crc_64nvme(const uint8_t *p, size_t n)
{
	return crc_of(&nvme, p, n);
}
