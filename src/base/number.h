/* Numbers as text: the shortest decimal that reads back as the same number. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NUMBER_DOUBLE = 24, /* characters of the longest text, without a NUL */
	NUMBER_FLOAT = 15,
	NUMBER_HALF = 12,
	NUMBER_INT = 20,
};

/* Each writes without a NUL and returns the length. Always with a point or an exponent ("5.0",
 * "1e-05", "-1.5e+20"), or "NaN", "Inf", "-Inf". */
size_t number_double(double v, char *to);
size_t number_float(float v, char *to);
size_t number_half(uint16_t v, char *to); /* IEEE 754 binary16, in native order */
/* As ncdump writes them, without its suffix: "5.", "1.e-05", "-Infinity". */
size_t number_cdl_double(double v, char *to);
size_t number_cdl_float(float v, char *to);
size_t number_int(int64_t v, char *to);
size_t number_uint(uint64_t v, char *to);
/* The same number; of NaN, that. */
float number_of_half(uint16_t v);
/* The bits of a number of 1 to 8 bytes that is stored in that order; and the float of 2, 4 or 8
 * bytes that they are. */
uint64_t number_bits(const uint8_t *p, unsigned size, bool big);
double number_of_bits(uint64_t bits, unsigned size);
