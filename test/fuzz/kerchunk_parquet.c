/* Hostile files of references in parquet: read, and each row looked at. */
#include "backends/kerchunk/parquet.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 18 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kerchunk_table *t = NULL;
	struct kerchunk_ref ref;
	int r = kerchunk_parquet_read((struct span){data, size}, MOST, &t);
	if (r < 0 ? t || !*err_text() : !t)
		abort();
	size_t bytes = 0;
	for (uint64_t i = 0; t && i < kerchunk_table_count(t); i++)
		if (kerchunk_table_row(t, i, &ref) == 0)
			bytes += ref.kind == KERCHUNK_BYTES ? ref.bytes.len
							    : strlen(ref.url ? ref.url : ref.why);
	if (bytes == SIZE_MAX)
		abort();
	kerchunk_table_free(t);
	return 0;
}
