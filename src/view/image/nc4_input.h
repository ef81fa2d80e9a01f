/* A netCDF-4 file of any writer, read through libnetcdf, which is loaded when the first one comes.
 * What it holds is told as of a classic file whose variables lie one behind the other, in order of
 * definition, with no header: bytes of that are made on demand.
 *
 * One thread at a time has an input; libnetcdf itself has one at a time of all. */
#pragma once

#include "view/netcdf/nc_file.h"

struct nc4_input;
struct spill;

/* ret_file: as nc_parse gives one, without a record dimension: dimensions say whether they are
 * unlimited. The spill outlives the input, and is not written meanwhile. -EINVAL with the reason:
 * libnetcdf does not read it, or arrays are not like what it holds. */
int nc4_input_open(struct spill *, struct nc_file *ret_file, struct nc4_input **ret);
struct nc4_input *nc4_input_free(struct nc4_input *); /* NULL allowed; returns NULL */
/* Bytes [in, in + len) of a variable's elements, big-endian. */
int nc4_input_read(struct nc4_input *, const struct nc_file *, size_t var, uint64_t in, size_t len,
	uint8_t *to);
