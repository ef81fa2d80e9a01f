/* The crc32 instruction of SSE4.2, where the processor has it. */
#include "codecs/crc32c_sum.h"

#include <string.h>

__attribute__((target("sse4.2"))) static uint32_t
sum_sse42(const uint8_t *p, size_t n)
{
	uint64_t s = 0xffffffff;
	for (; n >= 8; p += 8, n -= 8) {
		uint64_t v;
		memcpy(&v, p, sizeof v);
		s = __builtin_ia32_crc32di(s, v);
	}
	uint32_t t = (uint32_t)s;
	while (n--)
		t = __builtin_ia32_crc32qi(t, *p++);
	return ~t;
}

uint32_t
crc32c_sum(const uint8_t *p, size_t n)
{
	return __builtin_cpu_supports("sse4.2") ? sum_sse42(p, n) : crc32c_plain(p, n);
}
