/* Numbers that no file here has elements of: integers of 2 and 4 bits, bfloat16, floats of 4, 6 and
 * 8 bits (zarr-extensions, data-types). They are stored in one or two bytes each and shown as the
 * narrowest C type that holds them all: what an array's dtype is. dtype.narrow tells what was
 * stored; codecs between get elements of that, which are of kind DTYPE_RAW to them. */
#pragma once

#include "model/dtype.h"

/* NARROW_NONE: there is none of that name. */
enum narrow narrow_find(const char *name);
const char *narrow_name(enum narrow);
unsigned narrow_size(enum narrow); /* bytes, as the codec `bytes` stores it */
unsigned narrow_bits(enum narrow); /* the low ones of those bytes */
/* What it is shown as, little-endian until dtype_set_order; and, of such a type, what codecs see of
 * it. */
struct dtype narrow_wide(enum narrow);
struct dtype narrow_raw(const struct dtype *wide);
static inline bool
narrow_is_raw(const struct dtype *d)
{
	return d->narrow && d->kind == DTYPE_RAW;
}

/* n elements, in the byte order of wide on both sides. */
void narrow_widen(const struct dtype *wide, const uint8_t *in, uint64_t n, uint8_t *out);
/* -ERANGE: one of them is no number of that type; the text says which. */
int narrow_back(const struct dtype *wide, const uint8_t *in, uint64_t n, uint8_t *out);
/* The bits of the nearest one, ties to even. False: it is out of range. */
bool narrow_nearest(enum narrow, double, uint16_t *ret);
double narrow_value(enum narrow, uint16_t bits);
