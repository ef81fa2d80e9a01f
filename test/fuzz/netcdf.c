/* Metadata of arbitrary bytes in a store, and every netCDF file made of it: its header, and both
 * ends. Objects as in meta.c, but the keys are those of one group of variables. */
#include "mounted.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_key key[] = {
	{'g', ".zgroup"},
	{'r', ".zattrs"},
	{'a', "v/.zarray"},
	{'t', "v/.zattrs"},
	{'b', "w/.zarray"},
	{'u', "w/.zattrs"},
	{'c', "x/.zarray"},
	{'C', "x/0"},
	{'V', "v/0.0"},
};

static const char *const file[] = {"v.nc", "v.cdf5.nc", "v.rec.nc", "w.nc", "x.nc", "dataset.nc",
	"dataset.cdf5.nc", "dataset.rec.nc", NULL};

static void
read_at(struct file *f, uint64_t off)
{
	struct reply r = {0};
	struct array_want w = {.off = off, .len = 1 << 17, .deadline = clock_now() + SECOND};
	if (file_read(f, &w, &r) == 0 && r.len > w.len)
		abort();
	reply_done(&r);
}

static void
look(struct mount *m, const char *path)
{
	struct entry e = {0};
	struct file *f = NULL;
	if (mount_lookup(m, path, &e))
		return;
	if (file_open(m, &e, &f) == 0) {
		uint64_t n = file_size(f);
		if (n != e.size)
			abort();
		read_at(f, 0);
		read_at(f, n / 2);
		read_at(f, n > 1000 ? n - 1000 : 0);
	}
	file_close(f);
	entry_free(&e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[] = "fuzznc";
	fuzz_files(name, key, sizeof key / sizeof *key, (struct span){data, size}, file, look);
	return 0;
}
