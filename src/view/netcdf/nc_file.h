/* What a netCDF file contains, without its data: dimensions, attributes, variables and where each
 * lies. A plain tree that belongs to its maker; types and names in it are already those of the
 * file.
 *
 * The format: https://docs.unidata.ucar.edu/netcdf-c/current/file_format_specifications.html
 * (CDF-1, CDF-2), https://cucis.eecs.northwestern.edu/projects/PnetCDF/CDF-5.html. */
#pragma once

#include "base/buf.h"
#include "model/attr.h"

enum cdf_format { CDF_NONE, CDF_1 = 1, CDF_2 = 2, NC_4 = 4, CDF_5 = 5 };

/* 64 bits and no sign are no matter. */
static inline bool
nc_has_all_types(enum cdf_format f)
{
	return f == CDF_5 || f == NC_4;
}

/* No dimension; no record dimension. */
static const unsigned NC_NO_DIM = ~0u;

/* Groups of netCDF-4 have numbers: 0 the file's root, 1 the first below it. */
struct nc_dim {
	char *name;
	uint64_t size;
	unsigned group;
	bool unlimited; /* netCDF-4 */
};

struct nc_group {
	char *name;
	unsigned parent; /* comes before it */
	struct attrs attrs;
};

struct nc_var {
	char *name;
	unsigned rank, *dim; /* indices of the file's dimensions; the record dimension can only be
				the first */
	enum nc_type type;
	bool alone; /* a reader's block that has part of it has no other fixed variable's: it may be
		       unreadable */
	struct attrs attrs; /* numbers and CHAR only; of netCDF-4 STRING too */
	unsigned group;
	bool big;            /* netCDF-4: its numbers are big-endian */
	uint64_t chunk_rows; /* netCDF-4: it lies in chunks of so many rows, the last one whole; 0:
				it lies in one piece */
	uint64_t bytes; /* of its data; of a record variable: in one record, padding not counted */
	uint64_t begin; /* in the file; of a record variable: in the first record */
};

struct nc_file {
	enum cdf_format format;
	struct nc_dim *dim;
	unsigned ndims;
	unsigned record; /* index of the record dimension, or NC_NO_DIM; its size is the number of
			    records */
	struct attrs attrs;
	struct nc_group *group; /* below the root: group[0] is number 1 */
	unsigned ngroups;
	struct nc_var
		*var; /* in the order in which they lie: fixed ones, then those with records */
	size_t nvars;
	/* Made by nc_lay_out, or nc4_lay_out: */
	struct buf header;
	uint64_t records, record_start, record_size;
	uint64_t size;
};

void nc_file_free(struct nc_file *); /* what it holds, not itself */
bool nc_is_record(const struct nc_file *, const struct nc_var *);
/* Bytes of a record variable's part of a record: with padding to four bytes, unless it is the only
 * one (of that kind the format has none). */
uint64_t nc_record_bytes(const struct nc_file *, const struct nc_var *);

/* Where data may begin behind a header of so many bytes: a reader of that touches none of them. */
uint64_t nc_data_start(uint64_t header);
/* Where a variable of so many bytes may begin behind small ones that end at `at`: a large one where
 * a reader of those touches none of it. */
uint64_t nc_apart(uint64_t at, uint64_t bytes);
/* Decides where everything lies in a netCDF-4 file, and makes its metadata. The record dimension is
 * one without limit, and what has it lies in chunks. -EFBIG: too large, err_text says what. May be
 * called again after a change. */
int nc4_lay_out(struct nc_file *);
/* Can a variable with rows of so many bytes lie in chunks? */
bool nc4_has_chunks(uint64_t row);

/* Decides where everything lies in file->format, and makes the header. -EFBIG: the format cannot
 * hold it, err_text says what; -EINVAL: the order of variables or their dimensions is not possible
 * in any. May be called again after a change. */
int nc_lay_out(struct nc_file *);
