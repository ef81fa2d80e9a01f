/* Networks of interleavings on 16-byte vectors, for what moves elements about without looking at
 * them.
 *
 * lanesS_zip takes n vectors of S-byte lanes (n a power of 2, at most 16) and interleaves the first
 * half with the second, log2(n) times: lane k of all vectors in turn, then lane k + 1. For n
 * vectors of n lanes that is the transpose of a matrix; for n byte planes it is unshuffling.
 * lanes1_unzip undoes lanes1_zip. The processor's own interleaving instructions do this at the
 * speed of memory wherever the compiler knows 16-byte vectors. */
#pragma once

#include <stdint.h>

typedef uint8_t lanes1 __attribute__((vector_size(16)));
typedef uint16_t lanes2 __attribute__((vector_size(16)));
typedef uint32_t lanes4 __attribute__((vector_size(16)));
typedef uint64_t lanes8 __attribute__((vector_size(16)));

#define LANES_LO1(a, b)                                                                            \
	__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define LANES_HI1(a, b)                                                                            \
	__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LANES_LO2(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define LANES_HI2(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LANES_LO4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define LANES_HI4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LANES_LO8(a, b) __builtin_shufflevector(a, b, 0, 2)
#define LANES_HI8(a, b) __builtin_shufflevector(a, b, 1, 3)
#define LANES_EVEN1(a, b)                                                                          \
	__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define LANES_ODD1(a, b)                                                                           \
	__builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)

/* n is a constant where this is inlined, so that all loops unroll and x lives in registers. */
#define LANES_INLINE static inline __attribute__((always_inline)) void

#define LANES_ZIP(size)                                                                            \
	LANES_INLINE lanes##size##_zip(lanes##size *x, unsigned n)                                 \
	{                                                                                          \
		lanes##size y[16];                                                                 \
		_Pragma("GCC unroll 4") for (unsigned k = 1; k < n; k *= 2)                        \
		{                                                                                  \
			_Pragma("GCC unroll 8") for (unsigned i = 0; i < n / 2; i++)               \
			{                                                                          \
				y[2 * i] = LANES_LO##size(x[i], x[i + n / 2]);                     \
				y[2 * i + 1] = LANES_HI##size(x[i], x[i + n / 2]);                 \
			}                                                                          \
			_Pragma("GCC unroll 16") for (unsigned i = 0; i < n; i++) x[i] = y[i];     \
		}                                                                                  \
	}

LANES_ZIP(1)
LANES_ZIP(2)
LANES_ZIP(4)
LANES_ZIP(8)

LANES_INLINE
lanes1_unzip(lanes1 *x, unsigned n)
{
	lanes1 y[16];
#pragma GCC unroll 4
	for (unsigned k = 1; k < n; k *= 2) {
#pragma GCC unroll 8
		for (unsigned i = 0; i < n / 2; i++) {
			y[i] = LANES_EVEN1(x[2 * i], x[2 * i + 1]);
			y[i + n / 2] = LANES_ODD1(x[2 * i], x[2 * i + 1]);
		}
#pragma GCC unroll 16
		for (unsigned i = 0; i < n; i++)
			x[i] = y[i];
	}
}
