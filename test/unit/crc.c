/* CRCs by whatever instructions the processor has, against a bit at a time. */
#include "base/crc.h"
#include "check.h"

#include <stdlib.h>

static const uint64_t ethernet = 0xedb88320, castagnoli = 0x82f63b78, nvme = 0x9a6c9329ac4bc9b5;

static uint64_t
bit_by_bit(uint64_t polynomial, uint64_t ones, const uint8_t *p, size_t n)
{
	uint64_t v = ones;
	while (n--) {
		v ^= *p++;
		for (unsigned i = 0; i < 8; i++)
			v = v >> 1 ^ (v & 1 ? polynomial : 0);
	}
	return v ^ ones;
}

int
main(void)
{
	enum { LONGEST = 700, PLACES = 17 };
	static uint8_t bytes[LONGEST + PLACES];
	const uint8_t *known = (const uint8_t *)"123456789";
	CHECK(crc_32(known, 9) == 0xcbf43926);
	CHECK(crc_32c(known, 9) == 0xe3069283);
	CHECK(crc_64nvme(known, 9) == 0xae8b14860a799888);
	srandom(1);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)random();
	for (size_t n = 0; n <= LONGEST; n++) {
		const uint8_t *p = bytes + n % PLACES;
		CHECK(crc_32(p, n) == bit_by_bit(ethernet, UINT32_MAX, p, n));
		CHECK(crc_32c(p, n) == bit_by_bit(castagnoli, UINT32_MAX, p, n));
		CHECK(crc_64nvme(p, n) == bit_by_bit(nvme, UINT64_MAX, p, n));
	}
	return check_end();
}
