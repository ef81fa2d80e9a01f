/* CRC-32C of bytes. meson takes one of crc32c_x86.c and crc32c_any.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c_sum(const uint8_t *, size_t);
/* The one that needs no special instruction. */
uint32_t crc32c_plain(const uint8_t *, size_t);
