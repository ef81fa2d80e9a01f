/* What a netCDF classic file contains, without its data: dimensions, attributes, variables and where each lies. A plain tree that
 * belongs to who makes it; types and names in it are already those of the file.
 *
 * The format: https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html (CDF-1, CDF-2),
 * https://cucis.eecs.northwestern.edu/projects/PnetCDF/CDF-5.html. */
#pragma once

#include "base/buf.h"
#include "model/attr.h"

enum cdf_format { CDF_NONE, CDF_1 = 1, CDF_2 = 2, CDF_5 = 5 };

/* No dimension; no record dimension. */
static const unsigned NC_NO_DIM = ~0u;

struct nc_dim {
	char *name;
	uint64_t size;
};

struct nc_var {
	char *name;
	unsigned rank,
		*dim; /* indices of the file's dimensions; the record dimension can only be the first */
	enum nc_type type;
	bool alone; /* a reader's block that has part of it has no other fixed variable's: it may be unreadable */
	struct attrs attrs; /* numbers and CHAR only */
	uint64_t bytes; /* of its data; of a record variable: in one record, padding not counted */
	uint64_t begin; /* in the file; of a record variable: in the first record */
};

struct nc_file {
	enum cdf_format format;
	struct nc_dim *dim;
	unsigned ndims;
	unsigned
		record; /* index of the record dimension, or NC_NO_DIM; its size is the number of records */
	struct attrs attrs;
	struct nc_var
		*var; /* in the order in which they lie: fixed ones, then those with records */
	size_t nvars;
	/* Made by nc_lay_out: */
	struct buf header;
	uint64_t records, record_start, record_size;
	uint64_t size;
};

void nc_file_free(struct nc_file *); /* what it holds, not itself */
bool nc_is_record(const struct nc_file *, const struct nc_var *);
/* Bytes of a record variable's part of a record: with padding to four bytes, unless it is the only one (of that kind the format has none). */
uint64_t nc_record_bytes(const struct nc_file *, const struct nc_var *);

/* Decides where everything lies in file->format, and makes the header. -EFBIG: the format cannot hold it, err_text says what;
 * -EINVAL: the order of variables or their dimensions is not possible in any. May be called again after a change. */
int nc_lay_out(struct nc_file *);
