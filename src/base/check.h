/* Arithmetic on sizes that come from a file: every result is checked. True means overflow. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline bool
mul_over(uint64_t a, uint64_t b, uint64_t *ret)
{
	return __builtin_mul_overflow(a, b, ret);
}

static inline bool
add_over(uint64_t a, uint64_t b, uint64_t *ret)
{
	return __builtin_add_overflow(a, b, ret);
}

/* Smallest multiple of n that is not below v; n > 0, and v + n must not overflow. */
static inline uint64_t
round_up(uint64_t v, uint64_t n)
{
	return (v + n - 1) / n * n;
}

static inline uint64_t
ceil_div(uint64_t v, uint64_t n)
{
	return v / n + (v % n != 0);
}

static inline uint64_t
min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t
max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline int64_t
max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}
