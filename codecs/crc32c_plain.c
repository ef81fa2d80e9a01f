#include "codecs/crc32c_sum.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

static const uint32_t polynomial = 0x82f63b78; /* Castagnoli's, bits reversed */

/* table[k][b]: what byte b does to the sum when k more bytes follow it. */
static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
make_table(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t v = b;
		for (int i = 0; i < 8; i++)
			v = v >> 1 ^ (v & 1 ? polynomial : 0);
		table[0][b] = v;
	}
	for (int k = 1; k < 8; k++)
		for (int b = 0; b < 256; b++)
			table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
}

uint32_t
crc32c_plain(const uint8_t *p, size_t n)
{
	pthread_once(&once, make_table);
	uint32_t s = ~0u;
	for (; n >= 8; p += 8, n -= 8) {
		uint64_t v;
		memcpy(&v, p, sizeof v);
		v = le64toh(v) ^ s;
		s = 0;
		for (int i = 0; i < 8; i++)
			s ^= table[7 - i][v >> 8 * i & 0xff];
	}
	while (n--)
		s = s >> 8 ^ table[0][(s ^ *p++) & 0xff];
	return ~s;
}
