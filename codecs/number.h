/* Numbers of any real type, a block at a time, as int64, uint64 or double: for codecs that
 * calculate.
 *
 * Conversions are those of C as numpy compiles them on x86-64, also where C leaves them undefined
 * (a float out of the range of an integer): what was written with numpy decodes the same on every
 * machine. */
#pragma once

#include "model/dtype.h"

enum { NUMBER_BLOCK = 512 };

enum number_class { NUMBER_INT, NUMBER_UINT, NUMBER_FLOAT };

union number {
	int64_t i;
	uint64_t u;
	double f;
};

/* The machine's own byte order is big-endian. */
static const bool NUMBER_HOST_BIG = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

/* bool, integers, floats; times count as int64. Others (complex, text …) are no numbers here. */
bool number_is(const struct dtype *);
bool number_is_time(const struct dtype *);
/* What number_load makes of it. */
enum number_class number_class(const struct dtype *);
/* n elements from src, which need not be aligned. */
void number_load(const struct dtype *, const uint8_t *src, size_t n, union number *ret);
void number_store(
	const struct dtype *, enum number_class from, const union number *, size_t n, uint8_t *dst);

/* The first of them that is no number of d, but for its fraction; n: all are. */
size_t number_misfit(const struct dtype *d, enum number_class, const union number *, size_t n);

/* What storing as d and loading again makes of them: rounds floats, wraps integers. Returns the
 * class of d. */
enum number_class number_cast(
	const struct dtype *d, enum number_class from, union number *, size_t n);
/* d, or the next wider float that holds v: in which to calculate with an operand that d cannot
 * hold. */
struct dtype number_widen(const struct dtype *d, double v);

float number_from_half(uint16_t);
/* Rounds to the nearest, ties to even. */
uint16_t number_to_half(double);

/* Rounds a double to the floats of d: the result of +, -, * or / is then what d's own arithmetic
 * gives (double has more than twice the digits). Not a float: double itself. */
static inline double
number_round(const struct dtype *d, double v)
{
	if (d->kind != DTYPE_FLOAT || d->size == sizeof v)
		return v;
	return d->size == sizeof(float) ? (double)(float)v : number_from_half(number_to_half(v));
}
