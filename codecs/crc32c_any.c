#include "codecs/crc32c_sum.h"

uint32_t
crc32c_sum(const uint8_t *p, size_t n)
{
	return crc32c_plain(p, n);
}
