/* The header of a netCDF classic file (CDF-1, CDF-2, CDF-5) read from its first bytes, of any
 * writer: nothing in them is believed. What it makes is a plain tree that belongs to the caller. */
#pragma once

#include "view/netcdf/nc_file.h"

enum { NC_PARSE_MORE = 1 };

/* 0; NC_PARSE_MORE: the header does not end within these bytes; -EINVAL: they are none, err_text
 * says why.
 *
 * ret: variables in order of definition, with where they say that they begin; `header` stays empty;
 * `size` is where the last of them ends. file_size: of all of the file, for the number of records
 * where the header leaves that open. *ret_len: bytes of the header. */
int nc_parse(struct span, uint64_t file_size, struct nc_file *ret, size_t *ret_len);

/* Does each variable lie behind a header of so many bytes, within a file of so many, and apart from
 * all others? 0, or -EINVAL: which does not. Orders are not asked for. */
int nc_parse_places(const struct nc_file *, uint64_t header, uint64_t file_size);
