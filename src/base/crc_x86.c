/* PCLMULQDQ, where the processor has it: 16 bytes are moved over those that lie 128, 64, in the end
 * 16 further by multiplying both halves, since only the remainder by the polynomial counts. Of what
 * is left, 16 bytes with the remainder of all, the tables tell it. */
#include "base/crc.h"

#include <immintrin.h>
#include <string.h>

enum { SIZE = 16, LANES = 4, STEP = LANES * SIZE, WIDE = 2 * STEP };

__attribute__((target("pclmul"))) static __m128i
move(__m128i v, __m128i by)
{
	return _mm_xor_si128(_mm_clmulepi64_si128(v, by, 0x00), _mm_clmulepi64_si128(v, by, 0x11));
}

static __m128i
load(const void *p)
{
	return _mm_loadu_si128(p);
}

/* Bytes that stand for all before p, and what follows there. */
__attribute__((target("pclmul"))) static size_t
fold_rest(const struct crc *c, uint64_t *sum, const uint8_t *lanes, unsigned nlanes,
	const uint8_t *p, size_t n)
{
	const __m128i near = load(c->near);
	__m128i v = load(lanes);
	uint8_t rest[SIZE];
	size_t i = 0;
	for (unsigned k = 1; k < nlanes; k++)
		v = _mm_xor_si128(move(v, near), load(lanes + (size_t)k * SIZE));
	for (; n - i >= SIZE; i += SIZE)
		v = _mm_xor_si128(move(v, near), load(p + i));
	_mm_storeu_si128((__m128i *)(void *)rest, v);
	*sum = crc_add(c, 0, rest, SIZE);
	return i;
}

/* n: at least STEP. */
__attribute__((target("pclmul"))) static size_t
fold(const struct crc *c, uint64_t *sum, const uint8_t *p, size_t n)
{
	const __m128i far = load(c->far);
	__m128i v[LANES];
	size_t i = STEP;
	memcpy(v, p, STEP);
	v[0] = _mm_xor_si128(v[0], _mm_set_epi64x(0, (long long)*sum));
	for (; n - i >= STEP; i += STEP)
		for (unsigned k = 0; k < LANES; k++)
			v[k] = _mm_xor_si128(move(v[k], far), load(p + i + k * SIZE));
	return i + fold_rest(c, sum, (const uint8_t *)v, LANES, p + i, n - i);
}

/* The same two by two. n: at least WIDE. */
__attribute__((target("vpclmulqdq,avx2"))) static size_t
fold_wide(const struct crc *c, uint64_t *sum, const uint8_t *p, size_t n)
{
	const __m256i by = _mm256_broadcastsi128_si256(load(c->farther));
	__m256i v[LANES];
	size_t i = WIDE;
	memcpy(v, p, WIDE);
	v[0] = _mm256_xor_si256(v[0], _mm256_set_epi64x(0, 0, 0, (long long)*sum));
	for (; n - i >= WIDE; i += WIDE)
		for (unsigned k = 0; k < LANES; k++) {
			const __m256i low = _mm256_clmulepi64_epi128(v[k], by, 0x00);
			const __m256i high = _mm256_clmulepi64_epi128(v[k], by, 0x11);
			__m256i next;
			memcpy(&next, p + i + k * sizeof next, sizeof next);
			v[k] = _mm256_xor_si256(_mm256_xor_si256(low, high), next);
		}
	return i + fold_rest(c, sum, (const uint8_t *)v, 2 * LANES, p + i, n - i);
}

size_t
crc_fold(const struct crc *c, uint64_t *sum, const uint8_t *p, size_t n)
{
	if (n >= WIDE && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2"))
		return fold_wide(c, sum, p, n);
	return n >= STEP && __builtin_cpu_supports("pclmul") ? fold(c, sum, p, n) : 0;
}
