#include "base/swap.h"

#include <string.h>

/* Sixteen bytes at a time, as eight lanes of two: the bytes of each lane change places by shifts,
 * then the lanes by a shuffle. Every processor has both; what swaps bytes in one instruction is not
 * to be counted on. */
typedef uint16_t lanes __attribute__((vector_size(16)));

#define SWAP_RUN(bits, ...)                                                                        \
	static void swap_run_##bits(uint8_t *to, const uint8_t *from, uint64_t n)                  \
	{                                                                                          \
		const uint64_t step = sizeof(lanes) * 8 / bits;                                    \
		for (; n >= step; n -= step, from += sizeof(lanes), to += sizeof(lanes)) {         \
			lanes v;                                                                   \
			memcpy(&v, from, sizeof v);                                                \
			v = v << 8 | v >> 8;                                                       \
			v = __builtin_shufflevector(v, v, __VA_ARGS__);                            \
			memcpy(to, &v, sizeof v);                                                  \
		}                                                                                  \
		for (; n; n--, from += bits / 8, to += bits / 8) {                                 \
			uint##bits##_t v;                                                          \
			memcpy(&v, from, sizeof v);                                                \
			v = __builtin_bswap##bits(v);                                              \
			memcpy(to, &v, sizeof v);                                                  \
		}                                                                                  \
	}

SWAP_RUN(16, 0, 1, 2, 3, 4, 5, 6, 7)
SWAP_RUN(32, 1, 0, 3, 2, 5, 4, 7, 6)
SWAP_RUN(64, 3, 2, 1, 0, 7, 6, 5, 4)

void
swap_run(unsigned size, void *to, const void *from, uint64_t n)
{
	switch (size) {
	case 2: swap_run_16(to, from, n); return;
	case 4: swap_run_32(to, from, n); return;
	case 8: swap_run_64(to, from, n); return;
	}
}
