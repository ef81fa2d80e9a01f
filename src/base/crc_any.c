#include "base/crc.h"

size_t
crc_fold(const struct crc *c, uint64_t *sum, const uint8_t *p, size_t n)
{
	return 0;
}
