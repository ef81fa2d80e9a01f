/* Headers of netCDF classic files. */
#include "base/err.h"
#include "view/image/nc_parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nc_file f;
	size_t len = 0;
	int r = nc_parse((struct span){data, size}, 1 << 20, &f, &len);
	if (r)
		return 0;
	if (len > size)
		abort();
	/* What lies well lies within the file. */
	if (nc_parse_places(&f, len, 1 << 20) == 0)
		for (size_t i = 0; i < f.nvars; i++)
			if ((f.records || !nc_is_record(&f, &f.var[i])) &&
				(f.var[i].begin < len || f.var[i].begin > 1 << 20))
				abort();
	nc_file_free(&f);
	return 0;
}
