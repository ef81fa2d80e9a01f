/* Metadata of arbitrary bytes in a store with groups, and every netCDF-4 file made of it: opened
 * twice it is the same, and says its own length. Objects as in netcdf.c. With FUZZ_NC4_KEEP naming
 * a folder the files are left there, for h5dump and ncdump. */
#include "mounted.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_key key[] = {
	{'g', ".zgroup"},
	{'r', ".zattrs"},
	{'a', "v/.zarray"},
	{'t', "v/.zattrs"},
	{'x', "x/.zarray"},
	{'y', "x/.zattrs"},
	{'G', "g/.zgroup"},
	{'R', "g/.zattrs"},
	{'b', "g/v/.zarray"},
	{'u', "g/v/.zattrs"},
	{'X', "g/x/.zarray"},
	{'Y', "g/x/.zattrs"},
	{'H', "g/h/.zgroup"},
	{'c', "g/h/w/.zarray"},
	{'w', "g/h/w/.zattrs"},
	{'m', ".zmetadata"},
	{'C', "x/0"},
	{'V', "v/0.0"},
};

static const char *const file[] = {"v.nc4", "x.nc4", "v.rec.nc4", "dataset.nc4", "dataset.rec.nc4",
	"g/v.nc4", "g/dataset.nc4", "g/h/dataset.nc4", NULL};

enum { STEP = 1 << 17 };

static void
read_at(struct file *f, uint64_t off, size_t len, struct buf *ret)
{
	struct reply r = {0};
	struct array_want w = {.off = off, .len = len, .deadline = clock_now() + SECOND};
	if (file_read(f, &w, &r) == 0) {
		if (r.len > w.len || buf_reserve(ret, ret->len + r.len) < 0)
			abort();
		reply_copy(&r, ret->data + ret->len);
		ret->len += r.len;
	}
	reply_done(&r);
}

/* Bytes [at, at + step) at their place, if they can be read. */
static bool
copy(struct file *f, uint64_t at, size_t step, FILE *to)
{
	CLEAN(buf_free) struct buf got = {0};
	read_at(f, at, step, &got);
	fseeko(to, (off_t)at, SEEK_SET);
	return got.len && fwrite(got.data, 1, got.len, to) == got.len;
}

static void
keep(struct file *f)
{
	enum { UNIT = 8 }; /* where elements begin, which may be unreadable behind metadata */
	static unsigned n;
	const char *folder = getenv("FUZZ_NC4_KEEP");
	const uint64_t size = file_size(f);
	char path[500];
	if (!folder || size > 16 << 20)
		return;
	snprintf(path, sizeof path, "%s/%u.nc4", folder, n++);
	FILE *o = fopen(path, "w");
	for (uint64_t at = 0; o && at < size; at += STEP)
		if (!copy(f, at, STEP, o))
			for (uint64_t k = at; k < at + STEP && k < size; k += UNIT)
				copy(f, k, UNIT, o);
	if (o && (fflush(o) || ftruncate(fileno(o), (off_t)size)))
		abort();
	if (o)
		fclose(o);
}

/* A superblock, and the length that it says. */
static void
check(const struct buf *start, uint64_t size)
{
	enum { LENGTH_AT = 28 };
	uint64_t length = 0;
	if (start->len < 48 || memcmp(start->data, "\x89HDF\r\n\x1a\n\2", 9) != 0)
		abort();
	for (unsigned i = 8; i--;)
		length = length << 8 | start->data[LENGTH_AT + i];
	if (length != size)
		abort();
}

static void
look(struct mount *m, const char *path)
{
	struct buf start[2] = {{0}};
	struct entry e = {0};
	if (mount_lookup(m, path, &e))
		return;
	for (int i = 0; i < 2; i++) {
		struct file *f = NULL;
		if (file_open(m, &e, &f) == 0) {
			uint64_t n = file_size(f);
			CLEAN(buf_free) struct buf thrown = {0};
			if (n != e.size)
				abort();
			read_at(f, 0, STEP, &start[i]);
			if (start[i].len)
				check(&start[i], n);
			read_at(f, n > 1000 ? n - 1000 : 0, STEP, &thrown);
			if (i)
				keep(f);
		}
		file_close(f);
	}
	if (start[0].len && start[1].len &&
		(start[0].len != start[1].len ||
			memcmp(start[0].data, start[1].data, start[0].len) != 0))
		abort();
	buf_free(&start[0]);
	buf_free(&start[1]);
	entry_free(&e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[] = "fuzznc4";
	fuzz_files(name, key, sizeof key / sizeof *key, (struct span){data, size}, file, look);
	return 0;
}
