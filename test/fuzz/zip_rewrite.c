/* Hostile archives that are written: an error, or an archive that is no larger than what went into
 * it and can be written again. */
#include "backends/zip/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDED = 4096 }; /* more than the new member, and 16 bytes a member that is described anew */

static bool
stays(void *arg, size_t number, const char *name, size_t len)
{
	++*(size_t *)arg;
	return true;
}

static int
rewrite(int from, const struct zip_layer *layer, int *ret, size_t *ret_entries)
{
	*ret = memfd_create("new", 0);
	*ret_entries = 0;
	const struct zip_rewrite in = {.from = from,
		.to = *ret,
		.prefix = "a/",
		.layer = layer,
		.stays = stays,
		.arg = ret_entries};
	return zip_rewrite(&in);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zip_spill spill = {.fd = memfd_create("spill", 0)};
	struct zip_pending put = {.key = (char[]){"b"}, .len = 3, .crc = 1, .spill = &spill};
	struct zip_pending *pending[] = {&put};
	int old = memfd_create("old", 0), new = -1, again = -1;
	size_t entries, more;
	struct stat s;
	if (old < 0 || spill.fd < 0 || write(spill.fd, "abc", 3) != 3 ||
		write(old, data, size) != (ssize_t)size)
		abort();
	if (rewrite(old, &(struct zip_layer){pending, 1}, &new, &entries) == 0) {
		if (fstat(new, &s) != 0 || (size_t)s.st_size > size + ADDED + 32 * entries ||
			rewrite(new, &(struct zip_layer){0}, &again, &more) < 0 ||
			more != entries + 1)
			abort();
		close(again);
	}
	close(new);
	close(old);
	close(spill.fd);
	return 0;
}
