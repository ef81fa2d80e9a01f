/* The way back of each conversion that convert.h knows: numbers of a netCDF file into elements as
 * they are stored. What no element is shown as is refused, never rounded or cut. For convert.c and
 * convert_time.c; others call convert_undo. */
#pragma once

#include "view/convert.h"

/* c->atom_out bytes each become c->atom_in. -ERANGE: one cannot be stored, err_text says which. */
convert_atoms undo_bool, undo_short_to_ubyte, undo_int_to_ushort, undo_double_to_int64,
	undo_double_to_uint64, undo_float_to_half, undo_utf8_to_ucs4;

/* The same, and the way there, where a program wrote doubles. */
convert_atoms float_to_double, byte_to_double, short_to_double, int_to_double, ubyte_to_double,
	ushort_to_double, undo_double_to_float, undo_double_to_int, undo_double_to_unsigned;

/* A number that the elements' type does not have. */
int undo_refuse(double);
