/* One column of a parquet file, as kerchunk's references need it (apache/parquet-format, README.md,
 * Encodings.md): data pages version 1 and 2 and dictionary pages; PLAIN and dictionary encodings;
 * uncompressed, snappy, gzip and zstd. Nothing nested. All else is -ENOTSUP by name. What the file
 * claims is checked before it is believed. */
#pragma once

#include "base/buf.h"

enum kerchunk_physical { PARQUET_INT32 = 1, PARQUET_INT64 = 2, PARQUET_BYTE_ARRAY = 6 };

struct kerchunk_column {
	bool optional;  /* values may be null */
	int64_t type;   /* enum kerchunk_physical */
	int64_t codec;  /* 0 none, 1 snappy, 2 gzip, 6 zstd */
	uint64_t begin; /* of its first page, in the file */
	uint64_t count; /* values, nulls included */
};

struct kerchunk_cell {
	bool null;
	int64_t number;
	struct span bytes; /* lives for the call */
};

/* Told of each value in its order; non-zero ends it and is returned. */
typedef int kerchunk_cell_fn(void *arg, uint64_t i, const struct kerchunk_cell *);

/* most: bytes that a page may have when it is unpacked. 0, or -EIO, -ENOTSUP, -EFBIG, -ENOMEM with
 * the reason. */
int kerchunk_column_read(struct span file, const struct kerchunk_column *, size_t most,
	kerchunk_cell_fn *, void *arg);
