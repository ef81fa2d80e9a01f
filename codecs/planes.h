/* Elements taken apart: all first bytes, all second bytes … (shuffle), or all first bits, all
 * second bits … (bitshuffle). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PLANES_MAX = 255 };

/* n elements of `size` bytes. in and out do not overlap. */
void planes_split(const uint8_t *in, size_t size, size_t n, uint8_t *out);
void planes_join(const uint8_t *in, size_t size, size_t n, uint8_t *out);
/* Rows of n / 8 bytes: bit 0 of byte 0 of all elements, the first element lowest; then bit 1, and
 * so on. n is a multiple of 8, size at most PLANES_MAX. */
void planes_join_bits(const uint8_t *in, size_t size, size_t n, uint8_t *out);
