/* Turning the byte order of runs of numbers, as fast as memory is. */
#pragma once

#include <stdint.h>

/* n numbers of size 2, 4 or 8. to: from itself, or elsewhere; neither needs to be aligned. */
void swap_run(unsigned size, void *to, const void *from, uint64_t n);
