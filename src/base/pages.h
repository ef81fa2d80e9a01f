/* Fresh memory from the kernel, with its pages there before they are written: one call makes many
 * of them for two thirds of what as many faults take. A block of 2 MiB comes as one huge page where
 * that is the cheaper way, which is found out by trying: most systems make it in a fifth of the
 * time of 512 small pages; a guest whose host has to find the memory first needs five times as
 * long. Any thread may call. */
#pragma once

#include <stddef.h>

enum { PAGES_BLOCK = 2 << 20 };

/* Of a small page, in bytes: 4 KiB on most systems. */
size_t pages_size(void);
/* So many bytes, of which the first `full` are there at once; 0: pages come as they are written.
 * They are given back with munmap, whole or from a page on. NULL: no memory. */
void *pages_get(size_t size, size_t full);
/* Makes n bytes of a private mapping that nothing was written to. */
void pages_fill(void *p, size_t n);
/* A block whose address is a multiple of its size, with no page yet. NULL: no memory. */
void *pages_block(void);
