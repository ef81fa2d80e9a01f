/* A file of references in parquet, refs.N.parq, as fsspec's LazyReferenceMapper writes it
 * (kerchunk, docs/source/spec.rst, "Parquet references"; apache/parquet-format, parquet.thrift):
 * columns path, offset, size and raw, of which any may be missing. */
#pragma once

#include "backends/kerchunk/table.h"

/* A table of rows. most: bytes that it may hold, and that a page may have unpacked. 0; -EIO: it is
 * no such file; -ENOTSUP, -EFBIG, -ENOMEM. A row that makes no sense is KERCHUNK_BAD. */
int kerchunk_parquet_read(struct span file, size_t most, struct kerchunk_table **ret);
