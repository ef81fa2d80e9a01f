/* CRC-32 (by libdeflate, which knows more processors), CRC-32C (Castagnoli's) and CRC-64/NVME of
 * bytes, 64 or 128 at a time where the processor multiplies without carry: meson takes one of
 * crc_x86.c and crc_any.c. Any thread may call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t crc_32(const uint8_t *, size_t);
uint32_t crc_32c(const uint8_t *, size_t);
uint64_t crc_64nvme(const uint8_t *, size_t);

/* --- for sources --- */

/* A kind of CRC with what is computed from its polynomial once. Bits are reversed: the highest one
 * is the coefficient of x^0. */
struct crc {
	uint64_t polynomial;    /* in the upper bits; that of x^size is left out */
	unsigned size;          /* bits */
	uint64_t table[8][256]; /* [k][b]: what byte b does to the sum when k more bytes follow */
	/* what the halves of 16 bytes are multiplied by to move them 128, 64 and 16 further */
	uint64_t farther[2], far[2], near[2];
};

/* The sum of a few bytes more. */
uint64_t crc_add(const struct crc *, uint64_t sum, const uint8_t *, size_t);
/* The same of as many bytes as the processor's own instructions can take. Returns how many, from
 * 0. */
size_t crc_fold(const struct crc *, uint64_t *sum, const uint8_t *, size_t);
