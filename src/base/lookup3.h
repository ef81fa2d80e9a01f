/* Bob Jenkins' lookup3 (hashlittle): what HDF5 checks its metadata with, and a codec.
 * http://burtleburtle.net/bob/c/lookup3.c */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t lookup3(const uint8_t *p, size_t n, uint32_t start);

/* The same in parts. */
enum { LOOKUP3_BLOCK = 12 };
struct lookup3 {
	uint32_t a, b, c;
};
/* n: all bytes that there will be, at least 1. */
struct lookup3 lookup3_begin(size_t n, uint32_t start);
/* A block that is not the last. */
void lookup3_add(struct lookup3 *, const uint8_t block[LOOKUP3_BLOCK]);
/* The last block, with zeros behind what there is. */
uint32_t lookup3_end(struct lookup3 *, const uint8_t block[LOOKUP3_BLOCK]);
