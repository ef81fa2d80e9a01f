/* What netCDF libraries lay into records that get no values. */
#pragma once

#include "view/netcdf/nc_file.h"

struct image_fill {
	uint8_t bytes[8]; /* as a classic file has it */
	size_t size;
};

/* Of a variable of a classic file: the value that it has as an attribute, else its type's. */
struct image_fill image_fill_of(const struct nc_var *);
/* Are n bytes, whole numbers, nothing but that? */
bool image_is_fill(const struct image_fill *, const uint8_t *bytes, size_t n);
