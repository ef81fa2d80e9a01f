/* Turning the byte order of any part of a run of elements, structured ones field by field. */
#pragma once

#include "model/dtype.h"

/* What must be swapped to get all of `t` into the order `big`: a copy of it in which whatever has
 * that order already is raw bytes. *ret_any false: nothing, and ret is empty. Freed with
 * dtype_free. */
int byte_order_of(const struct dtype *t, bool big, struct dtype *ret, bool *ret_any);

/* Offsets count from the first element of the run. The nearest ones at or below (above) off where
 * swapping can begin (end): at most 7 bytes away. */
uint64_t byte_order_floor(const struct dtype *swap, uint64_t off);
uint64_t byte_order_ceil(const struct dtype *swap, uint64_t off);
/* Swaps bytes [off, off + len) of the run in place; data is the byte at off; both ends as above. */
void byte_order_swap(const struct dtype *swap, uint8_t *data, uint64_t off, uint64_t len);
