/* Where libnetcdf was not there when zarrfs was built. */
#include "view/image/nc4_input.h"

#include "base/err.h"

#include <errno.h>

int
nc4_input_open(struct spill *s, struct nc_file *ret_file, struct nc4_input **ret)
{
	return err_set(-EINVAL,
		"a netCDF-4 file, but zarrfs was built without libnetcdf (nccopy -k cdf5 "
		"makes a classic one)");
}

struct nc4_input *
nc4_input_free(struct nc4_input *n)
{
	return NULL;
}

int
nc4_input_read(struct nc4_input *n, const struct nc_file *f, size_t var, uint64_t in, size_t len,
	uint8_t *to)
{
	return err_set(-EINVAL, "zarrfs was built without libnetcdf");
}
